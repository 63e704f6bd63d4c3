//! The loop: what happens at an instant, then one pass, then what it decided.

use std::collections::{BTreeMap, BTreeSet};

use super::Arrival;
use super::faults::{Fate, Faults};
use super::log::Log;
use super::metrics::Metrics;
use super::report::{Report, Unfinished};
use crate::id::{HostId, NodeId, RunId, WorkloadId};
use crate::input::trace::Kind;
use crate::org::Org;
use crate::sched::contract::{EndCause, HostState};
use crate::sched::decisions::{Decisions, StopCause};
use crate::sched::run::Run;
use crate::sched::state::{Effect, Event, HostSpec, Rules, State, StateError};
use crate::sched::{audit, decide};
use crate::units::{GpuSeconds, HOUR_S, MilliGpus, Seconds, Timestamp};

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The organisation.
    pub org: Org,
    /// The rules of the pool.
    pub rules: Rules,
    /// The hosts, each with how it breaks, if it does.
    pub hosts: Vec<(HostSpec, Option<Faults>)>,
    /// Rates: node, own part, with everything below.
    pub rates: Vec<(NodeId, MilliGpus, MilliGpus)>,
    /// Grants: node, own part.
    pub grants: Vec<(NodeId, GpuSeconds)>,
    /// Demand, in the order of submit times.
    pub arrivals: Vec<Arrival>,
    /// When it begins.
    pub began: Timestamp,
    /// For how long it goes on.
    pub span: Seconds,
    /// How much of the beginning is not measured.
    pub warm_up: Seconds,
    /// The seed of host faults.
    pub seed: u64,
}

/// What only the simulated fleet knows about a workload.
struct Work {
    kind: Kind,
    submitted: Timestamp,
    duration: Seconds,
    remaining: Seconds,
    requeued: Option<Timestamp>,
    started: bool,
}

struct World<'a> {
    state: State,
    arrivals: &'a [Arrival],
    next_arrival: usize,
    work: BTreeMap<WorkloadId, Work>,
    ends: BTreeSet<(Timestamp, RunId)>,
    stops: BTreeSet<(Timestamp, RunId, EndCause)>,
    preemptors: BTreeMap<RunId, WorkloadId>,
    faults: BTreeSet<(Timestamp, HostId, HostState)>,
    fates: BTreeMap<HostId, Fate>,
    queued: u64,
    metrics: Metrics,
    log: Log<'a>,
    findings: Vec<String>,
}

/// Runs a simulation to its end. Each line of the event log goes to `log`; `progress` hears of every simulated hour.
///
/// # Errors
/// [`StateError`] when the demand names a node that is not in the organisation, or an id twice.
pub fn run<'a>(
    setup: &'a Setup,
    log: Option<&'a mut dyn FnMut(&str)>,
    progress: &mut dyn FnMut(Seconds),
) -> Result<Report, StateError> {
    let mut world = World::new(setup, log)?;
    let end = setup.began + setup.span;
    let mut last = setup.began;
    while let Some(at) = world.next_instant().filter(|at| *at <= end) {
        world.metrics.pass_time(&world.state, last, at);
        last = at;
        if world.happen(at)? {
            world.pass(at)?;
        }
        if at >= world.metrics.next_hour() {
            progress(at.since(setup.began));
            world.close_hour(at);
        }
    }
    world.metrics.pass_time(&world.state, last, end);
    world.state.advance(end)?;
    Ok(world.close(setup.seed))
}

impl<'a> World<'a> {
    fn new(setup: &'a Setup, log: Option<&'a mut dyn FnMut(&str)>) -> Result<Self, StateError> {
        let hosts = setup.hosts.iter().map(|(spec, _)| spec.clone()).collect();
        let mut state = State::new(setup.rules, &setup.org, hosts, setup.began);
        let mut log = Log::new(setup.began, log);
        log.pool(&state);
        for (node, _, gross) in &setup.rates {
            log.rate(setup.began, node, *gross);
        }
        state.apply(setup.began, Event::Rates(setup.rates.clone()))?;
        state.apply(setup.began, Event::Granted(setup.grants.clone()))?;
        let mut faults = BTreeSet::new();
        let mut fates = BTreeMap::new();
        for (ix, (spec, host_faults)) in setup.hosts.iter().enumerate() {
            let Some(host_faults) = host_faults else { continue };
            let mut fate = Fate::new(*host_faults, setup.seed, ix);
            faults.insert((setup.began + fate.until_fault(), spec.id.clone(), HostState::Down));
            fates.insert(spec.id.clone(), fate);
        }
        let metrics = Metrics::new(&state, setup.began + setup.warm_up);
        Ok(Self {
            state,
            arrivals: &setup.arrivals,
            next_arrival: 0,
            work: BTreeMap::new(),
            ends: BTreeSet::new(),
            stops: BTreeSet::new(),
            preemptors: BTreeMap::new(),
            faults,
            fates,
            queued: 0,
            metrics,
            log,
            findings: Vec::new(),
        })
    }

