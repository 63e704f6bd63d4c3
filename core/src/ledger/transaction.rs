//! Transactions: postings that sum to zero, with who, when and why. Written once, never changed.

use serde::{Deserialize, Serialize};

use crate::id::{NodeId, PersonId, TransactionId};
use crate::units::{GpuSeconds, Timestamp};

/// Names a command, so that sending it twice does it once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(pub String);

impl std::fmt::Display for CommandId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a posting changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// What the pool could still hand out. Negative postings hand it out.
    Capacity,
    /// The own part of a node.
    Own(NodeId),
}

/// One change of one balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    /// The balance.
    pub to: Balance,
    /// By how much; negative takes away.
    pub amount: GpuSeconds,
}

/// What kind of operation made a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The grants of a whole tree at the period's start.
    Import,
    /// A node's grant was set.
    Set,
    /// Hours were moved between two nodes.
    Move,
    /// An earlier transaction was taken back.
    Reversal,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Import, Self::Set, Self::Move, Self::Reversal];

    /// The word in storage and exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Set => "set",
            Self::Move => "move",
            Self::Reversal => "reversal",
        }
    }

    /// The kind of a stored word.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Who did it, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The number of the transaction.
    pub id: TransactionId,
    /// When it was written down.
    pub recorded: Timestamp,
    /// The command that asked for it.
    pub command: CommandId,
    /// Who asked.
    pub person: PersonId,
    /// Their name at that time.
    pub person_name: String,
    /// Why.
    pub reason: String,
    /// The request it came with, to find it in the log.
    pub request: Option<String>,
}

/// A change of balances that is applied whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// Who, when and why.
    pub entry: Entry,
    /// From when on it counts.
    pub effective: Timestamp,
    /// The operation.
    pub kind: Kind,
    /// The changes; their amounts sum to zero.
    pub postings: Vec<Posting>,
}

impl Transaction {
    /// The sum of all postings: zero in every transaction that is accepted.
    pub fn sum(&self) -> i128 {
        self.postings
            .iter()
            .map(|posting| i128::from(posting.amount.0))
            .sum()
    }

    /// Whether both ask for the same, whenever they were recorded.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        let body = |t: &Self| (t.kind, t.entry.person.clone(), t.entry.reason.clone());
        body(self) == body(other) && self.postings == other.postings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_words_of_kinds_are_those_of_json() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_text(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert_eq!(Kind::from_text("grant"), None);
    }
}
