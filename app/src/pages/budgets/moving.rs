//! The dialog that moves hours from one node to another, with before and after for every node it touches.
//!
//! Without scripts the effect is shown by a button that asks for the same page with the fields in the address;
//! with them it follows the typing. Both compute it by the ledger's own rules, from the tree that is on the page.

use leptos::html;
use leptos::prelude::*;
use leptos_router::params::ParamsMap;
use stint_core::api::Problem;
use stint_core::api::budgets::{BudgetRow, BudgetTree};
use stint_core::ledger::preview::{MoveEffect, NodeChange, preview};
use stint_core::units::GpuSeconds;

use super::page_address;
use crate::address;
use crate::backend::RefusedForm;
use crate::data::{Answer, FormData};
use crate::text;
use crate::ui::form::{ChoiceField, Dialog, Field, Refusal, TextField, described_by, error_of, typed};
use crate::ui::icon::Icon;
use crate::ui::table::{Column, Heads};

/// What a person has typed into the dialog since it was opened. It outlives the redrawing of the page when the
/// budgets change meanwhile.
#[derive(Clone, Copy)]
pub struct Typed {
    from: RwSignal<Option<String>>,
    to: RwSignal<Option<String>>,
    hours: RwSignal<Option<String>>,
}

impl Typed {
    /// Nothing typed yet; and again nothing whenever the dialog is opened for something else.
    pub fn new(query: Memo<ParamsMap>) -> Self {
        let typed = Self {
            from: RwSignal::new(None),
            to: RwSignal::new(None),
            hours: RwSignal::new(None),
        };
        let opened = Memo::new(move |_| {
            query.with(|query| ["dialog", "from", "to", "hours"].map(|name| address::text(query, name)))
        });
        Effect::new(move |_| {
            opened.track();
            typed.from.set(None);
            typed.to.set(None);
            typed.hours.set(None);
        });
        typed
    }
}

/// What the dialog starts with: what was refused, else what the address says, else the first node that has hours to
/// give and the first that is not divided further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    from: String,
    to: String,
    hours: String,
    reason: String,
}

impl Start {
    /// The start of a dialog on a tree.
    pub fn new(tree: &BudgetTree, query: &ParamsMap, refused: Option<&RefusedForm>) -> Self {
        let value = |name: &str| typed(refused, name, &address::text(query, name).unwrap_or_default());
        let or_first = |named: String, other: Option<&str>, likely: fn(&BudgetRow) -> bool| {
            if !named.is_empty() {
                return named;
            }
            let open = || {
                let rows = tree.rows.iter().filter(|row| row.may_move);
                rows.filter(|row| Some(row.node.as_str()) != other)
            };
            let first = open().find(|row| likely(row)).or_else(|| open().next());
            first.map(|row| row.node.to_string()).unwrap_or_default()
        };
        let from = or_first(value("from"), None, |row| {
            row.movable_gpu_seconds > GpuSeconds::ZERO
        });
        Self {
            to: or_first(value("to"), Some(&from), |row| row.children == 0),
            from,
            hours: value("hours"),
            reason: value("reason"),
        }
    }
}

/// The nodes that hours may be moved between, by their path.
fn choices(tree: &BudgetTree) -> Vec<(String, String)> {
    let mut path: Vec<&str> = Vec::new();
    let mut choices = Vec::new();
    for row in &tree.rows {
        path.truncate(usize::try_from(row.depth).unwrap_or(0));
        path.push(&row.name);
        if row.may_move {
            let shown = if path.len() > 1 {
                path[1..].join(" › ")
            } else {
                row.name.clone()
            };
            choices.push((row.node.to_string(), shown));
        }
    }
    choices
}

/// What a move would do: nothing to say before an amount is there, a problem, or the effect.
pub fn effect(tree: &BudgetTree, from: &str, to: &str, hours: &str) -> Option<Result<MoveEffect, Problem>> {
    if hours.trim().is_empty() {
        return None;
    }
    let id = |name: &str, text: &str| {
        text.parse()
            .map_err(|error: stint_core::id::IdError| Problem::field(name, text, error.to_string()))
    };
    let read = || preview(tree, &id("from", from)?, &id("to", to)?, hours);
    Some(read())
}

