//! The pages. Each asks for what its address names, shows it, and says which topics make it ask again.
//!
//! | room | page |
//! | --- | --- |
//! | [`now`] | `/`: what needs me now |
//! | [`queue`] | `/queue`: the queue in the scheduler's order |
//! | [`workload`] | `/workloads/{id}`: one workload's truth |
//! | [`submit`] | `/workloads/new`: the form for a new one |
//! | [`standing`] | `/standing`: fair share |
//! | [`budgets`] | `/budgets/{period}`: hours down the tree, and moves |
//! | [`hosts`] | `/hosts`: what runs where |
//! | [`sign_in`] | `/sign-in` |
//! | [`not_found`] | everything else |

pub mod budgets;
pub mod hosts;
pub mod not_found;
pub mod now;
pub mod queue;
pub mod sign_in;
pub mod standing;
pub mod submit;
pub mod workload;

#[cfg(feature = "ssr")]
#[cfg(test)]
mod tests;

use leptos::prelude::*;
use stint_core::api::Problem;

use crate::data::Answer;
use crate::ui::notice::{FailedPage, Loading};

/// A page's content once it is there: skeleton before, the old content while it is asked for again, and the
/// failure when it could not be read.
#[component]
pub(crate) fn Loaded<T, F, V>(
    /// What is read, in words.
    what: &'static str,
    /// The answer.
    answer: Resource<Answer<T>>,
    /// How it is shown.
    show: F,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
    F: Fn(T) -> V + Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let content = move || {
        let show = show.clone();
        Suspend::new(async move {
            match answer.await {
                Ok(content) => show(content).into_any(),
                Err(error) => view! { <FailedPage what=what problem=error.0 /> }.into_any(),
            }
        })
    };
    view! { <Transition fallback=move || view! { <Loading what=what /> }>{content}</Transition> }
}

/// A part that the address should name, as the answer of a page when it is wrong.
pub(crate) type Asked<T> = Result<T, Problem>;
