//! Which requests are turned away before anything looks at them: those that name another host, and those that
//! another site makes a browser send.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::HOST;
use http::uri::Authority;
use stint_core::api::{Code, Problem};
use tower_http::csrf::{ProtectionError, ResponseForProtectionError};

use super::request::refuse;
use crate::config::Listen;

/// The names this server answers to.
///
/// A server on loopback is reached by anything that runs in a browser on this machine. A hostile page can let its own
/// name point to 127.0.0.1 and would then be of the same origin as the pages here (DNS rebinding); it can't change
/// the name that the browser sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    public: Option<String>,
}

impl Hosts {
    /// Those of a server that listens there.
    pub fn of(listen: &Listen) -> Self {
        Self {
            public: listen.public_url.as_ref().map(|url| url.authority().to_owned()),
        }
    }

    fn answers_to(&self, authority: &str) -> bool {
        if self
            .public
            .as_deref()
            .is_some_and(|public| public.eq_ignore_ascii_case(authority))
        {
            return true;
        }
        let Ok(authority) = authority.parse::<Authority>() else {
            return false;
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host
                .parse::<IpAddr>()
                .is_ok_and(|ip| ip.to_canonical().is_loopback())
    }
}

/// Turns away requests that name another host.
pub(super) async fn check_host(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let named = request
        .uri()
        .authority()
        .map(Authority::as_str)
        .or_else(|| request.headers().get(HOST).and_then(|host| host.to_str().ok()));
    match named {
        Some(named) if hosts.answers_to(named) => next.run(request).await,
        _ => refuse(Problem::new(
            Code::NotFound,
            "This server does not answer to the host that the request names.",
        )),
    }
}

/// What another site's request is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrossSite;

impl ResponseForProtectionError<axum::body::Body> for CrossSite {
    fn response_for_protection_error(&mut self, _: ProtectionError) -> Response {
        refuse(Problem::new(
            Code::AuthForbidden,
            "The request came from another site; nothing was changed.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_to_loopback_and_its_public_name_only() {
        let hosts = Hosts::of(&Listen {
            public_url: Some("https://stint.example.org".parse().unwrap()),
            ..Listen::default()
        });
        let check = |name: &str, want: bool| assert_eq!(hosts.answers_to(name), want, "{name}");
        check("localhost:7400", true);
        check("127.0.0.1", true);
        check("[::1]:7400", true);
        check("Stint.example.org", true);
        check("stint.example.org:8443", false);
        check("evil.example", false);
        check("localhost.evil.example:7400", false);
        check("127.0.0.1.evil.example", false);
        check("192.168.0.1", false);
        check("", false);
        check("a b", false);
    }
}
