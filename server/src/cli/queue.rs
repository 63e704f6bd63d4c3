//! `stint queue`: the queue in the scheduler's order.

use stint_core::api::MAX_PAGE;
use stint_core::api::queue::{QueuePage, QueueQuery, QueueRow};
use stint_core::id::{NodeId, PoolId};
use stint_core::units::Seconds;

use super::client::{Client, ServerArgs};
use super::exit::{Exit, Failure};
use super::output::{Form, Output};

/// Rows when nothing is said: a screen.
const DEFAULT_LIMIT: u16 = 40;

/// Shows the queue in the order in which the scheduler takes it
#[derive(Debug, clap::Args)]
pub(super) struct QueueArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The pool; the first one if not said
    #[arg(long)]
    pool: Option<PoolId>,
    /// Only what is charged to this node or below it
    #[arg(long, value_name = "NODE")]
    under: Option<NodeId>,
    /// Only what the person who asks submitted
    #[arg(long)]
    mine: bool,
    /// How many rows
    #[arg(long, default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_PAGE)))]
    limit: u16,
    /// All rows
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

pub(super) async fn run(args: QueueArgs, output: &mut Output) -> Result<Exit, Failure> {
    let client = Client::connect(&args.server).await?;
    let mut query = QueueQuery {
        pool: args.pool,
        under: args.under,
        mine: args.mine,
        reason: None,
        after: None,
        limit: Some(if args.all { MAX_PAGE } else { args.limit }),
    };
    let mut page: QueuePage = client.get("/api/v1/queue", &query).await?;
    while args.all && page.next.is_some() {
        query.after = page.next.take();
        let more: QueuePage = client.get("/api/v1/queue", &query).await?;
        page.rows.extend(more.rows);
        page.next = more.next;
    }
    match output.form() {
        Form::Json => output.value(&page)?,
        Form::Human => show(&page, output)?,
    }
    Ok(Exit::Fine)
}

fn show(page: &QueuePage, output: &mut Output) -> Result<(), Failure> {
    let header = [
        "#",
        "workload",
        "name",
        "charged to",
        "GPUs",
        "hosts",
        "min runtime",
        "waiting",
        "standing",
        "state",
        "why",
    ];
    output.table(&header, &[0, 4, 5, 6, 7], page.rows.iter().map(row).collect())?;
    output.line(&format!(
        "{} of {} queued in pool {} as of {}; {} GPUs free, {} asked for.",
        page.rows.len(),
        page.matching,
        page.pool,
        page.as_of.day_seconds(),
        page.free_gpus,
        page.asked_gpus
    ))
}

fn row(row: &QueueRow) -> Vec<String> {
    let standings: Vec<&str> = row.standings.iter().map(|at| at.standing.as_str()).collect();
    vec![
        row.place.to_string(),
        row.id.to_string(),
        row.name.clone().unwrap_or_default(),
        row.node_name.clone(),
        row.gpus.to_string(),
        row.hosts.to_string(),
        Seconds(row.min_runtime_s).to_string(),
        Seconds(row.waiting_s).to_string(),
        standings.join(" > "),
        row.state.label().to_owned(),
        row.why.sentence.clone(),
    ]
}
