//! `/`: what needs me now: my workloads, my team's standing, the pool.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use stint_core::api::budgets::BudgetRow;
use stint_core::api::fleet::PoolView;
use stint_core::api::standing::{StandingRow, StandingView};
use stint_core::api::workloads::{WorkloadPage, WorkloadRow};
use stint_core::api::{Problem, Time};
use stint_core::id::{PeriodId, PoolId};
use stint_core::sched::contract::WorkloadState;
use stint_core::units::{Fraction, Seconds, grouped};

use super::queue::NameLink;
use super::standing::path_to;
use super::{Asked, Loaded};
use crate::address::{self, Address};
use crate::chart::deviation::{Deviation, Side};
use crate::chart::pyramid;
use crate::chart::strip::{Level, Strip};
use crate::data::{self, Answer, DataError, NowData};
use crate::live::use_live;
use crate::text;
use crate::ui::badge::{Badge, state_look};
use crate::ui::frame::KEPT;
use crate::ui::icon::Icon;
use crate::ui::notice::{Empty, Failure, Notice, Tone};
use crate::ui::table::{Column, DataTable, Panel};

/// Workloads that are over and still worth a line.
const RECENT: usize = 5;

type Question = Asked<(Option<PoolId>, Option<PeriodId>)>;

fn asked(query: &ParamsMap) -> Question {
    Ok((address::parsed(query, "pool")?, address::parsed(query, "period")?))
}

async fn read(asked: Question) -> Answer<NowData> {
    let (pool, period) = asked.map_err(DataError)?;
    data::now(pool, period).await
}

/// The page.
#[component]
pub fn NowPage() -> impl IntoView {
    let query = use_query_map();
    let live = use_live();
    let answer = Resource::new_blocking(
        move || (query.with(asked), live.version()),
        |(asked, _)| read(asked),
    );
    let show = move |now| view! { <Now now=now query=query.get_untracked() /> };
    view! {
        <Title text="What needs me now" />
        <Loaded what="what needs you now" answer=answer show=show />
    }
    .into_any()
}

/// The page's parts.
#[component]
fn Now(now: NowData, query: ParamsMap) -> impl IntoView {
    let live = use_live();
    let pool = now.shell.pool.clone();
    live.watch(vec![
        format!("queue:{pool}"),
        format!("standing:{pool}"),
        format!("budgets:{pool}"),
    ]);
    let attention = match &now.mine {
        Some(Ok(page)) => Some(attention(&page.rows, page.as_of)),
        _ => None,
    };
    let attention = attention.map(|sentence| {
        view! {
            <Notice tone=Tone::Info icon=Icon::Clock>
                <p>{sentence}</p>
            </Notice>
        }
    });
    let mine = match now.mine {
        Some(mine) => view! { <Mine mine=mine query=query.clone() /> }.into_any(),
        None => view! { <SignedOut /> }.into_any(),
    };
    let team = now
        .shell
        .me
        .is_some()
        .then(|| view! { <Team standing=now.standing budget=now.budget query=query.clone() /> });
    view! {
        <div class="head">
            <div>
                <h1>"What needs me now"</h1>
            </div>
        </div>
        {attention}
        <div class="cols">
            <div class="stack">{mine}</div>
            <div class="stack">
                {team}
                <Pool pool=now.pool />
            </div>
        </div>
    }
    .into_any()
}

/// My workloads in a sentence: how many, and which promise or protection ends first.
pub fn attention(rows: &[WorkloadRow], as_of: Time) -> String {
    let count =
        |wanted: fn(WorkloadState) -> bool| rows.iter().filter(|row| wanted(row.state)).count() as u64;
    let running = count(WorkloadState::is_running);
    let waiting = count(|state| {
        matches!(
            state,
            WorkloadState::Queued | WorkloadState::Held | WorkloadState::Starting
        )
    });
    if running + waiting == 0 {
        return "Nothing of yours runs or waits.".to_owned();
    }
    let next = rows
        .iter()
        .filter(|row| row.state == WorkloadState::Protected)
        .filter_map(|row| Some((row.protected_until?, row)))
        .min_by_key(|(until, _)| *until);
    let next = next.map_or_else(String::new, |(until, row)| {
        let name = row.name.clone().unwrap_or_else(|| row.id.to_string());
        format!(" {name} becomes interruptible at {}.", until.near(as_of))
    });
    format!(
        "{} running, {} waiting.{next}",
        grouped(running.into()),
        grouped(waiting.into())
    )
}

