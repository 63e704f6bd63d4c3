//! `stint explain` and `stint cancel`: one workload.

use stint_core::api::Time;
use stint_core::api::workloads::{RunView, WorkloadView};
use stint_core::id::WorkloadId;
use stint_core::units::Seconds;

use super::client::{Client, ServerArgs};
use super::exit::{Exit, Failure};
use super::output::{Form, Output};

/// Says where a workload stands and why, and what was decided about it
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The workload, such as w-12
    id: WorkloadId,
}

/// Cancels a workload
#[derive(Debug, clap::Args)]
pub(super) struct CancelArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The workload, such as w-12
    id: WorkloadId,
    /// Why, kept in the audit log
    #[arg(long)]
    reason: Option<String>,
}

pub(super) async fn explain(args: ExplainArgs, output: &mut Output) -> Result<Exit, Failure> {
    let client = Client::connect(&args.server).await?;
    let path = format!("/api/v1/workloads/{}", args.id);
    let view: WorkloadView = client.get(&path, &()).await?;
    match output.form() {
        Form::Json => output.value(&view)?,
        Form::Human => show(&view, output)?,
    }
    Ok(Exit::Fine)
}

pub(super) async fn cancel(args: CancelArgs, output: &mut Output) -> Result<Exit, Failure> {
    let client = Client::connect(&args.server).await?;
    let path = format!("/api/v1/workloads/{}", args.id);
    let view: WorkloadView = client.delete(&path, &[("reason", args.reason)]).await?;
    match output.form() {
        Form::Json => output.value(&view)?,
        Form::Human => output.line(&format!(
            "{} is told to end; it is {} now.",
            view.row.id,
            view.row.state.label().to_lowercase()
        ))?,
    }
    Ok(Exit::Fine)
}

fn show(view: &WorkloadView, output: &mut Output) -> Result<(), Failure> {
    let row = &view.row;
    let name = row.name.as_deref().unwrap_or("(name hidden)");
    output.line(&format!("{} {name}: {}", row.id, row.state.label()))?;
    if let Some(why) = &row.why {
        output.line(&format!("  {}", why.sentence))?;
    }
    for (label, value) in facts(view) {
        output.line(&format!("  {label:<15} {value}"))?;
    }
    if !view.runs.is_empty() {
        let header = [
            "run",
            "assigned",
            "running",
            "protected until",
            "ended",
            "how",
            "GPU-h",
            "hosts",
        ];
        output.table(&header, &[6], view.runs.iter().map(run_line).collect())?;
    }
    for entry in &view.log {
        output.line(&format!(
            "{}  {}: {}",
            entry.at.day_seconds(),
            entry.what,
            entry.sentence
        ))?;
    }
    Ok(())
}

fn facts(view: &WorkloadView) -> Vec<(&'static str, String)> {
    let row = &view.row;
    let mut facts = vec![
        ("as of", view.as_of.day_seconds()),
        ("charged to", view.path.join(" > ")),
        ("GPUs × hosts", format!("{} × {}", row.gpus, row.hosts)),
        ("minimum runtime", Seconds(row.min_runtime_s).to_string()),
        ("submitted", row.submitted.day_seconds()),
    ];
    if let Some(place) = row.place {
        facts.push(("place", place.to_string()));
    }
    if let Some(until) = row.protected_until {
        facts.push(("protected until", until.day_seconds()));
    }
    if let Some(at) = row.latest_start {
        facts.push(("latest start", at.day_seconds()));
    }
    if !view.standings.is_empty() {
        let standings: Vec<String> = view
            .standings
            .iter()
            .map(|at| format!("{} {}", at.node, at.standing))
            .collect();
        facts.push(("standing", standings.join(" > ")));
    }
    facts.push((
        "charged",
        format!("{} GPU-h", view.charged_gpu_seconds.hours_text()),
    ));
    facts.push(("held", format!("{} GPU-h", view.held_gpu_seconds.hours_text())));
    facts
}

fn run_line(run: &RunView) -> Vec<String> {
    let at = |time: Option<Time>| time.map(Time::day_seconds).unwrap_or_default();
    let hosts: Vec<&str> = run.hosts.iter().map(|(host, _)| host.as_str()).collect();
    vec![
        run.number.to_string(),
        at(run.assigned),
        at(run.running),
        at(run.protected_until),
        at(run.ended),
        run.cause
            .map(|cause| cause.label().to_owned())
            .unwrap_or_default(),
        run.charged_gpu_seconds.hours_text(),
        hosts.join(", "),
    ]
}
