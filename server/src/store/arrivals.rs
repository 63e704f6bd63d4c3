//! Recorded demand that is still to come: workloads that are submitted when the clock gets there.

use std::collections::BTreeSet;

use stint_core::units::Timestamp;

use super::row::from_row;
use super::{Connection, StoreError};

/// One workload to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalRow {
    /// Its name in the recording, and its workload's name in another system.
    pub external_id: String,
    /// When it is submitted.
    pub submit_at: Timestamp,
    /// What it asks for, as JSON.
    pub spec: String,
}
from_row!(ArrivalRow {
    external_id,
    submit_at,
    spec
});

/// Everything to come, in the order of submission.
pub async fn all(db: &mut Connection) -> Result<Vec<ArrivalRow>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/arrivals_all.sql"))
        .fetch_all(db)
        .await?)
}

/// What is to be submitted up to an instant, in the order of submission, at most `limit`.
pub async fn due(db: &mut Connection, up_to: Timestamp, limit: u32) -> Result<Vec<ArrivalRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/arrivals_due.sql"))
        .bind(up_to.0)
        .bind(i64::from(limit))
        .fetch_all(db)
        .await?;
    Ok(rows)
}

/// When the next one is to be submitted.
pub async fn next(db: &mut Connection) -> Result<Option<Timestamp>, StoreError> {
    let next: Option<i64> = sqlx::query_scalar(include_str!("sql/arrivals_next.sql"))
        .fetch_one(db)
        .await?;
    Ok(next.map(Timestamp))
}

/// Adds one.
pub async fn insert(db: &mut Connection, row: &ArrivalRow) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/arrivals_insert.sql"))
        .bind(&row.external_id)
        .bind(row.submit_at.0)
        .bind(&row.spec)
        .execute(db)
        .await?;
    Ok(())
}

/// Takes one away, in the transaction that submits it.
pub async fn delete(db: &mut Connection, external_id: &str) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/arrivals_delete.sql"))
        .bind(external_id)
        .execute(db)
        .await?;
    Ok(())
}

/// The names in other systems that workloads have already.
pub async fn submitted(db: &mut Connection) -> Result<BTreeSet<String>, StoreError> {
    let ids: Vec<String> = sqlx::query_scalar(include_str!("sql/workloads_external_ids.sql"))
        .fetch_all(db)
        .await?;
    Ok(ids.into_iter().collect())
}
