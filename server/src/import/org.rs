//! The organisation, its people, the period of now and its grants.

use std::collections::BTreeMap;

use serde::Serialize;
use stint_core::id::{NodeId, PoolId};
use stint_core::input::layout::org::{Division, OrgLayout, read};
use stint_core::ledger::{
    Applied, Balance, Book, CommandId, Entry, LedgerError, Period, Reserve, Transaction, budgetable,
    quarter_at,
};
use stint_core::org::{Node, NodeIx, Org};
use stint_core::units::{GpuSeconds, Gpus};

use super::error::same;
use super::{Author, ImportError, Mode, begin, end};
use crate::store::ledger;
use crate::store::nodes::{self, NodeRow};
use crate::store::people::{self, PersonRow};
use crate::store::periods;
use crate::store::pools::{self, PoolRow};
use crate::store::row::word;
use crate::store::{Connection, Store};

/// Colours that tell teams apart; further teams are grey.
const HUES: u8 = 10;

/// What an import of an organisation did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrgReport {
    /// Nodes that are new.
    pub nodes_added: usize,
    /// Nodes that were there already.
    pub nodes_unchanged: usize,
    /// People who are new.
    pub people_added: usize,
    /// The period of now, where it is new.
    pub period_added: Option<String>,
    /// What was granted, by pool.
    pub granted: BTreeMap<PoolId, GpuSeconds>,
}

/// Imports an organisation file. Weights divide every pool, or the one that is named; hours are for the one that is
/// named, or the only one there is.
pub async fn import_org(
    store: &Store,
    author: &Author,
    bytes: &[u8],
    pool: Option<&PoolId>,
    mode: Mode,
) -> Result<OrgReport, ImportError> {
    let layout = read(bytes)?;
    let mut transaction = begin(store).await?;
    let report = write(&mut transaction, author, &layout, pool).await?;
    end(transaction, mode).await?;
    Ok(report)
}

pub(super) async fn write(
    db: &mut Connection,
    author: &Author,
    layout: &OrgLayout,
    pool: Option<&PoolId>,
) -> Result<OrgReport, ImportError> {
    let mut report = OrgReport::default();
    let pools = chosen_pools(&mut *db, layout, pool).await?;
    let org = write_nodes(&mut *db, layout, &mut report).await?;
    write_people(&mut *db, layout, &mut report).await?;
    let period = write_period(&mut *db, author, layout, &mut report).await?;
    for pool in &pools {
        if let Some(granted) = write_grants(&mut *db, author, layout, &org, &period, pool).await? {
            report.granted.insert(pool.id.clone(), granted);
        }
    }
    let changed = OrgReport {
        nodes_unchanged: report.nodes_unchanged,
        ..OrgReport::default()
    };
    if report != changed {
        author.note(db, "import.org", "organisation", &report).await?;
    }
    Ok(report)
}

/// The pools that the file's amounts are for.
async fn chosen_pools(
    db: &mut Connection,
    layout: &OrgLayout,
    pool: Option<&PoolId>,
) -> Result<Vec<PoolRow>, ImportError> {
    let mut pools = pools::all(db).await?;
    if let Some(id) = pool {
        pools.retain(|row| row.id == *id);
        if pools.is_empty() {
            return Err(ImportError::UnknownPool(id.clone()));
        }
        return Ok(pools);
    }
    match (pools.len(), &layout.division) {
        (0, _) => Err(ImportError::NoPool),
        (2.., Division::Hours(_)) => Err(ImportError::SeveralPools),
        _ => Ok(pools),
    }
}

/// Adds the nodes that are new; the tree is that of all nodes, stored and new.
async fn write_nodes(
    db: &mut Connection,
    layout: &OrgLayout,
    report: &mut OrgReport,
) -> Result<Org, ImportError> {
    let stored = nodes::all(&mut *db).await?;
    let known: BTreeMap<&NodeId, &NodeRow> = stored.iter().map(|row| (&row.id, row)).collect();
    let mut new: Vec<NodeIx> = Vec::new();
    for ix in layout.org.indices() {
        let node = layout.org.node(ix);
        match known.get(&node.id) {
            Some(row) => same_node(row, node)?,
            None => new.push(ix),
        }
    }
    report.nodes_added = new.len();
    report.nodes_unchanged = layout.org.len() - new.len();
    let added = new.iter().map(|ix| layout.org.node(*ix).clone());
    let org = Org::new(stored.iter().map(node).chain(added).collect()).map_err(ImportError::Tree)?;
    let mut hue = stored.iter().map(|row| row.hue).max().unwrap_or(0);
    for ix in new {
        let node = layout.org.node(ix);
        let row = NodeRow {
            id: node.id.clone(),
            parent_id: node.parent.clone(),
            kind: node.kind,
            name: node.name.clone(),
            hue: next_hue(&layout.org, ix, &mut hue),
        };
        nodes::insert(&mut *db, &row).await?;
    }
    Ok(org)
}

/// Teams, which are the nodes without any below, get the colours in the order of the tree.
fn next_hue(org: &Org, ix: NodeIx, last: &mut u8) -> u8 {
    if !org.children(ix).is_empty() || *last >= HUES {
        return 0;
    }
    *last += 1;
    *last
}

