//! Everything a pass needs to know, kept up by events.
//!
//! The simulator and the engine change it in one way only: [`State::apply`] for what happened,
//! [`State::advance`] for what time brings, [`State::commit`] for what a pass decided. Each returns the
//! [`Effect`]s that a ledger or a store has to record. Nothing here reads a clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::contract::{
    AfterPreemption, EndCause, Fallback, HostState, LAUNCH_FAILURES_HELD, Limits, Shape, Then, Workload,
    WorkloadState,
};
use super::decisions::{Decisions, Start, StopCause};
use super::run::{Phase, Run, Span, SpanKind};
use super::tree::{LeafIx, Tree, TreeIx};
use crate::id::{BlockId, HostId, NodeId, RunId, WorkloadId};
use crate::org::Org;
use crate::standing::{LookBack, Standing, StepSum};
use crate::units::{GpuSeconds, Gpus, MilliGpus, Seconds, Timestamp};

/// The rules of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Limits on what a workload may ask for.
    pub limits: Limits,
    /// How the past is weighed.
    pub look_back: LookBack,
    /// By how much a victim's side must stand higher, in thousandths. *Source*: policy, section 7.
    pub margin_milli: i64,
}

/// The position of a host; hosts are in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIx(pub usize);

/// A host as it joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSpec {
    /// Its id.
    pub id: HostId,
    /// Its block.
    pub block: BlockId,
    /// Its GPUs, at most 64.
    pub gpus: u32,
    /// Whether it can be used.
    pub state: HostState,
}

/// A host and who holds its GPUs. GPUs are bits of a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its id.
    pub id: HostId,
    /// Its block, as a position in [`State::blocks`].
    pub block: usize,
    /// All its GPUs.
    pub all: u64,
    /// GPUs that nobody holds and nobody waits for.
    pub free: u64,
    /// GPUs that are held by a run that leaves and pinned to one that waits for them.
    pub pinned: u64,
    /// Whether it can be used.
    pub state: HostState,
    /// Runs that hold GPUs here, in the order of their ids.
    pub runs: BTreeSet<RunId>,
}

/// A workload that is not over yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The workload.
    pub workload: Workload,
    /// The leaf that pays.
    pub leaf: LeafIx,
    /// How often it has started.
    pub starts: u32,
    /// How often its launch failed since its owner last changed it.
    pub launch_failures: u32,
    /// Since when it is held back.
    pub held_since: Option<Timestamp>,
    /// Its run, if it has one.
    pub run: Option<RunId>,
}

/// Workloads that are alike for a pass: what holds for one of them holds for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Whether they are charged and protected.
    pub allocated: bool,
    /// What they need.
    pub shape: Shape,
    /// What a protected start holds.
    pub hold: GpuSeconds,
    /// What happens without funds.
    pub fallback: Fallback,
}

/// Order within a leaf: priority, then original submit time, then id.
pub type QueueKey = (Reverse<i32>, Timestamp, WorkloadId);

/// The queue of a leaf, by class.
pub type LeafQueue = BTreeMap<Class, BTreeSet<QueueKey>>;

/// GPU time that running work will still be charged for under its protection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Holds {
    gpus: i128,
    gpus_until: i128,
}

impl Holds {
    fn at(self, now: Timestamp) -> i128 {
        self.gpus_until - self.gpus * i128::from(now.0)
    }

    fn change(&mut self, gpus: Gpus, until: Timestamp, sign: i128) {
        self.gpus += sign * i128::from(gpus.0);
        self.gpus_until += sign * i128::from(gpus.0) * i128::from(until.0);
    }
}

/// Sums of one branch or leaf.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    pub(super) used: StepSum,
    unallocated: StepSum,
    rate: StepSum,
    /// GPUs of allocated workloads that are not over and not held back, for leaves.
    pub(super) demand: StepSum,
    holds: Holds,
    /// Granted in the running period, for leaves.
    granted: GpuSeconds,
    /// What had been charged when the running period began.
    pub(super) charged_before: i128,
}

