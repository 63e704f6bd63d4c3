//! The instant an answer is true for, and the zone its times are shown in.

use stint_core::api::Time;
use stint_core::ledger::zone_at;
use stint_core::units::Timestamp;

/// The zone that times are shown in before there is any period.
const ZONE_WITHOUT_PERIODS: &str = "UTC";

/// The instant an answer is true for, and the zone its times are shown in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The instant.
    pub now: Timestamp,
    /// The IANA zone.
    pub zone: String,
}

impl Moment {
    /// An instant in the zone of a period; in UTC before there is one.
    pub fn new(now: Timestamp, zone: Option<&str>) -> Self {
        Self {
            now,
            zone: zone.unwrap_or(ZONE_WITHOUT_PERIODS).to_owned(),
        }
    }

    /// Another instant, in the zone. Shown in UTC where the zone is unknown to this program, and as the beginning of
    /// 1970 where no calendar shows it.
    pub fn time(&self, at: Timestamp) -> Time {
        let offset_s = zone_at(&self.zone, at).map_or(0, |(offset_s, _)| offset_s);
        Time::new(at, offset_s).unwrap_or_default()
    }

    /// This instant.
    pub fn as_of(&self) -> Time {
        self.time(self.now)
    }

    /// The zone's short name at this instant.
    pub fn zone_short(&self) -> String {
        zone_at(&self.zone, self.now).map_or_else(|_| ZONE_WITHOUT_PERIODS.to_owned(), |(_, short)| short)
    }
}
