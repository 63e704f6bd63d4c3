//! The simulator: discrete events over the very scheduler that drives a real fleet.
//!
//! Recorded or made-up demand arrives, runs end, hosts break, and after each instant at which something happened
//! one pass decides. Time jumps from event to event. The same input and seed give the same log, byte for byte.
//!
//! A resumable workload keeps the progress of a run that was preempted or lost, as if it had written a checkpoint
//! at that moment; launches take no time; a run that is told to stop uses its whole grace. These are stated
//! simplifications: lost work and start-up time of real workloads make real figures worse.

mod faults;
mod log;
mod metrics;
#[cfg(feature = "input")]
mod recorded;
mod report;
mod world;

pub use faults::Faults;
pub use report::{GroupWaits, Report, TeamReport, Unfinished, Waits};
pub use world::{Setup, run};

use crate::input::trace::Kind;
use crate::sched::contract::Workload;
use crate::units::Seconds;

/// A workload that will be submitted, with what only the simulated fleet knows about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The workload; its submit time is when it arrives.
    pub workload: Workload,
    /// For how long it runs, all runs together, before it finishes by itself.
    pub duration: Seconds,
    /// What sort of work it is, for reports.
    pub kind: Kind,
}
