//! The server as a whole: what is opened, in which order it starts, and how it stops.
//!
//! Stopping goes the way back: no new connections, streams end, requests finish, the engines stop between two cycles,
//! the database is closed. Every task is owned here and joined. A server that is killed instead loses nothing either;
//! it only takes longer to be sure of it.

use std::fs::{File, TryLockError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use metrics_exporter_prometheus::PrometheusHandle;
use stint_core::id::PoolId;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::api;
use crate::authn::{Authn, Offered};
use crate::clock::{Clock, SystemClock, wait};
use crate::config::{Config, ConfigError};
use crate::engine::{Engine, EngineError, Means};
use crate::fleet::SimulatedFleet;
use crate::service::{Hub, Service};
use crate::store::sessions::Sessions;
use crate::store::{Store, StoreError, nodes, pools};
use crate::web::{Pace, Web};

/// How long requests that are under way may take once the server stops. Shorter than what service managers wait.
const FINISHING: Duration = Duration::from_secs(20);
/// How often sessions that have run out are forgotten.
const SWEEP: Duration = Duration::from_hours(1);

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It may not listen there.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address can't be listened on.
    #[error("can't listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Another server works on the database.
    #[error("another server is using {path}; one database has one server", path = path.display())]
    InUse {
        /// The database.
        path: PathBuf,
    },
    /// The lock beside the database can't be taken.
    #[error("can't lock {path}", path = path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// There is nothing to schedule.
    #[error(
        "the database {path} has no organisation yet: run `stint import hosts FILE` and `stint import org FILE` first",
        path = path.display()
    )]
    Empty {
        /// The database.
        path: PathBuf,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An engine can't start.
    #[error("the engine can't start")]
    Engine(#[from] EngineError),
    /// An engine ended although nobody told it to.
    #[error("the engine ended by itself")]
    EngineEnded,
    /// The operating system refused something.
    #[error("the server failed")]
    System(#[source] std::io::Error),
}

/// Tells when the server stops.
#[derive(Clone, Debug)]
pub struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Waits until the server stops.
    pub async fn requested(&mut self) {
        // A sender that is gone means that the server is gone.
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}

/// Makes the server stop.
#[derive(Debug)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Two ends: one stops, the other tells.
    pub fn new() -> (Self, Stopping) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stopping(receiver))
    }

    /// Stops.
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}

/// A database that only this process serves.
pub struct OwnedStore {
    store: Store,
    path: PathBuf,
    _lock: File,
}

