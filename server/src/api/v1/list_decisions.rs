//! `GET /api/v1/workloads/{id}/decisions`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::workloads::DecisionPage;
use stint_core::id::WorkloadId;

use crate::api::extract::{Ids, Query};
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PageQuery {
    /// Where to go on.
    after: Option<String>,
    /// How many rows.
    limit: Option<u16>,
}

/// What was decided about a workload, newest first.
#[utoipa::path(get, path = "/api/v1/workloads/{id}/decisions", operation_id = "listDecisions", tag = "workloads",
    params(("id" = WorkloadId, Path, description = "The workload"), PageQuery),
    responses(
        (status = 200, description = "A page of the decision log", body = DecisionPage),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn list_decisions(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Ids(id): Ids<WorkloadId>,
    Query(query): Query<PageQuery>,
) -> Result<Json<DecisionPage>, Refusal> {
    let page = service
        .decisions(&caller, id, query.after.as_deref(), query.limit)
        .await?;
    Ok(Json(page))
}