fn node(row: &NodeRow) -> Node {
    Node {
        id: row.id.clone(),
        parent: row.parent_id.clone(),
        kind: row.kind,
        name: row.name.clone(),
    }
}

fn same_node(stored: &NodeRow, found: &Node) -> Result<(), ImportError> {
    let parent = |id: &Option<NodeId>| id.as_ref().map_or("none".to_owned(), NodeId::to_string);
    same! { format!("node {}", stored.id);
        "parent": parent(&stored.parent_id), parent(&found.parent);
        "kind": word(&stored.kind), word(&found.kind);
        "name": stored.name, found.name;
    }
    Ok(())
}

async fn write_people(
    db: &mut Connection,
    layout: &OrgLayout,
    report: &mut OrgReport,
) -> Result<(), ImportError> {
    let stored = people::all(&mut *db).await?;
    let known: BTreeMap<_, _> = stored.iter().map(|row| (&row.id, row)).collect();
    for person in &layout.people {
        // Whether somebody may sign in is decided after the import by those who manage people: it is no conflict.
        if let Some(row) = known.get(&person.id) {
            same! { format!("person {}", person.id); "name": row.name, person.name; }
        } else {
            let row = PersonRow {
                id: person.id.clone(),
                name: person.name.clone(),
                active: person.active,
            };
            people::insert(&mut *db, &row).await?;
            report.people_added += 1;
        }
        for (role, node) in &person.roles {
            people::grant_role(&mut *db, &person.id, *role, node).await?;
        }
    }
    Ok(())
}

async fn write_period(
    db: &mut Connection,
    author: &Author,
    layout: &OrgLayout,
    report: &mut OrgReport,
) -> Result<Period, ImportError> {
    let period = quarter_at(&layout.zone, author.at).map_err(ImportError::Period)?;
    let stored = periods::all(&mut *db).await?;
    if let Some(stored) = stored.iter().find(|stored| stored.id == period.id) {
        same! { format!("period {}", period.id); "time zone": stored.zone, period.zone; }
        return Ok(period);
    }
    periods::insert(db, &period).await?;
    report.period_added = Some(period.id.to_string());
    Ok(period)
}

/// Posts the grants of a pool as one transaction; `None` when the very same was posted before.
async fn write_grants(
    db: &mut Connection,
    author: &Author,
    layout: &OrgLayout,
    org: &Org,
    period: &Period,
    pool: &PoolRow,
) -> Result<Option<GpuSeconds>, ImportError> {
    let refused = |refusal: LedgerError| ImportError::Grants {
        pool: pool.id.clone(),
        refusal: Box::new(refusal),
    };
    let reserve = Reserve::from_bp(pool.reserve_bp);
    let capacity = reserve.map_or(GpuSeconds::ZERO, |reserve| {
        budgetable(Gpus(pool.gpus), period.length(), reserve)
    });
    let gross = layout.gross(capacity);
    let nodes = layout.org.nodes().iter().map(|node| node.id.clone());
    let grants: BTreeMap<NodeId, GpuSeconds> = nodes.zip(gross.iter().copied()).collect();
    let granted = gross[layout.org.root().0];
    if granted == GpuSeconds::ZERO {
        return Ok(None);
    }
    let entry = Entry {
        id: ledger::next_id(&mut *db).await?,
        recorded: author.at,
        command: CommandId(format!("import:{}:{}", pool.id, period.id)),
        person: author.person.clone(),
        person_name: author.name.clone(),
        reason: format!("Grants of {}", period.id),
        request: None,
    };
    let mut book = Book::new(org, period.clone(), capacity);
    let transaction = book.import(entry, &grants).map_err(refused)?;
    let posted = ledger::transactions(&mut *db, &pool.id, &period.id).await?;
    if let Some(first) = posted.first() {
        same_grants(first, &transaction, pool)?;
        return Ok(None);
    }
    let Applied::New(balances) = book.apply(&transaction).map_err(refused)? else {
        return Ok(None);
    };
    ledger::insert(&mut *db, &pool.id, &period.id, &transaction).await?;
    for balance in balances {
        ledger::put_balance(&mut *db, &pool.id, &period.id, &balance).await?;
    }
    Ok(Some(granted))
}

/// Whether the first transaction of the pool and period is the very one that is being imported.
fn same_grants(stored: &Transaction, found: &Transaction, pool: &PoolRow) -> Result<(), ImportError> {
    let amount = |transaction: &Transaction, to: &Balance| {
        let postings = transaction.postings.iter().filter(|posting| posting.to == *to);
        postings.map(|posting| posting.amount).sum::<GpuSeconds>()
    };
    for posting in found.postings.iter().chain(&stored.postings) {
        let (before, now) = (amount(stored, &posting.to), amount(found, &posting.to));
        let what = match &posting.to {
            Balance::Capacity => "the organisation".to_owned(),
            Balance::Own(node) => format!("node {node}"),
        };
        same! { format!("{}: {what} in pool {}", found.entry.reason, pool.id);
            "amount of GPU-hours": before.hours_text(), now.hours_text();
        }
    }
    Ok(())
}
