//! What the engine lets the rest of the house see: the state after a pass, and the order of the queue with its
//! reasons, worked out once per pass.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use stint_core::id::{PoolId, WorkloadId};
use stint_core::sched::explain::{self, Entry};
use stint_core::sched::state::State;
use stint_core::units::Timestamp;

use crate::service::owed::Deliveries;

/// A pool as it was after a pass. Everything in it is true for the same instant.
#[derive(Debug)]
pub struct Published {
    /// The pool.
    pub pool: PoolId,
    /// Counts the passes since the server started.
    pub version: u64,
    /// The instant it is true for.
    pub at: Timestamp,
    /// The scheduler's state.
    pub state: State,
    /// Everything that waits, in the order in which the scheduler takes it.
    pub order: Vec<Entry>,
    places: BTreeMap<WorkloadId, u32>,
    deliveries: OnceLock<Deliveries>,
}

impl Published {
    /// A view of a state.
    pub fn new(pool: PoolId, version: u64, state: State) -> Self {
        let at = state.now();
        let order = explain::order(&state, at);
        let places = (1..)
            .zip(&order)
            .map(|(place, entry)| (entry.workload, place))
            .collect();
        Self {
            pool,
            version,
            at,
            state,
            order,
            places,
            deliveries: OnceLock::new(),
        }
    }

    /// What every leaf was owed and got in the look-back, added up when it is first asked for.
    pub fn deliveries(&self) -> &Deliveries {
        self.deliveries
            .get_or_init(|| Deliveries::of(&self.state, self.at))
    }

    /// The place of a workload in the queue, from 1.
    pub fn place(&self, workload: WorkloadId) -> Option<u32> {
        self.places.get(&workload).copied()
    }

    /// The entry of a waiting workload.
    pub fn entry(&self, workload: WorkloadId) -> Option<&Entry> {
        let place = self.place(workload)?;
        self.order.get(usize::try_from(place).ok()?.checked_sub(1)?)
    }
}
