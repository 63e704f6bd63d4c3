//! Cancelling a workload.

use stint_core::api::workloads::WorkloadView;
use stint_core::api::{Code, Problem};
use stint_core::authz::Action;
use stint_core::id::WorkloadId;

use super::show::owner;
use crate::service::access::Access;
use crate::service::moves::not_accepted;
use crate::service::{Caller, Service, Topic, audit, text};
use crate::store::engine::{self, NewDecision};
use crate::store::{commit, workloads};

impl Service {
    /// Asks for a workload to be cancelled; the engine acts on it. Asking again changes nothing.
    pub async fn cancel(
        &self,
        caller: &Caller,
        id: WorkloadId,
        reason: Option<String>,
    ) -> Result<WorkloadView, Problem> {
        let me = caller.person()?;
        if let Some(reason) = &reason {
            not_accepted(
                text::check("reason", reason, text::MAX_REASON)
                    .err()
                    .into_iter()
                    .collect(),
            )?;
        }
        let mut db = self.store.write().await?;
        let ground = self.ground(&mut db).await?;
        let record = self.visible(&mut db, &ground, me, id).await?;
        let node = ground.node("charged_to", &record.charged_to)?;
        Access::new(&ground.organisation.org, me).check_workload(Action::Cancel, node, owner(&record, me))?;
        if record.state.is_over() {
            let sentence = format!("{id} is over already: {}.", record.state.label().to_lowercase());
            return Err(Problem::new(Code::Conflict, sentence));
        }
        if workloads::request_cancel(&mut db, id, ground.moment.now, &me.person).await? {
            let change = audit::Change {
                action: "workload.cancel",
                subject: id.to_string(),
                before: Some(&record.state),
                after: None::<&()>,
                reason: reason.as_deref(),
            };
            audit::note(&mut db, caller, me, ground.moment.now, change).await?;
            let entry = NewDecision {
                workload: id,
                run: None,
                what: "Cancel asked",
                sentence: match &reason {
                    Some(reason) => format!("{} asked to cancel it: {reason}", me.name),
                    None => format!("{} asked to cancel it.", me.name),
                },
                body: "null".to_owned(),
            };
            engine::insert_decision(&mut db, ground.moment.now, &entry).await?;
        }
        let view = self.view(&mut db, &ground, me, &record).await?;
        commit(db).await?;
        self.hub.wake();
        self.hub.announce(Topic::Workload(id));
        Ok(view)
    }
}
