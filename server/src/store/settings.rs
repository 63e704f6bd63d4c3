//! Settings: single values by key.

use super::{Connection, StoreError};

/// The value of a key.
pub async fn get(db: &mut Connection, key: &str) -> Result<Option<String>, StoreError> {
    let value = sqlx::query_scalar(include_str!("sql/settings_get.sql"))
        .bind(key)
        .fetch_optional(db)
        .await?;
    Ok(value)
}

/// Sets the value of a key.
pub async fn set(db: &mut Connection, key: &str, value: &str) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/settings_set.sql"))
        .bind(key)
        .bind(value)
        .execute(db)
        .await?;
    Ok(())
}
