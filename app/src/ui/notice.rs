//! Loading, empty and error, which look different from each other, and the bar that says what happened.

use leptos::prelude::*;
use stint_core::api::{Code, Problem};

use super::icon::{Glyph, Icon};

/// How serious a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It tells something.
    Info,
    /// Something is wrong.
    Bad,
}

/// A bar that stays where the thing is; nothing pops up.
#[component]
pub fn Notice(
    /// How serious it is.
    tone: Tone,
    /// Its icon.
    icon: Icon,
    /// What it says.
    children: Children,
) -> impl IntoView {
    let (class, role) = match tone {
        Tone::Info => ("bar bar--info", "status"),
        Tone::Bad => ("bar bar--bad", "alert"),
    };
    view! {
        <div class=class role=role>
            <Glyph icon=icon />
            {children()}
        </div>
    }
    .into_any()
}

/// Stands where something is being read. Holds no number.
#[component]
pub fn Loading(
    /// What is being read.
    #[prop(into)]
    what: String,
) -> impl IntoView {
    view! {
        <div class="panel" aria-busy="true">
            <div class="body">
                <span class="vh" role="status">
                    {format!("Reading {what}")}
                </span>
                <span class="sk sk--l"></span>
                <span class="sk sk--m"></span>
                <span class="sk sk--l"></span>
                <span class="sk sk--s"></span>
            </div>
        </div>
    }
    .into_any()
}

/// Stands where there is nothing: a sentence, and the next step.
#[component]
pub fn Empty(
    /// What there is none of.
    #[prop(into)]
    title: String,
    /// The next step.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="empty">
            <strong>{title}</strong>
            {children()}
        </div>
    }
    .into_any()
}

/// Stands where something could not be read: what, why, the request's id, and how to try again.
#[component]
pub fn Failure(
    /// What could not be read.
    #[prop(into)]
    what: String,
    /// Why.
    problem: Problem,
) -> impl IntoView {
    let title = match problem.code {
        Code::NotFound => problem.title.clone(),
        _ => format!("Could not read {what}: {}", problem.title),
    };
    let step = match problem.code {
        Code::AuthRequired => view! { <a class="btn btn--s" href="/sign-in">"Sign in"</a> }.into_any(),
        Code::NotFound | Code::Validation => {
            view! { <a class="btn btn--s" href="/">"To the start"</a> }.into_any()
        }
        _ => view! { <a class="btn btn--s" rel="external" href="">"Try again"</a> }.into_any(),
    };
    view! {
        <section class="panel" role="alert">
            <div class="empty">
                <strong>{title}</strong>
                <span>{problem.detail}</span>
                {problem
                    .request_id
                    .map(|id| view! { <span>"Request " <code>{id}</code></span> })}
                {step}
            </div>
        </section>
    }
    .into_any()
}

/// Answers the request with the status of a problem. In the browser there is no response to set it on.
pub fn respond_with(problem: &Problem) {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        let status = axum_status(problem.status);
        response.set_status(status);
    }
    #[cfg(not(feature = "ssr"))]
    let _ = problem;
}

#[cfg(feature = "ssr")]
fn axum_status(status: u16) -> http::StatusCode {
    http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR)
}

/// A page that could not be read, with the right status. It keeps one heading of the first level.
#[component]
pub fn FailedPage(
    /// What could not be read.
    #[prop(into)]
    what: String,
    /// Why.
    problem: Problem,
) -> impl IntoView {
    respond_with(&problem);
    view! {
        <div class="head">
            <h1>{problem.title.clone()}</h1>
        </div>
        <Failure what=what problem=problem />
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::Markup as _;

    #[test]
    fn loading_empty_and_error_look_different_and_none_shows_a_number() {
        let loading = view! { <Loading what="the queue" /> }.markup();
        let empty = view! {
            <Empty title="Nothing waits.">
                <span>"Submit a workload."</span>
            </Empty>
        }
        .markup();
        let mut problem = Problem::new(Code::Internal, "The store did not answer.");
        problem.request_id = Some("r1f".to_owned());
        let failure = view! { <Failure what="the queue" problem=problem /> }.markup();
        assert!(loading.contains("aria-busy=\"true\"") && !loading.contains(char::is_numeric));
        assert!(empty.contains("Nothing waits.") && !empty.contains("role=\"alert\""));
        assert!(failure.contains("role=\"alert\"") && failure.contains("<code>r1f</code>"));
        assert!(failure.contains("Try again") && !failure.contains("Nothing waits."));
    }

    #[test]
    fn who_is_not_signed_in_is_asked_to_and_never_shown_an_empty_list() {
        let problem = Problem::new(Code::AuthRequired, "Only your own.");
        let html = view! { <Failure what="your workloads" problem=problem /> }.markup();
        assert!(html.contains("href=\"/sign-in\""));
    }
}
