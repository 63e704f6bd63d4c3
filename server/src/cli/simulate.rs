//! `stint simulate`: the scheduler over recorded demand, all at once.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use stint_core::id::PoolId;
use stint_core::input::layout::hosts::{self, HostsLayout, PoolEntry};
use stint_core::input::layout::org::{self, OrgLayout};
use stint_core::input::trace::{self, BadRows, Bounds, Trace};
use stint_core::sim::{self, Report, Setup, Waits};
use stint_core::units::{DAY_S, Fraction, Seconds};

use super::exit::{Exit, Failure};
use super::import::read;
use super::output::{Form, Output};
use crate::clock::Stopwatch;

/// The longest span that is simulated at once.
const MAX_DAYS: u32 = 3_660;

/// Runs the scheduler over recorded demand and reports what each team got and how long work waited
#[derive(Debug, clap::Args)]
pub(super) struct SimulateArgs {
    /// Recorded demand, as CSV
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// The organisation, as TOML; org.toml beside the trace if not said
    #[arg(long, value_name = "FILE")]
    org: Option<PathBuf>,
    /// Pools and hosts, as TOML; hosts.toml beside the trace if not said
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// The pool; the only one if not said
    #[arg(long)]
    pool: Option<PoolId>,
    /// How many days; to the end of the trace's last day if not said
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DAYS)))]
    days: Option<u32>,
    /// Days at the beginning that are simulated and not measured
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_DAYS)))]
    warm_up_days: u32,
    /// The seed of host faults, where the hosts file has them
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the event log here, as JSON Lines
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Refuse a trace with bad rows instead of leaving them out
    #[arg(long)]
    strict: bool,
}

pub(super) fn run(args: &SimulateArgs, output: &mut Output) -> Result<Exit, Failure> {
    let beside = |name: &str| args.trace.with_file_name(name);
    let org_file = args.org.clone().unwrap_or_else(|| beside("org.toml"));
    let hosts_file = args.hosts.clone().unwrap_or_else(|| beside("hosts.toml"));
    let layout = org::read(&read(&org_file)?).map_err(|error| bad(&org_file, &error))?;
    let fleet = hosts::read(&read(&hosts_file)?).map_err(|error| bad(&hosts_file, &error))?;
    let pool = choose(&fleet, args.pool.as_ref(), &hosts_file)?;
    let bounds = Bounds {
        org: &layout.org,
        limits: pool.limits(),
    };
    let bad_rows = if args.strict {
        BadRows::Refuse
    } else {
        BadRows::Skip
    };
    let trace =
        trace::read(&read(&args.trace)?, &bounds, bad_rows).map_err(|error| bad(&args.trace, &error))?;
    warn(&trace)?;
    let setup = setup(args, &layout, pool, &trace)?;
    let watch = Stopwatch::start();
    let report = simulate(args, &setup)?;
    speed(&report, setup.span, watch)?;
    match output.form() {
        Form::Json => output.value(&report)?,
        Form::Human => tell(&report, output)?,
    }
    Ok(if report.findings.is_empty() {
        Exit::Fine
    } else {
        Exit::Found
    })
}

fn bad(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("{}: {error}", file.display()))
}

fn choose<'a>(fleet: &'a HostsLayout, asked: Option<&PoolId>, file: &Path) -> Result<&'a PoolEntry, Failure> {
    let known: Vec<&str> = fleet.pools.iter().map(|pool| pool.id.as_str()).collect();
    let found = match asked {
        Some(id) => fleet.pools.iter().find(|pool| pool.id == *id),
        None if fleet.pools.len() == 1 => fleet.pools.first(),
        None => None,
    };
    found.ok_or_else(|| {
        Failure::usage(format!(
            "{}: --pool must be one of {}",
            file.display(),
            known.join(", ")
        ))
    })
}

/// What the trace has that is not used, on standard error.
fn warn(trace: &Trace) -> Result<(), Failure> {
    let mut err = std::io::stderr().lock();
    for warning in &trace.warnings {
        writeln!(err, "warning: {warning}")?;
    }
    for error in &trace.errors {
        writeln!(err, "left out: {error}")?;
    }
    if trace.skipped > 0 {
        writeln!(err, "{} rows were left out", trace.skipped)?;
    }
    Ok(())
}

fn setup(args: &SimulateArgs, layout: &OrgLayout, pool: &PoolEntry, trace: &Trace) -> Result<Setup, Failure> {
    let last = trace.rows.iter().map(|row| row.submit.0).max().unwrap_or(0);
    let days = args.days.map_or(last / DAY_S + 1, i64::from);
    let warm_up = i64::from(args.warm_up_days);
    if warm_up >= days {
        return Err(Failure::usage(format!(
            "--warm-up-days must be less than the {days} days simulated"
        )));
    }
    let setup = Setup::recorded(layout, pool, &trace.rows, Seconds(days * DAY_S));
    Ok(Setup {
        warm_up: Seconds(warm_up * DAY_S),
        seed: args.seed,
        ..setup
    })
}

