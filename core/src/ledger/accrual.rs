//! The line along which a grant accrues, and exact rates.
//!
//! A line belongs to the own part of one node in one pool and period. What has accrued is floored to whole
//! GPU-seconds; what a subtree has accrued is the sum of those whole numbers, never a floor of its own. Rates are
//! kept as exact sums, because the lines of a subtree began at different instants and their fractions share no
//! small denominator. *Source*: policy, section 2.

use std::collections::BTreeMap;

use crate::units::{Fraction, GpuSeconds, MilliGpus, Timestamp};

/// Thousandths in a GPU.
const MILLI: i128 = 1_000;
/// The denominator of a rate whose exact fraction doesn't fit.
const MICRO: i64 = 1_000_000;

/// How a grant accrues: from `accrued` at `since` in a straight line to all of `granted` at `ends`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The grant.
    pub granted: GpuSeconds,
    /// What had accrued when the line began.
    pub accrued: GpuSeconds,
    /// Where the line begins.
    pub since: Timestamp,
    /// Where it ends: the end of the period.
    pub ends: Timestamp,
}

impl Line {
    /// A line with nothing granted yet.
    pub fn empty(since: Timestamp, ends: Timestamp) -> Self {
        Self {
            granted: GpuSeconds::ZERO,
            accrued: GpuSeconds::ZERO,
            since,
            ends,
        }
    }

    /// A grant made at the line's beginning.
    pub fn granting(granted: GpuSeconds, since: Timestamp, ends: Timestamp) -> Self {
        Self {
            granted,
            ..Self::empty(since, ends)
        }
    }

    /// What has accrued at an instant: exactly the grant from the end on.
    pub fn accrued_at(&self, at: Timestamp) -> GpuSeconds {
        if at >= self.ends {
            return self.granted;
        }
        if at <= self.since {
            return self.accrued;
        }
        let rest = i128::from(self.granted.0) - i128::from(self.accrued.0);
        let passed = i128::from(at.since(self.since).0);
        let whole = i128::from(self.ends.since(self.since).0);
        let since_then = (rest * passed).div_euclid(whole);
        // Between nothing and the rest, which is a difference of two amounts.
        self.accrued + GpuSeconds(i64::try_from(since_then).unwrap_or(i64::MAX))
    }

    /// What has not accrued yet: all that a change can still take away.
    pub fn unaccrued_at(&self, at: Timestamp) -> GpuSeconds {
        self.granted - self.accrued_at(at)
    }

    /// The same line with another grant from an instant on; what has accrued until then stays.
    ///
    /// An instant before the line began counts as its beginning: a change affects the future only.
    #[must_use]
    pub fn regranted(&self, at: Timestamp, granted: GpuSeconds) -> Self {
        Self {
            granted,
            accrued: self.accrued_at(at),
            since: self.since.max(at),
            ends: self.ends,
        }
    }

    /// The rate along the line.
    pub fn rate(&self) -> Rate {
        Rate::of(self.granted - self.accrued, self.ends.since(self.since).0)
    }
}

/// What has not accrued over what is left of the period. *Units*: GPUs.
///
/// Parts of one tree taken at one instant share the denominator, so they add up like the amounts do. It differs
/// from [`Line::rate`] only by the fraction of a GPU-second that accrued amounts are floored by. Nothing is left
/// after the end: the rate is zero then. Before the period starts, all of it is left.
pub fn rest_rate(
    granted: GpuSeconds,
    accrued: GpuSeconds,
    at: Timestamp,
    starts: Timestamp,
    ends: Timestamp,
) -> Fraction {
    let left_s = ends.since(at.max(starts)).0;
    if left_s > 0 {
        Fraction {
            num: (granted - accrued).0,
            den: left_s,
        }
    } else {
        Fraction { num: 0, den: 1 }
    }
}

/// An exact rate: GPU-seconds over seconds, one term per distinct span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// By span in seconds, above zero: the GPU-seconds that accrue over it.
    terms: BTreeMap<i64, i128>,
}

impl Rate {
    /// So many GPU-seconds over so many seconds; zero when there is no time left.
    pub fn of(amount: GpuSeconds, span_s: i64) -> Self {
        let mut rate = Self::default();
        if amount != GpuSeconds::ZERO && span_s > 0 {
            rate.terms.insert(span_s, i128::from(amount.0));
        }
        rate
    }

