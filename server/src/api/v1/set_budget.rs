//! `PUT /api/v1/budgets/{period}/nodes/{id}`.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::header;
use stint_core::api::budgets::{BudgetRow, SetBudget};
use stint_core::id::{NodeId, PeriodId};

use crate::api::extract::{Ids, IfMatch, Json};
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Sets the grant of a node. The difference comes from or goes to the own part of the node above.
#[utoipa::path(put, path = "/api/v1/budgets/{period}/nodes/{id}", operation_id = "setBudget", tag = "budgets",
    params(
        ("period" = PeriodId, Path, description = "The period"),
        ("id" = NodeId, Path, description = "The node"),
        ("If-Match" = String, Header, description = "The version that was seen, in quotes: the `version` of its row"),
    ),
    request_body = SetBudget,
    responses(
        (status = 200, description = "The node's budget as it is now", body = BudgetRow,
            headers(("ETag" = String, description = "Its version, in quotes"))),
        (status = 412, description = "Changed meanwhile; the numbers hold the present state", body = ProblemDocument,
            content_type = "application/problem+json"),
        (status = 428, description = "If-Match is missing", body = ProblemDocument,
            content_type = "application/problem+json"),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn set_budget(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Ids((period, node)): Ids<(PeriodId, NodeId)>,
    IfMatch(expected): IfMatch,
    Json(request): Json<SetBudget>,
) -> Result<([(header::HeaderName, String); 1], Answer<BudgetRow>), Refusal> {
    let row = service
        .set_budget(&caller, &period, &node, expected, request)
        .await?;
    Ok(([(header::ETAG, format!("\"{}\"", row.version))], Answer(row)))
}
