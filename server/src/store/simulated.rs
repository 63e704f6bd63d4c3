//! The simulated fleet's own memory.

use stint_core::id::{HostId, RunId, WorkloadId};
use stint_core::sched::contract::{EndCause, HostState};
use stint_core::units::{Seconds, Timestamp};

use super::row::{from_row, number, word};
use super::{Connection, StoreError};
use crate::fleet::{StartOrder, StopOrder};

/// A run on the simulated fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedRun {
    /// The run.
    pub run_id: RunId,
    /// When it was launched.
    pub started_at: Timestamp,
    /// When it ends by itself.
    pub ends_at: Timestamp,
    /// When it is killed.
    pub stop_at: Option<Timestamp>,
    /// What it is killed for.
    pub cause: Option<EndCause>,
}
from_row!(SimulatedRun {
    run_id,
    started_at,
    ends_at,
    stop_at,
    cause
});

struct HostRow {
    id: HostId,
    state: HostState,
}
from_row!(HostRow { id, state });

/// All hosts and their states.
pub async fn hosts(db: &mut Connection) -> Result<Vec<(HostId, HostState)>, StoreError> {
    let rows: Vec<HostRow> = sqlx::query_as(include_str!("sql/simulated_hosts.sql"))
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.state)).collect())
}

/// Runs that have not been forgotten.
pub async fn unseen(db: &mut Connection) -> Result<Vec<SimulatedRun>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/simulated_unseen.sql"))
        .fetch_all(db)
        .await?)
}

/// For how long a workload has run so far, in runs that are over.
pub async fn ran(db: &mut Connection, workload: WorkloadId) -> Result<Seconds, StoreError> {
    let ran: i64 = sqlx::query_scalar(include_str!("sql/simulated_ran.sql"))
        .bind(number(workload.0))
        .fetch_one(db)
        .await?;
    Ok(Seconds(ran))
}

/// Launches a run; one that is there already is left alone.
pub async fn start(
    db: &mut Connection,
    order: &StartOrder,
    now: Timestamp,
    ends: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/simulated_start.sql"))
        .bind(number(order.run.0))
        .bind(number(order.workload.0))
        .bind(i64::from(order.generation))
        .bind(serde_json::to_string(&order.hosts).unwrap_or_default())
        .bind(now.0)
        .bind(ends.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Tells a run to be gone by an instant, unless it was told before.
pub async fn stop(db: &mut Connection, order: &StopOrder, by: Timestamp) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/simulated_stop.sql"))
        .bind(number(order.run.0))
        .bind(i64::from(order.generation))
        .bind(by.0)
        .bind(word(&order.cause))
        .execute(db)
        .await?;
    Ok(())
}

/// Forgets a run that is over.
pub async fn forget(db: &mut Connection, run: RunId, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/simulated_forget.sql"))
        .bind(number(run.0))
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}
