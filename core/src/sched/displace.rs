//! Who yields.
//!
//! A run may be displaced by an allocated workload when it is unallocated; when its protection has passed and its
//! side stands higher by more than the margin; or, charged to the same node, when its protection has passed and
//! its priority is lower. Victims are chosen by least waste, and the set is minimal: without any one of them the
//! start would not fit. *Source*: policy, section 7.

use std::collections::BTreeSet;

use super::contract::Topology;
use super::decisions::{Stop, StopCause};
use super::place::{Placement, Room, choose_blocks};
use super::reason::{Parting, Preemption, Rule, Side};
use super::run::Run;
use super::state::{Class, HostIx, QueueKey, State};
use super::tree::{LeafIx, TreeIx};
use crate::id::RunId;
use crate::standing::Standing;
use crate::units::{GpuSeconds, Timestamp};

/// Runs that may be stopped at this instant, whoever asks.
pub(super) struct Candidates {
    unallocated: Vec<RunId>,
    expired: Vec<(LeafIx, RunId)>,
}

impl Candidates {
    pub(super) fn new(state: &State, now: Timestamp) -> Self {
        let mut found = Self {
            unallocated: Vec::new(),
            expired: Vec::new(),
        };
        for run in state.runs().values() {
            if state.interruptible(run, now).is_none() {
                continue;
            }
            if run.state(now) == super::contract::WorkloadState::Unallocated || !run.allocated {
                found.unallocated.push(run.id);
            } else {
                found.expired.push((run.leaf, run.id));
            }
        }
        found
    }
}

/// A run that has to leave.
pub(super) struct Victim {
    pub(super) stop: Stop,
}

/// A start and the runs that have to leave for it.
pub(super) struct Plan {
    pub(super) placement: Placement,
    pub(super) victims: Vec<Victim>,
}

/// What stopping a run costs: lost work of allocated runs, of unallocated ones, number of runs.
type Cost = (i64, i64, u32);

#[derive(Clone)]
struct Yielding<'a> {
    run: &'a Run,
    rule: Rule,
    cost: Cost,
}

/// Who asks: the leaf, what it needs, whose turn it is.
struct Asker<'a> {
    state: &'a State,
    now: Timestamp,
    standings: &'a [Standing],
    leaf: LeafIx,
    class: Class,
    key: QueueKey,
}

/// Finds the cheapest start that others make possible, if there is one.
pub(super) fn plan(
    state: &State,
    now: Timestamp,
    room: &Room<'_>,
    standings: &[Standing],
    settled: &BTreeSet<RunId>,
    candidates: &Candidates,
    leaf: LeafIx,
    class: Class,
    key: QueueKey,
) -> Option<Plan> {
    let asker = Asker {
        state,
        now,
        standings,
        leaf,
        class,
        key,
    };
    let yielding = asker.yielding(candidates, settled);
    if yielding.is_empty() {
        return None;
    }
    let chosen = if class.shape.hosts == 1 {
        asker.for_one_host(room, &yielding)
    } else {
        asker.for_gang(room, &yielding)
    }?;
    let (victims, placement) = asker.minimal(room, &yielding, chosen)?;
    let lost: i64 = victims.iter().map(|ix| asker.at_stake(&yielding[*ix])).sum();
    if lost > asker.worth() {
        return None;
    }
    let victims = victims
        .into_iter()
        .filter_map(|ix| asker.victim(&yielding[ix]))
        .collect();
    Some(Plan { placement, victims })
}

impl<'a> Asker<'a> {
    /// What the start is worth in lost work: its hold, growing with its wait. *Source*: policy, section 7.
    fn worth(&self) -> i64 {
        (self.class.hold + self.class.shape.gpus().over(self.now.since(self.key.1).or_zero())).0
    }

    /// What of a victim's lost work weighs against the start: no more than its minimum runtime, the span in which
    /// it said it gets something done. Else whoever never writes a checkpoint could never be displaced.
    fn at_stake(&self, victim: &Yielding<'a>) -> i64 {
        let run = victim.run;
        let min_runtime = self
            .state
            .live()
            .get(&run.workload)
            .map(|live| live.workload.min_runtime);
        victim
            .cost
            .0
            .min(run.gpus().over(min_runtime.unwrap_or_default()).0)
    }

