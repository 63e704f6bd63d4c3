//! `stint serve`, `stint demo` and `stint migrate`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stint_core::id::PersonId;
use stint_core::units::Timestamp;

use super::exit::{Exit, Failure};
use super::output::{Form, Output, progress};
use crate::clock::{Clock, ScaledClock, SystemClock};
use crate::config::{Config, DatabasePath, ListenOverrides};
use crate::engine::last_instant;
use crate::import::demo::{period_start, setup_demo};
use crate::obs;
use crate::serve::{self, OwnedStore, Plan, ServeError};
use crate::store::{Store, StoreError, people, periods};

/// The database of the demonstration, in its folder.
pub(super) const DEMO_DATABASE: &str = "demo.db";
/// The people that the demonstration offers: a manager, a researcher, on-call and an operator.
const DEMO_PEOPLE: [&str; 4] = ["mira", "noor", "sami", "olga"];
/// The fastest clock: a day in a second. Beyond that a pass would not be over before the next is due.
const MAX_SPEED: u32 = 86_400;

/// Serves the API, the screens and the scheduler
///
/// Without a configured sign-in it listens on loopback addresses only.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    listen: ListenOverrides,
}

/// Serves an example: an institute with eleven teams, 256 GPUs and four weeks of recorded demand
///
/// The first start creates the database; later ones go on where the last one was.
#[derive(Debug, clap::Args)]
pub(super) struct DemoArgs {
    /// The folder of its database
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// How many seconds of its clock pass in a second
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SPEED)))]
    speed: u32,
    #[command(flatten)]
    listen: ListenOverrides,
}

pub(super) async fn serve(args: ServeArgs, config: Config, output: &mut Output) -> Result<Exit, Failure> {
    let config = config.listening(&args.listen);
    config.refuse_exposure().map_err(|error| failed(error.into()))?;
    let path = config.database.path.as_path().to_owned();
    let owned = OwnedStore::open(&path).await.map_err(failed)?;
    let clock = Arc::new(SystemClock);
    run(config, owned, clock, output, Vec::new()).await
}

pub(super) async fn demo(args: DemoArgs, mut config: Config, output: &mut Output) -> Result<Exit, Failure> {
    config = config.listening(&args.listen);
    config.refuse_exposure().map_err(|error| failed(error.into()))?;
    std::fs::create_dir_all(&args.data).map_err(|error| {
        let folder = args.data.display();
        Failure::usage(format!("can't create the folder {folder}: {error}"))
    })?;
    let path = args.data.join(DEMO_DATABASE);
    config.database.path = DatabasePath::new(&path);
    let offered: Result<Vec<PersonId>, _> = DEMO_PEOPLE.iter().map(|person| person.parse()).collect();
    config.sign_in.offer = offered.map_err(|error| Failure::caused(Exit::Found, &error))?;
    let owned = OwnedStore::open(&path).await.map_err(failed)?;
    let start = set_up(owned.store()).await?;
    let people = introductions(owned.store(), &config.sign_in.offer).await;
    let people = people.map_err(|error| failed(error.into()))?;
    let clock = Arc::new(ScaledClock::starting_at(start, args.speed));
    run(config, owned, clock, output, people).await
}

/// Brings the schema of a database up to date.
pub(super) async fn migrate(config: Config, output: &mut Output) -> Result<Exit, Failure> {
    let path = config.database.path.as_path();
    let owned = OwnedStore::open(path).await.map_err(failed)?;
    owned.store().close().await;
    match output.form() {
        Form::Json => output.value(&serde_json::json!({ "database": path, "schema": "current" }))?,
        Form::Human => output.line(&format!("{} has the schema of this program.", path.display()))?,
    }
    Ok(Exit::Fine)
}

/// Puts the example into the database unless it is there, and says at which instant its clock goes on.
async fn set_up(store: &Store) -> Result<Timestamp, Failure> {
    let fresh = period_start(SystemClock.now()).map_err(|error| Failure::caused(Exit::Found, &error))?;
    let bar = progress("Importing the example");
    let report = setup_demo(store, fresh, &mut |rows| bar.set_position(rows as u64)).await;
    bar.finish_and_clear();
    let report = report.map_err(|error| Failure::caused(Exit::Found, &error))?;
    if let Some(report) = report {
        tracing::info!(
            rows = report.trace.added,
            queued = report.queued,
            "the example is in the database"
        );
    }
    let start = went_on_until(store).await;
    Ok(start.map_err(|error| failed(error.into()))?.unwrap_or(fresh))
}

/// The last instant of the engine; before its first cycle, the beginning of the stored period.
async fn went_on_until(store: &Store) -> Result<Option<Timestamp>, StoreError> {
    if let Some(last) = last_instant(store).await? {
        return Ok(Some(last));
    }
    let mut db = store.read().await?;
    let periods = periods::all(&mut db).await?;
    Ok(periods.first().map(|period| period.starts))
}

/// Who can sign in and what they may do, in a line each.
async fn introductions(store: &Store, offered: &[PersonId]) -> Result<Vec<String>, StoreError> {
    let mut db = store.read().await?;
    let mut lines = Vec::new();
    for person in offered {
        if let Some(me) = people::me(&mut db, person).await? {
            let roles: Vec<String> = me
                .roles
                .iter()
                .map(|grant| format!("{} of {}", grant.role.label(), grant.node_name))
                .collect();
            let person = me.person.as_str();
            lines.push(format!("  {person:<8} {}, {}", me.name, roles.join(", ")));
        }
    }
    Ok(lines)
}

async fn run(
    config: Config,
    owned: OwnedStore,
    clock: Arc<dyn Clock>,
    output: &mut Output,
    people: Vec<String>,
) -> Result<Exit, Failure> {
    let process = obs::record_metrics().map_err(|error| Failure::caused(Exit::Found, &error))?;
    let public = config.listen.public_url.clone();
    let plan = Plan {
        config,
        owned,
        clock,
        process,
    };
    let mut told = Ok(());
    let ready = |address: SocketAddr| {
        let address = public.map_or_else(|| format!("http://{address}"), |url| url.to_string());
        told = announce(&address, &people, output);
    };
    serve::run(plan, ready).await.map_err(failed)?;
    told?;
    Ok(Exit::Fine)
}

fn announce(address: &str, people: &[String], output: &mut Output) -> Result<(), Failure> {
    match output.form() {
        Form::Json => output.value(&serde_json::json!({ "address": address })),
        Form::Human => {
            output.line(&format!("Stint is ready at {address}"))?;
            if !people.is_empty() {
                output.line("Sign in there as one of:")?;
            }
            for line in people {
                output.line(line)?;
            }
            Ok(())
        }
    }?;
    output.flush()
}

fn failed(error: ServeError) -> Failure {
    let exit = match &error {
        ServeError::Config(_) | ServeError::Empty { .. } => Exit::Usage,
        _ => Exit::Found,
    };
    Failure::caused(exit, &error)
}

/// Opens a database that has to be there.
pub(super) async fn open_existing(path: &Path) -> Result<Store, Failure> {
    if !path.is_file() {
        return Err(Failure::usage(format!(
            "there is no database at {}: name it with --database",
            path.display()
        )));
    }
    let store = Store::open(path).await;
    store.map_err(|error| Failure::caused(Exit::Found, &error))
}
