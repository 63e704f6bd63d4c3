//! Periods: half-open spans of time that budgets are made for.
//!
//! A period is computed once from an IANA time zone and stored as two instants, so that its length never depends
//! on who asks or where. Quarters are not a whole number of days: daylight saving shortens one and lengthens
//! another. *Source*: ledger, section 1.

use serde::{Deserialize, Serialize};

use crate::id::PeriodId;
use crate::units::{GpuSeconds, Gpus, Seconds, Timestamp};

/// A period: `starts` belongs to it, `ends` does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// Its name, such as `2026-Q4`.
    pub id: PeriodId,
    /// Its first instant.
    pub starts: Timestamp,
    /// The first instant after it.
    pub ends: Timestamp,
    /// The IANA zone it was cut in.
    pub zone: String,
}

impl Period {
    /// How long it is.
    pub fn length(&self) -> Seconds {
        self.ends.since(self.starts)
    }

    /// Whether the instant belongs to it.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.starts <= at && at < self.ends
    }

    /// Whether it is over, so that nothing more is posted.
    pub fn is_over(&self, at: Timestamp) -> bool {
        at >= self.ends
    }
}

/// The part of a span that lies in one period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The period.
    pub period: PeriodId,
    /// Where the part begins.
    pub starts: Timestamp,
    /// Where it ends, exclusive.
    pub ends: Timestamp,
}

impl Part {
    /// GPU time of so many GPUs over the part.
    pub fn charge(&self, gpus: Gpus) -> GpuSeconds {
        gpus.over(self.ends.since(self.starts))
    }
}

/// Why a span can't be cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// It ends before it begins.
    #[error("the span ends {} before it begins", Seconds(.starts.0 - .ends.0))]
    Reversed {
        /// Where it begins.
        starts: Timestamp,
        /// Where it ends.
        ends: Timestamp,
    },
    /// No period covers this instant.
    #[error("no period covers the instant {} (seconds since 1970)", .0.0)]
    NoPeriod(Timestamp),
}

/// Cuts a span at the bounds of periods: the parts follow each other without gap and sum to the whole.
///
/// Periods are found by the span's own instants, never by the time at which somebody asks.
///
/// # Errors
/// [`SpanError`] when the span is reversed, or when periods leave a gap in it.
pub fn cut(periods: &[Period], starts: Timestamp, ends: Timestamp) -> Result<Vec<Part>, SpanError> {
    if ends < starts {
        return Err(SpanError::Reversed { starts, ends });
    }
    let mut parts = Vec::new();
    let mut at = starts;
    while at < ends {
        let period = periods
            .iter()
            .find(|period| period.contains(at))
            .ok_or(SpanError::NoPeriod(at))?;
        let until = period.ends.min(ends);
        parts.push(Part {
            period: period.id.clone(),
            starts: at,
            ends: until,
        });
        at = until;
    }
    Ok(parts)
}

#[cfg(feature = "zones")]
pub use zones::{ZoneError, quarter, quarter_at, zone_at};

#[cfg(feature = "zones")]
mod zones {
    use chrono::{
        DateTime, Datelike, MappedLocalTime, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone, Utc,
    };
    use chrono_tz::{OffsetName, Tz};

    use super::Period;
    use crate::units::Timestamp;

    /// Years that have quarters: from the first that instants count from, to the last with four digits.
    const YEARS: std::ops::RangeInclusive<i32> = 1970..=9998;
    /// Clocks are set forward by multiples of this, so that a day that begins in a gap begins at one of them.
    const GAP_STEP_MIN: i64 = 15;

    /// Why a zone or a quarter is not one.
    #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
    pub enum ZoneError {
        /// No IANA zone has this name.
        #[error("no time zone is called {0:?}; use an IANA name such as America/Los_Angeles or UTC")]
        Unknown(String),
        /// Not 1 to 4, or a year that has no quarters here.
        #[error("there is no quarter {quarter} of the year {year}; quarters are 1 to 4, years 1970 to 9998")]
        NoQuarter {
            /// The year.
            year: i32,
            /// The quarter.
            quarter: u32,
        },
        /// An instant outside the years that have quarters.
        #[error("the instant {} lies outside the years 1970 to 9998", .0.0)]
        OutOfRange(Timestamp),
    }

