//! What a pool can hand out in a period.

use crate::units::{GpuSeconds, Gpus, Seconds};

/// Basis points of a whole.
const WHOLE_BP: u32 = 10_000;

/// The part of a pool that is not handed out: it pays for repairs and the debug lane. *Units*: basis points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reserve(u32);

impl Reserve {
    /// A reserve of 0 to 10,000 basis points; `None` beyond.
    pub fn from_bp(basis_points: u32) -> Option<Self> {
        (basis_points <= WHOLE_BP).then_some(Self(basis_points))
    }
}

/// GPUs x length x (1 - reserve), floored. *Source*: policy, section 2.
pub fn budgetable(gpus: Gpus, length: Seconds, reserve: Reserve) -> GpuSeconds {
    let whole = i128::from(gpus.over(length).0);
    let kept = whole * i128::from(WHOLE_BP - reserve.0) / i128::from(WHOLE_BP);
    // At most the whole, which is one itself.
    GpuSeconds(i64::try_from(kept).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_taken_off_once_and_the_rest_floored() {
        let check = |gpus: u32, length_s: i64, bp: u32, want: i64| {
            let reserve = Reserve::from_bp(bp).unwrap();
            assert_eq!(
                budgetable(Gpus(gpus), Seconds(length_s), reserve),
                GpuSeconds(want)
            );
        };
        check(256, 7_952_400, 300, 1_974_739_968);
        check(1, 1, 1, 0);
        check(3, 3_333, 0, 9_999);
        check(1_000_000, 10 * 366 * 86_400, 300, 306_737_280_000_000);
        check(8, 3_600, 10_000, 0);
        assert_eq!(Reserve::from_bp(10_001), None);
    }
}
