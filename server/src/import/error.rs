//! Why an import is refused. Nothing was changed.

use stint_core::api::Code;
use stint_core::id::PoolId;
use stint_core::input::{BadInput, Refusal};
use stint_core::ledger::{LedgerError, ZoneError};
use stint_core::org::OrgError;

use crate::store::StoreError;

/// Why an import is refused.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is not accepted.
    #[error("{0}")]
    Input(Refusal),
    /// Something of that id is stored with other content.
    #[error("{what} is there already, with another {field}: {stored}, not {found}")]
    Conflict {
        /// What, by kind and id.
        what: String,
        /// In which field they differ.
        field: &'static str,
        /// What is stored.
        stored: String,
        /// What the file says.
        found: String,
    },
    /// There is no pool to import into.
    #[error("there is no pool yet; import hosts first")]
    NoPool,
    /// There is no such pool.
    #[error("there is no pool {0}")]
    UnknownPool(PoolId),
    /// There are several pools, and the file is for one.
    #[error("there are several pools; say which one this is for")]
    SeveralPools,
    /// There is no organisation to charge to.
    #[error("there is no organisation yet; import one first")]
    NoOrganisation,
    /// The nodes don't form one tree with those that are stored.
    #[error("the nodes and those already stored are no tree: {0}")]
    Tree(OrgError),
    /// The period can't be computed.
    #[error("the current period can't be computed: {0}")]
    Period(ZoneError),
    /// The ledger refuses the grants.
    #[error("the grants for pool {pool} are refused: {refusal}")]
    Grants {
        /// The pool.
        pool: PoolId,
        /// Why.
        refusal: Box<LedgerError>,
    },
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl ImportError {
    /// Which kind of problem this is to the person who asked.
    pub fn code(&self) -> Code {
        match self {
            Self::Conflict { .. } | Self::NoPool | Self::NoOrganisation => Code::Conflict,
            Self::UnknownPool(_) => Code::NotFound,
            Self::Tree(OrgError::Cycle(_)) => Code::TreeCycle,
            Self::Tree(_) | Self::Input(_) | Self::SeveralPools | Self::Period(_) => Code::Validation,
            Self::Grants { refusal, .. } => refusal.code(),
            Self::Store(error) => error.code(),
        }
    }

    /// A difference between what is stored and what the file says.
    pub(super) fn conflict(
        what: String,
        field: &'static str,
        stored: &dyn std::fmt::Display,
        found: &dyn std::fmt::Display,
    ) -> Self {
        Self::Conflict {
            what,
            field,
            stored: stored.to_string(),
            found: found.to_string(),
        }
    }
}

impl From<Refusal> for ImportError {
    fn from(refusal: Refusal) -> Self {
        Self::Input(refusal)
    }
}

impl From<BadInput> for ImportError {
    fn from(error: BadInput) -> Self {
        Self::Input(error.into())
    }
}

/// Refuses with the first field in which what is stored differs from what the file says.
macro_rules! same {
    ($what:expr; $($field:literal: $stored:expr, $found:expr;)*) => {
        $(if $stored != $found {
            return Err($crate::import::ImportError::conflict($what, $field, &$stored, &$found));
        })*
    };
}
pub(super) use same;
