//! Stint's decisions: who may have how much GPU time, whose turn it is, where a workload runs and who yields.
//!
//! Everything here is pure and deterministic: values in, values out. No clock, no I/O, no iteration order that
//! depends on a hasher, no floats in ledger or standing. The server acts on what is decided here, the screens
//! show it, and the simulator runs the very same code over recorded demand.

pub mod api;
pub mod authz;
pub mod id;
pub mod input;
pub mod ledger;
pub mod org;
pub mod sched;
pub mod sim;
pub mod standing;
pub mod units;
