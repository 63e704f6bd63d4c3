//! The budgets of one period and pool, node by node.

use std::collections::BTreeMap;

use stint_core::api::Problem;
use stint_core::api::budgets::{BudgetRow, BudgetTree};
use stint_core::authz::Action;
use stint_core::id::{NodeId, PeriodId, PoolId};
use stint_core::ledger::{Book, Period, Row, Used, UsedByNode};
use stint_core::org::{NodeIx, Org};
use stint_core::units::{DAY_S, Fraction, GpuSeconds, HOUR_S, Seconds, Timestamp};

use super::access::Access;
use super::ground::Ground;
use super::org::count;
use super::session::period_option;
use super::{Caller, Service};
use crate::store::pools::PoolRow;
use crate::store::{Connection, StoreError, ledger};

/// The pace of this many days is carried on in a forecast; with less history there is none.
const PACE: Seconds = Seconds(7 * DAY_S);

/// Everything about the budgets of one pool and period at an instant.
pub(super) struct Budgets<'g> {
    pub(super) pool: &'g PoolRow,
    pub(super) period: &'g Period,
    pub(super) book: Book<'g>,
    pub(super) used: UsedByNode,
}

impl<'g> Budgets<'g> {
    /// Loads them.
    pub(super) async fn load(
        db: &mut Connection,
        ground: &'g Ground,
        period: &PeriodId,
        pool: Option<&PoolId>,
    ) -> Result<Self, Problem> {
        let period = ground.period(period)?;
        let pool = ground.pool(pool)?;
        let balances = ledger::balances(db, &pool.id, &period.id).await?;
        let capacity = Ground::capacity(pool, period);
        let org = &ground.organisation.org;
        let book = Book::load(org, period.clone(), capacity, &balances).map_err(|source| {
            Problem::from(StoreError::Unreadable {
                what: "balances",
                source: source.into(),
            })
        })?;
        let used = ledger::used(db, &pool.id, period, ground.moment.now).await?;
        Ok(Self {
            pool,
            period,
            book,
            used,
        })
    }

    /// The sum over a subtree of what work used of own parts.
    fn used_below(&self, org: &Org, ix: NodeIx) -> Used {
        let mut sum = Used::default();
        for node in &org.nodes()[org.subtree(ix)] {
            if let Some(used) = self.used.get(&node.id) {
                sum.charged += used.charged;
                sum.held += used.held;
            }
        }
        sum
    }

    /// How often the grant of a node or anything below it changed.
    pub(super) fn version(&self, org: &Org, ix: NodeIx) -> u64 {
        let below = org.subtree(ix);
        self.book
            .balances()
            .skip(below.start)
            .take(below.len())
            .map(|balance| balance.version)
            .sum()
    }
}

/// The pace of the last days, where there is enough history for one.
async fn pace(
    db: &mut Connection,
    pool: &PoolId,
    period: &Period,
    now: Timestamp,
) -> Result<Option<BTreeMap<NodeId, GpuSeconds>>, StoreError> {
    let far = now - PACE;
    let first = ledger::first_charge(db, pool).await?;
    if !period.contains(now) || first.is_none_or(|first| first > far) {
        return Ok(None);
    }
    ledger::charged_between(db, pool, far, now).await.map(Some)
}

impl Service {
    /// The budgets of a period, parents before children.
    pub async fn budgets(
        &self,
        caller: &Caller,
        period: &PeriodId,
        pool: Option<&PoolId>,
    ) -> Result<BudgetTree, Problem> {
        let me = caller.person()?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let access = Access::new(&ground.organisation.org, me);
        access.check_anywhere(Action::SeeTree)?;
        let budgets = Budgets::load(&mut db, &ground, period, pool).await?;
        let pace = pace(&mut db, &budgets.pool.id, budgets.period, ground.moment.now).await?;
        Ok(tree(&ground, &access, &budgets, pace.as_ref()))
    }
}

/// The whole tree, as shown.
pub(super) fn tree(
    ground: &Ground,
    access: &Access<'_>,
    budgets: &Budgets<'_>,
    pace: Option<&BTreeMap<NodeId, GpuSeconds>>,
) -> BudgetTree {
    let Budgets {
        pool, period, book, ..
    } = budgets;
    let now = ground.moment.now;
    let org = &ground.organisation.org;
    let rows = org.indices().zip(book.rows(now)).map(|(ix, row)| {
        let pace = pace.map(|pace| subtree_sum(org, ix, pace));
        budget_row(ground, access, budgets, ix, &row, pace)
    });
    BudgetTree {
        as_of: ground.moment.as_of(),
        period: period_option(period, &ground.moment),
        pool: pool.id.clone(),
        zone: period.zone.clone(),
        period_hours: period.length().0 / HOUR_S,
        passed_s: now.since(period.starts).0.clamp(0, period.length().0),
        hosts: pool.hosts,
        gpus: pool.gpus,
        reserve_bp: pool.reserve_bp,
        capacity_gpu_seconds: book.capacity(),
        rows: rows.collect(),
    }
}

fn subtree_sum(org: &Org, ix: NodeIx, amounts: &BTreeMap<NodeId, GpuSeconds>) -> GpuSeconds {
    let below = &org.nodes()[org.subtree(ix)];
    below
        .iter()
        .filter_map(|node| amounts.get(&node.id))
        .copied()
        .sum()
}

/// One node, as shown.
pub(super) fn budget_row(
    ground: &Ground,
    access: &Access<'_>,
    budgets: &Budgets<'_>,
    ix: NodeIx,
    row: &Row,
    pace: Option<GpuSeconds>,
) -> BudgetRow {
    let now = ground.moment.now;
    let org = &ground.organisation.org;
    let node = org.node(ix);
    let own_used = budgets.used.get(&node.id).copied().unwrap_or_default();
    let used = budgets.used_below(org, ix);
    let own_part = budgets.book.own_part(&node.id, now, own_used);
    let movable = own_part.filter(|_| !budgets.period.is_over(now));
    BudgetRow {
        node: node.id.clone(),
        parent: node.parent.clone(),
        name: node.name.clone(),
        kind: node.kind,
        depth: count(org.depth(ix)),
        children: count(org.children(ix).len()),
        granted_gpu_seconds: row.granted,
        own_gpu_seconds: row.own,
        accrued_gpu_seconds: row.accrued,
        own_accrued_gpu_seconds: row.own_accrued,
        charged_gpu_seconds: used.charged,
        own_charged_gpu_seconds: own_used.charged,
        held_gpu_seconds: used.held,
        own_held_gpu_seconds: own_used.held,
        left_gpu_seconds: row.granted - used.charged - used.held,
        movable_gpu_seconds: movable.map_or(GpuSeconds::ZERO, |part| part.movable()),
        rate_gpus: row.rate_gpus,
        used_ratio: (row.granted > GpuSeconds::ZERO).then_some(Fraction {
            num: used.charged.0,
            den: row.granted.0,
        }),
        forecast_gpu_seconds: pace.map(|pace| forecast(used, pace, budgets.period.ends.since(now))),
        version: budgets.version(org, ix),
        may_move: access.is_allowed(Action::MoveHours, ix),
        mine: access.leads_to_mine(ix),
    }
}

/// Charged and held, and the pace carried on for the rest of the period.
fn forecast(used: Used, pace: GpuSeconds, left: Seconds) -> GpuSeconds {
    let more = i128::from(pace.0) * i128::from(left.0) / i128::from(PACE.0);
    used.charged + used.held + GpuSeconds(i64::try_from(more).unwrap_or(i64::MAX))
}
