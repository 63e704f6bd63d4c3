//! What a simulation found. *Source* of the definitions: policy, section 12.

use serde::Serialize;

use crate::id::{NodeId, WorkloadId};
use crate::units::{Fraction, GpuSeconds, Seconds};

/// Waits of a group of workloads. *Units*: seconds; percentiles by nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// How many there are.
    pub count: u64,
    /// The median.
    pub p50_s: i64,
    /// Nine in ten wait no longer.
    pub p90_s: i64,
    /// Ninety-nine in a hundred wait no longer.
    pub p99_s: i64,
    /// The longest.
    pub max_s: i64,
}

impl Waits {
    /// Sums up a list of waits.
    pub fn of(mut waits: Vec<i64>) -> Self {
        waits.sort_unstable();
        let rank = |percent: usize| {
            let at = (waits.len() * percent).div_ceil(100).saturating_sub(1);
            waits.get(at).copied().unwrap_or(0)
        };
        Self {
            count: waits.len() as u64,
            p50_s: rank(50),
            p90_s: rank(90),
            p99_s: rank(99),
            max_s: rank(100),
        }
    }
}

/// Waits of one kind of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupWaits {
    /// The kind, and `all`.
    pub group: String,
    /// From submit to first start.
    pub queue: Waits,
    /// From requeue to next start.
    pub restart: Waits,
    /// How many were submitted and had never started at the end.
    pub never_started: u64,
}

/// What one leaf got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TeamReport {
    /// The node.
    pub node: NodeId,
    /// Its rate at the end, in milli-GPU.
    pub rate_milli_gpus: i64,
    /// The lesser of rate and demand, hour by hour.
    pub owed_gpu_seconds: GpuSeconds,
    /// Charged.
    pub delivered_gpu_seconds: GpuSeconds,
    /// Held free of charge.
    pub unallocated_gpu_seconds: GpuSeconds,
    /// min(delivered, owed) over owed.
    pub delivered_over_owed: Fraction,
}

/// A workload that was not over at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The workload.
    pub workload: WorkloadId,
    /// For how long it still has to run.
    pub remaining: Seconds,
}

/// What a simulation found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The policy that was simulated.
    pub policy: &'static str,
    /// The seed of host faults.
    pub seed: u64,
    /// The span that was measured.
    pub measured_s: i64,
    /// Hosts of the pool.
    pub hosts: u32,
    /// GPUs of the pool.
    pub gpus: u32,
    /// Sum over leaves of min(delivered, owed) over the sum of owed, over the measured span.
    pub delivered_over_owed: Fraction,
    /// The least of any leaf that was owed something.
    pub worst_team: Fraction,
    /// Leaves that got at least 95 %, and how many were owed anything.
    pub teams_served: (u32, u32),
    /// Held over healthy GPU time.
    pub occupancy: Fraction,
    /// Healthy over all GPU time.
    pub availability: Fraction,
    /// Unallocated over held GPU time.
    pub unallocated_of_held: Fraction,
    /// Workloads that were submitted.
    pub submitted: u64,
    /// Runs that started.
    pub starts: u64,
    /// Workloads that finished.
    pub finished: u64,
    /// Runs that were preempted.
    pub preemptions: u64,
    /// Of those, allocated ones.
    pub allocated_preemptions: u64,
    /// Runs that were lost with their host.
    pub host_failures: u64,
    /// Workloads that waited at the end.
    pub queued_at_end: u64,
    /// The longest queue.
    pub longest_queue: u64,
    /// Passes that were made.
    pub passes: u64,
    /// Time in system over run time, of finished workloads, in thousandths, nine in ten at most.
    pub slowdown_p90_milli: i64,
    /// Waits by kind, `all` first.
    pub waits: Vec<GroupWaits>,
    /// Each leaf that was owed, or used, anything.
    pub teams: Vec<TeamReport>,
    /// Workloads that were not over at the end, in the order of their ids.
    #[serde(skip)]
    pub unfinished: Vec<Unfinished>,
    /// Broken invariants; empty, or the simulator has found a bug.
    pub findings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_go_by_nearest_rank() {
        let waits = Waits::of((1..=100).rev().collect());
        assert_eq!(
            (waits.p50_s, waits.p90_s, waits.p99_s, waits.max_s),
            (50, 90, 99, 100)
        );
        assert_eq!(
            Waits::of(vec![7]),
            Waits {
                count: 1,
                p50_s: 7,
                p90_s: 7,
                p99_s: 7,
                max_s: 7
            }
        );
        assert_eq!(Waits::of(Vec::new()), Waits::default());
    }
}
