//! Sums kept while a simulation runs.

use std::collections::BTreeMap;

use super::report::{GroupWaits, Report, TeamReport, Waits};
use crate::input::trace::Kind;
use crate::sched::run::SpanKind;
use crate::sched::state::State;
use crate::sched::tree::LeafIx;
use crate::standing::{OwedDelivered, delivered_over_owed};
use crate::units::{Fraction, GpuSeconds, HOUR_S, MilliGpus, Seconds, Timestamp};

/// What a leaf was owed and got.
#[derive(Clone, Copy, Default)]
struct Team {
    sums: OwedDelivered,
    unallocated: i64,
}

impl Team {
    fn ratio(&self) -> Fraction {
        delivered_over_owed([&self.sums])
    }

    fn was_owed(&self) -> bool {
        self.sums.owed() > GpuSeconds::ZERO
    }
}

/// Waits of one kind.
#[derive(Clone, Default)]
struct Group {
    queue: Vec<i64>,
    restart: Vec<i64>,
    submitted: u64,
    started: u64,
}

pub(super) struct Metrics {
    measured_from: Timestamp,
    hour: Timestamp,
    teams: Vec<Team>,
    groups: BTreeMap<Kind, Group>,
    slowdowns: Vec<i64>,
    healthy: i64,
    all: i64,
    pub(super) counts: Counts,
}

/// Plain counters.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) submitted: u64,
    pub(super) starts: u64,
    pub(super) finished: u64,
    pub(super) preemptions: u64,
    pub(super) allocated_preemptions: u64,
    pub(super) host_failures: u64,
    pub(super) longest_queue: u64,
    pub(super) passes: u64,
}

impl Metrics {
    pub(super) fn new(state: &State, measured_from: Timestamp) -> Self {
        Self {
            measured_from,
            hour: state.now(),
            teams: vec![Team::default(); state.tree().leaf_count()],
            groups: BTreeMap::new(),
            slowdowns: Vec::new(),
            healthy: 0,
            all: 0,
            counts: Counts::default(),
        }
    }

    /// The end of the hour that is being counted.
    pub(super) fn next_hour(&self) -> Timestamp {
        self.hour + Seconds(HOUR_S)
    }

    fn measures(&self, at: Timestamp) -> bool {
        at >= self.measured_from
    }

    /// Closes an hour: what each leaf was owed in it and what it was charged.
    pub(super) fn close_hour(&mut self, state: &State, end: Timestamp) {
        let from = self.hour;
        self.hour = end;
        if !self.measures(from) || from == end {
            return;
        }
        for leaf in state.tree().leaves() {
            let ix = state.tree().leaf_ix(leaf);
            let demand = state.demand_between(leaf, from, end);
            let delivered = state.charged_between(ix, from, end);
            let span = end.since(from);
            let rate = MilliGpus(
                i64::try_from(state.rate_over(ix, span, end) / i128::from(span.0)).unwrap_or(i64::MAX),
            );
            self.teams[leaf.0].sums.add(rate, span, demand, delivered);
        }
    }

    /// Counts health over a span in which nothing changed.
    pub(super) fn pass_time(&mut self, state: &State, from: Timestamp, to: Timestamp) {
        let span = to.since(from.max(self.measured_from)).or_zero();
        let all: u32 = state.hosts().iter().map(|host| host.all.count_ones()).sum();
        self.healthy += state.healthy_gpus().over(span).0;
        self.all += i64::from(all) * span.0;
    }

    pub(super) fn span(&mut self, leaf: LeafIx, kind: SpanKind, gpus: u32, from: Timestamp, to: Timestamp) {
        if kind == SpanKind::Unallocated {
            let held = to.since(from.max(self.measured_from)).or_zero();
            self.teams[leaf.0].unallocated += i64::from(gpus) * held.0;
        }
    }

    pub(super) fn submitted(&mut self, kind: Kind, at: Timestamp) {
        self.counts.submitted += 1;
        if self.measures(at) {
            self.groups.entry(kind).or_default().submitted += 1;
        }
    }

    pub(super) fn first_start(&mut self, kind: Kind, submitted: Timestamp, at: Timestamp) {
        if self.measures(submitted) {
            let group = self.groups.entry(kind).or_default();
            group.started += 1;
            group.queue.push(at.since(submitted).0);
        }
    }

