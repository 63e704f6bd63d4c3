//! `stint import`: hosts, an organisation, recorded demand.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use chrono::DateTime;
use serde::Serialize;
use stint_core::id::{PersonId, PoolId};
use stint_core::input::trace::BadRows;
use stint_core::units::Timestamp;

use super::exit::{Exit, Failure};
use super::output::{Form, Output, progress};
use crate::clock::{Clock, Stopwatch, SystemClock};
use crate::config::Config;
use crate::engine::last_instant;
use crate::import::hosts::{HostsReport, import_hosts};
use crate::import::org::{OrgReport, import_org};
use crate::import::trace::{Target, TraceReport, import_trace};
use crate::import::{Author, ImportError, Mode};
use crate::store::{Store, periods};

/// The largest file that is read. A trace of a million rows has about 60 MB.
const MAX_FILE_BYTES: u64 = 512 * 1024 * 1024;
/// Warnings and errors of rows that are printed; the report in JSON has more.
const SHOWN: usize = 20;

/// Imports hosts, then an organisation, then recorded demand
#[derive(Debug, clap::Args)]
pub(super) struct ImportArgs {
    /// Do and check everything, then take it back
    #[arg(long, global = true)]
    dry_run: bool,
    /// Who imports, for the ledger and the audit log
    #[arg(
        long,
        global = true,
        value_name = "PERSON",
        default_value = "operator",
        env = "STINT_PERSON"
    )]
    author: PersonId,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Pools and their hosts, from TOML
    Hosts {
        /// The file; - is standard input
        file: PathBuf,
    },
    /// Organisation nodes, people, the current period and its grants, from TOML
    Org {
        /// The file; - is standard input
        file: PathBuf,
        /// The pool that the grants are for
        #[arg(long)]
        pool: Option<PoolId>,
    },
    /// Recorded demand, from CSV: each row is submitted when the clock gets there
    Trace {
        /// The file; - is standard input
        file: PathBuf,
        /// The pool it is submitted to; the only one if not said
        #[arg(long)]
        pool: Option<PoolId>,
        /// When it begins (RFC 3339); the beginning of the current period if not said
        #[arg(long, value_parser = instant, value_name = "TIME")]
        began: Option<Timestamp>,
        /// Leave out rows that are not accepted, and report them
        #[arg(long)]
        skip_bad_rows: bool,
    },
}

pub(super) async fn run(args: ImportArgs, config: Config, output: &mut Output) -> Result<Exit, Failure> {
    let store = Store::open(config.database.path.as_path()).await;
    let store = store.map_err(|error| Failure::caused(Exit::Found, &error))?;
    let migrated = store.migrate().await;
    migrated.map_err(|error| Failure::caused(Exit::Found, &error))?;
    let done = import(&args, &store, output).await;
    store.close().await;
    done?;
    Ok(Exit::Fine)
}

async fn import(args: &ImportArgs, store: &Store, output: &mut Output) -> Result<(), Failure> {
    let mode = if args.dry_run { Mode::DryRun } else { Mode::Apply };
    let author = Author {
        person: args.author.clone(),
        name: args.author.to_string(),
        at: now(store).await?,
    };
    match &args.what {
        What::Hosts { file } => {
            let report = import_hosts(store, &author, &read(file)?, mode).await;
            told(&report.map_err(|e| refused(file, &e))?, hosts_lines, mode, output)
        }
        What::Org { file, pool } => {
            let report = import_org(store, &author, &read(file)?, pool.as_ref(), mode).await;
            told(&report.map_err(|e| refused(file, &e))?, org_lines, mode, output)
        }
        What::Trace {
            file,
            pool,
            began,
            skip_bad_rows,
        } => {
            let target = Target {
                pool: pool.clone(),
                began: match began {
                    Some(began) => *began,
                    None => period_start(store, author.at).await?,
                },
                bad_rows: if *skip_bad_rows {
                    BadRows::Skip
                } else {
                    BadRows::Refuse
                },
            };
            let bytes = read(file)?;
            let bar = progress("Importing rows");
            let mut count = |rows: usize| bar.set_position(rows as u64);
            let watch = Stopwatch::start();
            let report = import_trace(store, &author, &bytes, &target, mode, &mut count).await;
            bar.finish_and_clear();
            let passed = watch.passed().as_secs_f64();
            writeln!(std::io::stderr(), "the trace took {passed:.2} s")?;
            told(&report.map_err(|e| refused(file, &e))?, trace_lines, mode, output)
        }
    }
}

