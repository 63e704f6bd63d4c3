//! The organisation file: `zone`, `[[node]] id, parent, kind, name, hours | weight`, `[[person]] id, name,
//! active, roles`.
//!
//! Either every amount is given in GPU-hours, or the pool's budgetable capacity is split by weights, level by level,
//! by largest remainder with ties by id. A node's hours contain those of the nodes below it; what is over stays
//! undistributed. A node above others that gives no hours has just theirs; one that gives no weight weighs what they weigh.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{BadInput, Source, excerpt};
use crate::api::session::Role;
use crate::id::{NodeId, PersonId};
use crate::ledger::split::by_weight;
use crate::org::{MAX_DEPTH, MAX_NODES, Node, NodeIx, NodeKind, Org, OrgError};
use crate::units::GpuSeconds;

/// The heaviest weight: shares as fine as a hundredth of a percent, and the sum over all nodes still fits.
pub const MAX_WEIGHT: u32 = 10_000;

const _: () = assert!((MAX_WEIGHT as u64) * (MAX_NODES as u64) <= u32::MAX as u64);

/// The longest name of a node or person.
pub const MAX_NAME_CHARS: usize = 200;
/// The most people in one file.
pub const MAX_PEOPLE: usize = 100_000;

/// An organisation as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrgLayout {
    /// The IANA zone that periods follow.
    pub zone: String,
    /// The tree.
    pub org: Org,
    /// How GPU time is divided, by the tree's positions.
    pub division: Division,
    /// People and their roles.
    pub people: Vec<PersonEntry>,
}

/// How GPU time is divided among the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Division {
    /// Each node's gross amount.
    Hours(Vec<GpuSeconds>),
    /// Each node's weight among its siblings.
    Weights(Vec<u32>),
}

/// A person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonEntry {
    /// Their id.
    pub id: PersonId,
    /// Their name.
    pub name: String,
    /// Whether they may sign in; a program that submits work needs not.
    pub active: bool,
    /// What they may do, and where.
    pub roles: Vec<(Role, NodeId)>,
}

impl OrgLayout {
    /// Each node's gross amount out of `budgetable`, by the tree's positions.
    pub fn gross(&self, budgetable: GpuSeconds) -> Vec<GpuSeconds> {
        match &self.division {
            Division::Hours(hours) => hours.clone(),
            Division::Weights(weights) => split_by_weight(&self.org, weights, budgetable),
        }
    }

    /// Each node's own amount: its gross without that of the nodes directly below.
    pub fn own(&self, budgetable: GpuSeconds) -> Vec<GpuSeconds> {
        let gross = self.gross(budgetable);
        let below = |ix: NodeIx| self.org.children(ix).iter().map(|child| gross[child.0]).sum();
        self.org.indices().map(|ix| gross[ix.0] - below(ix)).collect()
    }
}