/// What a person sees who is not signed in.
#[component]
fn SignedOut() -> impl IntoView {
    view! {
        <Panel id="mine" title="My workloads">
            <Empty title="Sign in to see what is yours.">
                <span>"The pool is there for everybody to see; the queue, standing, budgets and hosts are for those who are signed in."</span>
                <a class="btn btn--primary" href="/sign-in">
                    "Sign in"
                </a>
            </Empty>
        </Panel>
    }
    .into_any()
}

fn columns() -> Vec<Column> {
    vec![
        Column::words("Workload", "GPUs × hosts, id"),
        Column::words("State", "place"),
        Column::words("Why", ""),
        Column::numbers("Protected", "until"),
        Column::numbers("Latest start", "promised"),
    ]
}

/// My workloads: those that run or wait first, then the last few that are over.
#[component]
fn Mine(mine: Result<WorkloadPage, Problem>, query: ParamsMap) -> impl IntoView {
    let page = match mine {
        Ok(page) => page,
        Err(problem) => return view! { <Failure what="your workloads" problem=problem /> }.into_any(),
    };
    let queue = Address::keeping("/queue", &query, &KEPT).with("mine", "1").href();
    let submit = Address::keeping("/workloads/new", &query, &KEPT).href();
    let aside = view! {
        <span class="views">
            <a href=queue>"In the queue"</a>
            <a href=submit.clone()>"Submit one"</a>
        </span>
    }
    .into_any();
    let as_of = page.as_of;
    let (over, open): (Vec<WorkloadRow>, Vec<WorkloadRow>) =
        page.rows.into_iter().partition(|row| row.state.is_over());
    if open.is_empty() && over.is_empty() {
        return view! {
            <Panel id="mine" title="My workloads" aside=aside>
                <Empty title="No workload of yours is queued or running.">
                    <span>
                        "Submit one here, or from a shell: "
                        <code>"stint submit --name NAME --charged-to NODE --gpus 8 --min-runtime 2h"</code>
                    </span>
                    <a class="btn btn--s" href=submit>
                        "Submit a workload"
                    </a>
                </Empty>
            </Panel>
        }
        .into_any();
    }
    let rows = open
        .into_iter()
        .chain(over.into_iter().take(RECENT))
        .map(|row| view! { <Row row=row as_of=as_of /> })
        .collect_view();
    view! {
        <Panel id="mine" title="My workloads" aside=aside>
            <DataTable caption="My workloads" columns=columns()>
                {rows}
            </DataTable>
            <footer>
                "A latest start is a promise; a host failure, a forced drain or a stuck workload can break it."
            </footer>
        </Panel>
    }
    .into_any()
}

/// Until when a workload is protected, in words.
fn protected_words(row: &WorkloadRow, as_of: Time) -> String {
    match (row.state, row.protected_until) {
        (WorkloadState::Protected | WorkloadState::Stopping, Some(until)) => until.near(as_of),
        (WorkloadState::Interruptible, Some(until)) => format!("{}, passed", until.near(as_of)),
        (WorkloadState::Unallocated, _) => "never".to_owned(),
        _ => text::NONE.to_owned(),
    }
}

/// One of my workloads.
#[component]
fn Row(row: WorkloadRow, as_of: Time) -> impl IntoView {
    let id = row.id.to_string();
    let place = match row.place {
        Some(place) => format!("place {}", grouped(i128::from(place))),
        None if row.state.is_running() => "running".to_owned(),
        None => String::new(),
    };
    let protected = protected_words(&row, as_of);
    let latest = match row.latest_start {
        Some(at) => view! { <b>{at.near(as_of)}</b> }.into_any(),
        None => view! { <span class="est">{text::NONE}</span> }.into_any(),
    };
    let why = row.why.map(|why| why.sentence);
    view! {
        <tr role="row">
            <th scope="row" role="rowheader">
                <NameLink id=id.clone() name=row.name />
                <span class="l2nd">
                    {format!("{} · ", text::gpus_by_hosts(row.gpus, row.hosts))}
                    <span class="id">{id}</span>
                </span>
            </th>
            <td role="cell">
                <Badge look=state_look(row.state) />
                <span class="l2nd">{place}</span>
            </td>
            <td role="cell" class="why w">
                {why}
            </td>
            <td role="cell" class="n" data-l="Protected until">
                {protected}
            </td>
            <td role="cell" class="n" data-l="Latest start">
                {latest}
            </td>
        </tr>
    }
    .into_any()
}

