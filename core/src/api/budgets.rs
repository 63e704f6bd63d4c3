//! Budgets: the tree of one period and pool, and moves between nodes.

use serde::{Deserialize, Serialize};

use super::Time;
use super::session::PeriodOption;
use crate::id::{NodeId, PoolId, TransactionId};
use crate::org::NodeKind;
use crate::units::{Fraction, GpuSeconds};

/// One node's budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BudgetRow {
    /// The node.
    pub node: NodeId,
    /// The node above.
    pub parent: Option<NodeId>,
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub kind: NodeKind,
    /// Steps below the root.
    pub depth: u32,
    /// Nodes directly below.
    pub children: u32,
    /// Everything granted to it and below it.
    pub granted_gpu_seconds: GpuSeconds,
    /// What it keeps itself: undistributed at a node with children.
    pub own_gpu_seconds: GpuSeconds,
    /// What of `granted` has accrued.
    pub accrued_gpu_seconds: GpuSeconds,
    /// What of its own part has accrued.
    pub own_accrued_gpu_seconds: GpuSeconds,
    /// Charged to it and below it.
    pub charged_gpu_seconds: GpuSeconds,
    /// Charged to its own part.
    pub own_charged_gpu_seconds: GpuSeconds,
    /// Held by running work of it and below it.
    pub held_gpu_seconds: GpuSeconds,
    /// Held by work charged to its own part.
    pub own_held_gpu_seconds: GpuSeconds,
    /// Granted - charged - held.
    pub left_gpu_seconds: GpuSeconds,
    /// What its own part can still give away: own - max(own accrued, own charged + own held).
    pub movable_gpu_seconds: GpuSeconds,
    /// GPUs that the rest of the grant amounts to over the rest of the period.
    pub rate_gpus: Fraction,
    /// Charged over granted; undefined without a grant.
    pub used_ratio: Option<Fraction>,
    /// Charged and held plus the pace of the last seven days to the end of the period; absent with less history.
    pub forecast_gpu_seconds: Option<GpuSeconds>,
    /// Counts the changes of this balance: the entity tag.
    pub version: u64,
    /// Whether the person who asks may move hours out of or into it.
    pub may_move: bool,
    /// Whether the node is on the path to a node of the person who asks.
    pub mine: bool,
}

/// The budgets of one period and pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BudgetTree {
    /// The instant it is true for.
    pub as_of: Time,
    /// The period.
    pub period: PeriodOption,
    /// The pool.
    pub pool: PoolId,
    /// The zone the period is cut in.
    pub zone: String,
    /// Hours of the period.
    pub period_hours: i64,
    /// Seconds of the period that have passed.
    pub passed_s: i64,
    /// Hosts of the pool.
    pub hosts: u32,
    /// GPUs of the pool.
    pub gpus: u32,
    /// The reserve, in basis points.
    pub reserve_bp: u32,
    /// What can be granted: GPUs x length x (1 - reserve).
    pub capacity_gpu_seconds: GpuSeconds,
    /// Nodes, parents before children.
    pub rows: Vec<BudgetRow>,
}

/// Asks to move GPU time from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TransferRequest {
    /// The pool.
    pub pool: PoolId,
    /// The node that gives, out of its own part.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// The amount, in GPU-seconds.
    pub amount_gpu_seconds: GpuSeconds,
    /// Why, kept in the ledger.
    pub reason: String,
}

/// One side of a move, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TransferSide {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Granted before.
    pub before_gpu_seconds: GpuSeconds,
    /// Granted after.
    pub after_gpu_seconds: GpuSeconds,
    /// Rate before.
    pub rate_before: Fraction,
    /// Rate after.
    pub rate_after: Fraction,
}

/// A move that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Transfer {
    /// The transaction in the ledger.
    pub id: TransactionId,
    /// When it took effect.
    pub effective: Time,
    /// The amount.
    pub amount_gpu_seconds: GpuSeconds,
    /// The node that gave.
    pub from: TransferSide,
    /// The node that received.
    pub to: TransferSide,
}

/// Asks to set the grant of a node; the difference comes from or goes to the own part of the node above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetBudget {
    /// The pool.
    pub pool: PoolId,
    /// The new grant, in GPU-seconds.
    pub granted_gpu_seconds: GpuSeconds,
    /// Why, kept in the ledger.
    pub reason: String,
}