/// What the button says: it repeats the amount.
fn button_text(hours: &str) -> String {
    match GpuSeconds::from_hours_text(hours) {
        Ok(amount) if amount > GpuSeconds::ZERO => format!("Move {} GPU-h", amount.hours_text()),
        _ => "Move hours".to_owned(),
    }
}

/// How much a node can give, in a sentence.
fn can_give(row: Option<&BudgetRow>) -> String {
    row.map_or_else(
        || "Two decimals at most.".to_owned(),
        |row| {
            format!(
                "{} can give at most {} GPU-h: {} of its own {} have accrued. Two decimals at most.",
                row.name,
                row.movable_gpu_seconds.hours_text(),
                row.own_accrued_gpu_seconds.hours_text(),
                row.own_gpu_seconds.hours_text()
            )
        },
    )
}

/// The dialog.
#[component]
pub fn MoveDialog(
    tree: BudgetTree,
    query: ParamsMap,
    form: Resource<Answer<FormData>>,
    typed: Typed,
) -> impl IntoView {
    let closes_to = page_address(&tree, &query).href();
    let back = closes_to.clone();
    let content = move || {
        let (tree, query, back) = (tree.clone(), query.clone(), back.clone());
        Suspend::new(async move {
            match form.await {
                Ok(form) => {
                    view! { <MoveForm tree=tree query=query form=form typed=typed back=back /> }.into_any()
                }
                Err(error) => view! { <div class="body"><Refusal problem=error.0 /></div> }.into_any(),
            }
        })
    };
    view! {
        <Dialog id="move" title="Move hours" icon=Icon::Move closes_to=closes_to>
            {content}
        </Dialog>
    }
    .into_any()
}

/// The dialog's form.
#[component]
fn MoveForm(tree: BudgetTree, query: ParamsMap, form: FormData, typed: Typed, back: String) -> impl IntoView {
    let refused = form.refused;
    let start = Start::new(&tree, &query, refused.as_ref());
    let page = format!("/budgets/{}", tree.period.id);
    let action = format!("{page}/transfers");
    let preview_of = tree.clone();
    let now = {
        let start = start.clone();
        move || {
            let or = |typed: Option<String>, first: &str| typed.unwrap_or_else(|| first.to_owned());
            (
                or(typed.from.get(), &start.from),
                or(typed.to.get(), &start.to),
                or(typed.hours.get(), &start.hours),
            )
        }
    };
    let now = Memo::new(move |_| now());
    let shown = move || {
        let (from, to, hours) = now.get();
        effect(&preview_of, &from, &to, &hours).map(|effect| view! { <Effects effect=effect /> })
    };
    let kept = ["unit", "closed"]
        .into_iter()
        .filter_map(|name| Some((name, address::text(&query, name)?)))
        .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
        .collect_view();
    let reason_error = error_of(refused.as_ref(), &["reason"]);
    view! {
        <form method="post" action=action>
            <input type="hidden" name="idempotency_key" value=form.key />
            <input type="hidden" name="pool" value=tree.pool.to_string() />
            <div class="body">
                {refused.clone().map(|refused| view! { <Refusal problem=refused.problem /> })}
                <Amounts tree=tree start=start.clone() refused=refused now=now typed=typed />
                <div aria-live="polite" class="stack">
                    {shown}
                </div>
                <TextField
                    id="move-reason"
                    name="reason"
                    label="Reason, kept in the ledger"
                    value=start.reason
                    error=reason_error
                    required=true
                />
            </div>
            <footer>
                {kept}
                <a class="btn" href=back>
                    "Cancel"
                </a>
                <button
                    class="btn"
                    formmethod="get"
                    formaction=page
                    formnovalidate=true
                    name="dialog"
                    value="move"
                >
                    "Show effect"
                </button>
                <button class="btn btn--primary">{move || button_text(&now.get().2)}</button>
            </footer>
        </form>
    }
    .into_any()
}