    pub(super) fn restart(&mut self, kind: Kind, requeued: Timestamp, at: Timestamp) {
        if self.measures(requeued) {
            self.groups
                .entry(kind)
                .or_default()
                .restart
                .push(at.since(requeued).0);
        }
    }

    pub(super) fn finished(&mut self, submitted: Timestamp, at: Timestamp, ran: Seconds) {
        self.counts.finished += 1;
        if self.measures(submitted) && ran > Seconds::ZERO {
            self.slowdowns.push(at.since(submitted).0 * 1_000 / ran.0);
        }
    }

    pub(super) fn report(self, state: &State, seed: u64, findings: Vec<String>) -> Report {
        let owing: Vec<&Team> = self.teams.iter().filter(|team| team.was_owed()).collect();
        let by_value = |a: &Fraction, b: &Fraction| {
            (i128::from(a.num) * i128::from(b.den)).cmp(&(i128::from(b.num) * i128::from(a.den)))
        };
        let worst = owing.iter().map(|team| team.ratio()).min_by(by_value);
        let well = owing
            .iter()
            .map(|team| team.ratio())
            .filter(|ratio| ratio.num * 100 >= ratio.den * 95)
            .count();
        let fraction = |num: i64, den: i64| Fraction { num, den };
        let held: i64 = self
            .teams
            .iter()
            .map(|team| team.sums.delivered().0 + team.unallocated)
            .sum();
        let unallocated = self.teams.iter().map(|team| team.unallocated).sum();
        let counts = self.counts;
        Report {
            policy: "stint",
            seed,
            measured_s: state.now().since(self.measured_from).0,
            hosts: state.rules().limits.hosts,
            gpus: state.hosts().iter().map(|host| host.all.count_ones()).sum(),
            delivered_over_owed: delivered_over_owed(owing.iter().map(|team| &team.sums)),
            worst_team: worst.unwrap_or(fraction(0, 0)),
            teams_served: (count(well), count(owing.len())),
            occupancy: fraction(held, self.healthy),
            availability: fraction(self.healthy, self.all),
            unallocated_of_held: fraction(unallocated, held),
            submitted: counts.submitted,
            starts: counts.starts,
            finished: counts.finished,
            preemptions: counts.preemptions,
            allocated_preemptions: counts.allocated_preemptions,
            host_failures: counts.host_failures,
            queued_at_end: state.live().values().filter(|live| live.run.is_none()).count() as u64,
            longest_queue: counts.longest_queue,
            passes: counts.passes,
            slowdown_p90_milli: Waits::of(self.slowdowns.clone()).p90_s,
            waits: self.waits(),
            teams: self.team_reports(state),
            unfinished: Vec::new(),
            findings,
        }
    }

    fn waits(&self) -> Vec<GroupWaits> {
        let mut all = Group::default();
        for group in self.groups.values() {
            all.queue.extend(&group.queue);
            all.restart.extend(&group.restart);
            all.submitted += group.submitted;
            all.started += group.started;
        }
        let named = self.groups.iter().map(|(kind, group)| (kind.label(), group));
        let report = |(name, group): (&str, &Group)| GroupWaits {
            group: name.to_owned(),
            queue: Waits::of(group.queue.clone()),
            restart: Waits::of(group.restart.clone()),
            never_started: group.submitted - group.started,
        };
        std::iter::once(("all", &all)).chain(named).map(report).collect()
    }

    fn team_reports(&self, state: &State) -> Vec<TeamReport> {
        let tree = state.tree();
        let used = tree.leaves().filter(|leaf| {
            let team = self.teams[leaf.0];
            team.was_owed() || team.sums.delivered() > GpuSeconds::ZERO || team.unallocated > 0
        });
        let report = |leaf: LeafIx| {
            let team = self.teams[leaf.0];
            TeamReport {
                node: tree.leaf_item(leaf).node.clone(),
                rate_milli_gpus: state.rate(tree.leaf_ix(leaf)).0,
                owed_gpu_seconds: team.sums.owed(),
                delivered_gpu_seconds: team.sums.delivered(),
                unallocated_gpu_seconds: GpuSeconds(team.unallocated),
                delivered_over_owed: team.ratio(),
            }
        };
        used.map(report).collect()
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
