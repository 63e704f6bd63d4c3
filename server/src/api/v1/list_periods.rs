//! `GET /api/v1/periods`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::session::PeriodOption;

use crate::api::extract::Query;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// A query that takes nothing.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Every period, newest first.
#[utoipa::path(get, path = "/api/v1/periods", operation_id = "listPeriods", tag = "organisation", responses(
    (status = 200, description = "Periods with their bounds", body = Vec<PeriodOption>),
    (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
))]
pub(super) async fn list_periods(
    State(service): State<Arc<Service>>,
    caller: Caller,
    _: Query<Nothing>,
) -> Result<Json<Vec<PeriodOption>>, Refusal> {
    Ok(Json(service.periods(&caller).await?))
}
