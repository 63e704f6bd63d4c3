//! The pages as the server renders them: whole, valid, safe, and right without scripts.

mod fake;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use leptos::prelude::*;
use leptos_axum::LeptosRoutes;
use stint_core::api::session::Role;
use stint_core::api::{Code, Problem};
use stint_core::sched::contract::WorkloadState;
use tower::ServiceExt;

use self::fake::{Fake, HOSTILE, at, hours, person, queue_page, queue_row, refused_move, workload_row};
use super::now::{attention, levels, strip_levels};
use crate::backend::{FormKey, SharedBackend};

fn site(fake: Fake) -> Router {
    let backend: SharedBackend = fake.shared();
    let context = move || {
        provide_context(backend.clone());
        provide_context(FormKey("key-1".to_owned()));
    };
    let options = LeptosOptions::builder().output_name("stint").build();
    let routes = leptos_axum::generate_route_list(crate::App);
    let document = options.clone();
    Router::new()
        .leptos_routes_with_context(&options, routes, context.clone(), move || {
            crate::shell(document.clone())
        })
        .fallback(leptos_axum::file_and_error_handler_with_context::<LeptosOptions, _>(context, crate::shell))
        .with_state(options)
}

async fn get_from(fake: Fake, path: &str) -> (StatusCode, String) {
    let request = Request::get(path)
        .header("accept", "text/html")
        .body(Body::empty())
        .unwrap();
    let response = site(fake).oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 4_000_000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// What is on the page: without the data that the browser is given for hydration.
fn visible(html: &str) -> String {
    let mut rest = html;
    let mut shown = String::new();
    while let Some(start) = rest.find("<script") {
        shown.push_str(&rest[..start]);
        rest = rest[start..]
            .find("</script>")
            .map_or("", |end| &rest[start + end..]);
    }
    shown.push_str(rest);
    shown
}

async fn page(path: &str) -> String {
    let (status, html) = get_from(Fake::default(), path).await;
    assert_eq!(status, StatusCode::OK, "{path}");
    visible(&html)
}

const PAGES: [&str; 9] = [
    "/",
    "/queue",
    "/workloads/new",
    "/workloads/w-48213?dialog=cancel",
    "/standing",
    "/budgets",
    "/budgets/2026-Q4?dialog=move&from=vision&to=audio&hours=500",
    "/hosts",
    "/sign-in",
];

/// A page with the values of its attributes taken out, where a quoted `<` is only a letter. Quotes inside values are
/// escaped, or the next attribute would show up as markup here.
fn without_values(html: &str) -> String {
    let mut rest = html;
    let mut shown = String::new();
    while let Some(start) = rest.find("=\"") {
        shown.push_str(&rest[..start]);
        rest = rest[start + 2..].split_once('"').map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown
}

/// Text between tags, with the markers of the renderer removed.
fn words(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for c in html.replace("<!>", "").chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            _ if !in_tag => text.push(c),
            _ => {}
        }
    }
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

fn values_of<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let mark = format!(" {attribute}=\"");
    html.split(&mark)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

#[tokio::test]
async fn every_page_is_whole_without_scripts_and_has_one_heading() {
    for path in PAGES {
        let html = page(path).await;
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
        assert!(html.contains("<html lang=\"en\""), "{path}");
        assert!(!html.contains("aria-busy"), "{path} shows a skeleton: {html}");
        assert!(!html.contains("role=\"alert\""), "{path} shows a failure");
        assert!(html.contains(" · Stint</title>"), "{path}: {html}");
        assert!(
            html.contains(" href=\"#main\"") && html.contains(" id=\"main\""),
            "{path} has no way past the navigation"
        );
    }
}

#[tokio::test]
async fn every_field_has_its_label_every_reference_resolves_and_ids_are_unique() {
    for path in PAGES {
        let html = page(path).await;
        let ids = values_of(&html, "id");
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), ids.len(), "{path}: {ids:?}");
        for attribute in ["for", "aria-labelledby", "aria-describedby"] {
            for reference in values_of(&html, attribute)
                .iter()
                .flat_map(|value| value.split(' '))
            {
                assert!(ids.contains(&reference), "{path}: {attribute}={reference}");
            }
        }
        let labelled = values_of(&html, "for");
        for field in html.split("<input").skip(1).chain(html.split("<select").skip(1)) {
            let tag = field.split('>').next().unwrap();
            let own = values_of(tag, "id");
            let is_labelled = own.first().is_some_and(|id| labelled.contains(id));
            let is_wrapped = tag.contains("name=\"pool\"")
                || ["period", "under", "reason"]
                    .iter()
                    .any(|name| tag.contains(&format!("name=\"{name}\"")));
            assert!(
                tag.contains("type=\"hidden\"") || is_labelled || is_wrapped,
                "{path}: {tag}"
            );
        }
    }
}

