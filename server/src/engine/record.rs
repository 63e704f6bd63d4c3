//! What a cycle changed, as rows: runs first, then what hangs on them.

use std::collections::{BTreeMap, BTreeSet};

use stint_core::id::{HostId, PeriodId, PoolId, RunId, WorkloadId};
use stint_core::ledger::{Period, period::cut};
use stint_core::sched::Decisions;
use stint_core::sched::contract::{EndCause, WorkloadState};
use stint_core::sched::decisions::{Start, StopCause};
use stint_core::sched::run::{Phase, Run, Span};
use stint_core::sched::state::{Effect, HostIx, State};
use stint_core::sched::tree::LeafIx;
use stint_core::units::{GpuSeconds, Timestamp};

use super::EngineError;
use super::intake::{Taken, changed_runs};
use crate::fleet::{StartOrder, StopOrder};
use crate::store::engine::{self as rows, ChargeKind, ChargeRow, NewDecision, OpenRun, RunEnd};
use crate::store::{Connection, workloads};

/// Writes everything that a cycle changed.
pub(super) async fn record(
    db: &mut Connection,
    pool: &PoolId,
    state: &State,
    periods: &[Period],
    taken: &Taken,
    decisions: &Decisions,
) -> Result<(), EngineError> {
    let scribe = Scribe { pool, state, periods };
    let why = preemptions(decisions);
    scribe.runs(db, taken, decisions, &why).await?;
    scribe.spans(db, taken).await?;
    scribe.workloads(db, taken).await?;
    scribe.log(db, taken, decisions).await?;
    scribe.outbox(db, taken).await
}

/// Why each run was preempted in this pass, as JSON.
fn preemptions(decisions: &Decisions) -> BTreeMap<RunId, String> {
    let stops = decisions.stops.iter().filter_map(|stop| match &stop.cause {
        StopCause::Preemption(why) => Some((stop.proof.run(), serde_json::to_string(why).ok()?)),
        StopCause::Expired | StopCause::StartupOver => None,
    });
    stops.collect()
}

struct Scribe<'a> {
    pool: &'a PoolId,
    state: &'a State,
    periods: &'a [Period],
}

