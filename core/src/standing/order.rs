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
            (true, true) => (self.used * other.due).cmp(&(other.used * self.due)),
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
                let margin = i128::from(margin_milli);
                1_000 * (self.used * other.due - other.used * self.due) > margin * self.due * other.due
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
