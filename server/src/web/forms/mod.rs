//! Forms that change something. Each reads its fields, asks the service, and answers with a redirect: to what was
//! made, or back to the form with everything that was typed.
//!
//! Invariant: a form works without scripts, and reloading what follows never sends it again.

mod budgets;
mod fields;
mod workloads;

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use stint_app::backend::RefusedForm;
use stint_core::api::{Code, Problem};
use tower_sessions::Session;

use super::refused;
use super::request::refuse;
use crate::authn::LocalPath;
use crate::service::{IdempotencyKey, Service};
use fields::{Fields, Reading};

/// The field that carries the idempotency key.
const KEY_FIELD: &str = "idempotency_key";

/// The forms of budgets and workloads.
pub(super) fn routes(service: Arc<Service>) -> Router {
    Router::new()
        .route("/budgets/{period}/transfers", post(budgets::transfer))
        .route("/workloads", post(workloads::submit))
        .route("/workloads/{id}/cancel", post(workloads::cancel))
        .with_state(service)
}

/// Where a form that was refused goes back to.
struct Back {
    /// The page, with its query if it has one.
    page: String,
}

impl Back {
    fn to(page: String) -> Self {
        Self { page }
    }

    fn with(&self, id: &str) -> String {
        let joint = if self.page.contains('?') { '&' } else { '?' };
        format!("{}{joint}refused={id}", self.page)
    }
}

/// The answer to a form: on to the new page, or back.
async fn answer(session: &Session, fields: Fields, back: Back, done: Result<String, Problem>) -> Response {
    let problem = match done {
        Ok(page) => return see(&page),
        Err(problem) => problem,
    };
    match problem.code {
        Code::AuthRequired => see(&format!("/sign-in?next={}", encoded(&back.page))),
        // What can't be mended by typing something else is said on a page of its own.
        Code::NotFound | Code::Internal => refuse(problem),
        _ => {
            let form = RefusedForm {
                problem,
                fields: fields.into_inner(),
            };
            match refused::keep(session, form).await {
                Ok(id) => see(&back.with(&id)),
                Err(problem) => refuse(problem),
            }
        }
    }
}

/// 303, to a page of this server.
fn see(page: &str) -> Response {
    let page = LocalPath::parse(page).unwrap_or_else(LocalPath::home);
    Redirect::to(page.as_str()).into_response()
}

/// A text as a value in a query.
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// The key that makes a form that is sent twice count once.
fn key(form: &mut Reading<'_>) -> Option<IdempotencyKey> {
    form.value(KEY_FIELD, "the key that came with the page; load the page again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_keeps_the_query_of_the_page() {
        assert_eq!(
            Back::to("/workloads/new".to_owned()).with("7"),
            "/workloads/new?refused=7"
        );
        assert_eq!(
            Back::to("/budgets/2026-Q4?dialog=move".to_owned()).with("7"),
            "/budgets/2026-Q4?dialog=move&refused=7"
        );
    }

    #[test]
    fn a_page_in_a_query_is_encoded() {
        assert_eq!(encoded("/a?b=c&d"), "%2Fa%3Fb%3Dc%26d");
    }
}
