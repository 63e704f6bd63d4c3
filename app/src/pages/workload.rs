//! `/workloads/{id}`: one workload's truth: where it stands, why, and what it has lived through.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use leptos_router::params::ParamsMap;
use stint_core::api::workloads::{LogEntry, RunView, WorkloadView};
use stint_core::api::{Code, Problem, Time};
use stint_core::id::WorkloadId;
use stint_core::sched::contract::{EndCause, WorkloadState};
use stint_core::units::{Seconds, Timestamp};

use super::queue::Standings;
use super::{Asked, Loaded};
use crate::address::{self, Address};
use crate::chart::life_line::{Kind, LifeLine, Segment, Span, life_line};
use crate::chart::{life_line as geometry, px};
use crate::data::{self, Answer, DataError, FormData};
use crate::live::use_live;
use crate::text;
use crate::ui::badge::{Badge, cause_look, fill_class, label_class, state_look};
use crate::ui::form::{Dialog, Refusal, TextField, error_of, typed};
use crate::ui::frame::{Crumbs, KEPT};
use crate::ui::icon::{Glyph, Icon};
use crate::ui::table::{Column, DataTable, Panel};

fn asked(params: &ParamsMap) -> Asked<WorkloadId> {
    let id = params.get("id").unwrap_or_default();
    id.parse().map_err(|_| {
        Problem::new(
            Code::NotFound,
            format!("There is no workload {id:?}; ids look like w-48714."),
        )
    })
}

async fn read(id: Asked<WorkloadId>) -> Answer<WorkloadView> {
    data::workload(id.map_err(DataError)?).await
}

/// The page.
#[component]
pub fn WorkloadScreen() -> impl IntoView {
    let params = use_params_map();
    let query = use_query_map();
    let live = use_live();
    let answer = Resource::new_blocking(move || (params.with(asked), live.version()), |(id, _)| read(id));
    let form = Resource::new_blocking(
        move || query.with(|query| address::text(query, "refused")),
        data::form,
    );
    let show = move |workload| {
        view! { <Workload workload=workload query=query form=form /> }
    };
    view! {
        <Title text="Workload" />
        <Loaded what="the workload" answer=answer show=show />
    }
}

/// What makes the page ask again. Until it is over, its place, its reason and the time move with the queue.
fn topics(workload: &WorkloadView) -> Vec<String> {
    let mut topics = vec![format!("workload:{}", workload.row.id)];
    if !workload.row.state.is_over() {
        topics.push(format!("queue:{}", workload.row.pool));
    }
    topics
}

/// Its name, for headings.
fn shown_name(workload: &WorkloadView) -> String {
    workload
        .row
        .name
        .clone()
        .unwrap_or_else(|| format!("{} (name hidden)", workload.row.id))
}

/// Its name, for the title of the document. The server writes titles as they are, so nothing that could be taken for
/// markup may be in one.
fn title_text(workload: &WorkloadView) -> String {
    shown_name(workload)
        .chars()
        .map(|c| if matches!(c, '<' | '>' | '&') { ' ' } else { c })
        .collect()
}

/// The workload.
#[component]
fn Workload(
    workload: WorkloadView,
    query: Memo<ParamsMap>,
    form: Resource<Answer<FormData>>,
) -> impl IntoView {
    let live = use_live();
    live.watch(topics(&workload));
    let dialog = {
        let workload = workload.clone();
        move || {
            let open = query.with(|query| address::text(query, "dialog")).as_deref() == Some("cancel");
            (open && workload.may_cancel).then(|| {
                view! { <CancelDialog workload=workload.clone() query=query.get_untracked() form=form /> }
            })
        }
    };
    view! {
        <Title text=title_text(&workload) />
        <Head workload=workload.clone() query=query.get_untracked() />
        <Facts workload=workload.clone() />
        <Why workload=workload.clone() />
        <LifePanel workload=workload.clone() />
        <Runs runs=workload.runs.clone() state=workload.row.state as_of=workload.as_of />
        <Contract workload=workload.clone() />
        <Log entries=workload.log />
        {dialog}
    }
    .into_any()
}