/// What time brings to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    ProtectionEnds,
    StartupEnds,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A workload was submitted.
    Submitted(Workload),
    /// A person cancelled a workload: it leaves the queue, or its run is told to stop, protected or not.
    Cancelled(WorkloadId),
    /// A run is running on all its hosts.
    Running(RunId),
    /// A run has released its GPUs.
    Ended(RunId, EndCause),
    /// A host changed.
    Host(HostId, HostState),
    /// Rates from now on: node, own part, with everything below it.
    Rates(Vec<(NodeId, MilliGpus, MilliGpus)>),
    /// Grants of the running period from now on, by node, own part.
    Granted(Vec<(NodeId, GpuSeconds)>),
    /// A period begins: what was charged so far no longer counts against the grants.
    PeriodBegins,
}

/// What a change brings about, for those who keep records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A span of held GPUs is over.
    Span(Span),
    /// What the infrastructure cost a run is given back.
    Refund {
        /// The run.
        run: RunId,
        /// The node that paid.
        leaf: LeafIx,
        /// How much.
        amount: GpuSeconds,
    },
    /// All GPUs of a run are its own now: it can be launched.
    Assigned(RunId),
    /// A run changed: running, protected, past its protection, told to stop.
    RunChanged(RunId),
    /// A run is over.
    RunEnded(Box<Run>, EndCause),
    /// A run that waited for others to leave was given up before it held anything.
    RunDropped(Box<Run>),
    /// A workload has another state now, and is not over.
    WorkloadChanged(WorkloadId),
    /// A workload is over.
    WorkloadOver(WorkloadId, WorkloadState),
}

/// Why an event doesn't fit the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// No such workload, or it is over.
    #[error("workload {0} is not known here, or is over")]
    UnknownWorkload(WorkloadId),
    /// The workload is known already.
    #[error("workload {0} is known already")]
    WorkloadKnown(WorkloadId),
    /// No such run, or it is over.
    #[error("run {0} is not known here, or is over")]
    UnknownRun(RunId),
    /// No such host.
    #[error("host {0} is not known here")]
    UnknownHost(HostId),
    /// No such node.
    #[error("node {0} is not in this organisation")]
    UnknownNode(NodeId),
    /// Time went back.
    #[error("an event at {event} came after the state had reached {state}")]
    Late {
        /// When the event happened.
        event: i64,
        /// How far the state is.
        state: i64,
    },
}

/// A pool, its organisation, its hosts, its queue and its runs.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) rules: Rules,
    now: Timestamp,
    pub(super) tree: Tree,
    pub(super) usage: Vec<Usage>,
    blocks: Vec<BlockId>,
    pub(super) hosts: Vec<Host>,
    host_ix: BTreeMap<HostId, HostIx>,
    pub(super) live: BTreeMap<WorkloadId, Live>,
    queues: Vec<LeafQueue>,
    pub(super) runs: BTreeMap<RunId, Run>,
    pub(super) timers: BTreeSet<(Timestamp, RunId, Timer)>,
    pub(super) next_run: u64,
}

impl State {
    /// An empty pool. The limits' host numbers are taken from the hosts.
    pub fn new(rules: Rules, org: &Org, mut hosts: Vec<HostSpec>, now: Timestamp) -> Self {
        hosts.sort_by(|a, b| a.id.cmp(&b.id));
        let blocks: Vec<BlockId> = hosts
            .iter()
            .map(|host| host.block.clone())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let tree = Tree::new(org);
        let mut rules = rules;
        rules.limits.hosts = u32::try_from(hosts.len()).unwrap_or(u32::MAX);
        rules.limits.gpus_per_host = hosts.iter().map(|host| host.gpus).max().unwrap_or(0);
        let host_ix = hosts
            .iter()
            .enumerate()
            .map(|(ix, host)| (host.id.clone(), HostIx(ix)))
            .collect();
        let hosts = hosts.into_iter().map(|spec| {
            let all = if spec.gpus >= 64 {
                u64::MAX
            } else {
                (1 << spec.gpus) - 1
            };
            Host {
                block: blocks.partition_point(|block| *block < spec.block),
                id: spec.id,
                all,
                free: all,
                pinned: 0,
                state: spec.state,
                runs: BTreeSet::new(),
            }
        });
        Self {
            rules,
            now,
            usage: vec![Usage::default(); tree.items().len()],
            queues: vec![LeafQueue::new(); tree.leaf_count()],
            hosts: hosts.collect(),
            host_ix,
            blocks,
            tree,
            live: BTreeMap::new(),
            runs: BTreeMap::new(),
            timers: BTreeSet::new(),
            next_run: 1,
        }
    }

