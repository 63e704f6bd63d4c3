//! Requests that are carried out once, however often they are sent.

use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use stint_core::api::session::Me;
use stint_core::api::{Code, Problem};
use stint_core::units::Timestamp;

use crate::hex;
use crate::store::idempotency::{self, AnswerRow};
use crate::store::{Connection, StoreError};

/// The longest key that is accepted: a few times what any client's ids take.
const MAX_KEY: usize = 200;

/// A name that the one who asks gives to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = Problem;
    fn from_str(text: &str) -> Result<Self, Problem> {
        let printable = text.bytes().all(|b| b.is_ascii_graphic());
        if (1..=MAX_KEY).contains(&text.len()) && printable {
            return Ok(Self(text.to_owned()));
        }
        Err(Problem::field(
            "Idempotency-Key",
            text,
            format!("1 to {MAX_KEY} visible ASCII characters"),
        ))
    }
}

/// A request under a key: who sent it, and a digest of what it asks for.
pub(super) struct Request<'a> {
    me: &'a Me,
    key: &'a IdempotencyKey,
    body_hash: String,
}

impl<'a> Request<'a> {
    /// A request for an operation. Two requests are the same when operation and body are.
    pub(super) fn new<B: Serialize>(
        me: &'a Me,
        key: &'a IdempotencyKey,
        operation: &str,
        body: &B,
    ) -> Result<Self, Problem> {
        let body = serde_json::to_string(body).map_err(unreadable)?;
        let digest = Sha256::digest(format!("{operation}\n{body}").as_bytes());
        Ok(Self {
            me,
            key,
            body_hash: hex::write(&digest),
        })
    }

    /// The answer that was given when it came first; `None` the first time. Asked inside the write transaction that
    /// will carry it out.
    ///
    /// # Errors
    /// A problem when the key stands for another request.
    pub(super) async fn answered<A: DeserializeOwned>(
        &self,
        db: &mut Connection,
    ) -> Result<Option<A>, Problem> {
        let Some(found) = idempotency::find(db, &self.me.person, self.key.as_str()).await? else {
            return Ok(None);
        };
        if found.body_hash != self.body_hash {
            return Err(Problem::new(
                Code::IdempotencyReused,
                format!("The key {:?} was used for another request.", self.key.as_str()),
            ));
        }
        match found.response {
            Some(text) => serde_json::from_str(&text).map(Some).map_err(unreadable),
            None => Err(Problem::new(
                Code::IdempotencyRunning,
                "The request with this key is still under way; ask again in a moment.",
            )),
        }
    }

    /// Keeps the answer, in the transaction that carries the request out.
    pub(super) async fn keep<A: Serialize>(
        &self,
        db: &mut Connection,
        answer: &A,
        at: Timestamp,
    ) -> Result<(), Problem> {
        let row = AnswerRow {
            body_hash: self.body_hash.clone(),
            status: Some(201),
            response: Some(serde_json::to_string(answer).map_err(unreadable)?),
        };
        idempotency::insert(db, &self.me.person, self.key.as_str(), &row, at).await?;
        Ok(())
    }
}

fn unreadable(source: serde_json::Error) -> Problem {
    StoreError::Unreadable {
        what: "answer",
        source: source.into(),
    }
    .into()
}
