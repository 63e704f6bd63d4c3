//! `/healthz` and `/readyz`: for load balancers and those who set them up.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::service::Service;
use crate::service::health::Readiness;

/// Whether the process answers at all.
#[utoipa::path(get, path = "/healthz", operation_id = "healthz", tag = "health",
    responses((status = 200, description = "The process answers", body = String, content_type = "text/plain")))]
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether the server can do its work: the database answers, its schema is right, the engine publishes.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "health", responses(
    (status = 200, description = "Everything is in order", body = Readiness),
    (status = 503, description = "Something is not", body = Readiness),
))]
pub async fn readyz(State(service): State<Arc<Service>>) -> (StatusCode, Json<Readiness>) {
    let readiness = service.readiness().await;
    let status = if readiness.is_ready() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(readiness))
}
