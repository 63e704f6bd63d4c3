//! Standing: how much a node used against what it was due, and whose turn that makes it.
//!
//! *Source*: policy, section 4. Sums are exact integers; standings are compared by cross-multiplying in `i128`;
//! floats appear nowhere. Absent: funds (see `ledger`) and anything about hosts (see `sched`).

mod look_back;
mod order;
mod owed;

pub use look_back::{LookBack, StepSum};
pub use order::{Candidate, Standing, compare};
pub use owed::{OwedDelivered, delivered_over_owed};
