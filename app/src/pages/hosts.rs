//! `/hosts`: what runs where, as a map and as a table.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use stint_core::api::Time;
use stint_core::api::fleet::{HostList, HostRow, HostRun, HostState};
use stint_core::id::PoolId;

use super::{Asked, Loaded};
use crate::address;
use crate::chart::cells::{self, Cell, Filling};
use crate::data::{self, Answer, DataError};
use crate::live::use_live;
use crate::text;
use crate::ui::badge::{Badge, Tag, fill_class, host_look, state_look};
use crate::ui::notice::Empty;
use crate::ui::table::{Column, DataTable, Panel};

async fn read(pool: Asked<Option<PoolId>>) -> Answer<HostList> {
    data::hosts(pool.map_err(DataError)?).await
}

/// The page.
#[component]
pub fn HostsPage() -> impl IntoView {
    let query = use_query_map();
    let live = use_live();
    let answer = Resource::new_blocking(
        move || (query.with(|query| address::parsed(query, "pool")), live.version()),
        |(pool, _)| read(pool),
    );
    view! {
        <Title text="Hosts" />
        <Loaded what="the hosts" answer=answer show=|hosts| view! { <Hosts list=hosts /> } />
    }
    .into_any()
}

/// The pool in a sentence.
fn sentence(list: &HostList) -> String {
    let up = list.hosts.iter().filter(|host| host.state == HostState::Up);
    let (mut hosts, mut gpus, mut free) = (0_u64, 0_u64, 0_u64);
    for host in up {
        hosts += 1;
        gpus += u64::from(host.gpus);
        free += u64::from(host.free);
    }
    let rest = list.hosts.len() as u64 - hosts;
    format!(
        "{} of {}; {} of {} free; {} not up.",
        text::counted(hosts, "host up", "hosts up"),
        list.hosts.len(),
        free,
        text::counted(gpus, "GPU", "GPUs"),
        text::counted(rest, "host is", "hosts are"),
    )
}

/// The map and the table.
#[component]
fn Hosts(list: HostList) -> impl IntoView {
    let live = use_live();
    live.watch(vec![format!("hosts:{}", list.pool)]);
    let sub = sentence(&list);
    let as_of = list.as_of;
    let content = if list.hosts.is_empty() {
        view! {
            <section class="panel">
                <Empty title="This pool has no hosts yet.">
                    <span>"They appear as soon as the fleet reports them."</span>
                </Empty>
            </section>
        }
        .into_any()
    } else {
        let rows = list
            .hosts
            .iter()
            .cloned()
            .map(|host| view! { <Row host=host as_of=as_of /> })
            .collect_view();
        let caption = format!("Hosts of pool {} at {}", list.pool, as_of.day_seconds());
        view! {
            <Map hosts=list.hosts />
            <Panel id="host-table" title="Hosts and what runs on them">
                <DataTable caption=caption columns=columns()>
                    {rows}
                </DataTable>
            </Panel>
        }
        .into_any()
    };
    view! {
        <div class="head">
            <div>
                <h1>"Hosts"</h1>
                <p class="sub">{sub}</p>
            </div>
        </div>
        {content}
    }
    .into_any()
}

/// The blocks, each with its hosts.
fn by_block(hosts: Vec<HostRow>) -> Vec<(String, Vec<HostRow>)> {
    let mut blocks: Vec<(String, Vec<HostRow>)> = Vec::new();
    for host in hosts {
        match blocks.last_mut() {
            Some((block, of_block)) if block == host.block.as_str() => of_block.push(host),
            _ => blocks.push((host.block.to_string(), vec![host])),
        }
    }
    blocks
}

/// The map: a row of cells a host, grouped by block.
#[component]
fn Map(hosts: Vec<HostRow>) -> impl IntoView {
    let blocks = by_block(hosts)
        .into_iter()
        .map(|(block, hosts)| {
            let hosts = hosts
                .into_iter()
                .map(|host| view! { <li><HostCells host=host named=true /></li> })
                .collect_view();
            view! {
                <section class="block">
                    <h3>{format!("Block {block}")}</h3>
                    <ul>{hosts}</ul>
                </section>
            }
        })
        .collect_view();
    view! {
        <Panel id="host-map" title="Map">
            <div class="body">
                <div class="blocks">{blocks}</div>
                <Legend />
            </div>
        </Panel>
    }
    .into_any()
}

/// What the cells mean.
#[component]
fn Legend() -> impl IntoView {
    let sample = |class: &'static str, over: Option<&'static str>| {
        view! {
            <svg class="gpus" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
                <rect class=class width="16" height="16" rx="2"></rect>
                {over.map(|fill| view! { <rect width="16" height="16" rx="2" fill=fill></rect> })}
            </svg>
        }
    };
    view! {
        <ul class="legend">
            <li>{sample("c0", None)} "protected, or starting"</li>
            <li>{sample("c0", Some("url(#hx)"))} "interruptible, unallocated or stopping"</li>
            <li>{sample("idle", None)} "idle"</li>
            <li>{sample("idle", Some("url(#gx)"))} "takes no work: draining, down or unknown"</li>
            <li>"The colour is the team's; its name is in the table, and on each cell."</li>
        </ul>
    }
    .into_any()
}

