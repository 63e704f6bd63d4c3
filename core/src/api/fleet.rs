//! Hosts and what runs on them, and the pool as a whole.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::id::{BlockId, HostId, NodeId, PoolId, RunId, WorkloadId};
pub use crate::sched::contract::HostState;
use crate::sched::contract::WorkloadState;
use crate::units::Fraction;

/// A run on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostRun {
    /// The run.
    pub run: RunId,
    /// Its workload.
    pub workload: WorkloadId,
    /// The workload's name; hidden (`None`) from people outside the team.
    pub name: Option<String>,
    /// The node that pays.
    pub node: NodeId,
    /// The node's name.
    pub node_name: String,
    /// The node's colour, 1 to 10, or 0 for grey.
    pub hue: u8,
    /// Its GPUs on this host, by index.
    pub gpus: Vec<u8>,
    /// Its state.
    pub state: WorkloadState,
    /// Until when it is protected.
    pub protected_until: Option<Time>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostRow {
    /// The host.
    pub id: HostId,
    /// Its block.
    pub block: BlockId,
    /// Its GPUs.
    pub gpus: u32,
    /// Of those, free ones.
    pub free: u32,
    /// Whether it can be used.
    pub state: HostState,
    /// What runs on it.
    pub runs: Vec<HostRun>,
}

/// The hosts of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HostList {
    /// The instant it is true for.
    pub as_of: Time,
    /// The pool.
    pub pool: PoolId,
    /// The hosts, by block and id.
    pub hosts: Vec<HostRow>,
}

/// The pool as a whole. *Source*: policy, section 12.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PoolView {
    /// The instant it is true for.
    pub as_of: Time,
    /// The pool.
    pub pool: PoolId,
    /// All GPUs.
    pub gpus: u32,
    /// GPUs of healthy hosts.
    pub healthy_gpus: u32,
    /// GPUs held by protected runs.
    pub protected_gpus: u32,
    /// GPUs held by charged runs past their protection.
    pub interruptible_gpus: u32,
    /// GPUs held by unallocated runs.
    pub unallocated_gpus: u32,
    /// Delivered over owed in the look-back.
    pub delivered_over_owed: Fraction,
    /// Queued workloads.
    pub queued: u64,
    /// GPUs that the queue asks for.
    pub asked_gpus: u64,
}
