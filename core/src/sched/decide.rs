//! One pass: state in, decisions out.
//!
//! 1. [`Pass::expire`]: runs that asked to be stopped after protection, and starts that took too long.
//! 2. [`Pass::walk`]: from the root, the child with the lowest standing that has queued work, down to a leaf; its
//!    head is placed, or displaces others, or its class is set aside for the rest of the pass.
//! 3. [`Pass::promote`]: runs that went free for lack of funds become protected where they are.
//! 4. [`Pass::fill`]: unallocated work takes what is left.
//!
//! *Source*: policy, section 5. Each loop uses up a start or a class, so a pass ends.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

use super::contract::{Fallback, Shape, Then};
use super::cursor::LeafCursor;
use super::decisions::{Decisions, Promotion, Start, Stop, StopCause};
use super::displace::{self, Candidates, Offer, Plan};
use super::place::{Placement, Room};
use super::run::{Phase, SpanKind};
use super::state::{Class, HostIx, QueueKey, State, queue_key};
use super::tree::{LeafIx, TreeIx};
use crate::id::{RunId, WorkloadId};
use crate::standing::{Candidate, Standing, compare};
use crate::units::{GpuSeconds, Seconds, Timestamp};

/// What an unallocated start counts against its leaf for the rest of the pass, per GPU, so that one leaf doesn't
/// take everything that came free at once.
const NOMINAL_UNALLOCATED: Seconds = Seconds::from_hours(1);

/// Decides what happens next. The same state and instant give the same decisions.
pub fn decide(state: &State, now: Timestamp) -> Decisions {
    let mut pass = Pass::new(state, now);
    pass.expire();
    pass.walk();
    pass.promote();
    pass.fill();
    pass.decisions
}

/// A pass in progress: the state as it is, and what the decisions so far make of it.
pub(super) struct Pass<'a> {
    pub(super) state: &'a State,
    pub(super) now: Timestamp,
    pub(super) room: Room<'a>,
    /// Standings with the holds of what was chosen in this pass, by position in the tree.
    pub(super) standings: Vec<Standing>,
    /// Runs about which this pass has decided: told to stop, or promoted.
    settled: BTreeSet<RunId>,
    /// Runs that went free for lack of funds, by leaf, in the order of the leaf's queue.
    promotable: Vec<VecDeque<(QueueKey, RunId, GpuSeconds)>>,
    funds: Vec<GpuSeconds>,
    leaving: Vec<(HostIx, u64, RunId, Timestamp)>,
    candidates: Option<Candidates>,
    /// What others have to give to each leaf, until the next decision.
    offers: Vec<Option<Offer<'a>>>,
    /// Shapes without a free placement for the rest of the pass: room only shrinks, but for what victims leave over.
    no_room: BTreeSet<Shape>,
    /// Classes whose funds don't suffice and that may run free.
    unfunded: Vec<(LeafIx, Class)>,
    decisions: Decisions,
    next_run: u64,
}

impl<'a> Pass<'a> {
    pub(super) fn new(state: &'a State, now: Timestamp) -> Self {
        let tree = state.tree();
        Self {
            state,
            now,
            room: Room::new(state.hosts(), state.blocks().len()),
            standings: (0..tree.items().len())
                .map(|ix| state.standing(TreeIx(ix), now))
                .collect(),
            settled: BTreeSet::new(),
            promotable: promotable(state),
            funds: tree.leaves().map(|leaf| state.funds(leaf, now)).collect(),
            leaving: Vec::new(),
            candidates: None,
            offers: tree.leaves().map(|_| None).collect(),
            no_room: BTreeSet::new(),
            unfunded: Vec::new(),
            decisions: Decisions {
                at: now,
                ..Decisions::default()
            },
            next_run: state.next_run(),
        }
    }

    fn expire(&mut self) {
        for run in self.state.runs().values() {
            let startup = self.state.rules().limits.startup_allowance;
            let cause = match run.phase {
                Phase::Starting { assigned } if assigned + startup <= self.now => StopCause::StartupOver,
                Phase::Running { .. } if run.allocated && run.then == Then::Stop => StopCause::Expired,
                _ => continue,
            };
            let Some(proof) = self.state.interruptible(run, self.now) else {
                continue;
            };
            let grace = self
                .state
                .live()
                .get(&run.workload)
                .map(|live| live.workload.grace);
            self.decisions.stops.push(Stop {
                proof,
                cause,
                by: self.now + grace.unwrap_or_default(),
            });
            self.settled.insert(run.id);
        }
    }

