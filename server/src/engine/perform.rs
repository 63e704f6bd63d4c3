//! The outbox: fleet actions that were decided, carried out until they are known to be done.

use stint_core::id::PoolId;
use stint_core::units::Timestamp;

use super::EngineError;
use crate::fleet::{Fleet, StartOrder, StopOrder};
use crate::store::engine as rows;
use crate::store::{Store, commit};

/// Carries out what is open, stops before starts. What fails stays open and is tried again in the next cycle.
pub(super) async fn perform(
    store: &Store,
    fleet: &dyn Fleet,
    pool: &PoolId,
    now: Timestamp,
) -> Result<usize, EngineError> {
    let mut db = store.read().await?;
    let open = rows::open_outbox(&mut db, pool).await?;
    drop(db);
    if open.is_empty() {
        return Ok(0);
    }
    let mut starts: Vec<StartOrder> = Vec::new();
    let mut stops: Vec<StopOrder> = Vec::new();
    for row in &open {
        let unreadable = |_| EngineError::Missing(format!("action {} of the outbox can't be read", row.id));
        if row.action == "start" {
            starts.push(serde_json::from_str(&row.body).map_err(unreadable)?);
        } else {
            stops.push(serde_json::from_str(&row.body).map_err(unreadable)?);
        }
    }
    if !stops.is_empty() {
        fleet.stop(&stops).await?;
    }
    if !starts.is_empty() {
        fleet.start(&starts).await?;
    }
    let done: Vec<u64> = open.iter().map(|row| row.id).collect();
    let mut db = store.write().await?;
    rows::performed(&mut db, &done, now).await?;
    commit(db).await?;
    Ok(done.len())
}
