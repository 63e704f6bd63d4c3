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

/// What others have to give to one leaf: who may yield to it, and who of them holds GPUs of which host, cheapest
/// first. It holds until the next decision of the pass.
pub(super) struct Offer<'a> {
    yielding: Vec<Yielding<'a>>,
    on_host: Vec<Vec<(usize, u32)>>,
}

impl<'a> Offer<'a> {
    fn new(hosts: usize, yielding: Vec<Yielding<'a>>) -> Self {
        let mut on_host: Vec<Vec<(usize, u32)>> = vec![Vec::new(); hosts];
        for (ix, victim) in yielding.iter().enumerate() {
            for (host, mask) in &victim.run.gpus_on {
                on_host[host.0].push((ix, mask.count_ones()));
            }
        }
        for runs in &mut on_host {
            runs.sort_by_key(|(ix, _)| (yielding[*ix].cost, yielding[*ix].run.id));
        }
        Self { yielding, on_host }
    }
}

/// Who asks: the leaf, what it needs, whose turn it is.
struct Asker<'a> {
    state: &'a State,
    now: Timestamp,
    standings: &'a [Standing],
    leaf: LeafIx,
    class: Class,
    key: QueueKey,
    offer: &'a Offer<'a>,
}

/// What others have to give to a leaf now, whatever it asks for. Priority within the leaf is looked at apart,
/// because it depends on who asks.
pub(super) fn offer<'a>(
    state: &'a State,
    now: Timestamp,
    standings: &[Standing],
    settled: &BTreeSet<RunId>,
    candidates: &Candidates,
    leaf: LeafIx,
) -> Offer<'a> {
    let runs = state.runs();
    let open = |id: &&RunId| !settled.contains(id);
    let mut yielding: Vec<Yielding<'a>> = Vec::new();
    for run in candidates
        .unallocated
        .iter()
        .filter(open)
        .filter_map(|id| runs.get(id))
    {
        yielding.push(Yielding {
            run,
            rule: Rule::Unallocated,
            cost: (0, run.lost_if_stopped(now), 1),
        });
    }
    if standings[state.tree().leaf_ix(leaf).0].has_claim() {
        let margin = state.rules().margin_milli;
        let stands_above = |other: LeafIx| {
            let sides = state.tree().sides(leaf, other);
            sides.is_some_and(|(mine, theirs)| standings[theirs.0].is_above_by(standings[mine.0], margin))
        };
        let legal: Vec<bool> = state.tree().leaves().map(stands_above).collect();
        let expired = candidates
            .expired
            .iter()
            .filter(|(other, id)| legal[other.0] && !settled.contains(id));
        for run in expired.filter_map(|(_, id)| runs.get(id)) {
            yielding.push(Yielding {
                run,
                rule: Rule::Standing,
                cost: (run.lost_if_stopped(now), 0, 1),
            });
        }
    }
    Offer::new(state.hosts().len(), yielding)
}

/// The same with runs of the leaf itself that a higher priority may displace; `None` when there are none.
pub(super) fn with_priority<'a>(
    state: &'a State,
    now: Timestamp,
    offer: &Offer<'a>,
    settled: &BTreeSet<RunId>,
    candidates: &Candidates,
    leaf: LeafIx,
    priority: i32,
) -> Option<Offer<'a>> {
    let own = candidates
        .expired
        .iter()
        .filter(|(other, id)| *other == leaf && !settled.contains(id));
    let outranked = own.filter_map(|(_, id)| state.runs().get(id)).filter(|run| {
        state
            .live()
            .get(&run.workload)
            .is_some_and(|live| live.workload.priority < priority)
    });
    let mut yielding = offer.yielding.clone();
    yielding.extend(outranked.map(|run| Yielding {
        run,
        rule: Rule::Priority,
        cost: (run.lost_if_stopped(now), 0, 1),
    }));
    (yielding.len() > offer.yielding.len()).then(|| Offer::new(state.hosts().len(), yielding))
}

/// Finds the cheapest start that others make possible, if there is one.
pub(super) fn plan(
    state: &State,
    now: Timestamp,
    room: &Room<'_>,
    standings: &[Standing],
    offer: &Offer<'_>,
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
        offer,
    };
    let chosen = if class.shape.hosts == 1 {
        asker.for_one_host(room)
    } else {
        asker.for_gang(room)
    }?;
    let (victims, placement) = asker.minimal(room, chosen)?;
    let lost: i64 = victims
        .iter()
        .map(|ix| asker.at_stake(&offer.yielding[*ix]))
        .sum();
    if lost > asker.worth() {
        return None;
    }
    let victims = victims
        .into_iter()
        .filter_map(|ix| asker.victim(&offer.yielding[ix]))
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

    /// For each host the cheapest runs that make room there for so many GPUs, and what that costs.
    fn per_host(&self, room: &Room<'_>) -> impl Iterator<Item = Option<(Cost, Vec<usize>)>> {
        let need = self.class.shape.gpus_per_host;
        let hosts = self.offer.on_host.iter().enumerate();
        hosts.map(move |(host, runs)| self.on_host(room, HostIx(host), runs, need))
    }

    fn on_host(
        &self,
        room: &Room<'_>,
        host: HostIx,
        runs: &[(usize, u32)],
        need: u32,
    ) -> Option<(Cost, Vec<usize>)> {
        if !room.takes_work(host) {
            return None;
        }
        let mut have = room.free(host).count_ones();
        if have + runs.iter().map(|(_, gpus)| gpus).sum::<u32>() < need {
            return None;
        }
        let mut chosen: Vec<(usize, u32)> = Vec::new();
        for (ix, gpus) in runs {
            if have >= need {
                break;
            }
            have += gpus;
            chosen.push((*ix, *gpus));
        }
        for at in (0..chosen.len()).rev() {
            if have - chosen[at].1 >= need {
                have -= chosen[at].1;
                chosen.remove(at);
            }
        }
        let chosen: Vec<usize> = chosen.into_iter().map(|(ix, _)| ix).collect();
        Some((self.total(&chosen), chosen))
    }

    fn for_one_host(&self, room: &Room<'_>) -> Option<Vec<usize>> {
        let hosts = self.per_host(room).flatten();
        hosts.min_by_key(|(cost, _)| *cost).map(|(_, victims)| victims)
    }

    fn for_gang(&self, room: &Room<'_>) -> Option<Vec<usize>> {
        let hosts: Vec<Option<(Cost, Vec<usize>)>> = self.per_host(room).collect();
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
        let cheapest = in_one.min_by_key(|victims| self.total(victims));
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

    fn total(&self, victims: &[usize]) -> Cost {
        victims.iter().fold((0, 0, 0), |sum, ix| {
            let cost = self.offer.yielding[*ix].cost;
            (sum.0 + cost.0, sum.1 + cost.1, sum.2 + cost.2)
        })
    }

    /// Drops every victim without which the start fits all the same, dearest first, and places the start in what
    /// the others leave.
    fn minimal(&self, room: &Room<'_>, mut victims: Vec<usize>) -> Option<(Vec<usize>, Placement)> {
        let yielding = &self.offer.yielding;
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
