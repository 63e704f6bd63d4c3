//! The scheduling contract: what a workload asks for, and what it is promised once it runs.
//!
//! *Source*: policy, section 3.

use serde::{Deserialize, Serialize};

use crate::id::{NodeId, PersonId, WorkloadId};
use crate::units::{GpuSeconds, Gpus, MAX_GPUS, MAX_SPAN, Seconds, Timestamp};

/// The shortest minimum runtime other than none.
pub const SHORTEST_MIN_RUNTIME: Seconds = Seconds::from_minutes(5);
/// The longest grace of an allocated run.
pub const LONGEST_GRACE: Seconds = Seconds::from_minutes(30);
/// The longest grace of an unallocated run: this is the debug lane's wait.
pub const LONGEST_UNALLOCATED_GRACE: Seconds = Seconds(15);
/// How far `priority` reaches in either direction.
pub const PRIORITY_BOUND: i32 = 1_000;
/// After so many failed launches a workload is held.
pub const LAUNCH_FAILURES_HELD: u32 = 3;
/// GPUs of a host that a mask can name.
pub const MAX_GPUS_PER_HOST: u32 = 64;

/// What happens when protection has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// Go on, charged, until someone with a lower standing needs the GPUs.
    #[default]
    Charged,
    /// Go on free, last in line.
    Unallocated,
    /// Stop.
    Stop,
}

/// What happens when the node has no funds for a protected start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// It may run unprotected and free.
    #[default]
    Unallocated,
    /// It waits for funds.
    Wait,
}

/// What a preemption does to the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AfterPreemption {
    /// It is queued again with its original submit time.
    #[default]
    Requeue,
    /// It ends.
    End,
}

/// Where the hosts of a gang may lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// In one block if that is possible, else anywhere.
    #[default]
    Anywhere,
    /// In one block, or not at all.
    SameBlock,
}

/// Which hosts and GPUs a workload needs, all of them or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Shape {
    /// How many hosts.
    pub hosts: u32,
    /// GPUs on each of them.
    pub gpus_per_host: u32,
    /// Where the hosts may lie.
    pub topology: Topology,
}

impl Shape {
    /// All its GPUs.
    pub fn gpus(self) -> Gpus {
        Gpus(self.hosts * self.gpus_per_host)
    }
}

/// A workload as the scheduler knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Its id.
    pub id: WorkloadId,
    /// The node that pays.
    pub charged_to: NodeId,
    /// Who submitted it.
    pub submitted_by: PersonId,
    /// The GPUs it needs.
    pub shape: Shape,
    /// For how long it is not preempted once it runs; nothing makes it unallocated.
    pub min_runtime: Seconds,
    /// What a preemption does.
    pub after_preemption: AfterPreemption,
    /// Sorts only among workloads charged to the same node; higher goes first.
    pub priority: i32,
    /// What happens after protection.
    pub then: Then,
    /// What happens without funds.
    pub fallback: Fallback,
    /// Time between the signal and the kill.
    pub grace: Seconds,
    /// The original submit time, kept across requeues.
    pub submitted_at: Timestamp,
}

impl Workload {
    /// Whether it is charged and protected.
    pub fn is_allocated(&self) -> bool {
        self.min_runtime > Seconds::ZERO
    }

    /// What a protected start holds: all GPUs for the minimum runtime and the start-up allowance.
    pub fn hold(&self, limits: &Limits) -> GpuSeconds {
        self.shape
            .gpus()
            .over(self.min_runtime + limits.startup_allowance)
    }

    /// Everything in which this workload doesn't fit the pool's limits; empty when it does.
    pub fn misfits(&self, limits: &Limits) -> Vec<Misfit> {
        let mut found = Vec::new();
        let mut say = |field: &'static str, value: i64, accepted: String| {
            found.push(Misfit {
                field,
                value: value.to_string(),
                accepted,
            });
        };
        let Shape {
            hosts, gpus_per_host, ..
        } = self.shape;
        if hosts == 0 || hosts > limits.hosts {
            say(
                "hosts",
                hosts.into(),
                format!("1 to {} (the pool's hosts)", limits.hosts),
            );
        }
        if gpus_per_host == 0 || gpus_per_host > limits.gpus_per_host {
            say(
                "gpus_per_host",
                gpus_per_host.into(),
                format!("1 to {} (GPUs of a host)", limits.gpus_per_host),
            );
        }
        let min = self.min_runtime;
        if min != Seconds::ZERO && !(SHORTEST_MIN_RUNTIME..=limits.cap).contains(&min) {
            let accepted = format!(
                "0, or {} to {} (the pool's cap)",
                SHORTEST_MIN_RUNTIME.0, limits.cap.0
            );
            say("min_runtime_s", min.0, accepted);
        }
        if !(-PRIORITY_BOUND..=PRIORITY_BOUND).contains(&self.priority) {
            say(
                "priority",
                self.priority.into(),
                format!("-{PRIORITY_BOUND} to {PRIORITY_BOUND}"),
            );
        }
        let longest = if self.is_allocated() {
            LONGEST_GRACE
        } else {
            LONGEST_UNALLOCATED_GRACE
        };
        if !(Seconds::ZERO..=longest).contains(&self.grace) {
            say("grace_s", self.grace.0, format!("0 to {}", longest.0));
        }
        found
    }
}

