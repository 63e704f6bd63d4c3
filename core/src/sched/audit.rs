//! Checks a state against the invariants it must hold. *Source*: policy, section 13.
//!
//! Simulations call it as they go, tests after every event, and `stint audit` on a live database.

use super::run::{Phase, SpanKind};
use super::state::State;
use crate::id::RunId;

/// Every broken invariant, in a sentence that names it; empty when all hold.
pub fn check(state: &State) -> Vec<String> {
    let mut findings = Vec::new();
    gpus_have_one_holder(state, &mut findings);
    gangs_are_whole(state, &mut findings);
    levels_match_runs(state, &mut findings);
    holds_match_runs(state, &mut findings);
    findings
}

/// I-1: no GPU is held by two runs; what is free is held by none.
fn gpus_have_one_holder(state: &State, findings: &mut Vec<String>) {
    let mut held: Vec<u64> = vec![0; state.hosts().len()];
    let mut waited: Vec<u64> = vec![0; state.hosts().len()];
    for run in state.runs().values() {
        let taken = if matches!(run.phase, Phase::Waiting { .. }) {
            &mut waited
        } else {
            &mut held
        };
        for (ix, mask) in &run.gpus_on {
            if taken[ix.0] & mask != 0 {
                findings.push(format!(
                    "I-1: a GPU of {} has two holders, one is {}",
                    state.host(*ix).id,
                    run.id
                ));
            }
            taken[ix.0] |= mask;
        }
    }
    for (host, (held, waited)) in state.hosts().iter().zip(held.iter().zip(&waited)) {
        if host.free != host.all & !held & !waited {
            findings.push(format!(
                "I-1: what is free on {} does not match who holds it",
                host.id
            ));
        }
        if host.pinned != held & waited {
            findings.push(format!(
                "I-1: what is pinned on {} does not match who waits for it",
                host.id
            ));
        }
    }
}

/// I-2: a run has all the GPUs its workload asked for.
fn gangs_are_whole(state: &State, findings: &mut Vec<String>) {
    for run in state.runs().values() {
        match state.live().get(&run.workload) {
            Some(live) if live.run != Some(run.id) => {
                findings.push(format!("I-2: {} has another run than {}", run.workload, run.id));
            }
            Some(live) if live.workload.shape.gpus() != run.gpus() => {
                findings.push(format!("I-2: {} has {} GPUs of its gang", run.id, run.gpus().0));
            }
            Some(_) => {}
            None => findings.push(format!(
                "I-2: {} belongs to {}, which is over",
                run.id, run.workload
            )),
        }
    }
}

/// I-5: what is counted as charged or free now is what runs hold now, at every level of the tree.
fn levels_match_runs(state: &State, findings: &mut Vec<String>) {
    let mut charged = vec![0_i64; state.tree().items().len()];
    let mut free = vec![0_i64; state.tree().items().len()];
    for run in state.runs().values() {
        let Some((kind, _)) = run.span else { continue };
        let sums = if kind == SpanKind::Charged {
            &mut charged
        } else {
            &mut free
        };
        for ix in state.tree().path(run.leaf) {
            sums[ix.0] += i64::from(run.gpus().0);
        }
    }
    for (ix, item) in state.tree().items().iter().enumerate() {
        let at = super::tree::TreeIx(ix);
        if state.charged_gpus(at) != charged[ix] || state.unallocated_gpus(at) != free[ix] {
            findings.push(format!(
                "I-5: GPUs counted for {} do not match its runs",
                item.name
            ));
        }
    }
}

/// I-5: what is held is what protected runs still have before them; nothing is held when nothing runs.
fn holds_match_runs(state: &State, findings: &mut Vec<String>) {
    let now = state.now();
    let mut holds = vec![0_i64; state.tree().items().len()];
    for run in state.runs().values() {
        let Some(until) = run.held_until else { continue };
        for ix in state.tree().path(run.leaf) {
            holds[ix.0] += run.gpus().over(until.since(now)).0;
        }
    }
    for (ix, item) in state.tree().items().iter().enumerate() {
        if state.held(super::tree::TreeIx(ix), now).0 != holds[ix] {
            findings.push(format!(
                "I-5: what is held for {} does not match its runs",
                item.name
            ));
        }
    }
}

/// I-3: a run that the scheduler stopped had had its minimum runtime. `ended` is when it was told.
pub fn was_interruptible(run: &super::run::Run, told: crate::units::Timestamp) -> Result<(), RunId> {
    let protected = run.allocated && run.protected_until().is_some_and(|until| told < until);
    if protected { Err(run.id) } else { Ok(()) }
}
