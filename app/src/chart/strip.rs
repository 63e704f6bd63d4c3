//! Shares from the root down to one node: a bar per level, the part that leads on marked, and what it opens into.

use leptos::prelude::*;

use super::px;

/// Width of the drawing.
pub const WIDTH: f64 = 276.0;
const BAR: f64 = 14.0;
const LEVEL: f64 = 46.0;
const FIRST: f64 = 16.0;
const GAP: f64 = 1.5;

/// The most letters of a label that leave room for the value beside it.
const LABEL: usize = 26;

/// A label short enough to stand beside its value; the whole one is in the chart's words.
pub fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL {
        return label.to_owned();
    }
    let kept: String = label.chars().take(LABEL - 1).collect();
    format!("{}…", kept.trim_end())
}

/// One level: the children of a node on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// What it shows: `Institute → Perception`.
    pub label: String,
    /// The part that leads on, in words: `24.8 % of the pool`.
    pub value: String,
    /// The shares of the children, and whether each is the one that leads on.
    pub parts: Vec<(f64, bool)>,
}

/// A part of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Its left edge.
    pub x: f64,
    /// Its width.
    pub width: f64,
    /// Whether it leads on.
    pub leads: bool,
}

/// The parts of a level across the whole width, in proportion; nothing where there is nothing to divide.
pub fn parts(shares: &[(f64, bool)]) -> Vec<Part> {
    let total: f64 = shares.iter().map(|(share, _)| share.max(0.0)).sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let mut x = 0.0;
    shares
        .iter()
        .map(|(share, leads)| {
            let whole = share.max(0.0) / total * WIDTH;
            let part = Part {
                x,
                width: (whole - GAP).max(0.5),
                leads: *leads,
            };
            x += whole;
            part
        })
        .collect()
}

/// The outline of what the leading part of a level opens into below it.
pub fn fan(part: Part, top: f64) -> String {
    format!(
        "M{} {}H{}L{} {}H0Z",
        px(part.x),
        px(top + BAR),
        px(part.x + part.width),
        px(WIDTH),
        px(top + LEVEL)
    )
}

/// The levels, drawn.
#[component]
pub fn Strip(
    /// From the root down.
    levels: Vec<Level>,
) -> impl IntoView {
    let height = FIRST + LEVEL * super::drawn(i64::try_from(levels.len()).unwrap_or(0)) - LEVEL + BAR + 2.0;
    let words: Vec<String> = levels
        .iter()
        .map(|level| format!("{}: {}", level.label, level.value))
        .collect();
    let last = levels.len().saturating_sub(1);
    let drawn = levels
        .into_iter()
        .enumerate()
        .map(|(at, level)| {
            let top = FIRST + LEVEL * super::drawn(i64::try_from(at).unwrap_or(0));
            let parts = parts(&level.parts);
            let fan = parts
                .iter()
                .find(|part| part.leads && at < last)
                .map(|part| view! { <path class="f-fan" d=fan(*part, top)></path> });
            let bars = parts
                .into_iter()
                .map(|part| {
                    let class = if part.leads { "f-acc" } else { "f-sunk" };
                    view! { <rect class=class x=px(part.x) y=px(top) width=px(part.width) height="14" rx="1"></rect> }
                })
                .collect_view();
            let baseline = px(top - 5.0);
            view! {
                {fan}
                {bars}
                <text x="0" y=baseline.clone()>
                    {shortened(&level.label)}
                </text>
                <text class="v e" x="276" y=baseline>
                    {level.value}
                </text>
            }
        })
        .collect_view();
    view! {
        <svg
            class="chart"
            width="276"
            height=px(height)
            viewBox=format!("0 0 276 {}", px(height))
            role="img"
            aria-label=words.join("; ")
        >
            {drawn}
        </svg>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::Markup as _;

    #[test]
    fn parts_fill_the_width_in_proportion() {
        let got = parts(&[(1.0, false), (2.0, true), (1.0, false)]);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(got[0].x, 0.0) && close(got[1].x, 69.0) && close(got[2].x, 207.0));
        assert!(close(got[1].width, 138.0 - GAP) && got[1].leads);
        assert_eq!(parts(&[(0.0, true)]), []);
        assert_eq!(parts(&[]), []);
        assert!(parts(&[(0.000_01, false), (1.0, true)])[0].width >= 0.5);
    }

    #[test]
    fn what_a_part_opens_into_spans_the_next_level() {
        let part = Part {
            x: 69.0,
            width: 100.0,
            leads: true,
        };
        assert_eq!(fan(part, 16.0), "M69.0 30.0H169.0L276.0 62.0H0Z");
    }

    #[test]
    fn a_long_label_leaves_room_for_its_value() {
        assert_eq!(shortened("Institute → Perception"), "Institute → Perception");
        assert_eq!(shortened(&"é".repeat(40)), format!("{}…", "é".repeat(25)));
    }

    #[test]
    fn names_in_a_strip_are_text() {
        let level = |label: &str| Level {
            label: label.to_owned(),
            value: "24.8 %".to_owned(),
            parts: vec![(1.0, true), (1.0, false)],
        };
        let html = view! { <Strip levels=vec![level("A → <script>"), level("B")] /> }.markup();
        assert!(!html.contains("<script>") || html.contains("aria-label=\"A → <script>"));
        assert!(html.contains("A → &lt;script&gt;</text>"), "{html}");
        assert_eq!(html.matches("class=\"f-fan\"").count(), 1);
    }
}