    fn named(zone: &str) -> Result<Tz, ZoneError> {
        zone.parse().map_err(|_| ZoneError::Unknown(zone.to_owned()))
    }

    /// The instant at which a local day begins: its first midnight, or the end of the gap that swallows it.
    fn day_begins(zone: Tz, day: NaiveDate) -> Option<Timestamp> {
        let midnight = NaiveDateTime::from(day);
        let steps = 24 * 60 / GAP_STEP_MIN;
        (0..steps).find_map(|step| {
            let local = midnight.checked_add_signed(TimeDelta::minutes(step * GAP_STEP_MIN))?;
            match zone.from_local_datetime(&local) {
                MappedLocalTime::Single(at) | MappedLocalTime::Ambiguous(at, _) => {
                    Some(Timestamp(at.timestamp()))
                }
                MappedLocalTime::None => None,
            }
        })
    }

    fn quarter_begins(zone: Tz, year: i32, quarter: u32) -> Option<Timestamp> {
        day_begins(zone, NaiveDate::from_ymd_opt(year, 3 * quarter - 2, 1)?)
    }

    /// A quarter of a year in an IANA zone, named like `2026-Q4`.
    ///
    /// # Errors
    /// [`ZoneError`] when there is no such zone or quarter.
    pub fn quarter(zone: &str, year: i32, quarter: u32) -> Result<Period, ZoneError> {
        let tz = named(zone)?;
        let none = || ZoneError::NoQuarter { year, quarter };
        if !YEARS.contains(&year) || !(1..=4).contains(&quarter) {
            return Err(none());
        }
        let next = if quarter == 4 {
            (year + 1, 1)
        } else {
            (year, quarter + 1)
        };
        Ok(Period {
            id: format!("{year}-Q{quarter}").parse().map_err(|_| none())?,
            starts: quarter_begins(tz, year, quarter).ok_or_else(none)?,
            ends: quarter_begins(tz, next.0, next.1).ok_or_else(none)?,
            zone: zone.to_owned(),
        })
    }

    /// The quarter an instant belongs to.
    ///
    /// # Errors
    /// [`ZoneError`] when there is no such zone, or the instant lies outside the years that have quarters.
    pub fn quarter_at(zone: &str, at: Timestamp) -> Result<Period, ZoneError> {
        let tz = named(zone)?;
        let outside = || ZoneError::OutOfRange(at);
        let local = DateTime::<Utc>::from_timestamp(at.0, 0)
            .ok_or_else(outside)?
            .with_timezone(&tz);
        // The local date decides, but where a quarter's first midnight comes twice the first of the two counts,
        // so the neighbours are asked as well.
        let number = local.year() * 4 + i32::try_from(local.month0() / 3).map_err(|_| outside())?;
        [number, number + 1, number - 1]
            .into_iter()
            .filter_map(|n| quarter(zone, n.div_euclid(4), n.rem_euclid(4).unsigned_abs() + 1).ok())
            .find(|period| period.contains(at))
            .ok_or_else(outside)
    }

