//! Exact sums over the look-back, in constant time per evaluation.
//!
//! What is summed is a step function of time (GPUs charged, or a rate in milli-GPU) plus single amounts (refunds,
//! late charges). Keeping its running integral, and the integral of time times level, makes any window the
//! difference of two readings; a tail pointer follows the far end of the window as time goes on.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::units::{Seconds, Timestamp};

/// How the past is weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookBack {
    /// Everything within the span counts in full, nothing before it.
    Sliding(Seconds),
    /// Weight 1 - age / span, so that nothing drops out at once. *Source*: policy, section 4.
    Fade(Seconds),
}

impl LookBack {
    /// The age beyond which nothing counts.
    pub fn span(self) -> Seconds {
        match self {
            Self::Sliding(span) | Self::Fade(span) => span,
        }
    }

    /// A sliding sum is a plain sum; a faded one is a fraction with this denominator.
    /// Comparing two sums of one look-back needs no division.
    pub fn scale(self) -> i128 {
        match self {
            Self::Sliding(_) => 1,
            Self::Fade(span) => 2 * i128::from(span.0),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    /// From this instant on the level holds.
    at: i64,
    /// The level from `at` on.
    level: i64,
    /// Integral of the level, and all single amounts, up to and including `at`.
    sum: i128,
    /// Twice the integral of time times level, and of time times single amounts, up to and including `at`.
    moment: i128,
}

impl Step {
    fn sum_at(&self, at: i64) -> i128 {
        self.sum + i128::from(self.level) * i128::from(at - self.at)
    }

    fn moment_at(&self, at: i64) -> i128 {
        let square = |t: i64| i128::from(t) * i128::from(t);
        self.moment + i128::from(self.level) * (square(at) - square(self.at))
    }
}

/// The integral of a step function over a look-back that moves forward in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSum {
    steps: VecDeque<Step>,
    /// The level that holds now.
    level: i64,
}

impl StepSum {
    /// The level that holds now.
    pub fn level(&self) -> i64 {
        self.level
    }

    /// Changes the level by `by` from `at` on. `at` may not lie before the last change.
    pub fn change(&mut self, at: Timestamp, by: i64) {
        if by == 0 {
            return;
        }
        self.level += by;
        let level = self.level;
        self.step(at).level = level;
    }

    /// Sets the level from `at` on.
    pub fn set(&mut self, at: Timestamp, level: i64) {
        self.change(at, level - self.level);
    }

    /// Adds a single amount at an instant: a refund (negative), or a late charge.
    pub fn add(&mut self, at: Timestamp, amount: i64) {
        let step = self.step(at);
        step.sum += i128::from(amount);
        step.moment += 2 * i128::from(amount) * i128::from(step.at);
    }

    /// The step that begins at `at`, or at the last change when that is later: time does not go back.
    fn step(&mut self, at: Timestamp) -> &mut Step {
        let last = self.steps.back().copied();
        match last {
            Some(last) if last.at >= at.0 => {}
            Some(last) => self.steps.push_back(Step {
                at: at.0,
                level: last.level,
                sum: last.sum_at(at.0),
                moment: last.moment_at(at.0),
            }),
            None => self.steps.push_back(Step {
                at: at.0,
                ..Step::default()
            }),
        }
        let end = self.steps.len() - 1;
        &mut self.steps[end]
    }

    fn reading(&self, at: i64) -> (i128, i128) {
        // The near end of a window lies behind the last change, nearly always.
        let after = match self.steps.back() {
            Some(last) if last.at <= at => self.steps.len(),
            _ => self.steps.partition_point(|step| step.at <= at),
        };
        match after.checked_sub(1) {
            Some(ix) => (self.steps[ix].sum_at(at), self.steps[ix].moment_at(at)),
            None => (0, 0),
        }
    }

    /// Everything summed up to `at`, whatever its age. *Units*: level x seconds.
    pub fn total(&self, at: Timestamp) -> i128 {
        self.reading(at.0).0
    }

    /// The sum over the look-back ending at `at`, times [`LookBack::scale`].
    pub fn over(&self, look_back: LookBack, at: Timestamp) -> i128 {
        let span = look_back.span().0;
        let far = at.0 - span;
        let (sum_now, moment_now) = self.reading(at.0);
        let (sum_far, moment_far) = self.reading(far);
        match look_back {
            LookBack::Sliding(_) => sum_now - sum_far,
            // integral of level (s - far) / span ds = (moment / 2 - far x sum) / span
            LookBack::Fade(_) => (moment_now - moment_far) - 2 * i128::from(far) * (sum_now - sum_far),
        }
    }

    /// Forgets steps that no look-back of this span, read at `at` or later, will ask for.
    pub fn forget_before(&mut self, at: Timestamp, span: Seconds) {
        let far = at.0 - span.0;
        while self.steps.len() > 1 && self.steps[1].at <= far {
            self.steps.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Second by second, the slow way.
    fn by_hand(levels: &[i64], look_back: LookBack, at: i64) -> i128 {
        let far = at - look_back.span().0;
        let seconds = (far.max(0)..at)
            .filter_map(|s| usize::try_from(s).ok().and_then(|ix| Some((s, levels.get(ix)?))));
        match look_back {
            LookBack::Sliding(_) => seconds.map(|(_, level)| i128::from(*level)).sum(),
            LookBack::Fade(_) => seconds
                .map(|(s, level)| i128::from(*level) * i128::from(2 * (s - far) + 1))
                .sum(),
        }
    }

    proptest! {
        #[test]
        fn a_look_back_is_the_sum_of_its_seconds(levels in prop::collection::vec(0_i64..9, 1..80), span in 1_i64..60) {
            let mut sum = StepSum::default();
            for (at, level) in (0_i64..).zip(&levels) {
                sum.set(Timestamp(at), *level);
            }
            let end = i64::try_from(levels.len()).unwrap();
            for look_back in [LookBack::Sliding(Seconds(span)), LookBack::Fade(Seconds(span))] {
                prop_assert_eq!(sum.over(look_back, Timestamp(end)), by_hand(&levels, look_back, end));
            }
            let before = sum.over(LookBack::Fade(Seconds(span)), Timestamp(end));
            sum.forget_before(Timestamp(end), Seconds(span));
            prop_assert_eq!(sum.over(LookBack::Fade(Seconds(span)), Timestamp(end)), before);
        }

        #[test]
        fn an_hour_is_an_hour_in_whatever_steps_it_is_counted(cuts in prop::collection::btree_set(1_i64..3_600, 0..20)) {
            let mut sum = StepSum::default();
            sum.set(Timestamp(0), 1);
            for cut in cuts {
                sum.change(Timestamp(cut), 1);
                sum.change(Timestamp(cut), -1);
            }
            prop_assert_eq!(sum.over(LookBack::Sliding(Seconds(3_600)), Timestamp(3_600)), 3_600);
        }
    }

    #[test]
    fn a_refund_leaves_the_window_when_it_is_old() {
        let mut sum = StepSum::default();
        sum.add(Timestamp(100), -50);
        assert_eq!(sum.over(LookBack::Sliding(Seconds(10)), Timestamp(105)), -50);
        assert_eq!(sum.over(LookBack::Sliding(Seconds(10)), Timestamp(110)), 0);
        assert_eq!(sum.total(Timestamp(200)), -50);
    }
}
