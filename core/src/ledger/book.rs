//! The double-entry book of one pool and period.
//!
//! Each node has one balance, its own part, kept as the [`Line`] along which it accrues. Against the pool's
//! capacity only the root's grant is posted. Operations are asked for in two steps: one makes a balanced
//! [`Transaction`] or refuses with the numbers, the other applies it; nothing else changes a balance.
//!
//! Capacity accrues like a grant: what was not handed out while time passed is gone. So the root can get at most
//! what of the capacity is still ahead, and its rate never exceeds what the pool can deliver.

use std::collections::BTreeMap;

use super::accrual::{Line, Rate, rest_rate};
use super::period::Period;
use super::refusal::LedgerError;
use super::rule::{NodeRef, OwnPart, Used, UsedByNode, check_move};
use super::transaction::{Balance, CommandId, Entry, Kind, Posting, Transaction};
use crate::id::NodeId;
use crate::org::{NodeIx, Org};
use crate::units::{Fraction, GpuSeconds, MilliGpus, Timestamp};

/// The balance of one own part, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBalance {
    /// The node.
    pub node: NodeId,
    /// Its own part.
    pub own: GpuSeconds,
    /// What of it had accrued when it last changed.
    pub accrued: GpuSeconds,
    /// When that was; the period's start before any change.
    pub accrued_at: Timestamp,
    /// How many transactions changed it.
    pub version: u64,
}

/// What applying a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was new; these balances changed, in the order of ids.
    New(Vec<StoredBalance>),
    /// The same command was applied before; nothing changed.
    Before,
}

/// One node's budget at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The node.
    pub node: NodeId,
    /// Its own part.
    pub own: GpuSeconds,
    /// What of its own part has accrued.
    pub own_accrued: GpuSeconds,
    /// The exact rate of its own part.
    pub own_rate: Rate,
    /// Its grant: its own part and everything below.
    pub granted: GpuSeconds,
    /// What of its grant has accrued.
    pub accrued: GpuSeconds,
    /// The exact rate of its grant.
    pub rate: Rate,
    /// What of its grant has not accrued over the rest of the period: the rate on the screens.
    pub rate_gpus: Fraction,
    /// How many transactions changed its own part.
    pub version: u64,
}

/// The balance of one own part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OwnBalance {
    line: Line,
    version: u64,
}

/// The balances of one pool and period.
#[derive(Clone, Debug)]
pub struct Book<'o> {
    org: &'o Org,
    period: Period,
    capacity: GpuSeconds,
    own_parts: Vec<OwnBalance>,
    commands: BTreeMap<CommandId, Transaction>,
}

impl<'o> Book<'o> {
    /// An empty book: nothing granted.
    pub fn new(org: &'o Org, period: Period, capacity: GpuSeconds) -> Self {
        let empty = OwnBalance {
            line: Line::empty(period.starts, period.ends),
            version: 0,
        };
        Self {
            org,
            own_parts: vec![empty; org.len()],
            period,
            capacity,
            commands: BTreeMap::new(),
        }
    }

    /// A book with the balances that storage holds, without replaying how they came about.
    ///
    /// # Errors
    /// [`LedgerError::UnknownNode`] when a balance belongs to no node.
    pub fn load(
        org: &'o Org,
        period: Period,
        capacity: GpuSeconds,
        balances: &[StoredBalance],
    ) -> Result<Self, LedgerError> {
        let mut book = Self::new(org, period, capacity);
        for balance in balances {
            let ix = book.find(&balance.node)?;
            book.own_parts[ix.0] = OwnBalance {
                line: Line {
                    granted: balance.own,
                    accrued: balance.accrued,
                    since: balance.accrued_at,
                    ends: book.period.ends,
                },
                version: balance.version,
            };
        }
        Ok(book)
    }

    /// Learns of a transaction that the loaded balances contain, so that its command is known.
    pub fn recall(&mut self, transaction: Transaction) {
        self.commands
            .insert(transaction.entry.command.clone(), transaction);
    }

    /// The period.
    pub fn period(&self) -> &Period {
        &self.period
    }

