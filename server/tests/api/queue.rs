//! The queue and what hangs on it: pages, filters, CSV, standing, hosts, the pool.

use serde_json::{Value, json};
use stint_core::sched::contract::{AfterPreemption, Fallback, Shape, Then, Topology, Workload};
use stint_core::units::{Seconds, Timestamp};
use stint_server::clock::Clock;
use stint_server::engine::Engine;
use stint_server::store::commit;
use stint_server::store::workloads::{self, NewWorkload};

use crate::house::House;

/// Fills the queue with more than the pool can run, in one transaction.
async fn fill(house: &House, count: u32) -> Engine {
    let mut db = house.store.write().await.unwrap();
    let now = house.clock.now();
    for n in 0..count {
        let (who, node) = [("rex", "vision"), ("lin", "language")][(n % 2) as usize];
        let new = NewWorkload {
            pool_id: House::pool(),
            external_id: None,
            name: format!("{node} {n}"),
            contract: Workload {
                id: stint_core::id::WorkloadId(0),
                charged_to: node.parse().unwrap(),
                submitted_by: who.parse().unwrap(),
                shape: Shape {
                    hosts: 1,
                    gpus_per_host: 1 + n % 8,
                    topology: Topology::Anywhere,
                },
                min_runtime: Seconds(if n % 5 == 0 { 0 } else { 3_600 }),
                after_preemption: AfterPreemption::Requeue,
                priority: 0,
                then: Then::Charged,
                fallback: Fallback::Unallocated,
                grace: Seconds(0),
                submitted_at: Timestamp(now.0 - i64::from(count - n)),
            },
            simulated_runtime: Some(Seconds(20_000)),
        };
        workloads::insert(&mut db, &new).await.unwrap();
    }
    commit(db).await.unwrap();
    let mut engine = house.engine().await;
    house.pass(&mut engine, Seconds(1)).await;
    engine
}

