//! From a session to the person who asks.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use stint_core::api::session::Me;
use stint_core::api::{Code, Problem};
use stint_core::id::PersonId;
use tower_sessions::Session;
use tower_sessions::session::Id;

use super::session::{self, Sign};
use crate::clock::Clock;
use crate::config::SessionSpan;
use crate::service::Caller;
use crate::store::sessions::Sessions;
use crate::store::{Store, StoreError, people};
use crate::web::{RequestId, refuse};

/// What it takes to tell who asks.
#[derive(Clone)]
pub struct Authn {
    store: Store,
    sessions: Sessions,
    span: SessionSpan,
    real_clock: Arc<dyn Clock>,
}

impl Authn {
    /// Sign-in over a database, by the real clock.
    pub fn new(store: Store, span: SessionSpan, real_clock: Arc<dyn Clock>) -> Self {
        Self {
            sessions: Sessions::new(store.clone(), Arc::clone(&real_clock)),
            store,
            span,
            real_clock,
        }
    }

    /// The store of sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// How long a sign-in lasts.
    pub fn span(&self) -> SessionSpan {
        self.span
    }

    /// A person with their roles as of now; `None` when unknown or no longer active.
    pub async fn person(&self, person: &PersonId) -> Result<Option<Me>, StoreError> {
        let mut db = self.store.read().await?;
        people::me(&mut db, person).await
    }

    /// Begins a sitting.
    pub(super) async fn begin(&self, session: &Session, person: PersonId) -> Result<(), Problem> {
        session::begin(session, person, self.real_clock.now())
            .await
            .map_err(|error| unreadable(&error))
    }

    async fn caller(&self, session: &Session, sign: Sign) -> Result<Option<Me>, Problem> {
        let person = session::current(session, self.span, self.real_clock.now(), sign).await;
        match person.map_err(|error| unreadable(&error))? {
            Some(person) => Ok(self.person(&person).await?),
            None => Ok(None),
        }
    }

    /// The person as they are now, if the session still belongs to them: for streams that outlive their request.
    pub async fn recheck(&self, id: Id, person: &PersonId) -> Result<Option<Me>, Problem> {
        let now = self.real_clock.now();
        let lasts = session::still_lasts(&self.sessions, id, person, self.span, now).await;
        if lasts.map_err(|error| unreadable(&error))? {
            Ok(self.person(person).await?)
        } else {
            Ok(None)
        }
    }
}

/// Logs the failure once, where it is handled.
fn unreadable(error: &dyn std::error::Error) -> Problem {
    tracing::error!(%error, "the session can't be read or written");
    Problem::new(Code::Internal, "The session can't be read or written.")
}

/// Puts the [`Caller`] into the request, signed in or not.
pub async fn identify(
    State(authn): State<Authn>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let me = match authn.caller(&session, Sign::of(request.uri().path())).await {
        Ok(me) => me,
        Err(problem) => return refuse(problem),
    };
    if let Some(me) = &me {
        tracing::Span::current().record("person", me.person.as_str());
    }
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .map_or_else(String::new, |id| id.as_str().to_owned());
    request.extensions_mut().insert(Caller { me, request_id });
    next.run(request).await
}
