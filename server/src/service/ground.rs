//! What most use cases begin with: the organisation, pools and periods as they are now.

use stint_core::api::{Code, Problem};
use stint_core::id::{NodeId, PeriodId, PoolId};
use stint_core::ledger::{Period, Reserve, budgetable};
use stint_core::org::NodeIx;
use stint_core::units::{GpuSeconds, Gpus};

use super::{Moment, Service};
use crate::store::nodes::Organisation;
use crate::store::pools::PoolRow;
use crate::store::{Connection, nodes, periods, pools};

/// The organisation, pools and periods as one transaction sees them, and the instant of asking.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    pub(super) organisation: Organisation,
    pub(super) pools: Vec<PoolRow>,
    /// Newest first.
    pub(super) periods: Vec<Period>,
    pub(super) moment: Moment,
}

impl Service {
    /// Loads the ground.
    ///
    /// # Errors
    /// A problem before an organisation is imported.
    pub(super) async fn ground(&self, db: &mut Connection) -> Result<Ground, Problem> {
        let organisation = nodes::organisation(db).await?.ok_or_else(|| {
            Problem::new(
                Code::NotFound,
                "There is no organisation yet; import one with `stint import org FILE`.",
            )
        })?;
        let pools = pools::all(db).await?;
        let periods = periods::all(db).await?;
        let now = self.clock.now();
        let zone = current(&periods, now).map(|period| period.zone.as_str());
        let moment = Moment::new(now, zone);
        Ok(Ground {
            organisation,
            pools,
            periods,
            moment,
        })
    }
}

/// The period of an instant; the newest when none covers it.
fn current(periods: &[Period], now: stint_core::units::Timestamp) -> Option<&Period> {
    periods
        .iter()
        .find(|period| period.contains(now))
        .or_else(|| periods.first())
}

impl Ground {
    /// The pool that was asked for; the first one if none was.
    ///
    /// # Errors
    /// A problem that lists the pools there are.
    pub(super) fn pool(&self, asked: Option<&PoolId>) -> Result<&PoolRow, Problem> {
        let found = match asked {
            Some(id) => self.pools.iter().find(|pool| pool.id == *id),
            None => self.pools.first(),
        };
        found.ok_or_else(|| match asked {
            Some(id) => {
                let known: Vec<&str> = self.pools.iter().map(|pool| pool.id.as_str()).collect();
                Problem::field("pool", id.as_str(), format!("one of {}", known.join(", ")))
            }
            None => Problem::new(
                Code::NotFound,
                "There is no pool yet; import one with `stint import hosts FILE`.",
            ),
        })
    }

    /// The period of now; the newest when none covers it.
    pub(super) fn current_period(&self) -> Option<&Period> {
        current(&self.periods, self.moment.now)
    }

    /// A period by its name.
    ///
    /// # Errors
    /// Not found, when there is none.
    pub(super) fn period(&self, id: &PeriodId) -> Result<&Period, Problem> {
        let found = self.periods.iter().find(|period| period.id == *id);
        found.ok_or_else(|| Problem::new(Code::NotFound, format!("There is no period {id}.")))
    }

    /// A node that a field names.
    ///
    /// # Errors
    /// A problem that names the field.
    pub(super) fn node(&self, field: &str, id: &NodeId) -> Result<NodeIx, Problem> {
        self.organisation
            .org
            .find(id)
            .ok_or_else(|| Problem::field(field, id.as_str(), "the id of an organisation node"))
    }

    /// Names from the root to a node.
    pub(super) fn path_names(&self, ix: NodeIx) -> Vec<String> {
        let org = &self.organisation.org;
        org.path(ix)
            .into_iter()
            .map(|at| org.node(at).name.clone())
            .collect()
    }

    /// What a pool can hand out in a period.
    pub(super) fn capacity(pool: &PoolRow, period: &Period) -> GpuSeconds {
        Reserve::from_bp(pool.reserve_bp).map_or(GpuSeconds::ZERO, |reserve| {
            budgetable(Gpus(pool.gpus), period.length(), reserve)
        })
    }
}
