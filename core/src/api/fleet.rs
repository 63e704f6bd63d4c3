//! Hosts and what runs on them, and the pool as a whole.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::id::{BlockId, HostId, NodeId, PoolId, RunId, WorkloadId};
use crate::sched::contract::WorkloadState;
use crate::units::Fraction;

/// Whether a host can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// It takes work.
    Up,
    /// It takes nothing new.
    Draining,
    /// It is lost, or being repaired.
    Down,
    /// Nobody knows.
    Unknown,
}

impl HostState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Up, Self::Draining, Self::Down, Self::Unknown];

    /// The word on the screens.
    pub fn label(self) -> &'static str {
        match self {
            Self::Up => "Up",
            Self::Draining => "Draining",
            Self::Down => "Down",
            Self::Unknown => "Unknown",
        }
    }
}

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
