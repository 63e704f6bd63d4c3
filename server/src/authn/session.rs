//! The session: its cookie, how long it lasts, and whom it belongs to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stint_core::id::PersonId;
use stint_core::units::{HOUR_S, Seconds, Timestamp};
use time::Duration;
use tower_sessions::cookie::SameSite;
use tower_sessions::session::Id;
use tower_sessions::{Expiry, Session, SessionManagerLayer, SessionStore};

use crate::config::SessionSpan;
use crate::store::sessions::Sessions;
use crate::web::Transport;

/// The cookie on a server that is reached without TLS, on this machine.
pub const COOKIE: &str = "stint";
/// The cookie elsewhere: the prefix makes browsers insist on TLS, on this host and on the whole path.
pub const SECURE_COOKIE: &str = "__Host-stint";
/// Where the session keeps whom it belongs to.
const SITTING: &str = "sitting";
/// The stored time of the last request is moved on at most this often, so that reading pages hardly ever writes.
const TOUCH: Seconds = Seconds::from_minutes(5);

/// Someone who signed in, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sitting {
    /// The person.
    pub person: PersonId,
    /// When they signed in, by the real clock.
    pub since: Timestamp,
    /// When they were last seen, give or take a few minutes.
    pub seen: Timestamp,
}

/// Whether a request shows that a person is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// They went to a page or sent a form.
    OfLife,
    /// A page that is open somewhere asked by itself.
    Automatic,
}

impl Sign {
    /// Open pages listen and refetch for as long as they are open, whether or not anybody looks.
    pub(super) fn of(path: &str) -> Self {
        if path == "/events" || path.starts_with("/_fn/") {
            Self::Automatic
        } else {
            Self::OfLife
        }
    }
}

/// The layer that reads and writes the cookie.
pub fn cookie_layer(
    sessions: Sessions,
    transport: Transport,
    span: SessionSpan,
) -> SessionManagerLayer<Sessions> {
    let (name, secure) = match transport {
        Transport::Plain => (COOKIE, false),
        Transport::Tls => (SECURE_COOKIE, true),
    };
    SessionManagerLayer::new(sessions)
        .with_name(name)
        .with_secure(secure)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path("/")
        .with_expiry(idle(span))
}

fn idle(span: SessionSpan) -> Expiry {
    Expiry::OnInactivity(Duration::hours(span.idle_hours.into()))
}

/// Begins a sitting in a session of its own: nothing of the one before is kept, and the id is a new one.
pub(super) async fn begin(
    session: &Session,
    person: PersonId,
    now: Timestamp,
) -> Result<(), tower_sessions::session::Error> {
    session.clear().await;
    session.cycle_id().await?;
    let sitting = Sitting {
        person,
        since: now,
        seen: now,
    };
    session.insert(SITTING, sitting).await
}

/// Whose session it is; `None` when nobody's, or when it has lasted too long.
pub(super) async fn current(
    session: &Session,
    span: SessionSpan,
    now: Timestamp,
    sign: Sign,
) -> Result<Option<PersonId>, tower_sessions::session::Error> {
    let Some(mut sitting) = session.get::<Sitting>(SITTING).await? else {
        return Ok(None);
    };
    if !sitting.lasts(span, now) {
        session.flush().await?;
        return Ok(None);
    }
    let person = sitting.person.clone();
    if sign == Sign::OfLife && now.since(sitting.seen) >= TOUCH {
        sitting.seen = now;
        session.insert(SITTING, sitting).await?;
    }
    Ok(Some(person))
}

/// Whether a session still belongs to a person, read anew: for streams that outlive their request.
pub(super) async fn still_lasts(
    sessions: &Sessions,
    id: Id,
    person: &PersonId,
    span: SessionSpan,
    now: Timestamp,
) -> Result<bool, tower_sessions::session_store::Error> {
    let store: Arc<dyn SessionStore> = Arc::new(sessions.clone());
    let Some(record) = store.load(&id).await? else {
        return Ok(false);
    };
    let sitting = record.data.get(SITTING).cloned();
    let sitting = sitting.and_then(|value| serde_json::from_value::<Sitting>(value).ok());
    Ok(sitting.is_some_and(|sitting| sitting.person == *person && sitting.lasts(span, now)))
}

impl Sitting {
    fn lasts(&self, span: SessionSpan, now: Timestamp) -> bool {
        let hours = |count: u16| Seconds(i64::from(count) * HOUR_S);
        now.since(self.since) < hours(span.longest_hours)
            && now.since(self.seen) < hours(span.idle_hours) + TOUCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: SessionSpan = SessionSpan {
        idle_hours: 8,
        longest_hours: 24,
    };

    fn sitting(since: i64, seen: i64) -> Sitting {
        Sitting {
            person: "ida".parse().unwrap(),
            since: Timestamp(since),
            seen: Timestamp(seen),
        }
    }

    #[test]
    fn a_sitting_ends_when_idle_and_ends_in_any_case() {
        assert!(sitting(0, 0).lasts(SPAN, Timestamp(8 * HOUR_S)));
        assert!(!sitting(0, 0).lasts(SPAN, Timestamp(9 * HOUR_S)));
        assert!(sitting(0, 23 * HOUR_S).lasts(SPAN, Timestamp(24 * HOUR_S - 1)));
        assert!(!sitting(0, 23 * HOUR_S).lasts(SPAN, Timestamp(24 * HOUR_S)));
    }

    #[test]
    fn an_open_page_alone_is_no_sign_of_life() {
        assert_eq!(Sign::of("/events"), Sign::Automatic);
        assert_eq!(Sign::of("/_fn/queue"), Sign::Automatic);
        assert_eq!(Sign::of("/queue"), Sign::OfLife);
    }
}
