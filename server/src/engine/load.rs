//! The state, rebuilt from what is stored. A restart and a failure both go this way; there is no other.

use std::collections::BTreeSet;

use stint_core::id::{HostId, NodeId, PoolId, RunId, WorkloadId};
use stint_core::ledger::{Book, Period};
use stint_core::org::Org;
use stint_core::sched::contract::{EndCause, Then, WorkloadState};
use stint_core::sched::recall::Past;
use stint_core::sched::run::{Phase, Run, SpanKind};
use stint_core::sched::state::{Event, HostIx, HostSpec, Live, Rules, State};
use stint_core::standing::LookBack;
use stint_core::units::{GpuSeconds, Gpus, MilliGpus, Seconds, Timestamp};

use super::{EngineError, at_key};
use crate::store::engine::{self as rows, ChargeKind, OpenRun};
use crate::store::pools::PoolRow;
use crate::store::workloads::WorkloadRecord;
use crate::store::{Connection, Store, ledger, nodes, periods, pools, settings};

/// What a load gives.
pub(super) struct Loaded {
    pub(super) state: State,
    pub(super) period: Option<Period>,
    pub(super) last_workload: WorkloadId,
    pub(super) last_transaction: u64,
}

/// Rebuilds the state of a pool, as of the last instant its engine had reached.
pub(super) async fn load(store: &Store, pool: &PoolId, now: Timestamp) -> Result<Loaded, EngineError> {
    let mut db = store.read().await?;
    read(&mut db, pool, now).await
}

/// The same within a transaction of the caller's, so that what else it reads is of the same moment.
pub(super) async fn read(db: &mut Connection, pool: &PoolId, now: Timestamp) -> Result<Loaded, EngineError> {
    let missing = |what: &str| EngineError::Missing(format!("there is no {what} for pool {pool}"));
    let organisation = nodes::organisation(&mut *db)
        .await?
        .ok_or_else(|| missing("organisation"))?;
    let pool_row = pools::all(&mut *db)
        .await?
        .into_iter()
        .find(|row| row.id == *pool);
    let pool_row = pool_row.ok_or_else(|| missing("row"))?;
    let stored = settings::get(&mut *db, &at_key(pool))
        .await?
        .and_then(|text| text.parse().ok());
    let at = stored.map_or(now, Timestamp);
    let hosts = pools::hosts(&mut *db, pool)
        .await?
        .into_iter()
        .map(|host| HostSpec {
            id: host.id,
            block: host.block_id,
            gpus: host.gpus,
            state: host.state,
        });
    let mut state = State::new(rules(&pool_row), &organisation.org, hosts.collect(), at);
    let all_periods = periods::all(&mut *db).await?;
    let period = all_periods.iter().find(|period| period.contains(at)).cloned();
    let last_workload = live(&mut *db, pool, &mut state).await?;
    let runs = open_runs(&mut *db, pool, &state).await?;
    let mut past = past(
        &mut *db,
        &pool_row,
        &organisation.org,
        &all_periods,
        period.as_ref(),
        at,
    )
    .await?;
    past.extend(runs.iter().filter_map(|run| open_span(&state, run)));
    state.recall(&past)?;
    for run in runs {
        state.resume(run)?;
    }
    state.pin_again();
    if let Some(period) = &period {
        let grants = grants(&mut *db, &pool_row, &organisation.org, period).await?;
        state.apply(at, Event::Granted(grants))?;
    }
    let last_run = rows::last_run(&mut *db).await?;
    state.count_runs_from(last_run + 1);
    let last_transaction = rows::last_transaction(&mut *db, pool).await?;
    Ok(Loaded {
        state,
        period,
        last_workload,
        last_transaction,
    })
}

/// The rules of a pool.
pub(super) fn rules(pool: &PoolRow) -> Rules {
    let look_back = match pool.look_back.as_str() {
        "fade" => LookBack::Fade(pool.window_s),
        _ => LookBack::Sliding(pool.window_s),
    };
    Rules {
        limits: pool.limits(),
        look_back,
        margin_milli: pool.margin_milli,
    }
}

