//! What the engine reads and writes: open workloads and runs, closed spans, decisions, and the outbox.

use stint_core::id::{NodeId, PeriodId, PoolId, RunId, WorkloadId};
use stint_core::sched::contract::{EndCause, WorkloadState};
use stint_core::sched::run::SpanKind;
use stint_core::units::{GpuSeconds, Timestamp};

use super::row::{Column, from_row, number, word};
use super::workloads::WorkloadRecord;
use super::{Connection, StoreError};

/// A run that is not over, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// The run.
    pub id: RunId,
    /// Its workload.
    pub workload_id: WorkloadId,
    /// From 1 within its workload.
    pub number: u32,
    /// Its hosts and GPUs, as JSON.
    pub hosts: String,
    /// Whether it is charged and protected.
    pub allocated: bool,
    /// Runs that have to leave first, as JSON.
    pub waits_for: String,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// When its GPUs became its own.
    pub assigned_at: Option<Timestamp>,
    /// When it was running on all its hosts.
    pub running_at: Option<Timestamp>,
    /// Until when it is protected.
    pub protected_until: Option<Timestamp>,
    /// Up to when its spans are written.
    pub charged_until: Option<Timestamp>,
    /// When it was told to stop.
    pub stop_decided_at: Option<Timestamp>,
    /// When it, or those it waits for, are gone at the latest.
    pub stop_by: Option<Timestamp>,
    /// What it was told to stop for.
    pub stop_cause: Option<EndCause>,
}
from_row!(OpenRun {
    id,
    workload_id,
    number,
    hosts,
    allocated,
    waits_for,
    decided_at,
    assigned_at,
    running_at,
    protected_until,
    charged_until,
    stop_decided_at,
    stop_by,
    stop_cause,
});

/// A run's end, and why it was preempted, where that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunEnd {
    /// When and how it ended.
    pub ended: Option<(Timestamp, EndCause)>,
    /// The preemption, as JSON.
    pub preemption: Option<String>,
}

/// A closed span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargeRow {
    /// The node that paid, or would have.
    pub node_id: NodeId,
    /// Charged, free, or given back.
    pub kind: ChargeKind,
    /// How many GPUs.
    pub gpus: u32,
    /// From when.
    pub starts_at: Timestamp,
    /// Until when.
    pub ends_at: Timestamp,
    /// How much.
    pub amount_gpu_seconds: GpuSeconds,
}
from_row!(ChargeRow {
    node_id,
    kind,
    gpus,
    starts_at,
    ends_at,
    amount_gpu_seconds
});

/// What a row of charges is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeKind {
    /// Counts against the node.
    Charge,
    /// Does not.
    Unallocated,
    /// Reverses.
    Refund,
}

impl ChargeKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Unallocated => "unallocated",
            Self::Refund => "refund",
        }
    }
}

impl From<SpanKind> for ChargeKind {
    fn from(kind: SpanKind) -> Self {
        match kind {
            SpanKind::Charged => Self::Charge,
            SpanKind::Unallocated => Self::Unallocated,
        }
    }
}

impl Column for ChargeKind {
    fn read(row: &sqlx::sqlite::SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
        Ok(match String::read(row, name)?.as_str() {
            "unallocated" => Self::Unallocated,
            "refund" => Self::Refund,
            _ => Self::Charge,
        })
    }
}

/// An allocated workload's time in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemandRow {
    /// The node that pays.
    pub node_id: NodeId,
    /// Its GPUs.
    pub gpus: u32,
    /// From when.
    pub starts_at: Timestamp,
    /// Until when; absent while it is there.
    pub ended_at: Option<Timestamp>,
}
from_row!(DemandRow {
    node_id,
    gpus,
    starts_at,
    ended_at
});

/// A fleet action that was decided and is not known to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its number.
    pub id: u64,
    /// `start` or `stop`.
    pub action: String,
    /// The order, as JSON.
    pub body: String,
}
from_row!(OutboxRow { id, action, body });

/// Workloads of a pool that are not over.
pub async fn open_workloads(db: &mut Connection, pool: &PoolId) -> Result<Vec<WorkloadRecord>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/engine_open_workloads.sql")).bind(pool.as_str());
    Ok(rows.fetch_all(db).await?)
}

/// Workloads of a pool that came after another one, oldest first.
pub async fn new_workloads(
    db: &mut Connection,
    pool: &PoolId,
    after: WorkloadId,
    limit: u32,
) -> Result<Vec<WorkloadRecord>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/engine_new_workloads.sql"))
        .bind(pool.as_str())
        .bind(number(after.0))
        .bind(i64::from(limit));
    Ok(rows.fetch_all(db).await?)
}

/// Workloads that a person wants cancelled.
pub async fn cancels(db: &mut Connection, pool: &PoolId) -> Result<Vec<WorkloadId>, StoreError> {
    let ids: Vec<i64> = sqlx::query_scalar(include_str!("sql/engine_cancels.sql"))
        .bind(pool.as_str())
        .fetch_all(db)
        .await?;
    Ok(ids.into_iter().map(|id| WorkloadId(id.unsigned_abs())).collect())
}

/// Runs of a pool that are not over.
pub async fn open_runs(db: &mut Connection, pool: &PoolId) -> Result<Vec<OpenRun>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/engine_open_runs.sql"))
        .bind(pool.as_str())
        .fetch_all(db)
        .await?)
}