/// From, to, and how much.
#[component]
fn Amounts(
    tree: BudgetTree,
    start: Start,
    refused: Option<RefusedForm>,
    now: Memo<(String, String, String)>,
    typed: Typed,
) -> impl IntoView {
    let wrong = |names: &[&str]| error_of(refused.as_ref(), names);
    let (from_error, to_error) = (wrong(&["from"]), wrong(&["to"]));
    let error = wrong(&["hours", "amount_gpu_seconds"]);
    let choices = choices(&tree);
    let hint = move || {
        let (from, _, _) = now.get();
        can_give(tree.rows.iter().find(|row| row.node.as_str() == from))
    };
    view! {
        <div class="fields">
            <ChoiceField
                id="move-from"
                name="from"
                label="From"
                choices=choices.clone()
                value=start.from
                error=from_error
                on:change=move |event| typed.from.set(Some(event_target_value(&event)))
            />
            <ChoiceField
                id="move-to"
                name="to"
                label="To"
                choices=choices
                value=start.to
                error=to_error
                on:change=move |event| typed.to.set(Some(event_target_value(&event)))
            />
            <HoursField value=start.hours error=error typed=typed />
        </div>
        <p class="field">
            <span class="hint" id="move-hours-hint">
                {hint}
            </span>
        </p>
    }
    .into_any()
}

/// How much.
#[component]
fn HoursField(
    value: String,
    #[prop(optional_no_strip)] error: Option<String>,
    typed: Typed,
) -> impl IntoView {
    let described = described_by("move-hours", true, error.is_some());
    let invalid = error.is_some().then_some("true");
    let field = NodeRef::<html::Input>::new();
    // What was typed before the page came to life, or was put back by the browser, counts as typed.
    let first = value.clone();
    Effect::new(move |_| {
        if let Some(value) = field.get().map(|input| input.value())
            && value != first
            && typed.hours.get_untracked().is_none()
        {
            typed.hours.set(Some(value));
        }
    });
    view! {
        <Field id="move-hours" label="Hours, GPU-h" error=error>
            <input
                class="input n"
                id="move-hours"
                name="hours"
                value=value
                inputmode="decimal"
                autocomplete="off"
                required=true
                aria-describedby=described
                aria-invalid=invalid
                node_ref=field
                on:input=move |event| typed.hours.set(Some(event_target_value(&event)))
            />
        </Field>
    }
    .into_any()
}

/// What the move does, in a sentence and in numbers; or why it can't be done.
#[component]
fn Effects(effect: Result<MoveEffect, Problem>) -> impl IntoView {
    match effect {
        Err(problem) => view! { <Refusal problem=problem /> }.into_any(),
        Ok(effect) => {
            let sentence = format!("{} No running workload changes.", effect.sentence());
            let rows = effect
                .changes
                .into_iter()
                .map(|change| view! { <Change change=change /> })
                .collect_view();
            view! {
                <p class="effect">{sentence}</p>
                <div class="wrap" role="region" aria-label="Before and after" tabindex="0">
                    <table class="tbl" role="table">
                        <caption class="vh">"Before and after"</caption>
                        <Heads columns=vec![
                            Column::words("Node", ""),
                            Column::numbers("Granted", "before, GPU-h"),
                            Column::numbers("Granted", "after, GPU-h"),
                            Column::numbers("Rate", "before, GPUs"),
                            Column::numbers("Rate", "after, GPUs"),
                        ] />
                        <tbody role="rowgroup">{rows}</tbody>
                    </table>
                </div>
            }
            .into_any()
        }
    }
}

/// One node before and after.
#[component]
fn Change(change: NodeChange) -> impl IntoView {
    view! {
        <tr role="row">
            <th role="rowheader" scope="row">
                {change.name}
            </th>
            <td role="cell" class="n">{change.granted_before.hours_text()}</td>
            <td role="cell" class="n">
                <b>{change.granted_after.hours_text()}</b>
            </td>
            <td role="cell" class="n">{text::rate(change.rate_before)}</td>
            <td role="cell" class="n">
                <b>{text::rate(change.rate_after)}</b>
            </td>
        </tr>
    }
    .into_any()
}
