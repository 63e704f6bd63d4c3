//! `GET /api/v1/nodes`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use stint_core::api::org::NodeList;

use crate::api::extract::Query;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::org::NodeQuery;
use crate::service::{Caller, Service};

/// The organisation, parents before children.
#[utoipa::path(get, path = "/api/v1/nodes", operation_id = "listNodes", tag = "organisation", params(NodeQuery), responses(
    (status = 200, description = "A page of nodes", body = NodeList),
    (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
))]
pub(super) async fn list_nodes(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(query): Query<NodeQuery>,
) -> Result<Json<NodeList>, Refusal> {
    Ok(Json(service.nodes(&caller, &query).await?))
}
