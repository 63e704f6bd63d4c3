//! The operations of `/api/v1`, one file each: what it takes, what it answers, and its place in the `OpenAPI` document.

mod cancel_workload;
mod get_me;
mod get_pool;
mod get_workload;
mod list_budgets;
mod list_decisions;
mod list_hosts;
mod list_nodes;
mod list_periods;
mod list_queue;
mod list_standing;
mod list_workloads;
mod set_budget;
mod submit_workload;
mod transfer;

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use stint_core::id::PoolId;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::health;
use crate::service::Service;

/// The head of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Stint",
        description = "Budgets of GPU time, fair share and a scheduling contract for GPU fleets. Amounts are whole \
                       GPU-seconds, times are RFC 3339 with the offset of the organisation's zone, lists are paged by \
                       an opaque cursor, and every refusal is a problem as RFC 9457 has it.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "organisation", description = "The tree, its periods, and who is signed in"),
        (name = "budgets", description = "GPU time down the tree"),
        (name = "workloads", description = "Submit, follow, cancel"),
        (name = "fleet", description = "The queue, fair share, hosts"),
        (name = "health", description = "Whether the server works"),
    )
)]
struct Head;

/// Every operation with its place in the document.
pub fn operations() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::with_openapi(Head::openapi())
        .routes(routes!(get_me::get_me))
        .routes(routes!(list_periods::list_periods))
        .routes(routes!(list_nodes::list_nodes))
        .routes(routes!(list_budgets::list_budgets))
        .routes(routes!(set_budget::set_budget))
        .routes(routes!(transfer::transfer))
        .routes(routes!(
            list_workloads::list_workloads,
            submit_workload::submit_workload
        ))
        .routes(routes!(
            get_workload::get_workload,
            cancel_workload::cancel_workload
        ))
        .routes(routes!(list_decisions::list_decisions))
        .routes(routes!(list_queue::list_queue))
        .routes(routes!(list_queue::list_queue_csv))
        .routes(routes!(list_standing::list_standing))
        .routes(routes!(list_hosts::list_hosts))
        .routes(routes!(get_pool::get_pool))
        .routes(routes!(document))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
}

/// Names a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct PoolQuery {
    /// The pool; the first one if absent.
    pool: Option<PoolId>,
}

/// This document.
#[utoipa::path(get, path = "/api/v1/openapi.json", operation_id = "openapi", tag = "health",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn document() -> axum::Json<utoipa::openapi::OpenApi> {
    axum::Json(super::openapi())
}

/// Whether the one who asks would rather have CSV than JSON.
fn wants_csv(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut kinds = accept
        .split(',')
        .map(|kind| kind.split(';').next().unwrap_or_default().trim());
    let first = kinds.find(|kind| matches!(*kind, "text/csv" | "application/json" | "*/*" | "application/*"));
    first == Some("text/csv")
}
