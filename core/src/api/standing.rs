//! Fair share, as it stands.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::id::{NodeId, PoolId};
use crate::org::NodeKind;
use crate::units::{Fraction, GpuSeconds, MilliGpus};

/// What to show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(default, deny_unknown_fields)]
pub struct StandingQuery {
    /// The pool; the first one if absent.
    pub pool: Option<PoolId>,
    /// Only this node and what is below it.
    pub node: Option<NodeId>,
}

/// One node's standing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StandingRow {
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
    /// Its colour, 1 to 10, or 0 for grey.
    pub hue: u8,
    /// Its rate over the pool's GPUs.
    pub share: Fraction,
    /// Its rate.
    pub rate_milli_gpus: MilliGpus,
    /// Owed over the look-back: the lesser of rate and demand, hour by hour, summed over its leaves.
    pub owed_gpu_seconds: GpuSeconds,
    /// Charged over the look-back.
    pub delivered_gpu_seconds: GpuSeconds,
    /// Held by running work.
    pub held_gpu_seconds: GpuSeconds,
    /// The rate over the look-back.
    pub allocated_gpu_seconds: GpuSeconds,
    /// Delivered over owed, at most 1 per leaf; undefined when nothing was owed.
    pub delivered_over_owed: Fraction,
    /// The number that sorts the queue, exact; undefined without a claim.
    pub standing: Option<Fraction>,
    /// The same as text.
    pub standing_text: String,
    /// Its place among its siblings, from 1.
    pub rank: u32,
    /// How many siblings there are.
    pub of: u32,
    /// Queued workloads charged to it or below it.
    pub queued: u32,
    /// GPUs it holds now.
    pub held_gpus: u32,
    /// Whether the node is one of the person who asks.
    pub mine: bool,
}

/// Standing of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StandingView {
    /// The instant it is true for.
    pub as_of: Time,
    /// The pool.
    pub pool: PoolId,
    /// The look-back.
    pub window_s: i64,
    /// How much of the look-back there is: less than all soon after the first start.
    pub covered_s: i64,
    /// The horizon of standing: the pool's cap on minimum runtimes.
    pub horizon_s: i64,
    /// GPUs of the pool.
    pub gpus: u32,
    /// Nodes, parents before children, siblings in the order of their standing.
    pub rows: Vec<StandingRow>,
    /// Delivered over owed of the whole.
    pub delivered_over_owed: Fraction,
    /// Teams that got at least 95 % of what they were owed, and how many were owed anything.
    pub teams_served: (u32, u32),
}
