//! The scheduler: from what is to what happens next.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`audit`] | the invariants, checked on a state |
//! | [`contract`] | what a workload asks for and is promised; the proof that a run may be stopped |
//! | [`tree`] | the organisation as the walk sees it: branches, leaves, own parts |
//! | [`state`] | everything a pass needs to know, kept up by events; timers |
//! | [`recall`] | a state put back together from what was stored |
//! | [`decide()`] | one pass: state in, [`Decisions`] out |
//! | [`place`] | free placements: best fit, whole hosts, blocks |
//! | `displace` | who yields: legality, least waste, minimal sets |
//! | [`explain`] | the order of the whole queue, and a reason for every wait |
//! | [`reason`] | reasons as data, and the one place where they become sentences |
//!
//! *Source*: policy, sections 3 to 7 and 11. Invariants I-1 to I-4, I-7, I-8, I-11 and I-12 of its section 13 are
//! held here. Reservations (section 8) and the debug lane (section 9) have their place in [`Decisions`] and
//! [`reason::Reason`] and are not decided yet.

pub mod audit;
pub mod contract;
mod cursor;
mod decide;
pub mod decisions;
mod displace;
pub mod explain;
pub mod place;
pub mod reason;
pub mod recall;
pub mod run;
pub mod state;
pub mod tree;

pub use decide::decide;
pub use decisions::Decisions;
pub use state::State;
