//! The headers that keep a page to itself, on every answer.
//!
//! Invariant: scripts run only with the nonce of their own page; nothing is loaded from elsewhere; no other site
//! frames a page or posts a form on.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue};
use leptos::nonce::Nonce;

/// Whether browsers reach the server by TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Plain, on this machine only.
    Plain,
    /// By TLS.
    Tls,
}

const FIXED: [(HeaderName, HeaderValue); 5] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    // Not `no-referrer`: a form that is posted without scripts goes back to where it came from.
    (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ),
];

/// Two years, as the lists of browsers ask for.
const TLS_ONLY: HeaderValue = HeaderValue::from_static("max-age=63072000");

/// Mints the nonce of this request and sets the headers of its answer.
pub(super) async fn protect(
    State(transport): State<Transport>,
    mut request: Request,
    next: Next,
) -> Response {
    let nonce = Nonce::new();
    request.extensions_mut().insert(nonce.clone());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&content_security_policy(&nonce)) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in FIXED {
        headers.insert(name, value);
    }
    if transport == Transport::Tls {
        headers.insert(STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
    // Pages and answers are for one person; only the site's files say otherwise.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

fn content_security_policy(nonce: &Nonce) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}