/// Everything goes to the root; each node's amount is split among its children, or stays where none of them has
/// a weight.
fn split_by_weight(org: &Org, weights: &[u32], budgetable: GpuSeconds) -> Vec<GpuSeconds> {
    let mut gross = vec![GpuSeconds::ZERO; org.len()];
    gross[org.root().0] = budgetable;
    for ix in org.indices() {
        let children = org.children(ix);
        let theirs: Vec<u32> = children.iter().map(|child| weights[child.0]).collect();
        for (child, part) in children
            .iter()
            .zip(by_weight(gross[ix.0], &theirs).into_iter().flatten())
        {
            gross[child.0] = part;
        }
    }
    gross
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    zone: Spanned<String>,
    #[serde(default)]
    node: Vec<NodeTable>,
    #[serde(default)]
    person: Vec<PersonTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeTable {
    id: Spanned<NodeId>,
    parent: Option<Spanned<NodeId>>,
    kind: NodeKind,
    name: Spanned<String>,
    hours: Option<Spanned<toml::Value>>,
    weight: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PersonTable {
    id: Spanned<PersonId>,
    name: Spanned<String>,
    active: Option<bool>,
    #[serde(default)]
    roles: Vec<RoleTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleTable {
    role: Role,
    node: Spanned<NodeId>,
}

/// Reads an organisation file.
///
/// # Errors
/// The first thing that doesn't fit, with its line.
pub fn read(bytes: &[u8]) -> Result<OrgLayout, BadInput> {
    let source = Source::new(bytes)?;
    let file: File = source.parse()?;
    let zone = zone(source, &file.zone)?;
    let org = tree(source, &file.node)?;
    let division = division(source, &org, &file.node)?;
    let people = people(source, &org, &file.person)?;
    Ok(OrgLayout {
        zone,
        org,
        division,
        people,
    })
}

fn zone(source: Source<'_>, zone: &Spanned<String>) -> Result<String, BadInput> {
    let name = zone.get_ref();
    if name.parse::<chrono_tz::Tz>().is_err() {
        let accepted = "the name of an IANA time zone, such as America/Los_Angeles";
        return Err(source.error(zone.span(), "zone", excerpt(name), accepted));
    }
    Ok(name.clone())
}

fn name(source: Source<'_>, name: &Spanned<String>) -> Result<String, BadInput> {
    let text = name.get_ref().trim();
    let fits = (1..=MAX_NAME_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if !fits {
        let accepted = format!("1 to {MAX_NAME_CHARS} characters, none of them a control character");
        return Err(source.error(name.span(), "name", excerpt(text), &accepted));
    }
    Ok(text.to_owned())
}

fn tree(source: Source<'_>, tables: &[NodeTable]) -> Result<Org, BadInput> {
    let mut nodes = Vec::with_capacity(tables.len());
    for table in tables {
        nodes.push(Node {
            id: table.id.get_ref().clone(),
            parent: table.parent.as_ref().map(|parent| parent.get_ref().clone()),
            kind: table.kind,
            name: name(source, &table.name)?,
        });
    }
    Org::new(nodes).map_err(|error| misplaced(source, tables, &error))
}

/// Says where in the file the node is that keeps the nodes from being a tree.
fn misplaced(source: Source<'_>, tables: &[NodeTable], error: &OrgError) -> BadInput {
    let (node, field, accepted) = match error {
        OrgError::Empty => (None, "node", "at least one [[node]] without a parent".to_owned()),
        OrgError::TooMany(_) => (None, "node", format!("at most {MAX_NODES}")),
        OrgError::Duplicate(node) => (Some(node), "id", "an id of its own".to_owned()),
        OrgError::UnknownParent { node, .. } => {
            (Some(node), "parent", "the id of a node in this file".to_owned())
        }
        OrgError::SeveralRoots(_, node) => (Some(node), "parent", "one node without a parent".to_owned()),
        OrgError::Cycle(node) => (
            Some(node),
            "parent",
            "a node that is not below this one".to_owned(),
        ),
        OrgError::TooDeep(node) => (Some(node), "parent", format!("at most {MAX_DEPTH} levels")),
    };
    // Of two nodes with one id the second is the one too many.
    let table = tables.iter().rev().find(|table| Some(table.id.get_ref()) == node);
    BadInput {
        line: table.map(|table| {
            let parent = table.parent.as_ref().filter(|_| field == "parent");
            let span = parent.map_or_else(|| table.id.span(), Spanned::span);
            super::line_of(source.text.as_bytes(), span.start)
        }),
        field: Some(field.to_owned()),
        found: error.to_string(),
        accepted,
    }
}

fn division(source: Source<'_>, org: &Org, tables: &[NodeTable]) -> Result<Division, BadInput> {
    let hours = tables.iter().find_map(|table| table.hours.as_ref());
    let weight = tables.iter().find_map(|table| table.weight.as_ref());
    let by_id: BTreeMap<&NodeId, &NodeTable> =
        tables.iter().map(|table| (table.id.get_ref(), table)).collect();
    match (hours, weight) {
        (Some(_), Some(weight)) => Err(source.error(
            weight.span(),
            "weight",
            "the file has hours and weights".to_owned(),
            "either hours for every amount, or weights",
        )),
        (Some(_), None) => division_by_hours(source, org, &by_id).map(Division::Hours),
        (None, _) => division_by_weights(source, org, &by_id).map(Division::Weights),
    }
}

fn division_by_hours(
    source: Source<'_>,
    org: &Org,
    tables: &BTreeMap<&NodeId, &NodeTable>,
) -> Result<Vec<GpuSeconds>, BadInput> {
    let mut gross = vec![GpuSeconds::ZERO; org.len()];
    for ix in org.indices().rev() {
        let below: i128 = org
            .children(ix)
            .iter()
            .map(|child| i128::from(gross[child.0].get()))
            .sum();
        let Some(value) = tables
            .get(&org.node(ix).id)
            .and_then(|table| table.hours.as_ref())
        else {
            let sum = i64::try_from(below).map(GpuSeconds).ok();
            gross[ix.0] = sum
                .filter(|sum| *sum <= GpuSeconds::MAX_INPUT)
                .ok_or_else(|| BadInput {
                    line: None,
                    field: Some("hours".to_owned()),
                    found: format!("more below {} than any pool can hold", org.node(ix).id),
                    accepted: format!("at most {} in all", GpuSeconds::MAX_INPUT.hours_text()),
                })?;
            continue;
        };
        let written = source.written(value);
        let amount = GpuSeconds::from_hours_text(written).map_err(|error| {
            let accepted = format!("0 or more, with at most two decimals: {error}");
            source.error(value.span(), "hours", excerpt(written), &accepted)
        })?;
        if i128::from(amount.get()) < below {
            let found = format!("{} has {} hours", org.node(ix).id, amount.hours_text());
            let sum = GpuSeconds(i64::try_from(below).unwrap_or(i64::MAX));
            let accepted = format!(
                "at least {}, what the nodes directly below it have",
                sum.hours_text()
            );
            return Err(source.error(value.span(), "hours", found, &accepted));
        }
        gross[ix.0] = amount;
    }
    Ok(gross)
}

fn division_by_weights(
    source: Source<'_>,
    org: &Org,
    tables: &BTreeMap<&NodeId, &NodeTable>,
) -> Result<Vec<u32>, BadInput> {
    let mut weights = vec![0; org.len()];
    for ix in org.indices().rev() {
        let weight = tables
            .get(&org.node(ix).id)
            .and_then(|table| table.weight.as_ref());
        weights[ix.0] = match weight {
            Some(weight) => source.whole(weight, "weight", 0..=MAX_WEIGHT.into())?,
            None => org.children(ix).iter().map(|child| weights[child.0]).sum(),
        };
    }
    Ok(weights)
}

fn people(source: Source<'_>, org: &Org, tables: &[PersonTable]) -> Result<Vec<PersonEntry>, BadInput> {
    let mut people: BTreeMap<&PersonId, PersonEntry> = BTreeMap::new();
    if let Some(table) = tables.get(MAX_PEOPLE) {
        let found = format!("{} people", tables.len());
        return Err(source.error(table.id.span(), "person", found, &format!("at most {MAX_PEOPLE}")));
    }
    for table in tables {
        let mut roles = Vec::with_capacity(table.roles.len());
        for RoleTable { role, node } in &table.roles {
            if org.find(node.get_ref()).is_none() {
                let found = excerpt(node.get_ref().as_str());
                return Err(source.error(node.span(), "node", found, "the id of a node in this file"));
            }
            if roles.contains(&(*role, node.get_ref().clone())) {
                let found = format!("{} at {} twice", role.label(), node.get_ref());
                return Err(source.error(node.span(), "roles", found, "each role at a node once"));
            }
            roles.push((*role, node.get_ref().clone()));
        }
        let entry = PersonEntry {
            id: table.id.get_ref().clone(),
            name: name(source, &table.name)?,
            active: table.active.unwrap_or(true),
            roles,
        };
        if people.insert(table.id.get_ref(), entry).is_some() {
            let found = format!("person {} is there twice", table.id.get_ref());
            return Err(source.error(table.id.span(), "id", found, "an id of its own"));
        }
    }
    Ok(people.into_values().collect())
}

#[cfg(test)]
mod tests;