    /// The offset east of UTC in seconds, and the zone's short name (`PDT`, or `+05:45` where it has none), at an instant.
    ///
    /// # Errors
    /// [`ZoneError`] when there is no such zone, or the instant is beyond what can be shown.
    pub fn zone_at(zone: &str, at: Timestamp) -> Result<(i32, String), ZoneError> {
        let tz = named(zone)?;
        let utc = DateTime::<Utc>::from_timestamp(at.0, 0).ok_or(ZoneError::OutOfRange(at))?;
        let offset = tz.offset_from_utc_datetime(&utc.naive_utc());
        let fix = offset.fix();
        let short = offset
            .abbreviation()
            .map_or_else(|| fix.to_string(), str::to_owned);
        Ok((fix.local_minus_utc(), short))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn period(id: &str, starts: i64, ends: i64) -> Period {
        Period {
            id: id.parse().unwrap(),
            starts: Timestamp(starts),
            ends: Timestamp(ends),
            zone: "UTC".to_owned(),
        }
    }

    #[test]
    fn a_span_outside_all_periods_or_reversed_is_refused() {
        let periods = [period("p1", 0, 100), period("p2", 120, 200)];
        let check = |starts, ends, want| {
            assert_eq!(cut(&periods, Timestamp(starts), Timestamp(ends)), Err(want));
        };
        check(50, 130, SpanError::NoPeriod(Timestamp(100)));
        check(-5, 10, SpanError::NoPeriod(Timestamp(-5)));
        check(150, 201, SpanError::NoPeriod(Timestamp(200)));
        check(
            20,
            10,
            SpanError::Reversed {
                starts: Timestamp(20),
                ends: Timestamp(10),
            },
        );
        assert_eq!(cut(&periods, Timestamp(50), Timestamp(50)), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn the_parts_of_a_span_follow_each_other_and_sum_to_the_whole(
            bounds in prop::collection::btree_set(1_i64..10_000, 1..8),
            a in 0_i64..10_000,
            b in 0_i64..10_000,
            gpus in 1_u32..1_000,
        ) {
            let mut edges: Vec<i64> = bounds.into_iter().collect();
            edges.insert(0, 0);
            edges.push(10_000);
            let periods: Vec<Period> = edges
                .windows(2)
                .enumerate()
                .map(|(n, edge)| period(&format!("p{n}"), edge[0], edge[1]))
                .collect();
            let (starts, ends) = (Timestamp(a.min(b)), Timestamp(a.max(b)));
            let parts = cut(&periods, starts, ends).unwrap();
            let whole: GpuSeconds = parts.iter().map(|part| part.charge(Gpus(gpus))).sum();
            prop_assert_eq!(whole, Gpus(gpus).over(ends.since(starts)));
            for pair in parts.windows(2) {
                prop_assert_eq!(pair[0].ends, pair[1].starts);
                prop_assert_ne!(&pair[0].period, &pair[1].period);
            }
        }
    }

    #[cfg(feature = "zones")]
    mod zones {
        use super::*;

        #[test]
        fn an_unknown_zone_is_named_in_the_error() {
            let error = quarter("Mars/Olympus", 2026, 1).unwrap_err();
            assert_eq!(error, ZoneError::Unknown("Mars/Olympus".to_owned()));
            assert!(error.to_string().contains("Mars/Olympus"));
            assert!(zone_at("", Timestamp(0)).is_err());
        }

        #[test]
        fn there_are_four_quarters_and_no_more() {
            for quarter_number in [0, 5] {
                assert_eq!(
                    quarter("UTC", 2026, quarter_number),
                    Err(ZoneError::NoQuarter {
                        year: 2026,
                        quarter: quarter_number
                    })
                );
            }
            assert!(quarter("UTC", 1969, 4).is_err());
            assert!(quarter_at("UTC", Timestamp(-1)).is_err());
        }

        #[test]
        fn quarters_of_2026_have_the_hours_that_daylight_saving_leaves_them() {
            let check = |zone: &str, want: [i64; 4]| {
                let hours = [1, 2, 3, 4].map(|q| quarter(zone, 2026, q).unwrap().length().get() / 3_600);
                assert_eq!(hours, want, "{zone}");
            };
            check("America/Los_Angeles", [2_159, 2_184, 2_208, 2_209]);
            check("UTC", [2_160, 2_184, 2_208, 2_208]);
        }

        #[test]
        fn a_zone_has_its_offset_and_short_name_of_the_instant() {
            let check = |zone: &str, at: i64, offset_s: i32, short: &str| {
                assert_eq!(zone_at(zone, Timestamp(at)), Ok((offset_s, short.to_owned())));
            };
            check("America/Los_Angeles", 1_784_000_000, -25_200, "PDT");
            check("America/Los_Angeles", 1_795_000_000, -28_800, "PST");
            check("Asia/Kathmandu", 1_795_000_000, 20_700, "+05:45");
        }

        proptest! {
            #[test]
            fn every_instant_belongs_to_the_quarter_found_for_it(
                at in 0_i64..4_000_000_000,
                zone in prop::sample::select(vec!["UTC", "America/Santiago", "Asia/Gaza", "Pacific/Apia", "Asia/Amman"]),
            ) {
                let period = quarter_at(zone, Timestamp(at)).unwrap();
                prop_assert!(period.contains(Timestamp(at)));
                prop_assert_eq!(quarter_at(zone, period.ends).unwrap().starts, period.ends);
            }
        }
    }
}
