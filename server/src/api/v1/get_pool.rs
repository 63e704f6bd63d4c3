//! `GET /api/v1/pool`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::fleet::PoolView;

use super::PoolQuery;
use crate::api::extract::Query;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// A pool as a whole. It names nobody, so nobody has to sign in for it.
#[utoipa::path(get, path = "/api/v1/pool", operation_id = "getPool", tag = "fleet", params(PoolQuery), responses(
    (status = 200, description = "The pool now", body = PoolView),
    (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
))]
pub(super) async fn get_pool(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(query): Query<PoolQuery>,
) -> Result<Json<PoolView>, Refusal> {
    Ok(Json(service.pool(&caller, query.pool.as_ref()).await?))
}
