//! A fleet that exists only in its own table: hosts that are always there, runs that end when their time is up.
//!
//! Like a real one it outlives the server: a run that was launched goes on while nobody looks. It reads the same
//! clock as everything else.

use std::sync::Arc;

use async_trait::async_trait;
use stint_core::id::RunId;
use stint_core::sched::contract::EndCause;
use stint_core::units::Seconds;

use super::{Fleet, FleetError, Reading, RunSeen, StartOrder, StopOrder};
use crate::clock::Clock;
use crate::store::simulated::{self, SimulatedRun};
use crate::store::{Store, StoreError, commit};

/// How long a workload runs that doesn't say.
const DEFAULT_RUNTIME: Seconds = Seconds::from_hours(1);

/// The simulated fleet.
pub struct SimulatedFleet {
    store: Store,
    clock: Arc<dyn Clock>,
}

impl SimulatedFleet {
    /// The fleet whose hosts and runs are in a store.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }
}

impl From<StoreError> for FleetError {
    fn from(error: StoreError) -> Self {
        Self::Unreachable(Box::new(error))
    }
}

#[async_trait]
impl Fleet for SimulatedFleet {
    async fn read(&self) -> Result<Reading, FleetError> {
        let at = self.clock.now();
        let mut db = self.store.read().await?;
        let hosts = simulated::hosts(&mut db).await?;
        let runs = simulated::unseen(&mut db).await?;
        let seen = |run: SimulatedRun| {
            let over = run.over_by(at);
            let seen = match over {
                Some((at, cause)) => RunSeen::Ended { at, cause },
                None => RunSeen::Running {
                    since: run.started_at,
                },
            };
            (run.run_id, seen)
        };
        Ok(Reading {
            complete: true,
            at,
            hosts,
            runs: runs.into_iter().map(seen).collect(),
        })
    }

    async fn start(&self, orders: &[StartOrder]) -> Result<(), FleetError> {
        let now = self.clock.now();
        let mut db = self.store.write().await?;
        for order in orders {
            let ran = simulated::ran(&mut db, order.workload).await?;
            let runtime = order.simulated_runtime.unwrap_or(DEFAULT_RUNTIME);
            let left = Seconds((runtime.0 - ran.0).max(1));
            simulated::start(&mut db, order, now, now + left).await?;
        }
        Ok(commit(db).await?)
    }

    async fn stop(&self, orders: &[StopOrder]) -> Result<(), FleetError> {
        let now = self.clock.now();
        let mut db = self.store.write().await?;
        for order in orders {
            simulated::stop(&mut db, order, order.by.max(now)).await?;
        }
        Ok(commit(db).await?)
    }

    async fn forget(&self, runs: &[RunId]) -> Result<(), FleetError> {
        let now = self.clock.now();
        let mut db = self.store.write().await?;
        for run in runs {
            simulated::forget(&mut db, *run, now).await?;
        }
        Ok(commit(db).await?)
    }
}

impl SimulatedRun {
    /// When and how it was over, if it was by an instant: whichever came first, its own end or the kill.
    fn over_by(&self, at: stint_core::units::Timestamp) -> Option<(stint_core::units::Timestamp, EndCause)> {
        let stopped = self
            .stop_at
            .zip(self.cause)
            .filter(|(stop, _)| *stop < self.ends_at);
        let (end, cause) = stopped.unwrap_or((self.ends_at, EndCause::Finished));
        (end <= at).then_some((end, cause))
    }
}
