//! Hosts that break and come back, from a seed.
//!
//! Every host draws from a stream of its own, so that one more host, or one more draw, moves no other. Only whole
//! numbers are drawn: the times are the same on every machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::units::{HOUR_S, Seconds};

/// How often a host breaks, and how long its repair takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The mean time between two faults.
    pub mean_between: Seconds,
    /// The shortest repair.
    pub shortest_repair: Seconds,
    /// The longest repair.
    pub longest_repair: Seconds,
}

/// The fate of one host.
pub(super) struct Fate {
    faults: Faults,
    draws: ChaCha8Rng,
}

impl Fate {
    pub(super) fn new(faults: Faults, seed: u64, host: usize) -> Self {
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        draws.set_stream(host as u64);
        Self { faults, draws }
    }

    /// A whole number below `bound`, evenly enough: the bounds are tiny against 2^64.
    fn below(&mut self, bound: i64) -> i64 {
        let bound = bound.max(1).unsigned_abs();
        i64::try_from(self.draws.next_u64() % bound).unwrap_or(0)
    }

    /// Time until the next fault: hour by hour with the same chance, then anywhere within the hour.
    pub(super) fn until_fault(&mut self) -> Seconds {
        let hours = (self.faults.mean_between.0 / HOUR_S).max(1);
        let mut passed = 0;
        while self.below(hours) != 0 {
            passed += HOUR_S;
        }
        Seconds(passed + 1 + self.below(HOUR_S))
    }

    /// How long the repair takes.
    pub(super) fn repair(&mut self) -> Seconds {
        let (shortest, longest) = (self.faults.shortest_repair.0, self.faults.longest_repair.0);
        Seconds((shortest + self.below(longest - shortest + 1)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::DAY_S;

    #[test]
    fn faults_come_as_often_as_their_mean_says_and_repairs_stay_in_range() {
        let faults = Faults {
            mean_between: Seconds(40 * DAY_S),
            shortest_repair: Seconds(1_800),
            longest_repair: Seconds(14_400),
        };
        let mut total = 0;
        for host in 0..400 {
            let mut fate = Fate::new(faults, 7, host);
            total += fate.until_fault().0;
            assert!((1_800..=14_400).contains(&fate.repair().0));
        }
        let mean_days = total / 400 / DAY_S;
        assert!((34..=46).contains(&mean_days), "{mean_days} days");
    }

    #[test]
    fn each_host_has_a_fate_of_its_own_and_keeps_it() {
        let faults = Faults {
            mean_between: Seconds(DAY_S),
            shortest_repair: Seconds(60),
            longest_repair: Seconds(60),
        };
        let first = |seed, host| Fate::new(faults, seed, host).until_fault();
        assert_eq!(first(1, 3), first(1, 3));
        assert!((0..20).any(|host| first(1, host) != first(1, host + 1)));
        assert!((0..20).any(|host| first(1, host) != first(2, host)));
    }
}