/// A run in words, for those who point at it or can't see it.
fn run_words(run: &HostRun) -> String {
    let name = run.name.as_deref().unwrap_or("name hidden");
    format!(
        "{} ({name}) of {}, {}",
        run.workload,
        run.node_name,
        run.state.label().to_lowercase()
    )
}

/// A host in words.
fn host_words(host: &HostRow) -> String {
    let held = host.gpus.saturating_sub(host.free);
    format!(
        "{}: {}, {held} of {} held",
        host.id,
        host.state.label().to_lowercase(),
        text::counted(u64::from(host.gpus), "GPU", "GPUs")
    )
}

/// The cells of a host.
#[component]
fn HostCells(
    host: HostRow,
    /// Whether the host's name stands beside them.
    #[prop(optional)]
    named: bool,
) -> impl IntoView {
    let (width, height) = cells::size(host.gpus);
    let drawn = cells::cells(&host)
        .into_iter()
        .map(|cell| view! { <GpuCell cell=cell host=host.clone() /> })
        .collect_view();
    let name = named.then(|| view! { <span class="mono">{host.id.to_string()}</span> });
    view! {
        {name}
        <svg
            class="gpus"
            width=width
            height=height
            viewBox=format!("0 0 {width} {height}")
            role="img"
            aria-label=host_words(&host)
        >
            {drawn}
        </svg>
    }
    .into_any()
}

/// One GPU.
#[component]
fn GpuCell(cell: Cell, host: HostRow) -> impl IntoView {
    let (class, over, words) = match cell.filling {
        Filling::Idle => ("idle", None, "idle".to_owned()),
        Filling::Off => ("idle", Some("url(#gx)"), "takes no work".to_owned()),
        Filling::Held { run, solid } => {
            let run = &host.runs[run];
            (
                fill_class(run.hue),
                (!solid).then_some("url(#hx)"),
                run_words(run),
            )
        }
    };
    let side = cells::SIDE;
    view! {
        <g>
            <title>{format!("GPU {}: {words}", cell.gpu)}</title>
            <rect class=class x=cell.x y=cell.y width=side height=side rx="2"></rect>
            {over
                .map(|fill| {
                    view! { <rect x=cell.x y=cell.y width=side height=side rx="2" fill=fill></rect> }
                })}
        </g>
    }
    .into_any()
}

fn columns() -> Vec<Column> {
    vec![
        Column::words("Host", "block"),
        Column::words("State", ""),
        Column::words("GPUs", ""),
        Column::numbers("Free", "of all"),
        Column::words("Runs", "workload, team, GPUs, protected until"),
    ]
}

/// A host in the table.
#[component]
fn Row(host: HostRow, as_of: Time) -> impl IntoView {
    let runs = if host.runs.is_empty() {
        view! { <span class="q2">"nothing"</span> }.into_any()
    } else {
        let runs = host
            .runs
            .iter()
            .cloned()
            .map(|run| view! { <li><Run run=run as_of=as_of /></li> })
            .collect_view();
        view! { <ul class="runs">{runs}</ul> }.into_any()
    };
    let look = host_look(host.state);
    view! {
        <tr role="row">
            <th scope="row" role="rowheader">
                <span class="name mono">{host.id.to_string()}</span>
                <span class="l2nd">{host.block.to_string()}</span>
            </th>
            <td role="cell">
                <Badge look=look />
            </td>
            <td role="cell">
                <HostCells host=host.clone() />
            </td>
            <td role="cell" class="n" data-l="Free">
                {format!("{} of {}", host.free, host.gpus)}
            </td>
            <td role="cell" class="w">
                {runs}
            </td>
        </tr>
    }
    .into_any()
}

/// A run in the table.
#[component]
fn Run(run: HostRun, as_of: Time) -> impl IntoView {
    let gpus = text::counted(run.gpus.len() as u64, "GPU", "GPUs");
    let name = run.name.unwrap_or_else(|| "name hidden".to_owned());
    let until = run
        .protected_until
        .map(|until| format!(" until {}", until.near(as_of)));
    view! {
        <a class="name" href=format!("/workloads/{}", run.workload)>
            {name}
        </a>
        " "
        <Tag name=run.node_name hue=run.hue />
        " "
        <span class="q2">{gpus}</span>
        " "
        <Badge look=state_look(run.state) />
        <span class="q2">{until}</span>
    }
    .into_any()
}
