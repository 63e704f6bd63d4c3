//! Everything about one workload.

use stint_core::api::queue::StandingAt;
use stint_core::api::session::Me;
use stint_core::api::workloads::{DecisionPage, LogEntry, RunView, WorkloadView};
use stint_core::api::{Code, Problem};
use stint_core::authz::{Action, Owner};
use stint_core::id::WorkloadId;
use stint_core::sched::reason::Preemption;
use stint_core::units::GpuSeconds;

use crate::engine::published::Published;
use crate::service::access::Access;
use crate::service::ground::Ground;
use crate::service::{Caller, Moment, Service, cursor};
use crate::store::Connection;
use crate::store::runs::{self, DecisionRow, RunRecord};
use crate::store::workloads::{self, WorkloadRecord};

/// Entries of the decision log on a workload's own page; older ones are a page further.
const LOG: u32 = 100;

/// Whose workload it is, seen from a person.
pub(super) fn owner(record: &WorkloadRecord, me: &Me) -> Owner {
    if record.submitted_by == me.person {
        Owner::Oneself
    } else {
        Owner::Another
    }
}

impl Service {
    /// One workload, for those who may see its name.
    pub async fn workload(&self, caller: &Caller, id: WorkloadId) -> Result<WorkloadView, Problem> {
        let me = caller.person()?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let record = self.visible(&mut db, &ground, me, id).await?;
        self.view(&mut db, &ground, me, &record).await
    }

    /// What was decided about a workload, newest first.
    pub async fn decisions(
        &self,
        caller: &Caller,
        id: WorkloadId,
        after: Option<&str>,
        limit: Option<u16>,
    ) -> Result<DecisionPage, Problem> {
        let me = caller.person()?;
        let limit = cursor::page_size(limit)?;
        let before = match after {
            Some(after) => {
                let key = cursor::read("decisions", after)?;
                let wrong =
                    |_| Problem::field("after", after, "the `next` of an earlier page of the same list");
                Some(key.parse::<u64>().map_err(wrong)?)
            }
            None => None,
        };
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        self.visible(&mut db, &ground, me, id).await?;
        let mut found = runs::decisions(&mut db, id, before, u32::from(limit) + 1).await?;
        let more = found.len() > usize::from(limit);
        found.truncate(usize::from(limit));
        let last = found.last().filter(|_| more);
        let next = last.map(|row| cursor::write("decisions", &row.id.to_string()));
        Ok(DecisionPage {
            as_of: ground.moment.as_of(),
            rows: found
                .into_iter()
                .map(|row| log_entry(row, &ground.moment))
                .collect(),
            next,
        })
    }

    /// A workload that the person may see; what they may not see isn't there.
    pub(super) async fn visible(
        &self,
        db: &mut Connection,
        ground: &Ground,
        me: &Me,
        id: WorkloadId,
    ) -> Result<WorkloadRecord, Problem> {
        let missing = || Problem::new(Code::NotFound, format!("There is no workload {id} for you."));
        let record = workloads::find(db, id).await?.ok_or_else(missing)?;
        let org = &ground.organisation.org;
        let node = org.find(&record.charged_to).ok_or_else(missing)?;
        Access::new(org, me)
            .check_workload(Action::SeeWorkloadNames, node, owner(&record, me))
            .map_err(|_| missing())?;
        Ok(record)
    }

    /// Everything about a workload, as one transaction and the latest pass see it.
    pub(super) async fn view(
        &self,
        db: &mut Connection,
        ground: &Ground,
        me: &Me,
        record: &WorkloadRecord,
    ) -> Result<WorkloadView, Problem> {
        let org = &ground.organisation.org;
        let access = Access::new(org, me);
        let node = ground.node("charged_to", &record.charged_to)?;
        let runs = runs::of_workload(db, record.id, ground.moment.now).await?;
        let log = runs::decisions(db, record.id, None, LOG).await?;
        let view = self.hub.view(&record.pool_id);
        let view = view.as_deref();
        let may_cancel = access.is_allowed_for(Action::Cancel, node, owner(record, me));
        Ok(WorkloadView {
            as_of: ground.moment.as_of(),
            row: self.row(ground, &access, me, record),
            path: ground.path_names(node),
            standings: view.map_or_else(Vec::new, |view| standings(view, record)),
            priority: record.priority,
            after_preemption: record.after_preemption,
            then: record.then_do,
            fallback: record.fallback,
            grace_s: record.grace_s.0,
            topology: record.topology,
            external_id: record.external_id.clone(),
            charged_gpu_seconds: runs.iter().map(|run| run.charged).sum(),
            held_gpu_seconds: view.map_or(GpuSeconds::ZERO, |view| held(view, record, &ground.moment)),
            runs: runs
                .into_iter()
                .map(|run| run_view(run, &ground.moment))
                .collect(),
            log: log
                .into_iter()
                .map(|row| log_entry(row, &ground.moment))
                .collect(),
            may_cancel: may_cancel && !record.state.is_over() && record.cancel_requested_at.is_none(),
        })
    }
}

/// Standings from below the root to the node that pays: as they were when its turn came, or as they are.
fn standings(view: &Published, record: &WorkloadRecord) -> Vec<StandingAt> {
    let state = &view.state;
    let Some(leaf) = state.tree().charged_to(&record.charged_to) else {
        return Vec::new();
    };
    let at_turn = view.entry(record.id).map(|entry| entry.standings.as_slice());
    let at_turn = at_turn.unwrap_or_default();
    let path = state.tree().path(leaf).iter().skip(1).enumerate();
    path.map(|(depth, ix)| StandingAt {
        node: state.tree().item(*ix).node.clone(),
        standing: match at_turn.get(depth) {
            Some(standing) => standing.text(),
            None => state.standing(*ix, view.at).text(),
        },
    })
    .collect()
}

/// What the protection of its run may still cost.
fn held(view: &Published, record: &WorkloadRecord, moment: &Moment) -> GpuSeconds {
    let live = view.state.live().get(&record.id);
    let run = live.and_then(|live| view.state.runs().get(&live.run?));
    let until = run.and_then(|run| Some((run.gpus(), run.held_until?)));
    until.map_or(GpuSeconds::ZERO, |(gpus, until)| {
        gpus.over(until.since(moment.now)).or_zero()
    })
}

fn run_view(run: RunRecord, moment: &Moment) -> RunView {
    let time = |at| moment.time(at);
    let preemption = run
        .preemption
        .as_deref()
        .and_then(|text| serde_json::from_str::<Preemption>(text).ok());
    RunView {
        id: run.id,
        number: run.number,
        assigned: run.assigned_at.map(time),
        running: run.running_at.map(time),
        protected_until: run.protected_until.map(time),
        ended: run.ended_at.map(time),
        cause: run.cause,
        hosts: run.gpus_by_host(),
        charged_gpu_seconds: run.charged,
        allocated: run.allocated,
        preemption: preemption.map(|preemption| preemption.sentence()),
    }
}

fn log_entry(row: DecisionRow, moment: &Moment) -> LogEntry {
    LogEntry {
        at: moment.time(row.at),
        what: row.what,
        sentence: row.sentence,
    }
}
