//! The scheduler from outside: scenarios, and invariants over random lives of small pools.

mod cases;
mod invariants;
mod pool;
