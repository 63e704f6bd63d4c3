//! Lists of workloads, newest first.

use stint_core::api::Problem;
use stint_core::api::queue::Why;
use stint_core::api::session::Me;
use stint_core::api::workloads::{WorkloadPage, WorkloadQuery, WorkloadRow};
use stint_core::authz::Action;
use stint_core::id::WorkloadId;
use stint_core::sched::contract::WorkloadState;
use stint_core::sched::reason::Reason;
use stint_core::sched::run::Run;

use super::show::owner;
use crate::service::access::Access;
use crate::service::ground::Ground;
use crate::service::{Caller, Moment, Service, cursor};
use crate::store::workloads::{self, Filter, WorkloadRecord};

impl Service {
    /// The workloads that match, newest first.
    pub async fn workloads(&self, caller: &Caller, query: &WorkloadQuery) -> Result<WorkloadPage, Problem> {
        let me = caller.person()?;
        let limit = cursor::page_size(query.limit)?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let access = Access::new(&ground.organisation.org, me);
        access.check_anywhere(Action::SeeQueue)?;
        let filter = filter(&ground, me, query)?;
        let mut found = workloads::list(&mut db, &filter, u32::from(limit) + 1).await?;
        let more = found.len() > usize::from(limit);
        found.truncate(usize::from(limit));
        let last = found.last().filter(|_| more);
        let next = last.map(|record| cursor::write("workloads", &record.id.to_string()));
        let rows = found.iter().map(|record| self.row(&ground, &access, me, record));
        Ok(WorkloadPage {
            as_of: ground.moment.as_of(),
            rows: rows.collect(),
            next,
        })
    }

    /// One line, with what the engine last published about it.
    pub(super) fn row(
        &self,
        ground: &Ground,
        access: &Access<'_>,
        me: &Me,
        record: &WorkloadRecord,
    ) -> WorkloadRow {
        let view = self.hub.view(&record.pool_id);
        let view = view.as_deref();
        let org = &ground.organisation.org;
        let shown = org
            .find(&record.charged_to)
            .is_some_and(|node| access.is_allowed_for(Action::SeeWorkloadNames, node, owner(record, me)));
        let run = view.and_then(|view| {
            let live = view.state.live().get(&record.id)?;
            view.state.runs().get(&live.run?)
        });
        let waits = matches!(record.state, WorkloadState::Queued | WorkloadState::Held);
        let entry = view.and_then(|view| view.entry(record.id));
        WorkloadRow {
            id: record.id,
            name: shown.then(|| record.name.clone()),
            pool: record.pool_id.clone(),
            node: record.charged_to.clone(),
            node_name: ground.organisation.name(&record.charged_to),
            hue: ground.organisation.hue(&record.charged_to),
            submitted_by: shown.then(|| record.submitted_by.clone()),
            gpus: record.hosts * record.gpus_per_host,
            hosts: record.hosts,
            min_runtime_s: record.min_runtime_s.0,
            submitted: ground.moment.time(record.submitted_at),
            state: record.state,
            place: view
                .filter(|_| !record.state.is_over())
                .and_then(|view| view.place(record.id)),
            why: match entry {
                Some(entry) if !record.state.is_over() => Some(why(&entry.reason, &ground.moment)),
                None if waits => Some(why(&Reason::NextPass, &ground.moment)),
                _ => None,
            },
            protected_until: run
                .and_then(Run::protected_until)
                .map(|until| ground.moment.time(until)),
            latest_start: entry
                .and_then(|entry| entry.latest_start)
                .map(|at| ground.moment.time(at)),
        }
    }
}

fn filter(ground: &Ground, me: &Me, query: &WorkloadQuery) -> Result<Filter, Problem> {
    if query.pool.is_some() {
        ground.pool(query.pool.as_ref())?;
    }
    let org = &ground.organisation.org;
    let nodes = match &query.under {
        Some(under) => {
            let below = org.subtree(ground.node("under", under)?);
            Some(org.nodes()[below].iter().map(|node| node.id.clone()).collect())
        }
        None => None,
    };
    let before = match &query.after {
        Some(after) => {
            let key = cursor::read("workloads", after)?;
            let id = key.parse::<WorkloadId>();
            Some(id.map_err(|_| {
                Problem::field("after", after, "the `next` of an earlier page of the same list")
            })?)
        }
        None => None,
    };
    Ok(Filter {
        pool: query.pool.clone(),
        state: query.state,
        person: query.mine.then(|| me.person.clone()),
        nodes,
        before,
    })
}

/// A reason as it is shown: instants in the zone of the moment, with the day only where it is another one.
pub(in crate::service) fn why(reason: &Reason, moment: &Moment) -> Why {
    let as_of = moment.as_of();
    Why {
        code: reason.code(),
        sentence: reason.sentence(&|at| moment.time(at).near(as_of)),
    }
}
