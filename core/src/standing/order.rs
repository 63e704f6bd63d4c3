//! The order of siblings.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::LookBack;
use crate::units::{Fraction, MilliGpus, Seconds, Timestamp};

/// What a node used against what it was due: the number that sorts the queue, as its two whole-number terms.
///
/// standing = used / (allocated + rate x horizon). Below 1 the node is owed time, above 1 it is ahead.
/// *Units*: milli-GPU-seconds, times the scale of the look-back. *Source*: policy, section 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Charged in the look-back, plus holds of running work.
    pub used: i128,
    /// The rate over the look-back, plus the rate over the horizon.
    pub due: i128,
}

impl Standing {
    /// Puts a standing together. `used` and `allocated` are look-back sums (see [`LookBack::scale`]), in
    /// GPU-seconds and milli-GPU-seconds; `held` is plain GPU-seconds.
    pub fn new(
        look_back: LookBack,
        used: i128,
        held: i128,
        allocated: i128,
        rate: MilliGpus,
        horizon: Seconds,
    ) -> Self {
        let scale = look_back.scale();
        Self {
            used: 1_000 * (used + held * scale),
            due: allocated + i128::from(rate.0) * i128::from(horizon.0) * scale,
        }
    }

    /// This standing with so many more GPU-seconds held.
    #[must_use]
    pub fn with_hold(self, look_back: LookBack, held: i128) -> Self {
        Self {
            used: self.used + 1_000 * held * look_back.scale(),
            ..self
        }
    }

    /// Whether the node has a claim at all.
    pub fn has_claim(self) -> bool {
        self.due > 0
    }

    /// Exact order of two standings; nodes without a claim come after all others, by use.
    pub fn cmp_value(self, other: Self) -> Ordering {
        match (self.has_claim(), other.has_claim()) {
            (true, true) => cmp_fractions((self.used, self.due), (other.used, other.due)),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.used.cmp(&other.used),
        }
    }

    /// Whether this side stands higher than the other by more than a margin in thousandths.
    ///
    /// *Source*: policy, section 7. A side without a claim stands above every side that has one, and two sides
    /// without a claim are never apart.
    pub fn is_above_by(self, other: Self, margin_milli: i64) -> bool {
        match (self.has_claim(), other.has_claim()) {
            (true, true) => {
                // used / due + margin / 1000 over one denominator. Both terms stay far inside i128: a million GPUs
                // over a fading look-back of ten years give 10^27.
                let raised = other
                    .used
                    .saturating_mul(1_000)
                    .saturating_add(i128::from(margin_milli).saturating_mul(other.due));
                let raised = (raised, other.due.saturating_mul(1_000));
                cmp_fractions((self.used, self.due), raised).is_gt()
            }
            (false, true) => true,
            (_, false) => false,
        }
    }

    /// The value as a fraction for display, in GPU-seconds over GPU-seconds; `None` without a claim.
    pub fn fraction(self) -> Option<Fraction> {
        if !self.has_claim() {
            return None;
        }
        let mut shift = 0_u32;
        while (self.used >> shift).abs() > i128::from(i64::MAX / 2)
            || (self.due >> shift) > i128::from(i64::MAX / 2)
        {
            shift += 1;
        }
        Some(Fraction {
            num: i64::try_from(self.used >> shift).ok()?,
            den: i64::try_from(self.due >> shift).ok()?,
        })
    }

    /// The value as text with three decimals, or "no claim".
    pub fn text(self) -> String {
        self.fraction()
            .and_then(|f| f.text(3))
            .unwrap_or_else(|| "no claim".to_owned())
    }
}

/// Exact order of two fractions with denominators above zero.
///
/// Cross-multiplying decides almost always. With a fading look-back on a large pool the products leave `i128`:
/// then the whole parts are compared, and if they are equal the reciprocals of what is left, as Euclid does it.
fn cmp_fractions(a: (i128, i128), b: (i128, i128)) -> Ordering {
    if let (Some(left), Some(right)) = (a.0.checked_mul(b.1), b.0.checked_mul(a.1)) {
        return left.cmp(&right);
    }
    by_euclid(a, b)
}

