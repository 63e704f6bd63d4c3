//! Stint's server: the only place with I/O. Rooms and who may use whom: `docs/ARCHITECTURE.md`.

pub mod api;
pub mod authn;
pub mod cli;
pub mod clock;
pub mod config;
pub mod engine;
pub mod fleet;
pub mod hex;
pub mod import;
pub mod obs;
pub mod problem;
pub mod serve;
pub mod service;
pub mod store;
pub mod web;