fn simulate(args: &SimulateArgs, setup: &Setup) -> Result<Report, Failure> {
    let bar = bar(setup.span);
    let mut on_progress = |done: Seconds| bar.set_position(done.0.unsigned_abs());
    let failed = |error| Failure::caused(Exit::Usage, &error);
    let report = match &args.events {
        None => sim::run(setup, None, &mut on_progress).map_err(failed)?,
        Some(file) => {
            let write =
                |error: std::io::Error| Failure::usage(format!("can't write {}: {error}", file.display()));
            let mut log = BufWriter::new(File::create(file).map_err(write)?);
            let mut broken = None;
            let mut sink = |line: &str| {
                if broken.is_none() {
                    broken = writeln!(log, "{line}").err();
                }
            };
            let report = sim::run(setup, Some(&mut sink), &mut on_progress).map_err(failed)?;
            broken
                .map_or(Ok(()), Err)
                .and_then(|()| log.flush())
                .map_err(write)?;
            report
        }
    };
    bar.finish_and_clear();
    Ok(report)
}

/// How long it took, on standard error: the answer itself is the same every time.
fn speed(report: &Report, span: Seconds, watch: Stopwatch) -> Result<(), Failure> {
    let passed = watch.passed();
    let per_pass = passed.as_micros() / u128::from(report.passes.max(1));
    let mut err = std::io::stderr().lock();
    writeln!(
        err,
        "{span} simulated in {:.2} s: {} passes of {per_pass} µs",
        passed.as_secs_f64(),
        report.passes
    )?;
    Ok(())
}

fn bar(span: Seconds) -> ProgressBar {
    use std::io::IsTerminal as _;
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(span.0.unsigned_abs());
    match ProgressStyle::with_template("Simulating {wide_bar} {percent} % {elapsed_precise}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn percent(fraction: Fraction) -> String {
    Fraction::percent(fraction.num, fraction.den, 2)
        .map_or_else(|| "–".to_owned(), |text| format!("{text} %"))
}

fn tell(report: &Report, output: &mut Output) -> Result<(), Failure> {
    let (well, owed) = report.teams_served;
    let plain = |number: u64| number.to_string();
    let figures = [
        ("Measured", Seconds(report.measured_s).to_string()),
        ("Pool", format!("{} hosts, {} GPUs", report.hosts, report.gpus)),
        ("Delivered / owed", percent(report.delivered_over_owed)),
        ("Worst team", percent(report.worst_team)),
        ("Teams at 95 % or more", format!("{well} of {owed}")),
        ("Occupancy of healthy GPUs", percent(report.occupancy)),
        ("Availability", percent(report.availability)),
        ("Unallocated, of held", percent(report.unallocated_of_held)),
        ("Submitted", plain(report.submitted)),
        ("Started runs", plain(report.starts)),
        ("Finished", plain(report.finished)),
        (
            "Preemptions",
            format!(
                "{}, {} of them allocated",
                report.preemptions, report.allocated_preemptions
            ),
        ),
        ("Runs lost with their host", plain(report.host_failures)),
        (
            "Queued at the end",
            format!("{}, at most {}", report.queued_at_end, report.longest_queue),
        ),
        ("Passes", plain(report.passes)),
        (
            "Slowdown, 90 %",
            Fraction {
                num: report.slowdown_p90_milli,
                den: 1_000,
            }
            .text(2)
            .unwrap_or_default(),
        ),
    ];
    output.table(
        &["Over the whole", ""],
        &[1],
        figures.map(|(name, value)| vec![name.to_owned(), value]).to_vec(),
    )?;
    waits(report, output)?;
    teams(report, output)?;
    for finding in &report.findings {
        output.line(&format!("broken invariant: {finding}"))?;
    }
    Ok(())
}

fn waits(report: &Report, output: &mut Output) -> Result<(), Failure> {
    let of = |waits: &Waits| {
        [waits.p50_s, waits.p90_s, waits.p99_s, waits.max_s].map(|span| Seconds(span).to_string())
    };
    let rows = report.waits.iter().map(|group| {
        let mut row = vec![group.group.clone(), group.queue.count.to_string()];
        row.extend(of(&group.queue));
        row.push(group.never_started.to_string());
        row.push(group.restart.count.to_string());
        row.push(Seconds(group.restart.p90_s).to_string());
        row
    });
    output.table(
        &[
            "Wait", "started", "50 %", "90 %", "99 %", "max", "never", "restarts", "90 %",
        ],
        &[1, 2, 3, 4, 5, 6, 7, 8],
        rows.collect(),
    )
}

fn teams(report: &Report, output: &mut Output) -> Result<(), Failure> {
    let rows = report.teams.iter().map(|team| {
        vec![
            team.node.to_string(),
            Fraction {
                num: team.rate_milli_gpus,
                den: 1_000,
            }
            .text(1)
            .unwrap_or_default(),
            team.owed_gpu_seconds.hours_text_to(0),
            team.delivered_gpu_seconds.hours_text_to(0),
            percent(team.delivered_over_owed),
            team.unallocated_gpu_seconds.hours_text_to(0),
        ]
    });
    output.table(
        &[
            "Team",
            "rate, GPUs",
            "owed, GPU-h",
            "delivered, GPU-h",
            "of owed",
            "unallocated, GPU-h",
        ],
        &[1, 2, 3, 4, 5],
        rows.collect(),
    )
}
