//! A state put back together from what was stored: what was, then who holds what now.
//!
//! The order is: workloads ([`State::know`]), the past with the open spans of runs ([`State::recall`]), the runs
//! ([`State::resume`]), and last what is pinned ([`State::pin_again`]).

use super::run::{Phase, Run, SpanKind};
use super::state::{State, StateError, timer_entry};
use super::tree::LeafIx;
use crate::id::NodeId;
use crate::units::{GpuSeconds, Gpus, MilliGpus, Timestamp};

impl State {
    /// Recalls the past of a pool that was stored: spans of held GPUs, the open ones of runs that are put back
    /// later among them, refunds, demand, and changes of rates, in any order. For a state that has seen nothing yet.
    ///
    /// # Errors
    /// [`StateError::UnknownNode`] when one names a node that is not there.
    pub fn recall(&mut self, past: &[Past]) -> Result<(), StateError> {
        let mut changes: Vec<(Timestamp, Change)> = Vec::with_capacity(2 * past.len());
        for event in past {
            match event {
                Past::Span {
                    node,
                    kind,
                    gpus,
                    from,
                    to,
                } => {
                    let leaf = self
                        .tree
                        .charged_to(node)
                        .ok_or_else(|| StateError::UnknownNode(node.clone()))?;
                    changes.push((*from, Change::Level(leaf, *kind, i64::from(gpus.0))));
                    if let Some(to) = to {
                        changes.push((*to, Change::Level(leaf, *kind, -i64::from(gpus.0))));
                    }
                }
                Past::Refund { node, at, amount } => {
                    let leaf = self
                        .tree
                        .charged_to(node)
                        .ok_or_else(|| StateError::UnknownNode(node.clone()))?;
                    changes.push((*at, Change::Amount(leaf, -amount.0)));
                }
                Past::Demand { node, gpus, from, to } => {
                    let leaf = self
                        .tree
                        .charged_to(node)
                        .ok_or_else(|| StateError::UnknownNode(node.clone()))?;
                    changes.push((*from, Change::Demand(leaf, i64::from(gpus.0))));
                    if let Some(to) = to {
                        changes.push((*to, Change::Demand(leaf, -i64::from(gpus.0))));
                    }
                }
                Past::Rates { at, rates } => changes.push((*at, Change::Rates(rates.clone()))),
                Past::PeriodBegins { at } => changes.push((*at, Change::Period)),
            }
        }
        changes.sort_by_key(|(at, change)| (*at, change.rank()));
        for (at, change) in changes {
            match change {
                Change::Level(leaf, kind, gpus) => self.count(leaf, kind, gpus, at),
                Change::Amount(leaf, amount) => {
                    for ix in self.tree.path(leaf) {
                        self.usage[ix.0].used.add(at, amount);
                    }
                }
                Change::Demand(leaf, gpus) => {
                    let ix = self.tree.leaf_ix(leaf);
                    self.usage[ix.0].demand.change(at, gpus);
                }
                Change::Rates(rates) => self.set_rates(at, rates)?,
                Change::Period => {
                    for usage in &mut self.usage {
                        usage.charged_before = usage.used.total(at);
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts a stored run back: who holds what, what is held, what time will bring. Its open span was recalled.
    ///
    /// # Errors
    /// [`StateError::UnknownWorkload`] when its workload was not put back first.
    pub fn resume(&mut self, run: Run) -> Result<(), StateError> {
        let live = self
            .live
            .get_mut(&run.workload)
            .ok_or(StateError::UnknownWorkload(run.workload))?;
        live.run = Some(run.id);
        self.next_run = self.next_run.max(run.id.0 + 1);
        for (ix, mask) in &run.gpus_on {
            let host = &mut self.hosts[ix.0];
            host.free &= !mask;
            if !matches!(run.phase, Phase::Waiting { .. }) {
                host.runs.insert(run.id);
            }
        }
        for timer in run.timers() {
            self.timers.insert(timer_entry(&self.rules, &run, timer));
        }
        let (id, held) = (run.id, run.held_until);
        self.runs.insert(id, run);
        if let Some(until) = held {
            self.take_hold(id, until);
        }
        Ok(())
    }

    /// After all runs are back: GPUs that one run waits for while another still holds them are pinned.
    pub fn pin_again(&mut self) {
        for run in self
            .runs
            .values()
            .filter(|run| matches!(run.phase, Phase::Waiting { .. }))
        {
            for (ix, mask) in &run.gpus_on {
                let held: u64 = self.hosts[ix.0]
                    .runs
                    .iter()
                    .filter_map(|holder| self.runs.get(holder))
                    .flat_map(|holder| &holder.gpus_on)
                    .filter(|(host, _)| host == ix)
                    .map(|(_, held)| held)
                    .fold(0, |sum, held| sum | held);
                self.hosts[ix.0].pinned |= mask & held;
            }
        }
    }

    /// The number from which new runs are counted, when earlier runs are no longer here.
    pub fn count_runs_from(&mut self, next: u64) {
        self.next_run = self.next_run.max(next);
    }
}

/// A part of a pool's past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Past {
    /// GPUs were held.
    Span {
        /// The node that paid, or would have.
        node: NodeId,
        /// Whether it was charged.
        kind: SpanKind,
        /// How many.
        gpus: Gpus,
        /// From when.
        from: Timestamp,
        /// Until when; absent while they still are.
        to: Option<Timestamp>,
    },
    /// GPU time was given back.
    Refund {
        /// The node that got it.
        node: NodeId,
        /// When.
        at: Timestamp,
        /// How much.
        amount: GpuSeconds,
    },
    /// An allocated workload was there, waiting or running.
    Demand {
        /// The node that pays.
        node: NodeId,
        /// Its GPUs.
        gpus: Gpus,
        /// From when.
        from: Timestamp,
        /// Until when; absent while it still is.
        to: Option<Timestamp>,
    },
    /// Rates changed: node, own part, with everything below.
    Rates {
        /// When.
        at: Timestamp,
        /// To what.
        rates: Vec<(NodeId, MilliGpus, MilliGpus)>,
    },
    /// A period began.
    PeriodBegins {
        /// When.
        at: Timestamp,
    },
}

enum Change {
    Level(LeafIx, SpanKind, i64),
    Amount(LeafIx, i64),
    Demand(LeafIx, i64),
    Rates(Vec<(NodeId, MilliGpus, MilliGpus)>),
    Period,
}

impl Change {
    /// At one instant, a period begins before anything is counted in it.
    fn rank(&self) -> u8 {
        match self {
            Self::Period => 0,
            Self::Rates(_) => 1,
            Self::Level(..) | Self::Demand(..) => 2,
            Self::Amount(..) => 3,
        }
    }
}
