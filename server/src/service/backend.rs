//! The use cases as the screens see them, bound to the person who asks.

use std::sync::Arc;

use stint_app::backend::{Backend, RefusedForm};
use stint_core::api::Problem;
use stint_core::api::budgets::BudgetTree;
use stint_core::api::fleet::{HostList, PoolView};
use stint_core::api::org::NodeList;
use stint_core::api::queue::{QueuePage, QueueQuery};
use stint_core::api::session::{Me, Shell};
use stint_core::api::standing::{StandingQuery, StandingView};
use stint_core::api::workloads::{WorkloadPage, WorkloadQuery, WorkloadView};
use stint_core::id::{PeriodId, PoolId, WorkloadId};

use super::{Caller, Service};

/// What the screens ask of signing in and of the session, which are no use cases.
#[async_trait::async_trait]
pub trait Surroundings: Send + Sync + 'static {
    /// The people that the sign-in page offers.
    async fn sign_in_choices(&self) -> Result<Vec<Me>, Problem>;
    /// A form that was refused a moment ago.
    async fn refused_form(&self, id: &str) -> Result<Option<RefusedForm>, Problem>;
}

/// The use cases, bound to the person who asks.
#[derive(Clone)]
pub struct BoundBackend {
    /// The use cases.
    pub service: Arc<Service>,
    /// The person who asks.
    pub caller: Caller,
    /// Who answers what is no use case.
    pub desk: Arc<dyn Surroundings>,
}

#[async_trait::async_trait]
impl Backend for BoundBackend {
    async fn shell(&self, pool: Option<PoolId>, period: Option<PeriodId>) -> Result<Shell, Problem> {
        self.service
            .shell(&self.caller, pool.as_ref(), period.as_ref())
            .await
    }

    async fn queue(&self, query: QueueQuery) -> Result<QueuePage, Problem> {
        self.service.queue(&self.caller, &query).await
    }

    async fn workloads(&self, query: WorkloadQuery) -> Result<WorkloadPage, Problem> {
        self.service.workloads(&self.caller, &query).await
    }

    async fn workload(&self, id: WorkloadId) -> Result<WorkloadView, Problem> {
        self.service.workload(&self.caller, id).await
    }

    async fn standing(&self, query: StandingQuery) -> Result<StandingView, Problem> {
        self.service.standing(&self.caller, &query).await
    }

    async fn budgets(&self, period: PeriodId, pool: Option<PoolId>) -> Result<BudgetTree, Problem> {
        self.service.budgets(&self.caller, &period, pool.as_ref()).await
    }

    async fn hosts(&self, pool: Option<PoolId>) -> Result<HostList, Problem> {
        self.service.hosts(&self.caller, pool.as_ref()).await
    }

    async fn pool(&self, pool: Option<PoolId>) -> Result<PoolView, Problem> {
        self.service.pool(&self.caller, pool.as_ref()).await
    }

    async fn nodes(&self) -> Result<NodeList, Problem> {
        self.service.all_nodes(&self.caller).await
    }

    async fn sign_in_choices(&self) -> Result<Vec<Me>, Problem> {
        self.desk.sign_in_choices().await
    }

    async fn refused_form(&self, id: String) -> Result<Option<RefusedForm>, Problem> {
        self.desk.refused_form(&id).await
    }
}
