//! Quantities: GPU time, GPUs, spans and instants, each its own type and each a whole number.
//!
//! Arithmetic in this crate is compiled with overflow checks in every profile, and the limits below keep every
//! product inside `i128` and every sum inside `i64`: one million GPUs for ten years are 3.2e14 GPU-seconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// Seconds in an hour.
pub const HOUR_S: i64 = 3_600;
/// Seconds in a day.
pub const DAY_S: i64 = 86_400;
/// The most GPUs one workload or pool may name: bounds every sum of GPU time.
pub const MAX_GPUS: u32 = 1_000_000;
/// The longest span that is accepted anywhere: ten years, so that products with [`MAX_GPUS`] stay exact.
pub const MAX_SPAN: Seconds = Seconds(10 * 366 * DAY_S);

const _: () = assert!((MAX_GPUS as i128) * (MAX_SPAN.0 as i128) * 1_000 < i64::MAX as i128);

macro_rules! whole_number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);

            /// The plain number.
            pub const fn get(self) -> i64 {
                self.0
            }

            /// The larger of this and nothing.
            #[must_use]
            pub fn or_zero(self) -> Self {
                Self(self.0.max(0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }
    };
}

whole_number!(
    /// An amount of GPU time. *Units*: GPU-seconds.
    GpuSeconds
);
whole_number!(
    /// A span of time. *Units*: seconds.
    Seconds
);
whole_number!(
    /// A rate of GPU time in thousandths of a GPU, floored. *Units*: milli-GPU. *Source*: policy, section 4.
    MilliGpus
);

/// A number of GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Gpus(pub u32);

impl Gpus {
    /// No GPUs.
    pub const ZERO: Self = Self(0);

    /// The plain number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// GPU time that this many GPUs hold over a span.
    #[must_use]
    pub fn over(self, span: Seconds) -> GpuSeconds {
        GpuSeconds(i64::from(self.0) * span.0)
    }
}

impl Add for Gpus {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sum for Gpus {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

/// An instant. *Units*: whole seconds since 1970-01-01 00:00:00 UTC, floored once when an event is taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The plain number of seconds.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The span from an earlier instant to this one; negative when `earlier` is later.
    pub fn since(self, earlier: Self) -> Seconds {
        Seconds(self.0 - earlier.0)
    }
}

impl Add<Seconds> for Timestamp {
    type Output = Self;
    fn add(self, span: Seconds) -> Self {
        Self(self.0 + span.0)
    }
}

impl Sub<Seconds> for Timestamp {
    type Output = Self;
    fn sub(self, span: Seconds) -> Self {
        Self(self.0 - span.0)
    }
}

impl Seconds {
    /// This many whole minutes.
    pub const fn from_minutes(minutes: i64) -> Self {
        Self(minutes * 60)
    }

    /// This many whole hours.
    pub const fn from_hours(hours: i64) -> Self {
        Self(hours * HOUR_S)
    }
}

/// An exact fraction, for shares, rates and standings. The denominator is never negative; zero means "undefined".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fraction {
    /// Numerator.
    pub num: i64,
    /// Denominator; 0 when there is nothing to divide by.
    pub den: i64,
}

impl Fraction {
    /// The nearest float, for drawing only; `None` when undefined.
    #[expect(clippy::cast_precision_loss, reason = "drawing only")]
    pub fn approx(self) -> Option<f64> {
        (self.den != 0).then(|| self.num as f64 / self.den as f64)
    }

    /// The value as text, rounded half up once to `decimals` places (at most 6); `None` when undefined.
    pub fn text(self, decimals: u32) -> Option<String> {
        if self.den == 0 {
            return None;
        }
        let scale = 10_i128.pow(decimals.min(6));
        let den = i128::from(self.den);
        let scaled = (2 * i128::from(self.num) * scale + den).div_euclid(2 * den);
        let (sign, scaled) = if scaled < 0 {
            ("\u{2212}", -scaled)
        } else {
            ("", scaled)
        };
        let places = decimals.min(6) as usize;
        if places == 0 {
            return Some(format!("{sign}{}", grouped(scaled)));
        }
        Some(format!(
            "{sign}{}.{:0places$}",
            grouped(scaled / scale),
            scaled % scale
        ))
    }

    /// A part of a whole as percent text, e.g. `39.3`; `None` when the whole is zero.
    pub fn percent(part: i64, whole: i64, decimals: u32) -> Option<String> {
        Self {
            num: part.checked_mul(100)?,
            den: whole,
        }
        .text(decimals)
    }
}

/// Why a text is not an amount of GPU-hours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoursError {
    /// Nothing, a sign alone, letters, an exponent and the like.
    #[error("hours must be a number such as 500 or 12.25")]
    NotANumber,
    /// Amounts are never negative; a move in the other direction is a move from the other node.
    #[error("hours must not be negative")]
    Negative,
    /// A third decimal is refused, never rounded. *Source*: ledger, section 1.
    #[error("hours have at most two decimals")]
    TooManyDecimals,
    /// Beyond a million GPUs for ten years.
    #[error("hours are beyond what any pool can hold")]
    TooLarge,
}

