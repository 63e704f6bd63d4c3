//! What an address without a page answers.

use leptos::prelude::*;
use leptos_meta::Title;
use stint_core::api::{Code, Problem};

use crate::ui::notice::respond_with;

/// There is no such page.
#[component]
pub fn NotFound() -> impl IntoView {
    respond_with(&Problem::new(Code::NotFound, ""));
    view! {
        <Title text="No such page" />
        <div class="head">
            <div>
                <h1>"No such page"</h1>
                <p class="sub">"The address names no page of Stint. It may have been typed or copied wrongly."</p>
            </div>
        </div>
        <section class="panel">
            <div class="empty">
                <strong>"Where to go on"</strong>
                <span>
                    <a href="/">"What needs me now"</a>
                    " · "
                    <a href="/queue">"the queue"</a>
                    " · "
                    <a href="/standing">"standing"</a>
                    " · "
                    <a href="/budgets">"budgets"</a>
                </span>
            </div>
        </section>
    }
    .into_any()
}
