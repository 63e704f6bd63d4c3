//! What surrounds every request: an id, a time limit, one line in the log, and one way to say what went wrong.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use stint_core::api::{Code, Problem};
use tokio::time::Instant;
use tracing::Instrument;

use crate::problem::Refusal;

/// The header with a request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// How long an answer may take to begin. Event streams begin at once and may then last.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The largest body that is read: every form and every JSON request is far smaller.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Finds a request in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    fn mint() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An answer that says what went wrong. Its body is written by [`accompany`], which knows the request's id and
/// whether a person or a program reads it.
pub fn refuse(problem: Problem) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() =
        StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.extensions_mut().insert(problem);
    response
}

/// Gives the request an id, logs it in one line, and writes what went wrong in the form that is asked for.
pub(super) async fn accompany(mut request: Request, next: Next) -> Response {
    let id = RequestId::mint();
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let reader = Reader::of(&request);
    let span = tracing::info_span!("request", id = id.as_str(), person = tracing::field::Empty);
    let began = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let mut response = written_out(response, reader, &id);
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let status = response.status().as_u16();
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    span.in_scope(|| tracing::info!(%method, path, status, micros, "answered"));
    metrics::counter!("stint_http_requests_total", "method" => method_label(&method), "status" => status_label(status))
        .increment(1);
    response
}

/// Ends what takes too long.
pub(super) async fn limit_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(TIME_LIMIT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => refuse(Problem::new(Code::Timeout, "The request took too long.")),
    }
}

/// What a caught panic is told; the panic itself is in the log.
pub(super) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    refuse(Problem::new(Code::Internal, "The request could not be answered."))
}

/// Who reads the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Person,
    Program,
}

impl Reader {
    fn of(request: &Request) -> Self {
        let accept = request.headers().get(ACCEPT).and_then(|v| v.to_str().ok());
        let page = !request.uri().path().starts_with("/api/");
        if page && accept.is_some_and(|accept| accept.contains("text/html")) {
            Self::Person
        } else {
            Self::Program
        }
    }
}

/// Layers of libraries refuse with a bare status; it gets the same form as our own refusals.
fn bare_refusal(response: &Response) -> Option<Problem> {
    let typed = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|t| !t.as_bytes().starts_with(b"text/plain"));
    if typed {
        return None;
    }
    match response.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Some(Problem::new(
            Code::TooLarge,
            format!("The body is larger than {MAX_BODY_BYTES} bytes."),
        )),
        StatusCode::METHOD_NOT_ALLOWED => Some(Problem::new(
            Code::MethodNotAllowed,
            "This address does not take that method.",
        )),
        _ => None,
    }
}

fn written_out(mut response: Response, reader: Reader, id: &RequestId) -> Response {
    let found = response.extensions_mut().remove::<Problem>();
    let Some(mut problem) = found.or_else(|| bare_refusal(&response)) else {
        return response;
    };
    problem.request_id = Some(id.as_str().to_owned());
    let mut written = match reader {
        Reader::Person => {
            let html = HeaderValue::from_static("text/html; charset=utf-8");
            ([(CONTENT_TYPE, html)], page(&problem)).into_response()
        }
        Reader::Program => Refusal(problem).into_response(),
    };
    *written.status_mut() = response.status();
    for (name, value) in response.headers() {
        if !matches!(*name, CONTENT_LENGTH | CONTENT_TYPE) {
            written.headers_mut().append(name, value.clone());
        }
    }
    written
}

/// A page that needs nothing of the application, for when the application is what failed.
fn page(problem: &Problem) -> String {
    let id = problem.request_id.as_deref().unwrap_or_default();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} - Stint</title><link rel=\"stylesheet\" href=\"/pkg/stint.css\"></head>\
         <body><main><h1>{title}</h1><p>{detail}</p><p>Request <code>{id}</code></p>\
         <p><a href=\"/\">Start page</a></p></main></body></html>\n",
        title = escaped(&problem.title),
        detail = escaped(&problem.detail),
        id = escaped(id),
    )
}

fn escaped(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut out, c| {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                c => out.push(c),
            }
            out
        })
}

/// Methods are free text; a label is not.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}

fn status_label(status: u16) -> &'static str {
    match status {
        100..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_text_on_a_page_for_people() {
        let problem = Problem::new(Code::Validation, "<img src=x onerror=alert(1)> & \"so\"");
        let html = page(&problem);
        assert!(html.contains("&lt;img src=x onerror=alert(1)&gt; &amp; &quot;so&quot;"));
        assert!(!html.contains("<img"));
    }

    #[test]
    fn programs_get_a_problem_with_the_request_id() {
        let id = RequestId::mint();
        let refused = refuse(Problem::new(Code::AuthForbidden, "no"));
        let response = written_out(refused, Reader::Program, &id);
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }
}