/// A field that doesn't fit: which, what it holds, what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; accepted: {accepted}")]
pub struct Misfit {
    /// The field, by its API name.
    pub field: &'static str,
    /// What it holds.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

/// The limits and rules of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How many hosts the pool has.
    pub hosts: u32,
    /// GPUs of its largest host.
    pub gpus_per_host: u32,
    /// The longest minimum runtime; also the horizon of standing.
    pub cap: Seconds,
    /// How long a start may take before it is taken back; held beside the minimum runtime.
    pub startup_allowance: Seconds,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hosts: 0,
            gpus_per_host: 0,
            cap: Seconds::from_hours(8),
            startup_allowance: Seconds::from_minutes(10),
        }
    }
}

const _: () = assert!(LONGEST_GRACE.0 < MAX_SPAN.0 && MAX_GPUS_PER_HOST < MAX_GPUS);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// It ended by itself with success.
    Finished,
    /// It ended by itself with an error.
    Failed,
    /// The scheduler stopped it for another workload.
    Preempted,
    /// A person cancelled it.
    Cancelled,
    /// Its host was lost.
    HostFailed,
    /// It didn't start within the start-up time, or its launch failed.
    LaunchFailed,
    /// It asked to be stopped when its protection passed.
    Expired,
}

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

/// Where a workload stands, as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorkloadState {
    /// Waiting for its turn.
    Queued,
    /// Waiting, and not considered until its owner changes it.
    Held,
    /// GPUs are assigned or pinned to it; it is not running on all its hosts yet.
    Starting,
    /// Running, protected.
    Protected,
    /// Running past its protection: it may be asked to yield.
    Interruptible,
    /// Running without protection and free.
    Unallocated,
    /// Told to stop; within its grace.
    Stopping,
    /// Ended by itself with success.
    Finished,
    /// Ended with an error.
    Failed,
    /// Cancelled by a person.
    Cancelled,
    /// Ended by the scheduler for good: preempted and not resumable, or past its protection and told to stop then.
    Ended,
}

impl WorkloadState {
    /// Every state.
    pub const ALL: [Self; 11] = [
        Self::Queued,
        Self::Held,
        Self::Starting,
        Self::Protected,
        Self::Interruptible,
        Self::Unallocated,
        Self::Stopping,
        Self::Finished,
        Self::Failed,
        Self::Cancelled,
        Self::Ended,
    ];

    /// Whether nothing more will happen to it.
    pub fn is_over(self) -> bool {
        matches!(
            self,
            Self::Finished | Self::Failed | Self::Cancelled | Self::Ended
        )
    }

    /// Whether it holds GPUs.
    pub fn is_running(self) -> bool {
        matches!(
            self,
            Self::Protected | Self::Interruptible | Self::Unallocated | Self::Stopping
        )
    }

    /// The word on the screens.
    pub fn label(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Held => "Held",
            Self::Starting => "Starting",
            Self::Protected => "Protected",
            Self::Interruptible => "Interruptible",
            Self::Unallocated => "Unallocated",
            Self::Stopping => "Stopping",
            Self::Finished => "Finished",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
            Self::Ended => "Ended",
        }
    }
}

impl EndCause {
    /// Every cause.
    pub const ALL: [Self; 7] = [
        Self::Finished,
        Self::Failed,
        Self::Preempted,
        Self::Cancelled,
        Self::HostFailed,
        Self::LaunchFailed,
        Self::Expired,
    ];

    /// The word on the screens.
    pub fn label(self) -> &'static str {
        match self {
            Self::Finished => "Finished",
            Self::Failed => "Failed",
            Self::Preempted => "Preempted",
            Self::Cancelled => "Cancelled",
            Self::HostFailed => "Host failed",
            Self::LaunchFailed => "Launch failed",
            Self::Expired => "Protection over, told to stop then",
        }
    }
}
