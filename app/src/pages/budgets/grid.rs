//! The tree grid: one row a node, toggles as links.

use leptos::prelude::*;
use leptos_router::params::ParamsMap;
use stint_core::api::budgets::{BudgetRow, BudgetTree};
use stint_core::id::NodeId;
use stint_core::units::GpuSeconds;

use super::page_address;
use crate::address;
use crate::text::{self, Unit};
use crate::ui::icon::{Glyph, Icon};
use crate::ui::notice::Empty;
use crate::ui::table::{Column, Heads};

/// A row as the grid shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The node.
    pub row: BudgetRow,
    /// Its level, from 1.
    pub level: u32,
    /// Its place among its siblings, from 1.
    pub place: usize,
    /// How many siblings there are.
    pub of: usize,
    /// Whether its children are shown; absent without children.
    pub open: Option<bool>,
    /// The budget of the node above; its own for the root.
    pub parent: GpuSeconds,
}

/// The nodes that an address closes.
pub fn closed(query: &ParamsMap) -> Vec<String> {
    let list = address::text(query, "closed").unwrap_or_default();
    list.split(',')
        .filter(|id| !id.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The rows that are shown: those below a closed node are not.
pub fn shown(tree: &BudgetTree, closed: &[String]) -> Vec<Shown> {
    let is_closed = |id: &NodeId| closed.iter().any(|other| other == id.as_str());
    let mut hidden_below: Option<u32> = None;
    let mut rows = Vec::new();
    for row in &tree.rows {
        match hidden_below {
            Some(depth) if row.depth > depth => continue,
            _ => hidden_below = None,
        }
        let is_open = !is_closed(&row.node);
        if !is_open {
            hidden_below = Some(row.depth);
        }
        let siblings = || tree.rows.iter().filter(|other| other.parent == row.parent);
        let parent = tree
            .rows
            .iter()
            .find(|other| Some(&other.node) == row.parent.as_ref());
        rows.push(Shown {
            row: row.clone(),
            level: row.depth + 1,
            place: siblings()
                .position(|other| other.node == row.node)
                .map_or(1, |at| at + 1),
            of: siblings().count(),
            open: (row.children > 0).then_some(is_open),
            parent: parent.map_or(row.granted_gpu_seconds, |parent| parent.granted_gpu_seconds),
        });
    }
    rows
}

/// The address that opens or closes a node.
fn toggle_href(tree: &BudgetTree, query: &ParamsMap, node: &NodeId) -> String {
    let mut closed = closed(query);
    match closed.iter().position(|id| id == node.as_str()) {
        Some(at) => {
            closed.remove(at);
        }
        None => closed.push(node.to_string()),
    }
    page_address(tree, query).with("closed", closed.join(",")).href()
}

fn columns(unit: Unit) -> Vec<Column> {
    let label = unit.label();
    vec![
        Column::words("Node", ""),
        Column::numbers("Granted", label),
        Column::numbers("Of parent", "%"),
        Column::numbers("Of root", "%"),
        Column::numbers("Undistributed", label),
        Column::numbers("Charged", label),
        Column::numbers("Held", label),
        Column::numbers("Left", label),
        Column::numbers("Can be moved", label),
        Column::numbers("Forecast", label),
        Column::actions("Move hours"),
    ]
}

/// The grid.
#[component]
pub fn Grid(tree: BudgetTree, query: ParamsMap) -> impl IntoView {
    let unit = Unit::from_key(&address::text(&query, "unit").unwrap_or_default());
    if tree.rows.is_empty() {
        return view! {
            <section class="panel">
                <Empty title="The organisation has no nodes yet.">
                    <span>"Import it from a shell: " <code>"stint import org FILE"</code></span>
                </Empty>
            </section>
        }
        .into_any();
    }
    let root = tree
        .rows
        .first()
        .map_or(GpuSeconds::ZERO, |row| row.granted_gpu_seconds);
    let caption = format!("Budgets of {} in pool {}", tree.period.id, tree.pool);
    let label = caption.clone();
    let rows = shown(&tree, &closed(&query))
        .into_iter()
        .map(|shown| {
            let toggle = toggle_href(&tree, &query, &shown.row.node);
            let give = page_address(&tree, &query)
                .with("dialog", "move")
                .with("from", shown.row.node.as_str())
                .href();
            view! { <Row shown=shown root=root unit=unit toggle=toggle give=give /> }
        })
        .collect_view();
    view! {
        <section class="panel" aria-labelledby="grid">
            <header>
                <h2 id="grid">{format!("{} and below", tree.rows[0].name)}</h2>
            </header>
            <div class="tree" role="region" aria-label=label tabindex="0">
                <table class="tbl" role="treegrid" aria-labelledby="grid">
                    <caption class="vh">{caption}</caption>
                    <Heads columns=columns(unit) />
                    <tbody role="rowgroup">{rows}</tbody>
                    <Foot tree=tree.clone() unit=unit />
                </table>
            </div>
            <footer>
                "Forecast: charged and held plus the pace of the last seven days to the end of the period; there is none with less history. Can be moved: what a node’s own part has not accrued, charged or held."
            </footer>
        </section>
    }
    .into_any()
}

/// The class of a name by its level; deeper ones stand as deep as the last.
fn level_class(level: u32) -> &'static str {
    match level {
        1 => "l1",
        2 => "l2",
        3 => "l3",
        4 => "l4",
        _ => "l5",
    }
}

/// The forecast of a node, with what part of its grant that is.
fn forecast(row: &BudgetRow, unit: Unit, parent: GpuSeconds) -> (String, String) {
    let Some(forecast) = row.forecast_gpu_seconds else {
        return (text::NONE.to_owned(), String::new());
    };
    let part = if row.granted_gpu_seconds.0 == 0 {
        "no budget".to_owned()
    } else {
        format!("{} %", text::part_of(forecast, row.granted_gpu_seconds))
    };
    (unit.amount(forecast, parent), part)
}

/// Opens or closes a node; an empty place where there is nothing below.
#[component]
fn Toggle(open: Option<bool>, name: String, href: String) -> impl IntoView {
    let Some(open) = open else {
        return view! { <span class="tw"></span> }.into_any();
    };
    let (icon, word) = if open {
        (Icon::Down, "Close")
    } else {
        (Icon::Right, "Open")
    };
    view! {
        <a class="tw" href=href aria-label=format!("{word} {name}")>
            <Glyph icon=icon />
        </a>
    }
    .into_any()
}

/// One node.
#[component]
fn Row(shown: Shown, root: GpuSeconds, unit: Unit, toggle: String, give: String) -> impl IntoView {
    let Shown {
        row, open, parent, ..
    } = shown;
    let no_budget = row.granted_gpu_seconds.0 == 0;
    let amount = move |value: GpuSeconds| unit.amount(value, parent);
    let granted = if no_budget {
        view! { <span class="q2">"no budget"</span> }.into_any()
    } else {
        amount(row.granted_gpu_seconds).into_any()
    };
    let undistributed = if row.children > 0 {
        amount(row.own_gpu_seconds)
    } else {
        text::NONE.to_owned()
    };
    let left_class = if row.left_gpu_seconds.0 < 0 { "n over" } else { "n" };
    let class = match (open.is_some(), row.mine) {
        (true, true) => "sum mine",
        (true, false) => "sum",
        (false, true) => "mine",
        (false, false) => "",
    };
    let of_parent = row.parent.as_ref().map_or_else(
        || text::NONE.to_owned(),
        |_| text::part_of(row.granted_gpu_seconds, parent),
    );
    let (forecast, of_grant) = forecast(&row, unit, parent);
    let action = (row.may_move && row.movable_gpu_seconds.0 > 0).then(|| {
        view! {
            <a class="btn btn--s" href=give aria-label=format!("Move hours from {}", row.name)>
                "Move…"
            </a>
        }
    });
    view! {
        <tr
            role="row"
            attr:aria-level=shown.level
            aria-posinset=shown.place
            aria-setsize=shown.of
            aria-expanded=open.map(|open| if open { "true" } else { "false" })
            class=class
        >
            <th role="rowheader" scope="row" class=level_class(shown.level)>
                <Toggle open=open name=row.name.clone() href=toggle />
                {row.name.clone()}
            </th>
            <td role="gridcell" class="n">{granted}</td>
            <td role="gridcell" class="n">{of_parent}</td>
            <td role="gridcell" class="n">{text::part_of(row.granted_gpu_seconds, root)}</td>
            <td role="gridcell" class="n">{undistributed}</td>
            <td role="gridcell" class="n">{amount(row.charged_gpu_seconds)}</td>
            <td role="gridcell" class="n">{amount(row.held_gpu_seconds)}</td>
            <td role="gridcell" class=left_class>{amount(row.left_gpu_seconds)}</td>
            <td role="gridcell" class="n">{amount(row.movable_gpu_seconds)}</td>
            <td role="gridcell" class="n">{forecast} " " <span class="q2">{of_grant}</span></td>
            <td role="gridcell" class="n">{action}</td>
        </tr>
    }
    .into_any()
}

/// What nobody was given yet, over the whole tree.
#[component]
fn Foot(tree: BudgetTree, unit: Unit) -> impl IntoView {
    let branches = || tree.rows.iter().filter(|row| row.children > 0);
    let undistributed: GpuSeconds = branches().map(|row| row.own_gpu_seconds).sum();
    let movable: GpuSeconds = branches().map(|row| row.movable_gpu_seconds).sum();
    let root = tree
        .rows
        .first()
        .map_or(GpuSeconds::ZERO, |row| row.granted_gpu_seconds);
    let class = if undistributed.0 < 0 { "n bad" } else { "n ok" };
    let words = format!(
        "in all branches together; {} of it can still be given, the rest has accrued",
        unit.amount(movable, root)
    );
    view! {
        <tfoot role="rowgroup">
            <tr role="row">
                <th role="rowheader" scope="row">
                    "Undistributed"
                </th>
                <td role="gridcell" class=class>{unit.amount(undistributed, root)}</td>
                <td role="gridcell" class="n">{text::NONE}</td>
                <td role="gridcell" class="n">{text::part_of(undistributed, root)}</td>
                <td role="gridcell" colspan="7">{words}</td>
            </tr>
        </tfoot>
    }
    .into_any()
}
