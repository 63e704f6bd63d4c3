//! How long a pass takes, and the order of the whole queue with its reasons: 5,000 queued, 32 full hosts.
//!
//! `cargo bench -p stint-core`; prints the median and the slowest of many.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends where it can't go on"
)]

use std::time::{Duration, Instant};

use stint_core::id::WorkloadId;
use stint_core::org::{Node, NodeKind, Org};
use stint_core::sched::contract::{
    AfterPreemption, Fallback, HostState, Limits, Shape, Then, Topology, Workload,
};
use stint_core::sched::state::{Effect, Event, HostSpec, Rules, State};
use stint_core::sched::{decide, explain};
use stint_core::standing::LookBack;
use stint_core::units::{GpuSeconds, HOUR_S, MilliGpus, Seconds, Timestamp};

const HOSTS: u32 = 32;
const TEAMS: u32 = 11;
const QUEUED: u64 = 5_000;
const ROUNDS: usize = 200;

fn node(id: &str, parent: Option<&str>) -> Node {
    Node {
        name: id.to_owned(),
        id: id.parse().expect("a slug"),
        parent: parent.map(|parent| parent.parse().expect("a slug")),
        kind: NodeKind::Team,
    }
}

fn workload(id: u64) -> Workload {
    let gpus = [1, 1, 1, 1, 1, 1, 2, 4, 8, 8][usize::try_from(id % 10).expect("below ten")];
    let hosts = if id.is_multiple_of(97) { 4 } else { 1 };
    Workload {
        id: WorkloadId(id),
        charged_to: format!("t{}", id % u64::from(TEAMS)).parse().expect("a slug"),
        submitted_by: "someone".parse().expect("a slug"),
        shape: Shape {
            hosts,
            gpus_per_host: if hosts == 4 { 8 } else { gpus },
            topology: Topology::Anywhere,
        },
        min_runtime: Seconds(if id.is_multiple_of(7) {
            0
        } else {
            HOUR_S * i64::from(1 + gpus / 2)
        }),
        after_preemption: AfterPreemption::Requeue,
        priority: 0,
        then: Then::Charged,
        fallback: Fallback::Unallocated,
        grace: Seconds(0),
        submitted_at: Timestamp(0),
    }
}

/// A full pool some hours on: a part of what runs is past its protection.
fn pool() -> State {
    let mut nodes = vec![node("org", None)];
    nodes.extend((0..3).map(|n| node(&format!("p{n}"), Some("org"))));
    nodes.extend((0..TEAMS).map(|n| node(&format!("t{n}"), Some(["p0", "p1", "p2"][n as usize % 3]))));
    let org = Org::new(nodes).expect("a tree");
    let hosts = (0..HOSTS).map(|n| HostSpec {
        id: format!("h{n:02}").parse().expect("a slug"),
        block: format!("b{}", n / 8).parse().expect("a slug"),
        gpus: 8,
        state: HostState::Up,
    });
    let rules = Rules {
        limits: Limits::default(),
        look_back: LookBack::Sliding(Seconds(7 * 24 * HOUR_S)),
        margin_milli: 10,
    };
    let mut state = State::new(rules, &org, hosts.collect(), Timestamp(0));
    let rate = |node: &Node| (node.id.clone(), MilliGpus(20_000), MilliGpus(60_000));
    let events = [
        Event::Rates(org.nodes().iter().map(rate).collect()),
        Event::Granted(
            org.nodes()
                .iter()
                .map(|node| (node.id.clone(), GpuSeconds(1 << 50)))
                .collect(),
        ),
    ];
    let submissions = (1..=QUEUED + 200).map(|id| Event::Submitted(workload(id)));
    for event in events.into_iter().chain(submissions) {
        state.apply(Timestamp(0), event).expect("it fits");
    }
    for effect in state.commit(&decide(&state, Timestamp(0))) {
        if let Effect::Assigned(run) = effect {
            state
                .apply(Timestamp(0), Event::Running(run))
                .expect("it was assigned");
        }
    }
    state.advance(Timestamp(2 * HOUR_S)).expect("time goes on");
    state
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn measure(what: &str, mut once: impl FnMut()) {
    let mut spans: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            once();
            began.elapsed()
        })
        .collect();
    spans.sort_unstable();
    println!(
        "{what}: median {:?}, slowest {:?} of {ROUNDS}",
        spans[ROUNDS / 2],
        spans[ROUNDS - 1]
    );
}

fn main() {
    let state = pool();
    let now = state.now();
    let waiting = explain::order(&state, now).len();
    println!("{waiting} queued, {} running, {HOSTS} hosts", state.runs().len());
    measure("pass", || {
        std::hint::black_box(decide(&state, now));
    });
    measure("order with reasons", || {
        std::hint::black_box(explain::order(&state, now));
    });
}
