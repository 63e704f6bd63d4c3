//! Owed and delivered: did a team get what it was due whenever it could have used it?
//!
//! Owed in a span is the lesser of what the rate gives over it and what was asked for in it. Delivered is what was
//! charged. The lesser of the two is taken once per leaf over the whole time that is reported, because a team may
//! get on Tuesday what it was owed on Monday. *Source*: policy, section 12.

use crate::units::{Fraction, GpuSeconds, MilliGpus, Seconds};

/// Milli-GPU-seconds in a GPU-second.
const MILLI: i128 = 1_000;

/// What one leaf was owed and got over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwedDelivered {
    /// *Units*: milli-GPU-seconds, because rates are whole milli-GPU.
    owed_milli: i128,
    delivered: GpuSeconds,
}

impl OwedDelivered {
    /// Adds a span, an hour as a rule: the rate in it, the GPU time that queued and running allocated work could
    /// have used in it, and what was charged.
    pub fn add(&mut self, rate: MilliGpus, span: Seconds, demand: GpuSeconds, delivered: GpuSeconds) {
        let by_rate = i128::from(rate.0) * i128::from(span.0);
        self.owed_milli += by_rate.min(MILLI * i128::from(demand.0)).max(0);
        self.delivered += delivered;
    }

    /// What was owed, floored to whole GPU-seconds.
    pub fn owed(&self) -> GpuSeconds {
        GpuSeconds(i64::try_from(self.owed_milli / MILLI).unwrap_or(i64::MAX))
    }

    /// What was delivered, also beyond what was owed.
    pub fn delivered(&self) -> GpuSeconds {
        self.delivered
    }
}

/// Delivered over owed of some leaves: the sum of what each got of what it was owed, over the sum of what all were
/// owed, reduced. Undefined when nothing was owed.
pub fn delivered_over_owed<'a>(leaves: impl IntoIterator<Item = &'a OwedDelivered>) -> Fraction {
    let (mut got, mut owed) = (0_i128, 0_i128);
    for leaf in leaves {
        got += leaf.owed_milli.min(MILLI * i128::from(leaf.delivered.0)).max(0);
        owed += leaf.owed_milli;
    }
    let common = gcd(got, owed).max(1);
    let whole = |amount: i128| i64::try_from(amount / common).unwrap_or(i64::MAX);
    Fraction {
        num: whole(got),
        den: whole(owed),
    }
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Seconds = Seconds::from_hours(1);

    fn leaf(hours: &[(i64, i64, i64)]) -> OwedDelivered {
        let mut leaf = OwedDelivered::default();
        for (rate_milli, demand, delivered) in hours {
            leaf.add(
                MilliGpus(*rate_milli),
                HOUR,
                GpuSeconds(*demand),
                GpuSeconds(*delivered),
            );
        }
        leaf
    }

    #[test]
    fn what_is_late_by_an_hour_still_counts_as_delivered() {
        let late = leaf(&[(1_000, 7_200, 0), (1_000, 7_200, 7_200)]);
        assert_eq!(delivered_over_owed([&late]), Fraction { num: 1, den: 1 });
    }

    #[test]
    fn one_leaf_s_surplus_does_not_pay_for_another_s_shortfall() {
        let ahead = leaf(&[(1_000, 99_999, 50_000)]);
        let behind = leaf(&[(1_000, 99_999, 1_800)]);
        assert_eq!(
            delivered_over_owed([&ahead, &behind]),
            Fraction { num: 3, den: 4 }
        );
    }

    #[test]
    fn nothing_is_owed_without_demand_or_rate() {
        let idle = leaf(&[(5_000, 0, 0), (0, 99_999, 3_600)]);
        assert_eq!(idle.owed(), GpuSeconds::ZERO);
        assert_eq!(idle.delivered(), GpuSeconds(3_600));
        assert_eq!(delivered_over_owed([&idle]).text(3), None);
    }

    #[test]
    fn rates_of_thousandths_are_summed_before_they_are_floored() {
        let third = leaf(&[(333, 99_999, 0); 5]);
        assert_eq!(third.owed(), GpuSeconds(333 * 3_600 * 5 / 1_000));
    }
}
