//! `GET /api/v1/queue` and `GET /api/v1/queue.csv`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use stint_core::api::Time;
use stint_core::api::queue::{QueuePage, QueueQuery, QueueRow};

use super::wants_csv;
use crate::api::csv::{Cell, TEXT_CSV, table};
use crate::api::extract::Query;
use crate::problem::{ProblemDocument, Refusal};
use crate::service::{Caller, Service};

/// The queue in the scheduler's order, as JSON by pages or, where `Accept` asks for it, all of it as CSV.
#[utoipa::path(get, path = "/api/v1/queue", operation_id = "listQueue", tag = "fleet", params(QueueQuery), responses(
    (status = 200, description = "A page of the queue", content(
        (QueuePage = "application/json"),
        (String = "text/csv"),
    )),
    (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
))]
pub(super) async fn list_queue(
    State(service): State<Arc<Service>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<QueueQuery>,
) -> Result<Response, Refusal> {
    if wants_csv(&headers) {
        return csv(&service, &caller, &query).await;
    }
    Ok(Json(service.queue(&caller, &query).await?).into_response())
}

/// The whole queue that matches, as CSV.
#[utoipa::path(get, path = "/api/v1/queue.csv", operation_id = "listQueueCsv", tag = "fleet", params(QueueQuery),
    responses(
        (status = 200, description = "The queue as a table", body = String, content_type = "text/csv"),
        (status = "default", description = "A problem", body = ProblemDocument, content_type = "application/problem+json"),
    ))]
pub(super) async fn list_queue_csv(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Query(query): Query<QueueQuery>,
) -> Result<Response, Refusal> {
    csv(&service, &caller, &query).await
}

async fn csv(service: &Service, caller: &Caller, query: &QueueQuery) -> Result<Response, Refusal> {
    let (queue, zone) = service.whole_queue(caller, query).await?;
    let name = format!("attachment; filename=\"queue-{}.csv\"", queue.pool);
    let headers = [
        (header::CONTENT_TYPE, TEXT_CSV.to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, queue_table(&queue, &zone)).into_response())
}

/// The rows of a queue as a table.
fn queue_table(queue: &QueuePage, zone: &str) -> String {
    let submitted = format!("submitted ({zone})");
    let latest_start = format!("latest start ({zone})");
    let header = [
        "place",
        "workload",
        "name",
        "node",
        "node name",
        "submitted by",
        "GPUs",
        "hosts",
        "minimum runtime (s)",
        "priority",
        &submitted,
        "waiting (s)",
        "starts",
        "standings",
        "state",
        "reason",
        "why",
        &latest_start,
    ];
    table(header, queue.rows.iter().map(cells))
}

fn cells(row: &QueueRow) -> [Cell; 18] {
    let standings: Vec<String> = row
        .standings
        .iter()
        .map(|at| format!("{} {}", at.node, at.standing))
        .collect();
    [
        Cell::Number(row.place.into()),
        Cell::Text(row.id.to_string()),
        Cell::text(row.name.clone()),
        Cell::Text(row.node.to_string()),
        Cell::Text(row.node_name.clone()),
        Cell::text(row.submitted_by.as_ref().map(ToString::to_string)),
        Cell::Number(row.gpus.into()),
        Cell::Number(row.hosts.into()),
        Cell::Number(row.min_runtime_s),
        Cell::Number(row.priority.into()),
        Cell::Text(row.submitted.rfc3339()),
        Cell::Number(row.waiting_s),
        Cell::Number(row.starts.into()),
        Cell::Text(standings.join(" > ")),
        Cell::Text(row.state.label().to_owned()),
        Cell::Text(row.why.code.label().to_owned()),
        Cell::Text(row.why.sentence.clone()),
        Cell::text(row.latest_start.map(Time::rfc3339)),
    ]
}
