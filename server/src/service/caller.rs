//! Who asks.

use stint_core::api::session::Me;
use stint_core::api::{Code, Problem};

/// Who asks, as the outermost layer found out, and the id under which the log knows the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The person with their roles as of this request; `None` when nobody is signed in.
    pub me: Option<Me>,
    /// The id of the request.
    pub request_id: String,
}

impl Caller {
    /// The person who asks.
    ///
    /// # Errors
    /// A problem when nobody is signed in.
    pub fn person(&self) -> Result<&Me, Problem> {
        self.me
            .as_ref()
            .ok_or_else(|| Problem::new(Code::AuthRequired, "Sign in to see or change this."))
    }
}
