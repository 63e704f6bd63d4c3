//! Fair share as it stands: what each node is due, what it got, and the number that sorts the queue.

use stint_core::api::Problem;
use stint_core::api::session::Me;
use stint_core::api::standing::{StandingQuery, StandingRow, StandingView};
use stint_core::authz::Action;
use stint_core::org::{NodeIx, Org};
use stint_core::sched::state::State;
use stint_core::sched::tree::TreeIx;
use stint_core::standing::{Candidate, OwedDelivered, compare, delivered_over_owed};
use stint_core::units::{Fraction, GpuSeconds, Timestamp};

use super::access::Access;
use super::ground::Ground;
use super::org::count;
use super::{Caller, Moment, Service};
use crate::engine::published::Published;

/// Milli-GPU in a GPU.
const MILLI: i64 = 1_000;
/// A team is served when it got this much of what it was owed, in percent.
const SERVED_PERCENT: i128 = 95;

impl Service {
    /// Fair share in a pool, parents before children, siblings in the order of their standing.
    pub async fn standing(&self, caller: &Caller, query: &StandingQuery) -> Result<StandingView, Problem> {
        let me = caller.person()?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let org = &ground.organisation.org;
        Access::new(org, me).check_anywhere(Action::SeeStanding)?;
        let pool = ground.pool(query.pool.as_ref())?;
        let top = match &query.node {
            Some(node) => ground.node("node", node)?,
            None => org.root(),
        };
        let view = self.published(&pool.id)?;
        let moment = Moment {
            now: view.at,
            ..ground.moment.clone()
        };
        let tally = Tally::new(&ground, &view, pool.gpus, Some(me));
        let rules = view.state.rules();
        let mut rows = Vec::with_capacity(org.len());
        tally.descend(top, &mut rows);
        Ok(StandingView {
            as_of: moment.as_of(),
            pool: pool.id.clone(),
            window_s: rules.look_back.span().0,
            covered_s: view.deliveries().covered.0,
            horizon_s: rules.limits.cap.0,
            gpus: pool.gpus,
            rows,
            delivered_over_owed: view.deliveries().ratio(),
            teams_served: teams_served(&view.deliveries().leaves),
        })
    }
}

/// Teams that got at least 95 % of what they were owed, and how many were owed anything.
fn teams_served(leaves: &[OwedDelivered]) -> (u32, u32) {
    let owing = leaves.iter().filter(|leaf| leaf.owed() > GpuSeconds::ZERO);
    let served = |leaf: &&OwedDelivered| {
        100 * i128::from(leaf.delivered().0) >= SERVED_PERCENT * i128::from(leaf.owed().0)
    };
    (count(owing.clone().filter(served).count()), count(owing.count()))
}

/// Queued workloads below a node, and when the first of them was submitted.
#[derive(Clone, Copy)]
struct Demand {
    queued: u32,
    first: Timestamp,
}

