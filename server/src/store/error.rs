//! What can go wrong in the store, and which problem it becomes.

use std::path::PathBuf;

use sqlx::error::DatabaseError;
use sqlx::migrate::MigrateError;
use stint_core::api::{Code, Problem};

/// `SQLite` names the columns of a broken uniqueness, not its constraint.
const UNIQUE: [(&str, &str); 8] = [
    ("workloads.external_id", "workloads_external_id_unique"),
    (
        "ledger_transactions.command_id",
        "ledger_transactions_command_unique",
    ),
    ("nodes.id", "nodes_pk"),
    ("people.id", "people_pk"),
    ("pools.id", "pools_pk"),
    ("hosts.id", "hosts_pk"),
    ("periods.id", "periods_pk"),
    ("sessions.id_hash", "sessions_pk"),
];

/// The name under which every broken reference is reported: `SQLite` doesn't say which one it was.
const REFERENCE: &str = "reference_exists";

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file can't be opened.
    #[error("can't open the database {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// A step of the schema failed.
    #[error("can't bring the schema up to date")]
    Migrate(#[source] MigrateError),
    /// The file was written by a later program.
    #[error("the database has schema {found}, this program knows {known}; run the newer program")]
    NewerSchema {
        /// The schema of the file.
        found: i64,
        /// The newest one this program knows.
        known: i64,
    },
    /// A constraint refused a change.
    #[error("constraint {name} refused the change")]
    Constraint {
        /// The constraint, by its name in the schema.
        name: String,
        /// What the database said.
        #[source]
        source: sqlx::Error,
    },
    /// Somebody else changed the row since it was read.
    #[error("{0} changed meanwhile")]
    Changed(&'static str),
    /// A stored value is not what this program writes.
    #[error("stored {what} can't be read")]
    Unreadable {
        /// Which value.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A statement failed.
    #[error("a statement failed")]
    Statement(#[source] sqlx::Error),
}

impl StoreError {
    /// The name of the constraint that refused, where one did.
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Self::Constraint { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Which kind of problem this is to the person who asked.
    pub fn code(&self) -> Code {
        match self {
            Self::Changed(_) => Code::PreconditionFailed,
            Self::Constraint { name, .. } => match name.as_str() {
                "workloads_external_id_unique" => Code::Conflict,
                "ledger_transactions_command_unique" => Code::IdempotencyReused,
                "balances_own_not_negative" | "balances_accrued_range" => Code::BudgetInsufficient,
                _ => Code::Internal,
            },
            _ => Code::Internal,
        }
    }
}

/// The constraint that an error of the database names.
fn constraint_name(error: &dyn DatabaseError) -> Option<String> {
    let message = error.message();
    if let Some(name) = message.strip_prefix("CHECK constraint failed: ") {
        return Some(name.to_owned());
    }
    if let Some(columns) = message.strip_prefix("UNIQUE constraint failed: ") {
        let named = UNIQUE.iter().find(|(known, _)| *known == columns);
        return Some(named.map_or_else(|| columns.to_owned(), |(_, name)| (*name).to_owned()));
    }
    if message.starts_with("FOREIGN KEY constraint failed") {
        return Some(REFERENCE.to_owned());
    }
    message.ends_with("_append_only").then(|| message.to_owned())
}

impl From<sqlx::Error> for StoreError {
    fn from(source: sqlx::Error) -> Self {
        match source.as_database_error().and_then(constraint_name) {
            Some(name) => Self::Constraint { name, source },
            None => Self::Statement(source),
        }
    }
}

impl From<StoreError> for Problem {
    /// Logs what is ours, once and with the whole chain, and keeps it from the person who asked.
    fn from(error: StoreError) -> Self {
        let code = error.code();
        match code {
            Code::Internal => {
                let chain = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
                let causes: Vec<String> = chain.map(ToString::to_string).collect();
                tracing::error!(%error, causes = causes.join(": "), "the store failed");
                Problem::new(code, "Something went wrong on our side.")
            }
            _ => Problem::new(code, format!("The change was refused: {error}.")),
        }
    }
}
