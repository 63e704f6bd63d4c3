//! Hosts and what runs on them, and the pool as a whole.

use stint_core::api::Problem;
use stint_core::api::fleet::{HostList, HostRow, HostRun, PoolView};
use stint_core::api::session::Me;
use stint_core::authz::{Action, Owner};
use stint_core::id::{PoolId, RunId, WorkloadId};
use stint_core::sched::run::{Run, SpanKind};
use stint_core::sched::state::{Host, HostIx};

use super::access::Access;
use super::ground::Ground;
use super::{Caller, Moment, Service};
use crate::engine::published::Published;
use crate::store::workloads;

impl Service {
    /// The hosts of a pool, by block and id.
    pub async fn hosts(&self, caller: &Caller, pool: Option<&PoolId>) -> Result<HostList, Problem> {
        let me = caller.person()?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let access = Access::new(&ground.organisation.org, me);
        access.check_anywhere(Action::SeeHosts)?;
        let pool = ground.pool(pool)?;
        let view = self.published(&pool.id)?;
        let shown: Vec<WorkloadId> = view
            .state
            .runs()
            .values()
            .filter(|run| is_shown(&ground, &access, me, &view, run))
            .map(|run| run.workload)
            .collect();
        let names = workloads::names(&mut db, &shown).await?;
        let names = names.into_iter().map(|row| (row.id, row.name)).collect();
        let moment = Moment {
            now: view.at,
            ..ground.moment.clone()
        };
        let shown = Shown {
            ground: &ground,
            view: &view,
            moment: &moment,
            names,
        };
        let mut hosts: Vec<(usize, HostRow)> = view
            .state
            .hosts()
            .iter()
            .enumerate()
            .map(|(ix, host)| (host.block, shown.host(HostIx(ix), host)))
            .collect();
        hosts.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
        Ok(HostList {
            as_of: moment.as_of(),
            pool: pool.id.clone(),
            hosts: hosts.into_iter().map(|(_, row)| row).collect(),
        })
    }

    /// A pool as a whole. It names nobody, so everybody may see it, signed in or not.
    pub async fn pool(&self, _caller: &Caller, pool: Option<&PoolId>) -> Result<PoolView, Problem> {
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let pool = ground.pool(pool)?;
        let view = self.published(&pool.id)?;
        Ok(pool_view(&view, &ground.moment, pool.gpus))
    }
}

/// What the GPUs of a run count as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Protected,
    Interruptible,
    Unallocated,
}

/// A run holds GPUs from the moment it is charged or goes on free; until its protection has passed, start-up
/// included, they count as protected.
fn use_of(run: &Run) -> Option<Use> {
    let (kind, _) = run.span?;
    Some(match (kind, run.held_until) {
        (SpanKind::Unallocated, _) => Use::Unallocated,
        (SpanKind::Charged, Some(_)) => Use::Protected,
        (SpanKind::Charged, None) => Use::Interruptible,
    })
}

/// A pool as it was published.
pub(super) fn pool_view(view: &Published, moment: &Moment, gpus: u32) -> PoolView {
    let state = &view.state;
    let held = |wanted: Use| {
        let runs = state.runs().values().filter(|run| use_of(run) == Some(wanted));
        runs.map(|run| run.gpus().0).sum()
    };
    let asked = view
        .order
        .iter()
        .filter_map(|entry| state.live().get(&entry.workload));
    PoolView {
        as_of: moment.time(view.at),
        pool: view.pool.clone(),
        gpus,
        healthy_gpus: state.healthy_gpus().0,
        protected_gpus: held(Use::Protected),
        interruptible_gpus: held(Use::Interruptible),
        unallocated_gpus: held(Use::Unallocated),
        delivered_over_owed: view.deliveries().ratio(),
        queued: view.order.len() as u64,
        asked_gpus: asked.map(|live| u64::from(live.workload.shape.gpus().0)).sum(),
    }
}

fn is_shown(ground: &Ground, access: &Access<'_>, me: &Me, view: &Published, run: &Run) -> bool {
    let Some(live) = view.state.live().get(&run.workload) else {
        return false;
    };
    let owner = if live.workload.submitted_by == me.person {
        Owner::Oneself
    } else {
        Owner::Another
    };
    let node = ground.organisation.org.find(&live.workload.charged_to);
    node.is_some_and(|node| access.is_allowed_for(Action::SeeWorkloadNames, node, owner))
}

struct Shown<'a> {
    ground: &'a Ground,
    view: &'a Published,
    moment: &'a Moment,
    names: std::collections::BTreeMap<WorkloadId, String>,
}

impl Shown<'_> {
    fn host(&self, ix: HostIx, host: &Host) -> HostRow {
        let state = &self.view.state;
        HostRow {
            id: host.id.clone(),
            block: state.blocks()[host.block].clone(),
            gpus: host.all.count_ones(),
            free: host.free.count_ones(),
            state: host.state,
            runs: host.runs.iter().filter_map(|run| self.run(ix, *run)).collect(),
        }
    }

    fn run(&self, ix: HostIx, id: RunId) -> Option<HostRun> {
        let run = self.view.state.runs().get(&id)?;
        let node = &self.view.state.tree().leaf_item(run.leaf).node;
        let here = run.gpus_on.iter().filter(|(host, _)| *host == ix);
        let gpus = here.flat_map(|(_, mask)| (0_u8..64).filter(move |gpu| mask >> gpu & 1 == 1));
        Some(HostRun {
            run: id,
            workload: run.workload,
            name: self.names.get(&run.workload).cloned(),
            node: node.clone(),
            node_name: self.ground.organisation.name(node),
            hue: self.ground.organisation.hue(node),
            gpus: gpus.collect(),
            state: run.state(self.view.at),
            protected_until: run.protected_until().map(|until| self.moment.time(until)),
        })
    }
}
