//! The audit log: who changed what, when and why. Rows are inserted and never changed.

use stint_core::id::PersonId;
use stint_core::units::Timestamp;

use super::row::from_row;
use super::{Connection, StoreError};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub person_id: PersonId,
    /// Their name at that time.
    pub person_name: String,
    /// What was done, such as `budget.move`.
    pub action: String,
    /// To what.
    pub subject: String,
    /// What it was before, as JSON.
    pub before: Option<String>,
    /// What it is after, as JSON.
    pub after: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// The request it came with.
    pub request_id: Option<String>,
}
from_row!(AuditRow {
    at,
    person_id,
    person_name,
    action,
    subject,
    before,
    after,
    reason,
    request_id
});

/// Notes a change, in the transaction that makes it.
pub async fn insert(db: &mut Connection, row: &AuditRow) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/audit_log_insert.sql"))
        .bind(row.at.0)
        .bind(row.person_id.as_str())
        .bind(&row.person_name)
        .bind(&row.action)
        .bind(&row.subject)
        .bind(row.before.as_deref())
        .bind(row.after.as_deref())
        .bind(row.reason.as_deref())
        .bind(row.request_id.as_deref())
        .execute(db)
        .await?;
    Ok(())
}

/// What was done to a subject, newest first, at most `limit`.
pub async fn of_subject(db: &mut Connection, subject: &str, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/audit_log_of_subject.sql"))
        .bind(subject)
        .bind(i64::from(limit))
        .fetch_all(db)
        .await?;
    Ok(rows)
}
