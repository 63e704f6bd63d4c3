//! Budgets: what is shown, moved and set.

use serde_json::{Value, json};
use stint_core::ledger::audit;
use stint_core::units::{DAY_S, HOUR_S, Seconds};
use stint_server::store::{audit_log, ledger, nodes, periods};

use crate::house::{House, PERIOD};

fn amount(row: &Value, field: &str) -> i64 {
    row[field].as_i64().unwrap()
}

fn hours(hours: i64) -> Value {
    json!(hours * HOUR_S)
}

#[tokio::test]
async fn a_move_takes_from_one_node_what_it_gives_to_the_other() {
    let house = House::new().await;
    let mona = house.person("mona");
    let (vision, robots) = (mona.budget("vision").await, mona.budget("robots").await);
    let answer = mona.transfer("k1", "vision", "robots", &hours(500)).await;
    assert_eq!(answer.status, 201);
    let moved = answer.ok();
    assert_eq!(moved["id"], "t-2");
    assert_eq!(
        amount(&moved["from"], "before_gpu_seconds") - amount(&moved["from"], "after_gpu_seconds"),
        500 * HOUR_S
    );
    let after = (mona.budget("vision").await, mona.budget("robots").await);
    let granted = "granted_gpu_seconds";
    assert_eq!(amount(&vision, granted) - amount(&after.0, granted), 500 * HOUR_S);
    assert_eq!(amount(&after.1, granted) - amount(&robots, granted), 500 * HOUR_S);
    // The root's grant is what it was, and one line of the audit log says who did it and why.
    assert_eq!(amount(&mona.budget("lab").await, granted), 60_000 * HOUR_S);
    let mut db = house.store.read().await.unwrap();
    let lines = audit_log::of_subject(&mut db, "t-2", 10).await.unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].person_name.as_str(), lines[0].reason.as_deref()),
        ("Mona", Some("plans changed"))
    );
    assert_eq!(lines[0].request_id.as_deref(), Some("req-1"));
}

#[tokio::test]
async fn the_ledger_gives_the_balances_that_are_stored() {
    let house = House::new().await;
    let mona = house.person("mona");
    for (key, from, to) in [
        ("a", "vision", "robots"),
        ("b", "robots", "ideas"),
        ("c", "lab", "language"),
    ] {
        house
            .clock
            .set(stint_core::units::Timestamp(crate::house::QUARTER.0 + 2 * DAY_S));
        assert_eq!(mona.transfer(key, from, to, &hours(100)).await.status, 201);
    }
    let mut db = house.store.read().await.unwrap();
    let org = nodes::organisation(&mut db).await.unwrap().unwrap().org;
    let period = periods::all(&mut db).await.unwrap().remove(0);
    let transactions = ledger::transactions(&mut db, &House::pool(), &period.id)
        .await
        .unwrap();
    let balances = ledger::balances(&mut db, &House::pool(), &period.id)
        .await
        .unwrap();
    let capacity = house
        .person("mona")
        .get(&format!("/api/v1/budgets/{PERIOD}/tree"))
        .await
        .ok();
    let capacity = stint_core::units::GpuSeconds(amount(&capacity, "capacity_gpu_seconds"));
    assert_eq!(transactions.len(), 4);
    let findings = audit(&org, &period, capacity, &transactions, &balances);
    assert!(findings.is_empty(), "{findings:?}");
}

#[tokio::test]
async fn u4_no_number_stands_for_unlimited_and_nothing_is_rounded() {
    let house = House::new().await;
    let mona = house.person("mona");
    let huge: Value = serde_json::from_str("99999999999999999999").unwrap();
    for wrong in [
        json!(null),
        json!(-1),
        json!(0),
        json!(1.5),
        json!("36"),
        json!(i64::MAX),
        huge,
    ] {
        let answer = mona.transfer("k", "vision", "robots", &wrong).await;
        assert_eq!(answer.wrong_field(), "amount_gpu_seconds", "{wrong}");
    }
    assert_eq!(mona.budget("vision").await["version"], 1);
}

