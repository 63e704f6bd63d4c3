//! The engine: one task per pool that schedules it.
//!
//! One cycle: read the fleet and what requests have written, fold both into the state, decide (pure), and write
//! everything that follows in **one transaction**: runs, closed spans, holds, decisions with their reasons, and an
//! outbox of fleet actions. Then carry out the outbox, and publish. The next cycle's reading shows whether the fleet
//! did it. A crash between any two steps loses nothing and repeats nothing: a restart rebuilds the state from what
//! is stored, by the same path, and the outbox is carried out again, which changes nothing that was done.
//!
//! | room | what it holds |
//! | --- | --- |
//! | `load` | the state, rebuilt from what is stored |
//! | `intake` | what is new: readings of the fleet, workloads, cancellations, budgets |
//! | `record` | what a cycle changed, as rows |
//! | `perform` | the outbox |
//! | [`published`] | what the rest of the house sees |
//! | [`audit`] | stored rows against the state they give |
//!
//! The engine never acts on a request's data, only on stored state; requests write and ring the bell.

pub mod audit;
mod intake;
mod load;
mod perform;
pub mod published;
mod record;

use std::sync::Arc;
use std::time::Duration;

use stint_core::id::{PoolId, WorkloadId};
use stint_core::ledger::Period;
use stint_core::sched::decide;
use stint_core::sched::state::{Effect, State, StateError};
use stint_core::units::Timestamp;
use tokio::sync::watch;

use crate::clock::{Clock, wait};
use crate::fleet::{Fleet, FleetError};
use crate::import::replay;
use crate::service::hub::{Hub, Topic};
use crate::store::{Store, StoreError, commit, settings};
use published::Published;

/// Cycles are at least this far apart, so that a burst of events makes one pass. Real time.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// The longest time without a cycle, on the engine's clock.
const IDLE_S: u64 = 10;
/// Views are published at most this often: a view is a copy of the state.
const PUBLISH_EVERY: Duration = Duration::from_millis(250);
/// However busy the engine is, a view is published that often.
const PUBLISH_AT_LAST: Duration = Duration::from_secs(1);
/// How long the engine waits before it rebuilds its state after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Arrivals submitted in one cycle.
const ARRIVALS: u32 = 500;

/// Why the engine can't go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The fleet failed.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// Stored rows don't fit together.
    #[error("stored state does not fit together: {0}")]
    State(#[from] StateError),
    /// The ledger's rows don't fit together.
    #[error("the stored ledger does not fit together: {0}")]
    Ledger(#[from] stint_core::ledger::LedgerError),
    /// Something is not there, or not readable.
    #[error("{0}")]
    Missing(String),
}

/// What the engine works with.
#[derive(Clone)]
pub struct Means {
    /// The database.
    pub store: Store,
    /// The cluster.
    pub fleet: Arc<dyn Fleet>,
    /// The clock that everything reads.
    pub clock: Arc<dyn Clock>,
    /// Where requests ring and readers look.
    pub hub: Arc<Hub>,
}

/// The scheduler of one pool.
pub struct Engine {
    means: Means,
    pool: PoolId,
    state: State,
    period: Option<Period>,
    last_workload: WorkloadId,
    last_transaction: u64,
    views: Option<watch::Sender<Arc<Published>>>,
    version: u64,
    unpublished: Vec<WorkloadId>,
    stale: bool,
}

/// What a cycle did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// Workloads that started.
    pub starts: usize,
    /// Runs that were told to stop.
    pub stops: usize,
    /// Fleet actions that were carried out.
    pub actions: usize,
    /// Whether anything changed.
    pub changed: bool,
}

/// The key under which the instant is kept that a pool's state has reached.
fn at_key(pool: &PoolId) -> String {
    format!("engine.at:{pool}")
}

/// The last instant that any pool's engine had reached: where a scaled clock goes on after a restart.
pub async fn last_instant(store: &Store) -> Result<Option<Timestamp>, StoreError> {
    let mut db = store.read().await?;
    let mut last = None;
    for pool in crate::store::pools::all(&mut db).await? {
        let stored = settings::get(&mut db, &at_key(&pool.id)).await?;
        last = last.max(stored.and_then(|text| text.parse().ok()).map(Timestamp));
    }
    Ok(last)
}

impl Engine {
    /// The engine of a pool, its state rebuilt from what is stored.
    pub async fn load(means: Means, pool: PoolId) -> Result<Self, EngineError> {
        let loaded = load::load(&means.store, &pool, means.clock.now()).await?;
        let mut engine = Self {
            means,
            pool,
            state: loaded.state,
            period: loaded.period,
            last_workload: loaded.last_workload,
            last_transaction: loaded.last_transaction,
            views: None,
            version: 0,
            unpublished: Vec::new(),
            stale: true,
        };
        engine.publish();
        Ok(engine)
    }