    /// What the pool can hand out over the whole period.
    pub fn capacity(&self) -> GpuSeconds {
        self.capacity
    }

    /// The balances, in the order of the tree.
    pub fn balances(&self) -> impl Iterator<Item = StoredBalance> + '_ {
        self.org.indices().map(|ix| self.balance(ix))
    }

    fn balance(&self, ix: NodeIx) -> StoredBalance {
        let OwnBalance { line, version } = self.own_parts[ix.0];
        StoredBalance {
            node: self.org.node(ix).id.clone(),
            own: line.granted,
            accrued: line.accrued,
            accrued_at: line.since,
            version,
        }
    }

    fn find(&self, node: &NodeId) -> Result<NodeIx, LedgerError> {
        self.org
            .find(node)
            .ok_or_else(|| LedgerError::UnknownNode(node.clone()))
    }

    fn line(&self, ix: NodeIx) -> &Line {
        &self.own_parts[ix.0].line
    }

    fn node_ref(&self, ix: NodeIx) -> NodeRef {
        NodeRef::from(self.org.node(ix))
    }

    /// The sum over the own parts of a subtree.
    fn over_subtree(&self, ix: NodeIx, amount: impl Fn(&Line) -> GpuSeconds) -> GpuSeconds {
        let subtree = &self.own_parts[self.org.subtree(ix)];
        subtree.iter().map(|part| amount(&part.line)).sum()
    }

    /// The grant of a node: its own part and everything below.
    pub fn granted(&self, node: &NodeId) -> Option<GpuSeconds> {
        Some(self.over_subtree(self.org.find(node)?, |line| line.granted))
    }

    /// The own part of a node as the rules see it.
    pub fn own_part(&self, node: &NodeId, at: Timestamp, used: Used) -> Option<OwnPart> {
        let ix = self.org.find(node)?;
        Some(self.own_part_at(ix, at, used))
    }

    fn own_part_at(&self, ix: NodeIx, at: Timestamp, used: Used) -> OwnPart {
        let line = self.line(ix);
        OwnPart {
            node: self.node_ref(ix),
            own: line.granted,
            accrued: line.accrued_at(at),
            used,
        }
    }

    fn part_of(&self, ix: NodeIx, at: Timestamp, used: &UsedByNode) -> OwnPart {
        let used = used.get(&self.org.node(ix).id).copied().unwrap_or_default();
        self.own_part_at(ix, at, used)
    }

    /// What the root can still get: within the capacity, and of that only what is still ahead.
    pub fn available_capacity(&self, at: Timestamp) -> GpuSeconds {
        let root = self.org.root();
        let not_handed_out = self.capacity - self.over_subtree(root, |line| line.granted);
        let whole = Line::granting(self.capacity, self.period.starts, self.period.ends);
        let ahead = whole.unaccrued_at(at) - self.over_subtree(root, |line| line.unaccrued_at(at));
        not_handed_out.min(ahead).or_zero()
    }

    fn check_open(&self, at: Timestamp) -> Result<(), LedgerError> {
        if self.period.is_over(at) {
            return Err(LedgerError::Closed {
                period: self.period.id.clone(),
                ended: self.period.ends,
            });
        }
        Ok(())
    }

    /// One node at an instant.
    pub fn row(&self, node: &NodeId, at: Timestamp) -> Option<Row> {
        let ix = self.org.find(node)?;
        let mut rate = Rate::default();
        for part in &self.own_parts[self.org.subtree(ix)] {
            rate.add(&part.line.rate());
        }
        let granted = self.over_subtree(ix, |line| line.granted);
        let accrued = self.over_subtree(ix, |line| line.accrued_at(at));
        Some(self.row_of(ix, at, granted, accrued, rate))
    }

    /// All nodes at an instant, parents before children.
    pub fn rows(&self, at: Timestamp) -> Vec<Row> {
        let sums = self.org.indices().map(|ix| {
            let line = self.line(ix);
            (line.granted, line.accrued_at(at))
        });
        let mut sums: Vec<(GpuSeconds, GpuSeconds)> = sums.collect();
        for ix in self.org.indices().rev() {
            if let Some(parent) = self.org.parent(ix) {
                let (granted, accrued) = sums[ix.0];
                sums[parent.0].0 += granted;
                sums[parent.0].1 += accrued;
            }
        }
        let rates = self.rates_of_subtrees();
        let rows = self.org.indices().zip(sums).zip(rates);
        rows.map(|((ix, (granted, accrued)), rate)| self.row_of(ix, at, granted, accrued, rate))
            .collect()
    }

    fn row_of(&self, ix: NodeIx, at: Timestamp, granted: GpuSeconds, accrued: GpuSeconds, rate: Rate) -> Row {
        let OwnBalance { line, version } = self.own_parts[ix.0];
        Row {
            node: self.org.node(ix).id.clone(),
            own: line.granted,
            own_accrued: line.accrued_at(at),
            own_rate: line.rate(),
            granted,
            accrued,
            rate,
            rate_gpus: rest_rate(granted, accrued, at, self.period.starts, self.period.ends),
            version,
        }
    }

    fn rates_of_subtrees(&self) -> Vec<Rate> {
        let mut rates: Vec<Rate> = self.own_parts.iter().map(|part| part.line.rate()).collect();
        for ix in self.org.indices().rev() {
            if let Some(parent) = self.org.parent(ix) {
                let (above, below) = rates.split_at_mut(ix.0);
                above[parent.0].add(&below[0]);
            }
        }
        rates
    }

    /// The rates that the scheduler shares by, parents before children: of the own part, and of the node with all
    /// below it, each floored once from its exact sum. They hold until the period ends or a transaction is applied.
    pub fn rates(&self) -> Vec<(NodeId, MilliGpus, MilliGpus)> {
        let rates = self.org.indices().zip(self.rates_of_subtrees());
        rates
            .map(|(ix, rate)| {
                (
                    self.org.node(ix).id.clone(),
                    self.line(ix).rate().milli(),
                    rate.milli(),
                )
            })
            .collect()
    }

    /// Grants to a whole tree at once, from the period's start: each node's grant out of the one above, the root's
    /// out of capacity. A node that is not named is granted nothing.
    ///
    /// # Errors
    /// Unknown nodes, grants that are negative or don't add up, more than the capacity, a period that is over or
    /// not empty.
    pub fn import(
        &self,
        entry: Entry,
        grants: &BTreeMap<NodeId, GpuSeconds>,
    ) -> Result<Transaction, LedgerError> {
        self.check_open(entry.recorded)?;
        let granted = self.over_subtree(self.org.root(), |line| line.granted);
        if granted != GpuSeconds::ZERO {
            return Err(LedgerError::NotEmpty {
                period: self.period.id.clone(),
                granted,
            });
        }
        let mut own = vec![0_i128; self.org.len()];
        let mut passed_on = vec![0_i128; self.org.len()];
        for (node, grant) in grants {
            let ix = self.find(node)?;
            self.check_grant(ix, *grant)?;
            own[ix.0] += i128::from(grant.0);
            if let Some(parent) = self.org.parent(ix) {
                own[parent.0] -= i128::from(grant.0);
                passed_on[parent.0] += i128::from(grant.0);
            }
        }
        if let Some(ix) = self.org.indices().find(|ix| own[ix.0] < 0) {
            return Err(LedgerError::ExceedsParent {
                above: Some(self.node_ref(ix)),
                asked: bounded(passed_on[ix.0]),
                available: bounded(own[ix.0] + passed_on[ix.0]),
            });
        }
        let mut postings: Vec<Posting> = Vec::new();
        for ix in self.org.indices().filter(|ix| own[ix.0] > 0) {
            postings.push(self.own_posting(ix, bounded(own[ix.0])));
        }
        let whole = bounded(own.iter().sum());
        if whole == GpuSeconds::ZERO {
            return Err(LedgerError::NotAnAmount(whole));
        }
        self.check_capacity(whole, self.period.starts)?;
        postings.insert(0, out_of_capacity(whole));
        Ok(Transaction {
            effective: self.period.starts,
            entry,
            kind: Kind::Import,
            postings,
        })
    }

    /// Moves GPU time out of the own part of one node into the own part of another.
    ///
    /// # Errors
    /// Unknown nodes, a node given twice, an amount that is none or more than can be moved, a period that is over.
    pub fn move_hours(
        &self,
        entry: Entry,
        from: &NodeId,
        to: &NodeId,
        amount: GpuSeconds,
        used: &UsedByNode,
    ) -> Result<Transaction, LedgerError> {
        let at = entry.recorded;
        self.check_open(at)?;
        let (from, to) = (self.find(from)?, self.find(to)?);
        check_move(&self.part_of(from, at, used), &self.node_ref(to), amount)?;
        Ok(Transaction {
            effective: at,
            entry,
            kind: Kind::Move,
            postings: vec![self.own_posting(from, -amount), self.own_posting(to, amount)],
        })
    }

    /// Sets the grant of a node. The difference comes from or goes back to the own part of the node above, for the
    /// root the pool's capacity; nodes below keep what they have.
    ///
    /// # Errors
    /// An unknown node, a negative grant, one that is what it was, more than the node above can give, less than has
    /// accrued or is charged, held or passed on, a period that is over.
    pub fn set_gross(
        &self,
        entry: Entry,
        node: &NodeId,
        granted: GpuSeconds,
        used: &UsedByNode,
    ) -> Result<Transaction, LedgerError> {
        let at = entry.recorded;
        self.check_open(at)?;
        let ix = self.find(node)?;
        self.check_grant(ix, granted)?;
        let more = granted - self.over_subtree(ix, |line| line.granted);
        if more == GpuSeconds::ZERO {
            return Err(LedgerError::Unchanged {
                node: self.node_ref(ix),
                granted,
            });
        }
        if more > GpuSeconds::ZERO {
            self.check_above(ix, more, at, used)?;
        } else {
            self.check_below(ix, granted, at, used)?;
        }
        let above = match self.org.parent(ix) {
            Some(parent) => self.own_posting(parent, -more),
            None => out_of_capacity(more),
        };
        Ok(Transaction {
            effective: at,
            entry,
            kind: Kind::Set,
            postings: vec![above, self.own_posting(ix, more)],
        })
    }

    /// Takes an earlier transaction back: the same postings, the other way round.
    ///
    /// # Errors
    /// Whoever received has less left than it would have to give back; a period that is over.
    pub fn reverse(
        &self,
        entry: Entry,
        earlier: &Transaction,
        used: &UsedByNode,
    ) -> Result<Transaction, LedgerError> {
        let at = entry.recorded;
        self.check_open(at)?;
        let postings: Vec<Posting> = earlier
            .postings
            .iter()
            .map(|posting| Posting {
                to: posting.to.clone(),
                amount: -posting.amount,
            })
            .collect();
        for posting in postings
            .iter()
            .filter(|posting| posting.amount < GpuSeconds::ZERO)
        {
            match &posting.to {
                Balance::Own(node) => self.part_of(self.find(node)?, at, used).give(-posting.amount)?,
                Balance::Capacity => self.check_capacity(-posting.amount, at)?,
            }
        }
        Ok(Transaction {
            effective: at,
            entry,
            kind: Kind::Reversal,
            postings,
        })
    }

    fn own_posting(&self, ix: NodeIx, amount: GpuSeconds) -> Posting {
        Posting {
            to: Balance::Own(self.org.node(ix).id.clone()),
            amount,
        }
    }

    fn check_grant(&self, ix: NodeIx, granted: GpuSeconds) -> Result<(), LedgerError> {
        if granted < GpuSeconds::ZERO || granted > GpuSeconds::MAX_INPUT {
            return Err(LedgerError::NotAGrant {
                node: self.node_ref(ix),
                asked: granted,
            });
        }
        Ok(())
    }

    fn check_capacity(&self, more: GpuSeconds, at: Timestamp) -> Result<(), LedgerError> {
        let available = self.available_capacity(at);
        if more > available {
            return Err(LedgerError::ExceedsParent {
                above: None,
                asked: more,
                available,
            });
        }
        Ok(())
    }

    /// Whether the node above can give so much more.
    fn check_above(
        &self,
        ix: NodeIx,
        more: GpuSeconds,
        at: Timestamp,
        used: &UsedByNode,
    ) -> Result<(), LedgerError> {
        let Some(parent) = self.org.parent(ix) else {
            return self.check_capacity(more, at);
        };
        self.part_of(parent, at, used)
            .give(more)
            .map_err(|error| match error {
                LedgerError::Insufficient {
                    node, asked, movable, ..
                } => LedgerError::ExceedsParent {
                    above: Some(node),
                    asked,
                    available: movable,
                },
                other => other,
            })
    }

    /// Whether the node can do with less.
    fn check_below(
        &self,
        ix: NodeIx,
        granted: GpuSeconds,
        at: Timestamp,
        used: &UsedByNode,
    ) -> Result<(), LedgerError> {
        let part = self.part_of(ix, at, used);
        let now = self.over_subtree(ix, |line| line.granted);
        part.give(now - granted).map_err(|error| match error {
            LedgerError::Insufficient {
                node, accrued, used, ..
            } => LedgerError::BelowCharged {
                node,
                asked: granted,
                least: now - part.movable(),
                passed_on: now - part.own,
                accrued,
                used,
            },
            other => other,
        })
    }

    /// Applies a transaction: once, whole, and from its effective instant on.
    ///
    /// # Errors
    /// Postings that don't sum to zero, would make an own part negative, take out what has accrued or exceed the
    /// capacity; an unknown node; a period that was over; a command that was used for something else.
    pub fn apply(&mut self, transaction: &Transaction) -> Result<Applied, LedgerError> {
        let command = &transaction.entry.command;
        if let Some(earlier) = self.commands.get(command) {
            return if earlier.asks_the_same(transaction) {
                Ok(Applied::Before)
            } else {
                Err(LedgerError::CommandReused(command.clone()))
            };
        }
        self.check_open(transaction.effective)?;
        let mut changed = Vec::new();
        for (ix, by) in self.checked_changes(transaction)? {
            self.post(ix, by, transaction.effective);
            changed.push(self.balance(ix));
        }
        changed.sort_by(|a, b| a.node.cmp(&b.node));
        self.commands.insert(command.clone(), transaction.clone());
        Ok(Applied::New(changed))
    }

    fn checked_changes(
        &self,
        transaction: &Transaction,
    ) -> Result<BTreeMap<NodeIx, GpuSeconds>, LedgerError> {
        let sum = transaction.sum();
        if sum != 0 {
            return Err(LedgerError::Unbalanced(sum));
        }
        let mut changes: BTreeMap<NodeIx, GpuSeconds> = BTreeMap::new();
        let mut handed_out = GpuSeconds::ZERO;
        for posting in &transaction.postings {
            if posting.amount.0.unsigned_abs() > GpuSeconds::MAX_INPUT.0.unsigned_abs() {
                return Err(LedgerError::NotAnAmount(posting.amount));
            }
            match &posting.to {
                Balance::Capacity => handed_out -= posting.amount,
                Balance::Own(node) => *changes.entry(self.find(node)?).or_default() += posting.amount,
            }
        }
        for (ix, by) in changes.iter().filter(|(_, by)| **by < GpuSeconds::ZERO) {
            self.own_part_at(*ix, transaction.effective, Used::default())
                .give(-*by)?;
        }
        if handed_out > GpuSeconds::ZERO {
            self.check_capacity(handed_out, transaction.effective)?;
        }
        Ok(changes)
    }

    fn post(&mut self, ix: NodeIx, by: GpuSeconds, at: Timestamp) {
        let part = &mut self.own_parts[ix.0];
        part.line = part.line.regranted(at, part.line.granted + by);
        part.version += 1;
    }
}

fn out_of_capacity(amount: GpuSeconds) -> Posting {
    Posting {
        to: Balance::Capacity,
        amount: -amount,
    }
}

/// A sum of checked grants as an amount; sums beyond any pool are refused by their size right after.
fn bounded(amount: i128) -> GpuSeconds {
    GpuSeconds(i64::try_from(amount).unwrap_or(i64::MAX))
}
