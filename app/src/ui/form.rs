//! Labelled fields with hints and errors, and dialogs.
//!
//! A dialog is part of its page (`?dialog=…`), so it works without scripts; with them it becomes modal, takes the
//! focus and closes on Escape.

use leptos::html;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;
use stint_core::api::Problem;

use super::icon::{Glyph, Icon};
use crate::backend::RefusedForm;

/// What is wrong with a field of a form that was refused: `names` are the API's names for it.
pub fn error_of(refused: Option<&RefusedForm>, names: &[&str]) -> Option<String> {
    let errors = &refused?.problem.errors;
    let error = errors
        .iter()
        .find(|error| names.contains(&error.field.as_str()))?;
    let unit = if error.field.ends_with("_s") && !error.field.ends_with("gpu_seconds") {
        " (in seconds)"
    } else {
        ""
    };
    Some(format!(
        "{} is not accepted{unit}. Accepted: {}.",
        if error.value.is_empty() {
            "Nothing"
        } else {
            &error.value
        },
        error.accepted.trim_end_matches('.')
    ))
}

/// What was typed into a field of a form that was refused, or its first value.
pub fn typed(refused: Option<&RefusedForm>, name: &str, first: &str) -> String {
    refused
        .and_then(|refused| refused.fields.get(name))
        .map_or_else(|| first.to_owned(), Clone::clone)
}

/// A field: its label, the control, a hint, and what was wrong. The control is given the ids it is described by
/// through [`Described`].
#[component]
pub fn Field(
    /// The id of the control.
    id: &'static str,
    /// Its label, with the unit.
    #[prop(into)]
    label: String,
    /// What may be put in.
    #[prop(optional, into)]
    hint: String,
    /// What was wrong.
    #[prop(optional_no_strip)]
    error: Option<String>,
    /// The control.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=id>{label}</label>
            {children()}
            {(!hint.is_empty())
                .then(|| view! { <span class="hint" id=format!("{id}-hint")>{hint}</span> })}
            {error
                .map(|error| {
                    view! {
                        <span class="err" id=format!("{id}-error")>
                            <Glyph icon=Icon::Warn small=true />
                            <span>{error}</span>
                        </span>
                    }
                })}
        </div>
    }
    .into_any()
}

/// The value of `aria-describedby` of a field's control.
pub fn described_by(id: &str, hint: bool, error: bool) -> Option<String> {
    let ids: Vec<String> = [(hint, "hint"), (error, "error")]
        .into_iter()
        .filter(|(there, _)| *there)
        .map(|(_, part)| format!("{id}-{part}"))
        .collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}

/// A field of one line.
#[component]
pub fn TextField(
    /// The id of the control.
    id: &'static str,
    /// The name it is sent under.
    name: &'static str,
    /// Its label, with the unit.
    #[prop(into)]
    label: String,
    /// What it holds.
    #[prop(into)]
    value: String,
    /// What may be put in.
    #[prop(optional, into)]
    hint: String,
    /// What was wrong.
    #[prop(optional_no_strip)]
    error: Option<String>,
    /// Whether it is a number: right-aligned, with the number keys.
    #[prop(optional)]
    number: bool,
    /// Whether something has to be put in.
    #[prop(optional)]
    required: bool,
) -> impl IntoView {
    let described = described_by(id, !hint.is_empty(), error.is_some());
    let invalid = error.is_some().then_some("true");
    view! {
        <Field id=id label=label hint=hint error=error>
            <input
                class=if number { "input n" } else { "input" }
                id=id
                name=name
                value=value
                required=required
                autocomplete="off"
                inputmode=number.then_some("numeric")
                aria-describedby=described
                aria-invalid=invalid
            />
        </Field>
    }
    .into_any()
}

