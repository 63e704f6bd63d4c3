//! `/budgets/{period}`: hours down the tree, and the move of hours between two nodes.
//!
//! | room | what it holds |
//! | --- | --- |
//! | this | the page: heading, facts, notice after a move |
//! | [`grid`] | the tree grid |
//! | [`moving`] | the dialog that moves hours, with its preview |

pub mod grid;
pub mod moving;

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use leptos_router::params::ParamsMap;
use stint_core::api::budgets::BudgetTree;
use stint_core::api::{Problem, Time};
use stint_core::id::{PeriodId, PoolId, TransactionId};
use stint_core::units::{Fraction, HOUR_S, Seconds, grouped};

use self::grid::Grid;
use self::moving::{MoveDialog, Typed};
use super::{Asked, Loaded};
use crate::address::{self, Address};
use crate::data::{self, Answer, DataError, FormData};
use crate::live::use_live;
use crate::text::Unit;
use crate::ui::icon::{Glyph, Icon};
use crate::ui::notice::{Notice, Tone};

/// The parts of the address that every link of this page keeps.
const KEPT: [&str; 3] = ["pool", "unit", "closed"];

type Question = Asked<(Option<PeriodId>, Option<PoolId>)>;

/// The period of the path; of the query where the pickers sent it; else the current one.
fn asked(params: &ParamsMap, query: &ParamsMap) -> Question {
    let period = match params.get("period").filter(|period| !period.is_empty()) {
        Some(period) => Some(period.parse().map_err(|error: stint_core::id::IdError| {
            Problem::new(stint_core::api::Code::NotFound, error.to_string())
        })?),
        None => address::parsed(query, "period")?,
    };
    Ok((period, address::parsed(query, "pool")?))
}

async fn read(asked: Question) -> Answer<BudgetTree> {
    let (period, pool) = asked.map_err(DataError)?;
    data::budgets(period, pool).await
}

/// The page.
#[component]
pub fn BudgetsPage() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let live = use_live();
    let typed = Typed::new(query);
    let answer = Resource::new_blocking(
        move || {
            let asked = query.with(|query| params.with(|params| asked(params, query)));
            (asked, live.version())
        },
        |(asked, _)| read(asked),
    );
    let form = Resource::new_blocking(
        move || query.with(|query| address::text(query, "refused")),
        data::form,
    );
    let show = move |tree| view! { <Budgets tree=tree query=query form=form typed=typed /> };
    view! {
        <Title text="Budgets" />
        <Loaded what="the budgets" answer=answer show=show />
    }
    .into_any()
}

/// The address of this period's page, with what it keeps.
pub(crate) fn page_address(tree: &BudgetTree, query: &ParamsMap) -> Address {
    Address::keeping(format!("/budgets/{}", tree.period.id), query, &KEPT)
}

/// The page's parts.
#[component]
fn Budgets(
    tree: BudgetTree,
    query: Memo<ParamsMap>,
    form: Resource<Answer<FormData>>,
    typed: Typed,
) -> impl IntoView {
    let live = use_live();
    live.watch(vec![format!("budgets:{}", tree.pool)]);
    let heading = format!("Budgets, {}", tree.period.id);
    let may_move = tree.rows.iter().any(|row| row.may_move);
    let open = page_address(&tree, &query.get_untracked())
        .with("dialog", "move")
        .href();
    let action = may_move.then(|| {
        view! {
            <a class="btn btn--primary" href=open>
                <Glyph icon=Icon::Move />
                "Move hours…"
            </a>
        }
    });
    let dialog = {
        let tree = tree.clone();
        move || {
            let open = query.with(|query| address::text(query, "dialog")).as_deref() == Some("move");
            (open && may_move).then(|| {
                view! { <MoveDialog tree=tree.clone() query=query.get_untracked() form=form typed=typed /> }
            })
        }
    };
    let moved = query
        .with_untracked(|query| address::parsed::<TransactionId>(query, "moved"))
        .ok()
        .flatten();
    let grid_tree = tree.clone();
    let grid = move || view! { <Grid tree=grid_tree.clone() query=query.get() /> };
    let units_tree = tree.clone();
    let units = move || view! { <Units tree=units_tree.clone() query=query.get() /> };
    view! {
        <div class="head">
            <div>
                <h1>{heading}</h1>
                <p class="sub">
                    "What each node was granted, what it has used and what it will use. A change affects the future only."
                </p>
            </div>
            <div class="acts">{units} {action}</div>
        </div>
        {moved.map(|id| view! { <Moved id=id /> })}
        <Facts tree=tree />
        {grid}
        {dialog}
    }
    .into_any()
}

/// Says that hours were moved.
#[component]
fn Moved(id: TransactionId) -> impl IntoView {
    view! {
        <Notice tone=Tone::Info icon=Icon::Check>
            <p>
                <b>"The hours were moved. "</b>
                {format!("The ledger has it as {id}. Rates have changed; the next pass uses them.")}
            </p>
        </Notice>
    }
    .into_any()
}

/// The units to choose from.
#[component]
fn Units(tree: BudgetTree, query: ParamsMap) -> impl IntoView {
    let chosen = Unit::from_key(&address::text(&query, "unit").unwrap_or_default());
    let links = Unit::ALL
        .into_iter()
        .map(|unit| {
            let href = page_address(&tree, &query).with("unit", unit.key()).href();
            view! {
                <a href=href aria-current=(unit == chosen).then_some("true")>
                    {unit.label()}
                </a>
            }
        })
        .collect_view();
    view! {
        <span class="seg" role="group" aria-label="Unit">
            {links}
        </span>
    }
    .into_any()
}

/// The period and what can be granted in it.
#[component]
fn Facts(tree: BudgetTree) -> impl IntoView {
    let length_s = tree.period_hours * HOUR_S;
    let passed = Fraction {
        num: tree.passed_s,
        den: HOUR_S,
    };
    let passed = format!("{} h passed", passed.text(2).unwrap_or_default());
    let part = Fraction::percent(tree.passed_s, length_s, 1).map(|part| format!(", {part} %"));
    let reserve = Fraction::percent(tree.reserve_bp.into(), 10_000, 1).unwrap_or_default();
    // A period ends with the first instant after it; people name its last day.
    let ends = tree.period.ends;
    let last = Time::new(ends.at() - Seconds(1), ends.offset_s()).unwrap_or(ends);
    let granted = tree.rows.first().map_or_else(String::new, |root| {
        format!("{} granted at the root", root.granted_gpu_seconds.hours_text())
    });
    view! {
        <dl class="panel facts">
            <div>
                <dt>"Period"</dt>
                <dd>
                    {format!("{} h", grouped(tree.period_hours.into()))}
                    <small>{format!("{} to {}, {}", tree.period.starts.date(), last.date(), tree.zone)}</small>
                </dd>
            </div>
            <div>
                <dt>"Passed"</dt>
                <dd>
                    {passed}
                    {part}
                </dd>
            </div>
            <div>
                <dt>"Can be granted, GPU-h"</dt>
                <dd>
                    {tree.capacity_gpu_seconds.hours_text()}
                    <small>{granted}</small>
                </dd>
            </div>
            <div>
                <dt>"Pool " {tree.pool.to_string()}</dt>
                <dd>
                    {format!("{} GPUs", grouped(tree.gpus.into()))}
                    <small>{format!("on {} hosts, {reserve} % kept in reserve", tree.hosts)}</small>
                </dd>
            </div>
        </dl>
    }
    .into_any()
}
