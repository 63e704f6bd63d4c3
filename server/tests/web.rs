//! The web in process: who is let in, what is turned away, and what forms and streams do.

#![expect(clippy::unwrap_used, reason = "a test ends where it can't go on")]

mod site;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE,
    STRICT_TRANSPORT_SECURITY,
};
use http::{Method, Request, StatusCode};
use proptest::prelude::*;
use stint_core::api::budgets::BudgetTree;
use stint_core::units::GpuSeconds;
use stint_server::clock::SystemClock;
use stint_server::service::Topic;
use stint_server::store::people::{Activity, set_active};
use stint_server::store::sessions::Sessions;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};

use site::{Answer, MANAGER, RESEARCHER, Site};

#[tokio::test]
async fn every_answer_protects_itself() {
    let site = Site::open().await;
    for path in ["/sign-in", "/queue", "/nowhere", "/api/v1/pool", "/healthz"] {
        let answer = site.page(path, None).await;
        let header = |name: &str| answer.header(name);
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert!(header("permissions-policy").contains("camera=()"), "{path}");
        assert_eq!(answer.header(CACHE_CONTROL.as_str()), "no-store", "{path}");
        assert!(!header("x-request-id").is_empty(), "{path}");
        let policy = answer.header(CONTENT_SECURITY_POLICY.as_str());
        for part in [
            "default-src 'none'",
            "'strict-dynamic'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe-inline"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn scripts_of_a_page_carry_the_nonce_of_its_own_policy() {
    let site = Site::open().await;
    let nonce = |answer: &Answer| {
        let policy = answer.header(CONTENT_SECURITY_POLICY.as_str());
        let (_, rest) = policy.split_once("'nonce-").unwrap();
        rest.split_once('\'').unwrap().0.to_owned()
    };
    let (first, second) = (
        site.page("/sign-in", None).await,
        site.page("/sign-in", None).await,
    );
    assert_ne!(nonce(&first), nonce(&second));
    for answer in [first, second] {
        let scripts = answer.body.matches("<script").count();
        let with_nonce = answer
            .body
            .matches(&format!("nonce=\"{}\"", nonce(&answer)))
            .count();
        assert!(
            scripts > 0 && with_nonce >= scripts,
            "{scripts} scripts, {with_nonce} nonces"
        );
    }
}

#[tokio::test]
async fn a_cross_site_request_is_turned_away_and_changes_nothing() {
    let site = Site::open().await;
    let cookie = site.sign_in(RESEARCHER).await;
    let check = async |path: &str, name: http::HeaderName, value: &'static str| {
        let request = site.form(path, "person=noor", Some(&cookie));
        let (mut parts, body) = request.into_parts();
        parts.headers.insert(name, value.parse().unwrap());
        let answer = site.send(Request::from_parts(parts, body)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {value}");
    };
    let fetch_site = || http::HeaderName::from_static("sec-fetch-site");
    for path in [
        "/sign-out",
        "/sign-in",
        "/workloads",
        "/workloads/w-1/cancel",
        "/_fn/queue",
        "/api/v1/workloads",
    ] {
        check(path, fetch_site(), "cross-site").await;
        check(path, fetch_site(), "same-site").await;
        check(path, ORIGIN, "https://evil.example").await;
        check(path, ORIGIN, "null").await;
    }
    assert_eq!(site.who(&cookie).await.as_deref(), Some(RESEARCHER));
}

#[tokio::test]
async fn a_request_that_names_another_host_is_turned_away() {
    let site = Site::open().await;
    let request = Request::get("/sign-in").header(HOST, "rebound.example:7400");
    let answer = site.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(!answer.body.contains("mira"));
}

#[tokio::test]
async fn signing_in_gives_a_new_session_and_signing_out_ends_it() {
    let site = Site::open().await;
    let first = site.sign_in(RESEARCHER).await;
    assert_eq!(site.who(&first).await.as_deref(), Some(RESEARCHER));
    let answer = site
        .send(site.form("/sign-in", "person=mira&next=%2Fqueue", Some(&first)))
        .await;
    assert_eq!(
        (answer.status, answer.header(LOCATION.as_str())),
        (StatusCode::SEE_OTHER, "/queue".to_owned())
    );
    let set = answer.header(SET_COOKIE.as_str());
    for part in ["stint=", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=28800"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(
        !set.contains("Secure"),
        "this server is on loopback without TLS: {set}"
    );
    let second = answer.cookie().unwrap();
    assert_ne!(first, second);
    assert_eq!(
        site.who(&first).await,
        None,
        "the id from before signing in is worth nothing"
    );
    assert_eq!(site.who(&second).await.as_deref(), Some(MANAGER));
    let answer = site.send(site.form("/sign-out", "", Some(&second))).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(site.who(&second).await, None);
}

#[tokio::test]
async fn a_session_that_was_ended_is_not_brought_back_by_a_request_that_was_under_way() {
    let site = Site::open().await;
    let sessions = Sessions::new(site.store.clone(), Arc::new(SystemClock));
    let mut record = Record {
        id: Id(7),
        data: std::collections::HashMap::new(),
        expiry_date: time::OffsetDateTime::from_unix_timestamp(4_000_000_000).unwrap(),
    };
    sessions.create(&mut record).await.unwrap();
    sessions.delete(&record.id).await.unwrap();
    sessions.save(&record).await.unwrap();
    assert_eq!(sessions.load(&record.id).await.unwrap(), None);
}

#[tokio::test]
async fn behind_tls_the_cookie_is_bound_to_it() {
    let site = Site::public("https://stint.example.org").await;
    let answer = site.send(site.form("/sign-in", "person=noor&next=", None)).await;
    let set = answer.header(SET_COOKIE.as_str());
    assert!(
        set.starts_with("__Host-stint=") && set.contains("Secure"),
        "{set}"
    );
    assert!(
        answer
            .header(STRICT_TRANSPORT_SECURITY.as_str())
            .starts_with("max-age=")
    );
}

#[tokio::test]
async fn only_people_who_are_offered_and_active_sign_in() {
    let site = Site::open().await;
    for person in ["olga", "nobody", "perception-ci", "No One", ""] {
        let body = format!("person={}", person.replace(' ', "+"));
        let answer = site.send(site.form("/sign-in", &body, None)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{person:?}");
        assert_eq!(answer.cookie(), None, "{person:?}");
    }
    let closed = Site::without_sign_in().await;
    let answer = closed.send(closed.form("/sign-in", "person=noor", None)).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_person_who_left_is_nobody_from_the_next_request_on() {
    let site = Site::open().await;
    let cookie = site.sign_in(RESEARCHER).await;
    let mut db = site.store.write().await.unwrap();
    set_active(&mut db, &RESEARCHER.parse().unwrap(), Activity::Inactive)
        .await
        .unwrap();
    db.commit().await.unwrap();
    assert_eq!(site.who(&cookie).await, None);
}

#[test]
fn after_signing_in_one_stays_on_this_server() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let site = runtime.block_on(Site::open());
    proptest!(ProptestConfig::with_cases(40), |(next in "[/\\\\\t@:.a?#%é-]{0,9}")| {
        let body: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("person", RESEARCHER).append_pair("next", &next).finish();
        let answer = runtime.block_on(site.send(site.form("/sign-in", &body, None)));
        let location = answer.header(LOCATION.as_str());
        prop_assert_eq!(answer.status, StatusCode::SEE_OTHER);
        prop_assert!(location.starts_with('/') && !location.starts_with("//") && !location.contains('\\'), "{}", location);
    });
}

#[tokio::test]
async fn reading_changes_nothing() {
    let site = Site::open().await;
    let cookie = site.sign_in(MANAGER).await;
    let before = site.budgets(&cookie).await;
    let transfers = format!("/budgets/{}/transfers", site.period);
    let query = "pool=h100&from=robots&to=vision&hours=1&reason=r&idempotency_key=k";
    for path in ["/sign-out", "/workloads", "/workloads/w-1/cancel", &transfers] {
        for method in [Method::GET, Method::HEAD] {
            let request = Request::builder()
                .method(method)
                .uri(format!("{path}?{query}"))
                .header(HOST, site::HOST)
                .header(COOKIE, &cookie);
            let answer = site.send(request.body(Body::empty()).unwrap()).await;
            assert!(
                answer.status.is_client_error() || path == "/workloads",
                "{path}: {}",
                answer.status
            );
        }
    }
    assert_eq!(site.who(&cookie).await.as_deref(), Some(MANAGER));
    assert_eq!(site.budgets(&cookie).await.rows, before.rows);
}

fn granted(tree: &BudgetTree, node: &str) -> GpuSeconds {
    let row = tree.rows.iter().find(|row| row.node.as_str() == node).unwrap();
    row.granted_gpu_seconds
}

#[tokio::test]
async fn hours_move_by_a_form_once_however_often_it_is_sent() {
    let site = Site::open().await;
    let cookie = site.sign_in(MANAGER).await;
    let before = site.budgets(&cookie).await;
    let path = format!("/budgets/{}/transfers", site.period);
    let body = "pool=h100&from=robots&to=vision&hours=12.25&reason=new+project&idempotency_key=k-1";
    for _ in 0..2 {
        let answer = site.send(site.form(&path, body, Some(&cookie))).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let location = answer.header(LOCATION.as_str());
        assert!(
            location.starts_with(&format!("/budgets/{}?pool=h100&moved=t-", site.period)),
            "{location}"
        );
        let page = site.page(&location, Some(&cookie)).await;
        assert_eq!(page.status, StatusCode::OK);
    }
    let after = site.budgets(&cookie).await;
    let moved = GpuSeconds(44_100);
    assert_eq!(granted(&after, "robots"), granted(&before, "robots") - moved);
    assert_eq!(granted(&after, "vision"), granted(&before, "vision") + moved);
}

#[tokio::test]
async fn a_form_that_is_refused_comes_back_with_what_was_typed() {
    let site = Site::open().await;
    let cookie = site.sign_in(MANAGER).await;
    let path = format!("/budgets/{}/transfers", site.period);
    let body = "pool=h100&from=robots&to=vision&hours=0.001&reason=a+%3Cb%3E+reason&idempotency_key=k-2";
    let answer = site.send(site.form(&path, body, Some(&cookie))).await;
    let location = answer.header(LOCATION.as_str());
    assert!(
        location.contains("dialog=move") && location.contains("refused="),
        "{location}"
    );
    let page = site.page(&location, Some(&cookie)).await;
    assert!(
        page.body.contains("0.001") && page.body.contains("a &lt;b&gt; reason"),
        "{}",
        page.body
    );
    let other = site.sign_in(RESEARCHER).await;
    let page = site.page(&location, Some(&other)).await;
    assert!(!page.body.contains("0.001"), "another session sees nothing of it");
}

#[tokio::test]
async fn a_workload_is_submitted_and_cancelled_by_forms() {
    let site = Site::open().await;
    let cookie = site.sign_in(RESEARCHER).await;
    let body = "name=train&pool=h100&charged_to=vision&gpus=8&hosts=&min_runtime_min=60&then=charged\
                &fallback=wait&after_preemption=requeue&grace_s=0&priority=0&topology=anywhere\
                &simulated_runtime_min=90&idempotency_key=k-3";
    let answer = site.send(site.form("/workloads", body, Some(&cookie))).await;
    let location = answer.header(LOCATION.as_str());
    assert_eq!(
        (answer.status, location.as_str()),
        (StatusCode::SEE_OTHER, "/workloads/w-1"),
        "{}",
        answer.body
    );
    let answer = site
        .send(site.form("/workloads/w-1/cancel", "reason=done", Some(&cookie)))
        .await;
    assert_eq!(answer.header(LOCATION.as_str()), "/workloads/w-1");
    let again = site
        .send(site.form("/workloads/w-9/cancel", "reason=done", Some(&cookie)))
        .await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    let too_large = body.replace("gpus=8", "gpus=4096").replace("k-3", "k-4");
    let answer = site
        .send(site.form("/workloads", &too_large, Some(&cookie)))
        .await;
    assert!(
        answer
            .header(LOCATION.as_str())
            .starts_with("/workloads/new?refused=")
    );
}

#[tokio::test]
async fn a_form_of_nobody_leads_to_signing_in() {
    let site = Site::open().await;
    let answer = site.send(site.form("/workloads", "name=x", None)).await;
    assert_eq!(
        answer.header(LOCATION.as_str()),
        "/sign-in?next=%2Fworkloads%2Fnew"
    );
    assert_eq!(answer.cookie(), None, "nothing is kept for nobody");
}

#[tokio::test]
async fn what_is_too_large_or_not_there_is_told_to_people_and_programs() {
    let site = Site::open().await;
    let cookie = site.sign_in(RESEARCHER).await;
    let large = format!("name={}", "x".repeat(70_000));
    let answer = site.send(site.form("/workloads", &large, Some(&cookie))).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(answer.body.contains("<h1>Too large</h1>"), "{}", answer.body);
    let page = site.page("/nowhere", None).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.body.contains("<html"));
    let request = Request::get("/nowhere").header(HOST, site::HOST);
    let answer = site.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.header(CONTENT_TYPE.as_str()), "application/problem+json");
    assert!(
        answer.body.contains("\"code\":\"not-found\"") && answer.body.contains("request_id"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn pages_render_for_those_who_may_see_them_and_say_so_to_others() {
    let site = Site::open().await;
    let cookie = site.sign_in(MANAGER).await;
    let budgets = format!("/budgets/{}", site.period);
    let check = async |path: &str, nobody: StatusCode| {
        for (cookie, want) in [(None, nobody), (Some(cookie.as_str()), StatusCode::OK)] {
            let page = site.page(path, cookie).await;
            assert_eq!(page.status, want, "{path} {cookie:?}");
            assert_eq!(page.body.matches("<h1").count(), 1, "{path} {cookie:?}");
        }
    };
    check("/", StatusCode::OK).await;
    check("/sign-in", StatusCode::OK).await;
    for path in ["/queue", "/standing", "/hosts", "/workloads/new", &budgets] {
        check(path, StatusCode::UNAUTHORIZED).await;
    }
}

#[tokio::test]
async fn a_stream_tells_what_is_asked_for_and_ends_with_its_session() {
    let site = Site::open().await;
    let cookie = site.sign_in(RESEARCHER).await;
    let mut stream = site
        .listen("/events?topics=queue:h100,budgets:h100", Some(&cookie))
        .await
        .unwrap();
    assert!(stream.next().await.unwrap().contains("event: heartbeat"));
    let topic = |text: &str| text.parse::<Topic>().unwrap();
    site.hub.announce(topic("hosts:h100"));
    site.hub.announce(topic("queue:h100"));
    let told = stream.next_of("changed").await.unwrap();
    assert!(
        told.contains("data: {\"topic\":\"queue:h100\",\"version\":"),
        "{told}"
    );
    site.send(site.form("/sign-out", "", Some(&cookie))).await;
    let ended = tokio::time::timeout(Duration::from_secs(10), async {
        while stream.next().await.is_some() {}
    });
    ended.await.unwrap();
}

#[tokio::test]
async fn a_stream_that_comes_back_is_told_to_read_everything_anew() {
    let site = Site::open().await;
    let mut stream = site.listen_again("/events?topics=queue:h100").await.unwrap();
    assert!(stream.next().await.unwrap().contains("event: resync"));
}

#[tokio::test]
async fn a_stream_is_given_to_those_who_may_follow_it() {
    let site = Site::open().await;
    let check = async |topics: &str, cookie: Option<&str>, want: u16| {
        let opened = site.listen(&format!("/events?topics={topics}"), cookie).await;
        assert_eq!(
            opened.err().map_or(200, |status| status.as_u16()),
            want,
            "{topics}"
        );
    };
    check("queue:h100", None, 200).await;
    check("workload:w-1", None, 401).await;
    check("queue:other", None, 422).await;
    check("people:all", None, 422).await;
    let cookie = site.sign_in(RESEARCHER).await;
    check("workload:w-1", Some(&cookie), 404).await;
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let site = Site::open().await;
    let mut stream = site.listen("/events?topics=queue:h100", None).await.unwrap();
    site.stop.request();
    let ended = tokio::time::timeout(Duration::from_secs(10), async {
        while stream.next().await.is_some() {}
    });
    ended.await.unwrap();
}
