//! `GET /api/v1/workloads/{id}`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::workloads::WorkloadView;
use stint_core::id::WorkloadId;

use crate::api::extract::Ids;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Everything about one workload.
#[utoipa::path(get, path = "/api/v1/workloads/{id}", operation_id = "getWorkload", tag = "workloads",
    params(("id" = WorkloadId, Path, description = "The workload, such as w-7")),
    responses(
        (status = 200, description = "The workload with its runs and decisions", body = WorkloadView),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn get_workload(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Ids(id): Ids<WorkloadId>,
) -> Result<Json<WorkloadView>, Refusal> {
    Ok(Json(service.workload(&caller, id).await?))
}