    /// The rules of the pool.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How far the state has got.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The organisation as the walk sees it.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// All blocks, in the order of their ids.
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// All hosts, in the order of their ids.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// One host.
    pub fn host(&self, ix: HostIx) -> &Host {
        &self.hosts[ix.0]
    }

    /// The position of a host.
    pub fn find_host(&self, id: &HostId) -> Option<HostIx> {
        self.host_ix.get(id).copied()
    }

    /// All workloads that are not over.
    pub fn live(&self) -> &BTreeMap<WorkloadId, Live> {
        &self.live
    }

    /// All runs that hold GPUs or wait for them.
    pub fn runs(&self) -> &BTreeMap<RunId, Run> {
        &self.runs
    }

    /// The queue of a leaf.
    pub fn queue(&self, leaf: LeafIx) -> &LeafQueue {
        &self.queues[leaf.0]
    }

    /// The number the next run gets.
    pub fn next_run(&self) -> u64 {
        self.next_run
    }

    /// All GPUs of hosts that can be used.
    pub fn healthy_gpus(&self) -> Gpus {
        self.hosts
            .iter()
            .filter(|host| host.state != HostState::Down)
            .map(|host| Gpus(host.all.count_ones()))
            .sum()
    }

    /// The class of a workload.
    pub fn class(&self, workload: &Workload) -> Class {
        Class {
            allocated: workload.is_allocated(),
            shape: workload.shape,
            hold: workload.hold(&self.rules.limits),
            fallback: workload.fallback,
        }
    }

    /// The standing of a branch or leaf.
    pub fn standing(&self, ix: TreeIx, now: Timestamp) -> Standing {
        let usage = &self.usage[ix.0];
        let look_back = self.rules.look_back;
        Standing::new(
            look_back,
            usage.used.over(look_back, now),
            usage.holds.at(now),
            usage.rate.over(look_back, now),
            MilliGpus(usage.rate.level()),
            self.rules.limits.cap,
        )
    }

    /// Charged in a sliding window ending now.
    pub fn charged_over(&self, ix: TreeIx, window: Seconds, now: Timestamp) -> GpuSeconds {
        whole(self.usage[ix.0].used.over(LookBack::Sliding(window), now))
    }

    /// Held by running work under its protection.
    pub fn held(&self, ix: TreeIx, now: Timestamp) -> GpuSeconds {
        whole(self.usage[ix.0].holds.at(now))
    }

    /// The rate.
    pub fn rate(&self, ix: TreeIx) -> MilliGpus {
        MilliGpus(self.usage[ix.0].rate.level())
    }

    /// The rate over a sliding window ending now, in milli-GPU-seconds.
    pub fn rate_over(&self, ix: TreeIx, window: Seconds, now: Timestamp) -> i128 {
        self.usage[ix.0].rate.over(LookBack::Sliding(window), now)
    }

    /// Demand of a leaf over a span: GPU-seconds of allocated work that waited or ran.
    pub fn demand_between(&self, leaf: LeafIx, from: Timestamp, to: Timestamp) -> GpuSeconds {
        let demand = &self.usage[self.tree.leaf_ix(leaf).0].demand;
        whole(demand.total(to) - demand.total(from))
    }

    /// Charged over a span that ends no later than now.
    pub fn charged_between(&self, ix: TreeIx, from: Timestamp, to: Timestamp) -> GpuSeconds {
        let used = &self.usage[ix.0].used;
        whole(used.total(to) - used.total(from))
    }

    /// GPUs that are charged now.
    pub fn charged_gpus(&self, ix: TreeIx) -> i64 {
        self.usage[ix.0].used.level()
    }

    /// GPUs that are held free of charge now.
    pub fn unallocated_gpus(&self, ix: TreeIx) -> i64 {
        self.usage[ix.0].unallocated.level()
    }

