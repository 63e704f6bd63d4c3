//! Charts: numbers in, numbers out, and their drawing as SVG.
//!
//! | room | what it draws |
//! | --- | --- |
//! | [`deviation`] | a standing as a bar from "exactly its share" |
//! | [`strip`] | shares from the root down to one node |
//! | [`pyramid`] | the levels of a pool, each resting on the one below |
//! | [`life_line`] | a workload's queueing and runs over time |
//! | [`cells`] | the GPUs of a host and who holds them |
//!
//! Geometry is pure and tested as numbers; floats serve drawing only. Coordinates are printed with one decimal, so
//! that server and browser print the same text. Looks are classes, never inline styles. Every chart says its
//! content in words, too.

pub mod cells;
pub mod deviation;
pub mod life_line;
pub mod pyramid;
pub mod strip;

/// A coordinate as it is printed.
pub fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    if text == "-0.0" { "0.0".to_owned() } else { text }
}

/// A span of whole seconds as a number to draw with.
#[expect(clippy::cast_precision_loss, reason = "drawing only")]
pub(crate) fn drawn(number: i64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_have_one_decimal_and_no_negative_nothing() {
        assert_eq!(px(12.34), "12.3");
        assert_eq!(px(-0.04), "0.0");
        assert_eq!(px(100.0), "100.0");
    }
}
