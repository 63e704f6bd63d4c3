//! REST: JSON under `/api/v1`, and what tells operators how the server is.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`v1`] | the operations, one file each, and the `OpenAPI` document made from them |
//! | [`extract`] | bodies, queries, ids and headers, refused by the name of the field that is wrong |
//! | [`csv`] | tables for spreadsheets, safe to open |
//! | [`health`], [`metrics`] | `/healthz`, `/readyz`, `/metrics` |
//!
//! Every refusal, also of an address or a method that isn't there, is a problem as RFC 9457 has it. Handlers take
//! apart what was sent and call a use case; nothing is decided here.

pub mod csv;
pub mod extract;
pub mod health;
pub mod metrics;
pub mod v1;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::any;
use axum::{Router, middleware};
use metrics_exporter_prometheus::PrometheusHandle;
use stint_core::api::{Code, Problem};

use crate::problem::{Refusal, complete};
use crate::service::Service;

/// The largest body that is accepted: far more than any request here needs.
const MAX_BODY: usize = 64 * 1024;

/// All operations over the use cases. Expects a [`crate::service::Caller`] in the extensions of every request;
/// without one, nobody is signed in. `process` is what this process recorded about itself.
pub fn router(service: Arc<Service>, process: PrometheusHandle) -> Router {
    let (operations, _) = v1::operations().split_for_parts();
    operations
        .merge(metrics::route(process))
        .route("/api", any(nothing_here))
        .route("/api/", any(nothing_here))
        .route("/api/{*rest}", any(nothing_here))
        .method_not_allowed_fallback(not_this_way)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn(complete))
        .with_state(service)
}

/// The `OpenAPI` document of [`router`].
pub fn openapi() -> utoipa::openapi::OpenApi {
    v1::operations().split_for_parts().1
}

async fn nothing_here() -> Refusal {
    Refusal(Problem::new(
        Code::NotFound,
        "There is no such address; see /api/v1/openapi.json.",
    ))
}

async fn not_this_way() -> Refusal {
    Refusal(Problem::new(
        Code::MethodNotAllowed,
        "This address has other methods; see /api/v1/openapi.json.",
    ))
}
