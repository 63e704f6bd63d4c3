//! Problems as answers: RFC 9457 with a stable code, the numbers that failed and the id of the request.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stint_core::api::{Code, Problem};

use crate::service::Caller;
use crate::store::StoreError;

/// The media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// A problem as an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub Problem);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self(error.into())
    }
}

/// A problem as it goes over the wire: with the two members of RFC 9457 that only the edge knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ProblemDocument {
    /// Names the kind of problem: `urn:stint:problem:` and its code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The path that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub problem: Problem,
}

fn code_text(code: Code) -> String {
    match serde_json::to_value(code) {
        Ok(serde_json::Value::String(text)) => text,
        _ => "internal".to_owned(),
    }
}

/// Renders a problem. What failed on our side is told without its detail, whoever wrote it.
fn render(problem: Problem, instance: Option<String>) -> Response {
    let problem = match problem.code {
        Code::Internal => Problem {
            request_id: problem.request_id,
            ..Problem::new(Code::Internal, "Something went wrong on our side.")
        },
        _ => problem,
    };
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let document = ProblemDocument {
        kind: format!("urn:stint:problem:{}", code_text(problem.code)),
        instance,
        problem,
    };
    let body = serde_json::to_vec(&document).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, PROBLEM_JSON)], body).into_response()
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = render(self.0.clone(), None);
        response.extensions_mut().insert(self);
        response
    }
}

/// Completes every problem that leaves a router with the path and the id of its request, and forbids caching it.
pub async fn complete(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let request_id = request
        .extensions()
        .get::<Caller>()
        .map(|caller| caller.request_id.clone())
        .filter(|id| !id.is_empty());
    let response = next.run(request).await;
    let Some(Refusal(mut problem)) = response.extensions().get::<Refusal>().cloned() else {
        return response;
    };
    problem.request_id = request_id.or(problem.request_id);
    let mut complete = render(problem, Some(path));
    for (name, value) in response.headers() {
        if !matches!(name, &header::CONTENT_LENGTH | &header::CONTENT_TYPE) {
            complete.headers_mut().insert(name.clone(), value.clone());
        }
    }
    complete
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    complete
}
