//! `POST /api/v1/workloads`.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::{StatusCode, header};
use stint_core::api::workloads::{SubmitWorkload, WorkloadView};

use crate::api::extract::{Json, Key};
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Adds a workload to the queue.
#[utoipa::path(post, path = "/api/v1/workloads", operation_id = "submitWorkload", tag = "workloads",
    params(("Idempotency-Key" = Option<String>, Header, description = "Names the request: sent twice, it is carried out once")),
    request_body = SubmitWorkload,
    responses(
        (status = 201, description = "The workload, queued", body = WorkloadView,
            headers(("Location" = String, description = "Where to follow it"))),
        (status = 409, description = "Another workload has this external id", body = ProblemDocument,
            content_type = "application/problem+json"),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn submit_workload(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Key(key): Key,
    Json(request): Json<SubmitWorkload>,
) -> Result<
    (
        StatusCode,
        [(header::HeaderName, String); 1],
        Answer<WorkloadView>,
    ),
    Refusal,
> {
    let view = service.submit(&caller, key.as_ref(), request).await?;
    let location = [(header::LOCATION, format!("/api/v1/workloads/{}", view.row.id))];
    Ok((StatusCode::CREATED, location, Answer(view)))
}
