//! Periods: their bounds, as they were computed once.

use stint_core::id::PeriodId;
use stint_core::units::Timestamp;

use super::row::from_row;
use super::{Connection, StoreError};

/// One period as stored: half-open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeriodRow {
    /// The period.
    pub id: PeriodId,
    /// Its first instant.
    pub starts_at: Timestamp,
    /// The first instant after it.
    pub ends_at: Timestamp,
    /// The IANA zone it was cut in.
    pub zone: String,
}
from_row!(PeriodRow {
    id,
    starts_at,
    ends_at,
    zone
});

impl PeriodRow {
    /// Whether an instant lies in it.
    pub fn contains(&self, at: Timestamp) -> bool {
        (self.starts_at..self.ends_at).contains(&at)
    }
}

/// Every period, newest first.
pub async fn all(db: &mut Connection) -> Result<Vec<PeriodRow>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/periods_all.sql"))
        .fetch_all(db)
        .await?)
}

/// One period.
pub async fn find(db: &mut Connection, id: &PeriodId) -> Result<Option<PeriodRow>, StoreError> {
    let found = sqlx::query_as(include_str!("sql/periods_find.sql"))
        .bind(id.as_str())
        .fetch_optional(db)
        .await?;
    Ok(found)
}

/// Adds a period.
pub async fn insert(db: &mut Connection, period: &PeriodRow) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/periods_insert.sql"))
        .bind(period.id.as_str())
        .bind(period.starts_at.0)
        .bind(period.ends_at.0)
        .bind(&period.zone)
        .execute(db)
        .await?;
    Ok(())
}
