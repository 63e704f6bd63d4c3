//! Panels, and tables that turn into lists on narrow screens.

use leptos::prelude::*;

use super::icon::{Glyph, Icon};

/// A titled area.
#[component]
pub fn Panel(
    /// The id of its heading.
    id: &'static str,
    /// Its heading.
    #[prop(into)]
    title: String,
    /// What stands at the right of the heading.
    #[prop(optional)]
    aside: Option<AnyView>,
    /// What it holds.
    children: Children,
) -> impl IntoView {
    view! {
        <section class="panel" aria-labelledby=id>
            <header>
                <h2 id=id>{title}</h2>
                {aside}
            </header>
            {children()}
        </section>
    }
    .into_any()
}

/// How a column lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words, from the left.
    Start,
    /// Numbers, to the right.
    End,
    /// Drawings, in the middle.
    Middle,
}

/// A column's head: what it shows and in which unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    label: String,
    unit: String,
    align: Align,
    sorts: bool,
    spoken_only: bool,
}

impl Column {
    fn new(label: impl Into<String>, unit: impl Into<String>, align: Align) -> Self {
        Self {
            label: label.into(),
            unit: unit.into(),
            align,
            sorts: false,
            spoken_only: false,
        }
    }

    /// A column of words, with what is in its second line.
    pub fn words(label: impl Into<String>, second: impl Into<String>) -> Self {
        Self::new(label, second, Align::Start)
    }

    /// A column of numbers in a unit.
    pub fn numbers(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self::new(label, unit, Align::End)
    }

    /// A column of drawings.
    pub fn drawings(unit: impl Into<String>) -> Self {
        Self::new("", unit, Align::Middle)
    }

    /// A column of buttons, whose head is only spoken.
    pub fn actions(label: impl Into<String>) -> Self {
        Self {
            spoken_only: true,
            ..Self::new(label, "", Align::End)
        }
    }

    /// The same, as the one that sorts the rows.
    #[must_use]
    pub fn sorting(mut self) -> Self {
        self.sorts = true;
        self
    }
}

/// The heads of a table's columns.
#[component]
pub fn Heads(
    /// The columns.
    columns: Vec<Column>,
) -> impl IntoView {
    let heads = columns
        .into_iter()
        .map(|column| {
            let class = match column.align {
                Align::Start => "",
                Align::End => "n",
                Align::Middle => "c",
            };
            let label_class = if column.spoken_only { "vh" } else { "" };
            view! {
                <th
                    scope="col"
                    role="columnheader"
                    class=class
                    aria-sort=column.sorts.then_some("ascending")
                >
                    <span class=label_class>{column.label}</span>
                    {column.sorts.then(|| view! { <Glyph icon=Icon::Up /> })}
                    {(!column.unit.is_empty()).then(|| view! { <span class="u">{column.unit}</span> })}
                </th>
            }
        })
        .collect_view();
    view! {
        <thead role="rowgroup">
            <tr role="row">{heads}</tr>
        </thead>
    }
    .into_any()
}

/// A table; on narrow screens each row becomes a small list. Roles are written out because a change of
/// `display` can drop what a table means.
#[component]
pub fn DataTable(
    /// What it is, for those who can't see where it stands.
    #[prop(into)]
    caption: String,
    /// Its columns.
    columns: Vec<Column>,
    /// Its last rows.
    #[prop(optional)]
    foot: Option<AnyView>,
    /// Its rows.
    children: Children,
) -> impl IntoView {
    let label = caption.clone();
    view! {
        <div class="wrap" role="region" aria-label=label tabindex="0">
            <table class="tbl tbl--list" role="table">
                <caption class="vh">{caption}</caption>
                <Heads columns=columns />
                <tbody role="rowgroup">{children()}</tbody>
                {foot.map(|foot| view! { <tfoot role="rowgroup">{foot}</tfoot> })}
            </table>
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::Markup as _;

    #[test]
    fn a_table_has_a_caption_a_head_with_units_and_a_body() {
        let columns = vec![
            Column::numbers("Owed", "GPU-h").sorting(),
            Column::actions("Move"),
        ];
        let html = view! {
            <DataTable caption="What <is> owed" columns=columns>
                <tr role="row">
                    <td role="cell">"1"</td>
                </tr>
            </DataTable>
        }
        .markup();
        assert!(html.contains("<caption class=\"vh\">What &lt;is&gt; owed</caption>"));
        assert!(html.contains("<tbody role=\"rowgroup\"><tr"), "{html}");
        assert!(html.contains("aria-sort=\"ascending\""));
        assert!(html.contains("<span class=\"u\">GPU-h</span>"));
        assert!(html.contains("<span class=\"vh\">Move</span>"));
        assert_eq!(html.matches("aria-sort").count(), 1);
    }
}
