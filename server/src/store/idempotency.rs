//! Answers kept by idempotency key, so that a request sent twice is carried out once.
//!
//! The answer is written in the transaction that carries the request out: a key without an answer can't be seen.

use stint_core::id::PersonId;
use stint_core::units::Timestamp;

use super::row::from_row;
use super::{Connection, StoreError};

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRow {
    /// What the request was, as a digest.
    pub body_hash: String,
    /// The HTTP status; absent while the request is under way.
    pub status: Option<u16>,
    /// The body, as JSON.
    pub response: Option<String>,
}
from_row!(AnswerRow {
    body_hash,
    status,
    response
});

/// The answer under a person's key.
pub async fn find(
    db: &mut Connection,
    person: &PersonId,
    key: &str,
) -> Result<Option<AnswerRow>, StoreError> {
    let found = sqlx::query_as(include_str!("sql/idempotency_find.sql"))
        .bind(person.as_str())
        .bind(key)
        .fetch_optional(db)
        .await?;
    Ok(found)
}

/// Keeps an answer.
pub async fn insert(
    db: &mut Connection,
    person: &PersonId,
    key: &str,
    answer: &AnswerRow,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/idempotency_insert.sql"))
        .bind(person.as_str())
        .bind(key)
        .bind(&answer.body_hash)
        .bind(answer.status.map(i64::from))
        .bind(answer.response.as_deref())
        .bind(at.0)
        .execute(db)
        .await?;
    Ok(())
}
