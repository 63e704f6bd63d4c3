//! The order of the whole queue, and a reason for every wait.
//!
//! Worked out once after a pass, from the same state the pass saw; nothing here changes a decision. The order is
//! the walk of the policy's section 4 as if everything could start, each choice counting before the next is made.
//! A workload at the head of its leaf waits for GPUs or for someone ahead who could use the same GPUs; one further
//! back waits behind its own team. *Source*: policy, sections 4 and 11.

use std::collections::BTreeMap;

use super::contract::{Fallback, HostState, Shape, Topology};
use super::cursor::LeafCursor;
use super::decide::{compare_unallocated, unallocated_used, walk_all};
use super::displace::parting;
use super::place::Room;
use super::reason::{Have, Parting, Reason, UnallocatedOrder};
use super::run::{Phase, Run};
use super::state::{HostIx, Live, State};
use super::tree::LeafIx;
use crate::id::{HostId, WorkloadId};
use crate::standing::Standing;
use crate::units::{GpuSeconds, Gpus, Timestamp};

/// How far back in the order a competitor is looked for.
const LOOK_AHEAD: usize = 64;

/// A waiting workload: its place, the standings that gave it that place, and why it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The workload.
    pub workload: WorkloadId,
    /// The leaf that pays.
    pub leaf: LeafIx,
    /// Standings from below the root to the leaf when its turn came; empty for unallocated and held work.
    pub standings: Vec<Standing>,
    /// Why it waits.
    pub reason: Reason,
    /// A promise, where there is one.
    pub latest_start: Option<Timestamp>,
}

/// Everything that waits, in the order in which the scheduler takes it: what starts when others have left, then
/// allocated work, then unallocated work, then what is held back.
pub fn order(state: &State, now: Timestamp) -> Vec<Entry> {
    let mut found = Explainer::new(state, now);
    found.starting();
    found.allocated();
    found.unallocated();
    found.held();
    found.entries
}

struct Explainer<'a> {
    state: &'a State,
    now: Timestamp,
    room: Room<'a>,
    haves: BTreeMap<Shape, Have>,
    entries: Vec<Entry>,
}

impl<'a> Explainer<'a> {
    fn new(state: &'a State, now: Timestamp) -> Self {
        let room = Room::new(state.hosts(), state.blocks().len());
        Self {
            state,
            now,
            room,
            haves: BTreeMap::new(),
            entries: Vec::new(),
        }
    }

    fn host(&self, ix: HostIx) -> HostId {
        self.state.host(ix).id.clone()
    }

    fn have(&mut self, need: Shape) -> Have {
        let (room, state) = (&self.room, self.state);
        let survey = || {
            let (hosts, most_free, on, free) = room.survey(need.gpus_per_host);
            Have {
                hosts,
                most_free,
                on: on.map(|ix| state.host(ix).id.clone()),
                free: Gpus(free),
            }
        };
        self.haves.entry(need).or_insert_with(survey).clone()
    }

    fn starting(&mut self) {
        for run in self.state.runs().values() {
            let Phase::Waiting { waits_for, by } = &run.phase else {
                continue;
            };
            let reason = Reason::StartingAfterVictims {
                hosts: run.gpus_on.iter().map(|(ix, _)| self.host(*ix)).collect(),
                victims: waits_for.iter().copied().collect(),
                by: *by,
            };
            let (workload, leaf) = (run.workload, run.leaf);
            self.entries.push(Entry {
                workload,
                leaf,
                standings: Vec::new(),
                reason,
                latest_start: Some(*by),
            });
        }
    }

    fn allocated(&mut self) {
        let mut turns: Vec<(LeafIx, WorkloadId, Vec<Standing>)> = Vec::new();
        walk_all(self.state, self.now, |leaf, id, standings| {
            turns.push((leaf, id, standings.iter().skip(1).copied().collect()));
        });
        let mut last_of_leaf: Vec<Option<WorkloadId>> = vec![None; self.state.tree().leaf_count()];
        for at in 0..turns.len() {
            let (leaf, id, ref standings) = turns[at];
            let standings = standings.clone();
            let Some(live) = self.state.live().get(&id) else {
                continue;
            };
            let behind = last_of_leaf[leaf.0].replace(id);
            let reason = self
                .never(live)
                .or_else(|| self.no_funds(live))
                .unwrap_or_else(|| self.wait(live, behind, &turns[at.saturating_sub(LOOK_AHEAD)..=at]));
            self.entries.push(Entry {
                workload: id,
                leaf,
                standings,
                reason,
                latest_start: None,
            });
        }
    }