    fn next_instant(&self) -> Option<Timestamp> {
        let arrival = self
            .arrivals
            .get(self.next_arrival)
            .map(|arrival| arrival.workload.submitted_at);
        let end = self.ends.first().map(|(at, _)| *at);
        let stop = self.stops.first().map(|(at, ..)| *at);
        let fault = self.faults.first().map(|(at, ..)| *at);
        let timer = self.state.next_timer();
        let hour = Some(self.metrics.next_hour());
        [arrival, end, stop, fault, timer, hour]
            .into_iter()
            .flatten()
            .min()
            .map(|at| at.max(self.state.now()))
    }

    /// Everything that happens at an instant; whether any of it calls for a pass.
    fn happen(&mut self, at: Timestamp) -> Result<bool, StateError> {
        let effects = self.state.advance(at)?;
        let mut changed = self.state.next_timer().is_some_and(|timer| timer <= at) || !effects.is_empty();
        self.record(effects);
        while let Some((_, run)) = self.ends.first().copied().filter(|(end, _)| *end <= at) {
            self.end(at, run, EndCause::Finished)?;
            changed = true;
        }
        while let Some((_, run, cause)) = self.stops.first().copied().filter(|(by, ..)| *by <= at) {
            self.end(at, run, cause)?;
            changed = true;
        }
        while let Some((_, host, state)) = self.faults.first().cloned().filter(|(when, ..)| *when <= at) {
            self.faults.pop_first();
            self.host(at, &host, state)?;
            changed = true;
        }
        while let Some(arrival) = self
            .arrivals
            .get(self.next_arrival)
            .filter(|a| a.workload.submitted_at <= at)
        {
            self.next_arrival += 1;
            self.arrive(at, arrival)?;
            changed = true;
        }
        Ok(changed)
    }

    fn arrive(&mut self, at: Timestamp, arrival: &Arrival) -> Result<(), StateError> {
        let id = arrival.workload.id;
        let work = Work {
            kind: arrival.kind,
            submitted: arrival.workload.submitted_at,
            duration: arrival.duration,
            remaining: arrival.duration,
            requeued: None,
            started: false,
        };
        self.log.submit(at, &arrival.workload, arrival.kind);
        self.metrics
            .submitted(arrival.kind, arrival.workload.submitted_at);
        self.work.insert(id, work);
        self.queued += 1;
        let effects = self.state.apply(at, Event::Submitted(arrival.workload.clone()))?;
        self.record(effects);
        Ok(())
    }

    fn host(&mut self, at: Timestamp, host: &HostId, state: HostState) -> Result<(), StateError> {
        self.log.host(at, host, state);
        let effects = self.state.apply(at, Event::Host(host.clone(), state))?;
        self.record(effects);
        if let Some(fate) = self.fates.get_mut(host) {
            let next = match state {
                HostState::Down => (at + fate.repair(), HostState::Up),
                _ => (at + fate.until_fault(), HostState::Down),
            };
            self.faults.insert((next.0, host.clone(), next.1));
        }
        if state == HostState::Down
            && let Some(ix) = self.state.find_host(host)
        {
            let lost: Vec<RunId> = self.state.host(ix).runs.iter().copied().collect();
            for run in lost {
                self.metrics.counts.host_failures += 1;
                self.end(at, run, EndCause::HostFailed)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, at: Timestamp, run: RunId, cause: EndCause) -> Result<(), StateError> {
        let effects = self.state.apply(at, Event::Ended(run, cause))?;
        self.record(effects);
        Ok(())
    }

    fn pass(&mut self, at: Timestamp) -> Result<(), StateError> {
        self.metrics.counts.passes += 1;
        self.metrics.counts.longest_queue = self.metrics.counts.longest_queue.max(self.queued);
        let decisions = decide(&self.state, at);
        self.check(&decisions);
        let effects = self.state.commit(&decisions);
        for promotion in &decisions.promotions {
            self.log.promote(at, promotion.run.0);
        }
        self.note_stops(&decisions);
        self.record(effects);
        while let Some((_, run, cause)) = self.stops.first().copied().filter(|(by, ..)| *by <= at) {
            self.end(at, run, cause)?;
        }
        Ok(())
    }

    /// I-3 at every decision, whatever type proves it.
    fn check(&mut self, decisions: &Decisions) {
        for stop in &decisions.stops {
            let run = self.state.runs().get(&stop.proof.run());
            if let Some(Err(id)) = run.map(|run| audit::was_interruptible(run, decisions.at)) {
                self.findings
                    .push(format!("I-3: {id} was stopped before its protection passed"));
            }
        }
    }

    fn note_stops(&mut self, decisions: &Decisions) {
        for stop in &decisions.stops {
            let run = stop.proof.run();
            let cause = match &stop.cause {
                StopCause::Preemption(why) => {
                    self.preemptors.insert(run, why.preemptor);
                    EndCause::Preempted
                }
                StopCause::Expired => EndCause::Expired,
                StopCause::StartupOver => EndCause::LaunchFailed,
            };
            self.stops.insert((stop.by, run, cause));
        }
    }

    fn record(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Span(span) => {
                    self.metrics
                        .span(span.leaf, span.kind, span.gpus.0, span.from, span.to);
                }
                Effect::Assigned(run) => self.launch(run),
                Effect::RunEnded(run, cause) => self.ended(&run, cause),
                Effect::RunDropped(_) => self.queued += 1,
                Effect::Refund { .. }
                | Effect::RunChanged(_)
                | Effect::WorkloadChanged(_)
                | Effect::WorkloadOver(..) => {}
            }
        }
    }

