//! The event log: JSON Lines in time order, one object a line, `t` in seconds.
//!
//! A stranger can recompute every metric and check every invariant from it alone, so its format is kept.

use serde::Serialize;

use crate::id::{HostId, NodeId};
use crate::input::trace::Kind;
use crate::sched::contract::{EndCause, HostState, Workload};
use crate::sched::state::{HostIx, State};
use crate::units::{MilliGpus, Timestamp};

/// Where the log goes, and the instant that counts as zero.
pub(super) struct Log<'a> {
    began: Timestamp,
    sink: Option<&'a mut dyn FnMut(&str)>,
}

#[derive(Serialize)]
struct Line<'a, T: Serialize> {
    t: i64,
    ev: &'a str,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct Pool {
    hosts: usize,
    gpus_per_host: u32,
    cap_s: i64,
    window_s: i64,
}

#[derive(Serialize)]
struct Rate<'a> {
    node: &'a str,
    gpus: MilliText,
}

/// Thousandths as an exact decimal number.
struct MilliText(i64);

impl Serialize for MilliText {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "thousandths below 2^53 print back as they are"
        )]
        let gpus = self.0 as f64 / 1_000.0;
        to.serialize_f64(gpus)
    }
}

#[derive(Serialize)]
struct Submit<'a> {
    id: u64,
    node: &'a str,
    gpus: u32,
    hosts: u32,
    min_runtime_s: i64,
    kind: Kind,
    resumable: bool,
    priority: i32,
}

#[derive(Serialize)]
struct Start<'a> {
    id: u64,
    run: u64,
    alloc: Vec<(&'a HostId, Vec<u32>)>,
    charged: bool,
}

#[derive(Serialize)]
struct Stop<'a> {
    run: u64,
    why: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<u64>,
}

#[derive(Serialize)]
struct Promote {
    run: u64,
    charged: bool,
}

#[derive(Serialize)]
struct HostLine<'a> {
    host: &'a HostId,
    state: HostState,
    human: bool,
}

impl<'a> Log<'a> {
    pub(super) fn new(began: Timestamp, sink: Option<&'a mut dyn FnMut(&str)>) -> Self {
        Self { began, sink }
    }

    fn write(&mut self, at: Timestamp, ev: &str, rest: impl Serialize) {
        let Some(sink) = self.sink.as_mut() else { return };
        let line = Line {
            t: at.since(self.began).0,
            ev,
            rest,
        };
        if let Ok(text) = serde_json::to_string(&line) {
            sink(&text);
        }
    }

    pub(super) fn pool(&mut self, state: &State) {
        let rules = state.rules();
        let pool = Pool {
            hosts: state.hosts().len(),
            gpus_per_host: rules.limits.gpus_per_host,
            cap_s: rules.limits.cap.0,
            window_s: rules.look_back.span().0,
        };
        self.write(state.now(), "pool", pool);
    }

    pub(super) fn rate(&mut self, at: Timestamp, node: &NodeId, rate: MilliGpus) {
        self.write(
            at,
            "rate",
            Rate {
                node: node.as_str(),
                gpus: MilliText(rate.0),
            },
        );
    }

    pub(super) fn submit(&mut self, at: Timestamp, workload: &Workload, kind: Kind) {
        let submit = Submit {
            id: workload.id.0,
            node: workload.charged_to.as_str(),
            gpus: workload.shape.gpus().0,
            hosts: workload.shape.hosts,
            min_runtime_s: workload.min_runtime.0,
            kind,
            resumable: workload.after_preemption == crate::sched::contract::AfterPreemption::Requeue,
            priority: workload.priority,
        };
        self.write(at, "submit", submit);
    }

    pub(super) fn start(
        &mut self,
        state: &State,
        id: u64,
        run: u64,
        gpus_on: &[(HostIx, u64)],
        charged: bool,
    ) {
        if self.sink.is_none() {
            return;
        }
        let on = |(ix, mask): &(HostIx, u64)| {
            (
                &state.host(*ix).id,
                (0..64).filter(|bit| mask >> bit & 1 == 1).collect(),
            )
        };
        let alloc = gpus_on.iter().map(on).collect();
        self.write(
            state.now(),
            "start",
            Start {
                id,
                run,
                alloc,
                charged,
            },
        );
    }

    pub(super) fn stop(&mut self, at: Timestamp, run: u64, cause: EndCause, by: Option<u64>) {
        let why = match cause {
            EndCause::Finished => "finished",
            EndCause::Failed => "failed",
            EndCause::Preempted => "preempted",
            EndCause::Cancelled => "cancelled",
            EndCause::HostFailed => "host_failed",
            EndCause::LaunchFailed => "launch_failed",
            EndCause::Expired => "expired",
        };
        self.write(at, "stop", Stop { run, why, by });
    }

    pub(super) fn promote(&mut self, at: Timestamp, run: u64) {
        self.write(at, "promote", Promote { run, charged: true });
    }

    pub(super) fn host(&mut self, at: Timestamp, host: &HostId, state: HostState) {
        self.write(
            at,
            "host",
            HostLine {
                host,
                state,
                human: false,
            },
        );
    }
}
