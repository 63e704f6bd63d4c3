//! Refusals: one form for all, and nothing about our insides.

use axum::body::Body;
use axum::http::Method;
use serde_json::json;
use stint_server::store::commit;

use crate::house::House;

#[tokio::test]
async fn what_is_not_there_is_a_problem_too() {
    let house = House::new().await;
    let rex = house.person("rex");
    for path in ["/api/v1/nothing", "/api/v1/queue/7", "/api/v2/queue", "/api/"] {
        rex.get(path).await.refused(404, "not-found");
    }
    let answer = rex.get("/api/v1/nothing").await;
    assert_eq!(answer.json()["instance"], "/api/v1/nothing");
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[tokio::test]
async fn a_method_that_an_address_does_not_have_is_refused_with_those_it_has() {
    let house = House::new().await;
    let rex = house.person("rex");
    let answer = rex.post("/api/v1/queue", &[], &json!({})).await;
    answer.refused(405, "method-not-allowed");
    assert_eq!(answer.header("allow"), "GET,HEAD");
    rex.delete("/api/v1/workloads")
        .await
        .refused(405, "method-not-allowed");
}

#[tokio::test]
async fn ids_and_queries_that_can_not_be_read_are_refused() {
    let house = House::new().await;
    let rex = house.person("rex");
    rex.get("/api/v1/workloads/w-%FF").await.refused(404, "not-found");
    rex.get("/api/v1/workloads/w-99999999999999999999")
        .await
        .refused(404, "not-found");
    assert_eq!(rex.get("/api/v1/queue?pool=%FF").await.wrong_field(), "query");
    assert_eq!(rex.get("/api/v1/queue?colour=red").await.wrong_field(), "colour");
    assert_eq!(rex.get("/api/v1/periods?x=1").await.wrong_field(), "x");
    assert_eq!(
        rex.get("/api/v1/queue?pool=h100&pool=h100").await.wrong_field(),
        "pool"
    );
}

#[tokio::test]
async fn a_failure_of_ours_is_told_without_its_detail() {
    let house = House::new().await;
    let mut db = house.store.write().await.unwrap();
    sqlx::query("ALTER TABLE workloads RENAME TO gone")
        .execute(&mut *db)
        .await
        .unwrap();
    commit(db).await.unwrap();
    let answer = house.person("rex").get("/api/v1/workloads").await;
    let problem = answer.refused(500, "internal");
    assert_eq!(problem["detail"], "Something went wrong on our side.");
    assert!(
        !answer.text.contains("workloads ") && !answer.text.contains("SQL") && !answer.text.contains("table")
    );
}

#[tokio::test]
async fn an_empty_installation_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let store = stint_server::store::Store::open(&folder.path().join("stint.db"))
        .await
        .unwrap();
    store.migrate().await.unwrap();
    let clock = std::sync::Arc::new(stint_server::clock::SystemClock);
    let service = stint_server::service::Service::new(store, clock, std::sync::Arc::default());
    let problem = service
        .shell(&stint_server::service::Caller::default(), None, None)
        .await
        .unwrap_err();
    assert_eq!(problem.status, 404);
    assert!(problem.detail.contains("stint import org"), "{}", problem.detail);
}

#[tokio::test]
async fn head_asks_what_get_would_answer_and_sends_no_body() {
    let house = House::new().await;
    let answer = house
        .person("rex")
        .send(Method::HEAD, "/api/v1/me", &[], Body::empty())
        .await;
    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
}
