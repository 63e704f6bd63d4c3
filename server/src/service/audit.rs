//! A line in the audit log for every change, in the transaction that makes it.

use serde::Serialize;
use stint_core::api::Problem;
use stint_core::api::session::Me;
use stint_core::units::Timestamp;

use super::Caller;
use crate::store::Connection;
use crate::store::audit_log::{self, AuditRow};

/// What was changed, from what to what.
pub(super) struct Change<'a, B, A> {
    /// What was done, such as `budget.move`.
    pub(super) action: &'a str,
    /// To what.
    pub(super) subject: String,
    /// What it was before.
    pub(super) before: Option<&'a B>,
    /// What it is after.
    pub(super) after: Option<&'a A>,
    /// Why.
    pub(super) reason: Option<&'a str>,
}

/// Notes a change.
pub(super) async fn note<B: Serialize, A: Serialize>(
    db: &mut Connection,
    caller: &Caller,
    me: &Me,
    at: Timestamp,
    change: Change<'_, B, A>,
) -> Result<(), Problem> {
    let row = AuditRow {
        at,
        person_id: me.person.clone(),
        person_name: me.name.clone(),
        action: change.action.to_owned(),
        subject: change.subject,
        before: change
            .before
            .and_then(|before| serde_json::to_string(before).ok()),
        after: change.after.and_then(|after| serde_json::to_string(after).ok()),
        reason: change.reason.map(str::to_owned),
        request_id: Some(caller.request_id.clone()).filter(|id| !id.is_empty()),
    };
    audit_log::insert(db, &row).await?;
    Ok(())
}
