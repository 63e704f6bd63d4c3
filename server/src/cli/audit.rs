//! `stint audit`: checks what is stored against the invariants.

use std::path::PathBuf;

use serde::Serialize;
use stint_core::id::{PeriodId, PoolId};
use stint_core::ledger::{Reserve, audit as audit_ledger, budgetable};
use stint_core::units::{GpuSeconds, Gpus, Timestamp};

use super::exit::{Exit, Failure};
use super::output::{Form, Output};
use super::serving::{DEMO_DATABASE, open_existing};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::engine::{audit as audit_engine, last_instant};
use crate::store::pools::PoolRow;
use crate::store::{Store, StoreError, ledger, nodes, periods, pools};

/// Checks the ledger and the scheduler's rows against their invariants; exits with 1 if anything is found
#[derive(Debug, clap::Args)]
pub(super) struct AuditArgs {
    /// The folder of a demonstration, instead of --database
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    data: Option<PathBuf>,
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    pools: usize,
    transactions: usize,
    findings: Vec<Found>,
}

/// One thing that is not as it should be.
#[derive(Debug, Serialize)]
struct Found {
    pool: PoolId,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<PeriodId>,
    finding: String,
}

pub(super) async fn run(args: AuditArgs, config: Config, output: &mut Output) -> Result<Exit, Failure> {
    let path = match args.data {
        Some(folder) => folder.join(DEMO_DATABASE),
        None => config.database.path.as_path().to_owned(),
    };
    let store = open_existing(&path).await?;
    let report = check(&store).await;
    store.close().await;
    let report = report?;
    show(&report, output)?;
    Ok(if report.findings.is_empty() {
        Exit::Fine
    } else {
        Exit::Found
    })
}

async fn check(store: &Store) -> Result<Report, Failure> {
    let failed = |error: StoreError| Failure::caused(Exit::Found, &error);
    let current = store.is_current().await.map_err(failed)?;
    if !current {
        let mend = "the database has another schema than this program; run `stint migrate` first";
        return Err(Failure::usage(mend));
    }
    let mut report = ledgers(store).await.map_err(failed)?;
    let now = last_instant(store)
        .await
        .map_err(failed)?
        .unwrap_or_else(|| SystemClock.now());
    engines(store, now, &mut report).await?;
    Ok(report)
}

/// The ledger of every pool and period, as one transaction sees them.
async fn ledgers(store: &Store) -> Result<Report, StoreError> {
    let mut db = store.read().await?;
    let mut report = Report::default();
    let Some(organisation) = nodes::organisation(&mut db).await? else {
        return Ok(report);
    };
    let periods = periods::all(&mut db).await?;
    for pool in pools::all(&mut db).await? {
        report.pools += 1;
        for period in &periods {
            let transactions = ledger::transactions(&mut db, &pool.id, &period.id).await?;
            let stored = ledger::balances(&mut db, &pool.id, &period.id).await?;
            let capacity = capacity(&pool, period);
            let found = audit_ledger(&organisation.org, period, capacity, &transactions, &stored);
            report.transactions += transactions.len();
            report.findings.extend(found.into_iter().map(|finding| Found {
                pool: pool.id.clone(),
                period: Some(period.id.clone()),
                finding: finding.to_string(),
            }));
        }
    }
    Ok(report)
}

async fn engines(store: &Store, now: Timestamp, report: &mut Report) -> Result<(), Failure> {
    let failed = |error: StoreError| Failure::caused(Exit::Found, &error);
    for pool in scheduled(store).await.map_err(failed)? {
        let found = audit_engine::audit(store, &pool.id, now).await;
        let found = found.map_err(|error| Failure::caused(Exit::Found, &error))?;
        report.findings.extend(found.into_iter().map(|finding| Found {
            pool: pool.id.clone(),
            period: None,
            finding,
        }));
    }
    Ok(())
}

/// The pools that an engine looks after; none before there is an organisation.
async fn scheduled(store: &Store) -> Result<Vec<PoolRow>, StoreError> {
    let mut db = store.read().await?;
    if nodes::all(&mut db).await?.is_empty() {
        return Ok(Vec::new());
    }
    pools::all(&mut db).await
}

fn capacity(pool: &PoolRow, period: &stint_core::ledger::Period) -> GpuSeconds {
    Reserve::from_bp(pool.reserve_bp).map_or(GpuSeconds::ZERO, |reserve| {
        budgetable(Gpus(pool.gpus), period.length(), reserve)
    })
}

fn show(report: &Report, output: &mut Output) -> Result<(), Failure> {
    if output.form() == Form::Json {
        return output.value(report);
    }
    for found in &report.findings {
        let period = found
            .period
            .as_ref()
            .map(|period| format!(" {period}"))
            .unwrap_or_default();
        output.line(&format!("{}{period}: {}", found.pool, found.finding))?;
    }
    output.line(&format!(
        "{} findings in {} pools and {} transactions.",
        report.findings.len(),
        report.pools,
        report.transactions
    ))
}