impl Scribe<'_> {
    async fn runs(
        &self,
        db: &mut Connection,
        taken: &Taken,
        decisions: &Decisions,
        why: &BTreeMap<RunId, String>,
    ) -> Result<(), EngineError> {
        let mut open: BTreeMap<RunId, &Run> = changed_runs(self.state, &taken.effects)
            .into_iter()
            .map(|run| (run.id, run))
            .collect();
        for start in &decisions.starts {
            if let Some(run) = self.state.runs().get(&start.run) {
                open.insert(run.id, run);
            }
        }
        for (id, run) in open {
            let end = RunEnd {
                ended: None,
                preemption: why.get(&id).cloned(),
            };
            rows::put_run(db, &self.row(run), &end).await?;
        }
        for (at, effect) in &taken.effects {
            let (run, cause) = match effect {
                Effect::RunEnded(run, cause) => (run, *cause),
                Effect::RunDropped(run) => (run, EndCause::Cancelled),
                _ => continue,
            };
            let end = RunEnd {
                ended: Some((*at, cause)),
                preemption: why.get(&run.id).cloned(),
            };
            rows::put_run(db, &self.row(run), &end).await?;
        }
        Ok(())
    }

    fn row(&self, run: &Run) -> OpenRun {
        let (waits_for, mut stop_by) = match &run.phase {
            Phase::Waiting { waits_for, by } => (waits_for.clone(), Some(*by)),
            _ => (BTreeSet::new(), None),
        };
        let mut stop = None;
        if let Phase::Stopping { told, by, cause, .. } = run.phase {
            stop = Some((told, cause));
            stop_by = Some(by);
        }
        let assigned = run.assigned();
        OpenRun {
            id: run.id,
            workload_id: run.workload,
            number: run.number,
            hosts: json(&self.hosts(run)),
            allocated: run.allocated,
            waits_for: json(&waits_for),
            decided_at: run.decided,
            assigned_at: assigned,
            running_at: run.running_since(),
            protected_until: run.protected_until(),
            charged_until: run
                .span
                .map(|(_, from)| from)
                .filter(|from| Some(*from) != assigned),
            stop_decided_at: stop.map(|(told, _)| told),
            stop_by,
            stop_cause: stop.map(|(_, cause)| cause),
        }
    }

    fn hosts(&self, run: &Run) -> Vec<(HostId, Vec<u8>)> {
        let named = |(ix, mask): &(HostIx, u64)| {
            let gpus = (0..64_u8).filter(|gpu| mask >> gpu & 1 == 1).collect();
            (self.state.host(*ix).id.clone(), gpus)
        };
        run.gpus_on.iter().map(named).collect()
    }

    async fn spans(&self, db: &mut Connection, taken: &Taken) -> Result<(), EngineError> {
        for (at, effect) in &taken.effects {
            match effect {
                Effect::Span(span) => self.span(db, span).await?,
                Effect::Refund { run, leaf, amount } => self.refund(db, *run, *leaf, *amount, *at).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A span is cut where a period ends, each part charged to its own.
    async fn span(&self, db: &mut Connection, span: &Span) -> Result<(), EngineError> {
        if span.from == span.to {
            return Ok(());
        }
        let parts = cut(self.periods, span.from, span.to)
            .map_err(|error| EngineError::Missing(format!("a span of {}: {error}", span.run)))?;
        for part in parts {
            let row = ChargeRow {
                node_id: self.state.tree().leaf_item(span.leaf).node.clone(),
                kind: ChargeKind::from(span.kind),
                gpus: span.gpus.0,
                starts_at: part.starts,
                ends_at: part.ends,
                amount_gpu_seconds: part.charge(span.gpus),
            };
            rows::insert_charge(db, span.run, self.pool, &part.period, &row).await?;
        }
        Ok(())
    }

    async fn refund(
        &self,
        db: &mut Connection,
        run: RunId,
        leaf: LeafIx,
        amount: GpuSeconds,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        let row = ChargeRow {
            node_id: self.state.tree().leaf_item(leaf).node.clone(),
            kind: ChargeKind::Refund,
            gpus: 0,
            starts_at: at,
            ends_at: at,
            amount_gpu_seconds: amount,
        };
        let period = self.period(at)?;
        Ok(rows::insert_charge(db, run, self.pool, &period, &row).await?)
    }

    fn period(&self, at: Timestamp) -> Result<PeriodId, EngineError> {
        let period = self.periods.iter().find(|period| period.contains(at));
        period
            .map(|period| period.id.clone())
            .ok_or_else(|| EngineError::Missing(format!("no period covers {}", at.0)))
    }

    async fn workloads(&self, db: &mut Connection, taken: &Taken) -> Result<(), EngineError> {
        let mut changed: BTreeSet<WorkloadId> = taken.workloads().collect();
        changed.extend(
            changed_runs(self.state, &taken.effects)
                .into_iter()
                .map(|run| run.workload),
        );
        for id in changed {
            let (Some(live), Some(state)) = (self.state.live().get(&id), self.state.workload_state(id))
            else {
                continue;
            };
            rows::set_workload(db, id, state, live.starts, live.launch_failures, live.held_since).await?;
        }
        for (at, effect) in &taken.effects {
            if let Effect::WorkloadOver(id, state) = effect {
                rows::end_workload(db, *id, *state, *at).await?;
            }
        }
        Ok(())
    }

    async fn log(
        &self,
        db: &mut Connection,
        taken: &Taken,
        decisions: &Decisions,
    ) -> Result<(), EngineError> {
        for (at, effect) in &taken.effects {
            let entry = match effect {
                Effect::RunEnded(run, cause) => Some(self.ended(run, *cause, &taken.effects)),
                Effect::Refund { run, leaf, amount } => self.refunded(*run, *leaf, *amount, &taken.effects),
                _ => None,
            };
            if let Some(entry) = entry {
                rows::insert_decision(db, *at, &entry).await?;
            }
        }
        for stop in &decisions.stops {
            let run = stop.proof.run();
            let workload = self.state.runs().get(&run).map(|run| run.workload);
            if let (Some(workload), StopCause::Preemption(why)) = (workload, &stop.cause) {
                let entry = NewDecision {
                    workload,
                    run: Some(run),
                    what: "Preempted",
                    sentence: why.sentence(),
                    body: json(why),
                };
                rows::insert_decision(db, decisions.at, &entry).await?;
            }
        }
        for promotion in &decisions.promotions {
            let Some(run) = self.state.runs().get(&promotion.run) else {
                continue;
            };
            let entry = NewDecision {
                workload: run.workload,
                run: Some(run.id),
                what: "Protected",
                sentence: format!(
                    "Its turn came: {} GPU-h are held, and it is protected where it runs.",
                    promotion.hold.hours_text()
                ),
                body: json(&promotion.hold),
            };
            rows::insert_decision(db, decisions.at, &entry).await?;
        }
        for start in &decisions.starts {
            rows::insert_decision(db, decisions.at, &self.started(start)).await?;
        }
        Ok(())
    }

    fn started(&self, start: &Start) -> NewDecision {
        let tree = self.state.tree();
        let standings: Vec<(String, _)> = start
            .standings
            .iter()
            .map(|(ix, at)| (tree.item(*ix).name.clone(), *at))
            .collect();
        let path: Vec<String> = standings
            .iter()
            .skip(1)
            .map(|(name, at)| format!("{name} ({})", at.text()))
            .collect();
        let hosts: Vec<&str> = start
            .gpus_on
            .iter()
            .map(|(ix, _)| self.state.host(*ix).id.as_str())
            .collect();
        let on = hosts.join(", ");
        let turn = if start.allocated {
            format!(
                "its turn came at {}; {} GPU-h held",
                path.join(" › "),
                start.hold.hours_text()
            )
        } else {
            "unallocated, on GPUs that nobody with a claim could use".to_owned()
        };
        let (what, verb) = match start.waits_for.len() {
            0 => ("Started", format!("Started on {on}")),
            1 => ("Pinned", format!("Starts on {on} when one run has left")),
            runs => ("Pinned", format!("Starts on {on} when {runs} runs have left")),
        };
        NewDecision {
            workload: start.workload,
            run: Some(start.run),
            what,
            sentence: format!("{verb}: {turn}."),
            body: json(&standings),
        }
    }

    fn ended(&self, run: &Run, cause: EndCause, effects: &[(Timestamp, Effect)]) -> NewDecision {
        let over = effects.iter().find_map(|(_, effect)| match effect {
            Effect::WorkloadOver(id, state) if *id == run.workload => Some(*state),
            _ => None,
        });
        let after = match over {
            Some(WorkloadState::Finished | WorkloadState::Failed | WorkloadState::Cancelled) => {
                return last(run, cause);
            }
            Some(_) => "it ends here",
            None if self.state.workload_state(run.workload) == Some(WorkloadState::Held) => {
                "it is held until its owner changes it"
            }
            None => "it is queued again with its first submit time",
        };
        let sentence = format!("{}: {after}.", cause.label());
        NewDecision {
            workload: run.workload,
            run: Some(run.id),
            what: if over.is_some() { "Ended" } else { "Requeued" },
            sentence,
            body: json(&cause),
        }
    }

    fn refunded(
        &self,
        run: RunId,
        leaf: LeafIx,
        amount: GpuSeconds,
        effects: &[(Timestamp, Effect)],
    ) -> Option<NewDecision> {
        let workload = effects.iter().find_map(|(_, effect)| match effect {
            Effect::RunEnded(ended, _) if ended.id == run => Some(ended.workload),
            _ => None,
        })?;
        let name = &self.state.tree().leaf_item(leaf).name;
        Some(NewDecision {
            workload,
            run: Some(run),
            what: "Refunded",
            sentence: format!(
                "{} GPU-h given back to {name}: the host failed.",
                amount.hours_text()
            ),
            body: json(&amount),
        })
    }

    async fn outbox(&self, db: &mut Connection, taken: &Taken) -> Result<(), EngineError> {
        for (at, effect) in &taken.effects {
            let Effect::Assigned(id) = effect else { continue };
            let Some(run) = self.state.runs().get(id) else {
                continue;
            };
            let simulated_runtime = workloads::find(db, run.workload)
                .await?
                .and_then(|row| row.simulated_runtime_s);
            let order = StartOrder {
                run: run.id,
                generation: run.number,
                workload: run.workload,
                hosts: self.hosts(run),
                simulated_runtime,
            };
            rows::insert_outbox(db, run.id, run.number, "start", &json(&order), *at).await?;
        }
        for run in changed_runs(self.state, &taken.effects) {
            let Phase::Stopping { told, by, cause, .. } = run.phase else {
                continue;
            };
            let order = StopOrder {
                run: run.id,
                generation: run.number,
                by,
                cause,
            };
            rows::insert_outbox(db, run.id, run.number, "stop", &json(&order), told).await?;
        }
        Ok(())
    }
}

/// The last entry of a workload that is over by itself or by its owner.
fn last(run: &Run, cause: EndCause) -> NewDecision {
    NewDecision {
        workload: run.workload,
        run: Some(run.id),
        what: cause.label(),
        sentence: format!("{} released its GPUs.", run.id),
        body: json(&cause),
    }
}

/// JSON of our own types, which always have one.
fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
