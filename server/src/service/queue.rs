//! The queue, in the order in which the scheduler takes it.
//!
//! The order is worked out once per pass and published. A page filters it, and asks the database one thing: the
//! names of its rows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use stint_core::api::Problem;
use stint_core::api::queue::{QueuePage, QueueQuery, QueueRow, StandingAt};
use stint_core::api::session::Me;
use stint_core::authz::{Action, Owner};
use stint_core::id::{PoolId, WorkloadId};
use stint_core::sched::contract::WorkloadState;
use stint_core::sched::explain::Entry;
use stint_core::sched::state::{Host, Live};

use super::access::Access;
use super::ground::Ground;
use super::workloads::why;
use super::{Caller, Moment, Service, cursor};
use crate::engine::published::Published;
use crate::store::{Connection, workloads};

/// A waiting workload with its place, from 1.
struct Waiting<'v> {
    place: u32,
    entry: &'v Entry,
    live: &'v Live,
}

impl Service {
    /// A page of the queue.
    pub async fn queue(&self, caller: &Caller, query: &QueueQuery) -> Result<QueuePage, Problem> {
        let limit = usize::from(cursor::page_size(query.limit)?);
        self.queue_rows(caller, query, Some(limit)).await
    }

    /// Everything that matches, and the IANA zone of its times, for exports.
    pub async fn whole_queue(
        &self,
        caller: &Caller,
        query: &QueueQuery,
    ) -> Result<(QueuePage, String), Problem> {
        let queue = self.queue_rows(caller, query, None).await?;
        let shell = self.shell(caller, query.pool.as_ref(), None).await?;
        Ok((queue, shell.zone))
    }

    async fn queue_rows(
        &self,
        caller: &Caller,
        query: &QueueQuery,
        limit: Option<usize>,
    ) -> Result<QueuePage, Problem> {
        let me = caller.person()?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let access = Access::new(&ground.organisation.org, me);
        access.check_anywhere(Action::SeeQueue)?;
        let pool = ground.pool(query.pool.as_ref())?;
        let view = self.published(&pool.id)?;
        let moment = Moment {
            now: view.at,
            ..ground.moment.clone()
        };
        let waiting = waiting(&view);
        let matching = matching(&ground, me, query, &view, &waiting)?;
        let from = match &query.after {
            Some(after) => first_after(after, &view, &waiting, &matching)?,
            None => 0,
        };
        let to = limit.map_or(matching.len(), |limit| {
            matching.len().min(from.saturating_add(limit))
        });
        let page = &matching[from..to];
        let rows = self
            .rows(&mut db, &ground, &access, me, &view, &moment, page, &waiting)
            .await?;
        let last = page
            .last()
            .filter(|_| to < matching.len())
            .map(|ix| &waiting[*ix]);
        let usable = |host: &&Host| host.state == stint_core::api::fleet::HostState::Up;
        Ok(QueuePage {
            as_of: moment.as_of(),
            pool: pool.id.clone(),
            version: view.version,
            rows,
            matching: matching.len() as u64,
            before: from as u64,
            queued: waiting.len() as u64,
            queued_mine: waiting.iter().filter(|waits| is_mine(me, waits.live)).count() as u64,
            asked_gpus: waiting
                .iter()
                .map(|waits| u64::from(waits.live.workload.shape.gpus().0))
                .sum(),
            free_gpus: view
                .state
                .hosts()
                .iter()
                .filter(usable)
                .map(|host| host.free.count_ones())
                .sum(),
            pinned_gpus: view
                .state
                .hosts()
                .iter()
                .map(|host| host.pinned.count_ones())
                .sum(),
            next: last
                .map(|waits| cursor::write("queue", &format!("{}/{}", waits.place, waits.entry.workload))),
        })
    }

    /// What the engine last published about a pool.
    ///
    /// # Errors
    /// A problem before its first pass.
    pub(super) fn published(&self, pool: &PoolId) -> Result<Arc<Published>, Problem> {
        self.hub.view(pool).ok_or_else(|| {
            Problem::new(
                stint_core::api::Code::FleetUnreachable,
                "The first pass over this pool is not done yet; try again in a moment.",
            )
        })
    }

