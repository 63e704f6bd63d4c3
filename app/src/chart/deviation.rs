//! A standing as a bar from the line at 1, "exactly its share": left of it owed time, right of it ahead.

use leptos::prelude::*;
use stint_core::units::Fraction;

use super::px;

/// Width of the drawing.
pub const WIDTH: f64 = 148.0;
/// Where 1 lies.
pub const CENTRE: f64 = 74.0;
/// From the line to either end: a standing of 0 or of 2.
pub const REACH: f64 = 70.0;

/// Which side of its share a node is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Below 1: it is owed time.
    Owed,
    /// Exactly 1.
    Even,
    /// Above 1: it is ahead.
    Ahead,
}

impl Side {
    /// The side in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Owed => "owed time",
            Self::Even => "exactly its share",
            Self::Ahead => "ahead",
        }
    }

    /// The side of a standing, exact.
    pub fn of(standing: Fraction) -> Self {
        match standing.num.cmp(&standing.den) {
            std::cmp::Ordering::Less => Self::Owed,
            std::cmp::Ordering::Equal => Self::Even,
            std::cmp::Ordering::Greater => Self::Ahead,
        }
    }
}

/// A bar from the line at 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Its left edge.
    pub x: f64,
    /// Its width.
    pub width: f64,
    /// Whether it goes on beyond the drawing.
    pub cut: bool,
}

/// The bar of a standing; what lies beyond twice its share is cut there, and marked.
pub fn bar(standing: f64) -> Bar {
    let reach = (standing - 1.0) * REACH;
    let shown = reach.clamp(-REACH, REACH);
    Bar {
        x: CENTRE + shown.min(0.0),
        width: shown.abs(),
        cut: (reach - shown).abs() > f64::EPSILON,
    }
}

/// The bar, drawn. Nothing is drawn for a node without a claim.
#[component]
pub fn Deviation(
    /// Whose.
    #[prop(into)]
    name: String,
    /// Its standing; `None` without a claim.
    standing: Option<Fraction>,
    /// The same as text.
    #[prop(into)]
    text: String,
) -> impl IntoView {
    let drawn = standing.and_then(|standing| Some((Side::of(standing), bar(standing.approx()?))));
    let label = match drawn {
        Some((side, _)) => format!("{name}: standing {text}, {}", side.words()),
        None => format!("{name}: {text}"),
    };
    let shape = drawn.map(|(side, bar)| {
        let class = if side == Side::Ahead { "f-mid" } else { "f-acc" };
        view! {
            <rect class=class x=px(bar.x) y="4" width=px(bar.width) height="10" rx="1"></rect>
            {bar.cut.then(|| view! { <path class="s-text" d="M140 5l4 4-4 4"></path> })}
        }
    });
    view! {
        <svg class="dv" viewBox="0 0 148 18" role="img" aria-label=label>
            <path class="g-line" d="M4 9H144"></path>
            {shape}
            <path class="s-text" d="M74 1V17"></path>
        </svg>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::Markup as _;

    #[test]
    fn a_bar_grows_from_the_line_at_one_and_stays_inside() {
        let check = |standing: f64, x: f64, width: f64, cut: bool| {
            assert_eq!(bar(standing), Bar { x, width, cut }, "{standing}");
        };
        check(1.0, 74.0, 0.0, false);
        check(0.5, 39.0, 35.0, false);
        check(0.0, 4.0, 70.0, false);
        check(2.0, 74.0, 70.0, false);
        check(7.0, 74.0, 70.0, true);
        assert!(bar(2.0).x + bar(2.0).width < WIDTH);
    }

    #[test]
    fn a_side_is_exact() {
        let side = |num, den| Side::of(Fraction { num, den });
        assert_eq!(side(999_999, 1_000_000), Side::Owed);
        assert_eq!(side(5, 5), Side::Even);
        assert_eq!(side(1_000_001, 1_000_000), Side::Ahead);
    }

    #[test]
    fn the_drawing_says_what_it_shows_and_nothing_is_drawn_without_a_claim() {
        let some = Some(Fraction { num: 83, den: 100 });
        let html = view! { <Deviation name="<b>robotics" standing=some text="0.830" /> }.markup();
        assert!(
            html.contains("aria-label=\"&lt;b&gt;robotics: standing 0.830, owed time\"")
                || html.contains("aria-label=\"<b>robotics: standing 0.830, owed time\""),
            "{html}"
        );
        assert!(!html.contains("<b>robotics</"), "{html}");
        let none = view! { <Deviation name="x" standing=None text="no claim" /> }.markup();
        assert!(!none.contains("<rect") && none.contains("x: no claim"));
    }
}
