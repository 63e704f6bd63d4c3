//! Who is signed in, and what surrounds every page.

use stint_core::api::session::{Me, PeriodOption, PoolOption, Shell};
use stint_core::api::{Code, Problem};
use stint_core::id::{PeriodId, PersonId, PoolId};
use stint_core::ledger::Period;

use super::{Caller, Moment, Service};
use crate::store::people;

impl Service {
    /// The person who asks.
    pub fn me(&self, caller: &Caller) -> Result<Me, Problem> {
        caller.person().cloned()
    }

    /// A person with their roles as of now; `None` when unknown or no longer active. For the layer that finds out
    /// who asks.
    pub async fn person(&self, id: &PersonId) -> Result<Option<Me>, Problem> {
        let mut db = self.store.read().await?;
        Ok(people::me(&mut db, id).await?)
    }

    /// What surrounds every page. A pool or period that doesn't exist falls back to the first and the current one:
    /// the page itself says what is wrong with the address.
    pub async fn shell(
        &self,
        caller: &Caller,
        pool: Option<&PoolId>,
        period: Option<&PeriodId>,
    ) -> Result<Shell, Problem> {
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let pool = pool.and_then(|id| ground.pool(Some(id)).ok());
        let pool = pool.map_or_else(|| ground.pool(None), Ok)?;
        let period = period.and_then(|id| ground.period(id).ok());
        let period = period.or_else(|| ground.current_period()).ok_or_else(|| {
            Problem::new(
                Code::NotFound,
                "There is no period yet; import an organisation first.",
            )
        })?;
        let view = self.hub.view(&pool.id);
        let pools = ground.pools.iter().map(|pool| PoolOption {
            id: pool.id.clone(),
            gpus: pool.gpus,
            hosts: pool.hosts,
        });
        Ok(Shell {
            as_of: ground.moment.as_of(),
            zone: ground.moment.zone.clone(),
            zone_short: ground.moment.zone_short(),
            speed: self.clock.speed(),
            me: caller.me.clone(),
            pools: pools.collect(),
            periods: period_options(&ground.periods, &ground.moment),
            pool: pool.id.clone(),
            period: period.id.clone(),
            queued: view.map_or(0, |view| view.order.len() as u64),
        })
    }

    /// Every period, newest first.
    pub async fn periods(&self, caller: &Caller) -> Result<Vec<PeriodOption>, Problem> {
        caller.person()?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        Ok(period_options(&ground.periods, &ground.moment))
    }
}

fn period_options(periods: &[Period], moment: &Moment) -> Vec<PeriodOption> {
    periods
        .iter()
        .map(|period| period_option(period, moment))
        .collect()
}

/// A period with its bounds in its own zone.
pub(super) fn period_option(period: &Period, moment: &Moment) -> PeriodOption {
    let own = Moment::new(moment.now, Some(&period.zone));
    PeriodOption {
        id: period.id.clone(),
        starts: own.time(period.starts),
        ends: own.time(period.ends),
        current: period.contains(moment.now),
    }
}