/// Its heading, with the way to cancel it.
#[component]
fn Head(workload: WorkloadView, query: ParamsMap) -> impl IntoView {
    let row = &workload.row;
    let mut steps = vec![(
        Some(Address::keeping("/queue", &query, &KEPT).href()),
        "Queue".to_owned(),
    )];
    steps.extend(workload.path.iter().map(|name| (None, name.clone())));
    let path = format!("/workloads/{}", row.id);
    let cancel = Address::keeping(path, &query, &KEPT)
        .with("dialog", "cancel")
        .href();
    let by = row.submitted_by.as_ref().map(|person| format!(" by {person}"));
    let preempted = workload
        .runs
        .iter()
        .filter(|run| run.cause == Some(EndCause::Preempted))
        .count();
    let preempted = (preempted > 0).then(|| {
        let times = text::counted(preempted as u64, "time", "times");
        view! {
            <span class="badge badge--bad">
                <Glyph icon=Icon::Cut />
                {format!("Preempted {times}")}
            </span>
        }
    });
    let action = workload.may_cancel.then(|| {
        view! {
            <a class="btn btn--danger" href=cancel>
                "Cancel workload…"
            </a>
        }
    });
    view! {
        <div class="head">
            <div>
                <Crumbs steps=steps />
                <h1>{shown_name(&workload)}</h1>
                <p class="sub">
                    <span class="mono">{row.id.to_string()}</span>
                    " · submitted"
                    {by}
                    ", "
                    <time datetime=row.submitted.rfc3339()>{row.submitted.day_minutes()}</time>
                    " "
                    <Badge look=state_look(row.state) />
                    " "
                    {preempted}
                </p>
            </div>
            <div class="acts">{action}</div>
        </div>
    }
    .into_any()
}

/// One fact of the strip: what, its value, and what stands below.
#[component]
fn Fact(label: &'static str, #[prop(into)] value: String, #[prop(into)] below: String) -> impl IntoView {
    view! {
        <div>
            <dt>{label}</dt>
            <dd>
                {value}
                <small>{below}</small>
            </dd>
        </div>
    }
    .into_any()
}

/// What matters most now: until when it is protected, its place, or how it ended.
fn first_fact(workload: &WorkloadView) -> (&'static str, String, String) {
    let row = &workload.row;
    let as_of = workload.as_of;
    match row.state {
        WorkloadState::Protected => match row.protected_until {
            Some(until) => (
                "Protected",
                format!("until {}", until.near(as_of)),
                format!("{} more", Seconds(until.at().since(as_of.at()).0.max(0))),
            ),
            None => ("Protected", "yes".to_owned(), String::new()),
        },
        WorkloadState::Interruptible => (
            "Protected",
            "no longer".to_owned(),
            row.protected_until
                .map_or_else(String::new, |until| format!("passed {}", until.near(as_of))),
        ),
        WorkloadState::Unallocated => (
            "Protected",
            "never".to_owned(),
            "free; leaves at once when allocated work needs its GPUs".to_owned(),
        ),
        WorkloadState::Queued | WorkloadState::Held => (
            "Place",
            row.place
                .map_or_else(|| text::NONE.to_owned(), |place| place.to_string()),
            "in the order of the pool".to_owned(),
        ),
        state => ("State", state.label().to_owned(), String::new()),
    }
}

/// The strip of facts.
#[component]
fn Facts(workload: WorkloadView) -> impl IntoView {
    let row = &workload.row;
    let (label, value, below) = first_fact(&workload);
    let latest = row.latest_start.map(|latest| {
        view! {
            <Fact label="Latest start" value=latest.near(workload.as_of) below="a promise" />
        }
    });
    let above = workload.path.split_last().map(|(_, above)| above.join(" › "));
    view! {
        <dl class="panel facts">
            <Fact label=label value=value below=below />
            {latest}
            <Fact
                label="Size"
                value=text::gpus_on_hosts(row.gpus, row.hosts)
                below=text::topology_label(workload.topology)
            />
            <Fact
                label="Minimum runtime"
                value=text::min_runtime(row.min_runtime_s)
                below=if row.min_runtime_s == 0 { "unallocated" } else { "protected once it runs" }
            />
            <Fact
                label="Charged so far, GPU-h"
                value=workload.charged_gpu_seconds.hours_text()
                below=format!("{} held", workload.held_gpu_seconds.hours_text())
            />
            <Fact label="Pays" value=row.node_name.clone() below=above.unwrap_or_default() />
            <div>
                <dt>"Standing"</dt>
                <dd>
                    <Standings standings=workload.standings.clone() />
                    <small>"from below the root to the payer"</small>
                </dd>
            </div>
        </dl>
    }
    .into_any()
}

