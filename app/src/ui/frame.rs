//! What surrounds every page: brand, pool and period pickers, the time everything is true for, who is signed in,
//! navigation, and the bar that says when the data may be old.

use leptos::prelude::*;
use leptos_router::components::Outlet;
use leptos_router::hooks::{use_location, use_query_map};
use leptos_router::params::ParamsMap;
use stint_core::api::session::{Me, Shell};
use stint_core::units::grouped;

use super::icon::{Glyph, Icon, Sprite};
use super::notice::{Failure, Notice, Tone};
use crate::address::{self, Address};
use crate::data;
use crate::live::use_live;

/// The parts of an address that every page keeps.
pub const KEPT: [&str; 2] = ["pool", "period"];

/// The frame with the page in it.
#[component]
pub fn Layout() -> impl IntoView {
    view! {
        <Frame>
            <Outlet />
        </Frame>
    }
    .into_any()
}

/// The frame.
#[component]
pub fn Frame(
    /// The page.
    children: Children,
) -> impl IntoView {
    let query = use_query_map();
    let live = use_live();
    let asked = Memo::new(move |_| {
        query.with(|query| {
            (
                address::parsed(query, "pool").ok().flatten(),
                address::parsed(query, "period").ok().flatten(),
            )
        })
    });
    let shell = Resource::new_blocking(
        move || (asked.get(), live.version()),
        |((pool, period), _)| data::shell(pool, period),
    );
    let bars = move || {
        Suspend::new(async move {
            match shell.await {
                Ok(shell) => {
                    view! { <TopBar shell=shell.clone() /><Navigation shell=Some(shell) /> }.into_any()
                }
                Err(error) => view! {
                    <div class="top">
                        <Failure what="who is signed in" problem=error.0 />
                    </div>
                    <Navigation shell=None />
                }
                .into_any(),
            }
        })
    };
    view! {
        <Sprite />
        <a class="skip" href="#main">
            "Skip to content"
        </a>
        <header class="frame">
        <a class="brand" href="/">
            <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" fill="currentColor">
                <rect x="1" y="2.5" width="18" height="4" rx="1"></rect>
                <rect x="1" y="8" width="11" height="4" rx="1"></rect>
                <rect x="1" y="13.5" width="6" height="4" rx="1"></rect>
                <rect x="13.5" y="8" width="5.5" height="4" rx="1" opacity=".45"></rect>
            </svg>
            "Stint"
        </a>
        <Transition fallback=|| {
            view! { <div class="top" aria-busy="true"></div> }
        }>{bars}</Transition>
        </header>
        <main id="main" tabindex="-1">
            {move || live.is_stale().then(|| view! { <Stale /> })}
            {children()}
        </main>
    }
    .into_any()
}

/// Says that nothing was heard from the server for a while.
#[component]
fn Stale() -> impl IntoView {
    view! {
        <Notice tone=Tone::Bad icon=Icon::Warn>
            <p>
                <b>"The data may be old."</b>
                " The server has sent nothing for more than two heartbeats; this page asks again by itself."
            </p>
            <a class="btn btn--s" rel="external" href="">
                "Reload"
            </a>
        </Notice>
    }
    .into_any()
}

/// Where the pickers lead: to the same page, but on the page of budgets the period is in the path.
fn picker_target(path: &str) -> String {
    if path.starts_with("/budgets") {
        "/budgets".to_owned()
    } else {
        path.to_owned()
    }
}

/// The bar at the top.
#[component]
fn TopBar(
    /// What surrounds the page.
    shell: Shell,
) -> impl IntoView {
    let location = use_location();
    let query = use_query_map();
    let path = location.pathname;
    let target = move || picker_target(&path.get());
    let next = move || {
        let search = location.search.get();
        let mark = if search.is_empty() || search.starts_with('?') {
            ""
        } else {
            "?"
        };
        format!("{}{mark}{search}", path.get())
    };
    let pools = shell
        .pools
        .iter()
        .map(|pool| {
            let shown = format!("{} · {} GPUs", pool.id, grouped(i128::from(pool.gpus)));
            view! { <option value=pool.id.to_string() selected=pool.id == shell.pool>{shown}</option> }
        })
        .collect_view();
    let periods = shell
        .periods
        .iter()
        .map(|period| {
            let id = period.id.to_string();
            let shown = id.clone();
            view! { <option value=id selected=period.id == shell.period>{shown}</option> }
        })
        .collect_view();
    let kept = move || address::text(&query.get(), "unit");
    view! {
        <div class="top">
            <form class="picks" method="get" action=target aria-label="Pool and period">
                <label class="pick">
                    <span>"Pool"</span>
                    <select class="select" name="pool">
                        {pools}
                    </select>
                </label>
                <label class="pick pick--s">
                    <span>"Period"</span>
                    <select class="select" name="period">
                        {periods}
                    </select>
                </label>
                {move || kept().map(|unit| view! { <input type="hidden" name="unit" value=unit /> })}
                <button class="btn btn--s">"Show"</button>
            </form>
            <AsOf shell=shell.clone() />
            <SignedIn me=shell.me.clone() next=Signal::derive(next) />
        </div>
    }
    .into_any()
}

