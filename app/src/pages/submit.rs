//! `/workloads/new`: the form for a new workload, by the scheduling contract.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use stint_core::api::session::{Role, Shell};
use stint_core::id::PoolId;
use stint_core::sched::contract::{AfterPreemption, Fallback, Then, Topology};
use stint_core::units::grouped;

use super::{Asked, Loaded};
use crate::address::{self, Address};
use crate::backend::RefusedForm;
use crate::data::{self, Answer, DataError, SubmitData};
use crate::text;
use crate::ui::form::{ChoiceField, Refusal, TextField, error_of, typed};
use crate::ui::frame::{Crumbs, KEPT};
use crate::ui::icon::Icon;
use crate::ui::notice::Notice;
use crate::ui::notice::Tone;
use crate::ui::table::Panel;

type Question = (Asked<Option<PoolId>>, Option<String>);

fn asked(query: &ParamsMap) -> Question {
    (address::parsed(query, "pool"), address::text(query, "refused"))
}

async fn read((pool, refused): Question) -> Answer<SubmitData> {
    data::submit_form(pool.map_err(DataError)?, refused).await
}

/// The page.
#[component]
pub fn SubmitPage() -> impl IntoView {
    let query = use_query_map();
    let answer = Resource::new_blocking(move || query.with(asked), read);
    let show = move |data| view! { <Submit data=data query=query.get_untracked() /> };
    view! {
        <Title text="Submit a workload" />
        <Loaded what="the form" answer=answer show=show />
    }
    .into_any()
}

/// The node a person most likely submits for: the first they are a researcher of, else the first of any role.
fn usual_node(shell: &Shell) -> Option<String> {
    let roles = &shell.me.as_ref()?.roles;
    let grant = roles
        .iter()
        .find(|grant| grant.role == Role::Researcher)
        .or_else(|| roles.first())?;
    Some(grant.node.to_string())
}

/// The choices of an enum: what is sent is the API's name.
fn choices<T: serde::Serialize + Copy>(values: &[T], label: fn(T) -> &'static str) -> Vec<(String, String)> {
    values
        .iter()
        .filter_map(|value| {
            let sent = leptos::serde_json::to_value(value).ok()?;
            Some((sent.as_str()?.to_owned(), label(*value).to_owned()))
        })
        .collect()
}

/// The form.
#[component]
fn Submit(data: SubmitData, query: ParamsMap) -> impl IntoView {
    let queue = Address::keeping("/queue", &query, &KEPT).href();
    let signed_out = data.shell.me.is_none().then(|| {
        let next = Address::new("/sign-in").with("next", "/workloads/new").href();
        view! {
            <Notice tone=Tone::Info icon=Icon::Person>
                <p>"Only people who are signed in submit workloads."</p>
                <a class="btn btn--s" href=next>
                    "Sign in"
                </a>
            </Notice>
        }
    });
    let refusal = data
        .form
        .refused
        .clone()
        .map(|refused| view! { <Refusal problem=refused.problem /> });
    let refused = data.form.refused.clone();
    let cancel = queue.clone();
    view! {
        <div class="head">
            <div>
                <Crumbs steps=vec![(Some(queue), "Queue".to_owned())] />
                <h1>"Submit a workload"</h1>
                <p class="sub">
                    "A gang runs whole or not at all. Once it runs on all its hosts it is protected for its minimum runtime; after that it may be asked to yield."
                </p>
            </div>
        </div>
        {signed_out}
        {refusal}
        <form class="stack" method="post" action="/workloads">
            <input type="hidden" name="idempotency_key" value=data.form.key.clone() />
            <What data=data refused=refused.clone() />
            <Terms refused=refused.clone() />
            <Simulated refused=refused />
            <div class="acts">
                <button class="btn btn--primary">"Submit"</button>
                <a class="btn" href=cancel>
                    "Back to the queue"
                </a>
            </div>
        </form>
    }
    .into_any()
}

/// What runs, where, and who pays.
#[component]
fn What(data: SubmitData, refused: Option<RefusedForm>) -> impl IntoView {
    let past = refused.clone();
    let pools = data
        .shell
        .pools
        .iter()
        .map(|pool| {
            let shown = format!(
                "{} · {} GPUs on {} hosts",
                pool.id,
                grouped(i128::from(pool.gpus)),
                pool.hosts
            );
            (pool.id.to_string(), shown)
        })
        .collect();
    let usual = usual_node(&data.shell).unwrap_or_default();
    let nodes = data
        .nodes
        .nodes
        .iter()
        .map(|node| (node.id.to_string(), node.path.join(" › ")))
        .collect();
    view! {
        <Panel id="what" title="What">
            <div class="body">
                <div class="fields">
                    <TextField
                        id="name"
                        name="name"
                        label="Name"
                        value=typed(refused.as_ref(), "name", "")
                        hint="How you and your team find it again."
                        error=error_of(refused.as_ref(), &["name"])
                        required=true
                    />
                    <ChoiceField
                        id="pool"
                        name="pool"
                        label="Pool"
                        choices=pools
                        value=typed(refused.as_ref(), "pool", data.shell.pool.as_str())
                        error=error_of(refused.as_ref(), &["pool"])
                    />
                    <ChoiceField
                        id="charged-to"
                        name="charged_to"
                        label="Who pays"
                        choices=nodes
                        value=typed(refused.as_ref(), "charged_to", &usual)
                        hint="Its standing decides when the workload's turn comes."
                        error=error_of(refused.as_ref(), &["charged_to"])
                    />
                </div>
                <Size refused=past />
            </div>
        </Panel>
    }
    .into_any()
}