/// Everything before `at` that a look-back or the running period still asks for.
async fn past(
    db: &mut Connection,
    pool: &PoolRow,
    org: &Org,
    all_periods: &[Period],
    period: Option<&Period>,
    at: Timestamp,
) -> Result<Vec<Past>, EngineError> {
    let look_back = at - pool.window_s;
    let since = period.map_or(look_back, |period| period.starts.min(look_back));
    let mut past = Vec::new();
    if let Some(period) = period {
        past.push(Past::PeriodBegins { at: period.starts });
    }
    let mut overlapping: Vec<&Period> = all_periods
        .iter()
        .filter(|period| period.ends > look_back && period.starts <= at)
        .collect();
    overlapping.sort_by_key(|period| period.starts);
    for period in overlapping {
        past.extend(rates(db, pool, org, period, at).await?);
    }
    for row in rows::charges_since(db, &pool.id, since).await? {
        past.push(match row.kind {
            ChargeKind::Refund => Past::Refund {
                node: row.node_id,
                at: row.ends_at,
                amount: row.amount_gpu_seconds,
            },
            kind => Past::Span {
                node: row.node_id,
                kind: if kind == ChargeKind::Charge {
                    SpanKind::Charged
                } else {
                    SpanKind::Unallocated
                },
                gpus: Gpus(row.gpus),
                from: row.starts_at,
                to: Some(row.ends_at),
            },
        });
    }
    for row in rows::demand_since(db, &pool.id, look_back).await? {
        past.push(Past::Demand {
            node: row.node_id,
            gpus: Gpus(row.gpus),
            from: row.starts_at,
            to: row.ended_at,
        });
    }
    Ok(past)
}

/// The rates of a period, step by step as its transactions made them, and none once it is over.
async fn rates(
    db: &mut Connection,
    pool: &PoolRow,
    org: &Org,
    period: &Period,
    at: Timestamp,
) -> Result<Vec<Past>, EngineError> {
    let mut book = Book::new(org, period.clone(), GpuSeconds::MAX_INPUT);
    let mut steps = Vec::new();
    for transaction in ledger::transactions(db, &pool.id, &period.id).await? {
        book.apply(&transaction)?;
        let from = transaction.effective.max(period.starts);
        if from <= at {
            steps.push(Past::Rates {
                at: from,
                rates: book.rates(),
            });
        }
    }
    if period.ends <= at {
        let none =
            |(node, ..): &(NodeId, MilliGpus, MilliGpus)| (node.clone(), MilliGpus::ZERO, MilliGpus::ZERO);
        steps.push(Past::Rates {
            at: period.ends,
            rates: book.rates().iter().map(none).collect(),
        });
    }
    Ok(steps)
}

/// What each own part was granted in a period.
pub(super) async fn grants(
    db: &mut Connection,
    pool: &PoolRow,
    org: &Org,
    period: &Period,
) -> Result<Vec<(NodeId, GpuSeconds)>, EngineError> {
    let book = book(db, pool, org, period).await?;
    Ok(book
        .balances()
        .map(|balance| (balance.node, balance.own))
        .collect())
}

/// The book of a period, from its balances. The capacity matters only to those who grant.
pub(super) async fn book<'o>(
    db: &mut Connection,
    pool: &PoolRow,
    org: &'o Org,
    period: &Period,
) -> Result<Book<'o>, EngineError> {
    let balances = ledger::balances(db, &pool.id, &period.id).await?;
    Ok(Book::load(org, period.clone(), GpuSeconds::MAX_INPUT, &balances)?)
}

/// Workloads that are not over. Returns the newest.
async fn live(db: &mut Connection, pool: &PoolId, state: &mut State) -> Result<WorkloadId, EngineError> {
    let mut newest = WorkloadId(0);
    for row in rows::open_workloads(db, pool).await? {
        newest = newest.max(row.id);
        let live = known(state, row)?;
        state.know(live)?;
    }
    Ok(newest)
}

/// Runs that are not over.
async fn open_runs(db: &mut Connection, pool: &PoolId, state: &State) -> Result<Vec<Run>, EngineError> {
    let rows = rows::open_runs(db, pool).await?;
    rows.into_iter().map(|row| resumed(state, row)).collect()
}

