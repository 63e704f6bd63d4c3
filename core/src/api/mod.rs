//! Request and response types, shared by REST, server functions and screens, and the problem codes.
//!
//! Amounts are whole GPU-seconds with the unit in the field's name; times are RFC 3339 with the pool's offset.

pub mod budgets;
pub mod fleet;
pub mod org;
pub mod problem;
pub mod queue;
pub mod session;
pub mod standing;
mod time;
pub mod workloads;

pub use problem::{Code, FieldError, Problem};
pub use time::Time;

/// The most rows of one page of a list.
pub const MAX_PAGE: u16 = 200;
/// Rows of a page when nothing else is asked for.
pub const DEFAULT_PAGE: u16 = 100;
