//! The invariants of the policy, over random lives of small pools. Numbers are those of `docs/POLICY.md`, section 13.

use std::collections::BTreeMap;

use crate::pool::{Pool, check_decisions, gang, sweep, work};
use proptest::prelude::*;
use stint_core::id::WorkloadId;
use stint_core::sched::contract::{EndCause, Fallback, HostState, Then, Topology, Workload};
use stint_core::sched::decisions::{Decisions, StopCause};
use stint_core::sched::place::Room;
use stint_core::sched::state::{Event, State};
use stint_core::sched::{decide, explain};
use stint_core::units::{Seconds, Timestamp};

const LEAVES: [(&str, i64); 4] = [("p/a", 9), ("p/b", 6), ("q/c", 9), ("d", 0)];

#[derive(Clone, Debug)]
enum Step {
    Submit {
        leaf: usize,
        hosts: u32,
        gpus: u32,
        min_minutes: i64,
        priority: i32,
        grace: i64,
        then: u8,
        same_block: bool,
    },
    Wait(i64),
    Finish(usize),
    HostFails(usize),
    HostBack(usize),
    Cancel(usize),
    Grant(usize, i64),
}

fn submit() -> impl Strategy<Value = Step> {
    let shape = prop_oneof![4 => (Just(1_u32), 1_u32..=8), 1 => (2_u32..=3, Just(8_u32)), 1 => (2_u32..=3, 3_u32..=5)];
    let min = prop_oneof![Just(0_i64), Just(5), Just(15), Just(60), Just(480)];
    let grace = prop_oneof![3 => Just(0_i64), 1 => Just(10)];
    (0_usize..4, shape, min, -2_i32..3, grace, 0_u8..3, any::<bool>()).prop_map(
        |(leaf, (hosts, gpus), min_minutes, priority, grace, then, same_block)| Step::Submit {
            leaf,
            hosts,
            gpus,
            min_minutes,
            priority,
            grace,
            then,
            same_block,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => submit(),
        6 => (1_i64..7_200).prop_map(Step::Wait),
        3 => (0_usize..64).prop_map(Step::Finish),
        1 => (0_usize..4).prop_map(Step::HostFails),
        2 => (0_usize..4).prop_map(Step::HostBack),
        1 => (0_usize..64).prop_map(Step::Cancel),
        1 => (0_usize..4, 0_i64..2_000_000).prop_map(|(leaf, amount)| Step::Grant(leaf, amount)),
    ];
    prop::collection::vec(step, 1..60)
}

fn workload(id: u64, step: &Step) -> Option<Workload> {
    let Step::Submit {
        leaf,
        hosts,
        gpus,
        min_minutes,
        priority,
        grace,
        then,
        same_block,
    } = step
    else {
        return None;
    };
    let node = LEAVES[*leaf].0.rsplit('/').next()?;
    let mut workload = if *min_minutes == 0 {
        sweep(id, node, *gpus)
    } else {
        work(id, node, *gpus)
    };
    if *hosts > 1 {
        workload = Workload {
            min_runtime: workload.min_runtime,
            ..gang(id, node, *hosts, *gpus)
        };
    }
    workload.min_runtime = Seconds(min_minutes * 60);
    workload.priority = *priority;
    workload.grace = Seconds(*grace);
    workload.then = [Then::Charged, Then::Unallocated, Then::Stop][usize::from(*then)];
    workload.fallback = if *then == 1 {
        Fallback::Wait
    } else {
        Fallback::Unallocated
    };
    workload.shape.topology = if *same_block {
        Topology::SameBlock
    } else {
        Topology::Anywhere
    };
    Some(workload)
}

/// I-4: every victim is needed: without any one of them the start would not have fitted.
fn victims_are_needed(state: &State, decisions: &Decisions) {
    let mut by_start: BTreeMap<WorkloadId, Vec<_>> = BTreeMap::new();
    for stop in &decisions.stops {
        if let StopCause::Preemption(why) = &stop.cause {
            by_start.entry(why.preemptor).or_default().push(stop.proof.run());
        }
    }
    // The first start of a pass is made in the room that the state shows.
    let Some(first) = decisions.starts.first() else {
        return;
    };
    let Some(victims) = by_start.get(&first.workload) else {
        return;
    };
    let shape = state.live()[&first.workload].workload.shape;
    for spared in victims {
        let mut room = Room::new(state.hosts(), state.blocks().len());
        for victim in victims.iter().filter(|victim| *victim != spared) {
            room.give(&state.runs()[victim].gpus_on);
        }
        assert!(
            room.place(shape).is_none(),
            "I-4: {spared} was stopped for nothing"
        );
    }
}

struct Life {
    pool: Pool,
    next_id: u64,
}

impl Life {
    fn new() -> Self {
        Self {
            pool: Pool::new(4, 8, 2, &LEAVES),
            next_id: 1,
        }
    }

    fn pick_run(&self, n: usize) -> Option<stint_core::id::RunId> {
        let runs: Vec<_> = self
            .pool
            .state
            .runs()
            .values()
            .filter(|run| run.assigned().is_some())
            .collect();
        (!runs.is_empty()).then(|| runs[n % runs.len()].id)
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Submit { .. } => {
                if let Some(workload) = workload(self.next_id, step) {
                    self.next_id += 1;
                    self.pool.submit(workload);
                }
            }
            Step::Wait(span) => {
                let at = self.pool.now + span;
                self.gone_by(at);
                self.pool.until(at);
            }
            Step::Finish(n) => {
                if let Some(run) = self.pick_run(*n) {
                    self.pool.event(Event::Ended(run, EndCause::Finished));
                }
            }
            Step::HostFails(n) => {
                let host = self.pool.state.hosts()[*n].clone();
                self.pool.event(Event::Host(host.id, HostState::Down));
                for run in host.runs {
                    self.pool.event(Event::Ended(run, EndCause::HostFailed));
                }
            }
            Step::HostBack(n) => {
                let host = self.pool.state.hosts()[*n].id.clone();
                self.pool.event(Event::Host(host, HostState::Up));
            }
            Step::Cancel(n) => {
                let ids: Vec<WorkloadId> = self.pool.state.live().keys().copied().collect();
                if !ids.is_empty() {
                    self.pool.event(Event::Cancelled(ids[n % ids.len()]));
                }
            }
            Step::Grant(leaf, amount) => {
                self.pool
                    .grant(LEAVES[*leaf].0.rsplit('/').next().unwrap(), *amount);
            }
        }
        self.pass();
    }

    /// Runs that were told to stop are gone when their grace is over.
    fn gone_by(&mut self, at: i64) {
        use stint_core::sched::run::Phase;
        let mut gone: Vec<_> = self
            .pool
            .state
            .runs()
            .values()
            .filter_map(|run| match run.phase {
                Phase::Stopping { by, cause, .. } if by.0 <= at => Some((by, run.id, cause)),
                _ => None,
            })
            .collect();
        gone.sort_unstable();
        for (by, run, cause) in gone {
            self.pool.now = self.pool.now.max(by.0);
            self.pool.event(Event::Ended(run, cause));
        }
    }

    fn pass(&mut self) {
        let now = Timestamp(self.pool.now);
        self.pool.state.advance(now).unwrap();
        let decisions = decide(&self.pool.state, now);
        assert_eq!(
            decide(&self.pool.state, now),
            decisions,
            "I-8: same state, same decisions"
        );
        check_decisions(&self.pool.state, &decisions);
        victims_are_needed(&self.pool.state, &decisions);
        self.pool.pass();
        self.reasons();
    }

    /// Everything that waits has a place and a reason, once.
    fn reasons(&self) {
        let state = &self.pool.state;
        let order = explain::order(state, state.now());
        let mut placed: Vec<WorkloadId> = order.iter().map(|entry| entry.workload).collect();
        placed.sort_unstable();
        let waits = state.live().values().filter(|live| {
            live.run
                .and_then(|run| state.runs().get(&run))
                .is_none_or(|run| run.assigned().is_none())
        });
        let mut waiting: Vec<WorkloadId> = waits.map(|live| live.workload.id).collect();
        waiting.sort_unstable();
        assert_eq!(placed, waiting);
        assert!(
            order
                .iter()
                .all(|entry| !entry.reason.sentence(&|at| at.0.to_string()).is_empty())
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// I-1 to I-5, I-8, I-11, and I-12, which I-3 implies: who is stopped has had its minimum runtime, so a GPU
    /// changes hands at most once in it. `Pool::pass` checks the state after every pass.
    #[test]
    fn a_random_life_keeps_the_invariants(steps in steps()) {
        let mut life = Life::new();
        for step in &steps {
            life.step(step);
        }
        // I-5: when nothing runs, nothing is held.
        while let Some(run) = life.pick_run(0) {
            life.pool.event(Event::Ended(run, EndCause::Failed));
        }
        let tree = life.pool.state.tree();
        for leaf in tree.leaves() {
            prop_assert_eq!(life.pool.state.held(tree.leaf_ix(leaf), life.pool.state.now()).0, 0);
            prop_assert!(life.pool.state.charged_in_period(leaf, life.pool.state.now()).0 >= 0);
        }
    }

    /// I-7: priority orders work within a leaf and nothing else.
    #[test]
    fn raising_every_priority_of_one_leaf_changes_nothing(steps in steps(), leaf in 0_usize..4, by in 1_i32..500) {
        let raised = steps.iter().cloned().map(|step| match step {
            Step::Submit { leaf: at, hosts, gpus, min_minutes, priority, grace, then, same_block } => Step::Submit {
                leaf: at, hosts, gpus, min_minutes, grace, then, same_block,
                priority: if at == leaf { priority + by } else { priority },
            },
            other => other,
        });
        let (mut plain, mut changed) = (Life::new(), Life::new());
        for step in &steps {
            plain.step(step);
        }
        for step in raised {
            changed.step(&step);
        }
        prop_assert_eq!(&plain.pool.starts, &changed.pool.starts);
        prop_assert_eq!(&plain.pool.preempted, &changed.pool.preempted);
    }
}
