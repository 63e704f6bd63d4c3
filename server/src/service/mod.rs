//! Use cases: who asks and for what go in, an answer or a problem comes out.
//!
//! Every use case goes the same way: load, ask `stint_core::authz`, let core decide, write everything in one
//! transaction with its line in the audit log, and wake the engine. REST, server functions, forms and the command
//! line all call these and nothing below them, so that a right or a rule is checked in one place.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`Caller`] | who asks |
//! | [`hub`] | where the engine and those who ask meet |
//! | `ground` | the organisation, pools and periods that most use cases begin with |
//! | `access` | the question to `authz`, and what its answers become |
//! | [`budgets`], `moves` | budgets: read, move, set |
//! | `workloads` | submit, list, show, cancel |
//! | [`queue`], [`standing`], [`fleet`] | what the engine published, for the person who asks |
//! | [`session`], [`org`] | what surrounds every page; the tree |
//! | [`BoundBackend`] | all of it as the screens see it |

mod access;
mod audit;
mod backend;
pub mod budgets;
mod caller;
pub mod cursor;
pub mod fleet;
pub mod gauges;
mod ground;
pub mod health;
pub mod hub;
pub mod idempotency;
mod moment;
mod moves;
pub mod org;
pub mod owed;
pub mod queue;
pub mod session;
pub mod standing;
mod text;
mod workloads;

use std::sync::Arc;

pub use backend::{BoundBackend, Surroundings};
pub use caller::Caller;
pub use hub::{Hub, News, Topic};
pub use idempotency::IdempotencyKey;
pub use moment::Moment;
pub use moves::Expected;

use crate::clock::Clock;
use crate::store::Store;

/// The use cases.
#[derive(Clone)]
pub struct Service {
    store: Store,
    clock: Arc<dyn Clock>,
    hub: Arc<Hub>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    /// The use cases over a store, by a clock, with the engine behind a hub.
    pub fn new(store: Store, clock: Arc<dyn Clock>, hub: Arc<Hub>) -> Self {
        Self { store, clock, hub }
    }

    /// Where the engine and those who ask meet.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The clock that everything reads.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