/// My team in a sentence.
fn team_sentence(row: &StandingRow, above: Option<&StandingRow>) -> String {
    let side = row.standing.map(Side::of);
    let place = above.map_or_else(String::new, |above| {
        format!(", rank {} of {} in {}", row.rank, row.of, above.name)
    });
    match side {
        None => format!("{} has no claim in this pool: it has no rate.", row.name),
        Some(Side::Even) => format!(
            "{} has exactly its share: {}{place}.",
            row.name, row.standing_text
        ),
        Some(Side::Owed) => format!("{} is owed time: {}{place}.", row.name, row.standing_text),
        Some(Side::Ahead) => format!(
            "{} is ahead of its share: {}{place}.",
            row.name, row.standing_text
        ),
    }
}

/// The levels of the share strip, from the root down to a node.
pub fn strip_levels(rows: &[StandingRow], node: &StandingRow) -> Vec<Level> {
    let path = path_to(rows, node);
    path.windows(2)
        .map(|pair| {
            let (above, on_the_way) = (pair[0], pair[1]);
            let parts = rows
                .iter()
                .filter(|row| row.parent.as_ref() == Some(&above.node))
                .map(|row| (row.share.approx().unwrap_or(0.0), row.node == on_the_way.node))
                .collect();
            let gpus = Fraction {
                num: on_the_way.rate_milli_gpus.0,
                den: 1_000,
            };
            let share = Fraction::percent(on_the_way.share.num, on_the_way.share.den, 1);
            Level {
                label: format!("{} → {}", above.name, on_the_way.name),
                value: format!(
                    "{} % = {} GPUs",
                    share.unwrap_or_else(|| text::NONE.to_owned()),
                    gpus.text(1).unwrap_or_default()
                ),
                parts,
            }
        })
        .collect()
}

/// What is left of my team's budget, as a row of its facts.
#[component]
fn Left(budget: BudgetRow) -> impl IntoView {
    let left = if budget.granted_gpu_seconds.0 == 0 {
        "no budget".to_owned()
    } else {
        format!(
            "{} of {}",
            text::hours(budget.left_gpu_seconds),
            text::hours(budget.granted_gpu_seconds)
        )
    };
    view! {
        <dt>{format!("Left for {}, GPU-h", budget.name)}</dt>
        <dd>{left}</dd>
    }
    .into_any()
}

/// My team's standing.
#[component]
fn Team(
    standing: Result<StandingView, Problem>,
    budget: Option<BudgetRow>,
    query: ParamsMap,
) -> impl IntoView {
    let standing = match standing {
        Ok(standing) => standing,
        Err(problem) => return view! { <Failure what="your team's standing" problem=problem /> }.into_any(),
    };
    let all = Address::keeping("/standing", &query, &KEPT).href();
    let aside = view! {
        <a class="views" href=all>
            "All teams"
        </a>
    }
    .into_any();
    let mine = standing
        .rows
        .iter()
        .filter(|row| row.mine)
        .max_by_key(|row| row.depth);
    let Some(row) = mine.cloned() else {
        return view! {
            <Panel id="team" title="My team’s standing" aside=aside>
                <Empty title="You have no role at any node.">
                    <span>"Whoever manages a team can make you a researcher of it."</span>
                </Empty>
            </Panel>
        }
        .into_any();
    };
    let above = standing
        .rows
        .iter()
        .find(|other| Some(&other.node) == row.parent.as_ref());
    let sentence = team_sentence(&row, above);
    let levels = strip_levels(&standing.rows, &row);
    let strip_heading = (!levels.is_empty()).then(|| view! { <h3>"Share of the pool"</h3> });
    let strip = (!levels.is_empty()).then(|| view! { <Strip levels=levels /> });
    let left = budget.map(|budget| view! { <Left budget=budget /> });
    let span = Seconds(standing.covered_s.min(standing.window_s));
    view! {
        <Panel id="team" title="My team’s standing" aside=aside>
            <div class="body">
                <p class="lead">{sentence}</p>
                <Deviation name=row.name.clone() standing=row.standing text=row.standing_text.clone() />
                <dl class="kv kv--n">
                    <dt>{format!("Owed in {span}, GPU-h")}</dt>
                    <dd>{text::hours(row.owed_gpu_seconds)}</dd>
                    <dt>"Delivered, GPU-h"</dt>
                    <dd>
                        {text::hours(row.delivered_gpu_seconds)} " "
                        <span class="q2">{text::percent(row.delivered_over_owed, 1)}</span>
                    </dd>
                    {left}
                </dl>
                {strip_heading}
                {strip}
            </div>
        </Panel>
    }
    .into_any()
}

