//! Stored rows against the state they give.

use stint_core::id::PoolId;
use stint_core::sched::audit::check;
use stint_core::sched::state::State;
use stint_core::units::Timestamp;

use super::{EngineError, load};
use crate::store::{Store, ledger};

/// What doesn't fit, in sentences; empty when all is well. The state is rebuilt as a restart would rebuild it.
pub async fn audit(store: &Store, pool: &PoolId, now: Timestamp) -> Result<Vec<String>, EngineError> {
    // One transaction: a server may be at work on the same database.
    let mut db = store.read().await?;
    let loaded = load::read(&mut db, pool, now).await?;
    let mut findings = check(&loaded.state);
    if let Some(period) = &loaded.period {
        let at = loaded.state.now();
        let used = ledger::used(&mut db, pool, period, at).await?;
        findings.extend(charges(&loaded.state, &used, at));
    }
    Ok(findings)
}

/// I-5 and L6: what the ledger's one query says was charged and is held is what the scheduler counts.
fn charges(state: &State, used: &stint_core::ledger::UsedByNode, at: Timestamp) -> Vec<String> {
    let tree = state.tree();
    let mut findings = Vec::new();
    for leaf in tree.leaves() {
        let item = tree.leaf_item(leaf);
        let stored = used.get(&item.node).copied().unwrap_or_default();
        let counted = state.charged_in_period(leaf, at);
        if stored.charged != counted {
            findings.push(format!(
                "I-5: {} was charged {} GPU-seconds by the ledger and {} by the scheduler",
                item.node, stored.charged.0, counted.0
            ));
        }
        let held = state.held(tree.leaf_ix(leaf), at);
        if stored.held != held {
            findings.push(format!(
                "I-5: {} GPU-seconds are held for {} by the ledger and {} by the scheduler",
                stored.held.0, item.node, held.0
            ));
        }
    }
    findings
}