/// What is known of every node of the organisation.
pub(super) struct Tally<'a> {
    ground: &'a Ground,
    view: &'a Published,
    gpus: u32,
    me: Option<&'a Me>,
    demand: Vec<Demand>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(ground: &'a Ground, view: &'a Published, gpus: u32, me: Option<&'a Me>) -> Self {
        let state = &view.state;
        let none = Demand {
            queued: 0,
            first: Timestamp(i64::MAX),
        };
        let mut demand = vec![none; state.tree().items().len()];
        for entry in &view.order {
            let submitted = state
                .live()
                .get(&entry.workload)
                .map(|live| live.workload.submitted_at);
            for ix in state.tree().path(entry.leaf) {
                let below = &mut demand[ix.0];
                below.queued += 1;
                below.first = below.first.min(submitted.unwrap_or(none.first));
            }
        }
        Self {
            ground,
            view,
            gpus,
            me,
            demand,
        }
    }

    fn org(&self) -> &Org {
        &self.ground.organisation.org
    }

    fn state(&self) -> &State {
        &self.view.state
    }

    fn item(&self, ix: NodeIx) -> Option<TreeIx> {
        self.state().tree().gross(&self.org().node(ix).id)
    }

    /// The node and everything below it, siblings in order.
    fn descend(&self, top: NodeIx, rows: &mut Vec<StandingRow>) {
        let siblings = match self.org().parent(top) {
            Some(parent) => self.ordered(self.org().children(parent)),
            None => vec![top],
        };
        let mut stack: Vec<(NodeIx, u32, u32)> = Vec::new();
        if let Some(at) = siblings.iter().position(|ix| *ix == top) {
            stack.push((top, count(at + 1), count(siblings.len())));
        }
        while let Some((ix, rank, of)) = stack.pop() {
            rows.extend(self.row(ix, rank, of));
            let children = self.ordered(self.org().children(ix));
            let of = count(children.len());
            let ranked = (1..).zip(children);
            stack.extend(
                ranked
                    .map(|(rank, child)| (child, rank, of))
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev(),
            );
        }
    }

    /// Siblings in the order in which the walk would take them.
    fn ordered(&self, siblings: &[NodeIx]) -> Vec<NodeIx> {
        let mut candidates: Vec<Candidate<NodeIx>> = siblings
            .iter()
            .filter_map(|ix| {
                let item = self.item(*ix)?;
                Some(Candidate {
                    standing: self.state().standing(item, self.view.at),
                    head_submitted: self.demand[item.0].first,
                    id: *ix,
                })
            })
            .collect();
        candidates.sort_by(compare);
        candidates.into_iter().map(|candidate| candidate.id).collect()
    }

    /// One node, with its place among its siblings.
    pub(super) fn row(&self, ix: NodeIx, rank: u32, of: u32) -> Option<StandingRow> {
        let item = self.item(ix)?;
        let (org, state, at) = (self.org(), self.state(), self.view.at);
        let node = org.node(ix);
        let window = state.rules().look_back.span();
        let rate = state.rate(item);
        let standing = state.standing(item, at);
        let leaves = self.leaves_below(ix);
        let owed = leaves.iter().map(|leaf| leaf.owed()).sum();
        Some(StandingRow {
            node: node.id.clone(),
            parent: node.parent.clone(),
            name: node.name.clone(),
            kind: node.kind,
            depth: count(org.depth(ix)),
            hue: self.ground.organisation.hue(&node.id),
            share: Fraction {
                num: rate.0,
                den: i64::from(self.gpus) * MILLI,
            },
            rate_milli_gpus: rate,
            owed_gpu_seconds: owed,
            delivered_gpu_seconds: state.charged_over(item, window, at),
            held_gpu_seconds: state.held(item, at),
            allocated_gpu_seconds: whole(state.rate_over(item, window, at) / i128::from(MILLI)),
            delivered_over_owed: delivered_over_owed(leaves),
            standing: standing.fraction(),
            standing_text: standing.text(),
            rank,
            of,
            queued: self.demand[item.0].queued,
            held_gpus: u32::try_from(state.charged_gpus(item) + state.unallocated_gpus(item)).unwrap_or(0),
            mine: self
                .me
                .is_some_and(|me| me.roles.iter().any(|grant| grant.node == node.id)),
        })
    }

    /// What the leaves of a subtree were owed and got: its nodes, and the own parts of those with children.
    fn leaves_below(&self, ix: NodeIx) -> Vec<&OwedDelivered> {
        let tree = self.state().tree();
        let nodes = &self.org().nodes()[self.org().subtree(ix)];
        let leaves = nodes.iter().filter_map(|node| tree.charged_to(&node.id));
        leaves
            .filter_map(|leaf| self.view.deliveries().leaves.get(leaf.0))
            .collect()
    }
}

fn whole(amount: i128) -> GpuSeconds {
    GpuSeconds(i64::try_from(amount).unwrap_or(i64::MAX))
}
