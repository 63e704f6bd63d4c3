//! A small site in process: two teams, four hosts, four people, one engine that has looked once.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, COOKIE, HOST as HOST_HEADER, SET_COOKIE};
use http::{Request, StatusCode};
use metrics_exporter_prometheus::PrometheusBuilder;
use stint_core::api::budgets::BudgetTree;
use stint_core::api::session::Me;
use stint_core::id::PeriodId;
use stint_core::units::Timestamp;
use stint_server::api;
use stint_server::authn::Authn;
use stint_server::clock::{ManualClock, SystemClock};
use stint_server::config::{Listen, SessionSpan};
use stint_server::engine::{Engine, Means};
use stint_server::fleet::SimulatedFleet;
use stint_server::import::hosts::import_hosts;
use stint_server::import::org::import_org;
use stint_server::import::{Author, Mode};
use stint_server::serve::Stop;
use stint_server::service::{Hub, Service};
use stint_server::store::{Store, periods};
use stint_server::web::{Pace, Web};
use tower::ServiceExt;

pub(crate) const HOST: &str = "127.0.0.1:7400";
pub(crate) const MANAGER: &str = "mira";
pub(crate) const RESEARCHER: &str = "noor";

/// Two days into 2026-Q4.
const NOW: Timestamp = Timestamp(1_791_010_800);
const HOSTS: &[u8] = b"[[pool]]\nid = \"h100\"\n[[hosts]]\npool = \"h100\"\nprefix = \"gpu\"\ncount = 4\ngpus = 8\nblock_size = 2\n";
const ORG: &[u8] = br#"
zone = "America/Los_Angeles"
[[node]]
id = "lab"
kind = "organisation"
name = "Lab"
[[node]]
id = "robots"
parent = "lab"
kind = "team"
name = "Robots"
weight = 3
[[node]]
id = "vision"
parent = "lab"
kind = "team"
name = "Vision"
weight = 1
[[person]]
id = "mira"
name = "Mira"
roles = [{ role = "manager", node = "lab" }]
[[person]]
id = "noor"
name = "Noor"
roles = [{ role = "researcher", node = "vision" }]
[[person]]
id = "olga"
name = "Olga"
roles = [{ role = "platform_admin", node = "lab" }]
[[person]]
id = "perception-ci"
name = "CI"
active = false
roles = [{ role = "researcher", node = "robots" }]
"#;

pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) hub: Arc<Hub>,
    pub(crate) stop: Stop,
    pub(crate) period: PeriodId,
    host: String,
    router: Router,
    _engine: Engine,
    _folder: tempfile::TempDir,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: http::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// A header; empty when absent.
    pub(crate) fn header(&self, name: &str) -> String {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    }

    /// The cookie that was set, as the browser sends it back.
    pub(crate) fn cookie(&self) -> Option<String> {
        let set = self.header(SET_COOKIE.as_str());
        let pair = set.split(';').next()?;
        pair.split_once('=').filter(|(_, id)| !id.is_empty())?;
        Some(pair.to_owned())
    }
}

/// An event stream.
pub(crate) struct Stream {
    bytes: BodyDataStream,
}

impl Stream {
    /// What is said next; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let bytes = self.bytes.next().await?;
        Some(String::from_utf8(bytes.unwrap().to_vec()).unwrap())
    }

    /// The next event of a kind.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Option<String> {
        loop {
            let event = self.next().await?;
            if event.contains(&format!("event: {kind}")) {
                return Some(event);
            }
        }
    }
}

impl Site {
    pub(crate) async fn open() -> Self {
        Self::with(Listen::default(), &[MANAGER, RESEARCHER, "perception-ci"]).await
    }

    pub(crate) async fn without_sign_in() -> Self {
        Self::with(Listen::default(), &[]).await
    }

    pub(crate) async fn public(url: &str) -> Self {
        let listen = Listen {
            public_url: Some(url.parse().unwrap()),
            ..Listen::default()
        };
        Self::with(listen, &[RESEARCHER]).await
    }

