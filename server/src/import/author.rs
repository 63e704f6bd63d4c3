//! Who imports, and the note of it in the audit log.

use serde::Serialize;
use stint_core::id::PersonId;
use stint_core::units::Timestamp;

use super::ImportError;
use crate::store::audit_log::{self, AuditRow};
use crate::store::{Connection, StoreError};

/// Who imports, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// Who. On a fresh installation nobody is known yet, so this need not be one of the stored people.
    pub person: PersonId,
    /// Their name.
    pub name: String,
    /// When.
    pub at: Timestamp,
}

impl Author {
    /// Notes an import that changed something, in the transaction that makes it.
    pub(super) async fn note<T: Serialize + Sync>(
        &self,
        db: &mut Connection,
        action: &str,
        subject: &str,
        report: &T,
    ) -> Result<(), ImportError> {
        let after = serde_json::to_string(report).map_err(|source| StoreError::Unreadable {
            what: "report",
            source: source.into(),
        })?;
        let row = AuditRow {
            at: self.at,
            person_id: self.person.clone(),
            person_name: self.name.clone(),
            action: action.to_owned(),
            subject: subject.to_owned(),
            before: None,
            after: Some(after),
            reason: None,
            request_id: None,
        };
        Ok(audit_log::insert(db, &row).await?)
    }
}
