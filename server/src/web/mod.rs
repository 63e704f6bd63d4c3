//! What browsers talk to: pages, forms, live updates and the site's files, behind one set of layers.
//!
//! The API goes through the same layers, so that nothing that a cookie authorises is ever outside of them. From the
//! outside in: an id and a log line, protective headers, panics, compression, the host's name, cross-site requests,
//! the time limit, the size limit, the site's files, the session, the person.
//!
//! Invariants: `GET` and `HEAD` change nothing. A refusal has one form everywhere. Absent: any rule about who may do
//! what; that is asked of the service by page, form and API alike.

mod assets;
mod events;
mod forms;
mod guard;
mod headers;
mod pages;
mod refused;
mod request;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use http::Method;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;
use tower_http::limit::RequestBodyLimitLayer;

use crate::authn::{self, Authn, Offered};
use crate::config::Listen;
use crate::serve::Stopping;
use crate::service::Service;

pub use events::Pace;
pub use guard::Hosts;
pub use headers::Transport;
pub use request::{MAX_BODY_BYTES, REQUEST_ID, RequestId, refuse};

/// What the web is made of.
pub struct Web {
    /// The use cases.
    pub service: Arc<Service>,
    /// Who asks.
    pub authn: Authn,
    /// The people who may sign in by a button.
    pub offered: Offered,
    /// Where the server listens and what browsers call it.
    pub listen: Listen,
    /// Ends streams when the server stops.
    pub stopping: Stopping,
    /// How often streams say something by themselves.
    pub pace: Pace,
}

impl Web {
    /// Whether browsers reach the server by TLS.
    pub fn transport(&self) -> Transport {
        match &self.listen.public_url {
            Some(url) if url.is_secure() => Transport::Tls,
            _ => Transport::Plain,
        }
    }

    /// Everything under one router; `api` joins behind the same layers.
    pub fn router(self, api: Router) -> Router {
        let transport = self.transport();
        let hosts = Hosts::of(&self.listen);
        let cookies = authn::cookie_layer(self.authn.sessions().clone(), transport, self.authn.span());
        let pages = pages::routes(
            Arc::clone(&self.service),
            self.authn.clone(),
            Arc::clone(&self.offered),
        );
        let inner = pages
            .merge(forms::routes(Arc::clone(&self.service)))
            .merge(authn::routes(self.authn.clone(), self.offered))
            .merge(events::routes(
                self.service,
                self.authn.clone(),
                self.stopping,
                self.pace,
            ))
            .merge(api)
            .layer(middleware::from_fn_with_state(self.authn, authn::identify))
            .layer(cookies);
        guarded(inner, transport, hosts)
    }
}

/// The layers that don't depend on who asks; the last one is the outermost.
fn guarded(inner: Router, transport: Transport, hosts: Hosts) -> Router {
    inner
        .layer(middleware::from_fn(files_first))
        .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES))
        .layer(middleware::from_fn(request::limit_time))
        .layer(CsrfLayer::new().with_rejection_response(guard::CrossSite))
        .layer(middleware::from_fn_with_state(hosts, guard::check_host))
        // Nothing secret stays the same from answer to answer, so its length gives nothing away (BREACH).
        .layer(CompressionLayer::new())
        .layer(CatchPanicLayer::custom(request::panicked))
        .layer(middleware::from_fn_with_state(transport, headers::protect))
        .layer(middleware::from_fn(request::accompany))
}

/// The site's files are for anybody and need no session.
async fn files_first(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD)
        && let Some(file) = assets::respond(request.uri().path(), request.headers())
    {
        return file;
    }
    next.run(request).await
}