    fn walk(&mut self) {
        let mut cursors: Vec<LeafCursor<'a>> = self
            .state
            .tree()
            .leaves()
            .map(|leaf| LeafCursor::new(self.state.queue(leaf), |c| c.allocated))
            .collect();
        let mut demand = Demand::new(self.state, &cursors);
        while let Some(leaf) = self.next_leaf(&demand, &cursors) {
            let cursor = &mut cursors[leaf.0];
            let Some((class, key)) = cursor.head() else { break };
            if self.promote_before(leaf, Some(key)) {
                continue;
            }
            if class.hold > self.funds[leaf.0] {
                if class.fallback == Fallback::Unallocated {
                    self.unfunded.push((leaf, class));
                }
                cursor.drop_class(class);
            } else if self.start(leaf, class, key) {
                cursor.take(class);
            } else {
                cursor.drop_class(class);
            }
            if cursors[leaf.0].is_empty() {
                demand.leave(self.state, leaf);
            }
        }
    }

    /// The leaf whose turn it is: depth first, lowest standing first.
    fn next_leaf(&self, demand: &Demand, cursors: &[LeafCursor<'a>]) -> Option<LeafIx> {
        let tree = self.state.tree();
        let mut at = TreeIx(0);
        if !demand.has(at) {
            return None;
        }
        loop {
            if let Some(leaf) = tree.item(at).leaf {
                return Some(leaf);
            }
            at = self.first_child(at, demand, cursors)?;
        }
    }

    fn first_child(&self, at: TreeIx, demand: &Demand, cursors: &[LeafCursor<'a>]) -> Option<TreeIx> {
        let children = self
            .state
            .tree()
            .item(at)
            .children
            .iter()
            .copied()
            .filter(|child| demand.has(*child));
        children.reduce(
            |best, child| match self.compare_siblings(best, child, demand, cursors) {
                Ordering::Greater => child,
                Ordering::Less | Ordering::Equal => best,
            },
        )
    }

    /// The order of two siblings; who heads them is looked up only when standings and shortfalls are equal.
    fn compare_siblings(
        &self,
        a: TreeIx,
        b: TreeIx,
        demand: &Demand,
        cursors: &[LeafCursor<'a>],
    ) -> Ordering {
        let plain = |ix: TreeIx| Candidate {
            standing: self.standings[ix.0],
            head_submitted: Timestamp(0),
            id: 0,
        };
        compare(&plain(a), &plain(b)).then_with(|| {
            let full = |ix: TreeIx| Candidate {
                standing: self.standings[ix.0],
                head_submitted: self.head_submitted(ix, demand, cursors),
                id: &self.state.tree().item(ix).node,
            };
            compare(&full(a), &full(b))
        })
    }

    fn head_submitted(&self, mut at: TreeIx, demand: &Demand, cursors: &[LeafCursor<'a>]) -> Timestamp {
        loop {
            if let Some(leaf) = self.state.tree().item(at).leaf {
                return cursors[leaf.0]
                    .head()
                    .map_or(Timestamp(i64::MAX), |(_, key)| key.1);
            }
            match self.first_child(at, demand, cursors) {
                Some(child) => at = child,
                None => return Timestamp(i64::MAX),
            }
        }
    }

    /// Places a workload, in what is free or in what others have to give.
    fn start(&mut self, leaf: LeafIx, class: Class, key: QueueKey) -> bool {
        if let Some(placement) = self.free_placement(class.shape) {
            self.commit_start(leaf, class, key.2, &placement, true);
            return true;
        }
        let Some(plan) = self.displacement(leaf, class, key) else {
            return false;
        };
        for victim in plan.victims {
            let Some(run) = self.state.runs().get(&victim.stop.proof.run()) else {
                continue;
            };
            self.room.give(&run.gpus_on);
            self.leaving.extend(
                run.gpus_on
                    .iter()
                    .map(|(ix, mask)| (*ix, *mask, run.id, victim.stop.by)),
            );
            self.settled.insert(run.id);
            self.decisions.stops.push(victim.stop);
        }
        self.no_room.clear();
        self.commit_start(leaf, class, key.2, &plan.placement, true);
        true
    }

    /// What others could give up for this start, by what they may yield to its leaf.
    fn displacement(&mut self, leaf: LeafIx, class: Class, key: QueueKey) -> Option<Plan> {
        let (state, now) = (self.state, self.now);
        let candidates = self.candidates.get_or_insert_with(|| Candidates::new(state, now));
        let (standings, settled) = (&self.standings, &self.settled);
        let offer = self.offers[leaf.0]
            .get_or_insert_with(|| displace::offer(state, now, standings, settled, candidates, leaf));
        let priority = key.0.0;
        let wider = displace::with_priority(state, now, offer, settled, candidates, leaf, priority);
        displace::plan(
            state,
            now,
            &self.room,
            standings,
            wider.as_ref().unwrap_or(offer),
            leaf,
            class,
            key,
        )
    }

    fn free_placement(&mut self, shape: Shape) -> Option<Placement> {
        if self.no_room.contains(&shape) {
            return None;
        }
        let placement = self.room.place(shape);
        if placement.is_none() {
            self.no_room.insert(shape);
        }
        placement
    }

    fn commit_start(
        &mut self,
        leaf: LeafIx,
        class: Class,
        workload: WorkloadId,
        placement: &Placement,
        allocated: bool,
    ) {
        self.room.take(placement);
        let (waits_for, by) = self.pinned(placement);
        let path = self.state.tree().path(leaf);
        let standings = path.iter().map(|ix| (*ix, self.standings[ix.0])).collect();
        let hold = if allocated { class.hold } else { GpuSeconds::ZERO };
        let run = RunId(self.next_run);
        self.next_run += 1;
        self.decisions.starts.push(Start {
            workload,
            run,
            gpus_on: placement.clone(),
            allocated,
            hold,
            waits_for: waits_for.into_iter().collect(),
            by,
            standings,
        });
        self.hold(leaf, hold);
    }

    /// A choice counts at once, along the whole path.
    fn hold(&mut self, leaf: LeafIx, hold: GpuSeconds) {
        self.funds[leaf.0] -= hold;
        self.offers.fill_with(|| None);
        for ix in self.state.tree().path(leaf) {
            let standing = self.standings[ix.0];
            self.standings[ix.0] = standing.with_hold(self.state.rules().look_back, i128::from(hold.0));
        }
    }

    /// The runs that hold GPUs of a placement and are leaving, and when the last of them is gone.
    fn pinned(&self, placement: &Placement) -> (BTreeSet<RunId>, Timestamp) {
        let mut waits_for = BTreeSet::new();
        let mut by = self.now;
        for (host, mask) in placement {
            for (_, _, run, gone) in self
                .leaving
                .iter()
                .filter(|(ix, held, ..)| ix == host && held & mask != 0)
            {
                waits_for.insert(*run);
                by = by.max(*gone);
            }
        }
        (waits_for, by)
    }

    /// Promotes what remains, leaf by leaf in the order of their standings.
    fn promote(&mut self) {
        let tree = self.state.tree();
        let mut leaves: Vec<LeafIx> = tree
            .leaves()
            .filter(|leaf| !self.promotable[leaf.0].is_empty())
            .collect();
        leaves.sort_by(|a, b| {
            let standing = |leaf: &LeafIx| self.standings[tree.leaf_ix(*leaf).0];
            standing(a).cmp_value(standing(b)).then(a.cmp(b))
        });
        for leaf in leaves {
            while self.promote_before(leaf, None) {}
        }
    }

    /// A leaf's turn promotes its own free runs first, where they come before what is queued. Says whether one was.
    fn promote_before(&mut self, leaf: LeafIx, head: Option<QueueKey>) -> bool {
        let has_claim = self.standings[self.state.tree().leaf_ix(leaf).0].has_claim();
        let first = self.promotable[leaf.0].front().copied();
        let Some((_, run, hold)) = first.filter(|(key, _, hold)| {
            has_claim && *hold <= self.funds[leaf.0] && head.is_none_or(|head| *key < head)
        }) else {
            return false;
        };
        self.promotable[leaf.0].pop_front();
        if self.settled.insert(run) {
            self.decisions.promotions.push(Promotion { run, hold });
            self.hold(leaf, hold);
        }
        true
    }

    fn fill(&mut self) {
        let state = self.state;
        let unfunded = std::mem::take(&mut self.unfunded);
        let started: BTreeSet<WorkloadId> =
            self.decisions.starts.iter().map(|start| start.workload).collect();
        let mut cursors: Vec<(LeafIx, LeafCursor<'a>, i128)> = Vec::new();
        for leaf in state.tree().leaves() {
            let may = |class: &Class| !class.allocated || unfunded.contains(&(leaf, *class));
            let cursor = LeafCursor::new(state.queue(leaf), may);
            if !cursor.is_empty() {
                cursors.push((leaf, cursor, unallocated_used(state, leaf, self.now)));
            }
        }
        while let Some(ix) =
            (0..cursors.len()).min_by(|a, b| self.compare_unallocated(&cursors[*a], &cursors[*b]))
        {
            let (leaf, cursor, used) = &mut cursors[ix];
            let Some((class, key)) = cursor.head() else {
                cursors.swap_remove(ix);
                continue;
            };
            if started.contains(&key.2) {
                cursor.take(class);
                continue;
            }
            match self.free_placement(class.shape) {
                Some(placement) => {
                    cursor.take(class);
                    *used += i128::from(class.shape.gpus().over(NOMINAL_UNALLOCATED).0);
                    let leaf = *leaf;
                    self.commit_start(leaf, class, key.2, &placement, false);
                }
                None => cursor.drop_class(class),
            }
        }
    }

    /// Least unallocated time per rate first; without a rate last, by use.
    fn compare_unallocated(
        &self,
        a: &(LeafIx, LeafCursor<'a>, i128),
        b: &(LeafIx, LeafCursor<'a>, i128),
    ) -> Ordering {
        let rate = |leaf: LeafIx| i128::from(self.state.rate(self.state.tree().leaf_ix(leaf)).0);
        let head = |cursor: &LeafCursor<'a>| cursor.head().map(|(_, (_, submitted, id))| (submitted, id));
        compare_unallocated((a.2, rate(a.0)), (b.2, rate(b.0))).then_with(|| head(&a.1).cmp(&head(&b.1)))
    }
}

/// Running workloads that are to be protected, and went free because their node had no funds when they started.
fn promotable(state: &State) -> Vec<VecDeque<(QueueKey, RunId, GpuSeconds)>> {
    let mut found: Vec<VecDeque<(QueueKey, RunId, GpuSeconds)>> =
        vec![VecDeque::new(); state.tree().leaf_count()];
    for run in state.runs().values() {
        let free = matches!(run.span, Some((SpanKind::Unallocated, _)));
        if run.allocated || !free || !matches!(run.phase, Phase::Running { .. }) {
            continue;
        }
        if let Some(live) = state
            .live()
            .get(&run.workload)
            .filter(|live| live.workload.is_allocated())
        {
            let hold = run.gpus().over(live.workload.min_runtime);
            found[run.leaf.0].push_back((queue_key(&live.workload), run.id, hold));
        }
    }
    for leaf in &mut found {
        leaf.make_contiguous().sort_unstable();
    }
    found
}

/// Unallocated time per rate, least first; without a rate last, by use. Each side is (used, rate).
pub(super) fn compare_unallocated(a: (i128, i128), b: (i128, i128)) -> Ordering {
    match (a.1 > 0, b.1 > 0) {
        (true, true) => (a.0 * b.1).cmp(&(b.0 * a.1)),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.0.cmp(&b.0),
    }
}

/// Unallocated time of a leaf in the look-back.
pub(super) fn unallocated_used(state: &State, leaf: LeafIx, now: Timestamp) -> i128 {
    let window = state.rules().look_back.span();
    i128::from(state.unallocated_over(state.tree().leaf_ix(leaf), window, now).0)
}

/// How many leaves with queued work each branch has below it.
pub(super) struct Demand(Vec<u32>);

impl Demand {
    pub(super) fn new(state: &State, cursors: &[LeafCursor<'_>]) -> Self {
        let mut counts = vec![0; state.tree().items().len()];
        for leaf in state.tree().leaves().filter(|leaf| !cursors[leaf.0].is_empty()) {
            for ix in state.tree().path(leaf) {
                counts[ix.0] += 1;
            }
        }
        Self(counts)
    }

    fn has(&self, ix: TreeIx) -> bool {
        self.0[ix.0] > 0
    }

    pub(super) fn leave(&mut self, state: &State, leaf: LeafIx) {
        for ix in state.tree().path(leaf) {
            self.0[ix.0] -= 1;
        }
    }
}

/// The walk over the whole queue as if everything could start: the order that people see.
/// Calls `visit` with each workload, the leaf and the standings along its path when its turn comes.
pub(super) fn walk_all(
    state: &State,
    now: Timestamp,
    mut visit: impl FnMut(LeafIx, WorkloadId, &[Standing]),
) {
    let mut pass = Pass::new(state, now);
    let mut cursors: Vec<LeafCursor<'_>> = state
        .tree()
        .leaves()
        .map(|leaf| LeafCursor::new(state.queue(leaf), |class| class.allocated))
        .collect();
    let mut demand = Demand::new(state, &cursors);
    let mut path_standings: Vec<Standing> = Vec::new();
    while let Some(leaf) = pass.next_leaf(&demand, &cursors) {
        let Some((class, key)) = cursors[leaf.0].head() else {
            break;
        };
        cursors[leaf.0].take(class);
        if cursors[leaf.0].is_empty() {
            demand.leave(state, leaf);
        }
        path_standings.clear();
        path_standings.extend(state.tree().path(leaf).iter().map(|ix| pass.standings[ix.0]));
        visit(leaf, key.2, &path_standings);
        pass.hold(leaf, class.hold);
    }
}
