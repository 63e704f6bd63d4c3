//! A small pool for tests: nodes, hosts and workloads by a few words, time by hand, launches at once.

use std::collections::BTreeMap;

use stint_core::id::{HostId, NodeId, RunId, WorkloadId};
use stint_core::org::{Node, NodeKind, Org};
use stint_core::sched::contract::{
    AfterPreemption, EndCause, Fallback, HostState, Limits, Shape, Then, Topology, Workload, WorkloadState,
};
use stint_core::sched::decisions::{Decisions, StopCause};
use stint_core::sched::state::{Effect, Event, HostSpec, Rules, State};
use stint_core::sched::{audit, decide};
use stint_core::standing::LookBack;
use stint_core::units::{GpuSeconds, MilliGpus, Seconds, Timestamp};

pub(crate) const HOUR: i64 = 3_600;
pub(crate) const DAY: i64 = 86_400;

/// A pool under test.
pub(crate) struct Pool {
    pub(crate) state: State,
    pub(crate) now: i64,
    pub(crate) starts: Vec<(i64, WorkloadId)>,
    pub(crate) preempted: Vec<(i64, WorkloadId)>,
    runs: BTreeMap<RunId, WorkloadId>,
}

/// Nodes as `parent/child`, each leaf with a rate in GPUs. The root is `org`.
pub(crate) fn org(leaves: &[(&str, i64)]) -> (Org, Vec<(NodeId, MilliGpus, MilliGpus)>) {
    let mut nodes: BTreeMap<String, Option<String>> = BTreeMap::from([("org".to_owned(), None)]);
    for (path, _) in leaves {
        let mut parent = "org".to_owned();
        for part in path.split('/') {
            nodes
                .entry(part.to_owned())
                .or_insert_with(|| Some(parent.clone()));
            part.clone_into(&mut parent);
        }
    }
    let node = |(id, parent): (&String, &Option<String>)| Node {
        id: id.parse().unwrap(),
        parent: parent.as_ref().map(|parent| parent.parse().unwrap()),
        kind: NodeKind::Team,
        name: id.clone(),
    };
    let org = Org::new(nodes.iter().map(node).collect()).unwrap();
    let below = |path: &str, name: &str| name == "org" || path.split('/').any(|part| part == name);
    let rates = nodes.keys().map(|name| {
        let gross: i64 = leaves
            .iter()
            .filter(|(path, _)| below(path, name))
            .map(|(_, gpus)| gpus)
            .sum();
        let own = leaves
            .iter()
            .find(|(path, _)| path.split('/').next_back() == Some(name))
            .map_or(0, |(_, g)| *g);
        (
            name.parse().unwrap(),
            MilliGpus(own * 1_000),
            MilliGpus(gross * 1_000),
        )
    });
    let rates = rates.collect();
    (org, rates)
}

impl Pool {
    /// Hosts of so many GPUs each, in blocks of so many, and leaves with rates and plenty of funds.
    pub(crate) fn new(hosts: u32, gpus: u32, block: u32, leaves: &[(&str, i64)]) -> Self {
        let (org, rates) = org(leaves);
        let specs = (0..hosts).map(|n| HostSpec {
            id: format!("h{n:03}").parse().unwrap(),
            block: format!("b{:02}", n / block).parse().unwrap(),
            gpus,
            state: HostState::Up,
        });
        let rules = Rules {
            limits: Limits {
                startup_allowance: Seconds(600),
                ..Limits::default()
            },
            look_back: LookBack::Sliding(Seconds(7 * DAY)),
            margin_milli: 10,
        };
        let mut state = State::new(rules, &org, specs.collect(), Timestamp(0));
        let grants = org
            .nodes()
            .iter()
            .map(|node| (node.id.clone(), GpuSeconds(1 << 50)))
            .collect();
        state.apply(Timestamp(0), Event::Rates(rates)).unwrap();
        state.apply(Timestamp(0), Event::Granted(grants)).unwrap();
        Self {
            state,
            now: 0,
            starts: Vec::new(),
            preempted: Vec::new(),
            runs: BTreeMap::new(),
        }
    }

    /// Grants a leaf exactly so many GPU-seconds.
    pub(crate) fn grant(&mut self, node: &str, amount: i64) {
        let grants = vec![(node.parse().unwrap(), GpuSeconds(amount))];
        self.event(Event::Granted(grants));
    }

    /// Something happens now.
    pub(crate) fn event(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.state.apply(Timestamp(self.now), event).unwrap();
        self.take_effects(&effects);
        effects
    }

    /// Submits.
    pub(crate) fn submit(&mut self, workload: Workload) -> WorkloadId {
        let id = workload.id;
        self.event(Event::Submitted(Workload {
            submitted_at: Timestamp(self.now),
            ..workload
        }));
        id
    }

    /// A run ends by itself.
    pub(crate) fn finish(&mut self, id: WorkloadId) {
        let run = self.run(id);
        self.event(Event::Ended(run, EndCause::Finished));
    }

