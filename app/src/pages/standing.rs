//! `/standing`: what each node is owed, what it got, and the number that decides whose turn it is.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use stint_core::api::standing::{StandingQuery, StandingRow, StandingView};
use stint_core::api::{Code, Problem};
use stint_core::id::NodeId;
use stint_core::units::{Fraction, GpuSeconds, Seconds};

use super::{Asked, Loaded};
use crate::address::{self, Address};
use crate::chart::deviation::Deviation;
use crate::data::{self, Answer, DataError};
use crate::live::use_live;
use crate::text;
use crate::ui::badge::Tag;
use crate::ui::frame::{Crumbs, KEPT};
use crate::ui::notice::{Empty, FailedPage};
use crate::ui::table::{Column, DataTable, Panel};

/// Levels below the chosen node that one page shows; deeper ones are a link away.
const LEVELS: u32 = 2;

/// The whole pool is asked for, whatever node is chosen: the path to it needs the nodes above.
fn asked(query: &ParamsMap) -> Asked<(StandingQuery, Option<NodeId>)> {
    let pool = address::parsed(query, "pool")?;
    Ok((
        StandingQuery { pool, node: None },
        address::parsed(query, "node")?,
    ))
}

async fn read(asked: Asked<(StandingQuery, Option<NodeId>)>) -> Answer<(StandingView, Option<NodeId>)> {
    let (query, node) = asked.map_err(DataError)?;
    Ok((data::standing(query).await?, node))
}

/// The page.
#[component]
pub fn StandingPage() -> impl IntoView {
    let query = use_query_map();
    let live = use_live();
    let answer = Resource::new_blocking(
        move || (query.with(asked), live.version()),
        |(asked, _)| read(asked),
    );
    let show = move |(standing, node)| {
        view! { <Standing standing=standing node=node query=query.get_untracked() /> }
    };
    view! {
        <Title text="Standing" />
        <Loaded what="the standings" answer=answer show=show />
    }
    .into_any()
}

/// The rows of the levels below a node, in the order of the answer.
pub fn below<'a>(rows: &'a [StandingRow], node: &StandingRow) -> Vec<&'a StandingRow> {
    let start = rows
        .iter()
        .position(|row| row.node == node.node)
        .map_or(0, |at| at + 1);
    rows[start..]
        .iter()
        .take_while(|row| row.depth > node.depth)
        .filter(|row| row.depth <= node.depth + LEVELS)
        .collect()
}

/// The rows from the root down to a node.
pub fn path_to<'a>(rows: &'a [StandingRow], node: &'a StandingRow) -> Vec<&'a StandingRow> {
    let above = |row: &&'a StandingRow| {
        let parent = row.parent.as_ref()?;
        rows.iter().find(|other| other.node == *parent)
    };
    let mut path: Vec<&StandingRow> = std::iter::successors(Some(node), above).collect();
    path.reverse();
    path
}

fn node_href(query: &ParamsMap, node: &NodeId) -> String {
    Address::keeping("/standing", query, &KEPT)
        .with("node", node.as_str())
        .href()
}

/// Fair share below the chosen node.
#[component]
fn Standing(standing: StandingView, node: Option<NodeId>, query: ParamsMap) -> impl IntoView {
    let live = use_live();
    live.watch(vec![format!("standing:{}", standing.pool)]);
    let chosen = match &node {
        Some(node) => standing.rows.iter().find(|row| row.node == *node),
        None => standing.rows.first(),
    };
    let Some(chosen) = chosen else {
        let missing = node.map_or_else(String::new, |node| format!(" named {node}"));
        let problem = Problem::new(Code::NotFound, format!("There is no node{missing} in this pool."));
        return view! { <FailedPage what="the standings" problem=problem /> }.into_any();
    };
    let path = path_to(&standing.rows, chosen);
    let crumbs = path
        .iter()
        .map(|row| {
            let href = (row.node != chosen.node).then(|| node_href(&query, &row.node));
            (href, row.name.clone())
        })
        .collect();
    let rows = below(&standing.rows, chosen);
    let ties = ties(&rows, chosen, standing.horizon_s);
    let window = Seconds(standing.window_s).to_string();
    view! {
        <div class="head">
            <div>
                <Crumbs steps=crumbs />
                <h1>"Standing"</h1>
            </div>
        </div>
        <p class="lead">{sentence(&standing)}</p>
        <Nodes standing=standing.clone() chosen=chosen.clone() query=query />
        <How ties=ties window=window horizon=Seconds(standing.horizon_s).to_string() />
    }
    .into_any()
}

