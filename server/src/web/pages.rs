//! The pages: rendered on the server for the person who asks, and the same again in the browser.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use http::header::ACCEPT;
use http::request::Parts;
use leptos::config::LeptosOptions;
use leptos::nonce::Nonce;
use leptos::prelude::{provide_context, use_context};
use leptos_axum::{LeptosRoutes, generate_route_list};
use stint_app::backend::{FormKey, RefusedForm, SharedBackend};
use stint_app::{App, shell};
use stint_core::api::session::Me;
use stint_core::api::{Code, Problem};
use tower_sessions::Session;

use super::refused;
use super::request::refuse;
use crate::authn::{Authn, Offered};
use crate::service::{BoundBackend, Caller, Service, Surroundings};

/// The name that the site's scripts and its style sheet are built under.
const SITE_NAME: &str = "stint";

/// The pages, their server functions, and the page for everything that is none.
pub(super) fn routes(service: Arc<Service>, authn: Authn, offered: Offered) -> Router {
    let options = LeptosOptions::builder().output_name(SITE_NAME).build();
    let context = move || provide(&service, &authn, &offered);
    let document = {
        let options = options.clone();
        move || shell(options.clone())
    };
    let missing = leptos_axum::render_app_async_with_context(context.clone(), document.clone());
    Router::new()
        .leptos_routes_with_context(&options, generate_route_list(App), context, document)
        .fallback(move |request: Request| not_found(request, missing))
        .with_state(options)
}

/// Puts into the context what a page asks for. While routes are listed nobody asks, and there is no request.
fn provide(service: &Arc<Service>, authn: &Authn, offered: &Offered) {
    let Some(parts) = use_context::<Parts>() else {
        return;
    };
    let extensions = &parts.extensions;
    if let Some(nonce) = extensions.get::<Nonce>() {
        provide_context(nonce.clone());
    }
    let backend: SharedBackend = Arc::new(BoundBackend {
        service: Arc::clone(service),
        caller: extensions.get::<Caller>().cloned().unwrap_or_default(),
        desk: Arc::new(FrontDesk {
            authn: authn.clone(),
            offered: Arc::clone(offered),
            session: extensions.get::<Session>().cloned(),
        }),
    });
    provide_context(backend);
    provide_context(FormKey(uuid::Uuid::now_v7().to_string()));
}

/// What pages ask about the session itself rather than about the fleet.
struct FrontDesk {
    authn: Authn,
    offered: Offered,
    session: Option<Session>,
}

#[async_trait::async_trait]
impl Surroundings for FrontDesk {
    async fn sign_in_choices(&self) -> Result<Vec<Me>, Problem> {
        let mut choices = Vec::with_capacity(self.offered.len());
        for person in self.offered.iter() {
            choices.extend(self.authn.person(person).await?);
        }
        Ok(choices)
    }

    async fn refused_form(&self, id: &str) -> Result<Option<RefusedForm>, Problem> {
        match &self.session {
            Some(session) => refused::find(session, id).await,
            None => Ok(None),
        }
    }
}

async fn not_found<F, R>(request: Request, page: F) -> Response
where
    F: FnOnce(Request) -> R,
    R: Future<Output = Response>,
{
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    if !accept.is_some_and(|accept| accept.contains("text/html")) {
        return refuse(Problem::new(Code::NotFound, "There is nothing at this address."));
    }
    let mut response = page(request).await;
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}