/// Writes a run as it is now. One that is over stays as it is.
pub async fn put_run(db: &mut Connection, run: &OpenRun, end: &RunEnd) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/engine_put_run.sql"))
        .bind(number(run.id.0))
        .bind(number(run.workload_id.0))
        .bind(i64::from(run.number))
        .bind(&run.hosts)
        .bind(i64::from(run.allocated))
        .bind(&run.waits_for)
        .bind(run.decided_at.0)
        .bind(run.assigned_at.map(Timestamp::get))
        .bind(run.running_at.map(Timestamp::get))
        .bind(run.protected_until.map(Timestamp::get))
        .bind(run.charged_until.map(Timestamp::get))
        .bind(run.stop_decided_at.map(Timestamp::get))
        .bind(run.stop_by.map(Timestamp::get))
        .bind(run.stop_cause.map(|cause| word(&cause)))
        .bind(end.preemption.as_deref())
        .bind(end.ended.map(|(at, _)| at.0))
        .bind(end.ended.map(|(_, cause)| word(&cause)))
        .execute(db)
        .await?;
    Ok(())
}

/// Writes where a workload stands.
pub async fn set_workload(
    db: &mut Connection,
    id: WorkloadId,
    state: WorkloadState,
    starts: u32,
    launch_failures: u32,
    held_since: Option<Timestamp>,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/engine_set_workload.sql"))
        .bind(number(id.0))
        .bind(word(&state))
        .bind(i64::from(starts))
        .bind(i64::from(launch_failures))
        .bind(held_since.map(Timestamp::get))
        .execute(db)
        .await?;
    Ok(())
}

/// Writes that a workload is over.
pub async fn end_workload(
    db: &mut Connection,
    id: WorkloadId,
    state: WorkloadState,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/engine_end_workload.sql"))
        .bind(number(id.0))
        .bind(word(&state))
        .bind(at.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Writes a closed span of a run.
pub async fn insert_charge(
    db: &mut Connection,
    run: RunId,
    pool: &PoolId,
    period: &PeriodId,
    row: &ChargeRow,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/engine_insert_charge.sql"))
        .bind(number(run.0))
        .bind(row.node_id.as_str())
        .bind(pool.as_str())
        .bind(period.as_str())
        .bind(row.kind.as_str())
        .bind(i64::from(row.gpus))
        .bind(row.starts_at.0)
        .bind(row.ends_at.0)
        .bind(row.amount_gpu_seconds.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Closed spans that ended after an instant.
pub async fn charges_since(
    db: &mut Connection,
    pool: &PoolId,
    since: Timestamp,
) -> Result<Vec<ChargeRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/engine_charges_since.sql"))
        .bind(pool.as_str())
        .bind(since.0);
    Ok(rows.fetch_all(db).await?)
}

/// Allocated workloads that were there after an instant.
pub async fn demand_since(
    db: &mut Connection,
    pool: &PoolId,
    since: Timestamp,
) -> Result<Vec<DemandRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/engine_demand_since.sql"))
        .bind(pool.as_str())
        .bind(since.0);
    Ok(rows.fetch_all(db).await?)
}

/// An entry of the decision log that is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDecision {
    /// The workload it is about.
    pub workload: WorkloadId,
    /// The run, where there is one.
    pub run: Option<RunId>,
    /// What, in a word or two.
    pub what: &'static str,
    /// The sentence.
    pub sentence: String,
    /// The numbers, as JSON.
    pub body: String,
}

/// Writes an entry of the decision log.
pub async fn insert_decision(
    db: &mut Connection,
    at: Timestamp,
    decision: &NewDecision,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/engine_insert_decision.sql"))
        .bind(at.0)
        .bind(number(decision.workload.0))
        .bind(decision.run.map(|run| number(run.0)))
        .bind(decision.what)
        .bind(&decision.sentence)
        .bind(&decision.body)
        .execute(db)
        .await?;
    Ok(())
}

/// Adds an action to the outbox; one that is there already is left alone.
pub async fn insert_outbox(
    db: &mut Connection,
    run: RunId,
    generation: u32,
    action: &str,
    body: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/engine_insert_outbox.sql"))
        .bind(number(run.0))
        .bind(i64::from(generation))
        .bind(action)
        .bind(body)
        .bind(at.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Actions that are not known to be done.
pub async fn open_outbox(db: &mut Connection, pool: &PoolId) -> Result<Vec<OutboxRow>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/engine_open_outbox.sql"))
        .bind(pool.as_str())
        .fetch_all(db)
        .await?)
}

/// Notes that actions are done.
pub async fn performed(db: &mut Connection, ids: &[u64], at: Timestamp) -> Result<(), StoreError> {
    for id in ids {
        sqlx::query(include_str!("sql/engine_performed.sql"))
            .bind(number(*id))
            .bind(at.0)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

/// The highest number of any run.
pub async fn last_run(db: &mut Connection) -> Result<u64, StoreError> {
    let last: i64 = sqlx::query_scalar(include_str!("sql/engine_last_run.sql"))
        .fetch_one(db)
        .await?;
    Ok(last.unsigned_abs())
}

/// The highest number of any transaction of a pool's ledger.
pub async fn last_transaction(db: &mut Connection, pool: &PoolId) -> Result<u64, StoreError> {
    let last: i64 = sqlx::query_scalar(include_str!("sql/engine_last_transaction.sql"))
        .bind(pool.as_str())
        .fetch_one(db)
        .await?;
    Ok(last.unsigned_abs())
}
