//! The ledger: who was granted how much GPU time, what of it has accrued, and what may still be moved.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`period`] | periods, and spans cut at their bounds |
//! | [`capacity`] | what a pool can hand out in a period |
//! | [`split`] | dividing an amount without losing a second |
//! | [`accrual`] | the line along which a grant accrues, and exact rates |
//! | [`transaction`] | postings that sum to zero, with who, when and why |
//! | [`book`] | the double-entry book of one pool and period |
//! | [`rule`] | what may be given, by one validator for service and browser |
//! | [`refusal`] | why not, with the numbers |
//! | [`preview`] | what a move would change, before it is made |
//! | [`audit`] | the invariants, checked on what is stored |
//!
//! Only the **own part** of a node has a balance and a line. The grant, the accrued amount and the rate of a node
//! with everything below it are the sums over the own parts of its subtree, so "children + own part = node" holds
//! by construction and no rounding can pull the two sides apart.
//!
//! Invariants. L1: the postings of a transaction sum to zero. L2: at every instant, what has not accrued at the
//! children and in the own part is no more than what has not accrued at the node: a transaction never takes out
//! what has accrued. L3: the root's grant is within the pool's capacity. L4: no own part is negative. L5: replaying
//! the transactions gives the stored balances. L9: one command is applied once.
//!
//! *Source*: ledger, sections 1 to 3; policy, section 2. Absent: charges and holds, which come from runs and are
//! handed in where a rule needs them, and anything about who may do what (see `authz`).

pub mod accrual;
pub mod audit;
pub mod book;
pub mod capacity;
pub mod period;
pub mod preview;
pub mod refusal;
pub mod rule;
pub mod split;
pub mod transaction;

pub use accrual::{Line, Rate, rest_rate};
pub use audit::{Finding, Invariant, audit};
pub use book::{Applied, Book, Row, StoredBalance};
pub use capacity::{Reserve, budgetable};
pub use period::{Part, Period, SpanError};
#[cfg(feature = "zones")]
pub use period::{ZoneError, quarter, quarter_at, zone_at};
pub use preview::{MoveEffect, NodeChange, preview};
pub use refusal::LedgerError;
pub use rule::{NodeRef, OwnPart, Used, UsedByNode};
pub use transaction::{Balance, CommandId, Entry, Kind, Posting, Transaction};
