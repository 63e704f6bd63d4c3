//! `POST /api/v1/budgets/{period}/transfers`.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use stint_core::api::Problem;
use stint_core::api::budgets::{Transfer, TransferRequest};
use stint_core::id::PeriodId;

use crate::api::extract::{Ids, Json, Key};
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// Moves GPU time out of the own part of one node into that of another.
#[utoipa::path(post, path = "/api/v1/budgets/{period}/transfers", operation_id = "transfer", tag = "budgets",
    params(
        ("period" = PeriodId, Path, description = "The period"),
        ("Idempotency-Key" = String, Header, description = "Names the request: sent twice, it is carried out once"),
    ),
    request_body = TransferRequest,
    responses(
        (status = 201, description = "The move that was made", body = Transfer),
        (status = 409, description = "More than can be moved, or the period is over", body = ProblemDocument,
            content_type = "application/problem+json"),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn transfer(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Ids(period): Ids<PeriodId>,
    Key(key): Key,
    Json(request): Json<TransferRequest>,
) -> Result<(StatusCode, Answer<Transfer>), Refusal> {
    caller.person()?;
    let key = key.ok_or_else(|| Problem::field("Idempotency-Key", "", "a key that names this request"))?;
    let answer = service.transfer(&caller, &period, &key, request).await?;
    Ok((StatusCode::CREATED, Answer(answer)))
}