    /// A shape that the pool could never hold.
    fn never(&self, live: &Live) -> Option<Reason> {
        let need = live.workload.shape;
        let fits = |host: &&super::state::Host| host.all.count_ones() >= need.gpus_per_host;
        let hosts = self.state.hosts().iter().filter(fits).count();
        let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
        (hosts < need.hosts).then_some(Reason::ShapeImpossible { need, hosts })
    }

    fn no_funds(&self, live: &Live) -> Option<Reason> {
        let needed = live.workload.hold(&self.state.rules().limits);
        let left = self.state.funds(live.leaf, self.now);
        (live.workload.fallback == Fallback::Wait && needed > left).then(|| Reason::Funds {
            node: live.workload.charged_to.clone(),
            needed,
            left: left.or_zero(),
        })
    }

    fn wait(
        &mut self,
        live: &Live,
        behind: Option<WorkloadId>,
        turns: &[(LeafIx, WorkloadId, Vec<Standing>)],
    ) -> Reason {
        let need = live.workload.shape;
        let have = self.have(need);
        if let Some(ahead) = behind {
            return Reason::Order {
                need,
                have,
                ahead,
                parting: None,
                unallocated: None,
            };
        }
        if let Some((ahead, parting)) = self.competitor(live, turns) {
            return Reason::Order {
                need,
                have,
                ahead,
                parting: Some(parting),
                unallocated: None,
            };
        }
        if need.hosts > 1 && have.hosts >= need.hosts && need.topology == Topology::SameBlock {
            let free = self.room.fitting_by_block(need.gpus_per_host);
            let blocks = self.state.blocks().iter().cloned().zip(free).collect();
            return Reason::Topology { need, blocks };
        }
        let next = self.next_protection_end(need);
        Reason::ProtectedUntil {
            need,
            have,
            next,
            poorer: self.poorer(live),
        }
    }

    /// The nearest workload ahead, of another leaf, that could use the GPUs this one needs.
    fn competitor(
        &self,
        live: &Live,
        turns: &[(LeafIx, WorkloadId, Vec<Standing>)],
    ) -> Option<(WorkloadId, Parting)> {
        let (mine, earlier) = turns.split_last()?;
        let need = live.workload.shape;
        let usable = |id: &WorkloadId| {
            let shape = self.state.live().get(id).map(|live| live.workload.shape);
            shape.is_some_and(|shape| shape.hosts <= need.hosts && shape.gpus_per_host <= need.gpus_per_host)
        };
        let (leaf, id, theirs) = earlier
            .iter()
            .rev()
            .find(|(leaf, id, _)| *leaf != mine.0 && usable(id))?;
        let (first, second) = self.state.tree().sides(*leaf, mine.0)?;
        let at = |leaf: LeafIx, side, standings: &[Standing]| {
            let depth = self.state.tree().path(leaf).iter().position(|ix| *ix == side)?;
            standings.get(depth.checked_sub(1)?).copied()
        };
        let (first_at, second_at) = (at(*leaf, first, theirs)?, at(mine.0, second, &mine.2)?);
        Some((*id, parting(self.state, first, first_at, second, second_at)))
    }

    /// When the next protection passes on a host that could then hold the shape, and which host that is.
    fn next_protection_end(&self, need: Shape) -> Option<(Timestamp, HostId)> {
        let mut best: Option<(Timestamp, HostIx)> = None;
        for (ix, host) in self.state.hosts().iter().enumerate() {
            if host.state != HostState::Up || host.all.count_ones() < need.gpus_per_host {
                continue;
            }
            let ends = host.runs.iter().filter_map(|run| self.state.runs().get(run));
            let mut ends: Vec<(Timestamp, u32)> = ends
                .map(|run| (self.protection_end(run), gpus_on(run, HostIx(ix))))
                .collect();
            ends.sort_unstable();
            let mut free = host.free.count_ones();
            let reached = ends.into_iter().find(|(_, gpus)| {
                free += gpus;
                free >= need.gpus_per_host
            });
            if let Some((at, _)) = reached.filter(|(at, _)| *at > self.now)
                && best.is_none_or(|(earliest, _)| at < earliest)
            {
                best = Some((at, HostIx(ix)));
            }
        }
        best.map(|(at, ix)| (at, self.host(ix)))
    }