/// Why it is where it is.
#[component]
fn Why(workload: WorkloadView) -> impl IntoView {
    let (code, sentence) = match &workload.row.why {
        Some(why) => (why.code.label(), why.sentence.clone()),
        None => return ().into_any(),
    };
    view! {
        <Panel id="why" title="Why" aside=view! { <span class="meta">{code}</span> }.into_any()>
            <div class="body">
                <p class="effect">{sentence}</p>
            </div>
        </Panel>
    }
    .into_any()
}

/// The runs as the life line sees them; a run without GPUs yet is still waiting.
fn spans(workload: &WorkloadView) -> Vec<Span> {
    workload
        .runs
        .iter()
        .filter_map(|run| {
            Some(Span {
                assigned: run.assigned?.at().0,
                protected_until: run.protected_until.map(|at| at.at().0),
                ended: run.ended.map(|at| at.at().0),
                cause: run.cause,
                allocated: run.allocated,
            })
        })
        .collect()
}

/// The life line and its words.
#[component]
fn LifePanel(workload: WorkloadView) -> impl IntoView {
    let as_of = workload.as_of;
    let line = life_line(
        workload.row.submitted.at().0,
        &spans(&workload),
        as_of.at().0,
        workload.row.state.is_over(),
        i64::from(as_of.offset_s()),
    );
    let words = line_words(&line);
    view! {
        <Panel id="life-line" title="Life line">
            <div class="wrap" role="region" aria-label="Drawing of the life line" tabindex="0">
                <div class="body">
                    <Drawing line=line words=words hue=workload.row.hue as_of=as_of />
                </div>
            </div>
            <footer>
                "Solid: protected. Hatched: interruptible or unallocated. Red edge with notch: preempted. Dotted: queued. Outlined: protection still ahead. The same in numbers: the table of runs."
            </footer>
        </Panel>
    }
    .into_any()
}

/// The pieces of the line in words.
fn line_words(line: &LifeLine) -> String {
    if line.segments.is_empty() {
        return "Just submitted.".to_owned();
    }
    let words: Vec<String> = line
        .segments
        .iter()
        .map(|segment| {
            let span = Seconds(segment.seconds);
            match segment.kind {
                Kind::Queued => format!("queued for {span}"),
                Kind::Protected => format!("run {} protected for {span}", run_number(segment)),
                Kind::Interruptible => format!("run {} interruptible for {span}", run_number(segment)),
                Kind::Ahead => format!("protected for {span} more"),
            }
        })
        .collect();
    format!("{}.", words.join(", then "))
}

fn run_number(segment: &Segment) -> usize {
    segment.run.map_or(0, |run| run + 1)
}

/// A tick's text: the time, or at midnight the day.
fn tick_text(at: i64, as_of: Time) -> String {
    let time = Time::new(Timestamp(at), as_of.offset_s());
    let Some(time) = time else {
        return String::new();
    };
    let text = time.hours_minutes();
    if text == "00:00" { time.date() } else { text }
}

/// The line, drawn.
#[component]
fn Drawing(line: LifeLine, words: String, hue: u8, as_of: Time) -> impl IntoView {
    let ticks = line
        .ticks
        .iter()
        .map(|(at, x)| {
            view! {
                <path class="g-line" d=format!("M{} 22V104", px(*x))></path>
                <text class="m" x=px(*x) y="16">
                    {tick_text(*at, as_of)}
                </text>
            }
        })
        .collect_view();
    let segments = line
        .segments
        .iter()
        .map(|segment| view! { <Piece segment=*segment hue=hue /> })
        .collect_view();
    let protections = line
        .protections
        .iter()
        .map(|(_, x)| view! { <path class="s-text" d=format!("M{} 34V86", px(*x))></path> })
        .collect_view();
    let apart = geometry::apart(&line.preemptions, LABELLED);
    let preemptions = line
        .preemptions
        .iter()
        .map(|(run, x)| {
            let shape = format!("M{0} 40h3v40h-3zM{1} 40h12v12z", px(x - 3.0), px(x - 12.0));
            let label = apart.contains(run).then(|| {
                view! {
                    <text class="v e" x=px(*x) y="98">
                        "preempted"
                    </text>
                }
            });
            view! {
                <path class="f-bad" d=shape></path>
                {label}
            }
        })
        .collect_view();
    let now = line.now.map(|x| {
        view! {
            <path class="s-acc" d=format!("M{} 26V86", px(x))></path>
            <text class="v e" x=px(x - 4.0) y="34">
                {format!("now {}", as_of.hours_minutes())}
            </text>
        }
    });
    let width = px(geometry::WIDTH);
    view! {
        <svg
            class="tl"
            width=width.clone()
            height="108"
            viewBox=format!("0 0 {width} 108")
            role="img"
            aria-label=words
        >
            {ticks}
            {segments}
            {protections}
            {preemptions}
            {now}
        </svg>
    }
    .into_any()
}