    /// The run of a workload.
    pub(crate) fn run(&self, id: WorkloadId) -> RunId {
        self.state.live()[&id].run.unwrap()
    }

    /// One pass. Victims without grace are gone at once; what is assigned runs at once.
    pub(crate) fn pass(&mut self) -> Decisions {
        let now = Timestamp(self.now);
        let effects = self.state.advance(now).unwrap();
        self.take_effects(&effects);
        let decisions = decide(&self.state, now);
        check_decisions(&self.state, &decisions);
        let effects = self.state.commit(&decisions);
        for start in &decisions.starts {
            self.runs.insert(start.run, start.workload);
            self.starts.push((self.now, start.workload));
        }
        self.take_effects(&effects);
        for stop in &decisions.stops {
            let run = stop.proof.run();
            let cause = match stop.cause {
                StopCause::Preemption(_) => EndCause::Preempted,
                StopCause::Expired => EndCause::Expired,
                StopCause::StartupOver => EndCause::LaunchFailed,
            };
            if cause == EndCause::Preempted {
                self.preempted.push((self.now, self.state.runs()[&run].workload));
            }
            if stop.by <= now {
                self.event(Event::Ended(run, cause));
            }
        }
        assert_eq!(audit::check(&self.state), Vec::<String>::new(), "at {}", self.now);
        decisions
    }

    /// Lets time pass, with a pass at every timer, and one at the end.
    pub(crate) fn until(&mut self, at: i64) {
        while let Some(timer) = self.state.next_timer().filter(|timer| timer.0 < at) {
            self.now = self.now.max(timer.0);
            self.pass();
        }
        self.now = at;
        self.pass();
    }

    fn take_effects(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Assigned(run) = effect {
                let now = self.state.now();
                self.state.apply(now, Event::Running(*run)).unwrap();
            }
        }
    }

    /// Where a workload stands.
    pub(crate) fn stands(&self, id: WorkloadId) -> Option<WorkloadState> {
        self.state.workload_state(id)
    }

    /// The hosts of a workload's run.
    pub(crate) fn hosts_of(&self, id: WorkloadId) -> Vec<HostId> {
        let run = &self.state.runs()[&self.run(id)];
        run.gpus_on
            .iter()
            .map(|(ix, _)| self.state.host(*ix).id.clone())
            .collect()
    }
}

/// A workload that needs only what is said: GPUs on one host, an hour protected, resumable.
pub(crate) fn work(id: u64, node: &str, gpus: u32) -> Workload {
    Workload {
        id: WorkloadId(id),
        charged_to: node.parse().unwrap(),
        submitted_by: "someone".parse().unwrap(),
        shape: Shape {
            hosts: 1,
            gpus_per_host: gpus,
            topology: Topology::Anywhere,
        },
        min_runtime: Seconds(HOUR),
        after_preemption: AfterPreemption::Requeue,
        priority: 0,
        then: Then::Charged,
        fallback: Fallback::Unallocated,
        grace: Seconds(0),
        submitted_at: Timestamp(0),
    }
}

/// A gang of whole hosts.
pub(crate) fn gang(id: u64, node: &str, hosts: u32, gpus_per_host: u32) -> Workload {
    Workload {
        shape: Shape {
            hosts,
            gpus_per_host,
            topology: Topology::Anywhere,
        },
        ..work(id, node, 1)
    }
}

/// Unallocated work.
pub(crate) fn sweep(id: u64, node: &str, gpus: u32) -> Workload {
    Workload {
        min_runtime: Seconds(0),
        ..work(id, node, gpus)
    }
}

/// What must hold of every pass: I-2, I-3, I-4, I-11.
pub(crate) fn check_decisions(state: &State, decisions: &Decisions) {
    for start in &decisions.starts {
        let live = &state.live()[&start.workload];
        let gpus: u32 = start.gpus_on.iter().map(|(_, mask)| mask.count_ones()).sum();
        assert_eq!(gpus, live.workload.shape.gpus().0, "I-2: a gang starts whole");
        for (ix, _) in &start.gpus_on {
            assert_eq!(
                state.host(*ix).state,
                HostState::Up,
                "I-1: nothing starts on a host that is not up"
            );
        }
    }
    for stop in &decisions.stops {
        let run = &state.runs()[&stop.proof.run()];
        if run.allocated && !matches!(stop.cause, StopCause::StartupOver) {
            assert!(
                run.protected_until().is_some_and(|until| until <= decisions.at),
                "I-3: protected work goes on"
            );
        }
        let StopCause::Preemption(why) = &stop.cause else {
            continue;
        };
        assert!(
            decisions
                .starts
                .iter()
                .any(|start| start.workload == why.preemptor),
            "I-4: no stop without the start it enables"
        );
        if let (stint_core::sched::reason::Rule::Standing, Some(parting)) = (why.rule, &why.parting) {
            assert!(
                parting
                    .second
                    .standing
                    .is_above_by(parting.first.standing, why.margin_milli),
                "I-11: nothing is stopped for a side that stands higher"
            );
        }
    }
}