/// A level of the pyramid: its name, its definition with numbers, its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolLevel {
    /// Its name.
    pub name: &'static str,
    /// What it divides.
    pub definition: String,
    /// Its value; words where it is not measured.
    pub value: String,
}

/// The levels of a pool, from the top: each rests on the one below.
pub fn levels(pool: &PoolView) -> [PoolLevel; 4] {
    let held = pool.protected_gpus + pool.interruptible_gpus + pool.unallocated_gpus;
    let part = |part: u32, whole: u32| {
        Fraction::percent(part.into(), whole.into(), 1)
            .map_or_else(|| "no GPUs".to_owned(), |number| format!("{number} %"))
    };
    let whole = |n: u32| grouped(i128::from(n));
    [
        PoolLevel {
            name: "Utilisation",
            definition: "measured use of held GPUs".to_owned(),
            value: "not measured".to_owned(),
        },
        PoolLevel {
            name: "Impact",
            definition: "delivered / owed in the look-back".to_owned(),
            value: text::percent_number(pool.delivered_over_owed, 1)
                .map_or_else(|| "nothing owed".to_owned(), |number| format!("{number} %")),
        },
        PoolLevel {
            name: "Occupancy",
            definition: format!(
                "held / healthy: {} / {} GPUs",
                whole(held),
                whole(pool.healthy_gpus)
            ),
            value: part(held, pool.healthy_gpus),
        },
        PoolLevel {
            name: "Availability",
            definition: format!(
                "healthy / all: {} / {} GPUs",
                whole(pool.healthy_gpus),
                whole(pool.gpus)
            ),
            value: part(pool.healthy_gpus, pool.gpus),
        },
    ]
}

/// The pool as a whole.
#[component]
fn Pool(pool: Result<PoolView, Problem>) -> impl IntoView {
    let pool = match pool {
        Ok(pool) => pool,
        Err(problem) => return view! { <Failure what="the pool" problem=problem /> }.into_any(),
    };
    let rows = (0_u32..)
        .zip(levels(&pool))
        .map(|(at, level)| {
            let class = if level.name == "Impact" { "f-acc" } else { "f-tint" };
            let value_class = if level.value.ends_with('%') { "" } else { "words" };
            view! {
                <div>
                    <dt>
                        <svg viewBox="0 0 76 46" preserveAspectRatio="none" aria-hidden="true">
                            <path class=class d=pyramid::outline(at, 4)></path>
                        </svg>
                        <span>
                            {level.name} <small>{level.definition}</small>
                        </span>
                    </dt>
                    <dd class=value_class>{level.value}</dd>
                </div>
            }
        })
        .collect_view();
    let foot = format!(
        "Now held: {} protected, {} past protection, {} unallocated. {} queued, asking for {}.",
        text::counted(pool.protected_gpus.into(), "GPU", "GPUs"),
        grouped(pool.interruptible_gpus.into()),
        grouped(pool.unallocated_gpus.into()),
        text::counted(pool.queued, "workload", "workloads"),
        text::counted(pool.asked_gpus, "GPU", "GPUs"),
    );
    let aside = view! { <span class="meta">"each level rests on the one below"</span> }.into_any();
    view! {
        <Panel id="pool-now" title=format!("Pool {}, now", pool.pool) aside=aside>
            <div class="body">
                <dl class="pyr">{rows}</dl>
            </div>
            <footer>{foot}</footer>
        </Panel>
    }
    .into_any()
}