    /// Adds another rate, exactly.
    pub fn add(&mut self, other: &Self) {
        for (span_s, amount) in &other.terms {
            *self.terms.entry(*span_s).or_default() += amount;
        }
    }

    /// The rate in whole milli-GPU, floored once from the exact sum. *Source*: policy, section 4.
    pub fn milli(&self) -> MilliGpus {
        MilliGpus(i64::try_from(self.floor_times(MILLI)).unwrap_or(i64::MAX))
    }

    /// The rate in GPUs as a reduced fraction; floored to a millionth where the exact one doesn't fit.
    pub fn fraction(&self) -> Fraction {
        self.exact_fraction().unwrap_or_else(|| Fraction {
            num: i64::try_from(self.floor_times(i128::from(MICRO))).unwrap_or(i64::MAX),
            den: MICRO,
        })
    }

    fn exact_fraction(&self) -> Option<Fraction> {
        let (mut num, mut den) = (0_i128, 1_i128);
        for (span_s, amount) in &self.terms {
            let span = i128::from(*span_s);
            let shared = gcd(den, span);
            num = num
                .checked_mul(span / shared)?
                .checked_add(amount.checked_mul(den / shared)?)?;
            den = den.checked_mul(span / shared)?;
            let common = gcd(num.abs(), den).max(1);
            num /= common;
            den /= common;
        }
        Some(Fraction {
            num: i64::try_from(num).ok()?,
            den: i64::try_from(den).ok()?,
        })
    }

