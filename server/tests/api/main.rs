//! REST in process: requests by typed people against the whole server below the sign-in layer, with the real store,
//! engine and simulated fleet, and a clock that the test sets.

#![expect(clippy::unwrap_used, reason = "a test ends where it can't go on")]

mod budgets;
mod document;
mod house;
mod metrics;
mod problems;
mod queue;
mod race;
mod rights;
mod workloads;
