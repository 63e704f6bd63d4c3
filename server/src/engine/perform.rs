//! The outbox: fleet actions that were decided, carried out until they are known to be done.

use serde::de::DeserializeOwned;
use stint_core::id::PoolId;
use stint_core::units::Timestamp;

use super::EngineError;
use crate::fleet::{Fleet, StartOrder, StopOrder};
use crate::store::engine::{self as rows, OutboxRow};
use crate::store::{Store, commit};

/// Carries out what is open, in the order in which it was decided: a run that is launched and told to stop in one
/// breath must be there when it is told. What fails stays open and is tried again in the next cycle.
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
    for batch in open.chunk_by(|a, b| a.action == b.action) {
        if batch.iter().any(|row| row.action == "start") {
            fleet.start(&orders::<StartOrder>(batch)?).await?;
        } else {
            fleet.stop(&orders::<StopOrder>(batch)?).await?;
        }
    }
    let done: Vec<u64> = open.iter().map(|row| row.id).collect();
    let mut db = store.write().await?;
    rows::performed(&mut db, &done, now).await?;
    commit(db).await?;
    Ok(done.len())
}

fn orders<T: DeserializeOwned>(rows: &[OutboxRow]) -> Result<Vec<T>, EngineError> {
    let order = |row: &OutboxRow| {
        serde_json::from_str(&row.body)
            .map_err(|_| EngineError::Missing(format!("action {} of the outbox can't be read", row.id)))
    };
    rows.iter().map(order).collect()
}
