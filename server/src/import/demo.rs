//! The example that comes with the program: an institute of eleven teams, 32 hosts, and four weeks of recorded demand.
//!
//! The quarter begins when the trace has been going on for [`LEAD`]. That lead is simulated: what would not be over by
//! then is queued when the quarter begins, with its own submit time and the time it still has to run, so that the
//! very first page shows a full queue. The rest arrives as the clock goes on.

use std::collections::BTreeMap;

use serde::Serialize;
use stint_core::input::layout;
use stint_core::input::trace::{BadRows, Bounds, read};
use stint_core::ledger::{ZoneError, quarter_at};
use stint_core::sim::{self, Setup};
use stint_core::units::{DAY_S, Seconds, Timestamp};

use super::hosts::HostsReport;
use super::org::OrgReport;
use super::replay::Recorded;
use super::trace::{Target, TraceReport};
use super::{Author, ImportError, Mode, Progress, begin, end, hosts, org, replay, trace};
use crate::store::{Connection, Store, StoreError, arrivals, settings};

/// The organisation of the example.
pub const ORG: &[u8] = include_bytes!("../../examples/philly/org.toml");
/// Its hosts.
pub const HOSTS: &[u8] = include_bytes!("../../examples/philly/hosts.toml");
/// Its recorded demand.
pub const TRACE: &[u8] = include_bytes!("../../examples/philly/trace.csv");
/// The time zone of the example, as its organisation file has it.
pub const ZONE: &str = "America/Los_Angeles";
/// For how long the trace has been going on when the quarter begins. By then demand has outrun the pool for good:
/// some 1,000 workloads wait, and for two more weeks they become more.
pub const LEAD: Seconds = Seconds(9 * DAY_S + DAY_S / 2);

/// How much was recorded: the grants of the lead are those of the whole.
const TRACE_SPAN: Seconds = Seconds(28 * DAY_S);

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
        began: start - LEAD,
        bad_rows: BadRows::Refuse,
    };
    let hosts = hosts::write(&mut transaction, &author, &layout::hosts::read(HOSTS)?).await?;
    let org = org::write(&mut transaction, &author, &layout::org::read(ORG)?, None).await?;
    let trace = trace::write(&mut transaction, &author, TRACE, &target, progress).await?;
    live_through_lead(&mut transaction, start).await?;
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

/// Takes away what would be over when the quarter begins, and leaves to the rest the time it still has to run.
async fn live_through_lead(db: &mut Connection, start: Timestamp) -> Result<(), ImportError> {
    let left = left_after_lead()?;
    for arrival in arrivals::due(&mut *db, start - Seconds(1), u32::MAX).await? {
        arrivals::delete(&mut *db, &arrival.external_id).await?;
        if let Some(remaining) = left.get(&arrival.external_id) {
            let mut recorded = Recorded::read(&arrival)?;
            recorded.row.duration = *remaining;
            arrivals::insert(&mut *db, &recorded.arrival(arrival.submit_at)?).await?;
        }
    }
    Ok(())
}

/// What the lead leaves unfinished, and for how long each still has to run.
fn left_after_lead() -> Result<BTreeMap<String, Seconds>, ImportError> {
    let layout = layout::org::read(ORG)?;
    let hosts = layout::hosts::read(HOSTS)?;
    let Some(pool) = hosts.pools.first() else {
        return Ok(BTreeMap::new());
    };
    let bounds = Bounds {
        org: &layout.org,
        limits: pool.limits(),
    };
    let rows = read(TRACE, &bounds, BadRows::Refuse)?.rows;
    let setup = Setup {
        span: LEAD,
        ..Setup::recorded(&layout, pool, &rows, TRACE_SPAN)
    };
    let report = sim::run(&setup, None, &mut |_| {}).map_err(|source| StoreError::Unreadable {
        what: "example",
        source: source.into(),
    })?;
    let named = report.unfinished.iter().filter_map(|left| {
        let ix = usize::try_from(left.workload.0).ok()?.checked_sub(1)?;
        Some((rows.get(ix)?.id.clone(), left.remaining))
    });
    Ok(named.collect())
}

fn unreadable(source: stint_core::id::IdError) -> StoreError {
    StoreError::Unreadable {
        what: "example",
        source: source.into(),
    }
}