/// How many GPUs, on how many hosts, and where.
#[component]
fn Size(refused: Option<RefusedForm>) -> impl IntoView {
    view! {
        <div class="fields">
            <TextField
                id="gpus"
                name="gpus"
                label="GPUs in all"
                value=typed(refused.as_ref(), "gpus", "8")
                hint="A multiple of the hosts."
                error=error_of(refused.as_ref(), &["gpus", "gpus_per_host"])
                number=true
                required=true
            />
            <TextField
                id="hosts"
                name="hosts"
                label="Hosts"
                value=typed(refused.as_ref(), "hosts", "")
                hint="Empty: as few as hold the GPUs."
                error=error_of(refused.as_ref(), &["hosts"])
                number=true
            />
            <ChoiceField
                id="topology"
                name="topology"
                label="Where its hosts lie"
                choices=choices(&[Topology::Anywhere, Topology::SameBlock], text::topology_label)
                value=typed(refused.as_ref(), "topology", "anywhere")
                error=error_of(refused.as_ref(), &["topology"])
            />
        </div>
    }
    .into_any()
}

/// Its terms: protection, and what happens after it.
#[component]
fn Terms(refused: Option<RefusedForm>) -> impl IntoView {
    view! {
        <Panel id="terms" title="Terms">
            <div class="body">
                <div class="fields">
                    <TextField
                        id="min-runtime"
                        name="min_runtime_min"
                        label="Minimum runtime, minutes"
                        value=typed(refused.as_ref(), "min_runtime_min", "120")
                        hint="0 is unallocated: free, never protected. Else 5 minutes up to the pool's cap."
                        error=error_of(refused.as_ref(), &["min_runtime_min", "min_runtime_s"])
                        number=true
                        required=true
                    />
                    <ChoiceField
                        id="then"
                        name="then"
                        label="After protection"
                        choices=choices(&[Then::Charged, Then::Unallocated, Then::Stop], text::then_label)
                        value=typed(refused.as_ref(), "then", "charged")
                        error=error_of(refused.as_ref(), &["then"])
                    />
                    <ChoiceField
                        id="fallback"
                        name="fallback"
                        label="Without funds"
                        choices=choices(&[Fallback::Unallocated, Fallback::Wait], text::fallback_label)
                        value=typed(refused.as_ref(), "fallback", "unallocated")
                        error=error_of(refused.as_ref(), &["fallback"])
                    />
                </div>
                <div class="fields">
                    <ChoiceField
                        id="after-preemption"
                        name="after_preemption"
                        label="When preempted"
                        choices=choices(
                            &[AfterPreemption::Requeue, AfterPreemption::End],
                            text::after_preemption_label,
                        )
                        value=typed(refused.as_ref(), "after_preemption", "requeue")
                        error=error_of(refused.as_ref(), &["after_preemption"])
                    />
                    <TextField
                        id="grace"
                        name="grace_s"
                        label="Between signal and kill, seconds"
                        value=typed(refused.as_ref(), "grace_s", "0")
                        hint="At most 1800; 15 when unallocated."
                        error=error_of(refused.as_ref(), &["grace_s"])
                        number=true
                    />
                    <TextField
                        id="priority"
                        name="priority"
                        label="Priority within the team"
                        value=typed(refused.as_ref(), "priority", "0")
                        hint="−1000 to 1000, higher goes first. It never moves a team."
                        error=error_of(refused.as_ref(), &["priority"])
                        number=true
                    />
                </div>
            </div>
        </Panel>
    }
    .into_any()
}

/// What only a simulated fleet asks for.
#[component]
fn Simulated(refused: Option<RefusedForm>) -> impl IntoView {
    view! {
        <Panel id="simulated" title="On a simulated fleet">
            <div class="body">
                <div class="fields">
                    <TextField
                        id="simulated-runtime"
                        name="simulated_runtime_min"
                        label="Runs for, minutes"
                        value=typed(refused.as_ref(), "simulated_runtime_min", "240")
                        hint="All runs together, before it finishes by itself. Ignored on a real fleet."
                        error=error_of(refused.as_ref(), &["simulated_runtime_min", "simulated_runtime_s"])
                        number=true
                    />
                </div>
            </div>
        </Panel>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_choice_sends_is_what_the_api_reads() {
        let then = choices(&[Then::Charged, Then::Unallocated, Then::Stop], text::then_label);
        let sent: Vec<&str> = then.iter().map(|(sent, _)| sent.as_str()).collect();
        assert_eq!(sent, ["charged", "unallocated", "stop"]);
        let after = choices(
            &[AfterPreemption::Requeue, AfterPreemption::End],
            text::after_preemption_label,
        );
        assert_eq!(after[1].0, "end");
        let topology = choices(&[Topology::Anywhere, Topology::SameBlock], text::topology_label);
        assert_eq!(topology[1].0, "same_block");
    }
}
