//! What is new since the last cycle, put in the order of time and folded into the state.

use std::collections::BTreeSet;

use stint_core::id::{RunId, WorkloadId};
use stint_core::ledger::quarter_at;
use stint_core::sched::contract::HostState;
use stint_core::sched::run::{Phase, Run};
use stint_core::sched::state::{Effect, Event, State};
use stint_core::units::Timestamp;

use super::{Dated, Engine, EngineError, load};
use crate::fleet::{Reading, RunSeen};
use crate::store::{Connection, commit, engine as rows, nodes, periods, pools};

/// New workloads read in one cycle; more are read in the next.
const NEW_WORKLOADS: u32 = 5_000;

/// What a cycle took in and what it brought about.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Effects with the instant each came at.
    pub(crate) effects: Vec<Dated>,
    /// Runs that the fleet says are over, and that it may forget once that is written.
    pub(crate) over: Vec<RunId>,
    /// Whether budgets changed.
    pub(crate) rates_changed: bool,
    at: Timestamp,
}

impl Taken {
    /// Notes effects of the instant that was reached.
    pub(crate) fn note(&mut self, effects: Vec<Effect>) {
        let at = self.at;
        self.effects
            .extend(effects.into_iter().map(|effect| (at, effect)));
    }

    /// Workloads that were queued, requeued, given up or are over.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = WorkloadId> + '_ {
        self.effects.iter().filter_map(|(_, effect)| match effect {
            Effect::WorkloadChanged(id) | Effect::WorkloadOver(id, _) => Some(*id),
            Effect::RunEnded(run, _) | Effect::RunDropped(run) => Some(run.workload),
            _ => None,
        })
    }
}

impl Engine {
    /// Folds everything new into the state.
    pub(super) async fn take_in(&mut self, reading: &Reading, now: Timestamp) -> Result<Taken, EngineError> {
        let mut taken = Taken::default();
        let mut events = self.seen(reading, &mut taken);
        let mut db = self.means.store.read().await?;
        self.submitted(&mut db, &mut events).await?;
        for workload in rows::cancels(&mut db, &self.pool).await? {
            events.push((now, Event::Cancelled(workload)));
        }
        self.budgets(&mut db, now, &mut events, &mut taken).await?;
        drop(db);
        events.sort_by_key(|(at, _)| *at);
        for (at, event) in events {
            // What is reported late counts from when it is known: time does not go back.
            let at = at.clamp(self.state.now(), now.max(self.state.now()));
            taken.at = at;
            match self.state.apply(at, event) {
                Ok(effects) => taken.note(effects),
                Err(error) => {
                    tracing::warn!(%error, pool = %self.pool, "an event does not fit and is left out");
                }
            }
        }
        taken.at = now;
        Ok(taken)
    }

    /// What a reading of the fleet says that the state does not know yet.
    fn seen(&self, reading: &Reading, taken: &mut Taken) -> Vec<(Timestamp, Event)> {
        let mut events = Vec::new();
        for (run, seen) in &reading.runs {
            match (self.state.runs().get(run), seen) {
                (None, RunSeen::Ended { .. }) => taken.over.push(*run),
                (Some(known), RunSeen::Running { since }) => {
                    if matches!(known.phase, Phase::Starting { .. }) {
                        events.push((*since, Event::Running(*run)));
                    }
                }
                (Some(known), RunSeen::Ended { at, cause }) => {
                    // It may have started and ended between two readings.
                    if matches!(known.phase, Phase::Starting { .. }) {
                        events.push((known.assigned().unwrap_or(*at), Event::Running(*run)));
                    }
                    events.push((*at, Event::Ended(*run, *cause)));
                    taken.over.push(*run);
                }
                (None, _) | (Some(_), RunSeen::Starting) => {}
            }
        }
        for (host, state) in &reading.hosts {
            if let Some(ix) = self
                .state
                .find_host(host)
                .filter(|ix| self.state.host(*ix).state != *state)
            {
                events.push((reading.at, Event::Host(host.clone(), *state)));
                if *state == HostState::Down {
                    let lost = self.state.host(ix).runs.iter();
                    events.extend(lost.map(|run| (reading.at, host_failed(*run))));
                }
            }
        }
        events
    }

    async fn submitted(
        &mut self,
        db: &mut Connection,
        events: &mut Vec<(Timestamp, Event)>,
    ) -> Result<(), EngineError> {
        for row in rows::new_workloads(db, &self.pool, self.last_workload, NEW_WORKLOADS).await? {
            self.last_workload = self.last_workload.max(row.id);
            events.push((row.submitted_at, Event::Submitted(row.contract())));
        }
        Ok(())
    }

    /// Rates and grants, where the ledger or the period changed.
    async fn budgets(
        &mut self,
        db: &mut Connection,
        now: Timestamp,
        events: &mut Vec<(Timestamp, Event)>,
        taken: &mut Taken,
    ) -> Result<(), EngineError> {
        let last = rows::last_transaction(db, &self.pool).await?;
        let same_period = self.period.as_ref().is_some_and(|period| period.contains(now));
        if last == self.last_transaction && same_period {
            return Ok(());
        }
        let Some(organisation) = nodes::organisation(db).await? else {
            return Ok(());
        };
        let Some(pool) = pools::all(db)
            .await?
            .into_iter()
            .find(|pool| pool.id == self.pool)
        else {
            return Ok(());
        };
        let all = periods::all(db).await?;
        let period = match all.iter().find(|period| period.contains(now)) {
            Some(period) => period.clone(),
            None => match all.iter().max_by_key(|period| period.ends) {
                Some(last) => self.begin_period(&last.zone, now).await?,
                None => return Ok(()),
            },
        };
        let book = load::book(db, &pool, &organisation.org, &period).await?;
        let from = if same_period { now } else { period.starts };
        if self.period.as_ref().is_none_or(|known| known.id != period.id) {
            events.push((from, Event::PeriodBegins));
        }
        let grants = book
            .balances()
            .map(|balance| (balance.node, balance.own))
            .collect();
        events.push((from, Event::Rates(book.rates())));
        events.push((from, Event::Granted(grants)));
        taken.rates_changed = true;
        self.last_transaction = last;
        self.period = Some(period);
        Ok(())
    }

    /// The calendar goes on by itself; what nobody granted is nobody's.
    async fn begin_period(
        &self,
        zone: &str,
        now: Timestamp,
    ) -> Result<stint_core::ledger::Period, EngineError> {
        let period = quarter_at(zone, now)
            .map_err(|error| EngineError::Missing(format!("the next period: {error}")))?;
        let mut db = self.means.store.write().await?;
        periods::insert(&mut db, &period).await?;
        commit(db).await?;
        Ok(period)
    }
}

fn host_failed(run: RunId) -> Event {
    Event::Ended(run, stint_core::sched::contract::EndCause::HostFailed)
}

/// Runs that a cycle changed and that are not over.
pub(super) fn changed_runs<'s>(state: &'s State, effects: &[Dated]) -> Vec<&'s Run> {
    let changed: BTreeSet<RunId> = effects
        .iter()
        .filter_map(|(_, effect)| match effect {
            Effect::Assigned(run) | Effect::RunChanged(run) => Some(*run),
            _ => None,
        })
        .collect();
    changed.iter().filter_map(|run| state.runs().get(run)).collect()
}
