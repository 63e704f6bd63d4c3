//! Dividing an amount without losing a second.
//!
//! Each part is floored; the seconds left over go to the largest remainders, ties to the earlier position. Callers
//! hand the nodes over in the order of ids, so that position is id order. *Source*: ledger, section 1.

use std::cmp::Reverse;

use crate::units::GpuSeconds;

/// Divides an amount in proportion to weights. `None` when there is no weight to go by, or nothing sensible to
/// divide: a negative total.
pub fn by_weight(total: GpuSeconds, weights: &[u32]) -> Option<Vec<GpuSeconds>> {
    let weight_sum: i128 = weights.iter().copied().map(i128::from).sum();
    if weight_sum == 0 || total < GpuSeconds::ZERO {
        return None;
    }
    let products = weights
        .iter()
        .map(|weight| i128::from(total.0) * i128::from(*weight));
    let mut parts: Vec<i128> = products.clone().map(|product| product / weight_sum).collect();
    let left_over = usize::try_from(i128::from(total.0) - parts.iter().sum::<i128>()).ok()?;
    let mut by_remainder: Vec<(usize, i128)> =
        products.map(|product| product % weight_sum).enumerate().collect();
    by_remainder.sort_by_key(|(position, remainder)| (Reverse(*remainder), *position));
    for (position, _) in by_remainder.into_iter().take(left_over) {
        parts[position] += 1;
    }
    parts
        .into_iter()
        .map(|part| i64::try_from(part).ok().map(GpuSeconds))
        .collect()
}

/// Divides an amount evenly. `None` when there is nobody to divide it among, or it is negative.
pub fn evenly(total: GpuSeconds, among: usize) -> Option<Vec<GpuSeconds>> {
    by_weight(total, &vec![1; among])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn left_over_seconds_go_to_the_largest_remainders_and_then_to_the_first() {
        let check = |total: i64, weights: &[u32], want: Option<&[i64]>| {
            let want = want.map(|parts| parts.iter().copied().map(GpuSeconds).collect::<Vec<_>>());
            assert_eq!(
                by_weight(GpuSeconds(total), weights),
                want,
                "{total} by {weights:?}"
            );
        };
        check(
            360_000,
            &[3_333, 3_333, 3_334],
            Some(&[119_988, 119_988, 120_024]),
        );
        check(1, &[1, 1], Some(&[1, 0]));
        check(2, &[0, 5, 0], Some(&[0, 2, 0]));
        check(10, &[0, 0], None);
        check(10, &[], None);
        check(-1, &[1], None);
        assert_eq!(
            evenly(GpuSeconds(360_000), 7),
            Some(
                [51_429, 51_429, 51_429, 51_429, 51_428, 51_428, 51_428]
                    .map(GpuSeconds)
                    .to_vec()
            )
        );
        assert_eq!(evenly(GpuSeconds(1), 0), None);
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole_and_each_is_within_a_second_of_its_due(
            total in 0_i64..400_000_000_000_000,
            weights in prop::collection::vec(0_u32..u32::MAX, 1..40),
        ) {
            let sum: i128 = weights.iter().copied().map(i128::from).sum();
            prop_assume!(sum > 0);
            let parts = by_weight(GpuSeconds(total), &weights).unwrap();
            prop_assert_eq!(parts.iter().copied().sum::<GpuSeconds>(), GpuSeconds(total));
            for (part, weight) in parts.iter().zip(&weights) {
                let off = i128::from(part.0) * sum - i128::from(total) * i128::from(*weight);
                prop_assert!(off.abs() < sum);
            }
        }
    }
}