/// The page in a sentence.
pub fn sentence(standing: &StandingView) -> String {
    let span = if standing.covered_s < standing.window_s {
        format!(
            "{} (of a look-back of {})",
            Seconds(standing.covered_s),
            Seconds(standing.window_s)
        )
    } else {
        Seconds(standing.window_s).to_string()
    };
    let (served, owed) = standing.teams_served;
    let Some(received) = text::percent_number(standing.delivered_over_owed, 1).filter(|_| owed > 0) else {
        return format!("Nothing was owed to any team over {span}.");
    };
    let worst = standing
        .rows
        .iter()
        .filter(|row| is_leaf(&standing.rows, row) && row.owed_gpu_seconds > GpuSeconds::ZERO)
        .min_by(|a, b| by_value(a.delivered_over_owed, b.delivered_over_owed));
    let worst = worst.map_or_else(String::new, |row| {
        format!(
            "; the lowest is {} with {}",
            row.name,
            text::percent(row.delivered_over_owed, 1)
        )
    });
    let owed_hours = standing
        .rows
        .first()
        .map_or(GpuSeconds::ZERO, |root| root.owed_gpu_seconds);
    format!(
        "Teams received {received} % of the {} GPU-hours owed to them over {span}; {served} of {owed} teams at least 95 %{worst}.",
        text::hours(owed_hours)
    )
}

fn by_value(a: Fraction, b: Fraction) -> std::cmp::Ordering {
    let product = |x: i64, y: i64| i128::from(x) * i128::from(y);
    product(a.num, b.den).cmp(&product(b.num, a.den))
}

fn is_leaf(rows: &[StandingRow], row: &StandingRow) -> bool {
    !rows.iter().any(|other| other.parent.as_ref() == Some(&row.node))
}

fn columns() -> Vec<Column> {
    vec![
        Column::words("Node", ""),
        Column::numbers("Share", "% of pool"),
        Column::numbers("Rate", "GPUs"),
        Column::numbers("Owed", "GPU-h"),
        Column::numbers("Delivered", "GPU-h"),
        Column::numbers("Difference", "GPU-h"),
        Column::numbers("Of owed", "%"),
        Column::numbers("Standing", "used / due").sorting(),
        Column::drawings("owed | ahead"),
        Column::numbers("Rank", ""),
        Column::numbers("Queued", "workloads"),
    ]
}

/// The table.
#[component]
fn Nodes(standing: StandingView, chosen: StandingRow, query: ParamsMap) -> impl IntoView {
    let rows: Vec<StandingRow> = below(&standing.rows, &chosen).into_iter().cloned().collect();
    if rows.is_empty() {
        let row = chosen.clone();
        return view! {
            <Panel id="children" title=chosen.name.clone()>
                <DataTable caption=format!("Standing of {}", chosen.name) columns=columns()>
                    <Row row=row level=0 leads=None />
                </DataTable>
            </Panel>
        }
        .into_any();
    }
    let caption = format!(
        "Standing over {} to {}",
        Seconds(standing.covered_s),
        standing.as_of.day_seconds()
    );
    let drawn = rows
        .into_iter()
        .map(|row| {
            let level = row.depth - chosen.depth;
            let leads = (!is_leaf(&standing.rows, &row)).then(|| node_href(&query, &row.node));
            view! { <Row row=row level=level leads=leads /> }
        })
        .collect_view();
    let total = chosen.clone();
    let foot = view! { <Row row=total level=0 leads=None /> }.into_any();
    let asks_nothing = standing.rows.iter().all(|row| row.rate_milli_gpus.0 == 0);
    view! {
        <Panel id="children" title=format!("Below {}", chosen.name)>
            {asks_nothing
                .then(|| {
                    view! {
                        <Empty title="No node has a rate in this pool.">
                            <span>"Standing compares use with rates; grant hours on the page of budgets."</span>
                        </Empty>
                    }
                })}
            <DataTable caption=caption columns=columns() foot=foot>
                {drawn}
            </DataTable>
            <footer>
                "Bars: to the left of the line a node is owed time, to the right it is ahead. Difference = delivered − owed over the whole span; owed counts at most the rate, and only hours with demand. The share of owed of a node sums its leaves."
            </footer>
        </Panel>
    }
    .into_any()
}

