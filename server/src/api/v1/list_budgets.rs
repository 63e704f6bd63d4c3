//! `GET /api/v1/budgets/{period}/tree`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::budgets::BudgetTree;
use stint_core::id::PeriodId;

use super::PoolQuery;
use crate::api::extract::{Ids, Query};
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// The budgets of a period and pool, parents before children.
#[utoipa::path(get, path = "/api/v1/budgets/{period}/tree", operation_id = "getBudgetTree", tag = "budgets",
    params(("period" = PeriodId, Path, description = "The period, such as 2026-Q4"), PoolQuery),
    responses(
        (status = 200, description = "Every node with its budget", body = BudgetTree),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn list_budgets(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Ids(period): Ids<PeriodId>,
    Query(query): Query<PoolQuery>,
) -> Result<Json<BudgetTree>, Refusal> {
    Ok(Json(
        service.budgets(&caller, &period, query.pool.as_ref()).await?,
    ))
}