#[tokio::test]
async fn tables_have_captions_heads_and_bodies_and_nothing_is_styled_inline() {
    for path in PAGES {
        let html = page(path).await;
        let tables = html.matches("<table").count();
        for part in ["<caption", "<thead", "<tbody"] {
            assert_eq!(html.matches(part).count(), tables, "{path}: {part}");
        }
        assert!(!html.contains(" style="), "{path}");
        assert!(!html.contains("<style"), "{path}");
        assert!(
            !html.contains(" onclick") && !html.contains("javascript:"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn hostile_names_are_text_everywhere() {
    for path in PAGES {
        let (_, html) = get_from(Fake::default(), path).await;
        let markup = without_values(&visible(&html));
        if let Some(found) = markup.find("<img") {
            panic!(
                "{path} holds markup made of a name: {}",
                &markup[found.saturating_sub(200)..found + 50]
            );
        }
        assert_eq!(
            html.matches("<img").count(),
            visible(&html).matches("<img").count(),
            "{path}: its data is escaped"
        );
    }
    let hosts = page("/hosts").await;
    assert!(
        hosts.contains("<title>GPU 0: w-48001 (&lt;/title&gt;&lt;img"),
        "tooltips are text"
    );
    assert!(words(&page("/queue").await).contains(HOSTILE));
}

#[tokio::test]
async fn an_address_from_outside_can_put_no_markup_on_a_page() {
    let attack = "%22%3E%3Cimg%20src%3Dx%20onerror%3D1%3E";
    for path in [
        "/queue?under=",
        "/queue?reason=",
        "/queue?pool=",
        "/standing?node=",
        "/budgets/2026-Q4?dialog=move&hours=",
        "/budgets/2026-Q4?closed=",
        "/budgets/2026-Q4?unit=",
        "/budgets/2026-Q4?moved=",
        "/sign-in?next=/",
        "/workloads/",
    ] {
        let (_, html) = get_from(Fake::default(), &format!("{path}{attack}")).await;
        let markup = without_values(&visible(&html));
        assert!(!markup.contains("<img") && !html.contains("=\"\"><img"), "{path}");
    }
}

#[tokio::test]
async fn the_queue_shows_place_standings_reason_and_promise_in_the_given_order() {
    let html = page("/queue").await;
    let text = words(&html);
    assert!(text.contains("792 GPUs asked for by 2 workloads; 9 free, 8 pinned"));
    assert!(text.contains("Workloads 1 to 2 of 2, in the order"));
    assert!(text.contains("0.892 › 0.830"), "{text}");
    assert!(text.contains("64 × 8") && text.contains("1:36") && text.contains("8 h"));
    assert!(html.find("w-48001").unwrap() < html.find("w-48002").unwrap());
    assert!(text.contains("name hidden"), "a hidden name is said to be hidden");
    assert!(text.contains("15:32"), "the promise");
    assert!(!html.contains("rel=\"next\""), "there is one page");
}

#[tokio::test]
async fn the_range_and_the_next_page_are_right_at_every_edge() {
    let check = |rows: u32, before, matching, want: &'static str, next: bool| async move {
        let rows = (1..=rows).map(queue_row).collect();
        let fake = Fake {
            queue: Ok(queue_page(rows, before, matching)),
            ..Fake::default()
        };
        let (_, html) = get_from(fake, "/queue?pool=gpu&mine=1").await;
        let html = visible(&html);
        assert!(words(&html).contains(want), "{want}");
        let link = "href=\"/queue?pool=gpu&amp;mine=1&amp;after=after-this\"";
        assert_eq!(html.contains(link), next, "{want}");
    };
    check(1, 0, 1, "Workloads 1 of 1,", false).await;
    check(3, 0, 3, "Workloads 1 to 3 of 3,", false).await;
    check(3, 0, 4, "Workloads 1 to 3 of 4,", true).await;
    check(1, 3, 4, "Workloads 4 of 4,", false).await;
}

#[tokio::test]
async fn an_empty_queue_a_filter_without_rows_and_a_failure_look_different() {
    let with = |queue| Fake {
        queue,
        ..Fake::default()
    };
    let (_, empty) = get_from(with(Ok(queue_page(Vec::new(), 0, 0))), "/queue").await;
    assert!(words(&empty).contains("Nothing is queued") && !visible(&empty).contains("role=\"alert\""));

    let mut filtered = queue_page(Vec::new(), 0, 0);
    filtered.queued = 27;
    let (_, filtered) = get_from(with(Ok(filtered)), "/queue?reason=funds").await;
    assert!(words(&filtered).contains("No queued workload matches these filters."));
    assert!(words(&filtered).contains("27 workloads are queued"));

    let problem = Problem::new(Code::Internal, "The store did not answer.");
    let (status, failed) = get_from(with(Err(problem)), "/queue").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    let failed = visible(&failed);
    assert!(failed.contains("role=\"alert\"") && words(&failed).contains("Try again"));
    assert!(!words(&failed).contains("Nothing is queued"));
}

#[tokio::test]
async fn what_is_not_there_answers_404_and_what_is_wrong_422() {
    let check = |path: &'static str, want: StatusCode| async move {
        let (status, html) = get_from(Fake::default(), path).await;
        assert_eq!(status, want, "{path}");
        assert_eq!(visible(&html).matches("<h1").count(), 1, "{path}");
    };
    check("/nothing/here", StatusCode::NOT_FOUND).await;
    check("/workloads/w-1", StatusCode::NOT_FOUND).await;
    check("/workloads/nonsense", StatusCode::NOT_FOUND).await;
    check("/budgets/2020-Q1", StatusCode::NOT_FOUND).await;
    check("/standing?node=nobody", StatusCode::NOT_FOUND).await;
    check("/queue?pool=other", StatusCode::NOT_FOUND).await;
    check("/queue?reason=nonsense", StatusCode::UNPROCESSABLE_ENTITY).await;
    check("/queue?pool=NO+POOL", StatusCode::UNPROCESSABLE_ENTITY).await;
}

#[tokio::test]
async fn the_frame_says_what_time_it_is_how_fast_it_runs_and_who_is_signed_in() {
    let html = page("/queue").await;
    let text = words(&html);
    assert!(text.contains("Tue 17 Nov, 14:32:06") && text.contains("CET") && text.contains("× 600"));
    assert!(html.contains("datetime=\"2026-11-17T14:32:06+01:00\""));
    assert!(html.contains("action=\"/sign-out\"") && text.contains("manager of"));
    assert_eq!(html.matches("aria-current=\"page\"").count(), 1);

    let in_production = Fake {
        speed: 1,
        me: None,
        ..Fake::default()
    };
    let (_, html) = get_from(in_production, "/queue?mine=1").await;
    let html = visible(&html);
    assert!(!html.contains("class=\"speed\""));
    assert!(
        html.contains("href=\"/sign-in?next=%2Fqueue%3Fmine%3D1\""),
        "{html}"
    );
}

#[tokio::test]
async fn the_start_page_never_shows_what_was_not_measured_and_invites_who_is_not_signed_in() {
    let text = words(&page("/").await);
    assert!(text.contains("not measured") && text.contains("nothing owed"));
    assert!(text.contains("96.0 %"), "held of healthy");
    assert!(text.contains("is owed time: 0.830, rank 1 of 2 in perception."));
    assert!(text.contains("1 running, 1 waiting."));

    let signed_out = Fake {
        me: None,
        ..Fake::default()
    };
    let (_, html) = get_from(signed_out, "/").await;
    let text = words(&visible(&html));
    assert!(text.contains("Sign in to see what is yours.") && text.contains("Pool gpu, now"));
    assert!(!text.contains("My team’s standing"));
}

#[tokio::test]
async fn a_node_without_a_budget_is_said_to_have_none() {
    let html = page("/budgets").await;
    let start = html
        .find("</span>language")
        .or_else(|| html.find("language"))
        .unwrap();
    let row = words(html[start..].split("</tr>").next().unwrap());
    assert!(row.contains("no budget"), "{row}");
    for wrong in ["NaN", "inf", "100.0", "100 %"] {
        assert!(!row.contains(wrong), "{row}");
    }
}

#[tokio::test]
async fn unit_and_amounts_of_the_budgets_change_together() {
    let hours = words(&page("/budgets").await);
    assert!(hours.contains("GrantedGPU-h") && hours.contains("17,000.0"));
    let days = words(&page("/budgets?unit=days").await);
    assert!(days.contains("GrantedGPU-days") && days.contains("708.33") && !days.contains("17,000.0"));
    let parts = words(&page("/budgets?unit=parent").await);
    assert!(parts.contains("Granted% of parent") && parts.contains("28.3"));
}

#[tokio::test]
async fn a_closed_branch_hides_its_nodes_and_can_be_opened_again() {
    let open = page("/budgets/2026-Q4").await;
    assert!(open.contains("aria-expanded=\"true\"") && open.contains("aria-level=\"3\""));
    assert!(open.contains("href=\"/budgets/2026-Q4?closed=perception\""));
    let closed = page("/budgets/2026-Q4?closed=perception").await;
    assert!(closed.contains("aria-expanded=\"false\"") && !closed.contains("aria-level=\"3\""));
    assert!(closed.contains("aria-label=\"Open perception\""));
}

#[tokio::test]
async fn a_move_shows_its_effect_and_its_amount_before_it_is_made() {
    let html = page("/budgets/2026-Q4?dialog=move&from=vision&to=audio&hours=500").await;
    let text = words(&html);
    assert!(text.contains("Moves 500.00 GPU-h from"), "{text}");
    assert!(text.contains("No running workload changes."));
    assert!(text.contains("16,500.00") && text.contains("5,700.00"), "{text}");
    assert!(text.contains("Move 500.00 GPU-h"));
    assert!(html.contains("action=\"/budgets/2026-Q4/transfers\""));
    assert!(html.contains("name=\"idempotency_key\" value=\"key-1\""));

    let not_yet = words(&page("/budgets/2026-Q4?dialog=move").await);
    assert!(
        !not_yet.contains("Moves "),
        "nothing is moved before there is an amount"
    );
}

#[tokio::test]
async fn an_impossible_move_says_why_while_it_is_typed() {
    let check = |hours: &'static str| async move {
        let path = format!("/budgets/2026-Q4?dialog=move&from=vision&to=audio&hours={hours}");
        let (_, html) = get_from(Fake::default(), &path).await;
        let html = visible(&html);
        assert!(html.contains("bar bar--bad"), "{hours}");
        assert!(!words(&html).contains("Moves "), "{hours}");
    };
    check("99999").await;
    check("0.001").await;
    check("-5").await;
    check("x").await;
}

#[tokio::test]
async fn a_refused_move_keeps_what_was_typed_and_says_why() {
    let fake = Fake {
        refused: Some(refused_move()),
        ..Fake::default()
    };
    let (status, html) = get_from(fake, "/budgets/2026-Q4?dialog=move&refused=abc").await;
    let html = visible(&html);
    assert_eq!(status, StatusCode::OK);
    assert!(words(&html).contains("vision can give at most 12,750.00 GPU-h."));
    assert!(html.contains("value=\"99999.00\""));
    assert!(html.contains("<option value=\"audio\" selected"), "{html}");
    assert!(!without_values(&html).contains("<img"));
}

#[tokio::test]
async fn who_may_not_move_hours_is_offered_no_dialog() {
    let mut fake = Fake::default();
    for row in &mut fake.budgets {
        row.may_move = false;
    }
    let (_, html) = get_from(fake, "/budgets/2026-Q4?dialog=move").await;
    let html = visible(&html);
    assert!(!html.contains("<dialog") && !words(&html).contains("Move hours…"));
}

#[tokio::test]
async fn only_a_transaction_of_the_ledger_is_announced_as_a_move() {
    let moved = words(&page("/budgets/2026-Q4?moved=t-12").await);
    assert!(moved.contains("The hours were moved.") && moved.contains("t-12"));
    let forged = words(&page("/budgets/2026-Q4?moved=a+million+hours").await);
    assert!(!forged.contains("The hours were moved.") && !forged.contains("a million"));
}

#[tokio::test]
async fn a_workload_tells_its_story_and_asks_before_it_is_cancelled() {
    let html = page("/workloads/w-48213").await;
    let text = words(&html);
    assert!(text.contains("until 16:01") && text.contains("1 h 29 min more"));
    assert!(text.contains("Preempted 1 time") && text.contains("816.00"));
    assert!(html.contains("queued for 1 h, then run 1 protected for 8 h, then run 1 interruptible for 3 h"));
    assert!(html.contains("url(#hx)") && html.contains("id=\"hx\""));
    assert!(!html.contains("<dialog"));

    let asking = page("/workloads/w-48213?dialog=cancel").await;
    assert!(asking.contains("<dialog") && asking.contains("action=\"/workloads/w-48213/cancel\""));
    assert!(words(&asking).contains("releases 32 GPUs on 4 hosts"));

    let mut fake = Fake::default();
    if let Some(workload) = &mut fake.workload {
        workload.may_cancel = false;
    }
    let (_, foreign) = get_from(fake, "/workloads/w-48213?dialog=cancel").await;
    assert!(!visible(&foreign).contains("<dialog"));
}

#[tokio::test]
async fn standing_says_who_goes_first_with_its_own_numbers() {
    let text = words(&page("/standing").await);
    assert!(
        text.contains("Teams received 98.3 % of the 1,000.0 GPU-hours owed to them over 7 d; 1 of 2 teams")
    );
    assert!(
        text.contains("Here no two neighbours are equal: perception (0.752) goes before language (0.986).")
    );
    assert!(text.contains("\u{2212}52.0"), "delivered less owed");

    let mut fake = Fake::default();
    fake.standing[4] = fake::standing_row("language", Some("institute"), 1, 752);
    fake.standing[4].allocated_gpu_seconds = hours(2_000);
    let (_, html) = get_from(fake, "/standing").await;
    let text = words(&visible(&html));
    assert!(
        text.contains("perception and language are equal at 0.752: language is 1,554.0 GPU-h short of its due, perception only 754.0, so language goes first."),
        "{text}"
    );

    let below = page("/standing?node=perception").await;
    assert!(words(&below).contains("Below perception") && !words(&below).contains("language"));
}

#[tokio::test]
async fn hosts_are_a_map_and_a_table_of_the_same() {
    let html = page("/hosts").await;
    let text = words(&html);
    assert!(
        text.contains("1 host up of 1; 2 of 8 GPUs free; 0 hosts are not up."),
        "{text}"
    );
    assert_eq!(
        html.matches("aria-label=\"gpu-a01: up, 6 of 8 GPUs held\"")
            .count(),
        2
    );
    assert!(text.contains("2 of 8") && text.contains("Interruptible"));
}

#[tokio::test]
async fn everyone_who_may_sign_in_has_one_button_and_is_sent_back_within_the_site() {
    let html = page("/sign-in?next=%2Fqueue").await;
    assert_eq!(html.matches("name=\"person\"").count(), 2);
    assert_eq!(html.matches("name=\"next\" value=\"/queue\"").count(), 2);
    assert!(words(&html).contains("Sign in as ana") && words(&html).contains("Signed in as mk"));
    let outside = page("/sign-in?next=%2F%2Fevil.example").await;
    assert_eq!(outside.matches("name=\"next\" value=\"/\"").count(), 2);

    let fake = Fake {
        people: Vec::new(),
        me: None,
        ..Fake::default()
    };
    let (_, html) = get_from(fake, "/sign-in").await;
    assert!(words(&html).contains("Nobody can sign in here by one click."));
}

#[tokio::test]
async fn a_refused_workload_keeps_its_fields_and_marks_the_wrong_one() {
    let mut refused = refused_move();
    refused.problem = Problem::field("gpus_per_host", "9", "1 to 8 (GPUs of a host)");
    refused.fields.insert("gpus".to_owned(), "9".to_owned());
    refused.fields.insert("name".to_owned(), HOSTILE.to_owned());
    let fake = Fake {
        refused: Some(refused),
        me: Some(person("ana", Role::Researcher)),
        ..Fake::default()
    };
    let (_, html) = get_from(fake, "/workloads/new?refused=abc").await;
    let html = visible(&html);
    assert!(html.contains("name=\"gpus\" value=\"9\""), "{html}");
    assert_eq!(html.matches("aria-invalid=\"true\"").count(), 1);
    assert!(words(&html).contains("9 is not accepted. Accepted: 1 to 8 (GPUs of a host)."));
    assert!(
        html.contains("<option value=\"vision\" selected"),
        "the usual node is chosen"
    );
}

#[test]
fn attention_names_the_protection_that_ends_first() {
    let mut soon = workload_row(WorkloadState::Protected);
    soon.name = Some("soon".to_owned());
    soon.protected_until = Some(at(60));
    let rows = [workload_row(WorkloadState::Protected), soon];
    assert_eq!(
        attention(&rows, at(0)),
        "2 running, 0 waiting. soon becomes interruptible at 14:33."
    );
    assert_eq!(attention(&[], at(0)), "Nothing of yours runs or waits.");
}

#[tokio::test]
async fn a_pool_without_gpus_has_no_percentages() {
    let backend = Fake::default().shared();
    let mut pool = backend.pool(None).await.unwrap();
    pool.gpus = 0;
    pool.healthy_gpus = 0;
    let values = levels(&pool).map(|level| level.value);
    assert_eq!(values, ["not measured", "nothing owed", "no GPUs", "no GPUs"]);
}

#[tokio::test]
async fn the_share_strip_leads_from_the_root_to_my_node() {
    let rows = Fake::default().standing;
    let strip = strip_levels(&rows, &rows[2]);
    let labels: Vec<&str> = strip.iter().map(|level| level.label.as_str()).collect();
    assert_eq!(labels[0], "institute → perception");
    assert_eq!(strip.len(), 2);
    assert!(
        strip
            .iter()
            .all(|level| level.parts.iter().filter(|(_, leads)| *leads).count() == 1)
    );
}