fn by_euclid(mut a: (i128, i128), mut b: (i128, i128)) -> Ordering {
    loop {
        let whole = a.0.div_euclid(a.1).cmp(&b.0.div_euclid(b.1));
        if whole.is_ne() {
            return whole;
        }
        let (rest_a, rest_b) = (a.0.rem_euclid(a.1), b.0.rem_euclid(b.1));
        if rest_a == 0 || rest_b == 0 {
            return rest_a.cmp(&rest_b);
        }
        // rest_a / a.1 against rest_b / b.1 is b.1 / rest_b against a.1 / rest_a.
        (a, b) = ((b.1, rest_b), (a.1, rest_a));
    }
}

/// A sibling with queued demand, as the order sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<K> {
    /// Its standing.
    pub standing: Standing,
    /// When the workload at its head was first submitted.
    pub head_submitted: Timestamp,
    /// Its id: the last tie-break.
    pub id: K,
}

/// Who comes first: lower standing, then larger shortfall, then earlier submit of the head, then id.
/// Nodes without a claim come last, by use. *Source*: policy, section 4.
pub fn compare<K: Ord>(a: &Candidate<K>, b: &Candidate<K>) -> Ordering {
    let shortfall = |c: &Candidate<K>| c.standing.due - c.standing.used;
    let ties = || match (a.standing.has_claim(), b.standing.has_claim()) {
        (true, true) => shortfall(b).cmp(&shortfall(a)),
        _ => Ordering::Equal,
    };
    a.standing
        .cmp_value(b.standing)
        .then_with(ties)
        .then_with(|| a.head_submitted.cmp(&b.head_submitted))
        .then_with(|| a.id.cmp(&b.id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn standing(used: i128, due: i128) -> Standing {
        Standing { used, due }
    }

    proptest! {
        #[test]
        fn euclid_and_cross_multiplication_agree(
            a in (-1_000_000_i128..1_000_000, 1_i128..1_000_000), b in (-1_000_000_i128..1_000_000, 1_i128..1_000_000),
            times in 1_i128..100_000_000_000_000_000_000_000_000,
        ) {
            let want = (a.0 * b.1).cmp(&(b.0 * a.1));
            prop_assert_eq!(by_euclid(a, b), want);
            // The same two values in terms whose products leave i128.
            let wide = |f: (i128, i128)| (f.0 * times, f.1 * times);
            prop_assert_eq!(cmp_fractions(wide(a), wide(b)), want);
            prop_assert_eq!(cmp_fractions(wide(a), b), want);
            prop_assert_eq!(cmp_fractions(wide(a), a), Ordering::Equal);
        }

        #[test]
        fn a_margin_is_exact_however_wide_the_terms(
            used in 0_i128..1_000_000, due in 1_i128..1_000_000, other_used in 0_i128..1_000_000, other_due in 1_i128..1_000_000,
            margin in 0_i64..2_000, times in 1_i128..1_000_000_000_000_000_000_000,
        ) {
            let want = 1_000 * (used * other_due - other_used * due) > i128::from(margin) * due * other_due;
            let (side, other) = (standing(used, due), standing(other_used, other_due));
            prop_assert_eq!(side.is_above_by(other, margin), want);
            let wide = |s: Standing| standing(s.used * times, s.due * times);
            prop_assert_eq!(wide(side).is_above_by(wide(other), margin), want);
            prop_assert_eq!(wide(side).is_above_by(other, margin), want);
        }
    }

    #[test]
    fn a_fading_look_back_on_eighty_thousand_gpus_is_compared_exactly() {
        let fade = LookBack::Fade(Seconds(907_200));
        let gpu_seconds = 80_000_i128 * 907_200;
        let side = |used: i128| {
            let scaled = gpu_seconds * fade.scale();
            Standing::new(
                fade,
                used,
                0,
                1_000 * scaled,
                MilliGpus(80_000_000),
                Seconds(28_800),
            )
        };
        let (less, more) = (side(gpu_seconds * 907_200), side(gpu_seconds * 907_200 + 1));
        assert!(less.used.checked_mul(more.due).is_none());
        assert_eq!(less.cmp_value(more), Ordering::Less);
        assert!(more.is_above_by(less, 0) && !less.is_above_by(more, 0) && !more.is_above_by(less, 1));
    }

    #[test]
    fn a_standing_exactly_at_the_margin_is_not_above_it() {
        let (at_margin, base) = (standing(1_010, 1_000), standing(1_000, 1_000));
        assert!(!at_margin.is_above_by(base, 10));
        assert!(standing(1_011, 1_000).is_above_by(base, 10));
    }

    #[test]
    fn case_30_two_groups_that_stand_equal_are_told_apart_by_who_waits_longer() {
        // Half the pool each and equal use: standing and shortfall are the same.
        let group = |id: &'static str, head_submitted: i64| Candidate {
            standing: standing(500, 1_000),
            head_submitted: Timestamp(head_submitted),
            id,
        };
        assert_eq!(compare(&group("a", 20), &group("b", 10)), Ordering::Greater);
        assert_eq!(compare(&group("b", 20), &group("a", 10)), Ordering::Greater);
        assert_eq!(compare(&group("a", 10), &group("b", 10)), Ordering::Less);
        // Equal standing with a larger share behind it: the larger shortfall goes first, however late it came.
        let larger = Candidate {
            standing: standing(1_000, 2_000),
            ..group("z", 99)
        };
        assert_eq!(compare(&larger, &group("a", 0)), Ordering::Less);
    }

    #[test]
    fn case_31_nodes_without_a_rate_come_after_all_others_and_less_use_first() {
        let node = |id: &'static str, used: i128, due: i128| Candidate {
            standing: standing(used, due),
            head_submitted: Timestamp(0),
            id,
        };
        let mut siblings = [node("a", 70, 0), node("z", 60, 0), node("far-ahead", 9_999, 1)];
        siblings.sort_by(compare);
        assert_eq!(siblings.map(|sibling| sibling.id), ["far-ahead", "z", "a"]);
    }

    #[test]
    fn without_a_claim_a_side_stands_above_every_side_with_one_and_comes_last() {
        let (none, busier, claim) = (standing(5, 0), standing(9, 0), standing(999, 1));
        assert!(none.is_above_by(claim, 10) && !claim.is_above_by(none, 10));
        assert!(!busier.is_above_by(none, 0) && !none.is_above_by(busier, 0));
        assert_eq!(none.cmp_value(busier), Ordering::Less);
        assert_eq!(claim.cmp_value(none), Ordering::Less);
        assert_eq!(none.text(), "no claim");
    }

    proptest! {
        #[test]
        fn the_order_is_the_same_whatever_order_the_siblings_came_in(
            siblings in prop::collection::vec((0_i128..4, 0_i128..3, 0_i64..3), 2..8), seed in 0_usize..5_040,
        ) {
            let candidates: Vec<Candidate<usize>> = siblings
                .iter()
                .enumerate()
                .map(|(id, (used, due, at))| Candidate {
                    standing: standing(*used, *due),
                    head_submitted: Timestamp(*at),
                    id,
                })
                .collect();
            let mut sorted = candidates.clone();
            sorted.sort_by(compare);
            let mut shuffled = candidates;
            for at in (1..shuffled.len()).rev() {
                shuffled.swap(at, seed % (at + 1));
            }
            shuffled.sort_by(compare);
            prop_assert_eq!(shuffled, sorted);
        }
    }
}
