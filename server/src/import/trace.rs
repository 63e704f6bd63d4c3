//! Recorded demand becomes arrivals, to be submitted when the clock gets there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stint_core::id::{PersonId, PoolId};
use stint_core::input::BadInput;
use stint_core::input::trace::{BadRows, Bounds, Trace, TraceRow, read};
use stint_core::units::{Seconds, Timestamp};

use super::error::same;
use super::replay::{Recorded, as_submitted};
use super::{Author, ImportError, Mode, PROGRESS_STEP, Progress, begin, end};
use crate::store::arrivals::{self, ArrivalRow};
use crate::store::people::{self, PersonRow};
use crate::store::pools::{self, PoolRow};
use crate::store::row::word;
use crate::store::workloads::{self, NewWorkload};
use crate::store::{Connection, Store, StoreError, nodes};

/// Where a trace goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The pool; the only one if absent.
    pub pool: Option<PoolId>,
    /// When the trace begins: rows are submitted so much later.
    pub began: Timestamp,
    /// What is done about rows that are not accepted.
    pub bad_rows: BadRows,
}

/// What an import of a trace did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceReport {
    /// Rows that are new.
    pub added: usize,
    /// Rows that were there already, to come or submitted.
    pub unchanged: usize,
    /// Rows that were left out.
    pub skipped: u64,
    /// Why, by line, up to a limit.
    pub errors: Vec<BadInput>,
    /// What else a person should know.
    pub warnings: Vec<String>,
    /// People who were only known from the trace. They can't sign in.
    pub people_added: usize,
}

/// Imports a trace.
pub async fn import_trace(
    store: &Store,
    author: &Author,
    bytes: &[u8],
    target: &Target,
    mode: Mode,
    progress: Progress<'_>,
) -> Result<TraceReport, ImportError> {
    let mut transaction = begin(store).await?;
    let report = write(&mut transaction, author, bytes, target, progress).await?;
    end(transaction, mode).await?;
    Ok(report)
}

pub(super) async fn write(
    db: &mut Connection,
    author: &Author,
    bytes: &[u8],
    target: &Target,
    progress: Progress<'_>,
) -> Result<TraceReport, ImportError> {
    let pool = chosen_pool(&mut *db, target.pool.as_ref()).await?;
    let organisation = nodes::organisation(&mut *db).await?;
    let organisation = organisation.ok_or(ImportError::NoOrganisation)?;
    let bounds = Bounds {
        org: &organisation.org,
        limits: pool.limits(),
    };
    let Trace {
        rows,
        errors,
        skipped,
        warnings,
    } = read(bytes, &bounds, target.bad_rows)?;
    let mut report = TraceReport {
        skipped,
        errors,
        warnings,
        people_added: write_people(&mut *db, &rows).await?,
        ..TraceReport::default()
    };
    let known = Known::load(&mut *db).await?;
    for (done, row) in (1_usize..).zip(rows) {
        let submit_at = target.began + row.submit;
        let recorded = Recorded {
            pool: pool.id.clone(),
            row,
        };
        if known.holds(&mut *db, &recorded, submit_at).await? {
            report.unchanged += 1;
        } else {
            arrivals::insert(&mut *db, &recorded.arrival(submit_at)?).await?;
            report.added += 1;
        }
        if done.is_multiple_of(PROGRESS_STEP) {
            progress(done);
        }
    }
    progress(report.added + report.unchanged);
    if report.added > 0 {
        author.note(db, "import.trace", pool.id.as_str(), &report).await?;
    }
    Ok(report)
}

async fn chosen_pool(db: &mut Connection, pool: Option<&PoolId>) -> Result<PoolRow, ImportError> {
    let mut pools = pools::all(db).await?;
    if let Some(id) = pool {
        let chosen = pools.into_iter().find(|row| row.id == *id);
        return chosen.ok_or_else(|| ImportError::UnknownPool(id.clone()));
    }
    match (pools.pop(), pools.is_empty()) {
        (None, _) => Err(ImportError::NoPool),
        (Some(only), true) => Ok(only),
        (Some(_), false) => Err(ImportError::SeveralPools),
    }
}

/// Adds the people whom only the trace knows, so that every workload has somebody who submitted it.
async fn write_people(db: &mut Connection, rows: &[TraceRow]) -> Result<usize, StoreError> {
    let stored = people::all(&mut *db).await?;
    let mut unknown: BTreeSet<&PersonId> = rows.iter().map(|row| &row.user).collect();
    for person in &stored {
        unknown.remove(&person.id);
    }
    for id in &unknown {
        let person = PersonRow {
            id: (*id).clone(),
            name: id.to_string(),
            active: false,
        };
        people::insert(&mut *db, &person).await?;
    }
    Ok(unknown.len())
}

/// What is stored under the ids of a trace.
struct Known {
    to_come: BTreeMap<String, ArrivalRow>,
    submitted: BTreeSet<String>,
}

impl Known {
    async fn load(db: &mut Connection) -> Result<Self, StoreError> {
        let to_come = arrivals::all(&mut *db).await?;
        Ok(Self {
            to_come: to_come
                .into_iter()
                .map(|row| (row.external_id.clone(), row))
                .collect(),
            submitted: arrivals::submitted(db).await?,
        })
    }

    /// Whether the very same is stored.
    async fn holds(
        &self,
        db: &mut Connection,
        found: &Recorded,
        submit_at: Timestamp,
    ) -> Result<bool, ImportError> {
        let id = &found.row.id;
        let stored = if let Some(arrival) = self.to_come.get(id) {
            Some(Recorded::read(arrival)?.workload(arrival.submit_at))
        } else if self.submitted.contains(id) {
            match workloads::by_external_id(&mut *db, id).await? {
                Some(workload) => workloads::find(db, workload).await?.as_ref().map(as_submitted),
                None => None,
            }
        } else {
            None
        };
        match stored {
            Some(stored) => {
                same_workload(id, &stored, &found.workload(submit_at))?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

fn same_workload(id: &str, stored: &NewWorkload, found: &NewWorkload) -> Result<(), ImportError> {
    let (was, is) = (&stored.contract, &found.contract);
    let runtime = |workload: &NewWorkload| workload.simulated_runtime.unwrap_or(Seconds::ZERO).get();
    same! { format!("workload {id}");
        "pool": stored.pool_id, found.pool_id;
        "submit time (seconds since 1970)": was.submitted_at.get(), is.submitted_at.get();
        "user": was.submitted_by, is.submitted_by;
        "node to charge": was.charged_to, is.charged_to;
        "number of hosts": was.shape.hosts, is.shape.hosts;
        "number of GPUs on each host": was.shape.gpus_per_host, is.shape.gpus_per_host;
        "topology": word(&was.shape.topology), word(&is.shape.topology);
        "minimum runtime (seconds)": was.min_runtime.get(), is.min_runtime.get();
        "duration (seconds)": runtime(stored), runtime(found);
        "answer to a preemption": word(&was.after_preemption), word(&is.after_preemption);
        "priority": was.priority, is.priority;
        "name": stored.name, found.name;
    }
    Ok(())
}
