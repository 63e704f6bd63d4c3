//! Stint's screens: rendered on the server, hydrated in the browser, usable without scripts.
//!
//! | room | what it holds |
//! | --- | --- |
//! | [`backend`] | the use cases as the screens ask for them |
//! | [`data`] | the server functions: reads only |
//! | [`live`] | when to ask again |
//! | [`address`], [`text`] | links, numbers and words |
//! | [`ui`] | the parts that pages are made of |
//! | [`chart`] | geometry in numbers, and its drawing |
//! | [`pages`] | the pages |
//!
//! The address is the state of a page. Changes are plain forms that are posted to the server, which answers by
//! sending the browser on; nothing here changes anything.

#![recursion_limit = "256"]

pub mod address;
pub mod backend;
pub mod chart;
pub mod data;
pub mod live;
#[cfg(test)]
mod markup;
pub mod pages;
pub mod text;
pub mod ui;

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::{SsrMode, path};

use crate::live::Live;
use crate::pages::budgets::BudgetsPage;
use crate::pages::hosts::HostsPage;
use crate::pages::not_found::NotFound;
use crate::pages::now::NowPage;
use crate::pages::queue::QueueScreen;
use crate::pages::sign_in::SignInPage;
use crate::pages::standing::StandingPage;
use crate::pages::submit::SubmitPage;
use crate::pages::workload::WorkloadScreen;
use crate::ui::frame::{Frame, Layout};

/// The document around the app.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <link rel="stylesheet" href="/pkg/stint.css" />
                <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                <AutoReload options=options.clone() />
                <HydrationScripts options=options />
                <leptos_meta::MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// The app: its pages.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    Live::provide();
    Effect::new(|_| mark_as_hydrated());
    view! {
        <Title formatter=|title| format!("{title} · Stint") />
        <Router>
            <Routes fallback=|| {
                view! {
                    <Frame>
                        <NotFound />
                    </Frame>
                }
            }>
                <ParentRoute path=path!("") view=Layout ssr=SsrMode::Async>
                    <Route path=path!("/") view=NowPage ssr=SsrMode::Async />
                    <Route path=path!("/queue") view=QueueScreen ssr=SsrMode::Async />
                    <Route path=path!("/workloads/new") view=SubmitPage ssr=SsrMode::Async />
                    <Route path=path!("/workloads/:id") view=WorkloadScreen ssr=SsrMode::Async />
                    <Route path=path!("/standing") view=StandingPage ssr=SsrMode::Async />
                    <Route path=path!("/budgets") view=BudgetsPage ssr=SsrMode::Async />
                    <Route path=path!("/budgets/:period") view=BudgetsPage ssr=SsrMode::Async />
                    <Route path=path!("/hosts") view=HostsPage ssr=SsrMode::Async />
                    <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async />
                </ParentRoute>
            </Routes>
        </Router>
    }
}

/// Tells tests, and nobody else, that listeners are attached. Runs in the browser only, as every effect does.
fn mark_as_hydrated() {
    if let Some(root) = document().document_element() {
        // A browser refuses only names that are no attribute names.
        let _ = root.set_attribute("data-hydrated", "");
    }
}

/// Brings the page in the browser to life.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(App);
}