    fn yielding(&self, candidates: &Candidates, settled: &BTreeSet<RunId>) -> Vec<Yielding<'a>> {
        let runs = self.state.runs();
        let mut found: Vec<Yielding<'a>> = Vec::new();
        for run in candidates
            .unallocated
            .iter()
            .filter(|id| !settled.contains(id))
            .filter_map(|id| runs.get(id))
        {
            found.push(Yielding {
                run,
                rule: Rule::Unallocated,
                cost: (0, run.lost_if_stopped(self.now), 1),
            });
        }
        if !self.standings[self.state.tree().leaf_ix(self.leaf).0].has_claim() {
            return found;
        }
        let legal: Vec<bool> = self
            .state
            .tree()
            .leaves()
            .map(|leaf| self.stands_above(leaf))
            .collect();
        for (leaf, id) in candidates.expired.iter().filter(|(_, id)| !settled.contains(id)) {
            let Some(run) = runs.get(id) else { continue };
            let rule = if legal[leaf.0] {
                Rule::Standing
            } else if *leaf == self.leaf && self.outranks(run) {
                Rule::Priority
            } else {
                continue;
            };
            found.push(Yielding {
                run,
                rule,
                cost: (run.lost_if_stopped(self.now), 0, 1),
            });
        }
        found
    }

    /// Whether the side of another leaf stands higher than this one's by more than the margin.
    fn stands_above(&self, other: LeafIx) -> bool {
        self.state
            .tree()
            .sides(self.leaf, other)
            .is_some_and(|(mine, theirs)| {
                self.standings[theirs.0].is_above_by(self.standings[mine.0], self.state.rules().margin_milli)
            })
    }

    fn outranks(&self, run: &Run) -> bool {
        let priority = self
            .state
            .live()
            .get(&run.workload)
            .map(|live| live.workload.priority);
        priority.is_some_and(|priority| self.key.0.0 > priority)
    }

    /// For each host the cheapest runs that make room there for so many GPUs, and what that costs.
    fn per_host(&self, room: &Room<'_>, yielding: &[Yielding<'a>]) -> Vec<Option<(Cost, Vec<usize>)>> {
        let mut on_host: Vec<Vec<(usize, u32)>> = vec![Vec::new(); self.state.hosts().len()];
        for (ix, victim) in yielding.iter().enumerate() {
            for (host, mask) in &victim.run.gpus_on {
                on_host[host.0].push((ix, mask.count_ones()));
            }
        }
        let need = self.class.shape.gpus_per_host;
        on_host
            .into_iter()
            .enumerate()
            .map(|(host, runs)| self.on_host(room, yielding, HostIx(host), runs, need))
            .collect()
    }

    fn on_host(
        &self,
        room: &Room<'_>,
        yielding: &[Yielding<'a>],
        host: HostIx,
        mut runs: Vec<(usize, u32)>,
        need: u32,
    ) -> Option<(Cost, Vec<usize>)> {
        if !room.takes_work(host) {
            return None;
        }
        let mut have = room.free(host).count_ones();
        if have + runs.iter().map(|(_, gpus)| gpus).sum::<u32>() < need {
            return None;
        }
        runs.sort_by_key(|(ix, _)| (yielding[*ix].cost, yielding[*ix].run.id));
        let mut chosen: Vec<(usize, u32)> = Vec::new();
        for (ix, gpus) in runs {
            if have >= need {
                break;
            }
            have += gpus;
            chosen.push((ix, gpus));
        }
        for at in (0..chosen.len()).rev() {
            if have - chosen[at].1 >= need {
                have -= chosen[at].1;
                chosen.remove(at);
            }
        }
        let chosen: Vec<usize> = chosen.into_iter().map(|(ix, _)| ix).collect();
        Some((total(yielding, &chosen), chosen))
    }

    fn for_one_host(&self, room: &Room<'_>, yielding: &[Yielding<'a>]) -> Option<Vec<usize>> {
        let hosts = self.per_host(room, yielding).into_iter().flatten();
        hosts.min_by_key(|(cost, _)| *cost).map(|(_, victims)| victims)
    }

    fn for_gang(&self, room: &Room<'_>, yielding: &[Yielding<'a>]) -> Option<Vec<usize>> {
        let hosts = self.per_host(room, yielding);
        let count = self.class.shape.hosts as usize;
        let mut by_block: Vec<Vec<usize>> = vec![Vec::new(); self.state.blocks().len()];
        for (ix, host) in self
            .state
            .hosts()
            .iter()
            .enumerate()
            .filter(|(ix, _)| hosts[*ix].is_some())
        {
            by_block[host.block].push(ix);
        }
        let cost = |ix: &usize| hosts[*ix].as_ref().map(|(cost, _)| *cost);
        for block in &mut by_block {
            block.sort_by_key(|ix| (cost(ix), *ix));
        }
        let together = |ixs: &[usize]| -> Vec<usize> {
            let victims = ixs
                .iter()
                .filter_map(|ix| hosts[*ix].as_ref())
                .flat_map(|(_, victims)| victims);
            victims
                .copied()
                .collect::<BTreeSet<usize>>()
                .into_iter()
                .collect()
        };
        let in_one = by_block
            .iter()
            .filter(|block| block.len() >= count)
            .map(|block| together(&block[..count]));
        let cheapest = in_one.min_by_key(|victims| total(yielding, victims));
        if cheapest.is_some() || self.class.shape.topology == Topology::SameBlock {
            return cheapest;
        }
        let chosen = choose_blocks(&by_block, count, Topology::Anywhere)?;
        let hosts: Vec<usize> = chosen
            .iter()
            .flat_map(|(block, take)| by_block[*block].iter().take(*take).copied())
            .collect();
        Some(together(&hosts))
    }

    /// Drops every victim without which the start fits all the same, dearest first, and places the start in what
    /// the others leave.
    fn minimal(
        &self,
        room: &Room<'_>,
        yielding: &[Yielding<'a>],
        mut victims: Vec<usize>,
    ) -> Option<(Vec<usize>, Placement)> {
        let placed = |victims: &[usize]| {
            let mut without = room.clone();
            for ix in victims {
                without.give(&yielding[*ix].run.gpus_on);
            }
            without.place(self.class.shape)
        };
        let mut placement = placed(&victims)?;
        victims.sort_by_key(|ix| (yielding[*ix].cost, yielding[*ix].run.id));
        for at in (0..victims.len()).rev() {
            if victims.len() == 1 {
                break;
            }
            let mut fewer = victims.clone();
            fewer.remove(at);
            if let Some(found) = placed(&fewer) {
                victims = fewer;
                placement = found;
            }
        }
        Some((victims, placement))
    }

    fn victim(&self, yielding: &Yielding<'a>) -> Option<Victim> {
        let run = yielding.run;
        let proof = self.state.interruptible(run, self.now)?;
        let grace = self
            .state
            .live()
            .get(&run.workload)
            .map(|live| live.workload.grace)
            .unwrap_or_default();
        let preemption = Preemption {
            preemptor: self.key.2,
            rule: yielding.rule,
            parting: self.parting(run.leaf),
            margin_milli: self.state.rules().margin_milli,
            ran: self.now.since(run.running_since().unwrap_or(self.now)),
            lost: GpuSeconds(run.lost_if_stopped(self.now)),
        };
        let cause = StopCause::Preemption(Box::new(preemption));
        Some(Victim {
            stop: Stop {
                proof,
                cause,
                by: self.now + grace,
            },
        })
    }

    fn parting(&self, victim: LeafIx) -> Option<Parting> {
        let (mine, theirs) = self.state.tree().sides(self.leaf, victim)?;
        Some(parting(
            self.state,
            mine,
            self.standings[mine.0],
            theirs,
            self.standings[theirs.0],
        ))
    }
}

/// The level where two paths part, with both sides' standings.
pub(super) fn parting(
    state: &State,
    first: TreeIx,
    first_at: Standing,
    second: TreeIx,
    second_at: Standing,
) -> Parting {
    let tree = state.tree();
    let side = |ix: TreeIx, standing: Standing| {
        let item = tree.item(ix);
        Side {
            node: item.node.clone(),
            name: item.name.clone(),
            standing,
        }
    };
    let under = tree
        .item(first)
        .parent
        .map(|parent| tree.item(parent).name.clone())
        .unwrap_or_default();
    Parting {
        under,
        first: side(first, first_at),
        second: side(second, second_at),
    }
}

fn total(yielding: &[Yielding<'_>], victims: &[usize]) -> Cost {
    victims.iter().fold((0, 0, 0), |sum, ix| {
        let cost = yielding[*ix].cost;
        (sum.0 + cost.0, sum.1 + cost.1, sum.2 + cost.2)
    })
}