    async fn rows(
        &self,
        db: &mut Connection,
        ground: &Ground,
        access: &Access<'_>,
        me: &Me,
        view: &Published,
        moment: &Moment,
        page: &[usize],
        waiting: &[Waiting<'_>],
    ) -> Result<Vec<QueueRow>, Problem> {
        let org = &ground.organisation.org;
        let shown = |waits: &&Waiting<'_>| {
            let owner = if is_mine(me, waits.live) {
                Owner::Oneself
            } else {
                Owner::Another
            };
            let node = org.find(&waits.live.workload.charged_to);
            node.is_some_and(|node| access.is_allowed_for(Action::SeeWorkloadNames, node, owner))
        };
        let page: Vec<&Waiting<'_>> = page.iter().map(|ix| &waiting[*ix]).collect();
        let open: Vec<WorkloadId> = page
            .iter()
            .copied()
            .filter(shown)
            .map(|waits| waits.entry.workload)
            .collect();
        let names = workloads::names(db, &open).await?;
        let names: BTreeMap<WorkloadId, String> = names.into_iter().map(|row| (row.id, row.name)).collect();
        let rows = page.into_iter().map(|waits| {
            let name = names.get(&waits.entry.workload).cloned();
            queue_row(ground, me, view, moment, waits, name)
        });
        Ok(rows.collect())
    }
}

/// Everything that waits, in order, with what the scheduler knows of it.
fn waiting(view: &Published) -> Vec<Waiting<'_>> {
    let live = view.state.live();
    let places = (1_u32..).zip(&view.order);
    places
        .filter_map(|(place, entry)| {
            let live = live.get(&entry.workload)?;
            Some(Waiting { place, entry, live })
        })
        .collect()
}

fn is_mine(me: &Me, live: &Live) -> bool {
    live.workload.submitted_by == me.person
}

/// The positions of what matches.
fn matching(
    ground: &Ground,
    me: &Me,
    query: &QueueQuery,
    view: &Published,
    waiting: &[Waiting<'_>],
) -> Result<Vec<usize>, Problem> {
    let org = &ground.organisation.org;
    let below: Option<Range<usize>> = match &query.under {
        Some(under) => Some(org.subtree(ground.node("under", under)?)),
        None => None,
    };
    // Which leaves lie below is found once, not for every workload.
    let tree = view.state.tree();
    let under: Vec<bool> = tree
        .leaves()
        .map(|leaf| {
            let node = org.find(&tree.leaf_item(leaf).node);
            below
                .as_ref()
                .is_none_or(|below| node.is_some_and(|ix| below.contains(&ix.0)))
        })
        .collect();
    let matches = |waits: &Waiting<'_>| {
        under[waits.entry.leaf.0]
            && (!query.mine || is_mine(me, waits.live))
            && query.reason.is_none_or(|code| waits.entry.reason.code() == code)
    };
    let found = waiting.iter().enumerate().filter(|(_, waits)| matches(waits));
    Ok(found.map(|(ix, _)| ix).collect())
}

/// Where in the matching rows a page goes on: after the workload that ended the page before, wherever it is by
/// now; when it waits no longer, from the place it had.
fn first_after(
    after: &str,
    view: &Published,
    waiting: &[Waiting<'_>],
    matching: &[usize],
) -> Result<usize, Problem> {
    let key = cursor::read("queue", after)?;
    let parsed = key.split_once('/').and_then(|(place, id)| {
        let place: u32 = place.parse().ok()?;
        let id: WorkloadId = id.parse().ok()?;
        Some((place, id))
    });
    let (place, id) = parsed
        .ok_or_else(|| Problem::field("after", after, "the `next` of an earlier page of the same list"))?;
    let last = view.place(id).unwrap_or_else(|| place.saturating_sub(1));
    Ok(matching.partition_point(|ix| waiting[*ix].place <= last))
}

fn queue_row(
    ground: &Ground,
    me: &Me,
    view: &Published,
    moment: &Moment,
    waits: &Waiting<'_>,
    name: Option<String>,
) -> QueueRow {
    let Waiting { place, entry, live } = waits;
    let workload = &live.workload;
    let tree = view.state.tree();
    let below_root = tree.path(entry.leaf).iter().skip(1);
    let standings = below_root.zip(&entry.standings).map(|(ix, standing)| StandingAt {
        node: tree.item(*ix).node.clone(),
        standing: standing.text(),
    });
    QueueRow {
        place: *place,
        id: entry.workload,
        submitted_by: name.is_some().then(|| workload.submitted_by.clone()),
        name,
        node: workload.charged_to.clone(),
        node_name: ground.organisation.name(&workload.charged_to),
        hue: ground.organisation.hue(&workload.charged_to),
        gpus: workload.shape.gpus().0,
        hosts: workload.shape.hosts,
        min_runtime_s: workload.min_runtime.0,
        priority: workload.priority,
        submitted: moment.time(workload.submitted_at),
        waiting_s: view.at.since(workload.submitted_at).0.max(0),
        starts: live.starts,
        standings: standings.collect(),
        state: view
            .state
            .workload_state(entry.workload)
            .unwrap_or(WorkloadState::Queued),
        why: why(&entry.reason, moment),
        latest_start: entry.latest_start.map(|at| moment.time(at)),
        mine: is_mine(me, live),
    }
}