/// A choice of a few.
#[component]
pub fn ChoiceField(
    /// The id of the control.
    id: &'static str,
    /// The name it is sent under.
    name: &'static str,
    /// Its label.
    #[prop(into)]
    label: String,
    /// The choices: what is sent, what is shown.
    choices: Vec<(String, String)>,
    /// What is chosen.
    #[prop(into)]
    value: String,
    /// What the choice means.
    #[prop(optional, into)]
    hint: String,
    /// What was wrong.
    #[prop(optional_no_strip)]
    error: Option<String>,
) -> impl IntoView {
    let described = described_by(id, !hint.is_empty(), error.is_some());
    let invalid = error.is_some().then_some("true");
    let choices = choices
        .into_iter()
        .map(|(sent, shown)| {
            let chosen = sent == value;
            view! { <option value=sent selected=chosen>{shown}</option> }
        })
        .collect_view();
    view! {
        <Field id=id label=label hint=hint error=error>
            <select
                class="select input"
                id=id
                name=name
                aria-describedby=described
                aria-invalid=invalid
            >
                {choices}
            </select>
        </Field>
    }
    .into_any()
}

/// Why a form was refused, above its fields.
#[component]
pub fn Refusal(
    /// Why.
    problem: Problem,
) -> impl IntoView {
    view! {
        <div class="bar bar--bad" role="alert">
            <Glyph icon=Icon::Warn />
            <p>
                <b>{problem.title}". "</b>
                {problem.detail}
            </p>
        </div>
    }
    .into_any()
}

/// A dialog over its page.
#[component]
pub fn Dialog(
    /// The id of its heading.
    id: &'static str,
    /// Its heading.
    #[prop(into)]
    title: String,
    /// Its icon.
    icon: Icon,
    /// The address of the page without it.
    #[prop(into)]
    closes_to: String,
    /// Its form.
    children: Children,
) -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move |_| {
        if let Some(dialog) = dialog.get()
            && dialog.remove_attribute("open").is_ok()
        {
            // Where a browser refuses, the dialog still stands open on the page.
            if dialog.show_modal().is_err() {
                dialog.set_open(true);
            }
        }
    });
    let navigate = use_navigate();
    let target = closes_to.clone();
    let on_cancel = move |event: leptos::ev::Event| {
        event.prevent_default();
        navigate(&target, leptos_router::NavigateOptions::default());
    };
    view! {
        <div class="scrim"></div>
        <dialog
            open=true
            class="dialog dialog--modal"
            aria-labelledby=id
            node_ref=dialog
            on:cancel=on_cancel
        >
            <header>
                <Glyph icon=icon />
                <h2 id=id>{title}</h2>
                <a class="x" href=closes_to aria-label="Close">
                    <Glyph icon=Icon::X />
                </a>
            </header>
            {children()}
        </dialog>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::markup::Markup as _;

    fn refused(field: &str, value: &str) -> RefusedForm {
        RefusedForm {
            problem: Problem::field(field, value, "0, or 300 to 28800 (the pool's cap)"),
            fields: BTreeMap::from([("name".to_owned(), "\"><script>".to_owned())]),
        }
    }

    #[test]
    fn a_refused_field_says_its_value_what_is_accepted_and_in_which_unit() {
        let refused = refused("min_runtime_s", "60");
        assert_eq!(
            error_of(Some(&refused), &["min_runtime_min", "min_runtime_s"]).as_deref(),
            Some("60 is not accepted (in seconds). Accepted: 0, or 300 to 28800 (the pool's cap).")
        );
        assert_eq!(error_of(Some(&refused), &["gpus"]), None);
        assert_eq!(error_of(None, &["gpus"]), None);
    }

    #[test]
    fn what_was_typed_is_kept_as_text() {
        let refused = refused("name", "");
        let value = typed(Some(&refused), "name", "first");
        assert_eq!(typed(Some(&refused), "other", "first"), "first");
        let error = error_of(Some(&refused), &["name"]);
        let html = view! { <TextField id="f" name="name" label="Name" value=value error=error /> }.markup();
        assert!(html.contains("<label for=\"f\">Name</label>"));
        assert!(
            html.contains("aria-invalid=\"true\"") && html.contains("aria-describedby=\"f-error\""),
            "{html}"
        );
        assert!(html.contains("&quot;") && !html.contains("<script>"), "{html}");
        assert!(html.contains("Nothing is not accepted"));
    }

    #[test]
    fn a_choice_marks_what_is_chosen() {
        let choices = vec![
            ("a".to_owned(), "A".to_owned()),
            ("b".to_owned(), "<B>".to_owned()),
        ];
        let html =
            view! { <ChoiceField id="c" name="then" label="Then" choices=choices value="b" /> }.markup();
        assert_eq!(html.matches("selected").count(), 1);
        assert!(html.contains("&lt;B&gt;"));
    }
}
