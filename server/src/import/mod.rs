//! What an institute brings along becomes rows of the store.
//!
//! | room | what it imports |
//! | --- | --- |
//! | [`hosts`] | pools and their hosts |
//! | [`org`] | organisation nodes, people, the current period, and its grants as one transaction of the ledger |
//! | [`trace`] | recorded demand, as arrivals |
//! | [`replay`] | arrivals that are due, as workloads |
//! | [`demo`] | the whole example that comes with the program |
//!
//! Invariants: an import is one transaction, so that a refused one leaves nothing behind; running it again changes
//! nothing, and what is stored otherwise is a conflict that is named, never overwritten. Absent: reading bytes, which
//! is `stint_core::input`'s.

mod author;
pub mod demo;
mod error;
pub mod hosts;
pub mod org;
pub mod replay;
pub mod trace;

pub use author::Author;
pub use error::ImportError;

use crate::store::{Store, Transaction, commit};

/// Whether an import is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is.
    #[default]
    Apply,
    /// Everything is done and checked, then taken back.
    DryRun,
}

/// How many rows are handled between two reports of progress.
const PROGRESS_STEP: usize = 500;

/// Is told how many rows are done.
pub type Progress<'a> = &'a mut (dyn FnMut(usize) + Send);

async fn begin(store: &Store) -> Result<Transaction, ImportError> {
    Ok(store.write().await?)
}

async fn end(transaction: Transaction, mode: Mode) -> Result<(), ImportError> {
    match mode {
        Mode::Apply => commit(transaction).await?,
        Mode::DryRun => transaction
            .rollback()
            .await
            .map_err(crate::store::StoreError::from)?,
    }
    Ok(())
}