    /// Unallocated time over a sliding window ending now.
    pub fn unallocated_over(&self, ix: TreeIx, window: Seconds, now: Timestamp) -> GpuSeconds {
        whole(self.usage[ix.0].unallocated.over(LookBack::Sliding(window), now))
    }

    /// Charged in the running period.
    pub fn charged_in_period(&self, leaf: LeafIx, now: Timestamp) -> GpuSeconds {
        let usage = &self.usage[self.tree.leaf_ix(leaf).0];
        whole(usage.used.total(now) - usage.charged_before)
    }

    /// What a leaf can still hold: granted - charged - held. *Source*: policy, section 3.
    pub fn funds(&self, leaf: LeafIx, now: Timestamp) -> GpuSeconds {
        let ix = self.tree.leaf_ix(leaf);
        self.usage[ix.0].granted - self.charged_in_period(leaf, now) - self.held(ix, now)
    }

    /// Where a workload stands, as people see it; `None` when it is over.
    pub fn workload_state(&self, id: WorkloadId) -> Option<WorkloadState> {
        let live = self.live.get(&id)?;
        Some(match live.run.and_then(|run| self.runs.get(&run)) {
            Some(run) => run.state(self.now),
            None if live.held_since.is_some() => WorkloadState::Held,
            None => WorkloadState::Queued,
        })
    }

