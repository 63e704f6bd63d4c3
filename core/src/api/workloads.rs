//! Workloads: submit, list, show, cancel.

use serde::{Deserialize, Serialize};

use super::Time;
use super::queue::{StandingAt, Why};
use crate::id::{HostId, NodeId, PersonId, PoolId, RunId, WorkloadId};
use crate::sched::contract::{AfterPreemption, EndCause, Fallback, Then, Topology, WorkloadState};
use crate::units::GpuSeconds;

/// Asks for a workload to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SubmitWorkload {
    /// Its name.
    pub name: String,
    /// The pool; the first one if absent.
    #[serde(default)]
    pub pool: Option<PoolId>,
    /// The node that pays.
    pub charged_to: NodeId,
    /// All its GPUs: `hosts` times as many as on each host.
    pub gpus: u32,
    /// How many hosts; as few as hold the GPUs if absent.
    #[serde(default)]
    pub hosts: Option<u32>,
    /// For how long it is not preempted once it runs; 0 is unallocated.
    pub min_runtime_s: i64,
    /// What a preemption does.
    #[serde(default)]
    pub after_preemption: AfterPreemption,
    /// Sorts within the node; higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// What happens after protection.
    #[serde(default)]
    pub then: Then,
    /// What happens without funds.
    #[serde(default)]
    pub fallback: Fallback,
    /// Time between signal and kill; 0 if absent.
    #[serde(default)]
    pub grace_s: i64,
    /// Where the hosts of a gang may lie.
    #[serde(default)]
    pub topology: Topology,
    /// On a simulated fleet: for how long it runs, all runs together, before it finishes by itself.
    #[serde(default)]
    pub simulated_runtime_s: Option<i64>,
    /// A name of its own in another system; the same one twice is refused.
    #[serde(default)]
    pub external_id: Option<String>,
}

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
#[serde(default, deny_unknown_fields)]
pub struct WorkloadQuery {
    /// The pool; all if absent.
    pub pool: Option<PoolId>,
    /// Only what is charged to this node or below it.
    pub under: Option<NodeId>,
    /// Only in this state.
    pub state: Option<WorkloadState>,
    /// Only what the person who asks submitted.
    pub mine: bool,
    /// Where to go on.
    pub after: Option<String>,
    /// How many rows.
    pub limit: Option<u16>,
}

/// One workload in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkloadRow {
    /// The workload.
    pub id: WorkloadId,
    /// Its name; hidden (`None`) from people outside the team.
    pub name: Option<String>,
    /// The pool.
    pub pool: PoolId,
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
    /// When it was first submitted.
    pub submitted: Time,
    /// Its state.
    pub state: WorkloadState,
    /// Its place in the queue, where it waits.
    pub place: Option<u32>,
    /// Why it waits, or what happens next, in a sentence.
    pub why: Option<Why>,
    /// Until when it is protected.
    pub protected_until: Option<Time>,
    /// A promise, where there is one.
    pub latest_start: Option<Time>,
}

/// A page of workloads, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkloadPage {
    /// The instant it is true for.
    pub as_of: Time,
    /// The rows.
    pub rows: Vec<WorkloadRow>,
    /// Asks for the next page; absent on the last.
    pub next: Option<String>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunView {
    /// The run.
    pub id: RunId,
    /// From 1.
    pub number: u32,
    /// When its GPUs were assigned; absent while others have to leave.
    pub assigned: Option<Time>,
    /// When it was running on all its hosts.
    pub running: Option<Time>,
    /// Until when it was or is protected.
    pub protected_until: Option<Time>,
    /// When it released its GPUs.
    pub ended: Option<Time>,
    /// How it ended.
    pub cause: Option<EndCause>,
    /// Its hosts with its GPUs on each, by index.
    pub hosts: Vec<(HostId, Vec<u8>)>,
    /// Charged so far.
    pub charged_gpu_seconds: GpuSeconds,
    /// Whether it is charged at all.
    pub allocated: bool,
    /// Who it was preempted for and why, with the numbers frozen then.
    pub preemption: Option<String>,
}

/// One entry of the decision log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogEntry {
    /// When.
    pub at: Time,
    /// What, in a word or two.
    pub what: String,
    /// The sentence.
    pub sentence: String,
}

/// A page of the decision log of a workload, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DecisionPage {
    /// The instant it is true for.
    pub as_of: Time,
    /// The entries.
    pub rows: Vec<LogEntry>,
    /// Asks for the next page; absent on the last.
    pub next: Option<String>,
}

/// Everything about one workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkloadView {
    /// The instant it is true for.
    pub as_of: Time,
    /// The line it has in lists.
    pub row: WorkloadRow,
    /// Names from the root to the node that pays.
    pub path: Vec<String>,
    /// Standings from below the root to the node that pays.
    pub standings: Vec<StandingAt>,
    /// Its priority within the node.
    pub priority: i32,
    /// What a preemption does.
    pub after_preemption: AfterPreemption,
    /// What happens after protection.
    pub then: Then,
    /// What happens without funds.
    pub fallback: Fallback,
    /// Time between signal and kill.
    pub grace_s: i64,
    /// Where the hosts of a gang may lie.
    pub topology: Topology,
    /// Its name in another system.
    pub external_id: Option<String>,
    /// Its runs, first to last.
    pub runs: Vec<RunView>,
    /// What was decided about it, newest first.
    pub log: Vec<LogEntry>,
    /// Charged so far.
    pub charged_gpu_seconds: GpuSeconds,
    /// Held for it now.
    pub held_gpu_seconds: GpuSeconds,
    /// Whether the person who asks may cancel it.
    pub may_cancel: bool,
}
