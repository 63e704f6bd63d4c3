//! Runs, what was charged for them, and what was decided: read here, written by the engine.

use stint_core::id::{HostId, RunId, WorkloadId};
use stint_core::sched::contract::EndCause;
use stint_core::units::{GpuSeconds, Timestamp};

use super::row::{from_row, number};
use super::{Connection, StoreError};

/// One run as stored, with what was charged for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// The run.
    pub id: RunId,
    /// From 1 within its workload.
    pub number: u32,
    /// Its hosts and GPUs, as JSON.
    pub hosts: String,
    /// Whether it is charged.
    pub allocated: bool,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// When its GPUs were assigned.
    pub assigned_at: Option<Timestamp>,
    /// When it was running on all its hosts.
    pub running_at: Option<Timestamp>,
    /// Until when it is protected.
    pub protected_until: Option<Timestamp>,
    /// Up to when its charges are written.
    pub charged_until: Option<Timestamp>,
    /// When it was decided to stop it.
    pub stop_decided_at: Option<Timestamp>,
    /// Who it was preempted for and why, as JSON.
    pub preemption: Option<String>,
    /// When it released its GPUs.
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub cause: Option<EndCause>,
    /// Charged less refunded, the open span included.
    pub charged: GpuSeconds,
}
from_row!(RunRecord {
    id,
    number,
    hosts,
    allocated,
    decided_at,
    assigned_at,
    running_at,
    protected_until,
    charged_until,
    stop_decided_at,
    preemption,
    ended_at,
    cause,
    charged,
});

impl RunRecord {
    /// Its hosts in order, with its GPUs on each.
    pub fn gpus_by_host(&self) -> Vec<(HostId, Vec<u8>)> {
        serde_json::from_str(&self.hosts).unwrap_or_default()
    }
}

/// One entry of the decision log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRow {
    /// Its number.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// What, in a word or two.
    pub what: String,
    /// The sentence.
    pub sentence: String,
}
from_row!(DecisionRow {
    id,
    at,
    what,
    sentence
});

/// The runs of a workload, first to last, charged up to an instant.
pub async fn of_workload(
    db: &mut Connection,
    workload: WorkloadId,
    at: Timestamp,
) -> Result<Vec<RunRecord>, StoreError> {
    let runs = sqlx::query_as(include_str!("sql/runs_of_workload.sql"))
        .bind(number(workload.0))
        .bind(at.0)
        .fetch_all(db)
        .await?;
    Ok(runs)
}

/// The decision log of a workload, newest first: what came before entry `before`, at most `limit`.
pub async fn decisions(
    db: &mut Connection,
    workload: WorkloadId,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<DecisionRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/decisions_of_workload.sql"))
        .bind(number(workload.0))
        .bind(before.map_or(i64::MAX, number))
        .bind(i64::from(limit))
        .fetch_all(db)
        .await?;
    Ok(rows)
}
