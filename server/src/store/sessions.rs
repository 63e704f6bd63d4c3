//! Sessions of people who signed in. The id that the browser holds is never stored, only its digest: who reads the
//! file can't sign in with it.
//!
//! Sessions live by real time, whatever the clock of the fleet shows.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use stint_core::units::Timestamp;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{self, Error};

use super::{Store, StoreError};
use crate::clock::Clock;
use crate::hex;

/// How often a new id is drawn before giving up: ids have 128 bits, so a second collision means a broken generator.
const DRAWS: usize = 3;

/// The store of sessions.
#[derive(Clone)]
pub struct Sessions {
    store: Store,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}

impl Sessions {
    /// Sessions in a database; `clock` is the real one.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Forgets sessions that have run out, and says how many.
    pub async fn delete_expired(&self) -> Result<u64, StoreError> {
        let mut db = self.store.write().await?;
        let done = sqlx::query(include_str!("sql/sessions_delete_expired.sql"))
            .bind(self.clock.now().0)
            .execute(&mut *db)
            .await?;
        super::commit(db).await?;
        Ok(done.rows_affected())
    }

    async fn put(&self, record: &Record, statement: &'static str) -> session_store::Result<u64> {
        let text = serde_json::to_string(record).map_err(|e| Error::Encode(e.to_string()))?;
        let mut db = self.store.write().await.map_err(backend)?;
        let done = sqlx::query(statement)
            .bind(digest(&record.id))
            .bind(text)
            .bind(expiry(record).0)
            .execute(&mut *db)
            .await
            .map_err(|e| backend(e.into()))?;
        super::commit(db).await.map_err(backend)?;
        Ok(done.rows_affected())
    }
}

fn digest(id: &Id) -> String {
    hex::write(&Sha256::digest(id.to_string().as_bytes()))
}

fn expiry(record: &Record) -> Timestamp {
    Timestamp(record.expiry_date.unix_timestamp())
}

fn backend(error: StoreError) -> Error {
    Error::Backend(error.to_string())
}

#[async_trait::async_trait]
impl SessionStore for Sessions {
    async fn create(&self, record: &mut Record) -> session_store::Result<()> {
        for _ in 0..DRAWS {
            if self.put(record, include_str!("sql/sessions_create.sql")).await? == 1 {
                return Ok(());
            }
            record.id = Id::default();
        }
        Err(Error::Backend("session ids collide".to_owned()))
    }

    async fn save(&self, record: &Record) -> session_store::Result<()> {
        self.put(record, include_str!("sql/sessions_save.sql")).await?;
        Ok(())
    }

    async fn load(&self, id: &Id) -> session_store::Result<Option<Record>> {
        let mut db = self.store.read().await.map_err(backend)?;
        let text: Option<String> = sqlx::query_scalar(include_str!("sql/sessions_load.sql"))
            .bind(digest(id))
            .bind(self.clock.now().0)
            .fetch_optional(&mut *db)
            .await
            .map_err(|e| backend(e.into()))?;
        let record = text.map(|text| serde_json::from_str(&text));
        record.transpose().map_err(|e| Error::Decode(e.to_string()))
    }

    async fn delete(&self, id: &Id) -> session_store::Result<()> {
        let mut db = self.store.write().await.map_err(backend)?;
        sqlx::query(include_str!("sql/sessions_delete.sql"))
            .bind(digest(id))
            .execute(&mut *db)
            .await
            .map_err(|e| backend(e.into()))?;
        super::commit(db).await.map_err(backend)
    }
}
