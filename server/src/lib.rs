//! Stint's server: the only place with I/O. Rooms and who may use whom: `docs/ARCHITECTURE.md`.

pub mod clock;
pub mod import;
pub mod store;