impl GpuSeconds {
    /// The largest amount that is accepted in input.
    pub const MAX_INPUT: Self = Self(MAX_GPUS as i64 * MAX_SPAN.0);

    /// Reads GPU-hours with at most two decimals; `,` or a thin space may group thousands.
    ///
    /// # Errors
    /// [`HoursError`] says what is wrong with the text.
    pub fn from_hours_text(text: &str) -> Result<Self, HoursError> {
        let text: String = text
            .trim()
            .chars()
            .filter(|c| !matches!(c, ',' | '\u{202f}' | '\u{a0}' | '_'))
            .collect();
        if let Some(rest) = text.strip_prefix(['-', '\u{2212}']) {
            return Err(if rest.is_empty() {
                HoursError::NotANumber
            } else {
                HoursError::Negative
            });
        }
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(decimals) || text.ends_with('.') {
            return Err(HoursError::NotANumber);
        }
        if decimals.len() > 2 {
            return Err(HoursError::TooManyDecimals);
        }
        let hours: i64 = whole.parse().map_err(|_| HoursError::TooLarge)?;
        let hundredths: i64 = format!("{decimals:0<2}")
            .parse()
            .map_err(|_| HoursError::NotANumber)?;
        let seconds = hours
            .checked_mul(HOUR_S)
            .and_then(|s| s.checked_add(hundredths * 36));
        seconds
            .map(Self)
            .filter(|amount| *amount <= Self::MAX_INPUT)
            .ok_or(HoursError::TooLarge)
    }

    /// GPU-hours as text with two decimals, rounded half up once, thousands grouped: `3,700.00`.
    pub fn hours_text(self) -> String {
        self.hours_text_to(2)
    }

    /// GPU-hours as text with so many decimals.
    pub fn hours_text_to(self, decimals: u32) -> String {
        Fraction {
            num: self.0,
            den: HOUR_S,
        }
        .text(decimals)
        .unwrap_or_default()
    }

    /// GPU-hours for a form field: two decimals, no grouping. Exact for amounts that were put in as hours;
    /// anything finer is floored, so that the field never shows more than there is.
    pub fn hours_field(self) -> String {
        let hundredths = self.0.div_euclid(36);
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

/// A whole number with its thousands grouped by commas.
pub fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('\u{2212}');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Seconds {
    /// A span in words: `45 s`, `15 min`, `1 h 29 min`, `3 d 4 h`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0.max(0);
        match s {
            0..60 => write!(f, "{s} s"),
            60..HOUR_S => write!(f, "{} min", s / 60),
            HOUR_S..DAY_S if s % HOUR_S < 60 => write!(f, "{} h", s / HOUR_S),
            HOUR_S..DAY_S => write!(f, "{} h {} min", s / HOUR_S, s % HOUR_S / 60),
            _ if s % DAY_S < HOUR_S => write!(f, "{} d", s / DAY_S),
            _ => write!(f, "{} d {} h", s / DAY_S, s % DAY_S / HOUR_S),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_exactly_or_refused() {
        let check = |text: &str, want: Result<i64, HoursError>| {
            assert_eq!(
                GpuSeconds::from_hours_text(text).map(GpuSeconds::get),
                want,
                "{text:?}"
            );
        };
        check("500", Ok(1_800_000));
        check(" 1,200.5 ", Ok(4_321_800));
        check("0.01", Ok(36));
        check("0.001", Err(HoursError::TooManyDecimals));
        check("-1", Err(HoursError::Negative));
        check("", Err(HoursError::NotANumber));
        check("-", Err(HoursError::NotANumber));
        check("1e3", Err(HoursError::NotANumber));
        check("NaN", Err(HoursError::NotANumber));
        check("5.", Err(HoursError::NotANumber));
        check("99999999999999999999", Err(HoursError::TooLarge));
        check("9999999999999", Err(HoursError::TooLarge));
    }

    #[test]
    fn text_is_rounded_once_and_grouped() {
        assert_eq!(GpuSeconds(13_320_000).hours_text(), "3,700.00");
        assert_eq!(GpuSeconds(18).hours_text(), "0.01");
        assert_eq!(GpuSeconds(17).hours_text(), "0.00");
        assert_eq!(GpuSeconds(-3_600_000).hours_text(), "\u{2212}1,000.00");
        assert_eq!(GpuSeconds(71).hours_field(), "0.01");
        assert_eq!(Fraction::percent(393, 1000, 1).as_deref(), Some("39.3"));
        assert_eq!(Fraction::percent(1, 0, 1), None);
    }

    #[test]
    fn spans_read_like_speech() {
        let check = |s: i64, want: &str| assert_eq!(Seconds(s).to_string(), want);
        check(45, "45 s");
        check(900, "15 min");
        check(5_340, "1 h 29 min");
        check(28_800, "8 h");
        check(273_600, "3 d 4 h");
        check(172_800, "2 d");
    }
}
