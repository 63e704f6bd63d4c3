//! What operators watch, against what people see.

use serde_json::json;
use stint_core::units::Seconds;

use crate::house::House;

fn series(text: &str, line: &str) -> f64 {
    let mut lines = text.lines();
    let found = lines.find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    found
        .unwrap_or_else(|| panic!("no series {line} in\n{text}"))
        .parse()
        .unwrap()
}

#[tokio::test]
async fn u24_metrics_standing_budgets_and_queue_agree_to_the_second() {
    let house = House::new().await;
    let mut engine = house.engine().await;
    for gpus in [8, 8, 8, 8, 4, 2] {
        assert_eq!(
            house.person("rex").submit(&json!({"gpus": gpus})).await.status,
            201
        );
    }
    house.pass(&mut engine, Seconds(1)).await;
    house.pass(&mut engine, Seconds(900)).await;
    let rex = house.person("rex");
    let text = rex.get("/metrics").await.text;
    let budget = rex.budget("vision").await;
    let standing = rex.get("/api/v1/standing").await.ok();
    let row = standing["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["node"] == "vision")
        .unwrap()
        .clone();
    let queue = rex.get("/api/v1/queue").await.ok();
    let of = |name: &str| series(&text, &format!("{name}{{pool=\"h100\",node=\"vision\"}}"));
    let is = |value: f64, json: &serde_json::Value| {
        assert!((value - json.as_f64().unwrap()).abs() < 1e-9, "{value} {json}");
    };
    is(of("stint_charged_gpu_seconds"), &budget["charged_gpu_seconds"]);
    is(of("stint_charged_gpu_seconds"), &row["delivered_gpu_seconds"]);
    is(of("stint_held_gpu_seconds"), &budget["held_gpu_seconds"]);
    is(of("stint_held_gpu_seconds"), &row["held_gpu_seconds"]);
    is(of("stint_granted_gpu_seconds"), &budget["granted_gpu_seconds"]);
    is(of("stint_owed_gpu_seconds"), &row["owed_gpu_seconds"]);
    is(of("stint_queued_workloads"), &row["queued"]);
    is(
        series(&text, "stint_queue_workloads{pool=\"h100\"}"),
        &queue["queued"],
    );
    is(
        series(&text, "stint_queue_gpus{pool=\"h100\"}"),
        &queue["asked_gpus"],
    );
    assert!(row["held_gpu_seconds"].as_i64().unwrap() > 0 && queue["queued"].as_i64().unwrap() > 0);
    assert!(
        !text.contains("node=\"research\""),
        "only nodes without children have series"
    );
}

#[tokio::test]
async fn a_server_is_ready_when_its_engine_publishes() {
    let house = House::new().await;
    let waiting = house.stranger().get("/readyz").await;
    assert_eq!(waiting.status, 503);
    assert_eq!(
        waiting.json(),
        json!({"database": "ok", "schema": "ok", "engine": "failing"})
    );
    let engine = house.engine().await;
    assert_eq!(house.stranger().get("/readyz").await.status, 200);
    drop(engine);
    assert_eq!(house.stranger().get("/readyz").await.status, 503);
    assert_eq!(house.stranger().get("/healthz").await.text, "ok\n");
}
