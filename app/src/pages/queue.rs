//! `/queue`: the queue, in the order in which the scheduler takes it.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use stint_core::api::Problem;
use stint_core::api::org::NodeList;
use stint_core::api::queue::{QueuePage, QueueQuery, QueueRow, StandingAt};
use stint_core::sched::reason::ReasonCode;
use stint_core::units::grouped;

use super::{Asked, Loaded};
use crate::address::{self, Address};
use crate::data::{self, Answer, DataError};
use crate::live::use_live;
use crate::text;
use crate::ui::badge::{Badge, Tag, state_look};
use crate::ui::frame::KEPT;
use crate::ui::icon::{Glyph, Icon};
use crate::ui::notice::Empty;
use crate::ui::table::{Column, DataTable};

/// The parts of the address that say what is listed.
const FILTERS: [&str; 5] = ["pool", "period", "under", "reason", "mine"];

/// The code of a reason in an address; the same as in the API.
pub fn reason_key(code: ReasonCode) -> String {
    leptos::serde_json::to_value(code)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn reason_of(query: &ParamsMap) -> Asked<Option<ReasonCode>> {
    let Some(key) = address::text(query, "reason") else {
        return Ok(None);
    };
    let code = ReasonCode::ALL.into_iter().find(|code| reason_key(*code) == key);
    code.map(Some).ok_or_else(|| {
        let keys: Vec<String> = ReasonCode::ALL.into_iter().map(reason_key).collect();
        Problem::field("reason", key, keys.join(", "))
    })
}

/// What the address asks for.
fn asked(query: &ParamsMap) -> Asked<QueueQuery> {
    Ok(QueueQuery {
        pool: address::parsed(query, "pool")?,
        under: address::parsed(query, "under")?,
        mine: address::text(query, "mine").is_some(),
        reason: reason_of(query)?,
        after: address::text(query, "after"),
        limit: None,
    })
}

/// The page and what its filters offer.
async fn read(asked: Asked<QueueQuery>) -> Answer<(QueuePage, NodeList)> {
    let page = data::queue(asked.map_err(DataError)?).await?;
    Ok((page, data::nodes().await?))
}

/// The page.
#[component]
pub fn QueueScreen() -> impl IntoView {
    let query = use_query_map();
    let live = use_live();
    let answer = Resource::new_blocking(
        move || (query.with(asked), live.version()),
        |(asked, _)| read(asked),
    );
    let show = move |(page, nodes)| view! { <Queue page=page nodes=nodes query=query.get_untracked() /> };
    view! {
        <Title text="Queue" />
        <Loaded what="the queue" answer=answer show=show />
    }
    .into_any()
}

/// The address of this list with one filter changed: it begins at the first row again.
fn filtered(query: &ParamsMap, name: &str, value: impl Into<String>) -> String {
    Address::keeping("/queue", query, &FILTERS)
        .with(name, value)
        .href()
}

/// The queue.
#[component]
fn Queue(page: QueuePage, nodes: NodeList, query: ParamsMap) -> impl IntoView {
    let live = use_live();
    live.watch(vec![format!("queue:{}", page.pool)]);
    let sub = format!(
        "{} asked for by {}; {} free, {} pinned to what starts when others have left.",
        text::counted(page.asked_gpus, "GPU", "GPUs"),
        text::counted(page.queued, "workload", "workloads"),
        grouped(i128::from(page.free_gpus)),
        grouped(i128::from(page.pinned_gpus)),
    );
    let submit = Address::keeping("/workloads/new", &query, &KEPT).href();
    view! {
        <div class="head">
            <div>
                <h1>"Queue"</h1>
                <p class="sub">{sub}</p>
            </div>
            <div class="acts">
                <a class="btn btn--primary" href=submit>
                    <Glyph icon=Icon::Plus />
                    "Submit a workload"
                </a>
            </div>
        </div>
        <Filters
            under=nodes
            mine=page.queued_mine
            query=query.clone()
        />
        <Rows page=page query=query />
    }
    .into_any()
}

/// A filter in use, with the link that takes it away.
#[component]
fn Chip(
    /// What it says.
    label: String,
    /// The address without it.
    without: String,
) -> impl IntoView {
    let remove = format!("Remove filter {label}");
    view! {
        <li class="chip">
            {label}
            <a href=without aria-label=remove>
                <Glyph icon=Icon::X small=true />
            </a>
        </li>
    }
    .into_any()
}

/// The filters in use as chips, and a form for more.
#[component]
fn Filters(
    /// The nodes to choose from.
    under: NodeList,
    /// How many of the person who asks are queued.
    mine: u64,
    /// The present address.
    query: ParamsMap,
) -> impl IntoView {
    let chosen_node = address::text(&query, "under").unwrap_or_default();
    let node_name = under
        .nodes
        .iter()
        .find(|node| node.id.as_str() == chosen_node)
        .map_or_else(|| chosen_node.clone(), |node| node.name.clone());
    let chosen_reason = reason_of(&query).ok().flatten();
    let only_mine = address::text(&query, "mine").is_some();
    let node_chip = (!chosen_node.is_empty()).then(|| {
        view! { <Chip label=format!("Under: {node_name}") without=filtered(&query, "under", "") /> }
    });
    let reason_chip = chosen_reason.map(|code| {
        view! { <Chip label=format!("Waits for: {}", code.label()) without=filtered(&query, "reason", "") /> }
    });
    let mine_chip = if only_mine {
        view! { <Chip label="Only mine".to_owned() without=filtered(&query, "mine", "") /> }.into_any()
    } else {
        view! {
            <li>
                <a class="chip chip--add" href=filtered(&query, "mine", "1")>
                    {format!("Only mine ({mine})")}
                </a>
            </li>
        }
        .into_any()
    };
    view! {
        <div class="filters">
            <ul class="chips" aria-label="Filters in use">
                {node_chip}
                {reason_chip}
                {mine_chip}
            </ul>
            <FilterForm nodes=under node=chosen_node reason=chosen_reason query=query />
        </div>
    }
    .into_any()
}

/// The form for filters: it works without scripts.
#[component]
fn FilterForm(nodes: NodeList, node: String, reason: Option<ReasonCode>, query: ParamsMap) -> impl IntoView {
    let hidden = ["pool", "period", "mine"]
        .into_iter()
        .filter_map(|name| Some((name, address::text(&query, name)?)))
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view();
    let nodes = nodes
        .nodes
        .into_iter()
        .map(|option| {
            let id = option.id.to_string();
            let chosen = id == node;
            view! { <option value=id selected=chosen>{option.path.join(" › ")}</option> }
        })
        .collect_view();
    let reasons = ReasonCode::ALL
        .into_iter()
        .map(|code| {
            view! {
                <option value=reason_key(code) selected=reason == Some(code)>
                    {code.label()}
                </option>
            }
        })
        .collect_view();
    view! {
        <form class="filter" method="get" action="/queue" aria-label="Filters">
            {hidden}
            <label class="pick">
                <span>"Under"</span>
                <select class="select" name="under">
                    <option value="">"All nodes"</option>
                    {nodes}
                </select>
            </label>
            <label class="pick">
                <span>"Waits for"</span>
                <select class="select" name="reason">
                    <option value="">"Anything"</option>
                    {reasons}
                </select>
            </label>
            <button class="btn btn--s">"Filter"</button>
        </form>
    }
    .into_any()
}

fn columns(zone: &str) -> Vec<Column> {
    vec![
        Column::numbers("#", "place").sorting(),
        Column::words("Workload", "team, id"),
        Column::numbers("GPUs", "× hosts"),
        Column::numbers("Min", "runtime"),
        Column::numbers("Waiting", "h:mm"),
        Column::numbers("Standing", "program › team"),
        Column::words("State", ""),
        Column::words("Why", ""),
        Column::numbers("Latest start", zone),
    ]
}

/// The table, its range and its links.
#[component]
fn Rows(page: QueuePage, query: ParamsMap) -> impl IntoView {
    let range = text::range_label(page.before, page.rows.len(), page.matching);
    let title = match page.rows.len() {
        0 => "No workloads".to_owned(),
        _ => format!("Workloads {range}, in the order in which the scheduler takes them"),
    };
    let first = (page.before > 0).then(|| Address::keeping("/queue", &query, &FILTERS).href());
    let next = page.next.clone().map(|after| {
        Address::keeping("/queue", &query, &FILTERS)
            .with("after", after)
            .href()
    });
    let caption = format!("Queue of pool {} at {}", page.pool, page.as_of.day_seconds());
    let empty = page.rows.is_empty();
    let content = if empty {
        view! { <NoRows page=page query=query /> }.into_any()
    } else {
        let as_of = page.as_of;
        let rows = page
            .rows
            .into_iter()
            .map(|row| view! { <Row row=row as_of=as_of /> })
            .collect_view();
        view! {
            <DataTable caption=caption columns=columns("promised")>
                {rows}
            </DataTable>
        }
        .into_any()
    };
    let pages = (first.is_some() || next.is_some()).then(|| {
        view! {
            <footer class="pages">
                <span>{range}</span>
                {first.map(|href| view! { <a href=href>"First page"</a> })}
                {next.map(|href| view! { <a href=href rel="next">"Next page"</a> })}
            </footer>
        }
    });
    view! {
        <section class="panel" aria-labelledby="queue-rows">
            <header>
                <h2 id="queue-rows">{title}</h2>
            </header>
            {content}
            {pages}
        </section>
    }
    .into_any()
}

/// Why there are no rows: nothing is queued, or nothing matches.
#[component]
fn NoRows(page: QueuePage, query: ParamsMap) -> impl IntoView {
    let all = Address::keeping("/queue", &query, &KEPT).href();
    let submit = Address::keeping("/workloads/new", &query, &KEPT).href();
    if page.queued == 0 {
        view! {
            <Empty title="Nothing is queued: whatever was asked for has its GPUs.">
                <span>
                    "Submit one here, or from a shell: "
                    <code>"stint submit --name NAME --charged-to NODE --gpus 8 --min-runtime 2h"</code>
                </span>
                <a class="btn btn--s" href=submit>"Submit a workload"</a>
            </Empty>
        }
        .into_any()
    } else {
        let queued = text::counted(page.queued, "workload is", "workloads are");
        view! {
            <Empty title="No queued workload matches these filters.">
                <span>{format!("{queued} queued in pool {}.", page.pool)}</span>
                <a class="btn btn--s" href=all>"Show the whole queue"</a>
            </Empty>
        }
        .into_any()
    }
}

/// Standings from below the root to the node that pays; the last one stands out.
#[component]
pub(crate) fn Standings(
    /// From below the root.
    standings: Vec<StandingAt>,
) -> impl IntoView {
    let mut standings = standings;
    let last = standings.pop();
    let above = standings
        .into_iter()
        .map(|at| view! { <span class="q2" title=at.node.to_string()>{at.standing}</span>" › " })
        .collect_view();
    let last = match last {
        Some(at) => view! { <span title=at.node.to_string()>{at.standing}</span> }.into_any(),
        None => text::NONE.into_any(),
    };
    view! {
        {above}
        {last}
    }
    .into_any()
}

/// A workload's name as a link; outsiders see that it is hidden.
#[component]
pub(crate) fn NameLink(
    /// Its id in an address.
    id: String,
    /// Its name, if it may be seen.
    name: Option<String>,
) -> impl IntoView {
    let href = format!("/workloads/{id}");
    match name {
        Some(name) => view! { <a class="name" href=href>{name}</a> }.into_any(),
        None => view! { <a class="name hidden-name" href=href>"name hidden"</a> }.into_any(),
    }
}

/// One queued workload.
#[component]
fn Row(row: QueueRow, as_of: stint_core::api::Time) -> impl IntoView {
    let id = row.id.to_string();
    let class = if row.mine { "mine" } else { "" };
    let latest = match row.latest_start {
        Some(at) => view! { <b><time datetime=at.rfc3339()>{at.near(as_of)}</time></b> }.into_any(),
        None => view! { <span class="est">{text::NONE}</span> }.into_any(),
    };
    let restarts = (row.starts > 0).then(|| {
        let times = text::counted(u64::from(row.starts), "time", "times");
        view! { <span class="l2nd">{format!("started {times} before")}</span> }
    });
    view! {
        <tr role="row" class=class>
            <td role="cell" class="n place" data-l="Place">
                {row.place}
            </td>
            <th scope="row" role="rowheader">
                <NameLink id=id.clone() name=row.name />
                <span class="l2nd">
                    <Tag name=row.node_name hue=row.hue />
                    " "
                    <span class="id">{id}</span>
                    {row.mine.then(|| view! { <span class="q2">" mine"</span> })}
                </span>
            </th>
            <td role="cell" class="n" data-l="GPUs × hosts">
                {text::gpus_by_hosts(row.gpus, row.hosts)}
            </td>
            <td role="cell" class="n" data-l="Min runtime">
                {text::min_runtime(row.min_runtime_s)}
            </td>
            <td role="cell" class="n" data-l="Waiting">
                <time datetime=row.submitted.rfc3339() title=format!("since {}", row.submitted.day_seconds())>
                    {text::hours_minutes(row.waiting_s)}
                </time>
            </td>
            <td role="cell" class="n" data-l="Standing">
                <Standings standings=row.standings />
            </td>
            <td role="cell">
                <Badge look=state_look(row.state) />
                {restarts}
            </td>
            <td role="cell" class="why w">
                {row.why.sentence}
            </td>
            <td role="cell" class="n" data-l="Latest start">
                {latest}
            </td>
        </tr>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_asks_for_what_it_says_and_a_wrong_one_is_told_why() {
        let mut query = ParamsMap::new();
        query.insert("under", "vision".to_owned());
        query.insert("reason", "funds".to_owned());
        query.insert("mine", "1".to_owned());
        let got = asked(&query).unwrap();
        assert_eq!(got.reason, Some(ReasonCode::Funds));
        assert_eq!(got.under.map(|id| id.to_string()).as_deref(), Some("vision"));
        assert!(got.mine && got.pool.is_none());

        let mut wrong = ParamsMap::new();
        wrong.insert("reason", "nonsense".to_owned());
        let problem = asked(&wrong).unwrap_err();
        assert!(problem.errors[0].accepted.contains("protected_until"));
    }

    #[test]
    fn a_filter_begins_at_the_first_row_again() {
        let mut query = ParamsMap::new();
        query.insert("pool", "gpu".to_owned());
        query.insert("after", "17".to_owned());
        assert_eq!(
            filtered(&query, "under", "vision"),
            "/queue?pool=gpu&under=vision"
        );
    }

    #[test]
    fn every_reason_has_its_own_key_and_words() {
        let shown: Vec<String> = ReasonCode::ALL
            .into_iter()
            .map(|code| format!("{} = {}", reason_key(code), code.label()))
            .collect();
        assert_eq!(
            shown,
            [
                "order = Others come first",
                "funds = Waits for funds",
                "shape_impossible = Can never fit",
                "topology = Not enough together",
                "protected_until = GPUs are protected",
                "reserved_for_other = Reserved for another",
                "held_by_user = Held by owner",
                "launch_failures = Launches failed",
                "draining = Hosts are draining",
                "starting_after_victims = Starts when others leave",
                "next_pass = Just submitted"
            ]
        );
    }
}