    fn protection_end(&self, run: &Run) -> Timestamp {
        match run.phase {
            Phase::Waiting { by, .. } | Phase::Stopping { by, .. } => by,
            Phase::Starting { .. } => run.held_until.unwrap_or(self.now),
            Phase::Running { .. } => run.protected_until().unwrap_or(self.now).max(self.now),
        }
    }

    /// A side past its protection that stands lower, or not high enough above, and so keeps its GPUs.
    fn poorer(&self, live: &Live) -> Option<Parting> {
        let tree = self.state.tree();
        let margin = self.state.rules().margin_milli;
        let mut expired = self.state.runs().values().filter(|run| {
            run.leaf != live.leaf && run.allocated && self.state.interruptible(run, self.now).is_some()
        });
        expired.find_map(|run| {
            let (mine, theirs) = tree.sides(live.leaf, run.leaf)?;
            let (my_standing, their_standing) = (
                self.state.standing(mine, self.now),
                self.state.standing(theirs, self.now),
            );
            (!their_standing.is_above_by(my_standing, margin))
                .then(|| parting(self.state, theirs, their_standing, mine, my_standing))
        })
    }

    fn unallocated(&mut self) {
        let state = self.state;
        let rate = |leaf: LeafIx| i128::from(state.rate(state.tree().leaf_ix(leaf)).0);
        let mut leaves: Vec<(LeafIx, i128, LeafCursor<'a>)> = Vec::new();
        for leaf in state.tree().leaves() {
            let cursor = LeafCursor::new(state.queue(leaf), |class| !class.allocated);
            if !cursor.is_empty() {
                leaves.push((leaf, unallocated_used(state, leaf, self.now), cursor));
            }
        }
        leaves.sort_by(|a, b| compare_unallocated((a.1, rate(a.0)), (b.1, rate(b.0))).then(a.0.cmp(&b.0)));
        let mut ahead: Option<WorkloadId> = self.entries.last().map(|entry| entry.workload);
        for (leaf, used, mut cursor) in leaves {
            while let Some((class, key)) = cursor.head() {
                cursor.take(class);
                let Some(live) = state.live().get(&key.2) else {
                    continue;
                };
                let node = live.workload.charged_to.clone();
                let used = GpuSeconds(i64::try_from(used).unwrap_or(i64::MAX));
                let reason = self
                    .never(live)
                    .unwrap_or_else(|| self.unallocated_wait(live, ahead, UnallocatedOrder { node, used }));
                ahead = Some(key.2);
                self.entries.push(Entry {
                    workload: key.2,
                    leaf,
                    standings: Vec::new(),
                    reason,
                    latest_start: None,
                });
            }
        }
    }

    fn unallocated_wait(
        &mut self,
        live: &Live,
        ahead: Option<WorkloadId>,
        order: UnallocatedOrder,
    ) -> Reason {
        let need = live.workload.shape;
        let have = self.have(need);
        match ahead {
            Some(ahead) => Reason::Order {
                need,
                have,
                ahead,
                parting: None,
                unallocated: Some(order),
            },
            None => Reason::ProtectedUntil {
                need,
                have,
                next: self.next_protection_end(need),
                poorer: None,
            },
        }
    }

    fn held(&mut self) {
        for (id, live) in self.state.live() {
            let Some(since) = live.held_since else { continue };
            let reason = match live.launch_failures {
                0 => Reason::HeldByUser { since },
                count => Reason::LaunchFailures { count },
            };
            self.entries.push(Entry {
                workload: *id,
                leaf: live.leaf,
                standings: Vec::new(),
                reason,
                latest_start: None,
            });
        }
    }
}

fn gpus_on(run: &Run, host: HostIx) -> u32 {
    run.gpus_on
        .iter()
        .filter(|(ix, _)| *ix == host)
        .map(|(_, mask)| mask.count_ones())
        .sum()
}