#[tokio::test]
async fn more_than_can_be_moved_is_refused_with_the_numbers() {
    let house = House::new().await;
    let mona = house.person("mona");
    let vision = mona.budget("vision").await;
    let answer = mona.transfer("k", "vision", "robots", &hours(20_000)).await;
    let problem = answer.refused(409, "budget/insufficient");
    assert_eq!(
        problem["numbers"]["available_gpu_seconds"],
        vision["movable_gpu_seconds"]
    );
    assert!(problem["detail"].as_str().unwrap().contains("Vision"));
    // What has accrued in a day is gone: exactly what is movable goes, one second more doesn't.
    let movable = amount(&vision, "movable_gpu_seconds");
    assert!(movable < 20_000 * HOUR_S);
    mona.transfer("k2", "vision", "robots", &json!(movable + 1))
        .await
        .refused(409, "budget/insufficient");
    assert_eq!(
        mona.transfer("k3", "vision", "robots", &json!(movable))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn nodes_pools_and_periods_that_do_not_exist_are_refused_by_name() {
    let house = House::new().await;
    let mona = house.person("mona");
    assert_eq!(
        mona.transfer("k", "nobody", "robots", &hours(1))
            .await
            .wrong_field(),
        "from"
    );
    assert_eq!(
        mona.transfer("k", "vision", "nobody", &hours(1))
            .await
            .wrong_field(),
        "to"
    );
    mona.transfer("k", "vision", "vision", &hours(1))
        .await
        .refused(422, "validation");
    let body =
        json!({"pool": "none", "from": "vision", "to": "robots", "amount_gpu_seconds": 1, "reason": "r"});
    let key = [("Idempotency-Key", "k")];
    let path = format!("/api/v1/budgets/{PERIOD}/transfers");
    assert_eq!(mona.post(&path, &key, &body).await.wrong_field(), "pool");
    let known =
        json!({"pool": "h100", "from": "vision", "to": "robots", "amount_gpu_seconds": 1, "reason": "r"});
    mona.post("/api/v1/budgets/2031-Q1/transfers", &key, &known)
        .await
        .refused(404, "not-found");
    mona.get("/api/v1/budgets/2031-Q1/tree")
        .await
        .refused(404, "not-found");
    assert_eq!(
        mona.get(&format!("/api/v1/budgets/{PERIOD}/tree?pool=none"))
            .await
            .wrong_field(),
        "pool"
    );
    assert_eq!(
        mona.post(&path, &[], &known).await.wrong_field(),
        "Idempotency-Key"
    );
    assert_eq!(
        mona.post(&path, &[("Idempotency-Key", "a b")], &known)
            .await
            .wrong_field(),
        "Idempotency-Key"
    );
}

#[tokio::test]
async fn l9_a_key_sent_twice_moves_once_and_stands_for_one_request_only() {
    let house = House::new().await;
    let mona = house.person("mona");
    let first = mona.transfer("k", "vision", "robots", &hours(10)).await;
    let again = mona.transfer("k", "vision", "robots", &hours(10)).await;
    assert_eq!((first.status, &first.text), (again.status, &again.text));
    mona.transfer("k", "vision", "robots", &hours(11))
        .await
        .refused(422, "idempotency/reused");
    assert_eq!(mona.budget("robots").await["granted_gpu_seconds"], hours(10_010));
    // Another person's key of the same text is another key; a refused request leaves its key free.
    assert_eq!(
        house
            .person("ada")
            .transfer("k", "vision", "language", &hours(1))
            .await
            .status,
        201
    );
    mona.transfer("n", "vision", "robots", &hours(50_000))
        .await
        .refused(409, "budget/insufficient");
    assert_eq!(
        mona.transfer("n", "vision", "robots", &hours(1)).await.status,
        201
    );
}

async fn set(
    house: &House,
    who: &str,
    node: &str,
    version: Option<&str>,
    granted: Value,
) -> crate::house::Answer {
    let body = json!({"pool": "h100", "granted_gpu_seconds": granted, "reason": "new plan"});
    let headers: Vec<(&str, &str)> = version.into_iter().map(|version| ("If-Match", version)).collect();
    house
        .person(who)
        .put(&format!("/api/v1/budgets/{PERIOD}/nodes/{node}"), &headers, &body)
        .await
}

#[tokio::test]
async fn u44_a_grant_is_set_only_by_those_who_have_seen_its_latest_version() {
    let house = House::new().await;
    set(&house, "mona", "vision", None, hours(19_000))
        .await
        .refused(428, "precondition/required");
    let done = set(&house, "mona", "vision", Some("\"1\""), hours(19_000)).await;
    assert_eq!(done.ok()["granted_gpu_seconds"], hours(19_000));
    assert_eq!(done.header("etag"), "\"2\"");
    let stale = set(&house, "mona", "vision", Some("\"1\""), hours(18_000)).await;
    let problem = stale.refused(412, "precondition/failed");
    assert_eq!(problem["numbers"]["granted_gpu_seconds"], hours(19_000));
    assert_eq!(problem["numbers"]["version"], 2);
    assert_eq!(
        set(&house, "mona", "vision", Some("2"), hours(1))
            .await
            .wrong_field(),
        "If-Match"
    );
    // A move below a node changes its version as well: its grant is not what was seen.
    let research = house.person("mona").budget("research").await;
    let seen = format!("\"{}\"", research["version"]);
    assert_eq!(
        house
            .person("mona")
            .transfer("k", "robots", "language", &hours(1))
            .await
            .status,
        201
    );
    set(&house, "mona", "research", Some(&seen), hours(30_000))
        .await
        .refused(412, "precondition/failed");
}

#[tokio::test]
async fn u1_u3_a_grant_never_exceeds_what_the_node_above_can_give_and_says_so_when_it_is_written() {
    let house = House::new().await;
    let above = house.person("mona").budget("research").await;
    let problem = set(&house, "mona", "vision", Some("\"1\""), hours(30_000)).await;
    let problem = problem.refused(409, "budget/exceeds-parent");
    assert_eq!(
        problem["numbers"]["available_gpu_seconds"],
        above["movable_gpu_seconds"]
    );
    assert!(problem["detail"].as_str().unwrap().contains("Research"));
    for wrong in [json!(-1), json!(null), json!(0.5)] {
        let answer = set(&house, "mona", "vision", Some("\"1\""), wrong).await;
        assert_eq!(answer.wrong_field(), "granted_gpu_seconds");
    }
}

#[tokio::test]
async fn u2_a_grant_never_falls_below_what_is_charged_and_held() {
    let house = House::new().await;
    let mut engine = house.engine().await;
    let spec =
        json!({"gpus": 32, "charged_to": "ideas", "min_runtime_s": 28_800, "simulated_runtime_s": 40_000});
    let mona = house.person("mona");
    assert_eq!(
        mona.transfer("k", "robots", "ideas", &hours(400)).await.status,
        201
    );
    house
        .person("ivy")
        .submit(&spec)
        .await
        .refused(401, "auth/required");
    let answer = house
        .person("rex")
        .submit(&json!({"gpus": 32, "min_runtime_s": 28_800, "simulated_runtime_s": 40_000}))
        .await;
    assert_eq!(answer.status, 201);
    house.pass(&mut engine, Seconds(1)).await;
    house.pass(&mut engine, Seconds(HOUR_S)).await;
    let vision = mona.budget("vision").await;
    let used = amount(&vision, "charged_gpu_seconds") + amount(&vision, "held_gpu_seconds");
    assert!(
        amount(&vision, "charged_gpu_seconds") >= 32 * HOUR_S - 32 * 60,
        "{vision}"
    );
    assert!(amount(&vision, "held_gpu_seconds") > 0, "{vision}");
    let bound = used.max(amount(&vision, "accrued_gpu_seconds"));
    let version = format!("\"{}\"", vision["version"]);
    let below = set(&house, "mona", "vision", Some(&version), json!(bound - 1)).await;
    let problem = below.refused(409, "budget/below-charged");
    assert_eq!(
        problem["numbers"]["charged_gpu_seconds"],
        vision["charged_gpu_seconds"]
    );
    assert_eq!(problem["numbers"]["least_gpu_seconds"], bound);
    assert_eq!(
        set(&house, "mona", "vision", Some(&version), json!(bound))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn u12_a_node_without_a_grant_has_no_ratio() {
    let house = House::new().await;
    let ideas = house.person("mona").budget("ideas").await;
    assert_eq!(ideas["granted_gpu_seconds"], 0);
    assert_eq!(ideas["used_ratio"], Value::Null);
    assert_eq!(ideas["forecast_gpu_seconds"], Value::Null);
    assert_eq!(
        house.person("mona").budget("vision").await["used_ratio"]["num"],
        0
    );
}

#[tokio::test]
async fn the_own_part_and_the_children_of_a_node_make_up_its_grant() {
    let house = House::new().await;
    let tree = house
        .person("rex")
        .get(&format!("/api/v1/budgets/{PERIOD}/tree"))
        .await
        .ok();
    let rows = tree["rows"].as_array().unwrap();
    for row in rows {
        let below: i64 = rows
            .iter()
            .filter(|child| child["parent"] == row["node"])
            .map(|child| amount(child, "granted_gpu_seconds"))
            .sum();
        assert_eq!(
            amount(row, "granted_gpu_seconds"),
            amount(row, "own_gpu_seconds") + below
        );
    }
    assert_eq!(tree["period_hours"], 2_208);
    assert_eq!(tree["passed_s"], DAY_S);
    assert_eq!(tree["zone"], "UTC");
    assert_eq!(tree["as_of"], "2026-10-02T00:00:00Z");
}

#[tokio::test]
async fn a_period_that_is_over_takes_no_more_changes() {
    let house = House::new().await;
    house
        .clock
        .set(stint_core::units::Timestamp(crate::house::QUARTER.0 + 93 * DAY_S));
    house
        .person("mona")
        .transfer("k", "vision", "robots", &hours(1))
        .await
        .refused(409, "period/closed");
    set(&house, "mona", "vision", Some("\"1\""), hours(1))
        .await
        .refused(409, "period/closed");
}
