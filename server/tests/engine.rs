//! The engine over a real database and the simulated fleet: what a cycle does, and that nothing is lost or doubled
//! whenever it is cut short.

#![expect(clippy::unwrap_used, reason = "a test ends where it can't go on")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use stint_core::id::{PoolId, RunId, WorkloadId};
use stint_core::sched::contract::{
    AfterPreemption, Fallback, Shape, Then, Topology, Workload, WorkloadState,
};
use stint_core::sched::explain;
use stint_core::units::{Seconds, Timestamp};
use stint_server::clock::ManualClock;
use stint_server::engine::{self, Engine, EngineError, Means};
use stint_server::fleet::{Fleet, FleetError, Reading, SimulatedFleet, StartOrder, StopOrder};
use stint_server::import::demo::setup_demo;
use stint_server::import::hosts::import_hosts;
use stint_server::import::org::import_org;
use stint_server::import::{Author, Mode};
use stint_server::service::Hub;
use stint_server::store::workloads::{self, NewWorkload};
use stint_server::store::{Store, commit, runs};

/// 2026-10-01 00:00 in Los Angeles: the beginning of 2026-Q4.
const QUARTER: Timestamp = Timestamp(1_790_838_000);
const HOUR: i64 = 3_600;

const HOSTS: &str = "[[pool]]\nid = \"h100\"\n[[hosts]]\npool = \"h100\"\nprefix = \"gpu\"\ncount = 2\ngpus = 8\nblock_size = 2\n";
const ORG: &str = "zone = \"America/Los_Angeles\"
node = [
  { id = \"lab\", kind = \"organisation\", name = \"Lab\" },
  { id = \"robots\", parent = \"lab\", kind = \"team\", name = \"Robots\", weight = 1 },
  { id = \"vision\", parent = \"lab\", kind = \"team\", name = \"Vision\", weight = 1 },
]
person = [{ id = \"mia\", name = \"Mia\", roles = [{ role = \"manager\", node = \"lab\" }] }]
";

/// A fleet that can be cut off before it does anything.
struct Cut {
    fleet: SimulatedFleet,
    off: AtomicBool,
}

impl Cut {
    fn check(&self) -> Result<(), FleetError> {
        if self.off.load(Ordering::SeqCst) {
            Err(FleetError::Unreachable("cut off".into()))
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Fleet for Cut {
    async fn read(&self) -> Result<Reading, FleetError> {
        self.fleet.read().await
    }

    async fn start(&self, orders: &[StartOrder]) -> Result<(), FleetError> {
        self.check()?;
        self.fleet.start(orders).await
    }

    async fn stop(&self, orders: &[StopOrder]) -> Result<(), FleetError> {
        self.check()?;
        self.fleet.stop(orders).await
    }

    async fn forget(&self, runs: &[RunId]) -> Result<(), FleetError> {
        self.check()?;
        self.fleet.forget(runs).await
    }
}

struct Lab {
    store: Store,
    clock: Arc<ManualClock>,
    fleet: Arc<Cut>,
    pool: PoolId,
    _folder: tempfile::TempDir,
}

impl Lab {
    async fn empty(pool: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("stint.db")).await.unwrap();
        store.migrate().await.unwrap();
        let clock = Arc::new(ManualClock::at(QUARTER));
        let fleet = SimulatedFleet::new(store.clone(), clock.clone());
        let fleet = Arc::new(Cut {
            fleet,
            off: AtomicBool::new(false),
        });
        Self {
            store,
            clock,
            fleet,
            pool: pool.parse().unwrap(),
            _folder: folder,
        }
    }

    async fn new() -> Self {
        let lab = Self::empty("h100").await;
        let author = Author {
            person: "olga".parse().unwrap(),
            name: "Olga".to_owned(),
            at: QUARTER,
        };
        import_hosts(&lab.store, &author, HOSTS.as_bytes(), Mode::Apply)
            .await
            .unwrap();
        import_org(&lab.store, &author, ORG.as_bytes(), None, Mode::Apply)
            .await
            .unwrap();
        lab
    }

    async fn engine(&self) -> Engine {
        let means = Means {
            store: self.store.clone(),
            fleet: self.fleet.clone(),
            clock: self.clock.clone(),
            hub: Arc::new(Hub::default()),
        };
        Engine::load(means, self.pool.clone()).await.unwrap()
    }

    fn at(&self, seconds: i64) {
        self.clock.set(QUARTER + Seconds(seconds));
    }

    async fn submit(&self, node: &str, gpus: u32, min_hours: i64, runtime_hours: i64, at: i64) -> WorkloadId {
        let contract = Workload {
            id: WorkloadId(0),
            charged_to: node.parse().unwrap(),
            submitted_by: "mia".parse().unwrap(),
            shape: Shape {
                hosts: 1,
                gpus_per_host: gpus,
                topology: Topology::Anywhere,
            },
            min_runtime: Seconds(min_hours * HOUR),
            after_preemption: AfterPreemption::Requeue,
            priority: 0,
            then: Then::Charged,
            fallback: Fallback::Unallocated,
            grace: Seconds(0),
            submitted_at: QUARTER + Seconds(at),
        };
        let new = NewWorkload {
            pool_id: self.pool.clone(),
            external_id: None,
            name: "work".to_owned(),
            contract,
            simulated_runtime: Some(Seconds(runtime_hours * HOUR)),
        };
        let mut db = self.store.write().await.unwrap();
        let id = workloads::insert(&mut db, &new).await.unwrap();
        commit(db).await.unwrap();
        id
    }

    async fn state_of(&self, id: WorkloadId) -> WorkloadState {
        let mut db = self.store.read().await.unwrap();
        workloads::find(&mut db, id).await.unwrap().unwrap().state
    }

    async fn audit(&self) -> Vec<String> {
        engine::audit::audit(&self.store, &self.pool, QUARTER)
            .await
            .unwrap()
    }
}

/// Cycles until nothing is left to carry out.
async fn settle(engine: &mut Engine) {
    while engine.cycle().await.unwrap().actions > 0 {}
}

/// What a state will decide by, in words that can be compared.
fn essence(engine: &Engine) -> String {
    let state = engine.state();
    let now = state.now();
    let tree = state.tree();
    let leaves: Vec<_> = tree
        .leaves()
        .map(|leaf| {
            let ix = tree.leaf_ix(leaf);
            let day = Seconds(24 * HOUR);
            let demand = state.demand_between(leaf, (now - day).max(QUARTER), now);
            (
                state.standing(ix, now),
                state.funds(leaf, now),
                state.unallocated_over(ix, day, now),
                demand,
            )
        })
        .collect();
    let runs: Vec<_> = state.runs().values().collect();
    let order = explain::order(state, now);
    format!(
        "{leaves:?}\n{runs:?}\n{:?}\n{order:?}\n{:?}",
        state.hosts(),
        state.next_timer()
    )
}

#[tokio::test]
async fn a_submission_is_started_seen_running_and_finished() {
    let lab = Lab::new().await;
    let mut engine = lab.engine().await;
    let id = lab.submit("robots", 8, 1, 2, 0).await;
    let cycle = engine.cycle().await.unwrap();
    assert_eq!((cycle.starts, cycle.actions), (1, 1));
    assert_eq!(lab.state_of(id).await, WorkloadState::Starting);
    engine.cycle().await.unwrap();
    assert_eq!(lab.state_of(id).await, WorkloadState::Protected);
    lab.at(HOUR + 60);
    engine.cycle().await.unwrap();
    assert_eq!(lab.state_of(id).await, WorkloadState::Interruptible);
    lab.at(3 * HOUR);
    engine.cycle().await.unwrap();
    assert_eq!(lab.state_of(id).await, WorkloadState::Finished);
    let mut db = lab.store.read().await.unwrap();
    let runs = runs::of_workload(&mut db, id, QUARTER + Seconds(3 * HOUR))
        .await
        .unwrap();
    assert_eq!(
        runs[0].charged.0,
        8 * 2 * HOUR,
        "charged to the second at which it ended, however late it is seen"
    );
    drop(db);
    assert_eq!(lab.audit().await, Vec::<String>::new());
}

#[tokio::test]
async fn protection_ends_at_the_same_instant_after_a_restart() {
    let lab = Lab::new().await;
    let mut engine = lab.engine().await;
    lab.submit("robots", 8, 1, 9, 0).await;
    settle(&mut engine).await;
    lab.at(HOUR / 2);
    engine.cycle().await.unwrap();
    let before = engine.state().next_timer();
    drop(engine);
    let engine = lab.engine().await;
    assert_eq!(before, Some(QUARTER + Seconds(HOUR)));
    assert_eq!(engine.state().next_timer(), before);
}

#[tokio::test]
async fn what_was_decided_and_not_carried_out_is_carried_out_after_a_restart_and_once() {
    let lab = Lab::new().await;
    let mut engine = lab.engine().await;
    let id = lab.submit("robots", 8, 1, 2, 0).await;
    lab.fleet.off.store(true, Ordering::SeqCst);
    assert!(matches!(engine.cycle().await, Err(EngineError::Fleet(_))));
    assert_eq!(
        lab.state_of(id).await,
        WorkloadState::Starting,
        "decided and written"
    );
    drop(engine);
    lab.fleet.off.store(false, Ordering::SeqCst);
    let mut engine = lab.engine().await;
    assert_eq!(engine.state().runs().len(), 1);
    assert_eq!(engine.cycle().await.unwrap().actions, 1);
    settle(&mut engine).await;
    assert_eq!(
        lab.fleet.fleet.read().await.unwrap().runs.len(),
        1,
        "launched once"
    );
    assert_eq!(lab.state_of(id).await, WorkloadState::Protected);
}

#[tokio::test]
async fn a_preemption_stores_both_sides_as_they_stood() {
    let lab = Lab::new().await;
    let mut engine = lab.engine().await;
    let first = lab.submit("robots", 8, 1, 90, 0).await;
    lab.submit("robots", 8, 1, 90, 1).await;
    settle(&mut engine).await;
    lab.at(4 * HOUR);
    lab.submit("vision", 8, 1, 2, 4 * HOUR).await;
    settle(&mut engine).await;
    let mut preempted = Vec::new();
    let mut db = lab.store.read().await.unwrap();
    for id in [first.0, first.0 + 1] {
        preempted.extend(
            runs::of_workload(&mut db, WorkloadId(id), QUARTER + Seconds(4 * HOUR))
                .await
                .unwrap(),
        );
    }
    let why: Vec<String> = preempted.into_iter().filter_map(|run| run.preemption).collect();
    assert_eq!(why.len(), 1);
    let why: stint_core::sched::reason::Preemption = serde_json::from_str(&why[0]).unwrap();
    let parting = why.parting.unwrap();
    assert_eq!(
        (parting.first.node.as_str(), parting.second.node.as_str()),
        ("vision", "robots")
    );
    assert!(
        parting
            .second
            .standing
            .is_above_by(parting.first.standing, why.margin_milli)
    );
    drop(db);
    assert_eq!(lab.audit().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_run_across_the_end_of_a_period_is_charged_to_both_by_the_second() {
    let lab = Lab::new().await;
    let mut engine = lab.engine().await;
    // 2026-Q4 has 2,209 hours in Los Angeles.
    let ends = 2_209 * HOUR;
    lab.at(ends - HOUR);
    engine.cycle().await.unwrap();
    let id = lab.submit("robots", 4, 1, 2, ends - HOUR).await;
    settle(&mut engine).await;
    lab.at(ends + 2 * HOUR);
    settle(&mut engine).await;
    assert_eq!(lab.state_of(id).await, WorkloadState::Finished);
    let mut db = lab.store.read().await.unwrap();
    let rows = stint_server::store::engine::charges_since(&mut db, &lab.pool, QUARTER)
        .await
        .unwrap();
    let spans: Vec<i64> = rows.iter().map(|row| row.amount_gpu_seconds.0).collect();
    assert_eq!(spans, [4 * HOUR, 4 * HOUR]);
    assert_eq!(rows[0].ends_at, QUARTER + Seconds(ends));
    drop(db);
    assert_eq!(lab.audit().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_run_stops_and_its_workload_is_over() {
    let lab = Lab::new().await;
    let mut engine = lab.engine().await;
    let id = lab.submit("robots", 8, 8, 20, 0).await;
    settle(&mut engine).await;
    let mut db = lab.store.write().await.unwrap();
    assert!(
        workloads::request_cancel(&mut db, id, QUARTER, &"mia".parse().unwrap())
            .await
            .unwrap()
    );
    commit(db).await.unwrap();
    lab.at(60);
    settle(&mut engine).await;
    lab.at(120);
    settle(&mut engine).await;
    assert_eq!(lab.state_of(id).await, WorkloadState::Cancelled);
    assert!(engine.state().runs().is_empty());
}

/// The whole example, hour by hour, with the engine thrown away at some point of every few cycles: the state that is
/// rebuilt is the one that was there, and nothing is launched twice.
#[tokio::test]
async fn a_restart_at_any_cycle_gives_the_state_that_was_there() {
    let lab = Lab::empty("philly").await;
    setup_demo(&lab.store, QUARTER, &mut |_| {}).await.unwrap();
    let mut engine = lab.engine().await;
    for step in 1..=36_i64 {
        lab.at(step * 1_200);
        if step % 5 == 0 {
            lab.fleet.off.store(true, Ordering::SeqCst);
            let _cut = engine.cycle().await;
            lab.fleet.off.store(false, Ordering::SeqCst);
            engine = lab.engine().await;
        }
        settle(&mut engine).await;
        if step % 4 == 0 {
            let before = essence(&engine);
            engine = lab.engine().await;
            assert_eq!(essence(&engine), before, "step {step}");
            assert_eq!(lab.audit().await, Vec::<String>::new(), "step {step}");
        }
    }
    let reading = lab.fleet.fleet.read().await.unwrap();
    let launched: BTreeSet<RunId> = reading.runs.iter().map(|(run, _)| *run).collect();
    let missing: Vec<_> = engine
        .state()
        .runs()
        .values()
        .filter(|run| !launched.contains(&run.id))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(engine.state().live().len() > 500);
}