#[tokio::test]
async fn i62_pages_of_the_queue_make_up_the_whole_queue_in_the_scheduler_s_order() {
    let house = House::new().await;
    let _engine = fill(&house, 120).await;
    let rex = house.person("rex");
    let check = async |filter: &str| {
        let whole = rex.get(&format!("/api/v1/queue?limit=200{filter}")).await.ok();
        let (mut rows, mut after) = (Vec::new(), String::new());
        loop {
            let page = rex
                .get(&format!("/api/v1/queue?limit=13{filter}{after}"))
                .await
                .ok();
            assert_eq!(page["before"], rows.len());
            assert_eq!(page["matching"], whole["matching"]);
            rows.extend(page["rows"].as_array().unwrap().clone());
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(Value::from(rows), whole["rows"], "{filter}");
        whole
    };
    let whole = check("").await;
    let rows = whole["rows"].as_array().unwrap();
    assert!(rows.len() > 80, "{}", rows.len());
    assert!(rows.iter().enumerate().all(|(n, row)| row["place"] == n + 1));
    assert!(rows.iter().all(|row| {
        row["why"]["sentence"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    }));
    let mine = check("&mine=true").await;
    assert_eq!(mine["matching"], whole["queued_mine"]);
    assert!(
        mine["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["mine"] == true)
    );
    let below = check("&under=language").await;
    assert!(
        below["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["node"] == "language" && row["name"].is_null())
    );
    let order = check("&reason=order").await;
    assert!(
        order["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["why"]["code"] == "order")
    );
    assert_eq!(check("&reason=draining").await["rows"], json!([]));
    assert_eq!(
        rex.get("/api/v1/queue?reason=boredom").await.wrong_field(),
        "reason"
    );
}

#[tokio::test]
async fn a_page_goes_on_after_the_row_that_ended_the_one_before_though_the_queue_moved() {
    let house = House::new().await;
    let mut engine = fill(&house, 60).await;
    let rex = house.person("rex");
    let first = rex.get("/api/v1/queue?limit=10").await.ok();
    let last = first["rows"][9]["id"].as_str().unwrap().to_owned();
    let ahead = first["rows"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        house
            .person("mona")
            .delete(&format!("/api/v1/workloads/{ahead}"))
            .await
            .status,
        202
    );
    house.pass(&mut engine, Seconds(1)).await;
    let next = first["next"].as_str().unwrap();
    let second = rex
        .get(&format!("/api/v1/queue?limit=10&after={next}"))
        .await
        .ok();
    let whole = rex.get("/api/v1/queue?limit=200").await.ok();
    let place = whole["rows"]
        .as_array()
        .unwrap()
        .iter()
        .position(|row| row["id"] == last.as_str())
        .unwrap();
    assert_eq!(second["rows"][0], whole["rows"][place + 1]);
    // When that row is gone as well, the page goes on from the place it had.
    assert_eq!(
        house
            .person("mona")
            .delete(&format!("/api/v1/workloads/{last}"))
            .await
            .status,
        202
    );
    house.pass(&mut engine, Seconds(1)).await;
    let again = rex
        .get(&format!("/api/v1/queue?limit=10&after={next}"))
        .await
        .ok();
    assert_eq!(again["before"], 9);
}

#[tokio::test]
async fn u49_no_name_becomes_a_formula_in_a_spreadsheet() {
    let house = House::new().await;
    let mut engine = house.engine().await;
    let rex = house.person("rex");
    let evil = "=HYPERLINK(\"http://x\",\"y\")";
    for name in ["fills", evil, "-2+3", "plain, with comma"] {
        let fields = json!({"name": name, "gpus": 32, "priority": -500, "simulated_runtime_s": 90_000});
        assert_eq!(rex.submit(&fields).await.status, 201);
    }
    house.pass(&mut engine, Seconds(1)).await;
    house.pass(&mut engine, Seconds(1)).await;
    let csv = rex.get("/api/v1/queue.csv").await;
    assert_eq!(csv.status, 200);
    assert!(csv.header("content-type").starts_with("text/csv; charset=utf-8"));
    assert!(csv.text.starts_with("place,workload,name,"), "{}", csv.text);
    assert!(csv.text.contains("submitted (UTC)") && csv.text.contains("waiting (s)"));
    assert!(
        csv.text.contains("\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
        "{}",
        csv.text
    );
    assert!(csv.text.contains("\"'-2+3\""));
    assert!(csv.text.contains("\"plain, with comma\""));
    assert!(
        csv.text.contains(",-500,"),
        "numbers keep their sign: {}",
        csv.text
    );
    let rows = rex.get("/api/v1/queue").await.ok();
    assert!(
        rows["rows"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["name"] == evil)
    );
    let asked = [("accept", "text/csv")];
    let same = rex
        .send(
            axum::http::Method::GET,
            "/api/v1/queue",
            &asked,
            axum::body::Body::empty(),
        )
        .await;
    assert_eq!(same.text, csv.text);
}

#[tokio::test]
async fn before_the_first_pass_the_queue_says_that_it_is_not_there_yet() {
    let house = House::new().await;
    for path in [
        "/api/v1/queue",
        "/api/v1/standing",
        "/api/v1/hosts",
        "/api/v1/pool",
    ] {
        house
            .person("rex")
            .get(path)
            .await
            .refused(503, "fleet/unreachable");
    }
}

#[tokio::test]
async fn standing_ranks_siblings_in_the_order_that_the_scheduler_takes_them() {
    let house = House::new().await;
    let mut engine = fill(&house, 60).await;
    house.pass(&mut engine, Seconds(1_800)).await;
    let view = house.person("rex").get("/api/v1/standing").await.ok();
    let rows = view["rows"].as_array().unwrap();
    let row = |node: &str| rows.iter().find(|row| row["node"] == node).unwrap();
    assert_eq!(rows[0]["node"], "lab");
    assert_eq!(row("vision")["of"], 2);
    let ranks = (
        row("vision")["rank"].as_u64().unwrap(),
        row("language")["rank"].as_u64().unwrap(),
    );
    assert_eq!(ranks.0 + ranks.1, 3);
    assert_eq!(row("vision")["mine"], true);
    assert_eq!(row("ideas")["standing_text"], "no claim");
    assert_eq!(row("ideas")["standing"], Value::Null);
    let sum = |field: &str, nodes: &[&str]| {
        nodes
            .iter()
            .map(|node| row(node)[field].as_i64().unwrap())
            .sum::<i64>()
    };
    for field in [
        "queued",
        "delivered_gpu_seconds",
        "held_gpu_seconds",
        "held_gpus",
        "owed_gpu_seconds",
    ] {
        let whole = row("lab")[field].as_i64().unwrap();
        assert_eq!(whole, sum(field, &["research", "product"]), "{field}");
        assert_eq!(
            whole,
            sum(field, &["vision", "language", "robots", "ideas"]),
            "{field}"
        );
    }
    assert!(row("vision")["owed_gpu_seconds"].as_i64().unwrap() > 0);
    let queue = house.person("rex").get("/api/v1/queue").await.ok();
    assert_eq!(row("lab")["queued"], queue["queued"]);
    assert_eq!(view["as_of"], queue["as_of"]);
    let below = house
        .person("rex")
        .get("/api/v1/standing?node=research")
        .await
        .ok();
    let nodes: Vec<&str> = below["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["node"].as_str().unwrap())
        .collect();
    assert_eq!(nodes.len(), 3);
    assert_eq!(
        house
            .person("rex")
            .get("/api/v1/standing?node=nobody")
            .await
            .wrong_field(),
        "node"
    );
}

#[tokio::test]
async fn hosts_and_pool_count_every_gpu_once() {
    let house = House::new().await;
    let mut engine = fill(&house, 60).await;
    house.pass(&mut engine, Seconds(600)).await;
    let hosts = house.person("lin").get("/api/v1/hosts").await.ok();
    let pool = house.stranger().get("/api/v1/pool").await.ok();
    let mut held = 0;
    for host in hosts["hosts"].as_array().unwrap() {
        let runs = host["runs"].as_array().unwrap();
        let mut gpus: Vec<u64> = runs
            .iter()
            .flat_map(|run| run["gpus"].as_array().unwrap())
            .map(|gpu| gpu.as_u64().unwrap())
            .collect();
        gpus.sort_unstable();
        let count = gpus.len();
        gpus.dedup();
        assert_eq!(gpus.len(), count, "a GPU is held by two runs");
        assert_eq!(host["free"].as_u64().unwrap() + count as u64, 8);
        held += count as u64;
        for run in runs {
            assert_eq!(run["name"].is_null(), run["node"] != "language");
        }
    }
    let kinds = ["protected_gpus", "interruptible_gpus", "unallocated_gpus"];
    assert_eq!(
        kinds.iter().map(|kind| pool[kind].as_u64().unwrap()).sum::<u64>(),
        held
    );
    assert_eq!(
        (pool["gpus"].as_u64(), pool["healthy_gpus"].as_u64()),
        (Some(32), Some(32))
    );
    let ids: Vec<&str> = hosts["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["id"].as_str().unwrap())
        .collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[tokio::test]
async fn nodes_are_found_by_parent_and_name_page_by_page() {
    let house = House::new().await;
    let rex = house.person("rex");
    let ids = async |query: &str| {
        let list = rex.get(&format!("/api/v1/nodes{query}")).await.ok();
        let ids: Vec<String> = list["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, list["next"].as_str().map(str::to_owned))
    };
    assert_eq!(
        ids("").await.0,
        [
            "lab", "product", "ideas", "robots", "research", "language", "vision"
        ]
    );
    assert_eq!(ids("?parent=research").await.0, ["language", "vision"]);
    assert_eq!(ids("?q=VIS").await.0, ["vision"]);
    let (first, next) = ids("?limit=3").await;
    let (rest, end) = ids(&format!("?limit=4&after={}", next.unwrap())).await;
    assert_eq!(first, ["lab", "product", "ideas"]);
    assert_eq!(rest, ["robots", "research", "language", "vision"]);
    assert_eq!(end, None);
    assert_eq!(
        rex.get("/api/v1/nodes?parent=nobody").await.wrong_field(),
        "parent"
    );
}
