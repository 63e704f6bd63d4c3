//! Periods: their bounds, as they were computed once.

use stint_core::id::PeriodId;
use stint_core::ledger::Period;
use stint_core::units::Timestamp;

use super::row::from_row;
use super::{Connection, StoreError};

struct PeriodRow {
    id: PeriodId,
    starts_at: Timestamp,
    ends_at: Timestamp,
    zone: String,
}
from_row!(PeriodRow {
    id,
    starts_at,
    ends_at,
    zone
});

impl From<PeriodRow> for Period {
    fn from(row: PeriodRow) -> Self {
        Self {
            id: row.id,
            starts: row.starts_at,
            ends: row.ends_at,
            zone: row.zone,
        }
    }
}

/// Every period, newest first.
pub async fn all(db: &mut Connection) -> Result<Vec<Period>, StoreError> {
    let rows: Vec<PeriodRow> = sqlx::query_as(include_str!("sql/periods_all.sql"))
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(Period::from).collect())
}

/// Adds a period.
pub async fn insert(db: &mut Connection, period: &Period) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/periods_insert.sql"))
        .bind(period.id.as_str())
        .bind(period.starts.0)
        .bind(period.ends.0)
        .bind(&period.zone)
        .execute(db)
        .await?;
    Ok(())
}