/// The time that everything on the page is true for, its zone, and how fast that clock runs.
#[component]
fn AsOf(
    /// What surrounds the page.
    shell: Shell,
) -> impl IntoView {
    view! {
        <p class="asof">
            "As of " <b><time datetime=shell.as_of.rfc3339()>{shell.as_of.day_seconds()}</time></b> " "
            <abbr title=shell.zone.clone()>{shell.zone_short.clone()}</abbr>
            {(shell.speed > 1)
                .then(|| {
                    view! {
                        <span class="speed" title="So many seconds of this clock pass in a second">
                            {format!("× {}", shell.speed)}
                            <span class="vh">" real time"</span>
                        </span>
                    }
                })}
        </p>
    }
    .into_any()
}

/// A person's roles in words: `manager of Perception, on-call of Institute`.
pub fn roles_text(me: &Me) -> String {
    let roles: Vec<String> = me
        .roles
        .iter()
        .map(|grant| format!("{} of {}", grant.role.label(), grant.node_name))
        .collect();
    roles.join(", ")
}

/// Who is signed in, or the way to sign in.
#[component]
fn SignedIn(
    /// Who.
    me: Option<Me>,
    /// Where signing in returns to.
    next: Signal<String>,
) -> impl IntoView {
    match me {
        None => {
            let href = move || Address::new("/sign-in").with("next", next.get()).href();
            view! {
                <p class="me">
                    <Glyph icon=Icon::Person />
                    <a href=href>"Sign in"</a>
                </p>
            }
            .into_any()
        }
        Some(me) => {
            let roles = roles_text(&me);
            view! {
                <form class="me" method="post" action="/sign-out">
                    <Glyph icon=Icon::Person />
                    <span title=roles.clone()>
                        {me.name} <span class="long">{format!(" · {roles}")}</span>
                    </span>
                    <button class="btn btn--s btn--quiet">"Sign out"</button>
                </form>
            }
            .into_any()
        }
    }
}

/// An entry of the navigation.
struct Entry {
    path: &'static str,
    icon: Icon,
    word: &'static str,
}

const ENTRIES: [Entry; 5] = [
    Entry {
        path: "/",
        icon: Icon::Now,
        word: "Now",
    },
    Entry {
        path: "/queue",
        icon: Icon::Queue,
        word: "Queue",
    },
    Entry {
        path: "/standing",
        icon: Icon::Scale,
        word: "Standing",
    },
    Entry {
        path: "/budgets",
        icon: Icon::Budget,
        word: "Budgets",
    },
    Entry {
        path: "/hosts",
        icon: Icon::Host,
        word: "Hosts",
    },
];

/// Whether a page belongs to an entry. Workloads belong to the queue.
fn is_at(entry: &str, path: &str) -> bool {
    match entry {
        "/" => path == "/",
        "/queue" => path.starts_with("/queue") || path.starts_with("/workloads"),
        other => path.starts_with(other),
    }
}

/// The address of an entry: it keeps the pool, and the period.
fn entry_href(entry: &str, query: &ParamsMap) -> String {
    Address::keeping(entry, query, &KEPT).href()
}

/// The navigation.
#[component]
fn Navigation(
    /// What surrounds the page, where it is known.
    shell: Option<Shell>,
) -> impl IntoView {
    let path = use_location().pathname;
    let query = use_query_map();
    let queued = shell.map(|shell| shell.queued);
    let entries = ENTRIES
        .iter()
        .map(|entry| {
            let current = move || is_at(entry.path, &path.get()).then_some("page");
            let href = move || query.with(|query| entry_href(entry.path, query));
            let count = queued.filter(|_| entry.path == "/queue").map(|queued| {
                view! {
                    <span class="count">
                        {grouped(i128::from(queued))} <span class="vh">" queued"</span>
                    </span>
                }
            });
            view! {
                <li>
                    <a href=href aria-current=current>
                        <Glyph icon=entry.icon />
                        <span>{entry.word}</span>
                        {count}
                    </a>
                </li>
            }
        })
        .collect_view();
    view! {
        <nav class="nav" aria-label="Main">
            <ul>{entries}</ul>
        </nav>
    }
    .into_any()
}

/// The names on the way down to something, as a path above a heading.
#[component]
pub fn Crumbs(
    /// The steps: where each leads, if anywhere, and its name.
    steps: Vec<(Option<String>, String)>,
) -> impl IntoView {
    let steps = steps
        .into_iter()
        .map(|(href, name)| match href {
            Some(href) => view! { <li><a href=href>{name}</a></li> }.into_any(),
            None => view! { <li>{name}</li> }.into_any(),
        })
        .collect_view();
    view! {
        <nav aria-label="Path">
            <ol class="crumbs">{steps}</ol>
        </nav>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_lights_up_exactly_one_entry() {
        for path in [
            "/",
            "/queue",
            "/workloads/w-1",
            "/standing",
            "/budgets/2026-Q4",
            "/hosts",
        ] {
            let lit: Vec<&str> = ENTRIES
                .iter()
                .filter(|e| is_at(e.path, path))
                .map(|e| e.word)
                .collect();
            assert_eq!(lit.len(), 1, "{path}: {lit:?}");
        }
        assert!(ENTRIES.iter().all(|entry| !is_at(entry.path, "/sign-in")));
    }

    #[test]
    fn navigation_keeps_the_pool_and_the_pickers_find_the_period() {
        let mut query = ParamsMap::new();
        query.insert("pool", "cpu".to_owned());
        query.insert("reason", "funds".to_owned());
        assert_eq!(entry_href("/hosts", &query), "/hosts?pool=cpu");
        assert_eq!(picker_target("/budgets/2026-Q4"), "/budgets");
        assert_eq!(picker_target("/queue"), "/queue");
    }
}
