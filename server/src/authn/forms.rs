//! The two forms of signing in and out.

use std::sync::Arc;

use axum::extract::{Form, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use axum::{Router, extract::rejection::FormRejection};
use serde::Deserialize;
use stint_core::api::{Code, Problem};
use stint_core::id::PersonId;
use tower_sessions::Session;

use super::next::LocalPath;
use super::person::Authn;
use crate::web::refuse;

/// The people who may sign in by a button. Nobody, unless the server is told so.
pub type Offered = Arc<[PersonId]>;

#[derive(Clone)]
struct SignInState {
    authn: Authn,
    offered: Offered,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignInForm {
    person: String,
    #[serde(default)]
    next: String,
}

/// `POST /sign-in` and `POST /sign-out`.
pub fn routes(authn: Authn, offered: Offered) -> Router {
    Router::new()
        .route("/sign-in", post(sign_in))
        .route("/sign-out", post(sign_out))
        .with_state(SignInState { authn, offered })
}

async fn sign_in(
    State(state): State<SignInState>,
    session: Session,
    form: Result<Form<SignInForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else {
        return refuse(Problem::new(Code::Validation, "The form can't be read."));
    };
    match begin(&state, &session, &form.person).await {
        Ok(()) => {
            let next = LocalPath::parse(&form.next).unwrap_or_else(LocalPath::home);
            Redirect::to(next.as_str()).into_response()
        }
        Err(problem) => refuse(problem),
    }
}

async fn begin(state: &SignInState, session: &Session, person: &str) -> Result<(), Problem> {
    // One answer for people who don't exist, who left and who aren't offered: it tells nothing about who exists.
    let refused = || Problem::new(Code::AuthForbidden, "This server does not offer that person.");
    let person: PersonId = person.parse().map_err(|_| refused())?;
    if !state.offered.contains(&person) || state.authn.person(&person).await?.is_none() {
        return Err(refused());
    }
    state.authn.begin(session, person.clone()).await?;
    tracing::info!(person = person.as_str(), "signed in");
    Ok(())
}

async fn sign_out(session: Session) -> Response {
    match session.flush().await {
        Ok(()) => Redirect::to("/").into_response(),
        Err(error) => {
            tracing::error!(%error, "the session can't be ended");
            refuse(Problem::new(Code::Internal, "The session can't be ended."))
        }
    }
}
