//! The command line: `stint serve` and its kin work on the database, `stint queue` and its kin ask a running server.
//!
//! Answers go to standard output, as tables for people or as JSON for machines; everything else goes to standard
//! error. Exit codes are in [`exit`].

mod audit;
mod client;
mod exit;
mod import;
mod output;
mod queue;
mod serving;
mod simulate;
mod span;
mod submit;
mod workload;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::{Config, Overrides};
use crate::obs;

pub use exit::{Exit, Failure};
pub use output::{Form, Output, progress};

/// The name of the binary, for completions.
const BINARY: &str = "stint";

/// Budgets of GPU time, fair share and a scheduling contract for GPU fleets
#[derive(Debug, Parser)]
#[command(name = BINARY, version, about, after_help = exit::EXPLAINED, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    overrides: Overrides,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serving::ServeArgs),
    Demo(serving::DemoArgs),
    /// Brings the schema of the database up to date
    Migrate,
    Import(import::ImportArgs),
    Audit(audit::AuditArgs),
    Simulate(simulate::SimulateArgs),
    Submit(submit::SubmitArgs),
    Queue(queue::QueueArgs),
    Explain(workload::ExplainArgs),
    Cancel(workload::CancelArgs),
    #[command(about = "Prints the OpenAPI document of the API")]
    Openapi,
    /// Prints completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Runs the command that the arguments of this process name.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let form = if cli.json { Form::Json } else { Form::Human };
    match run(cli, form) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            report(&failure, form);
            failure.exit.into()
        }
    }
}

/// Says on standard error what went wrong; a problem of the server as JSON where JSON was asked for.
fn report(failure: &Failure, form: Form) {
    let text = match (&failure.problem, form) {
        (Some(problem), Form::Json) => serde_json::to_string(problem).unwrap_or_default(),
        _ if failure.message.is_empty() => return,
        _ => format!("error: {}", failure.message),
    };
    // Without standard error there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn run(cli: Cli, form: Form) -> Result<Exit, Failure> {
    let mut output = Output::stdout(form);
    let config = Config::load(&cli.overrides).map_err(|error| Failure::caused(Exit::Usage, &error))?;
    obs::start_log(&config.log).map_err(|error| Failure::caused(Exit::Usage, &error))?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::caused(Exit::Found, &error))?;
    let exit = runtime.block_on(dispatch(cli.command, config, &mut output))?;
    output.flush()?;
    Ok(exit)
}

async fn dispatch(command: Command, config: Config, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serving::serve(args, config, output).await,
        Command::Demo(args) => serving::demo(args, config, output).await,
        Command::Migrate => serving::migrate(config, output).await,
        Command::Import(args) => import::run(args, config, output).await,
        Command::Audit(args) => audit::run(args, config, output).await,
        Command::Simulate(args) => simulate::run(&args, output),
        Command::Submit(args) => submit::run(args, output).await,
        Command::Queue(args) => queue::run(args, output).await,
        Command::Explain(args) => workload::explain(args, output).await,
        Command::Cancel(args) => workload::cancel(args, output).await,
        Command::Openapi => openapi(output),
        Command::Completions { shell } => completions(shell, output),
    }
}

fn openapi(output: &mut Output) -> Result<Exit, Failure> {
    output.value(&crate::api::openapi())?;
    Ok(Exit::Fine)
}

fn completions(shell: Shell, output: &mut Output) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), BINARY, &mut script);
    output.bytes(&script)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
