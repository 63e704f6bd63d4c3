//! What a move would change, before it is made.
//!
//! Made from the rows on the screen by the rules of the book, so that the browser and the service say the same.
//! The service decides again when the move is sent. *Source*: ledger, section 2; product, budgets.

use std::collections::BTreeMap;

use super::accrual::rest_rate;
use super::refusal::LedgerError;
use super::rule::{NodeRef, OwnPart, Used, check_move};
use crate::api::Problem;
use crate::api::budgets::{BudgetRow, BudgetTree};
use crate::id::NodeId;
use crate::org::MAX_DEPTH;
use crate::units::{Fraction, GpuSeconds, HoursError};

/// One side of a move, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveSide {
    /// The node.
    pub node: NodeRef,
    /// Its own part before.
    pub own_before: GpuSeconds,
    /// Its own part after.
    pub own_after: GpuSeconds,
    /// Its grant before.
    pub granted_before: GpuSeconds,
    /// Its grant after.
    pub granted_after: GpuSeconds,
}

/// A node whose grant changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Its grant before.
    pub granted_before: GpuSeconds,
    /// Its grant after.
    pub granted_after: GpuSeconds,
    /// Its rate before.
    pub rate_before: Fraction,
    /// Its rate after.
    pub rate_after: Fraction,
}

/// What a move would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveEffect {
    /// The amount.
    pub amount: GpuSeconds,
    /// The node that gives.
    pub from: MoveSide,
    /// The node that receives.
    pub to: MoveSide,
    /// The nodes whose grant changes: those on the two paths below the nearest common ancestor, the giving side
    /// first, each from the top down.
    pub changes: Vec<NodeChange>,
}

impl MoveEffect {
    /// The effect in words: `Moves 500.00 GPU-h from A to B. A keeps 3,700.00.`
    pub fn sentence(&self) -> String {
        let (from, to) = (&self.from.node.name, &self.to.node.name);
        let (amount, kept) = (self.amount.hours_text(), self.from.own_after.hours_text());
        format!("Moves {amount} GPU-h from {from} to {to}. {from} keeps {kept}.")
    }
}

/// Reads a form's amount of GPU-hours.
///
/// # Errors
/// A problem that names the field, what it held and what would be accepted.
pub fn read_hours(field: &str, text: &str) -> Result<GpuSeconds, Problem> {
    let accepted = |error| match error {
        HoursError::NotANumber => "a number of GPU-hours such as 500 or 12.25".to_owned(),
        HoursError::Negative => "0 or more GPU-hours".to_owned(),
        HoursError::TooManyDecimals => "at most two decimals".to_owned(),
        HoursError::TooLarge => format!("at most {} GPU-hours", GpuSeconds::MAX_INPUT.hours_text()),
    };
    GpuSeconds::from_hours_text(text).map_err(|error| Problem::field(field, text, accepted(error)))
}

/// What moving so many hours from one own part to another would change.
///
/// # Errors
/// The problem the service would answer: hours that are no amount, unknown nodes, more than can be moved, a period
/// that is over.
pub fn preview(tree: &BudgetTree, from: &NodeId, to: &NodeId, hours: &str) -> Result<MoveEffect, Problem> {
    let amount = read_hours("hours", hours)?;
    let (at, ends) = (tree.as_of.at(), tree.period.ends.at());
    if at >= ends {
        return Err(LedgerError::Closed {
            period: tree.period.id.clone(),
            ended: ends,
        }
        .into());
    }
    let rows: BTreeMap<&NodeId, &BudgetRow> = tree.rows.iter().map(|row| (&row.node, row)).collect();
    let (from_path, to_path) = (path(&rows, from)?, path(&rows, to)?);
    let (Some(giving), Some(receiving)) = (from_path.last(), to_path.last()) else {
        return Err(LedgerError::UnknownNode(from.clone()).into());
    };
    check_move(&own_part(giving), &node_ref(receiving), amount)?;
    let common = from_path
        .iter()
        .zip(&to_path)
        .take_while(|(a, b)| a.node == b.node)
        .count();
    let giving_side = from_path[common..].iter().map(|row| change(tree, row, -amount));
    let receiving_side = to_path[common..].iter().map(|row| change(tree, row, amount));
    // A node above the other side gives to, or takes from, its own subtree: its grant stays what it was.
    let granted_by = |path: &[&BudgetRow], by| {
        if path.len() == common {
            GpuSeconds::ZERO
        } else {
            by
        }
    };
    Ok(MoveEffect {
        amount,
        from: side(giving, -amount, granted_by(&from_path, -amount)),
        to: side(receiving, amount, granted_by(&to_path, amount)),
        changes: giving_side.chain(receiving_side).collect(),
    })
}

/// From the root down to the node, both included.
fn path<'t>(
    rows: &BTreeMap<&NodeId, &'t BudgetRow>,
    node: &NodeId,
) -> Result<Vec<&'t BudgetRow>, LedgerError> {
    let mut path = Vec::new();
    let mut next = Some(node);
    while let Some(id) = next {
        let row = rows
            .get(id)
            .filter(|_| path.len() <= MAX_DEPTH)
            .ok_or_else(|| LedgerError::UnknownNode(id.clone()))?;
        path.push(*row);
        next = row.parent.as_ref();
    }
    path.reverse();
    Ok(path)
}

fn node_ref(row: &BudgetRow) -> NodeRef {
    NodeRef {
        id: row.node.clone(),
        name: row.name.clone(),
    }
}

fn own_part(row: &BudgetRow) -> OwnPart {
    OwnPart {
        node: node_ref(row),
        own: row.own_gpu_seconds,
        accrued: row.own_accrued_gpu_seconds,
        used: Used {
            charged: row.own_charged_gpu_seconds,
            held: row.own_held_gpu_seconds,
        },
    }
}

fn side(row: &BudgetRow, own_by: GpuSeconds, granted_by: GpuSeconds) -> MoveSide {
    MoveSide {
        node: node_ref(row),
        own_before: row.own_gpu_seconds,
        own_after: row.own_gpu_seconds + own_by,
        granted_before: row.granted_gpu_seconds,
        granted_after: row.granted_gpu_seconds + granted_by,
    }
}

fn change(tree: &BudgetTree, row: &BudgetRow, by: GpuSeconds) -> NodeChange {
    let rate = |granted: GpuSeconds| {
        let (starts, ends) = (tree.period.starts.at(), tree.period.ends.at());
        rest_rate(granted, row.accrued_gpu_seconds, tree.as_of.at(), starts, ends)
    };
    let after = row.granted_gpu_seconds + by;
    NodeChange {
        node: row.node.clone(),
        name: row.name.clone(),
        granted_before: row.granted_gpu_seconds,
        granted_after: after,
        rate_before: rate(row.granted_gpu_seconds),
        rate_after: rate(after),
    }
}
