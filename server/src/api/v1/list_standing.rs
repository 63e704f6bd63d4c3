//! `GET /api/v1/standing`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::standing::{StandingQuery, StandingView};

use crate::api::extract::Query;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Fair share in a pool, siblings in the order of their standing.
#[utoipa::path(get, path = "/api/v1/standing", operation_id = "listStanding", tag = "fleet", params(StandingQuery),
    responses(
        (status = 200, description = "Every node with its standing", body = StandingView),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn list_standing(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(query): Query<StandingQuery>,
) -> Result<Json<StandingView>, Refusal> {
    Ok(Json(service.standing(&caller, &query).await?))
}
