//! The numbers that operators watch: from the same queries and the same published view as the screens.

use stint_core::api::Problem;
use stint_core::api::fleet::PoolView;
use stint_core::api::standing::StandingRow;
use stint_core::id::NodeId;
use stint_core::ledger::Used;
use stint_core::units::GpuSeconds;

use super::Service;
use super::budgets::Budgets;
use super::fleet::pool_view;
use super::standing::Tally;

/// Nodes that get series of their own: a label per node must not outgrow what a monitoring system keeps.
const MAX_NODES: usize = 1_000;

/// One node without children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafGauges {
    /// The node.
    pub node: NodeId,
    /// Granted in the current period.
    pub granted: GpuSeconds,
    /// Charged in it, and held.
    pub used: Used,
    /// Its line of the standing page.
    pub standing: Option<StandingRow>,
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGauges {
    /// The pool as a whole.
    pub pool: PoolView,
    /// Its nodes without children.
    pub leaves: Vec<LeafGauges>,
}

impl Service {
    /// What there is to watch; pools without a first pass are left out.
    pub async fn gauges(&self) -> Result<Vec<PoolGauges>, Problem> {
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let Some(period) = ground.current_period() else {
            return Ok(Vec::new());
        };
        let org = &ground.organisation.org;
        let leaves = || {
            org.indices()
                .filter(|ix| org.children(*ix).is_empty())
                .take(MAX_NODES)
        };
        let mut found = Vec::new();
        for pool in &ground.pools {
            let Some(view) = self.hub.view(&pool.id) else {
                continue;
            };
            let budgets = Budgets::load(&mut db, &ground, &period.id, Some(&pool.id)).await?;
            let tally = Tally::new(&ground, &view, pool.gpus, None);
            let leaf = |ix| {
                let node = &org.node(ix).id;
                LeafGauges {
                    node: node.clone(),
                    granted: budgets.book.granted(node).unwrap_or_default(),
                    used: budgets.used.get(node).copied().unwrap_or_default(),
                    standing: tally.row(ix, 0, 0),
                }
            };
            found.push(PoolGauges {
                pool: pool_view(&view, &ground.moment, pool.gpus),
                leaves: leaves().map(leaf).collect(),
            });
        }
        Ok(found)
    }
}
