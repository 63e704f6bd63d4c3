//! The queue, in the order in which the scheduler takes it.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::id::{NodeId, PersonId, PoolId, WorkloadId};
use crate::sched::contract::WorkloadState;
use crate::sched::reason::ReasonCode;

/// A reason as it is shown: code and sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Why {
    /// The kind of reason.
    pub code: ReasonCode,
    /// The sentence.
    pub sentence: String,
}

/// A standing on the path from the root to the node that pays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StandingAt {
    /// The node.
    pub node: NodeId,
    /// The number that sorts, with three decimals; "no claim" without a rate.
    pub standing: String,
}

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(default, deny_unknown_fields)]
pub struct QueueQuery {
    /// The pool; the first one if absent.
    pub pool: Option<PoolId>,
    /// Only what is charged to this node or below it.
    pub under: Option<NodeId>,
    /// Only what the person who asks submitted.
    pub mine: bool,
    /// Only what waits for this.
    pub reason: Option<ReasonCode>,
    /// Where to go on.
    pub after: Option<String>,
    /// How many rows.
    pub limit: Option<u16>,
}

/// One queued workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueueRow {
    /// Its place in the order of the whole pool, from 1.
    pub place: u32,
    /// The workload.
    pub id: WorkloadId,
    /// Its name; hidden (`None`) from people outside the team.
    pub name: Option<String>,
    /// The node that pays.
    pub node: NodeId,
    /// The node's name.
    pub node_name: String,
    /// The node's colour, 1 to 10, or 0 for grey.
    pub hue: u8,
    /// Who submitted it.
    pub submitted_by: Option<PersonId>,
    /// All its GPUs.
    pub gpus: u32,
    /// Its hosts.
    pub hosts: u32,
    /// Its minimum runtime.
    pub min_runtime_s: i64,
    /// Its priority within the node.
    pub priority: i32,
    /// When it was first submitted.
    pub submitted: Time,
    /// For how long it has waited since then.
    pub waiting_s: i64,
    /// How often it has started before.
    pub starts: u32,
    /// Standings from below the root to the node that pays, as they were when its turn came.
    pub standings: Vec<StandingAt>,
    /// Its state.
    pub state: WorkloadState,
    /// Why it waits.
    pub why: Why,
    /// A promise, where there is one.
    pub latest_start: Option<Time>,
    /// Whether the person who asks submitted it.
    pub mine: bool,
}

/// One page of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueuePage {
    /// The instant it is true for.
    pub as_of: Time,
    /// The pool.
    pub pool: PoolId,
    /// The pass it comes from.
    pub version: u64,
    /// The rows.
    pub rows: Vec<QueueRow>,
    /// How many workloads match.
    pub matching: u64,
    /// Of those, how many come before this page.
    pub before: u64,
    /// How many are queued in the pool.
    pub queued: u64,
    /// Of those, how many the person who asks submitted.
    pub queued_mine: u64,
    /// GPUs that the queue asks for.
    pub asked_gpus: u64,
    /// Free GPUs.
    pub free_gpus: u32,
    /// GPUs pinned to workloads that start when others have left.
    pub pinned_gpus: u32,
    /// Asks for the next page; absent on the last.
    pub next: Option<String>,
}
