//! An instant with the offset of the zone it is shown in.

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use crate::units::Timestamp;

/// An instant with the offset of the zone it is shown in; RFC 3339 in JSON, to the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
#[serde(transparent)]
pub struct Time(DateTime<FixedOffset>);

impl Time {
    /// An instant, shown with an offset east of UTC in seconds. `None` outside the years that chrono can show.
    pub fn new(at: Timestamp, offset_s: i32) -> Option<Self> {
        let offset = FixedOffset::east_opt(offset_s)?;
        Some(Self(DateTime::from_timestamp(at.0, 0)?.with_timezone(&offset)))
    }

    /// The instant.
    pub fn at(self) -> Timestamp {
        Timestamp(self.0.timestamp())
    }

    /// The offset east of UTC, in seconds.
    pub fn offset_s(self) -> i32 {
        self.0.offset().local_minus_utc()
    }

    /// RFC 3339 with offset, for `datetime` attributes and CSV.
    pub fn rfc3339(self) -> String {
        self.0.to_rfc3339_opts(chrono::SecondsFormat::Secs, false)
    }

    /// `14:32`.
    pub fn hours_minutes(self) -> String {
        self.0.format("%H:%M").to_string()
    }

    /// `Tue 17 Nov, 14:32`.
    pub fn day_minutes(self) -> String {
        self.0.format("%a %-d %b, %H:%M").to_string()
    }

    /// `Tue 17 Nov, 14:32:06`.
    pub fn day_seconds(self) -> String {
        self.0.format("%a %-d %b, %H:%M:%S").to_string()
    }

    /// `31 Dec 2026`.
    pub fn date(self) -> String {
        self.0.format("%-d %b %Y").to_string()
    }

    /// `14:32` on the day of `other`, else with the day.
    pub fn near(self, other: Self) -> String {
        if self.0.date_naive() == other.0.date_naive() {
            self.hours_minutes()
        } else {
            self.day_minutes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_keeps_its_offset_and_shows_the_day_only_where_it_differs() {
        let time = Time::new(Timestamp(1_794_922_326), 3_600).unwrap();
        assert_eq!(
            serde_json::to_string(&time).unwrap(),
            "\"2026-11-17T14:32:06+01:00\""
        );
        assert_eq!(time.day_seconds(), "Tue 17 Nov, 14:32:06");
        assert_eq!(time.near(time), "14:32");
        assert_eq!(
            Time::new(Timestamp(1_795_000_000), 3_600).unwrap().near(time),
            "Wed 18 Nov, 12:06"
        );
    }
}
