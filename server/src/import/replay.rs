//! Arrivals that are due become workloads.

use serde::{Deserialize, Serialize};
use stint_core::id::{PoolId, WorkloadId};
use stint_core::input::trace::TraceRow;
use stint_core::units::Timestamp;

use crate::store::arrivals::{self, ArrivalRow};
use crate::store::workloads::{self, NewWorkload, WorkloadRecord};
use crate::store::{Connection, Store, StoreError, commit};

/// What an arrival asks for, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recorded {
    /// The pool it is submitted to.
    pub(super) pool: PoolId,
    /// The row of the trace.
    pub(super) row: TraceRow,
}

impl Recorded {
    /// The workload that it submits.
    pub(super) fn workload(&self, submit_at: Timestamp) -> NewWorkload {
        let row = &self.row;
        NewWorkload {
            pool_id: self.pool.clone(),
            external_id: Some(row.id.clone()),
            name: format!("{} {}", row.kind.label(), row.id),
            contract: row.workload(WorkloadId(0), submit_at - row.submit),
            simulated_runtime: Some(row.duration),
        }
    }

    /// As it was stored.
    pub(super) fn read(arrival: &ArrivalRow) -> Result<Self, StoreError> {
        serde_json::from_str(&arrival.spec).map_err(|source| StoreError::Unreadable {
            what: "arrival",
            source: source.into(),
        })
    }

    /// As it is stored.
    pub(super) fn arrival(&self, submit_at: Timestamp) -> Result<ArrivalRow, StoreError> {
        let spec = serde_json::to_string(self).map_err(|source| StoreError::Unreadable {
            what: "arrival",
            source: source.into(),
        })?;
        Ok(ArrivalRow {
            external_id: self.row.id.clone(),
            submit_at,
            spec,
        })
    }
}

/// A stored workload as it was when it was new.
pub(super) fn as_submitted(record: &WorkloadRecord) -> NewWorkload {
    let mut contract = record.contract();
    contract.id = WorkloadId(0);
    NewWorkload {
        pool_id: record.pool_id.clone(),
        external_id: record.external_id.clone(),
        name: record.name.clone(),
        contract,
        simulated_runtime: record.simulated_runtime_s,
    }
}

/// Submits at most `limit` arrivals that are due, the earliest first, and takes them off the list in the same
/// transaction. Each is submitted once, however often this runs or is cut short.
///
/// Asks before it writes: most of the time nothing is due, and the engine asks often.
pub async fn next_arrivals(
    store: &Store,
    up_to: Timestamp,
    limit: u32,
) -> Result<Vec<WorkloadId>, StoreError> {
    let mut reading = store.read().await?;
    let next = arrivals::next(&mut reading).await?;
    drop(reading);
    if next.is_none_or(|next| next > up_to) {
        return Ok(Vec::new());
    }
    let mut transaction = store.write().await?;
    let submitted = submit_due(&mut transaction, up_to, limit).await?;
    commit(transaction).await?;
    Ok(submitted)
}

pub(super) async fn submit_due(
    db: &mut Connection,
    up_to: Timestamp,
    limit: u32,
) -> Result<Vec<WorkloadId>, StoreError> {
    let mut submitted = Vec::new();
    for arrival in arrivals::due(&mut *db, up_to, limit).await? {
        let known = workloads::by_external_id(&mut *db, &arrival.external_id).await?;
        if known.is_none() {
            let workload = Recorded::read(&arrival)?.workload(arrival.submit_at);
            submitted.push(workloads::insert(&mut *db, &workload).await?);
        }
        arrivals::delete(&mut *db, &arrival.external_id).await?;
    }
    Ok(submitted)
}