    /// A run has its GPUs: here it runs at once.
    fn launch(&mut self, id: RunId) {
        let now = self.state.now();
        if let Ok(effects) = self.state.apply(now, Event::Running(id)) {
            debug_assert!(
                effects
                    .iter()
                    .all(|effect| matches!(effect, Effect::RunChanged(_)))
            );
        }
        let Some(run) = self.state.runs().get(&id) else {
            return;
        };
        let Some(work) = self.work.get_mut(&run.workload) else {
            return;
        };
        self.queued -= 1;
        self.metrics.counts.starts += 1;
        if !work.started {
            work.started = true;
            self.metrics.first_start(work.kind, work.submitted, now);
        }
        if let Some(requeued) = work.requeued.take() {
            self.metrics.restart(work.kind, requeued, now);
        }
        self.ends.insert((now + work.remaining, id));
        self.log
            .start(&self.state, run.workload.0, id.0, &run.gpus_on, run.allocated);
    }

    fn ended(&mut self, run: &Run, cause: EndCause) {
        let now = self.state.now();
        let preemptor = self
            .preemptors
            .remove(&run.id)
            .filter(|_| cause == EndCause::Preempted);
        self.log.stop(now, run.id.0, cause, preemptor.map(|id| id.0));
        self.stops.retain(|(_, stopped, _)| *stopped != run.id);
        let Some(work) = self.work.get_mut(&run.workload) else {
            return;
        };
        self.ends
            .remove(&(run.running_since().unwrap_or(now) + work.remaining, run.id));
        let ran = now.since(run.running_since().unwrap_or(now));
        work.remaining = Seconds((work.remaining.0 - ran.0).max(1));
        if cause == EndCause::Preempted {
            self.metrics.counts.preemptions += 1;
            self.metrics.counts.allocated_preemptions += u64::from(run.allocated);
        }
        if self.state.live().contains_key(&run.workload) {
            work.requeued = Some(now);
            self.queued += 1;
            return;
        }
        if cause == EndCause::Finished {
            self.metrics.finished(work.submitted, now, work.duration);
        }
        self.work.remove(&run.workload);
    }

    fn close_hour(&mut self, at: Timestamp) {
        self.metrics.close_hour(&self.state, at);
        self.state.forget();
        if self.findings.is_empty() {
            self.findings = audit::check(&self.state);
        }
    }

    fn unfinished(&self) -> Vec<Unfinished> {
        let now = self.state.now();
        let left = |(id, work): (&WorkloadId, &Work)| {
            let run = self
                .state
                .live()
                .get(id)
                .and_then(|live| self.state.runs().get(&live.run?));
            let ran = run
                .and_then(Run::running_since)
                .map_or(Seconds::ZERO, |since| now.since(since));
            Unfinished {
                workload: *id,
                remaining: Seconds((work.remaining.0 - ran.0).max(1)),
            }
        };
        self.work.iter().map(left).collect()
    }

    fn close(mut self, seed: u64) -> Report {
        let now = self.state.now();
        let open: Vec<_> = self
            .state
            .runs()
            .values()
            .filter_map(|run| Some((run.leaf, run.span?, run.gpus().0)))
            .collect();
        for (leaf, (kind, from), gpus) in open {
            self.metrics.span(leaf, kind, gpus, from, now);
        }
        if now.0 - self.metrics.next_hour().0 + HOUR_S > 0 {
            self.metrics.close_hour(&self.state, now);
        }
        self.findings.extend(audit::check(&self.state));
        self.findings.dedup();
        let unfinished = self.unfinished();
        Report {
            unfinished,
            ..self.metrics.report(&self.state, seed, self.findings)
        }
    }
}
