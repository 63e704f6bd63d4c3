//! The use cases as the screens ask for them. The server implements this and puts a [`SharedBackend`], already
//! bound to the person who asks, into the context of every request.

use std::collections::BTreeMap;
use std::sync::Arc;

use stint_core::api::Problem;
use stint_core::api::budgets::BudgetTree;
use stint_core::api::fleet::{HostList, PoolView};
use stint_core::api::org::NodeList;
use stint_core::api::queue::{QueuePage, QueueQuery};
use stint_core::api::session::{Me, Shell};
use stint_core::api::standing::{StandingQuery, StandingView};
use stint_core::api::workloads::{WorkloadPage, WorkloadQuery, WorkloadView};
use stint_core::id::{PeriodId, PoolId, WorkloadId};

/// A form that was refused: the problem, and what had been typed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RefusedForm {
    /// Why.
    pub problem: Problem,
    /// The fields as they were sent.
    pub fields: BTreeMap<String, String>,
}

/// What the screens read. Every answer is for the person who asks.
#[async_trait::async_trait]
pub trait Backend: Send + Sync + 'static {
    /// What surrounds every page.
    async fn shell(&self, pool: Option<PoolId>, period: Option<PeriodId>) -> Result<Shell, Problem>;
    /// A page of the queue.
    async fn queue(&self, query: QueueQuery) -> Result<QueuePage, Problem>;
    /// A page of workloads.
    async fn workloads(&self, query: WorkloadQuery) -> Result<WorkloadPage, Problem>;
    /// One workload.
    async fn workload(&self, id: WorkloadId) -> Result<WorkloadView, Problem>;
    /// Fair share.
    async fn standing(&self, query: StandingQuery) -> Result<StandingView, Problem>;
    /// The budgets of a period.
    async fn budgets(&self, period: PeriodId, pool: Option<PoolId>) -> Result<BudgetTree, Problem>;
    /// The hosts of a pool.
    async fn hosts(&self, pool: Option<PoolId>) -> Result<HostList, Problem>;
    /// A pool as a whole.
    async fn pool(&self, pool: Option<PoolId>) -> Result<PoolView, Problem>;
    /// The organisation.
    async fn nodes(&self) -> Result<NodeList, Problem>;
    /// The people that the demo's sign-in page offers; empty when people sign in elsewhere.
    async fn sign_in_choices(&self) -> Result<Vec<Me>, Problem>;
    /// A form that was refused a moment ago, kept in the session of the person who asks.
    async fn refused_form(&self, id: String) -> Result<Option<RefusedForm>, Problem>;
}

/// The idempotency key of the forms on one rendering of a page.
///
/// The server mints a new one for every request and puts it into the context beside the [`SharedBackend`]. It
/// travels as a hidden field, so that a form that is sent twice is done once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormKey(pub String);

/// The backend, bound to the person who asks.
pub type SharedBackend = Arc<dyn Backend>;
