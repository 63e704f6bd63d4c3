//! `GET /api/v1/hosts`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::fleet::HostList;

use super::PoolQuery;
use crate::api::extract::Query;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// The hosts of a pool and what runs on them.
#[utoipa::path(get, path = "/api/v1/hosts", operation_id = "listHosts", tag = "fleet", params(PoolQuery), responses(
    (status = 200, description = "The hosts, by block and id", body = HostList),
    (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
))]
pub(super) async fn list_hosts(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(query): Query<PoolQuery>,
) -> Result<Json<HostList>, Refusal> {
    Ok(Json(service.hosts(&caller, query.pool.as_ref()).await?))
}
