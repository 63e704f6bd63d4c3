//! Forms that were refused, kept in the session of who sent them, so that the page can show them again as typed.
//!
//! The id in the address finds a form only in the session that sent it, so an address that is passed on shows
//! nothing of anybody else.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use stint_app::backend::RefusedForm;
use stint_core::api::{Code, Problem};
use tower_sessions::Session;

/// Where the session keeps them.
const KEY: &str = "refused";
/// The last few: one for each tab that somebody could be correcting.
pub(super) const KEPT: usize = 5;
/// The longest text of a field that is kept; what was longer has to be typed again.
pub(super) const MAX_FIELD: usize = 2_000;

#[derive(Serialize, Deserialize)]
struct Kept {
    id: String,
    form: RefusedForm,
}

/// Keeps a form and says under which id.
///
/// # Errors
/// The session can't be read or written.
pub(super) async fn keep(session: &Session, mut form: RefusedForm) -> Result<String, Problem> {
    for value in form.fields.values_mut() {
        if value.len() > MAX_FIELD {
            value.clear();
        }
    }
    for error in &mut form.problem.errors {
        if error.value.len() > MAX_FIELD {
            error.value.clear();
        }
    }
    let id = uuid::Uuid::now_v7().simple().to_string();
    let mut kept = all(session).await?;
    while kept.len() >= KEPT {
        kept.pop_front();
    }
    kept.push_back(Kept { id: id.clone(), form });
    session
        .insert(KEY, kept)
        .await
        .map_err(|error| unreadable(&error))?;
    Ok(id)
}

/// The form with an id, if this session sent it.
///
/// # Errors
/// The session can't be read.
pub(super) async fn find(session: &Session, id: &str) -> Result<Option<RefusedForm>, Problem> {
    let kept = all(session).await?;
    Ok(kept.into_iter().find(|kept| kept.id == id).map(|kept| kept.form))
}

async fn all(session: &Session) -> Result<VecDeque<Kept>, Problem> {
    let kept = session.get(KEY).await.map_err(|error| unreadable(&error))?;
    Ok(kept.unwrap_or_default())
}

fn unreadable(error: &tower_sessions::session::Error) -> Problem {
    tracing::error!(%error, "the session can't be read or written");
    Problem::new(Code::Internal, "The session can't be read or written.")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::store::Store;
    use crate::store::sessions::Sessions;

    /// Nothing is saved here, so the database stays empty.
    async fn sessions() -> (Session, Session) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("stint.db")).await.unwrap();
        let sessions = Arc::new(Sessions::new(store, Arc::new(SystemClock)));
        let session = || Session::new(None, Arc::<Sessions>::clone(&sessions), None);
        (session(), session())
    }

    fn form(hours: &str) -> RefusedForm {
        RefusedForm {
            problem: Problem::field("hours", hours, "a number"),
            fields: BTreeMap::from([("hours".to_owned(), hours.to_owned())]),
        }
    }

    #[tokio::test]
    async fn a_refused_form_is_found_in_its_own_session_only() {
        let (mine, other) = sessions().await;
        let id = keep(&mine, form("-1")).await.unwrap();
        assert_eq!(find(&mine, &id).await.unwrap(), Some(form("-1")));
        assert_eq!(find(&other, &id).await.unwrap(), None);
    }

    #[tokio::test]
    async fn only_the_last_few_are_kept_and_none_is_large() {
        let (session, _) = sessions().await;
        let first = keep(&session, form("a")).await.unwrap();
        for _ in 0..KEPT {
            keep(&session, form("b")).await.unwrap();
        }
        assert_eq!(find(&session, &first).await.unwrap(), None);
        let id = keep(&session, form(&"9".repeat(MAX_FIELD + 1))).await.unwrap();
        let kept = find(&session, &id).await.unwrap().unwrap();
        assert_eq!(kept.fields["hours"], "");
    }
}
