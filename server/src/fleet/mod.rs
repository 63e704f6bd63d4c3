//! The fleet port: what the engine asks of a cluster, whatever drives it.
//!
//! Nothing is believed because a call returned; it is believed because a later, complete reading shows it. Every
//! action names a run and its generation, so that repeating one changes nothing and a stale one is refused.

pub mod simulated;

use async_trait::async_trait;
use stint_core::id::{HostId, RunId, WorkloadId};
use stint_core::sched::contract::{EndCause, HostState};
use stint_core::units::{Seconds, Timestamp};

pub use simulated::SimulatedFleet;

/// A run as the fleet sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunSeen {
    /// It is on its way to its hosts.
    Starting,
    /// It is running on all its hosts.
    Running {
        /// Since when.
        since: Timestamp,
    },
    /// It is over and its GPUs are free.
    Ended {
        /// Since when.
        at: Timestamp,
        /// How it ended.
        cause: EndCause,
    },
}

/// One reading of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Whether everything that exists is in it. What is missing from an incomplete reading means nothing.
    pub complete: bool,
    /// When it was taken.
    pub at: Timestamp,
    /// Hosts and their states.
    pub hosts: Vec<(HostId, HostState)>,
    /// Runs that are there, or are over and have not been forgotten.
    pub runs: Vec<(RunId, RunSeen)>,
}

/// Asks for a run to be launched.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StartOrder {
    /// The run.
    pub run: RunId,
    /// Which run of its workload it is; an order with an older one is refused.
    pub generation: u32,
    /// Its workload.
    pub workload: WorkloadId,
    /// Its hosts, with its GPUs on each.
    pub hosts: Vec<(HostId, Vec<u8>)>,
    /// On a simulated fleet: for how long the workload runs, all runs together.
    pub simulated_runtime: Option<Seconds>,
}

/// Asks for a run to be stopped.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StopOrder {
    /// The run.
    pub run: RunId,
    /// Which run of its workload it is.
    pub generation: u32,
    /// When it is killed if it is still there.
    pub by: Timestamp,
    /// What it is stopped for.
    pub cause: EndCause,
}

/// The fleet did not do it, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// No answer: nothing is known.
    #[error("the fleet does not answer")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A cluster.
#[async_trait]
pub trait Fleet: Send + Sync + 'static {
    /// What there is now.
    async fn read(&self) -> Result<Reading, FleetError>;
    /// Launches runs. One that was launched before is left as it is.
    async fn start(&self, orders: &[StartOrder]) -> Result<(), FleetError>;
    /// Stops runs. One that is over, or was told before, is left as it is.
    async fn stop(&self, orders: &[StopOrder]) -> Result<(), FleetError>;
    /// Forgets runs that are over and recorded.
    async fn forget(&self, runs: &[RunId]) -> Result<(), FleetError>;
}
