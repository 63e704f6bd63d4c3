//! Workloads: submit, list, show, cancel.
//!
//! Nothing here starts or stops anything. A submission is a row the engine finds, a cancellation a mark on one.

mod cancel;
mod list;
mod show;
mod submit;

pub(super) use list::why;
