//! Spans of time as people type them: `45s`, `15m`, `4h`, `1h30m`, `2d`.

use stint_core::units::{DAY_S, HOUR_S, MAX_SPAN, Seconds};

const ACCEPTED: &str = "accepted: a span such as 45s, 15m, 4h, 1h30m or 2d";

/// Reads a span; a bare number has no unit and is refused, except 0.
///
/// # Errors
/// A sentence that says what is accepted.
pub(super) fn parse(text: &str) -> Result<Seconds, String> {
    let refused = || ACCEPTED.to_owned();
    if text == "0" {
        return Ok(Seconds::ZERO);
    }
    let mut total: i64 = 0;
    let mut digits = String::new();
    let mut last = i64::MAX;
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit = match c {
            's' => 1,
            'm' => 60,
            'h' => HOUR_S,
            'd' => DAY_S,
            _ => return Err(refused()),
        };
        let number: i64 = digits.parse().map_err(|_| refused())?;
        digits.clear();
        if unit >= last {
            return Err(refused());
        }
        last = unit;
        total = number
            .checked_mul(unit)
            .and_then(|part| total.checked_add(part))
            .filter(|sum| *sum <= MAX_SPAN.0)
            .ok_or_else(|| "accepted: at most ten years".to_owned())?;
    }
    if text.is_empty() || !digits.is_empty() {
        return Err(refused());
    }
    Ok(Seconds(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_units_or_refused() {
        let check = |text: &str, want: Option<i64>| {
            assert_eq!(parse(text).ok().map(Seconds::get), want, "{text:?}");
        };
        check("45s", Some(45));
        check("15m", Some(900));
        check("1h30m", Some(5_400));
        check("2d", Some(172_800));
        check("0", Some(0));
        check("90", None);
        check("", None);
        check("h", None);
        check("30m1h", None);
        check("1h1h", None);
        check("-1h", None);
        check("1.5h", None);
        check("99999999999999999999d", None);
        check("9999999d", None);
    }
}
