//! The example that comes with the program: an institute of eleven teams, 32 hosts, and four weeks of recorded demand.
//!
//! The quarter begins when the trace has been going on for [`BACKLOG`]: what was submitted before is queued at once,
//! with its own submit times, so that the very first page shows a full queue. The rest arrives as the clock goes on.

use serde::Serialize;
use stint_core::input::layout;
use stint_core::input::trace::BadRows;
use stint_core::ledger::{ZoneError, quarter_at};
use stint_core::units::{Seconds, Timestamp};

use super::hosts::HostsReport;
use super::org::OrgReport;
use super::trace::{Target, TraceReport};
use super::{Author, ImportError, Mode, Progress, begin, end, hosts, org, replay, trace};
use crate::store::{Store, StoreError, settings};

/// The organisation of the example.
pub const ORG: &[u8] = include_bytes!("../../examples/philly/org.toml");
/// Its hosts.
pub const HOSTS: &[u8] = include_bytes!("../../examples/philly/hosts.toml");
/// Its recorded demand.
pub const TRACE: &[u8] = include_bytes!("../../examples/philly/trace.csv");
/// The time zone of the example, as its organisation file has it.
pub const ZONE: &str = "America/Los_Angeles";
/// For how long the trace has been going on when the quarter begins: its first busy hours lie just before, which
/// leaves some 800 workloads queued.
pub const BACKLOG: Seconds = Seconds::from_hours(26);

/// The setting that says which example is in the store.
const EXAMPLE_KEY: &str = "demo.example";
const EXAMPLE: &str = "philly";

/// What was set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DemoReport {
    /// Pools and hosts.
    pub hosts: HostsReport,
    /// The organisation.
    pub org: OrgReport,
    /// The recorded demand.
    pub trace: TraceReport,
    /// How many workloads are queued from the start.
    pub queued: usize,
}

/// The beginning of the quarter in which an instant lies, in the example's time zone: where its clock starts.
pub fn period_start(now: Timestamp) -> Result<Timestamp, ZoneError> {
    Ok(quarter_at(ZONE, now)?.starts)
}

/// Puts the example into the store, in one transaction; `None` when it is there already.
pub async fn setup_demo(
    store: &Store,
    start: Timestamp,
    progress: Progress<'_>,
) -> Result<Option<DemoReport>, ImportError> {
    let author = Author {
        person: EXAMPLE.parse().map_err(unreadable)?,
        name: "Example".to_owned(),
        at: start,
    };
    let mut transaction = begin(store).await?;
    if settings::get(&mut transaction, EXAMPLE_KEY).await?.as_deref() == Some(EXAMPLE) {
        return Ok(None);
    }
    let target = Target {
        pool: None,
        began: start - BACKLOG,
        bad_rows: BadRows::Refuse,
    };
    let hosts = hosts::write(&mut transaction, &author, &layout::hosts::read(HOSTS)?).await?;
    let org = org::write(&mut transaction, &author, &layout::org::read(ORG)?, None).await?;
    let trace = trace::write(&mut transaction, &author, TRACE, &target, progress).await?;
    // The quarter's first instant belongs to the replay.
    let queued = replay::submit_due(&mut transaction, start - Seconds(1), u32::MAX).await?;
    settings::set(&mut transaction, EXAMPLE_KEY, EXAMPLE).await?;
    end(transaction, Mode::Apply).await?;
    Ok(Some(DemoReport {
        hosts,
        org,
        trace,
        queued: queued.len(),
    }))
}

fn unreadable(source: stint_core::id::IdError) -> StoreError {
    StoreError::Unreadable {
        what: "example",
        source: source.into(),
    }
}
