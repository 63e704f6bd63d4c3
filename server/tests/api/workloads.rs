//! Workloads: submitted, listed, shown, cancelled.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use stint_core::units::{HOUR_S, Seconds};

use crate::house::House;

#[tokio::test]
async fn a_submission_is_queued_then_started_and_its_run_is_charged() {
    let house = House::new().await;
    let mut engine = house.engine().await;
    let rex = house.person("rex");
    let answer = rex.submit(&json!({})).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("location"), "/api/v1/workloads/w-1");
    let view = answer.ok();
    assert_eq!(view["row"]["state"], "queued");
    assert_eq!(view["row"]["why"]["code"], "next_pass");
    assert_eq!(view["path"], json!(["Lab", "Research", "Vision"]));
    assert_eq!(view["may_cancel"], true);
    house.pass(&mut engine, Seconds(1)).await;
    house.pass(&mut engine, Seconds(600)).await;
    let view = rex.get("/api/v1/workloads/w-1").await.ok();
    assert_eq!(view["row"]["state"], "protected");
    assert_eq!(view["runs"].as_array().unwrap().len(), 1);
    assert_eq!(view["runs"][0]["hosts"][0][1], json!([0]));
    let charged = view["charged_gpu_seconds"].as_i64().unwrap();
    assert!((590..=601).contains(&charged), "{charged}");
    assert!(view["held_gpu_seconds"].as_i64().unwrap() > 2_000);
    assert!(view["row"]["protected_until"].is_string());
    let log = rex.get("/api/v1/workloads/w-1/decisions").await.ok();
    assert_eq!(log["rows"], view["log"]);
    assert!(!view["log"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn what_does_not_fit_is_refused_by_the_field() {
    let house = House::new().await;
    let rex = house.person("rex");
    let check = async |fields: Value, field: &str| {
        assert_eq!(rex.submit(&fields).await.wrong_field(), field, "{fields}");
    };
    check(json!({"min_runtime_s": 28_801}), "min_runtime_s").await;
    check(json!({"min_runtime_s": 299}), "min_runtime_s").await;
    check(json!({"min_runtime_s": -1}), "min_runtime_s").await;
    check(json!({"gpus": 0}), "gpus").await;
    check(json!({"gpus": -1}), "gpus").await;
    check(json!({"gpus": 33}), "gpus").await;
    check(json!({"gpus": 9}), "gpus").await;
    check(json!({"gpus": 8, "hosts": 3}), "gpus").await;
    check(json!({"gpus": 10, "hosts": 5}), "hosts").await;
    check(json!({"gpus": 10, "hosts": 1}), "gpus_per_host").await;
    check(json!({"hosts": 0}), "hosts").await;
    check(json!({"priority": 1_001}), "priority").await;
    check(json!({"grace_s": 1_801}), "grace_s").await;
    check(json!({"min_runtime_s": 0, "grace_s": 16}), "grace_s").await;
    check(json!({"simulated_runtime_s": 0}), "simulated_runtime_s").await;
    check(json!({"name": ""}), "name").await;
    check(json!({"name": "a\nb"}), "name").await;
    check(json!({"name": "x".repeat(201)}), "name").await;
    check(json!({"external_id": ""}), "external_id").await;
    check(json!({"charged_to": "nobody"}), "charged_to").await;
    check(json!({"charged_to": "NO WAY"}), "charged_to").await;
    check(json!({"pool": "none"}), "pool").await;
    check(json!({"then": "explode"}), "then").await;
    check(json!({"surprise": 1}), "surprise").await;
    assert_eq!(rex.get("/api/v1/workloads").await.ok()["rows"], json!([]));
}

#[tokio::test]
async fn every_wrong_field_is_named_at_once() {
    let house = House::new().await;
    let answer = house
        .person("rex")
        .submit(&json!({"name": "", "min_runtime_s": 1, "priority": 5_000}))
        .await;
    let problem = answer.refused(422, "validation");
    let fields: BTreeSet<&str> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, BTreeSet::from(["name", "min_runtime_s", "priority"]));
}

#[tokio::test]
async fn a_body_that_is_not_utf_8_not_json_or_too_large_is_refused() {
    let house = House::new().await;
    let rex = house.person("rex");
    let json_type = [("content-type", "application/json")];
    let send = async |headers: &[(&str, &str)], body: Vec<u8>| {
        rex.send(Method::POST, "/api/v1/workloads", headers, Body::from(body))
            .await
    };
    assert_eq!(
        send(&json_type, b"{\"name\":\"\xff\"}".to_vec())
            .await
            .wrong_field(),
        "body"
    );
    assert_eq!(send(&json_type, b"{".to_vec()).await.wrong_field(), "body");
    assert_eq!(send(&[], b"{}".to_vec()).await.wrong_field(), "Content-Type");
    assert_eq!(
        send(&[("content-type", "text/plain")], b"{}".to_vec())
            .await
            .wrong_field(),
        "Content-Type"
    );
    send(&json_type, vec![b' '; 70_000])
        .await
        .refused(413, "too-large");
}

#[tokio::test]
async fn an_external_id_names_one_workload() {
    let house = House::new().await;
    let rex = house.person("rex");
    assert_eq!(rex.submit(&json!({"external_id": "job-7"})).await.status, 201);
    let problem = rex
        .submit(&json!({"external_id": "job-7"}))
        .await
        .refused(409, "conflict");
    assert_eq!(problem["errors"][0]["field"], "external_id");
    assert!(problem["detail"].as_str().unwrap().contains("w-1"));
}

#[tokio::test]
async fn a_submission_under_a_key_is_made_once() {
    let house = House::new().await;
    let rex = house.person("rex");
    let body = json!({"name": "once", "charged_to": "vision", "gpus": 1, "min_runtime_s": 3_600});
    let key = [("Idempotency-Key", "k")];
    let first = rex.post("/api/v1/workloads", &key, &body).await;
    let again = rex.post("/api/v1/workloads", &key, &body).await;
    assert_eq!((first.status, first.text), (again.status, again.text));
    let other = json!({"name": "two", "charged_to": "vision", "gpus": 1, "min_runtime_s": 3_600});
    rex.post("/api/v1/workloads", &key, &other)
        .await
        .refused(422, "idempotency/reused");
    assert_eq!(
        rex.get("/api/v1/workloads").await.ok()["rows"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn names_and_pages_belong_to_the_team_and_those_above_it() {
    let house = House::new().await;
    assert_eq!(
        house
            .person("rex")
            .submit(&json!({"name": "secret", "external_id": "x-1"}))
            .await
            .status,
        201
    );
    for insider in ["rex", "ada", "mona", "otto"] {
        let page = house.person(insider).get("/api/v1/workloads").await.ok();
        assert_eq!(page["rows"][0]["name"], "secret", "{insider}");
        assert_eq!(page["rows"][0]["submitted_by"], "rex");
        assert_eq!(
            house.person(insider).get("/api/v1/workloads/w-1").await.status,
            200
        );
    }
    let page = house.person("lin").get("/api/v1/workloads").await;
    assert_eq!(page.ok()["rows"][0]["name"], Value::Null);
    assert_eq!(page.ok()["rows"][0]["submitted_by"], Value::Null);
    assert!(!page.text.contains("secret") && !page.text.contains("x-1"));
    house
        .person("lin")
        .get("/api/v1/workloads/w-1")
        .await
        .refused(404, "not-found");
    house
        .person("lin")
        .get("/api/v1/workloads/w-1/decisions")
        .await
        .refused(404, "not-found");
    house
        .person("lin")
        .delete("/api/v1/workloads/w-1")
        .await
        .refused(404, "not-found");
}

#[tokio::test]
async fn a_queued_workload_that_is_cancelled_leaves_the_queue() {
    let house = House::new().await;
    let mut engine = house.engine().await;
    let rex = house.person("rex");
    assert_eq!(rex.submit(&json!({})).await.status, 201);
    let answer = rex.delete("/api/v1/workloads/w-1?reason=wrong%20data").await;
    assert_eq!(answer.status, 202);
    assert_eq!(rex.delete("/api/v1/workloads/w-1").await.status, 202);
    house.pass(&mut engine, Seconds(1)).await;
    let view = rex.get("/api/v1/workloads/w-1").await.ok();
    assert_eq!(view["row"]["state"], "cancelled");
    assert_eq!(view["may_cancel"], false);
    rex.delete("/api/v1/workloads/w-1").await.refused(409, "conflict");
}

#[tokio::test]
async fn managers_cancel_below_their_node_and_nobody_cancels_what_is_not_theirs() {
    let house = House::new().await;
    assert_eq!(house.person("rex").submit(&json!({})).await.status, 201);
    house
        .person("otto")
        .delete("/api/v1/workloads/w-1")
        .await
        .refused(403, "auth/forbidden");
    assert_eq!(
        house.person("ada").delete("/api/v1/workloads/w-1").await.status,
        202
    );
    house
        .person("rex")
        .delete("/api/v1/workloads/w-99")
        .await
        .refused(404, "not-found");
    house
        .person("rex")
        .delete("/api/v1/workloads/99")
        .await
        .refused(404, "not-found");
    let answer = house.person("rex").delete("/api/v1/workloads/w-1?why=x").await;
    assert_eq!(answer.wrong_field(), "why");
}

#[tokio::test]
async fn i62_pages_of_a_list_make_up_the_whole_list() {
    let house = House::new().await;
    let rex = house.person("rex");
    for n in 0..23 {
        assert_eq!(rex.submit(&json!({"name": format!("run {n}")})).await.status, 201);
    }
    assert_eq!(
        house
            .person("lin")
            .submit(&json!({"charged_to": "language"}))
            .await
            .status,
        201
    );
    let check = async |filter: &str, limit: usize, total: usize| {
        let whole = rex
            .get(&format!("/api/v1/workloads?limit=200{filter}"))
            .await
            .ok();
        let (mut rows, mut after, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = rex
                .get(&format!("/api/v1/workloads?limit={limit}{filter}{after}"))
                .await
                .ok();
            rows.extend(page["rows"].as_array().unwrap().clone());
            pages += 1;
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(Value::from(rows), whole["rows"], "{filter}");
        assert_eq!(whole["rows"].as_array().unwrap().len(), total, "{filter}");
        assert_eq!(pages, total.div_ceil(limit).max(1), "{filter}");
    };
    check("", 5, 24).await;
    check("", 24, 24).await;
    check("&mine=true", 23, 23).await;
    check("&state=queued", 7, 24).await;
    check("&state=finished", 7, 0).await;
    check("&under=research", 10, 24).await;
    check("&under=language&pool=h100", 10, 1).await;
    check("&under=language&mine=true&state=queued", 10, 0).await;
}

#[tokio::test]
async fn a_cursor_that_is_none_of_ours_is_refused() {
    let house = House::new().await;
    let rex = house.person("rex");
    for wrong in ["zz", "77", "after", "%F0%9F%92%A5"] {
        assert_eq!(
            rex.get(&format!("/api/v1/workloads?after={wrong}"))
                .await
                .wrong_field(),
            "after"
        );
        assert_eq!(
            rex.get(&format!("/api/v1/nodes?after={wrong}"))
                .await
                .wrong_field(),
            "after"
        );
    }
    assert_eq!(rex.get("/api/v1/workloads?limit=0").await.wrong_field(), "limit");
    assert_eq!(
        rex.get("/api/v1/workloads?limit=201").await.wrong_field(),
        "limit"
    );
    assert_eq!(
        rex.get("/api/v1/workloads?under=nobody").await.wrong_field(),
        "under"
    );
    assert_eq!(
        rex.get("/api/v1/workloads?state=dreaming").await.wrong_field(),
        "state"
    );
}

#[tokio::test]
async fn what_the_ledger_charged_and_holds_is_what_the_scheduler_counts() {
    let house = House::new().await;
    let mut engine = house.engine().await;
    for (who, node, gpus, min_runtime) in [
        ("rex", "vision", 4, 3_600),
        ("rex", "vision", 8, 900),
        ("lin", "language", 16, 7_200),
        ("lin", "language", 2, 0),
    ] {
        let fields = json!({
            "charged_to": node, "gpus": gpus, "min_runtime_s": min_runtime, "simulated_runtime_s": 5_000,
            "then": "unallocated",
        });
        assert_eq!(house.person(who).submit(&fields).await.status, 201);
    }
    for _ in 0..8 {
        house.pass(&mut engine, Seconds(HOUR_S / 3)).await;
        let at = engine.state().now();
        let findings = stint_server::engine::audit::audit(&house.store, &House::pool(), at)
            .await
            .unwrap();
        assert!(findings.is_empty(), "{findings:?}");
    }
}
