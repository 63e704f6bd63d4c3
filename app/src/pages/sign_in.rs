//! `/sign-in`: who may sign in here, and what each may do.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use stint_core::api::session::{Me, Role};

use super::Loaded;
use crate::address;
use crate::data;
use crate::ui::icon::{Glyph, Icon};
use crate::ui::notice::{Empty, Notice, Tone};
use crate::ui::table::Panel;

/// What a role lets a person do, in a sentence.
pub fn may_do(role: Role) -> &'static str {
    match role {
        Role::Viewer => "sees the tree, shares and standing",
        Role::Researcher => "submits workloads and cancels own ones",
        Role::Manager => "divides and moves hours, and cancels what is below",
        Role::OnCall => "approves drains of sick hosts",
        Role::Auditor => "reads the ledger and the audit log",
        Role::Service => "submits and cancels within its scope",
        Role::PlatformAdmin => "runs pools, calendar and imports; moves no hours",
    }
}

/// The page.
#[component]
pub fn SignInPage() -> impl IntoView {
    let query = use_query_map();
    let answer = Resource::new_blocking(
        || (),
        |()| async {
            let shell = data::shell(None, None).await?;
            Ok((data::sign_in_choices().await?, shell.me))
        },
    );
    let show = move |(choices, me)| {
        let next = query.with_untracked(|query| address::local_target(address::text(query, "next")));
        view! { <Choices choices=choices me=me next=next /> }
    };
    view! {
        <Title text="Sign in" />
        <Loaded what="who may sign in" answer=answer show=show />
    }
    .into_any()
}

/// The people.
#[component]
fn Choices(choices: Vec<Me>, me: Option<Me>, next: String) -> impl IntoView {
    let signed_in = me.as_ref().map(|me| {
        let name = me.name.clone();
        view! {
            <Notice tone=Tone::Info icon=Icon::Person>
                <p>
                    "Signed in as " <b>{name}</b> ". Choosing somebody else signs you out first."
                </p>
                <a class="btn btn--s" href="/">
                    "To the start"
                </a>
            </Notice>
        }
    });
    let content = if choices.is_empty() {
        view! {
            <Empty title="Nobody can sign in here by one click.">
                <span>"This server offers no people to choose from; ask whoever operates it how to sign in."</span>
            </Empty>
        }
        .into_any()
    } else {
        let people = choices
            .into_iter()
            .map(|person| {
                let is_me = me.as_ref().is_some_and(|me| me.person == person.person);
                view! { <Person person=person is_me=is_me next=next.clone() /> }
            })
            .collect_view();
        view! { <ul class="people">{people}</ul> }.into_any()
    };
    view! {
        <div class="head">
            <div>
                <h1>"Sign in"</h1>
                <p class="sub">
                    "This server runs a demonstration and listens to this machine only. Choose whose eyes to look through; every role sees and may do something else."
                </p>
            </div>
        </div>
        {signed_in}
        <Panel id="people" title="People">
            {content}
        </Panel>
    }
    .into_any()
}

/// One person with what they may do.
#[component]
fn Person(person: Me, is_me: bool, next: String) -> impl IntoView {
    let id = person.person.to_string();
    let roles = person
        .roles
        .into_iter()
        .map(|grant| {
            let what = format!("{} of {}", grant.role.label(), grant.node_name);
            view! {
                <li>
                    <b>{what}</b>
                    {format!(": {}", may_do(grant.role))}
                </li>
            }
        })
        .collect_view();
    let label = format!("Sign in as {}", person.name);
    view! {
        <li>
            <div>
                <p class="name">
                    <Glyph icon=Icon::Person />
                    {person.name}
                    {is_me
                        .then(|| {
                            view! {
                                <span class="badge badge--off">
                                    <Glyph icon=Icon::Check />
                                    "Signed in"
                                </span>
                            }
                        })}
                </p>
                <ul class="q2">{roles}</ul>
            </div>
            <form method="post" action="/sign-in">
                <input type="hidden" name="person" value=id />
                <input type="hidden" name="next" value=next />
                <button class="btn">{label}</button>
            </form>
        </li>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_has_its_own_words() {
        let shown = Role::ALL.map(|role| format!("{}: {}", role.label(), may_do(role)));
        assert_eq!(
            shown,
            [
                "viewer: sees the tree, shares and standing",
                "researcher: submits workloads and cancels own ones",
                "manager: divides and moves hours, and cancels what is below",
                "on-call: approves drains of sick hosts",
                "auditor: reads the ledger and the audit log",
                "service: submits and cancels within its scope",
                "operator: runs pools, calendar and imports; moves no hours"
            ]
        );
    }
}