    /// The state that the engine has reached.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// One cycle.
    pub async fn cycle(&mut self) -> Result<Cycle, EngineError> {
        let now = self.means.clock.now().max(self.state.now());
        replay::next_arrivals(&self.means.store, now, ARRIVALS).await?;
        let reading = self.means.fleet.read().await?;
        let mut taken = self.take_in(&reading, now).await?;
        let effects = self.state.advance(now)?;
        taken.note(effects);
        let decisions = decide(&self.state, now);
        let effects = self.state.commit(&decisions);
        taken.note(effects);
        let changed = !taken.effects.is_empty() || !decisions.is_empty() || taken.rates_changed;
        if changed {
            self.record(&taken, &decisions, now).await?;
            self.unpublished.extend(taken.workloads());
            let changed = intake::changed_runs(&self.state, &taken.effects);
            self.unpublished
                .extend(changed.into_iter().map(|run| run.workload));
            self.stale = true;
        }
        let actions = self.perform(now).await?;
        if !taken.over.is_empty() {
            self.means.fleet.forget(&taken.over).await?;
        }
        self.state.forget();
        metrics::counter!("stint_engine_cycles_total").increment(1);
        Ok(Cycle {
            starts: decisions.starts.len(),
            stops: decisions.stops.len(),
            actions,
            changed,
        })
    }

    /// Shows the rest of the house where things stand, and tells those who listen what changed.
    pub fn publish(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.version += 1;
        let view = Arc::new(Published::new(
            self.pool.clone(),
            self.version,
            self.state.clone(),
        ));
        let hub = &self.means.hub;
        match &self.views {
            Some(views) => {
                views.send_replace(view);
            }
            None => self.views = Some(hub.attach(self.pool.clone(), view)),
        }
        for topic in [Topic::Queue, Topic::Hosts, Topic::Standing] {
            hub.announce(topic(self.pool.clone()));
        }
        self.unpublished.sort_unstable();
        self.unpublished.dedup();
        for workload in self.unpublished.drain(..) {
            hub.announce(Topic::Workload(workload));
        }
    }

    /// Schedules until told to stop. A failure is logged, and the state rebuilt from what is stored.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut since_published = PUBLISH_EVERY;
        while !*stop.borrow() {
            let busy = match self.cycle().await {
                Ok(cycle) => cycle.actions > 0,
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, pool = %self.pool, "a cycle failed");
                    self.recover(&mut stop).await;
                    continue;
                }
            };
            let pause = if busy { DEBOUNCE } else { self.pause() };
            // While actions are on their way the next cycle has the better view: whoever was pinned has started by then.
            let settled = !busy && (since_published >= PUBLISH_EVERY || pause > DEBOUNCE);
            if settled || since_published >= PUBLISH_AT_LAST {
                self.publish();
                since_published = Duration::ZERO;
            }
            wait(DEBOUNCE).await;
            since_published += DEBOUNCE;
            if pause > DEBOUNCE {
                tokio::select! {
                    () = wait(pause.saturating_sub(DEBOUNCE)) => {}
                    () = self.means.hub.woken() => {}
                    _ = stop.changed() => {}
                }
                since_published = PUBLISH_EVERY;
            }
        }
    }

    /// Until when nothing can happen by itself, in real time.
    fn pause(&self) -> Duration {
        let speed = u64::from(self.means.clock.speed().max(1));
        let timer = self
            .state
            .next_timer()
            .map(|at| at.since(self.means.clock.now()).0.max(0).unsigned_abs());
        let seconds = timer.unwrap_or(IDLE_S).min(IDLE_S);
        Duration::from_millis(seconds * 1_000 / speed).max(DEBOUNCE)
    }

    async fn recover(&mut self, stop: &mut watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = wait(AFTER_FAILURE) => {}
                _ = stop.changed() => return,
            }
            match load::load(&self.means.store, &self.pool, self.means.clock.now()).await {
                Ok(loaded) => {
                    self.state = loaded.state;
                    self.period = loaded.period;
                    self.last_workload = loaded.last_workload;
                    self.last_transaction = loaded.last_transaction;
                    self.stale = true;
                    return;
                }
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, pool = %self.pool, "can't rebuild");
                }
            }
        }
    }

    async fn record(
        &self,
        taken: &intake::Taken,
        decisions: &stint_core::sched::Decisions,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let mut db = self.means.store.write().await?;
        let periods = crate::store::periods::all(&mut db).await?;
        record::record(&mut db, &self.pool, &self.state, &periods, taken, decisions).await?;
        settings::set(&mut db, &at_key(&self.pool), &now.0.to_string()).await?;
        Ok(commit(db).await?)
    }

    async fn perform(&self, now: Timestamp) -> Result<usize, EngineError> {
        perform::perform(&self.means.store, self.means.fleet.as_ref(), &self.pool, now).await
    }
}

/// Effects of one cycle, with the instant each came at.
pub(crate) type Dated = (Timestamp, Effect);