    /// The floor of `scale` times the rate.
    fn floor_times(&self, scale: i128) -> i128 {
        let mut whole = 0;
        let mut rests: Vec<(u128, u128)> = Vec::with_capacity(self.terms.len());
        for (span_s, amount) in &self.terms {
            let span = i128::from(*span_s);
            let scaled = amount * scale;
            whole += scaled.div_euclid(span);
            let rest = scaled.rem_euclid(span).unsigned_abs();
            if rest > 0 {
                rests.push((rest, span.unsigned_abs()));
            }
        }
        whole + i128::try_from(whole_of(rests)).unwrap_or(0)
    }
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The floor of a sum of proper fractions, exactly.
///
/// The fractions are written out digit by digit (base 2^64) as in long division. Each round narrows the sum to an
/// interval of less than one unit per fraction; only an interval that reaches the next whole number needs another
/// round. A sum that falls short of a whole number does so by at least one over the product of the denominators,
/// so after as many digits as that product has, "still can't tell" means that the sum is the whole number.
fn whole_of(mut rests: Vec<(u128, u128)>) -> u128 {
    const DIGIT_BITS: u32 = 64;
    let count = rests.len() as u128;
    let bits: u128 = rests
        .iter()
        .map(|(_, span)| u128::from(u128::BITS - span.leading_zeros()))
        .sum();
    let rounds = (bits + u128::from(u128::BITS - count.leading_zeros())) / u128::from(DIGIT_BITS) + 1;
    let first = next_digits(&mut rests);
    let below = first >> DIGIT_BITS;
    let mut short = (1_u128 << DIGIT_BITS) - (first & u128::from(u64::MAX));
    for _ in 1..=rounds {
        let open = rests.iter().filter(|(rest, _)| *rest > 0).count() as u128;
        if short >= open.max(1) {
            return below;
        }
        let digits = next_digits(&mut rests);
        match (short << DIGIT_BITS).checked_sub(digits) {
            Some(still) if still > 0 => short = still,
            _ => return below + 1,
        }
    }
    below + 1
}

/// The sum of the next digit of every fraction; what is left of each takes its place.
fn next_digits(rests: &mut [(u128, u128)]) -> u128 {
    let mut sum = 0;
    for (rest, span) in rests {
        let scaled = *rest << 64;
        sum += scaled / *span;
        *rest = scaled % *span;
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(terms: &[(i64, i64)]) -> Rate {
        let mut rate = Rate::default();
        for (amount, span_s) in terms {
            rate.add(&Rate::of(GpuSeconds(*amount), *span_s));
        }
        rate
    }

    #[test]
    fn thirds_and_sixths_that_make_a_whole_are_a_whole() {
        let check =
            |terms: &[(i64, i64)], milli: i64| assert_eq!(sum(terms).milli(), MilliGpus(milli), "{terms:?}");
        check(&[(1, 2), (1, 3), (1, 6)], 1_000);
        check(&[(1, 3), (2, 7), (8, 21)], 1_000);
        check(&[(1, 3), (2, 3)], 1_000);
        check(&[(1, 3), (665, 999)], 998);
        check(&[], 0);
        // One part in 10^27 below two: a single round of digits can't tell.
        check(
            &[
                (964_285_721, 1_000_000_007),
                (958_333_342, 1_000_000_009),
                (77_380_954, 1_000_000_021),
            ],
            1_999,
        );
        check(&[(499_999_999, 1_000_000_000), (500_000_003, 1_000_000_007)], 999);
    }

    #[test]
    fn many_rates_without_a_common_denominator_still_add_up_exactly() {
        let primes = [
            7_951_891_i64,
            7_951_903,
            7_951_907,
            7_951_919,
            7_951_927,
            7_951_931,
            7_951_939,
            7_951_957,
        ];
        let whole: Vec<(i64, i64)> = primes.iter().flat_map(|p| [(1, *p), (*p - 1, *p)]).collect();
        assert_eq!(sum(&whole).milli(), MilliGpus(8_000));
        assert_eq!(sum(&whole).fraction(), Fraction { num: 8, den: 1 });
        let uneven: Vec<(i64, i64)> = primes.iter().map(|p| (*p / 3, *p)).collect();
        assert_eq!(sum(&uneven).fraction().den, MICRO);
        assert_eq!(sum(&uneven).milli(), MilliGpus(2_666));
    }

    #[test]
    fn a_period_that_is_over_has_no_rate_left() {
        let rest = |at: i64| {
            rest_rate(
                GpuSeconds(500),
                GpuSeconds(100),
                Timestamp(at),
                Timestamp(0),
                Timestamp(100),
            )
        };
        assert_eq!(rest(60), Fraction { num: 400, den: 40 });
        assert_eq!(rest(-50), Fraction { num: 400, den: 100 });
        assert_eq!(rest(100), Fraction { num: 0, den: 1 });
    }

    proptest! {
        #[test]
        fn a_floored_sum_is_the_floor_of_the_exact_sum(
            terms in prop::collection::vec((0_i64..100_000, 1_i64..2_000), 1..5),
        ) {
            let common: i128 = terms.iter().map(|(_, span)| i128::from(*span)).product();
            let exact: i128 = terms.iter().map(|(amount, span)| i128::from(*amount) * 1_000 * (common / i128::from(*span))).sum();
            prop_assert_eq!(i128::from(sum(&terms).milli().0), exact.div_euclid(common));
        }

        #[test]
        fn a_sum_closed_by_its_complement_is_whole(
            terms in prop::collection::vec((1_i64..1_000_000, 1_000_000_i64..8_000_000), 1..30),
        ) {
            let closed: Vec<(i64, i64)> = terms.iter().flat_map(|(a, span)| [(*a, *span), (span - a, *span)]).collect();
            // Shuffled into separate terms by an odd multiple, so that they don't simply merge.
            let mut rate = Rate::default();
            for (n, (amount, span)) in closed.iter().enumerate() {
                let multiple = [1, 3, 7][n % 3];
                rate.add(&Rate::of(GpuSeconds(amount * multiple), span * multiple));
            }
            prop_assert_eq!(rate.milli(), MilliGpus(1_000 * i64::try_from(terms.len()).unwrap()));
        }

        #[test]
        fn accrual_never_goes_back_and_ends_at_the_grant(
            granted in 0_i64..1_000_000_000, spare in 0_i64..1_000_000, span in 1_i64..8_000_000, a in 0_i64..8_000_000, b in 0_i64..8_000_000,
        ) {
            let accrued = GpuSeconds(granted.min(spare));
            let line = Line { granted: GpuSeconds(granted), accrued, since: Timestamp(0), ends: Timestamp(span) };
            let (early, late) = (Timestamp(a.min(b)), Timestamp(a.max(b)));
            prop_assert!(accrued <= line.accrued_at(early));
            prop_assert!(line.accrued_at(early) <= line.accrued_at(late));
            prop_assert!(line.accrued_at(late) <= line.granted);
            prop_assert_eq!(line.accrued_at(Timestamp(span)), line.granted);
            prop_assert_eq!(line.accrued_at(Timestamp(-1)), accrued);
        }
    }
}
