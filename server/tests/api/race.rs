//! Many who move hours at once: nothing is lost, nothing is made, nothing goes below zero.

use std::fmt::Write as _;
use std::sync::Arc;

use stint_core::api::budgets::TransferRequest;
use stint_core::api::{Code, Problem};
use stint_core::id::NodeId;
use stint_core::ledger::audit;
use stint_core::units::{GpuSeconds, HOUR_S};
use stint_server::service::IdempotencyKey;
use stint_server::store::{ledger, nodes, periods};

use crate::house::{House, PERIOD};

const TEAMS: u64 = 20;
const TASKS: u64 = 64;
const MOVES: u64 = 8;
const EACH: i64 = 2_000;

/// A small generator of its own, so that a run can be repeated.
fn next(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

fn team(number: u64) -> NodeId {
    format!("team{:02}", number % TEAMS).parse().unwrap()
}

/// One who moves at random; refusals for want of hours are part of it.
async fn moves(house: Arc<House>, task: u64) -> usize {
    let caller = house.caller("mona").await;
    let mut seed = task + 1;
    let mut made = 0;
    for n in 0..MOVES {
        let from = next(&mut seed);
        let to = from + 1 + next(&mut seed) % (TEAMS - 1);
        let amount = i64::try_from(next(&mut seed) % 900 + 1).unwrap() * HOUR_S;
        let request = TransferRequest {
            pool: House::pool(),
            from: team(from),
            to: team(to),
            amount_gpu_seconds: GpuSeconds(amount),
            reason: "race".to_owned(),
        };
        let key: IdempotencyKey = format!("{task}-{n}").parse().unwrap();
        let done = house
            .service
            .transfer(&caller, &PERIOD.parse().unwrap(), &key, request)
            .await;
        match done {
            Ok(_) => made += 1,
            Err(Problem {
                code: Code::BudgetInsufficient,
                ..
            }) => {}
            Err(problem) => panic!("{problem}"),
        }
    }
    made
}

#[tokio::test(flavor = "multi_thread")]
async fn l1_to_l5_hold_when_sixty_four_move_at_once() {
    let mut tree = format!("\nlab - organisation {}\n", EACH * i64::try_from(TEAMS).unwrap());
    for number in 0..TEAMS {
        writeln!(tree, "team{number:02} lab team {EACH}").unwrap();
    }
    let house = Arc::new(House::with_nodes(&tree).await);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| tokio::spawn(moves(house.clone(), task)))
        .collect();
    let mut made = 0;
    for task in tasks {
        made += task.await.unwrap();
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
    assert_eq!(transactions.len(), made + 1);
    assert!(made > 100, "{made}");
    let findings = audit(&org, &period, GpuSeconds::MAX_INPUT, &transactions, &balances);
    assert!(findings.is_empty(), "{findings:?}");
    assert!(balances.iter().all(|balance| balance.own >= GpuSeconds::ZERO));
    let whole: GpuSeconds = balances.iter().map(|balance| balance.own).sum();
    assert_eq!(whole, GpuSeconds(EACH * i64::try_from(TEAMS).unwrap() * HOUR_S));
}
