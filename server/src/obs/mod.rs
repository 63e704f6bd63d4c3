//! What the server says about itself: a log for people or machines, and numbers for Prometheus.
//!
//! Invariant: nothing that people typed becomes a label or part of a message; it is a field, quoted by the
//! formatter. What is absent: tracing across processes.

use std::io::IsTerminal;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Log, LogFormat};

/// Why the server can't speak about itself.
#[derive(Debug, thiserror::Error)]
pub enum ObsError {
    /// The filter is not one.
    #[error("log.filter {filter:?} is not accepted: {message}")]
    Filter {
        /// What was asked for.
        filter: String,
        /// What is wrong with it.
        message: String,
    },
    /// Something else in this process already does.
    #[error("a log was already started")]
    Started,
    /// A recorder can't be installed.
    #[error("can't record metrics")]
    Metrics(#[source] metrics_exporter_prometheus::BuildError),
}

/// Starts the log: on standard error, so that it never mixes with answers on standard output.
///
/// # Errors
/// The filter is not accepted, or a log was started before.
pub fn start_log(log: &Log) -> Result<(), ObsError> {
    let filter = EnvFilter::try_new(&log.filter).map_err(|error| ObsError::Filter {
        filter: log.filter.clone(),
        message: error.to_string(),
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match log.format {
        LogFormat::Text => builder.finish().try_init(),
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init(),
    };
    started.map_err(|_| ObsError::Started)?;
    log_panics();
    Ok(())
}

/// Panics become lines of the log like everything else, so that machines that read it see them too.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(%panic, %backtrace, "a task panicked");
    }));
}

/// Installs the recorder of this process and returns what `/metrics` reads.
///
/// # Errors
/// Another recorder was installed before.
pub fn record_metrics() -> Result<PrometheusHandle, ObsError> {
    PrometheusBuilder::new()
        .install_recorder()
        .map_err(ObsError::Metrics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_none_is_refused_by_name() {
        let log = Log {
            filter: "stint=loud".to_owned(),
            ..Log::default()
        };
        assert!(start_log(&log).unwrap_err().to_string().contains("stint=loud"));
    }
}
