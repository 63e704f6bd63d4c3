//! The scheduler from outside: scenarios, and invariants over random lives of small pools.

#![expect(clippy::unwrap_used, reason = "a test ends where it can't go on")]

mod cases;
mod invariants;
mod pool;
