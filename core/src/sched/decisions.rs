//! What a pass decides. Stops and the start they enable are one decision.

use super::reason::Preemption;
use super::run::Interruptible;
use super::state::HostIx;
use super::tree::TreeIx;
use crate::id::{RunId, WorkloadId};
use crate::standing::Standing;
use crate::units::{GpuSeconds, Timestamp};

/// A workload starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The workload.
    pub workload: WorkloadId,
    /// Its new run.
    pub run: RunId,
    /// Its GPUs: hosts in order, with a mask each.
    pub gpus_on: Vec<(HostIx, u64)>,
    /// Whether it is charged and protected.
    pub allocated: bool,
    /// What is held for it.
    pub hold: GpuSeconds,
    /// Runs that have to leave first.
    pub waits_for: Vec<RunId>,
    /// When the last of them is gone at the latest.
    pub by: Timestamp,
    /// Standings from the root to its leaf when its turn came.
    pub standings: Vec<(TreeIx, Standing)>,
}

/// Why the scheduler stops a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// For another workload that starts thanks to it.
    Preemption(Box<Preemption>),
    /// Its protection has passed and it asked to be stopped then.
    Expired,
    /// It was not running on all its hosts within the start-up time.
    StartupOver,
}

/// A run is told to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Proof that it may be.
    pub proof: Interruptible,
    /// Why.
    pub cause: StopCause,
    /// When it is gone at the latest: now and its grace.
    pub by: Timestamp,
}

/// A run that went on free becomes charged and protected in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// The run.
    pub run: RunId,
    /// What is held for it.
    pub hold: GpuSeconds,
}

/// Hosts kept for a large gang, with the latest instant at which it starts. *Source*: policy, section 8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The workload.
    pub workload: WorkloadId,
    /// Its hosts.
    pub hosts: Vec<HostIx>,
    /// The latest start.
    pub latest_start: Timestamp,
}

/// What one pass decided, in the order in which it is to be carried out: stops, promotions, starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The instant of the pass.
    pub at: Timestamp,
    /// Runs that are told to stop.
    pub stops: Vec<Stop>,
    /// Runs that become protected where they are.
    pub promotions: Vec<Promotion>,
    /// Workloads that start.
    pub starts: Vec<Start>,
}

impl Decisions {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.stops.is_empty() && self.promotions.is_empty() && self.starts.is_empty()
    }
}