/// The clock of the database goes its own way when it is that of a demonstration.
async fn now(store: &Store) -> Result<Timestamp, Failure> {
    let last = last_instant(store).await;
    let last = last.map_err(|error| Failure::caused(Exit::Found, &error))?;
    Ok(last.unwrap_or_else(|| SystemClock.now()))
}

async fn period_start(store: &Store, now: Timestamp) -> Result<Timestamp, Failure> {
    let found = async {
        let mut db = store.read().await?;
        periods::all(&mut db).await
    };
    let periods = found
        .await
        .map_err(|error| Failure::caused(Exit::Found, &error))?;
    let current = periods.iter().find(|period| period.contains(now));
    current.map(|period| period.starts).ok_or_else(|| {
        Failure::usage("there is no current period; import an organisation first, or say --began TIME")
    })
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |error: std::io::Error| Failure::usage(format!("can't read {}: {error}", file.display()));
    let mut bytes = Vec::new();
    let limit = MAX_FILE_BYTES + 1;
    if file == Path::new("-") {
        let mut input = std::io::stdin().lock().take(limit);
        input.read_to_end(&mut bytes).map_err(refused)?;
    } else {
        let mut input = std::fs::File::open(file).map_err(refused)?.take(limit);
        input.read_to_end(&mut bytes).map_err(refused)?;
    }
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let file = file.display();
        return Err(Failure::usage(format!(
            "{file} is larger than {MAX_FILE_BYTES} bytes"
        )));
    }
    Ok(bytes)
}

fn instant(text: &str) -> Result<Timestamp, String> {
    let parsed = DateTime::parse_from_rfc3339(text);
    parsed
        .map(|time| Timestamp(time.timestamp()))
        .map_err(|_| "accepted: a time such as 2026-10-01T00:00:00-07:00".to_owned())
}

fn refused(file: &Path, error: &ImportError) -> Failure {
    let exit = match error {
        ImportError::Store(_) => Exit::Found,
        _ => Exit::Usage,
    };
    let caused = Failure::caused(exit, error);
    Failure::new(
        exit,
        format!("{}: {}\nnothing was imported", file.display(), caused.message),
    )
}

fn told<R: Serialize>(
    report: &R,
    lines: fn(&R) -> Vec<String>,
    mode: Mode,
    output: &mut Output,
) -> Result<(), Failure> {
    if output.form() == Form::Json {
        return output.value(report);
    }
    for line in lines(report) {
        output.line(&line)?;
    }
    if mode == Mode::DryRun {
        output.line("This was a dry run: nothing was kept.")?;
    }
    Ok(())
}

fn hosts_lines(report: &HostsReport) -> Vec<String> {
    vec![format!(
        "{} pools and {} hosts added, {} hosts unchanged.",
        report.pools_added, report.hosts_added, report.hosts_unchanged
    )]
}

fn org_lines(report: &OrgReport) -> Vec<String> {
    let mut lines = vec![format!(
        "{} nodes and {} people added, {} nodes unchanged.",
        report.nodes_added, report.people_added, report.nodes_unchanged
    )];
    lines.extend(
        report
            .period_added
            .iter()
            .map(|period| format!("Period {period} added.")),
    );
    lines.extend(
        report
            .granted
            .iter()
            .map(|(pool, granted)| format!("{} GPU-h of pool {pool} granted.", granted.hours_text())),
    );
    lines
}

fn trace_lines(report: &TraceReport) -> Vec<String> {
    let mut lines = vec![format!(
        "{} rows added, {} unchanged, {} left out; {} people added.",
        report.added, report.unchanged, report.skipped, report.people_added
    )];
    lines.extend(report.warnings.iter().take(SHOWN).cloned());
    lines.extend(report.errors.iter().take(SHOWN).map(ToString::to_string));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_has_its_offset_or_is_refused() {
        assert_eq!(instant("2026-10-01T00:00:00-07:00"), Ok(Timestamp(1_790_838_000)));
        assert!(instant("2026-10-01").is_err());
        assert!(instant("").is_err());
    }
}
