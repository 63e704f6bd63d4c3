//! `stint submit`: asks for a workload to be run.

use serde::de::DeserializeOwned;
use stint_core::api::workloads::{SubmitWorkload, WorkloadView};
use stint_core::id::{NodeId, PoolId};
use stint_core::sched::contract::{AfterPreemption, Fallback, Then, Topology};
use stint_core::units::Seconds;

use super::client::{Client, ServerArgs};
use super::exit::{Exit, Failure};
use super::output::{Form, Output};
use super::span;

/// Submits a workload
#[derive(Debug, clap::Args)]
pub(super) struct SubmitArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Its name
    #[arg(long)]
    name: String,
    /// The node that pays
    #[arg(long, value_name = "NODE")]
    charged_to: NodeId,
    /// All its GPUs
    #[arg(long)]
    gpus: u32,
    /// How many hosts; as few as hold the GPUs if not said
    #[arg(long)]
    hosts: Option<u32>,
    /// The pool; the first one if not said
    #[arg(long)]
    pool: Option<PoolId>,
    /// For how long it is not preempted once it runs, such as 4h; 0 is unallocated
    #[arg(long, value_parser = span::parse, value_name = "SPAN")]
    min_runtime: Seconds,
    /// What a preemption does: requeue or end
    #[arg(long, value_parser = word::<AfterPreemption>, default_value = "requeue", value_name = "WORD")]
    after_preemption: AfterPreemption,
    /// Sorts within the node; higher goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// What happens after protection: charged, unallocated or stop
    #[arg(long, value_parser = word::<Then>, default_value = "charged", value_name = "WORD")]
    then: Then,
    /// What happens without funds: unallocated or wait
    #[arg(long, value_parser = word::<Fallback>, default_value = "unallocated", value_name = "WORD")]
    fallback: Fallback,
    /// Time between signal and kill
    #[arg(long, value_parser = span::parse, default_value = "0", value_name = "SPAN")]
    grace: Seconds,
    /// Where the hosts of a gang may lie: `anywhere` or `same_block`
    #[arg(long, value_parser = word::<Topology>, default_value = "anywhere", value_name = "WORD")]
    topology: Topology,
    /// On a simulated fleet: for how long it runs before it finishes by itself
    #[arg(long, value_parser = span::parse, value_name = "SPAN")]
    simulated_runtime: Option<Seconds>,
    /// Its name in another system; the same one twice is refused
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// Makes a repeated call do the work once; minted if not said
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(super) async fn run(args: SubmitArgs, output: &mut Output) -> Result<Exit, Failure> {
    let client = Client::connect(&args.server).await?;
    let key = args
        .idempotency_key
        .unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let request = SubmitWorkload {
        name: args.name,
        pool: args.pool,
        charged_to: args.charged_to,
        gpus: args.gpus,
        hosts: args.hosts,
        min_runtime_s: args.min_runtime.0,
        after_preemption: args.after_preemption,
        priority: args.priority,
        then: args.then,
        fallback: args.fallback,
        grace_s: args.grace.0,
        topology: args.topology,
        simulated_runtime_s: args.simulated_runtime.map(Seconds::get),
        external_id: args.external_id,
    };
    let view: WorkloadView = client.post("/api/v1/workloads", &key, &request).await?;
    match output.form() {
        Form::Json => output.value(&view)?,
        Form::Human => output.line(&format!(
            "{} is {}; `stint explain {}` says why.",
            view.row.id,
            view.row.state.label().to_lowercase(),
            view.row.id
        ))?,
    }
    Ok(Exit::Fine)
}

/// A word of the contract, as it is written in JSON; the error lists the words that are accepted.
fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|error| error.to_string())
}
