//! `GET /api/v1/workloads`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::workloads::{WorkloadPage, WorkloadQuery};

use crate::api::extract::Query;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Workloads, newest first. Names are left out of those that belong to other teams.
#[utoipa::path(get, path = "/api/v1/workloads", operation_id = "listWorkloads", tag = "workloads",
    params(WorkloadQuery),
    responses(
        (status = 200, description = "A page of workloads", body = WorkloadPage),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn list_workloads(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(query): Query<WorkloadQuery>,
) -> Result<Json<WorkloadPage>, Refusal> {
    Ok(Json(service.workloads(&caller, &query).await?))
}