    /// The next instant at which time alone changes something.
    pub fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first().map(|(at, ..)| *at)
    }

    /// Lets time pass: protections end, start-up times run out.
    ///
    /// # Errors
    /// [`StateError::Late`] when `to` lies before what the state has reached.
    pub fn advance(&mut self, to: Timestamp) -> Result<Vec<Effect>, StateError> {
        if to < self.now {
            return Err(StateError::Late {
                event: to.0,
                state: self.now.0,
            });
        }
        let mut effects = Vec::new();
        while let Some((at, run, timer)) = self.timers.first().copied().filter(|(at, ..)| *at <= to) {
            self.timers.pop_first();
            self.now = self.now.max(at);
            if timer == Timer::ProtectionEnds {
                self.protection_ends(run, at, &mut effects);
            }
        }
        self.now = to;
        Ok(effects)
    }

    fn protection_ends(&mut self, id: RunId, at: Timestamp, effects: &mut Vec<Effect>) {
        self.release_hold(id);
        let Some(run) = self.runs.get(&id) else { return };
        let then = self.live.get(&run.workload).map(|live| live.workload.then);
        if run.allocated && then == Some(Then::Unallocated) {
            self.switch_span(id, SpanKind::Unallocated, at, effects);
        }
        effects.push(Effect::RunChanged(id));
    }

    /// Takes in what happened at an instant that is not before what the state has reached.
    ///
    /// # Errors
    /// [`StateError`] when the event doesn't fit; the state is then as it was, but for time.
    pub fn apply(&mut self, at: Timestamp, event: Event) -> Result<Vec<Effect>, StateError> {
        let mut effects = self.advance(at)?;
        match event {
            Event::Submitted(workload) => self.submit(workload, &mut effects)?,
            Event::Cancelled(id) => self.cancel(id, &mut effects)?,
            Event::Running(run) => self.running(run, &mut effects)?,
            Event::Ended(run, cause) => self.ended(run, cause, &mut effects)?,
            Event::Host(host, state) => {
                let ix = self.find_host(&host).ok_or(StateError::UnknownHost(host))?;
                self.hosts[ix.0].state = state;
            }
            Event::Rates(rates) => self.set_rates(at, rates)?,
            Event::Granted(grants) => self.set_grants(grants)?,
            Event::PeriodBegins => {
                for usage in &mut self.usage {
                    usage.charged_before = usage.used.total(at);
                }
            }
        }
        Ok(effects)
    }

    fn submit(&mut self, workload: Workload, effects: &mut Vec<Effect>) -> Result<(), StateError> {
        let id = self.know(Live {
            leaf: self
                .tree
                .charged_to(&workload.charged_to)
                .ok_or_else(|| StateError::UnknownNode(workload.charged_to.clone()))?,
            workload,
            starts: 0,
            launch_failures: 0,
            held_since: None,
            run: None,
        })?;
        self.count_demand(id, 1);
        effects.push(Effect::WorkloadChanged(id));
        Ok(())
    }

    fn count_demand(&mut self, id: WorkloadId, sign: i64) {
        let Some(live) = self.live.get(&id).filter(|live| live.workload.is_allocated()) else {
            return;
        };
        let ix = self.tree.leaf_ix(live.leaf);
        let gpus = i64::from(live.workload.shape.gpus().0);
        self.usage[ix.0].demand.change(self.now, sign * gpus);
    }

    /// Adds a workload as it was: submitted, started and held before.
    ///
    /// # Errors
    /// [`StateError::WorkloadKnown`] when it is there already.
    pub fn know(&mut self, live: Live) -> Result<WorkloadId, StateError> {
        let id = live.workload.id;
        if self.live.contains_key(&id) {
            return Err(StateError::WorkloadKnown(id));
        }
        if live.run.is_none() && live.held_since.is_none() {
            self.enqueue(&live);
        }
        self.live.insert(id, live);
        Ok(id)
    }

    fn enqueue(&mut self, live: &Live) {
        let class = self.class(&live.workload);
        self.queues[live.leaf.0]
            .entry(class)
            .or_default()
            .insert(queue_key(&live.workload));
    }

    fn dequeue(&mut self, id: WorkloadId) {
        let Some(live) = self.live.get(&id) else { return };
        let class = self.class(&live.workload);
        let queue = &mut self.queues[live.leaf.0];
        if let Some(keys) = queue.get_mut(&class) {
            keys.remove(&queue_key(&live.workload));
            if keys.is_empty() {
                queue.remove(&class);
            }
        }
    }

    fn cancel(&mut self, id: WorkloadId, effects: &mut Vec<Effect>) -> Result<(), StateError> {
        let live = self.live.get(&id).ok_or(StateError::UnknownWorkload(id))?;
        let (run, by) = (live.run, self.now + live.workload.grace);
        let phase = run.and_then(|run| self.runs.get_mut(&run));
        match phase {
            Some(run) if run.is_stopping() => return Ok(()),
            Some(run) if !matches!(run.phase, Phase::Waiting { .. }) => {
                run.stop(self.now, by, EndCause::Cancelled);
                effects.push(Effect::RunChanged(run.id));
                return Ok(());
            }
            Some(run) => {
                let waiting = run.id;
                self.drop_waiting(waiting, effects);
            }
            None => {}
        }
        self.dequeue(id);
        self.count_demand(id, -1);
        self.live.remove(&id);
        effects.push(Effect::WorkloadOver(id, WorkloadState::Cancelled));
        Ok(())
    }

    fn running(&mut self, id: RunId, effects: &mut Vec<Effect>) -> Result<(), StateError> {
        let now = self.now;
        let run = self.runs.get(&id).ok_or(StateError::UnknownRun(id))?;
        let Phase::Starting { assigned } = run.phase else {
            return Ok(());
        };
        let (allocated, workload) = (run.allocated, run.workload);
        let min_runtime = self
            .live
            .get(&workload)
            .map_or(Seconds::ZERO, |live| live.workload.min_runtime);
        let protected_until = if allocated { now + min_runtime } else { now };
        self.release_hold(id);
        self.timers.remove(&(
            assigned + self.rules.limits.startup_allowance,
            id,
            Timer::StartupEnds,
        ));
        if let Some(run) = self.runs.get_mut(&id) {
            run.phase = Phase::Running {
                assigned,
                running: now,
                protected_until,
            };
        }
        if allocated {
            self.take_hold(id, protected_until);
            self.timers.insert((protected_until, id, Timer::ProtectionEnds));
        }
        effects.push(Effect::RunChanged(id));
        Ok(())
    }

    fn ended(&mut self, id: RunId, cause: EndCause, effects: &mut Vec<Effect>) -> Result<(), StateError> {
        let run = self.runs.get(&id).ok_or(StateError::UnknownRun(id))?;
        if matches!(run.phase, Phase::Waiting { .. }) {
            self.drop_waiting(id, effects);
            return Ok(());
        }
        self.release_hold(id);
        self.close_span(id, effects);
        let Some(run) = self.runs.remove(&id) else {
            return Ok(());
        };
        for timer in [Timer::StartupEnds, Timer::ProtectionEnds] {
            self.timers.remove(&timer_entry(&self.rules, &run, timer));
        }
        self.free_gpus(&run);
        if cause == EndCause::HostFailed && run.allocated {
            self.refund(&run, effects);
        }
        self.workload_after(&run, cause, effects);
        effects.push(Effect::RunEnded(Box::new(run), cause));
        self.victims_gone(id, effects);
        Ok(())
    }

    /// What a run's end means for its workload. *Source*: policy, section 3.
    fn workload_after(&mut self, run: &Run, cause: EndCause, effects: &mut Vec<Effect>) {
        let now = self.now;
        let Some(live) = self.live.get_mut(&run.workload) else {
            return;
        };
        live.run = None;
        let held_before = live.held_since;
        let over = match cause {
            EndCause::Finished => Some(WorkloadState::Finished),
            EndCause::Failed => Some(WorkloadState::Failed),
            EndCause::Cancelled => Some(WorkloadState::Cancelled),
            EndCause::Expired => Some(WorkloadState::Ended),
            EndCause::Preempted if live.workload.after_preemption == AfterPreemption::End => {
                Some(WorkloadState::Ended)
            }
            EndCause::Preempted | EndCause::HostFailed => None,
            EndCause::LaunchFailed => {
                live.launch_failures += 1;
                if live.launch_failures >= LAUNCH_FAILURES_HELD {
                    live.held_since = Some(now);
                }
                None
            }
        };
        let held_now = live.held_since;
        if over.is_some() || held_before != held_now {
            self.count_demand(run.workload, -1);
        }
        if let Some(state) = over {
            self.live.remove(&run.workload);
            effects.push(Effect::WorkloadOver(run.workload, state));
            return;
        }
        if held_now.is_none()
            && let Some(live) = self.live.get(&run.workload).cloned()
        {
            self.enqueue(&live);
        }
        effects.push(Effect::WorkloadChanged(run.workload));
    }

    /// Lost to the infrastructure: gpus x min(time since start, minimum runtime). *Source*: policy, section 3.
    fn refund(&mut self, run: &Run, effects: &mut Vec<Effect>) {
        let Some(assigned) = run.assigned() else { return };
        let min_runtime = self
            .live
            .get(&run.workload)
            .map_or(Seconds::ZERO, |live| live.workload.min_runtime);
        let lost = self
            .now
            .since(run.running_since().unwrap_or(assigned))
            .min(min_runtime);
        let amount = run.gpus().over(lost);
        if amount > GpuSeconds::ZERO {
            for ix in self.tree.path(run.leaf) {
                self.usage[ix.0].used.add(self.now, -amount.0);
            }
            effects.push(Effect::Refund {
                run: run.id,
                leaf: run.leaf,
                amount,
            });
        }
    }

    fn free_gpus(&mut self, run: &Run) {
        for (ix, mask) in &run.gpus_on {
            let host = &mut self.hosts[ix.0];
            host.free |= mask & !host.pinned;
            host.pinned &= !mask;
            host.runs.remove(&run.id);
        }
    }

    /// Runs that waited for one that has gone now wait for one less; those that wait for none can be launched.
    fn victims_gone(&mut self, gone: RunId, effects: &mut Vec<Effect>) {
        let mut ready = Vec::new();
        for run in self.runs.values_mut() {
            if let Phase::Waiting { waits_for, .. } = &mut run.phase
                && waits_for.remove(&gone)
                && waits_for.is_empty()
            {
                ready.push(run.id);
            }
        }
        for id in ready {
            self.assign(id);
            effects.push(Effect::Assigned(id));
        }
    }

    fn drop_waiting(&mut self, id: RunId, effects: &mut Vec<Effect>) {
        let Some(run) = self.runs.remove(&id) else { return };
        for (ix, mask) in &run.gpus_on {
            let host = &mut self.hosts[ix.0];
            let leaving = host.pinned & mask;
            host.pinned &= !mask;
            host.free |= mask & !leaving;
        }
        if let Some(live) = self.live.get_mut(&run.workload) {
            live.run = None;
            live.starts = live.starts.saturating_sub(1);
            let live = live.clone();
            self.enqueue(&live);
            effects.push(Effect::WorkloadChanged(run.workload));
        }
        effects.push(Effect::RunDropped(Box::new(run)));
    }

    /// Gives a run its GPUs: it holds them, is charged for them, and its protection is held.
    fn assign(&mut self, id: RunId) {
        let now = self.now;
        let startup = self.rules.limits.startup_allowance;
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.phase = Phase::Starting { assigned: now };
        let (allocated, workload) = (run.allocated, run.workload);
        for (ix, _) in &run.gpus_on {
            self.hosts[ix.0].runs.insert(id);
        }
        let kind = if allocated {
            SpanKind::Charged
        } else {
            SpanKind::Unallocated
        };
        self.open_span(id, kind);
        self.timers.insert((now + startup, id, Timer::StartupEnds));
        if allocated {
            let min_runtime = self
                .live
                .get(&workload)
                .map_or(Seconds::ZERO, |live| live.workload.min_runtime);
            self.take_hold(id, now + startup + min_runtime);
        }
    }

    pub(super) fn take_hold(&mut self, id: RunId, until: Timestamp) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.held_until = Some(until);
        let (gpus, leaf) = (run.gpus(), run.leaf);
        for ix in self.tree.path(leaf) {
            self.usage[ix.0].holds.change(gpus, until, 1);
        }
    }

    fn release_hold(&mut self, id: RunId) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let Some(until) = run.held_until.take() else {
            return;
        };
        let (gpus, leaf) = (run.gpus(), run.leaf);
        for ix in self.tree.path(leaf) {
            self.usage[ix.0].holds.change(gpus, until, -1);
        }
    }

    fn open_span(&mut self, id: RunId, kind: SpanKind) {
        let now = self.now;
        let Some(run) = self.runs.get_mut(&id) else { return };
        run.span = Some((kind, now));
        let (gpus, leaf) = (i64::from(run.gpus().0), run.leaf);
        self.count(leaf, kind, gpus, now);
    }

    fn close_span(&mut self, id: RunId, effects: &mut Vec<Effect>) {
        let now = self.now;
        let Some(run) = self.runs.get_mut(&id) else { return };
        let Some((kind, from)) = run.span.take() else {
            return;
        };
        let (gpus, leaf) = (run.gpus(), run.leaf);
        effects.push(Effect::Span(Span {
            run: id,
            leaf,
            kind,
            gpus,
            from,
            to: now,
        }));
        self.count(leaf, kind, -i64::from(gpus.0), now);
    }

    fn switch_span(&mut self, id: RunId, kind: SpanKind, at: Timestamp, effects: &mut Vec<Effect>) {
        self.now = self.now.max(at);
        self.close_span(id, effects);
        self.open_span(id, kind);
    }

    pub(super) fn count(&mut self, leaf: LeafIx, kind: SpanKind, gpus: i64, at: Timestamp) {
        for ix in self.tree.path(leaf) {
            let usage = &mut self.usage[ix.0];
            match kind {
                SpanKind::Charged => usage.used.change(at, gpus),
                SpanKind::Unallocated => usage.unallocated.change(at, gpus),
            }
        }
    }

    pub(super) fn set_rates(
        &mut self,
        at: Timestamp,
        rates: Vec<(NodeId, MilliGpus, MilliGpus)>,
    ) -> Result<(), StateError> {
        for (node, own, gross) in rates {
            let (Some(gross_ix), Some(leaf)) = (self.tree.gross(&node), self.tree.charged_to(&node)) else {
                return Err(StateError::UnknownNode(node));
            };
            self.usage[gross_ix.0].rate.set(at, gross.0);
            let own_ix = self.tree.leaf_ix(leaf);
            if own_ix != gross_ix {
                self.usage[own_ix.0].rate.set(at, own.0);
            }
        }
        Ok(())
    }

    fn set_grants(&mut self, grants: Vec<(NodeId, GpuSeconds)>) -> Result<(), StateError> {
        for (node, own) in grants {
            let leaf = self.tree.charged_to(&node).ok_or(StateError::UnknownNode(node))?;
            let ix = self.tree.leaf_ix(leaf);
            self.usage[ix.0].granted = own;
        }
        Ok(())
    }

    /// Carries out what a pass decided.
    pub fn commit(&mut self, decisions: &Decisions) -> Vec<Effect> {
        let mut effects = Vec::new();
        for stop in &decisions.stops {
            let id = stop.proof.run();
            let Some(run) = self.runs.get_mut(&id) else {
                continue;
            };
            let cause = match stop.cause {
                StopCause::Preemption(_) => EndCause::Preempted,
                StopCause::Expired => EndCause::Expired,
                StopCause::StartupOver => EndCause::LaunchFailed,
            };
            run.stop(decisions.at, stop.by, cause);
            effects.push(Effect::RunChanged(id));
        }
        for promotion in &decisions.promotions {
            self.promote(promotion.run, &mut effects);
        }
        for start in &decisions.starts {
            self.start(start, &mut effects);
        }
        effects
    }

    fn promote(&mut self, id: RunId, effects: &mut Vec<Effect>) {
        let now = self.now;
        self.switch_span(id, SpanKind::Charged, now, effects);
        let Some(run) = self.runs.get_mut(&id) else { return };
        let min_runtime = self
            .live
            .get(&run.workload)
            .map_or(Seconds::ZERO, |live| live.workload.min_runtime);
        run.allocated = true;
        let until = now + min_runtime;
        if let Phase::Running { protected_until, .. } = &mut run.phase {
            *protected_until = until;
            self.timers.insert((until, id, Timer::ProtectionEnds));
        }
        self.take_hold(id, until);
        effects.push(Effect::RunChanged(id));
    }

    fn start(&mut self, start: &Start, effects: &mut Vec<Effect>) {
        self.dequeue(start.workload);
        let Some(live) = self.live.get_mut(&start.workload) else {
            return;
        };
        live.run = Some(start.run);
        live.starts += 1;
        let run = Run::decided(start, live.leaf, live.starts, live.workload.then, self.now);
        for (ix, mask) in &start.gpus_on {
            let host = &mut self.hosts[ix.0];
            host.pinned |= mask & !host.free;
            host.free &= !mask;
        }
        self.next_run = self.next_run.max(start.run.0 + 1);
        self.runs.insert(start.run, run);
        effects.push(Effect::WorkloadChanged(start.workload));
        if start.waits_for.is_empty() {
            self.assign(start.run);
            effects.push(Effect::Assigned(start.run));
        }
    }

    /// Forgets what no look-back will ask for again.
    pub fn forget(&mut self) {
        let span = self.rules.look_back.span();
        for usage in &mut self.usage {
            usage.used.forget_before(self.now, span);
            usage.unallocated.forget_before(self.now, span);
            usage.rate.forget_before(self.now, span);
            usage.demand.forget_before(self.now, span);
        }
    }
}

/// A sum as an amount; sums fit by the limits of [`crate::units`].
fn whole(sum: i128) -> GpuSeconds {
    GpuSeconds(i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX }))
}

/// The place of a workload in the queue of its leaf.
pub fn queue_key(workload: &Workload) -> QueueKey {
    (Reverse(workload.priority), workload.submitted_at, workload.id)
}

pub(super) fn timer_entry(rules: &Rules, run: &Run, timer: Timer) -> (Timestamp, RunId, Timer) {
    let at = match (timer, &run.phase) {
        (Timer::StartupEnds, _) => run.assigned().unwrap_or_default() + rules.limits.startup_allowance,
        (Timer::ProtectionEnds, _) => run.protected_until().unwrap_or_default(),
    };
    (at, run.id, timer)
}

impl Run {
    /// What time will still bring to this run.
    pub(super) fn timers(&self) -> Vec<Timer> {
        match &self.phase {
            Phase::Starting { .. } => vec![Timer::StartupEnds],
            Phase::Running { .. } | Phase::Stopping { .. } if self.held_until.is_some() => {
                vec![Timer::ProtectionEnds]
            }
            Phase::Waiting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => Vec::new(),
        }
    }
}
