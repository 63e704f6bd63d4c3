//! Whether the server can do its work.

use stint_core::api::Problem;

use super::Service;
use crate::store::pools;

/// One thing that has to be in order, and whether it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// It is.
    Ok,
    /// It is not.
    Failing,
}

/// What the server needs to do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Readiness {
    /// The database answers.
    pub database: Check,
    /// The schema is the one this program was made for.
    pub schema: Check,
    /// The engine publishes for every pool.
    pub engine: Check,
}

impl Readiness {
    /// Whether everything is in order.
    pub fn is_ready(self) -> bool {
        [self.database, self.schema, self.engine]
            .iter()
            .all(|check| *check == Check::Ok)
    }
}

fn check(fine: bool) -> Check {
    if fine { Check::Ok } else { Check::Failing }
}

impl Service {
    /// What is in order and what isn't.
    pub async fn readiness(&self) -> Readiness {
        let schema = self.store.is_current().await.unwrap_or(false);
        let pools = match self.pools_known().await {
            Ok(pools) => Some(pools),
            Err(problem) => {
                tracing::warn!(%problem, "the database doesn't answer");
                None
            }
        };
        Readiness {
            database: check(pools.is_some()),
            schema: check(schema),
            engine: check(pools.is_some_and(|pools| self.hub.is_alive(&pools))),
        }
    }

    async fn pools_known(&self) -> Result<Vec<stint_core::id::PoolId>, Problem> {
        let mut db = self.store.read().await?;
        let pools = pools::all(&mut db).await?;
        Ok(pools.into_iter().map(|pool| pool.id).collect())
    }
}
