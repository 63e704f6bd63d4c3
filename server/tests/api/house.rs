//! A small institute, and the people who ask.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, header};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use stint_core::id::{PersonId, PoolId};
use stint_core::units::{DAY_S, Seconds, Timestamp};
use stint_server::clock::{Clock, ManualClock};
use stint_server::engine::{Engine, Means};
use stint_server::fleet::simulated::SimulatedFleet;
use stint_server::import::hosts::import_hosts;
use stint_server::import::org::import_org;
use stint_server::import::{Author, Mode};
use stint_server::service::{Caller, Hub, Service};
use stint_server::store::people::{self, Activity};
use stint_server::store::{Store, commit};
use tower::ServiceExt;

/// 2026-10-01 00:00 in UTC: the beginning of 2026-Q4.
pub(crate) const QUARTER: Timestamp = Timestamp(1_790_812_800);
/// The period that everything happens in.
pub(crate) const PERIOD: &str = "2026-Q4";

const HOSTS: &str = "[[pool]]\nid = \"h100\"\n[[hosts]]\npool = \"h100\"\nprefix = \"gpu\"\ncount = 4\ngpus = 8\nblock_size = 2\n";

/// Nodes as `id parent kind hours`.
const NODES: &str = "
lab - organisation 60000
research lab program 40000
vision research team 20000
language research team 15000
product lab program 15000
robots product team 10000
ideas product team 0
";

/// People as `id role node`.
const PEOPLE: &str = "
mona manager lab
ada manager research
rex researcher vision
lin researcher language
otto on_call lab
olga platform_admin lab
gone researcher vision
";

fn layout(nodes: &str) -> String {
    let mut text = "zone = \"UTC\"\n".to_owned();
    for line in nodes.lines().filter(|line| !line.is_empty()) {
        let [id, parent, kind, hours] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line:?} is not `id parent kind hours`");
        };
        write!(
            text,
            "[[node]]\nid = \"{id}\"\nkind = \"{kind}\"\nname = \"{}\"\nhours = {hours}\n",
            name(id)
        )
        .unwrap();
        if parent != "-" {
            writeln!(text, "parent = \"{parent}\"").unwrap();
        }
    }
    for line in PEOPLE.lines().filter(|line| !line.is_empty()) {
        let [id, role, node] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line:?} is not `id role node`");
        };
        let node = if nodes.contains(&format!("\n{node} ")) {
            node
        } else {
            "lab"
        };
        let roles = format!("roles = [{{ role = \"{role}\", node = \"{node}\" }}]");
        write!(
            text,
            "[[person]]\nid = \"{id}\"\nname = \"{}\"\n{roles}\n",
            name(id)
        )
        .unwrap();
    }
    text
}

fn name(id: &str) -> String {
    let (first, rest) = id.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// The whole server below the sign-in layer, one day into the quarter.
pub(crate) struct House {
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) service: Arc<Service>,
    means: Means,
    router: Router,
    _folder: tempfile::TempDir,
}

impl House {
    /// The institute of these tests.
    pub(crate) async fn new() -> Self {
        Self::with_nodes(NODES).await
    }