impl OwnedStore {
    /// Opens a database, takes the lock beside it, and brings its schema up to date.
    ///
    /// # Errors
    /// Another server has it, or it can't be opened.
    pub async fn open(path: &Path) -> Result<Self, ServeError> {
        let lock = lock_beside(path)?;
        let store = Store::open(path).await?;
        store.migrate().await?;
        Ok(Self {
            store,
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// The database.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// The operating system gives the lock back when the process ends, however it ends.
fn lock_beside(path: &Path) -> Result<File, ServeError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let refused = |source| ServeError::Lock {
        path: lock_path.clone(),
        source,
    };
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ServeError::InUse {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(refused(source)),
    }
}

/// What to serve.
pub struct Plan {
    /// What the server was told.
    pub config: Config,
    /// Its database.
    pub owned: OwnedStore,
    /// The clock of the fleet.
    pub clock: Arc<dyn Clock>,
    /// What this process records about itself.
    pub process: PrometheusHandle,
}

/// Serves until a signal tells it to stop. `ready` is told the address once everything answers.
///
/// # Errors
/// Something can't be opened, or an engine ended.
pub async fn run(plan: Plan, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    plan.config.refuse_exposure()?;
    let store = plan.owned.store.clone();
    let pools = pools_with_organisation(&plan.owned).await?;
    let address = plan.config.listen.address;
    let refused = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;

    let hub = Arc::new(Hub::default());
    let service = Arc::new(Service::new(
        store.clone(),
        Arc::clone(&plan.clock),
        Arc::clone(&hub),
    ));
    let means = Means {
        store: store.clone(),
        fleet: Arc::new(SimulatedFleet::new(store.clone(), Arc::clone(&plan.clock))),
        clock: Arc::clone(&plan.clock),
        hub,
    };
    let (stop_engines, engines_stopping) = watch::channel(false);
    let mut engines = start_engines(&means, &pools, &engines_stopping).await?;
    let (stop_web, web_stopping) = Stop::new();
    let (web, sessions) = web_router(&plan, service, web_stopping.clone());
    let mut sweeper = JoinSet::new();
    sweeper.spawn(sweep(sessions, web_stopping.clone()));
    let mut serving = JoinSet::new();
    serving.spawn(serve_connections(listener, web, web_stopping));
    ready(address);

    let outcome = tokio::select! {
        signalled = signalled() => signalled.map_err(ServeError::System),
        _ = engines.join_next(), if !pools.is_empty() => Err(ServeError::EngineEnded),
        _ = serving.join_next() => Err(ServeError::System(std::io::ErrorKind::ConnectionAborted.into())),
    };
    tracing::info!("stopping");
    stop_web.request();
    finish(&mut serving).await;
    sweeper.join_all().await;
    stop_engines.send_replace(true);
    while engines.join_next().await.is_some() {}
    store.close().await;
    tracing::info!("stopped");
    outcome
}

async fn pools_with_organisation(owned: &OwnedStore) -> Result<Vec<PoolId>, ServeError> {
    let mut db = owned.store.read().await?;
    let pools = pools::all(&mut db).await?;
    if pools.is_empty() || nodes::all(&mut db).await?.is_empty() {
        return Err(ServeError::Empty {
            path: owned.path.clone(),
        });
    }
    Ok(pools.into_iter().map(|pool| pool.id).collect())
}

async fn start_engines(
    means: &Means,
    pools: &[PoolId],
    stopping: &watch::Receiver<bool>,
) -> Result<JoinSet<()>, ServeError> {
    let mut engines = JoinSet::new();
    for pool in pools {
        let engine = Engine::load(means.clone(), pool.clone()).await?;
        engines.spawn(engine.run(stopping.clone()));
    }
    Ok(engines)
}

fn web_router(plan: &Plan, service: Arc<Service>, stopping: Stopping) -> (Router, Sessions) {
    let store = plan.owned.store.clone();
    let authn = Authn::new(store, plan.config.session, Arc::new(SystemClock));
    let sessions = authn.sessions().clone();
    let offered: Offered = plan.config.sign_in.offer.clone().into();
    let api = api::router(Arc::clone(&service), plan.process.clone());
    let web = Web {
        service,
        authn,
        offered,
        listen: plan.config.listen.clone(),
        stopping,
        pace: Pace::default(),
    };
    (web.router(api), sessions)
}

async fn serve_connections(listener: TcpListener, web: Router, mut stopping: Stopping) {
    let told = async move { stopping.requested().await };
    if let Err(error) = axum::serve(listener, web).with_graceful_shutdown(told).await {
        tracing::error!(%error, "the listener failed");
    }
}

/// Lets requests finish, but not for ever.
async fn finish(serving: &mut JoinSet<()>) {
    tokio::select! {
        () = async { while serving.join_next().await.is_some() {} } => {}
        () = wait(FINISHING) => {
            tracing::warn!("some requests did not finish in time");
            serving.shutdown().await;
        }
    }
}

/// Forgets sessions that have run out.
async fn sweep(sessions: Sessions, mut stopping: Stopping) {
    loop {
        if let Err(error) = sessions.delete_expired().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "can't forget old sessions"
            );
        }
        tokio::select! {
            () = stopping.requested() => return,
            () = wait(SWEEP) => {}
        }
    }
}

async fn signalled() -> std::io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_has_one_server_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stint.db");
        let first = OwnedStore::open(&path).await.unwrap();
        assert!(matches!(
            OwnedStore::open(&path).await,
            Err(ServeError::InUse { .. })
        ));
        first.store().close().await;
        drop(first);
        assert!(OwnedStore::open(&path).await.is_ok());
    }

    #[tokio::test]
    async fn an_empty_database_is_refused_with_the_mend() {
        let dir = tempfile::tempdir().unwrap();
        let owned = OwnedStore::open(&dir.path().join("stint.db")).await.unwrap();
        let error = pools_with_organisation(&owned).await.unwrap_err();
        assert!(error.to_string().contains("stint import org"));
    }
}