/// The narrowest piece whose label fits.
const LABELLED: f64 = 120.0;

/// One piece of the line.
#[component]
fn Piece(segment: Segment, hue: u8) -> impl IntoView {
    let (x, width) = (px(segment.x), px(segment.width));
    let fits = segment.width >= LABELLED;
    let bar = fill_class(hue);
    match segment.kind {
        Kind::Queued => {
            let label = fits.then(|| {
                view! {
                    <text class="m" x=px(segment.x + segment.width / 2.0) y="52">
                        {format!("queued {}", Seconds(segment.seconds))}
                    </text>
                }
            });
            let path = format!("M{} 60H{}", x, px(segment.x + segment.width));
            view! {
                <path class="s-mid" d=path stroke-dasharray="2 3"></path>
                {label}
            }
            .into_any()
        }
        Kind::Protected => {
            let label = fits.then(|| {
                view! {
                    <text class=label_class(hue) x=px(segment.x + 5.0) y="64">
                        {format!("run {} · {}", run_number(&segment), Seconds(segment.seconds))}
                    </text>
                }
            });
            view! {
                <rect class=bar x=x y="40" width=width height="40"></rect>
                {label}
            }
            .into_any()
        }
        Kind::Interruptible => view! {
            <rect class=bar x=x.clone() y="40" width=width.clone() height="40"></rect>
            <rect x=x y="40" width=width height="40" fill="url(#hx)"></rect>
        }
        .into_any(),
        Kind::Ahead => view! {
            <rect class="f-tint" x=x y="40.5" width=width height="39" stroke-dasharray="3 2"></rect>
        }
        .into_any(),
    }
}

/// The runs, newest first.
#[component]
fn Runs(runs: Vec<RunView>, state: WorkloadState, as_of: Time) -> impl IntoView {
    if runs.is_empty() {
        return view! {
            <Panel id="runs" title="Runs">
                <div class="empty">
                    <strong>"It has not run yet."</strong>
                </div>
            </Panel>
        }
        .into_any();
    }
    let columns = vec![
        Column::numbers("Run", ""),
        Column::words("State", ""),
        Column::numbers("Assigned", ""),
        Column::numbers("Running", "on all hosts"),
        Column::numbers("Protected", "until"),
        Column::numbers("Released", ""),
        Column::words("Hosts", "GPUs by index"),
        Column::numbers("Charged", "GPU-h"),
    ];
    let rows = runs
        .into_iter()
        .rev()
        .map(|run| view! { <RunRow run=run state=state as_of=as_of /> })
        .collect_view();
    view! {
        <Panel id="runs" title="Runs">
            <DataTable caption="Runs, newest first" columns=columns>
                {rows}
            </DataTable>
        </Panel>
    }
    .into_any()
}

/// Hosts with their GPUs: `gpu-a01 (0–7), gpu-a02 (0, 2)`.
fn hosts_text(run: &RunView) -> String {
    let hosts: Vec<String> = run
        .hosts
        .iter()
        .map(|(host, gpus)| {
            let gpus: Vec<String> = gpus.iter().map(u8::to_string).collect();
            format!("{host} ({})", gpus.join(" "))
        })
        .collect();
    if hosts.is_empty() {
        text::NONE.to_owned()
    } else {
        hosts.join(", ")
    }
}

/// One run.
#[component]
fn RunRow(run: RunView, state: WorkloadState, as_of: Time) -> impl IntoView {
    let look = run.cause.map_or_else(|| state_look(state), cause_look);
    let protected = if run.allocated {
        text::time_or_none(run.protected_until, as_of)
    } else {
        "never".to_owned()
    };
    let hosts = hosts_text(&run);
    let preemption = run
        .preemption
        .map(|why| view! { <span class="l2nd wrap-ok">{why}</span> });
    let charged = if run.allocated {
        run.charged_gpu_seconds.hours_text()
    } else {
        "free".to_owned()
    };
    view! {
        <tr role="row">
            <th scope="row" role="rowheader" class="n">
                <span class="vh">"Run "</span>
                {run.number}
            </th>
            <td role="cell">
                <Badge look=look />
            </td>
            <td role="cell" class="n" data-l="Assigned">
                {text::time_or_none(run.assigned, as_of)}
            </td>
            <td role="cell" class="n" data-l="Running">
                {text::time_or_none(run.running, as_of)}
            </td>
            <td role="cell" class="n" data-l="Protected until">
                {protected}
            </td>
            <td role="cell" class="n" data-l="Released">
                {text::time_or_none(run.ended, as_of)}
            </td>
            <td role="cell" class="w" data-l="Hosts">
                {hosts}
                {preemption}
            </td>
            <td role="cell" class="n" data-l="Charged, GPU-h">
                {charged}
            </td>
        </tr>
    }
    .into_any()
}