    /// Another tree, written as `id parent kind hours`, beginning with a line end.
    pub(crate) async fn with_nodes(nodes: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("stint.db")).await.unwrap();
        store.migrate().await.unwrap();
        let author = Author {
            person: "olga".parse().unwrap(),
            name: "Olga".to_owned(),
            at: QUARTER,
        };
        import_hosts(&store, &author, HOSTS.as_bytes(), Mode::Apply)
            .await
            .unwrap();
        import_org(&store, &author, layout(nodes).as_bytes(), None, Mode::Apply)
            .await
            .unwrap();
        let mut db = store.write().await.unwrap();
        people::set_active(&mut db, &"gone".parse().unwrap(), Activity::Inactive)
            .await
            .unwrap();
        commit(db).await.unwrap();
        let clock = Arc::new(ManualClock::at(QUARTER + Seconds(DAY_S)));
        let shared: Arc<dyn Clock> = clock.clone();
        let hub = Arc::new(Hub::default());
        let means = Means {
            store: store.clone(),
            fleet: Arc::new(SimulatedFleet::new(store.clone(), shared.clone())),
            clock: shared.clone(),
            hub: hub.clone(),
        };
        let service = Arc::new(Service::new(store.clone(), shared, hub));
        let process = PrometheusBuilder::new().build_recorder().handle();
        Self {
            router: stint_server::api::router(service.clone(), process),
            store,
            clock,
            service,
            means,
            _folder: folder,
        }
    }

    pub(crate) fn pool() -> PoolId {
        "h100".parse().unwrap()
    }

    /// The engine, as it comes up after a start.
    pub(crate) async fn engine(&self) -> Engine {
        Engine::load(self.means.clone(), Self::pool()).await.unwrap()
    }

    /// Lets the clock go on, and the engine act on what there is.
    pub(crate) async fn pass(&self, engine: &mut Engine, later: Seconds) {
        self.clock.set(self.clock.now() + later);
        engine.cycle().await.unwrap();
        engine.publish();
    }

    /// Somebody who is signed in.
    pub(crate) fn person(&self, id: &str) -> Actor<'_> {
        Actor {
            house: self,
            person: Some(id.parse().unwrap()),
        }
    }

    /// Somebody who is not.
    pub(crate) fn stranger(&self) -> Actor<'_> {
        Actor {
            house: self,
            person: None,
        }
    }

    /// What the service is told about somebody.
    pub(crate) async fn caller(&self, id: &str) -> Caller {
        Caller {
            me: self.service.person(&id.parse().unwrap()).await.unwrap(),
            request_id: "req-1".to_owned(),
        }
    }
}

/// Somebody who asks.
pub(crate) struct Actor<'h> {
    house: &'h House,
    person: Option<PersonId>,
}

impl Actor<'_> {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], Body::empty()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], Body::empty()).await
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send_json(Method::POST, path, headers, body).await
    }

    pub(crate) async fn put(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send_json(Method::PUT, path, headers, body).await
    }

    async fn send_json(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut headers = headers.to_vec();
        headers.push((header::CONTENT_TYPE.as_str(), "application/json"));
        self.send(method, path, &headers, Body::from(body.to_string()))
            .await
    }

    /// Sends anything, with whoever asks as the sign-in layer would have found them.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(body).unwrap();
        let me = match &self.person {
            Some(person) => self.house.service.person(person).await.unwrap(),
            None => None,
        };
        request.extensions_mut().insert(Caller {
            me,
            request_id: "req-1".to_owned(),
        });
        let response = self.house.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    /// Moves GPU-seconds under a key.
    pub(crate) async fn transfer(&self, key: &str, from: &str, to: &str, amount: &Value) -> Answer {
        let body = json!({"pool": "h100", "from": from, "to": to, "amount_gpu_seconds": amount, "reason": "plans changed"});
        let path = format!("/api/v1/budgets/{PERIOD}/transfers");
        self.post(&path, &[("Idempotency-Key", key)], &body).await
    }

    /// Submits a workload; fields given here replace those of a small ordinary one.
    pub(crate) async fn submit(&self, fields: &Value) -> Answer {
        let mut body = json!({
            "name": "train", "charged_to": "vision", "gpus": 1, "min_runtime_s": 3_600, "simulated_runtime_s": 7_200,
        });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        self.post("/api/v1/workloads", &[], &body).await
    }

    /// The budget of a node.
    pub(crate) async fn budget(&self, node: &str) -> Value {
        let tree = self.get(&format!("/api/v1/budgets/{PERIOD}/tree")).await.ok();
        let mut rows = tree["rows"].as_array().unwrap().iter();
        rows.find(|row| row["node"] == node).unwrap().clone()
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The body of an answer that is fine.
    pub(crate) fn ok(&self) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "{}: {}",
            self.status,
            self.text
        );
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }

    /// The body of a refusal of this kind, which every refusal must have the form of.
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:stint:problem:{code}"));
        assert_eq!(problem["request_id"], "req-1");
        assert!(
            problem["instance"].is_string() && problem["title"].is_string() && problem["detail"].is_string()
        );
        problem
    }

    /// The field that a refused request is told about.
    pub(crate) fn wrong_field(&self) -> String {
        let problem = self.refused(422, "validation");
        let error = &problem["errors"][0];
        assert!(
            error["accepted"].as_str().is_some_and(|text| !text.is_empty()),
            "{problem}"
        );
        error["field"].as_str().unwrap().to_owned()
    }
}
