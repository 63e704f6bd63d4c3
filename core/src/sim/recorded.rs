//! A simulation of recorded demand: from the files of an institute to what the simulator takes.

use super::world::Setup;
use super::{Arrival, Faults};
use crate::id::{NodeId, WorkloadId};
use crate::input::layout::hosts::{HostEntry, PoolEntry};
use crate::input::layout::org::OrgLayout;
use crate::input::trace::TraceRow;
use crate::ledger::{Reserve, budgetable};
use crate::org::NodeIx;
use crate::sched::contract::HostState;
use crate::sched::state::{HostSpec, Rules};
use crate::units::{GpuSeconds, MilliGpus, Seconds, Timestamp};

impl Setup {
    /// Demand as it was recorded, on a pool, divided as the organisation says. Workloads are numbered from 1 in the
    /// order of the rows. Time begins at 0; the grants are for the whole span.
    pub fn recorded(layout: &OrgLayout, pool: &PoolEntry, rows: &[TraceRow], span: Seconds) -> Self {
        let began = Timestamp(0);
        // The hosts file was refused if its reserve was over 100 %.
        let capacity = Reserve::from_bp(pool.reserve_bp)
            .map_or(GpuSeconds::ZERO, |reserve| budgetable(pool.gpus(), span, reserve));
        let own = layout.own(capacity);
        let within = (1..).zip(rows).filter(|(_, row)| row.submit < span);
        let mut arrivals: Vec<Arrival> = within
            .map(|(id, row)| Arrival {
                workload: row.workload(WorkloadId(id), began),
                duration: row.duration,
                kind: row.kind,
            })
            .collect();
        arrivals.sort_by_key(|arrival| (arrival.workload.submitted_at, arrival.workload.id));
        Self {
            rules: Rules {
                limits: pool.limits(),
                look_back: pool.look_back,
                margin_milli: pool.margin_milli,
            },
            hosts: pool.hosts.iter().map(host).collect(),
            rates: rates(layout, &own, span),
            grants: layout
                .org
                .nodes()
                .iter()
                .map(|node| node.id.clone())
                .zip(own)
                .collect(),
            org: layout.org.clone(),
            arrivals,
            began,
            span,
            warm_up: Seconds::ZERO,
            seed: 0,
        }
    }
}

fn host(host: &HostEntry) -> (HostSpec, Option<Faults>) {
    let spec = HostSpec {
        id: host.id.clone(),
        block: host.block.clone(),
        gpus: host.gpus,
        state: HostState::Up,
    };
    let faults = host.faults.map(|faults| Faults {
        mean_between: faults.mean_between,
        shortest_repair: faults.shortest_repair,
        longest_repair: faults.longest_repair,
    });
    (spec, faults)
}

/// Rates of own parts, and of nodes with everything below: each the floor of its exact value.
fn rates(layout: &OrgLayout, own: &[GpuSeconds], span: Seconds) -> Vec<(NodeId, MilliGpus, MilliGpus)> {
    let milli = |amount: GpuSeconds| MilliGpus(amount.0.saturating_mul(1_000) / span.0.max(1));
    let rate = |ix: NodeIx| {
        let gross: GpuSeconds = own[layout.org.subtree(ix)].iter().copied().sum();
        (layout.org.node(ix).id.clone(), milli(own[ix.0]), milli(gross))
    };
    layout.org.indices().map(rate).collect()
}
