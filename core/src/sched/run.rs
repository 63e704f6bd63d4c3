//! A run: the GPUs it has, how far it has got, what it is charged, and the proof that it may be stopped.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::contract::{EndCause, Then, WorkloadState};
use super::decisions::Start;
use super::state::{HostIx, State};
use super::tree::LeafIx;
use crate::id::{RunId, WorkloadId};
use crate::units::{Gpus, Seconds, Timestamp};

/// How far a run has got; each variant holds what is known then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its GPUs are pinned to it, and others have to leave first.
    Waiting {
        /// The runs that have to leave.
        waits_for: BTreeSet<RunId>,
        /// When the last of them is gone at the latest.
        by: Timestamp,
    },
    /// It holds its GPUs and is being launched.
    Starting {
        /// When the GPUs became its own.
        assigned: Timestamp,
    },
    /// It is running on all its hosts.
    Running {
        /// When the GPUs became its own.
        assigned: Timestamp,
        /// When it was running on all its hosts.
        running: Timestamp,
        /// Until when it is protected; `running` when it never was.
        protected_until: Timestamp,
    },
    /// It was told to stop and still holds its GPUs.
    Stopping {
        /// When the GPUs became its own.
        assigned: Timestamp,
        /// When it was running on all its hosts, if it got so far.
        running: Option<Timestamp>,
        /// Until when it was protected.
        protected_until: Timestamp,
        /// When it was told.
        told: Timestamp,
        /// When it is gone at the latest.
        by: Timestamp,
        /// How it will have ended, unless it ends by itself first.
        cause: EndCause,
    },
}

/// Whether held time counts against the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// It is charged.
    Charged,
    /// It is free.
    Unallocated,
}

/// GPUs held for a span of time. *Units*: `gpus` x (`to` - `from`) GPU-seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The run.
    pub run: RunId,
    /// The node that pays, or would.
    pub leaf: LeafIx,
    /// Whether it is charged.
    pub kind: SpanKind,
    /// How many GPUs.
    pub gpus: Gpus,
    /// From when.
    pub from: Timestamp,
    /// Until when.
    pub to: Timestamp,
}

/// A run that holds GPUs or waits for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its workload.
    pub workload: WorkloadId,
    /// The leaf that pays.
    pub leaf: LeafIx,
    /// Which run of the workload it is, from 1.
    pub number: u32,
    /// Its GPUs: hosts in order, with a mask each.
    pub gpus_on: Vec<(HostIx, u64)>,
    /// Whether it is charged and protected.
    pub allocated: bool,
    /// What happens when its protection has passed.
    pub then: Then,
    /// When it was decided.
    pub decided: Timestamp,
    /// How far it has got.
    pub phase: Phase,
    /// Until when its protection is held, while it is.
    pub held_until: Option<Timestamp>,
    /// The span of held GPUs that is open, and since when.
    pub span: Option<(SpanKind, Timestamp)>,
}

impl Run {
    /// A run as it was decided.
    pub(super) fn decided(start: &Start, leaf: LeafIx, number: u32, then: Then, now: Timestamp) -> Self {
        Self {
            id: start.run,
            workload: start.workload,
            leaf,
            number,
            gpus_on: start.gpus_on.clone(),
            allocated: start.allocated,
            then,
            decided: now,
            phase: Phase::Waiting {
                waits_for: start.waits_for.iter().copied().collect(),
                by: start.by,
            },
            held_until: None,
            span: None,
        }
    }

    /// All its GPUs.
    pub fn gpus(&self) -> Gpus {
        Gpus(self.gpus_on.iter().map(|(_, mask)| mask.count_ones()).sum())
    }

    /// When its GPUs became its own.
    pub fn assigned(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Waiting { .. } => None,
            Phase::Starting { assigned }
            | Phase::Running { assigned, .. }
            | Phase::Stopping { assigned, .. } => Some(assigned),
        }
    }

    /// When it was running on all its hosts.
    pub fn running_since(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Waiting { .. } | Phase::Starting { .. } => None,
            Phase::Running { running, .. } => Some(running),
            Phase::Stopping { running, .. } => running,
        }
    }

    /// Until when it is or was protected; `None` before it runs and for a run that never was.
    pub fn protected_until(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Running { protected_until, .. } | Phase::Stopping { protected_until, .. }
                if self.allocated =>
            {
                Some(protected_until)
            }
            _ => None,
        }
    }

    /// Whether it was told to stop.
    pub fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping { .. })
    }

    /// What a preemption would lose: GPU time since its start. Checkpoints are not reported yet.
    pub fn lost_if_stopped(&self, now: Timestamp) -> i64 {
        let since = self.running_since().or(self.assigned()).unwrap_or(now);
        self.gpus().over(now.since(since)).0
    }

    /// Its state, as people see it.
    pub fn state(&self, now: Timestamp) -> WorkloadState {
        match self.phase {
            Phase::Waiting { .. } | Phase::Starting { .. } => WorkloadState::Starting,
            Phase::Stopping { .. } => WorkloadState::Stopping,
            Phase::Running { .. } if self.span.is_some_and(|(kind, _)| kind == SpanKind::Unallocated) => {
                WorkloadState::Unallocated
            }
            Phase::Running { protected_until, .. } if now < protected_until => WorkloadState::Protected,
            Phase::Running { .. } => WorkloadState::Interruptible,
        }
    }

    /// Tells it to stop.
    pub(super) fn stop(&mut self, told: Timestamp, by: Timestamp, cause: EndCause) {
        let Some(assigned) = self.assigned() else { return };
        self.phase = Phase::Stopping {
            assigned,
            running: self.running_since(),
            protected_until: self.protected_until().unwrap_or(told),
            told,
            by,
            cause,
        };
    }
}

/// Proof that a run may be stopped by the scheduler. There is no other way to get one than to ask the state, and
/// no way to stop without one: protected work can't be stopped here. *Source*: policy, section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interruptible(RunId);

impl Interruptible {
    /// The run.
    pub fn run(self) -> RunId {
        self.0
    }
}

impl State {
    /// The proof that a run may be stopped at an instant, if it may: it is unallocated, or its protection has
    /// passed. A run that is being launched is not protected yet, but counts as if it were until its start-up
    /// time is over.
    pub fn interruptible(&self, run: &Run, now: Timestamp) -> Option<Interruptible> {
        let startup: Seconds = self.rules().limits.startup_allowance;
        let may = match run.phase {
            Phase::Waiting { .. } | Phase::Stopping { .. } => false,
            Phase::Starting { assigned } => !run.allocated || assigned + startup <= now,
            Phase::Running { protected_until, .. } => !run.allocated || protected_until <= now,
        };
        may.then_some(Interruptible(run.id))
    }
}
