//! `DELETE /api/v1/workloads/{id}`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use stint_core::api::workloads::WorkloadView;
use stint_core::id::WorkloadId;

use crate::api::extract::{Ids, Query};
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Why a workload is cancelled.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CancelQuery {
    /// Why, kept in the audit log.
    reason: Option<String>,
}

/// Asks for a workload to be cancelled: taken from the queue, or told to stop with its grace.
#[utoipa::path(delete, path = "/api/v1/workloads/{id}", operation_id = "cancelWorkload", tag = "workloads",
    params(("id" = WorkloadId, Path, description = "The workload"), CancelQuery),
    responses(
        (status = 202, description = "Asked for; the next pass acts on it", body = WorkloadView),
        (status = 409, description = "It is over already", body = ProblemDocument,
            content_type = "application/problem+json"),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn cancel_workload(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Ids(id): Ids<WorkloadId>,
    Query(query): Query<CancelQuery>,
) -> Result<(StatusCode, Json<WorkloadView>), Refusal> {
    let view = service.cancel(&caller, id, query.reason).await?;
    Ok((StatusCode::ACCEPTED, Json(view)))
}