/// What was asked for.
#[component]
fn Contract(workload: WorkloadView) -> impl IntoView {
    let grace = Seconds(workload.grace_s).to_string();
    view! {
        <Panel id="contract" title="What was asked for">
            <div class="body">
                <dl class="kv">
                    <dt>"Priority within its team"</dt>
                    <dd>{workload.priority}</dd>
                    <dt>"After protection"</dt>
                    <dd>{text::then_label(workload.then)}</dd>
                    <dt>"Without funds"</dt>
                    <dd>{text::fallback_label(workload.fallback)}</dd>
                    <dt>"When preempted"</dt>
                    <dd>{text::after_preemption_label(workload.after_preemption)}</dd>
                    <dt>"Between signal and kill"</dt>
                    <dd>{grace}</dd>
                    <dt>"Hosts"</dt>
                    <dd>{text::topology_label(workload.topology)}</dd>
                    {workload
                        .external_id
                        .map(|id| {
                            view! {
                                <dt>"Name in another system"</dt>
                                <dd>{id}</dd>
                            }
                        })}
                </dl>
            </div>
        </Panel>
    }
    .into_any()
}

/// What was decided about it.
#[component]
fn Log(entries: Vec<LogEntry>) -> impl IntoView {
    let rows = entries
        .into_iter()
        .map(|entry| {
            view! {
                <li>
                    <time datetime=entry.at.rfc3339()>{entry.at.day_minutes()}</time>
                    <span class="code">{entry.what}</span>
                    <span>{entry.sentence}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <Panel
            id="log"
            title="Decision log"
            aside=view! { <span class="meta">"newest first, numbers as they were"</span> }.into_any()
        >
            <ol class="log">{rows}</ol>
        </Panel>
    }
    .into_any()
}

/// What cancelling does, in a sentence.
fn cancel_effect(workload: &WorkloadView) -> String {
    let row = &workload.row;
    if row.state.is_running() || row.state == WorkloadState::Starting {
        format!(
            "Stops it after {} of grace and releases {}. The {} GPU-h charged so far stay charged; it is not queued again.",
            Seconds(workload.grace_s),
            text::gpus_on_hosts(row.gpus, row.hosts),
            workload.charged_gpu_seconds.hours_text()
        )
    } else {
        "Takes it out of the queue for good. It holds no GPUs now.".to_owned()
    }
}

/// Asks whether to cancel it, and why.
#[component]
fn CancelDialog(workload: WorkloadView, query: ParamsMap, form: Resource<Answer<FormData>>) -> impl IntoView {
    let path = format!("/workloads/{}", workload.row.id);
    let closes_to = Address::keeping(path.clone(), &query, &KEPT).href();
    let action = format!("{path}/cancel");
    let effect = cancel_effect(&workload);
    let cancel = closes_to.clone();
    view! {
        <Dialog id="cancel" title="Cancel workload" icon=Icon::X closes_to=closes_to>
            <form method="post" action=action>
                <div class="body">
                    <p class="effect">{effect}</p>
                    {move || Suspend::new(async move {
                        let refused = form.await.ok().and_then(|form| form.refused);
                        let reason = typed(refused.as_ref(), "reason", "");
                        let error = error_of(refused.as_ref(), &["reason"]);
                        view! {
                            {refused.map(|refused| view! { <Refusal problem=refused.problem /> })}
                            <TextField
                                id="cancel-reason"
                                name="reason"
                                label="Reason, kept in the decision log"
                                value=reason
                                error=error
                                required=true
                            />
                        }
                    })}
                </div>
                <footer>
                    <a class="btn" href=cancel>
                        "Keep it"
                    </a>
                    <button class="btn btn--danger">"Cancel workload"</button>
                </footer>
            </form>
        </Dialog>
    }
    .into_any()
}
