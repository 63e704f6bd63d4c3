//! Live updates: `GET /events?topics=queue:POOL,workload:ID` tells which of the topics changed. The page then asks
//! again for what it shows, so nothing is ever sent here that has to be authorised row by row.
//!
//! One stream a tab. A listener that falls behind is told to read everything anew. A stream ends when its session
//! does, when its person leaves, and when the server stops; the browser then asks again and is told how things are.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing::get};
use futures_util::stream;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use stint_core::api::{Problem, Time};
use stint_core::id::PersonId;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio::time::{Interval, MissedTickBehavior};
use tower_sessions::Session;
use tower_sessions::session::Id;

use super::request::refuse;
use crate::authn::Authn;
use crate::serve::Stopping;
use crate::service::hub::TopicError;
use crate::service::{Caller, News, Service, Topic};

/// The most topics of one stream: a page shows a handful.
pub(super) const MAX_TOPICS: usize = 16;
/// Streams at a time. Each costs a few kilobytes and a slot in the broadcast; beyond this pages still work by reloading.
pub(super) const MAX_STREAMS: usize = 2_000;
/// When a browser comes back after the stream ended.
const RETRY: Duration = Duration::from_secs(3);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How often a stream says something by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How often it shows that it is alive. The page says that data may be old after two that didn't come.
    pub heartbeat: Duration,
    /// How often it makes sure that its session still lasts.
    pub recheck: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(10),
            recheck: Duration::from_secs(30),
        }
    }
}

#[derive(Clone)]
struct EventsState {
    service: Arc<Service>,
    authn: Authn,
    stopping: Stopping,
    pace: Pace,
    slots: Arc<Semaphore>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    topics: String,
}

/// `GET /events`.
pub(super) fn routes(service: Arc<Service>, authn: Authn, stopping: Stopping, pace: Pace) -> Router {
    Router::new()
        .route("/events", get(listen))
        .with_state(EventsState {
            service,
            authn,
            stopping,
            pace,
            slots: Arc::new(Semaphore::new(MAX_STREAMS)),
        })
}

async fn listen(
    State(state): State<EventsState>,
    Extension(caller): Extension<Caller>,
    session: Session,
    headers: HeaderMap,
    asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(asked)) = asked else {
        return refuse(Problem::field("topics", "", "topics separated by commas"));
    };
    // Taken before anything is read, so that what changes meanwhile is told.
    let news = state.service.hub().subscribe();
    let watched = match authorised(&state.service, &caller, &asked.topics).await {
        Ok(topics) => topics,
        Err(problem) => return refuse(problem),
    };
    let sitting = caller
        .me
        .as_ref()
        .and_then(|me| Some((session.id()?, me.person.clone())));
    let Ok(slot) = Arc::clone(&state.slots).try_acquire_owned() else {
        let headers = [(RETRY_AFTER, HeaderValue::from_static("60"))];
        return (StatusCode::SERVICE_UNAVAILABLE, headers).into_response();
    };
    let listener = Listener {
        service: state.service,
        authn: state.authn,
        sitting,
        watched,
        news,
        // A browser that comes back has missed what was told meanwhile.
        greeting: Some(if headers.contains_key(LAST_EVENT_ID) {
            Greeting::Resync
        } else {
            Greeting::Welcome
        }),
        heartbeat: ticks(state.pace.heartbeat),
        recheck: ticks(state.pace.recheck),
        stopping: state.stopping,
        _slot: slot,
    };
    let events = stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    // Heartbeats keep proxies from closing the connection; they need no comments beside them.
    Sse::new(events).into_response()
}

/// The topics, if the person may follow each of them. When something changed in a pool tells nothing beyond what
/// everybody may see of it; a workload is followed by those who may see it.
async fn authorised(service: &Service, caller: &Caller, text: &str) -> Result<BTreeSet<Topic>, Problem> {
    let topics: BTreeSet<Topic> = text
        .split(',')
        .map(|topic| {
            topic
                .parse()
                .map_err(|error: TopicError| Problem::field("topics", topic, error.to_string()))
        })
        .collect::<Result<_, _>>()?;
    if topics.len() > MAX_TOPICS {
        let accepted = format!("at most {MAX_TOPICS} topics");
        return Err(Problem::field("topics", text, accepted));
    }
    for topic in &topics {
        match topic {
            Topic::Workload(id) => {
                service.workload(caller, *id).await?;
            }
            Topic::Queue(pool) | Topic::Hosts(pool) | Topic::Standing(pool) | Topic::Budgets(pool) => {
                service.pool(caller, Some(pool)).await?;
            }
        }
    }
    Ok(topics)
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick of an interval is at once.
    ticks.reset();
    ticks
}

enum Greeting {
    Welcome,
    Resync,
}

struct Listener {
    service: Arc<Service>,
    authn: Authn,
    sitting: Option<(Id, PersonId)>,
    watched: BTreeSet<Topic>,
    news: broadcast::Receiver<News>,
    greeting: Option<Greeting>,
    heartbeat: Interval,
    recheck: Interval,
    stopping: Stopping,
    _slot: OwnedSemaphorePermit,
}

impl Listener {
    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        if let Some(greeting) = self.greeting.take() {
            let event = match greeting {
                Greeting::Welcome => self.heartbeat_event(),
                Greeting::Resync => Event::default().event("resync").data("all"),
            };
            return Some(event.retry(RETRY));
        }
        loop {
            tokio::select! {
                biased;
                () = self.stopping.requested() => return None,
                _ = self.recheck.tick() => {
                    if !self.still_allowed().await {
                        return None;
                    }
                }
                _ = self.heartbeat.tick() => return Some(self.heartbeat_event()),
                heard = self.news.recv() => match heard {
                    Ok(news) if self.watched.contains(&news.topic) => return Some(changed(&news)),
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return Some(Event::default().event("resync").data("all")),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    /// A store that can't be read for a moment ends the stream too; the browser comes back.
    async fn still_allowed(&self) -> bool {
        match &self.sitting {
            Some((session, person)) => matches!(self.authn.recheck(*session, person).await, Ok(Some(_))),
            None => true,
        }
    }

    fn heartbeat_event(&self) -> Event {
        let as_of = Time::new(self.service.clock().now(), 0).unwrap_or_default();
        Event::default().event("heartbeat").data(as_of.rfc3339())
    }
}

fn changed(news: &News) -> Event {
    let body = serde_json::json!({ "topic": news.topic.to_string(), "version": news.version });
    Event::default()
        .event("changed")
        .id(news.version.to_string())
        .data(body.to_string())
}
