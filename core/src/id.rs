//! Identifiers, each its own type, so that a host can't be passed where a node is meant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest slug that is accepted.
pub const MAX_SLUG: usize = 63;

/// Why a text is not an identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not 1 to 63 of `a-z 0-9 . _ -`, beginning with a letter or digit.
    #[error("{0:?} must be 1 to 63 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit")]
    Slug(String),
    /// Not the prefix of its kind followed by a whole number, such as `w-48714`.
    #[error("{0:?} must be {1}- followed by a whole number")]
    Numbered(String, &'static str),
}

fn is_slug(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=MAX_SLUG).contains(&text.len())
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|b| plain(b) || matches!(b, b'.' | b'_' | b'-'))
}

macro_rules! slug {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::try_from(text.to_owned())
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                if is_slug(&text) { Ok(Self(text)) } else { Err(IdError::Slug(text)) }
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

slug!(
    /// An organisation node.
    NodeId
);
slug!(
    /// A pool.
    PoolId
);
slug!(
    /// A host.
    HostId
);
slug!(
    /// A block: hosts that share a fast network.
    BlockId
);
slug!(
    /// A person who signs in.
    PersonId
);

/// A period, such as `2026-Q4`. A name, not a computation: its bounds are stored beside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "String", into = "String")]
pub struct PeriodId(String);

impl PeriodId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PeriodId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for PeriodId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        if is_slug(&text.to_ascii_lowercase()) {
            Ok(Self(text))
        } else {
            Err(IdError::Slug(text))
        }
    }
}

impl From<PeriodId> for String {
    fn from(id: PeriodId) -> String {
        id.0
    }
}

impl fmt::Display for PeriodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub u64);

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let number = text.strip_prefix(concat!($prefix, "-")).filter(|n| {
                    !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())
                });
                let number = number.and_then(|n| n.parse().ok()).filter(|n| i64::try_from(*n).is_ok());
                number.map(Self).ok_or_else(|| IdError::Numbered(text.to_owned(), $prefix))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "-{}"), self.0)
            }
        }
    };
}

numbered!(
    /// A workload, written `w-48714`.
    WorkloadId,
    "w"
);
numbered!(
    /// A run of a workload, written `r-7`.
    RunId,
    "r"
);
numbered!(
    /// A transaction of the ledger, written `t-12`.
    TransactionId,
    "t"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_short_plain_and_begins_with_a_letter_or_digit() {
        for good in ["a", "gpu-b11", "x_1.2", "9f"] {
            assert_eq!(
                good.parse::<NodeId>().map(|id| id.to_string()),
                Ok(good.to_owned())
            );
        }
        for bad in ["", "-a", "A", "a b", "é", "a/b", &"a".repeat(64)] {
            assert_eq!(bad.parse::<NodeId>(), Err(IdError::Slug(bad.to_owned())));
        }
    }

    #[test]
    fn numbered_ids_keep_their_prefix() {
        assert_eq!("w-12".parse::<WorkloadId>(), Ok(WorkloadId(12)));
        for bad in ["12", "w-", "r-12", "w-+1", "w--1", "w-99999999999999999999"] {
            assert!(bad.parse::<WorkloadId>().is_err(), "{bad}");
        }
    }
}
