//! Who asks: sessions behind a cookie, and the person behind a session.
//!
//! Invariants: the cookie holds a random id and nothing else. The id changes when someone signs in. A session says
//! only which person it is; what they may do is read anew for every request, so a role that was taken away is gone
//! with the next one. Sessions live by the real clock, whatever the clock of the fleet shows. Absent for now:
//! `OpenID` Connect and API tokens; people sign in by a button, on loopback only.

mod forms;
mod next;
mod person;
mod session;

pub use forms::{Offered, routes};
pub use next::LocalPath;
pub use person::{Authn, identify};
pub use session::{COOKIE, SECURE_COOKIE, Sitting, cookie_layer};