/// The span of held GPUs that a run has not closed yet.
fn open_span(state: &State, run: &Run) -> Option<Past> {
    let (kind, from) = run.span?;
    let node = state.tree().leaf_item(run.leaf).node.clone();
    Some(Past::Span {
        node,
        kind,
        gpus: run.gpus(),
        from,
        to: None,
    })
}

/// A stored workload as the state knows it. One that has a run is not queued, so its run is marked before.
fn known(state: &State, row: WorkloadRecord) -> Result<Live, EngineError> {
    let leaf = state
        .tree()
        .charged_to(&row.charged_to)
        .ok_or_else(|| EngineError::Missing(format!("{} is charged to an unknown node", row.id)))?;
    let has_run = !matches!(row.state, WorkloadState::Queued | WorkloadState::Held);
    Ok(Live {
        leaf,
        starts: row.starts,
        launch_failures: row.launch_failures,
        held_since: row.held_since,
        // The number is put right when its run is put back.
        run: has_run.then_some(RunId(0)),
        workload: row.contract(),
    })
}

fn resumed(state: &State, row: OpenRun) -> Result<Run, EngineError> {
    let unreadable = |what: &str| EngineError::Missing(format!("{what} of {} can't be read", row.id));
    let live = state
        .live()
        .get(&row.workload_id)
        .ok_or_else(|| unreadable("the workload"))?;
    let hosts: Vec<(HostId, Vec<u8>)> =
        serde_json::from_str(&row.hosts).map_err(|_| unreadable("the hosts"))?;
    let mut gpus_on: Vec<(HostIx, u64)> = Vec::with_capacity(hosts.len());
    for (host, gpus) in hosts {
        let ix = state.find_host(&host).ok_or_else(|| unreadable("a host"))?;
        gpus_on.push((ix, gpus.iter().fold(0, |mask, gpu| mask | 1 << gpu)));
    }
    let waits_for: BTreeSet<RunId> =
        serde_json::from_str(&row.waits_for).map_err(|_| unreadable("what it waits for"))?;
    let phase = phase(&row, waits_for);
    let min_runtime = live.workload.min_runtime;
    let mut run = Run {
        id: row.id,
        workload: row.workload_id,
        leaf: live.leaf,
        number: row.number,
        gpus_on,
        allocated: row.allocated,
        then: live.workload.then,
        decided: row.decided_at,
        phase,
        held_until: None,
        span: None,
    };
    let now = state.now();
    let passed = run.running_since().is_some() && run.protected_until().is_some_and(|until| until <= now);
    let free = !run.allocated || (live.workload.then == Then::Unallocated && passed);
    let kind = if free {
        SpanKind::Unallocated
    } else {
        SpanKind::Charged
    };
    run.span = row.charged_until.or(row.assigned_at).map(|from| (kind, from));
    run.held_until = held_until(&run, min_runtime, state.rules().limits.startup_allowance, now);
    Ok(run)
}

fn held_until(run: &Run, min_runtime: Seconds, startup: Seconds, now: Timestamp) -> Option<Timestamp> {
    let assigned = run.assigned()?;
    if !run.allocated {
        return None;
    }
    match run.running_since() {
        None => Some(assigned + startup + min_runtime),
        Some(_) => run.protected_until().filter(|until| *until > now),
    }
}

fn phase(row: &OpenRun, waits_for: BTreeSet<RunId>) -> Phase {
    let by = row.stop_by.unwrap_or(row.decided_at);
    let Some(assigned) = row.assigned_at else {
        return Phase::Waiting { waits_for, by };
    };
    if let Some(told) = row.stop_decided_at {
        return Phase::Stopping {
            assigned,
            running: row.running_at,
            protected_until: row.protected_until.unwrap_or(told),
            told,
            by,
            cause: row.stop_cause.unwrap_or(EndCause::Preempted),
        };
    }
    match row.running_at {
        Some(running) => Phase::Running {
            assigned,
            running,
            protected_until: row.protected_until.unwrap_or(running),
        },
        None => Phase::Starting { assigned },
    }
}
