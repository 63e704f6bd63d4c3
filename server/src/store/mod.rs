//! Storage: one `SQLite` file, written by one connection at a time and read by several.
//!
//! A [`Store`] hands out transactions; the rooms below take the open connection and speak of one aggregate each.
//! Who writes takes `BEGIN IMMEDIATE`, so that two writers queue up before they read instead of failing when they
//! commit. Statements live in `sql/`, one a file. Numbered ids are the highest one plus one, taken inside the
//! write transaction. Absent: any rule of the domain; those are in `stint_core` and have been asked before a row
//! is written. The constraints of the schema are the second line.

pub mod arrivals;
pub mod audit_log;
pub mod engine;
mod error;
pub mod idempotency;
pub mod ledger;
pub mod nodes;
pub mod people;
pub mod periods;
pub mod pools;
pub mod row;
pub mod runs;
pub mod sessions;
pub mod settings;
pub mod simulated;
pub mod workloads;

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

pub use error::StoreError;

/// The database that is spoken to.
pub type Database = sqlx::Sqlite;
/// An open connection; every transaction lends one.
pub type Connection = sqlx::SqliteConnection;
/// An open transaction. Dropped without `commit`, it leaves nothing behind.
pub type Transaction = sqlx::Transaction<'static, Database>;

/// Readers at a time: more than the cores of a small server, few enough to keep their page caches small.
const READERS: u32 = 8;
/// How long a writer waits for the file: only another process can hold it, and only for one transaction.
const BUSY: Duration = Duration::from_secs(10);
/// How long a request waits for a connection before it is told to try later.
const ACQUIRE: Duration = Duration::from_secs(15);

/// The steps of the schema, oldest first. Steps that have landed are never edited.
const MIGRATIONS: [(i64, &str, &str); 1] = [(
    1,
    "first",
    include_str!("../../../migrations/sqlite/0001_first.sql"),
)];

fn migrator() -> Migrator {
    let step = |(version, name, sql): (i64, &'static str, &'static str)| {
        Migration::new(
            version,
            Cow::Borrowed(name),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    };
    Migrator::with_migrations(MIGRATIONS.into_iter().map(step).collect())
}

/// The database.
#[derive(Clone, Debug)]
pub struct Store {
    writer: sqlx::Pool<Database>,
    readers: sqlx::Pool<Database>,
}

impl Store {
    /// Opens the file, and makes it when it isn't there. Brings no schema: see [`Store::migrate`].
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE)
            .connect_with(options.clone())
            .await
            .map_err(failed)?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(ACQUIRE)
            .connect_with(options.pragma("query_only", "true"))
            .await
            .map_err(failed)?;
        Ok(Self { writer, readers })
    }

    /// Brings the schema up to date. Running it again changes nothing; a schema from a later program is refused.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let known = MIGRATIONS.last().map_or(0, |(version, ..)| *version);
        match migrator().run(&self.writer).await {
            Ok(()) => Ok(()),
            Err(MigrateError::VersionMissing(found)) if found > known => {
                Err(StoreError::NewerSchema { found, known })
            }
            Err(source) => Err(StoreError::Migrate(source)),
        }
    }

    /// Whether the schema is exactly the one this program was made for.
    pub async fn is_current(&self) -> Result<bool, StoreError> {
        let mut connection = self.readers.acquire().await?;
        let table = migrator().table_name.into_owned();
        let applied = connection
            .list_applied_migrations(&table)
            .await
            .map_err(StoreError::Migrate)?;
        let applied: Vec<i64> = applied.iter().map(|step| step.version).collect();
        Ok(applied == MIGRATIONS.map(|(version, ..)| version))
    }

    /// A transaction that reads: all its statements see one state.
    pub async fn read(&self) -> Result<Transaction, StoreError> {
        Ok(self.readers.begin().await?)
    }

    /// A transaction that writes, alone from its first statement on.
    pub async fn write(&self) -> Result<Transaction, StoreError> {
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Finishes what is under way and closes the file.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Commits, with the error of this room.
pub async fn commit(transaction: Transaction) -> Result<(), StoreError> {
    Ok(transaction.commit().await?)
}
