//! What tests of the ledger need: an organisation, a period of 90 days, and a book with grants.

use std::collections::BTreeMap;

use stint_core::api::Time;
use stint_core::api::budgets::{BudgetRow, BudgetTree};
use stint_core::api::session::PeriodOption;
use stint_core::id::{NodeId, TransactionId};
use stint_core::ledger::{Book, CommandId, Entry, Period, Row, Transaction, Used, UsedByNode};
use stint_core::org::{Node, NodeIx, NodeKind, Org};
use stint_core::units::{GpuSeconds, Timestamp};

pub(crate) fn id(text: &str) -> NodeId {
    text.parse().unwrap()
}

pub(crate) fn hours(hours: i64) -> GpuSeconds {
    GpuSeconds(hours * 3_600)
}

/// A node named like its id, with a capital.
pub(crate) fn node(text: &str, parent: &str) -> Node {
    Node {
        id: id(text),
        parent: parent.parse().ok(),
        kind: if parent.is_empty() {
            NodeKind::Organisation
        } else {
            NodeKind::Team
        },
        name: text[..1].to_uppercase() + &text[1..],
    }
}

pub(crate) fn entry(number: u64, at: Timestamp) -> Entry {
    Entry {
        id: TransactionId(number),
        recorded: at,
        command: CommandId(format!("command-{number}")),
        person: "mara".parse().unwrap(),
        person_name: "Mara".to_owned(),
        reason: "plans changed".to_owned(),
        request: None,
    }
}

/// An organisation with a period, a capacity, and the transactions so far.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) org: Org,
    pub(crate) period: Period,
    pub(crate) capacity: GpuSeconds,
    pub(crate) history: Vec<Transaction>,
}

impl Fixture {
    pub(crate) fn new(nodes: Vec<Node>, capacity: GpuSeconds, grants_h: &[(&str, i64)]) -> Self {
        let empty = Self {
            org: Org::new(nodes).unwrap(),
            period: Period {
                id: "2026-Q4".parse().unwrap(),
                starts: Timestamp(1_790_812_800),
                ends: Timestamp(1_790_812_800 + 90 * 86_400),
                zone: "UTC".to_owned(),
            },
            capacity,
            history: vec![],
        };
        let grants: BTreeMap<NodeId, GpuSeconds> =
            grants_h.iter().map(|(node, h)| (id(node), hours(*h))).collect();
        if grants.is_empty() {
            empty
        } else {
            empty.imported(&grants)
        }
    }

    /// The same with grants imported at the period's start.
    pub(crate) fn imported(mut self, grants: &BTreeMap<NodeId, GpuSeconds>) -> Self {
        let import = self.book().import(entry(1, self.period.starts), grants).unwrap();
        self.history.push(import);
        self
    }

    /// A book with the history applied.
    pub(crate) fn book(&self) -> Book<'_> {
        let mut book = Book::new(&self.org, self.period.clone(), self.capacity);
        for transaction in &self.history {
            book.apply(transaction).unwrap();
        }
        book
    }

    /// Half way through the period.
    pub(crate) fn half(&self) -> Timestamp {
        Timestamp(i64::midpoint(self.period.starts.get(), self.period.ends.get()))
    }

    /// The page that shows the book.
    pub(crate) fn tree(&self, book: &Book<'_>, at: Timestamp, used: &UsedByNode) -> BudgetTree {
        let time = |at| Time::new(at, 0).unwrap();
        let rows = self.org.indices().zip(book.rows(at));
        BudgetTree {
            as_of: time(at),
            period: PeriodOption {
                id: self.period.id.clone(),
                starts: time(self.period.starts),
                ends: time(self.period.ends),
                current: true,
            },
            pool: "h100".parse().unwrap(),
            zone: self.period.zone.clone(),
            period_hours: self.period.length().get() / 3_600,
            passed_s: at.since(self.period.starts).get(),
            hosts: 32,
            gpus: 256,
            reserve_bp: 300,
            capacity_gpu_seconds: self.capacity,
            rows: rows
                .map(|(ix, row)| self.budget_row(ix, &row, book, at, used))
                .collect(),
        }
    }

    fn budget_row(
        &self,
        ix: NodeIx,
        row: &Row,
        book: &Book<'_>,
        at: Timestamp,
        used: &UsedByNode,
    ) -> BudgetRow {
        let node = self.org.node(ix);
        let of = |ix: usize| used.get(&self.org.nodes()[ix].id).copied().unwrap_or_default();
        let below: Vec<Used> = self.org.subtree(ix).map(of).collect();
        let charged: GpuSeconds = below.iter().map(|used| used.charged).sum();
        let held: GpuSeconds = below.iter().map(|used| used.held).sum();
        let own = of(ix.0);
        BudgetRow {
            node: node.id.clone(),
            parent: node.parent.clone(),
            name: node.name.clone(),
            kind: node.kind,
            depth: u32::try_from(self.org.depth(ix)).unwrap(),
            children: u32::try_from(self.org.children(ix).len()).unwrap(),
            granted_gpu_seconds: row.granted,
            own_gpu_seconds: row.own,
            accrued_gpu_seconds: row.accrued,
            own_accrued_gpu_seconds: row.own_accrued,
            charged_gpu_seconds: charged,
            own_charged_gpu_seconds: own.charged,
            held_gpu_seconds: held,
            own_held_gpu_seconds: own.held,
            left_gpu_seconds: row.granted - charged - held,
            movable_gpu_seconds: book.own_part(&node.id, at, own).unwrap().movable(),
            rate_gpus: row.rate_gpus,
            used_ratio: None,
            forecast_gpu_seconds: None,
            version: row.version,
            may_move: true,
            mine: false,
        }
    }
}
