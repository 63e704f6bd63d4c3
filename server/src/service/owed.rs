//! What each leaf was owed and got in the look-back, hour by hour.
//!
//! Owed in an hour is the lesser of what the rate gives and what was asked for in it. *Source*: policy, section 12.

use stint_core::sched::state::State;
use stint_core::sched::tree::LeafIx;
use stint_core::standing::{OwedDelivered, delivered_over_owed};
use stint_core::units::{Fraction, GpuSeconds, HOUR_S, MilliGpus, Seconds, Timestamp};

/// What every leaf was owed and got.
#[derive(Clone, Debug)]
pub struct Deliveries {
    /// By the position of the leaf.
    pub leaves: Vec<OwedDelivered>,
    /// How much of the look-back there is: from the hour in which something was first asked for or charged.
    pub covered: Seconds,
}

impl Deliveries {
    /// Adds the look-back up by the hours of the clock; the first and the last may be parts of one.
    pub fn of(state: &State, now: Timestamp) -> Self {
        let window = state.rules().look_back.span();
        let hours = hours(now - window, now);
        let mut first = now;
        let mut leaves = Vec::with_capacity(state.tree().leaf_count());
        for leaf in state.tree().leaves() {
            let mut sum = OwedDelivered::default();
            for (from, to) in &hours {
                let (demand, delivered) = add_hour(&mut sum, state, leaf, (*from, *to), now);
                if demand != GpuSeconds::ZERO || delivered != GpuSeconds::ZERO {
                    first = first.min(*from);
                }
            }
            leaves.push(sum);
        }
        Self {
            leaves,
            covered: now.since(first),
        }
    }

    /// Delivered over owed of all leaves.
    pub fn ratio(&self) -> Fraction {
        delivered_over_owed(&self.leaves)
    }
}

/// The hours of the clock between two instants.
fn hours(from: Timestamp, to: Timestamp) -> Vec<(Timestamp, Timestamp)> {
    let next = |at: &Timestamp| {
        let hour = Timestamp((at.0.div_euclid(HOUR_S) + 1) * HOUR_S);
        (hour < to).then_some(hour)
    };
    let starts: Vec<Timestamp> = std::iter::successors(Some(from), next).collect();
    let ends = starts.iter().skip(1).copied().chain([to]);
    starts.iter().copied().zip(ends).collect()
}

fn add_hour(
    sum: &mut OwedDelivered,
    state: &State,
    leaf: LeafIx,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> (GpuSeconds, GpuSeconds) {
    let ix = state.tree().leaf_ix(leaf);
    let span = to.since(from);
    let given = state.rate_over(ix, now.since(from), now) - state.rate_over(ix, now.since(to), now);
    let mean = given / i128::from(span.0.max(1));
    let rate = MilliGpus(i64::try_from(mean).unwrap_or(i64::MAX));
    let demand = state.demand_between(leaf, from, to);
    let delivered = state.charged_between(ix, from, to);
    sum.add(rate, span, demand, delivered);
    (demand, delivered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_back_is_cut_at_the_hours_of_the_clock() {
        let check = |from: i64, to: i64, want: &[(i64, i64)]| {
            let want: Vec<_> = want.iter().map(|(a, b)| (Timestamp(*a), Timestamp(*b))).collect();
            assert_eq!(hours(Timestamp(from), Timestamp(to)), want);
        };
        check(0, 7_200, &[(0, 3_600), (3_600, 7_200)]);
        check(1_800, 5_400, &[(1_800, 3_600), (3_600, 5_400)]);
        check(100, 200, &[(100, 200)]);
        check(-1_800, 1_800, &[(-1_800, 0), (0, 1_800)]);
    }
}