/// One node.
#[component]
fn Row(
    row: StandingRow,
    /// Levels below the chosen node.
    level: u32,
    /// Where its children are.
    leads: Option<String>,
) -> impl IntoView {
    let class = match (row.mine, level) {
        (true, _) => "mine",
        (false, 1) if leads.is_some() => "grp",
        _ => "",
    };
    let name_class = if level > 1 { "ind" } else { "" };
    let difference = row.delivered_gpu_seconds - row.owed_gpu_seconds;
    let name = match (leads, level) {
        (Some(href), _) => view! { <a class="name" href=href>{row.name.clone()}</a> }.into_any(),
        (None, 0) => row.name.clone().into_any(),
        (None, _) => view! { <Tag name=row.name.clone() hue=row.hue /> }.into_any(),
    };
    let of_owed = text::percent_number(row.delivered_over_owed, 1).unwrap_or_else(|| text::NONE.to_owned());
    let rate = Fraction {
        num: row.rate_milli_gpus.0,
        den: 1_000,
    };
    let rank = if level == 0 {
        text::NONE.to_owned()
    } else {
        format!("{} of {}", row.rank, row.of)
    };
    view! {
        <tr role="row" class=class>
            <th scope="row" role="rowheader" class=name_class>
                {name}
                {row.mine.then(|| view! { <span class="q2">" mine"</span> })}
            </th>
            <td role="cell" class="n" data-l="Share, % of pool">
                {Fraction::percent(row.share.num, row.share.den, 2).unwrap_or_else(|| text::NONE.to_owned())}
            </td>
            <td role="cell" class="n" data-l="Rate, GPUs">
                {rate.text(1)}
            </td>
            <td role="cell" class="n" data-l="Owed, GPU-h">
                {text::hours(row.owed_gpu_seconds)}
            </td>
            <td role="cell" class="n" data-l="Delivered, GPU-h">
                {text::hours(row.delivered_gpu_seconds)}
            </td>
            <td role="cell" class="n" data-l="Difference, GPU-h">
                {text::signed_hours(difference)}
            </td>
            <td role="cell" class="n" data-l="Of owed, %">
                {of_owed}
            </td>
            <td role="cell" class="n" data-l="Standing">
                <b>{row.standing_text.clone()}</b>
            </td>
            <td role="cell" class="c hide-s">
                <Deviation name=row.name standing=row.standing text=row.standing_text />
            </td>
            <td role="cell" class="n" data-l="Rank">
                {rank}
            </td>
            <td role="cell" class="n" data-l="Queued">
                {row.queued}
            </td>
        </tr>
    }
    .into_any()
}

/// How much less than its due a node has used: the first tie-break. *Units*: GPU-seconds, floored.
fn shortfall(row: &StandingRow, horizon_s: i64) -> GpuSeconds {
    let ahead = i128::from(row.rate_milli_gpus.0) * i128::from(horizon_s) / 1_000;
    let due = row.allocated_gpu_seconds + GpuSeconds(i64::try_from(ahead).unwrap_or(i64::MAX / 2));
    due - row.delivered_gpu_seconds - row.held_gpu_seconds
}

/// Who goes before whom and why, with this page's own numbers.
pub fn ties(rows: &[&StandingRow], chosen: &StandingRow, horizon_s: i64) -> Option<String> {
    let siblings: Vec<&StandingRow> = rows
        .iter()
        .filter(|row| row.parent.as_ref() == Some(&chosen.node))
        .copied()
        .collect();
    let pairs = || siblings.windows(2).map(|pair| (pair[0], pair[1]));
    let is_equal = |a: &StandingRow, b: &StandingRow| match (a.standing, b.standing) {
        (Some(a), Some(b)) => by_value(a, b).is_eq(),
        _ => false,
    };
    if let Some((first, second)) = pairs().find(|(a, b)| is_equal(a, b)) {
        return Some(equal_sentence(first, second, horizon_s));
    }
    pairs().next().map(|(first, second)| {
        format!(
            "Here no two neighbours are equal: {} ({}) goes before {} ({}).",
            first.name, first.standing_text, second.name, second.standing_text
        )
    })
}

fn equal_sentence(first: &StandingRow, second: &StandingRow, horizon_s: i64) -> String {
    let (short, other) = (shortfall(first, horizon_s), shortfall(second, horizon_s));
    let both = format!(
        "Here {} and {} are equal at {}",
        first.name, second.name, first.standing_text
    );
    if short == other {
        return format!(
            "{both} and both {} GPU-h short of their due; the earlier submit time decides.",
            text::hours(short)
        );
    }
    let (larger, smaller) = if short > other {
        (first, second)
    } else {
        (second, first)
    };
    format!(
        "{both}: {} is {} GPU-h short of its due, {} only {}, so {} goes first.",
        larger.name,
        text::hours(short.max(other)),
        smaller.name,
        text::hours(short.min(other)),
        larger.name
    )
}

/// How the order comes about, in plain words.
#[component]
fn How(ties: Option<String>, window: String, horizon: String) -> impl IntoView {
    view! {
        <Panel id="how" title="How the queue uses these numbers">
            <div class="body">
                <ul class="prose">
                    <li>
                        {format!(
                            "Standing = used / due. Used is what was charged in the last {window} plus what running work holds; due is the rate over the same time plus the rate over the next {horizon}. Below 1 a node is owed time, above 1 it is ahead.",
                        )}
                    </li>
                    <li>
                        "The queue starts at the root and goes to the child with the lowest standing that has queued work, then to its children. A low team under a high program waits for its program."
                    </li>
                    <li>
                        "A run past its protection yields only to a side more than 0.010 lower."
                    </li>
                    <li>
                        <b>"When two are equal: "</b>
                        "the larger shortfall goes first, then the earlier submit time, then the lower id. Nodes without a rate come last. "
                        {ties}
                    </li>
                    <li>"Priority orders work inside one team. It never moves a team."</li>
                </ul>
            </div>
        </Panel>
    }
    .into_any()
}
