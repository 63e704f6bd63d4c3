//! From columns to typed values, so that no bare text or number leaves this folder.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, ValueRef};
use stint_core::api::fleet::HostState;
use stint_core::api::session::Role;
use stint_core::id::{BlockId, HostId, NodeId, PeriodId, PersonId, PoolId, RunId, TransactionId, WorkloadId};
use stint_core::ledger::Kind;
use stint_core::org::NodeKind;
use stint_core::sched::contract::{AfterPreemption, EndCause, Fallback, Then, Topology, WorkloadState};
use stint_core::units::{GpuSeconds, Seconds, Timestamp};

/// A value that a column can hold.
pub trait Column: Sized {
    /// Reads it.
    fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error>;
}

fn unreadable(name: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> sqlx::Error {
    sqlx::Error::ColumnDecode {
        index: name.to_owned(),
        source: source.into(),
    }
}

impl Column for i64 {
    fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
        row.try_get(name)
    }
}

impl Column for String {
    fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
        row.try_get(name)
    }
}

impl Column for bool {
    fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
        Ok(i64::read(row, name)? != 0)
    }
}

impl<T: Column> Column for Option<T> {
    fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
        if row.try_get_raw(name)?.is_null() {
            return Ok(None);
        }
        T::read(row, name).map(Some)
    }
}

macro_rules! narrowed {
    ($($kind:ty),*) => {$(
        impl Column for $kind {
            fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
                Self::try_from(i64::read(row, name)?).map_err(|e| unreadable(name, e))
            }
        }
    )*};
}
narrowed!(u8, u16, u32, i32, u64);

macro_rules! wrapped {
    ($($kind:ident),*) => {$(
        impl Column for $kind {
            fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
                Ok(Self(Column::read(row, name)?))
            }
        }
    )*};
}
wrapped!(GpuSeconds, Seconds, Timestamp, WorkloadId, RunId, TransactionId);

macro_rules! parsed {
    ($($kind:ty),*) => {$(
        impl Column for $kind {
            fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
                Self::try_from(String::read(row, name)?).map_err(|e| unreadable(name, e))
            }
        }
    )*};
}
parsed!(NodeId, PoolId, HostId, BlockId, PersonId, PeriodId);

macro_rules! worded {
    ($($kind:ty),*) => {$(
        impl Column for $kind {
            fn read(row: &SqliteRow, name: &str) -> Result<Self, sqlx::Error> {
                from_word(String::read(row, name)?).map_err(|e| unreadable(name, e))
            }
        }
    )*};
}
worded!(
    NodeKind,
    Role,
    Kind,
    HostState,
    Topology,
    AfterPreemption,
    Then,
    Fallback,
    WorkloadState,
    EndCause
);

fn from_word<T: DeserializeOwned>(word: String) -> Result<T, serde_json::Error> {
    serde_json::from_value(serde_json::Value::String(word))
}

/// The word under which a variant is stored: the one it has in the API.
pub fn word<T: Serialize>(variant: &T) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// A numbered id or a count as the database holds it. Ids are below 2^63 by construction.
pub fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// Reads a struct from a row whose columns have the names of its fields.
macro_rules! from_row {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $name {
            fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
                Ok(Self { $($field: $crate::store::row::Column::read(row, stringify!($field))?),* })
            }
        }
    };
}
pub(crate) use from_row;
