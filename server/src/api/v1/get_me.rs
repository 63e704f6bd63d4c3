//! `GET /api/v1/me`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::session::Me;

use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Who is signed in, with their roles as of this request.
#[utoipa::path(get, path = "/api/v1/me", operation_id = "getMe", tag = "organisation", responses(
    (status = 200, description = "The person who asks", body = Me),
    (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
))]
pub(super) async fn get_me(State(service): State<Arc<Service>>, caller: Caller) -> Result<Json<Me>, Refusal> {
    Ok(Json(service.me(&caller)?))
}
