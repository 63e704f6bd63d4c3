//! The invariants of the ledger, checked on what is stored.
//!
//! Takes the transactions as they were written and the balances beside them, posts every transaction without
//! asking whether it should have been accepted, and reports each thing that the book would not have let happen.
//! A clean ledger gives no findings. L6 to L8 concern charges and drafts and are checked where those live.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::accrual::Line;
use super::book::StoredBalance;
use super::period::Period;
use super::transaction::{Balance, CommandId, Transaction};
use crate::id::NodeId;
use crate::org::Org;
use crate::units::GpuSeconds;

/// An invariant by its number. *Source*: ledger, section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Invariant {
    /// The postings of a transaction sum to zero.
    L1,
    /// What has accrued was never taken out, so that rates below never exceed the rate above.
    L2,
    /// The root's grant is within the pool's capacity.
    L3,
    /// No own part is negative.
    L4,
    /// Replaying gives the stored balances.
    L5,
    /// One command is applied once.
    L9,
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// The invariant that is broken.
    pub invariant: Invariant,
    /// Where: a transaction, a node or a command.
    pub subject: String,
    /// What was found, with the numbers.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}: {}", self.invariant, self.subject, self.detail)
    }
}

/// Checks the ledger of one pool and period. Transactions come in the order in which they were applied.
pub fn audit(
    org: &Org,
    period: &Period,
    capacity: GpuSeconds,
    transactions: &[Transaction],
    stored: &[StoredBalance],
) -> Vec<Finding> {
    let mut check = Check::default();
    for transaction in transactions {
        check.command(transaction);
        check.postings(org, period, transaction);
    }
    check.capacity(capacity);
    check.stored(period, stored);
    check.findings
}

#[derive(Default)]
struct Check {
    replayed: BTreeMap<NodeId, (Line, u64)>,
    commands: BTreeMap<CommandId, Transaction>,
    findings: Vec<Finding>,
}

impl Check {
    fn find(&mut self, invariant: Invariant, subject: &impl fmt::Display, detail: String) {
        self.findings.push(Finding {
            invariant,
            subject: subject.to_string(),
            detail,
        });
    }

    fn command(&mut self, transaction: &Transaction) {
        let entry = &transaction.entry;
        let Some(earlier) = self.commands.get(&entry.command) else {
            self.commands.insert(entry.command.clone(), transaction.clone());
            return;
        };
        let what = if earlier.asks_the_same(transaction) {
            "was applied twice"
        } else {
            "was used for two different changes"
        };
        let detail = format!("{what}: {} and {}", earlier.entry.id, entry.id);
        self.find(Invariant::L9, &entry.command, detail);
    }

    fn postings(&mut self, org: &Org, period: &Period, transaction: &Transaction) {
        let (id, at) = (transaction.entry.id, transaction.effective);
        let sum = transaction.sum();
        if sum != 0 {
            self.find(
                Invariant::L1,
                &id,
                format!("its postings sum to {sum} GPU-seconds"),
            );
        }
        if period.is_over(at) {
            let detail = format!("it counts from {} on, after the end of {}", at.0, period.id);
            self.find(Invariant::L5, &id, detail);
        }
        for (node, by) in changes(transaction) {
            if org.find(node).is_none() {
                self.find(
                    Invariant::L5,
                    &id,
                    format!("it posts to {node}, which does not exist"),
                );
            }
            let (line, version) = self.replayed.get(node).copied().unwrap_or_else(|| fresh(period));
            let after = line.regranted(at, line.granted + by);
            self.replayed.insert(node.clone(), (after, version + 1));
            if after.granted < GpuSeconds::ZERO {
                let detail = format!("after {id} its own part is {} GPU-seconds", after.granted.0);
                self.find(Invariant::L4, node, detail);
            } else if by < GpuSeconds::ZERO && after.granted < after.accrued {
                let (own, accrued) = (after.granted.0, after.accrued.0);
                let detail = format!("{id} left {own} GPU-seconds, of which {accrued} had accrued");
                self.find(Invariant::L2, node, detail);
            }
        }
    }

    fn capacity(&mut self, capacity: GpuSeconds) {
        let granted: GpuSeconds = self.replayed.values().map(|(line, _)| line.granted).sum();
        if granted > capacity {
            let detail = format!("{} GPU-seconds are granted, {} can be", granted.0, capacity.0);
            self.find(Invariant::L3, &"capacity", detail);
        }
    }

    fn stored(&mut self, period: &Period, stored: &[StoredBalance]) {
        let mut seen: BTreeSet<&NodeId> = BTreeSet::new();
        for balance in stored {
            let (line, version) = self
                .replayed
                .get(&balance.node)
                .copied()
                .unwrap_or_else(|| fresh(period));
            let replayed = [line.granted.0, line.accrued.0, line.since.0];
            let kept = [balance.own.0, balance.accrued.0, balance.accrued_at.0];
            if replayed != kept || version != balance.version {
                let detail = format!(
                    "own part, accrued and since are stored as {kept:?} at version {}, replaying gives {replayed:?} at {version}",
                    balance.version
                );
                self.find(Invariant::L5, &balance.node, detail);
            }
            if !seen.insert(&balance.node) {
                self.find(Invariant::L5, &balance.node, "it is stored twice".to_owned());
            }
        }
        let missing: Vec<NodeId> = self
            .replayed
            .keys()
            .filter(|node| !seen.contains(node))
            .cloned()
            .collect();
        for node in missing {
            let detail = "replaying gives a balance that is not stored".to_owned();
            self.find(Invariant::L5, &node, detail);
        }
    }
}

fn fresh(period: &Period) -> (Line, u64) {
    (Line::empty(period.starts, period.ends), 0)
}

/// What a transaction changes at each node, in the order of ids.
fn changes(transaction: &Transaction) -> BTreeMap<&NodeId, GpuSeconds> {
    let mut changes: BTreeMap<&NodeId, GpuSeconds> = BTreeMap::new();
    for posting in &transaction.postings {
        if let Balance::Own(node) = &posting.to {
            *changes.entry(node).or_default() += posting.amount;
        }
    }
    changes
}
