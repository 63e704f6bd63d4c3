//! The levels of a pool: each rests on the one below, so none can be better than what carries it.

use super::px;

/// Width of the whole pyramid at its foot.
pub const WIDTH: f64 = 76.0;
/// Height of one level.
pub const HEIGHT: f64 = 46.0;

/// The outline of a level, counted from the top, of so many.
pub fn outline(level: u32, of: u32) -> String {
    let of = f64::from(of.max(1));
    let half = WIDTH / 2.0;
    let upper = half * f64::from(level) / of;
    let lower = half * f64::from(level + 1) / of;
    format!(
        "M{} 1H{}L{} {}H{}Z",
        px(half - upper),
        px(half + upper),
        px(half + lower),
        px(HEIGHT - 1.0),
        px(half - lower)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_widen_from_a_point_to_the_whole_width() {
        assert_eq!(outline(0, 4), "M38.0 1H38.0L47.5 45.0H28.5Z");
        assert_eq!(outline(3, 4), "M9.5 1H66.5L76.0 45.0H0.0Z");
    }
}