    async fn with(listen: Listen, offered: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("stint.db")).await.unwrap();
        store.migrate().await.unwrap();
        let author = Author {
            person: "olga".parse().unwrap(),
            name: "Olga".to_owned(),
            at: NOW,
        };
        import_hosts(&store, &author, HOSTS, Mode::Apply).await.unwrap();
        import_org(&store, &author, ORG, None, Mode::Apply).await.unwrap();
        let mut db = store.read().await.unwrap();
        let period = periods::all(&mut db).await.unwrap()[0].id.clone();
        drop(db);
        let clock = Arc::new(ManualClock::at(NOW));
        let hub = Arc::new(Hub::default());
        let means = Means {
            store: store.clone(),
            fleet: Arc::new(SimulatedFleet::new(store.clone(), clock.clone())),
            clock: clock.clone(),
            hub: Arc::clone(&hub),
        };
        let engine = Engine::load(means, "h100".parse().unwrap()).await.unwrap();
        let service = Arc::new(Service::new(store.clone(), clock, Arc::clone(&hub)));
        let (stop, stopping) = Stop::new();
        let api = api::router(
            Arc::clone(&service),
            PrometheusBuilder::new().build_recorder().handle(),
        );
        let host = listen
            .public_url
            .as_ref()
            .map_or(HOST, |url| url.authority())
            .to_owned();
        let web = Web {
            service,
            authn: Authn::new(store.clone(), SessionSpan::default(), Arc::new(SystemClock)),
            offered: offered.iter().map(|person| person.parse().unwrap()).collect(),
            listen,
            stopping,
            pace: Pace {
                heartbeat: Duration::from_millis(200),
                recheck: Duration::from_millis(50),
            },
        };
        Self {
            store,
            hub,
            stop,
            period,
            host,
            router: web.router(api),
            _engine: engine,
            _folder: folder,
        }
    }

    /// A form as a browser on the site itself sends it.
    pub(crate) fn form(&self, path: &str, body: &str, cookie: Option<&str>) -> Request<Body> {
        let mut request = Request::post(path)
            .header(HOST_HEADER, &self.host)
            .header(ACCEPT, "text/html")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, cookie);
        }
        request.body(Body::from(body.to_owned())).unwrap()
    }

    fn get(&self, path: &str, accept: &str, cookie: Option<&str>) -> Request<Body> {
        let mut request = Request::get(path)
            .header(HOST_HEADER, &self.host)
            .header(ACCEPT, accept);
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, cookie);
        }
        request.body(Body::empty()).unwrap()
    }

    /// Sends a request and reads the answer to its end.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 10_000_000).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    /// A page as a browser asks for it.
    pub(crate) async fn page(&self, path: &str, cookie: Option<&str>) -> Answer {
        self.send(self.get(path, "text/html", cookie)).await
    }

    /// Signs in and returns the cookie.
    pub(crate) async fn sign_in(&self, person: &str) -> String {
        let answer = self
            .send(self.form("/sign-in", &format!("person={person}&next=%2F"), None))
            .await;
        answer.cookie().unwrap()
    }

    /// Whom the API takes the cookie for.
    pub(crate) async fn who(&self, cookie: &str) -> Option<String> {
        let answer = self
            .send(self.get("/api/v1/me", "application/json", Some(cookie)))
            .await;
        let me: Option<Me> = serde_json::from_str(&answer.body).ok();
        me.map(|me| me.person.to_string())
    }

    /// The budgets of the period.
    pub(crate) async fn budgets(&self, cookie: &str) -> BudgetTree {
        let path = format!("/api/v1/budgets/{}/tree?pool=h100", self.period);
        let answer = self.send(self.get(&path, "application/json", Some(cookie))).await;
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Opens a stream; the status when it is refused.
    pub(crate) async fn listen(&self, path: &str, cookie: Option<&str>) -> Result<Stream, StatusCode> {
        self.stream(self.get(path, "text/event-stream", cookie)).await
    }

    /// Opens a stream as a browser does that had one before.
    pub(crate) async fn listen_again(&self, path: &str) -> Result<Stream, StatusCode> {
        let mut request = self.get(path, "text/event-stream", None);
        request
            .headers_mut()
            .insert("last-event-id", "7".parse().unwrap());
        self.stream(request).await
    }

    async fn stream(&self, request: Request<Body>) -> Result<Stream, StatusCode> {
        let response = self.router.clone().oneshot(request).await.unwrap();
        if response.status() != StatusCode::OK {
            return Err(response.status());
        }
        Ok(Stream {
            bytes: response.into_body().into_data_stream(),
        })
    }
}
