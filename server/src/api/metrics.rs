//! `/metrics`: what this process recorded about itself, and the state of the pools at the moment of asking.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics::{gauge, with_local_recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use stint_core::api::standing::StandingRow;
use stint_core::units::Fraction;

use crate::problem::Refusal;
use crate::service::Service;
use crate::service::gauges::{LeafGauges, PoolGauges};

/// The media type of the text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The route; `process` is what this process recorded about itself.
pub(super) fn route(process: PrometheusHandle) -> Router<Arc<Service>> {
    let show = async move |State(service): State<Arc<Service>>| show(&service, &process).await;
    Router::new().route("/metrics", get(show))
}

async fn show(service: &Service, process: &PrometheusHandle) -> Result<Response, Refusal> {
    let pools = service.gauges().await?;
    // A recorder of its own for each answer: what is gone since the last one leaves no stale series behind.
    let recorder = PrometheusBuilder::new().build_recorder();
    with_local_recorder(&recorder, || pools.iter().for_each(record));
    let text = format!("{}{}", process.render(), recorder.handle().render());
    Ok(([(header::CONTENT_TYPE, TEXT_FORMAT)], text).into_response())
}

/// Monitoring systems take floats; amounts are exact up to 2^53 GPU-seconds, more than any pool has in a period.
#[expect(clippy::cast_precision_loss, reason = "the text format has floats only")]
fn float(number: i64) -> f64 {
    number as f64
}

fn record(found: &PoolGauges) {
    let pool = found.pool.pool.to_string();
    let count = |name: &'static str, number: i64| gauge!(name, "pool" => pool.clone()).set(float(number));
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    count("stint_queue_workloads", whole(found.pool.queued));
    count("stint_queue_gpus", whole(found.pool.asked_gpus));
    count("stint_pool_gpus", found.pool.gpus.into());
    count("stint_pool_healthy_gpus", found.pool.healthy_gpus.into());
    for (kind, gpus) in [
        ("protected", found.pool.protected_gpus),
        ("interruptible", found.pool.interruptible_gpus),
        ("unallocated", found.pool.unallocated_gpus),
    ] {
        gauge!("stint_held_gpus", "pool" => pool.clone(), "kind" => kind).set(float(gpus.into()));
    }
    ratio(found.pool.delivered_over_owed, |value| {
        gauge!("stint_delivered_over_owed", "pool" => pool.clone()).set(value);
    });
    for leaf in &found.leaves {
        record_leaf(&pool, leaf);
    }
}

fn record_leaf(pool: &str, leaf: &LeafGauges) {
    let labels = || [("pool", pool.to_owned()), ("node", leaf.node.to_string())];
    gauge!("stint_granted_gpu_seconds", &labels()).set(float(leaf.granted.0));
    gauge!("stint_charged_gpu_seconds", &labels()).set(float(leaf.used.charged.0));
    gauge!("stint_held_gpu_seconds", &labels()).set(float(leaf.used.held.0));
    let Some(StandingRow {
        standing,
        owed_gpu_seconds,
        delivered_gpu_seconds,
        queued,
        ..
    }) = &leaf.standing
    else {
        return;
    };
    gauge!("stint_owed_gpu_seconds", &labels()).set(float(owed_gpu_seconds.0));
    gauge!("stint_delivered_gpu_seconds", &labels()).set(float(delivered_gpu_seconds.0));
    gauge!("stint_queued_workloads", &labels()).set(float((*queued).into()));
    if let Some(standing) = standing {
        ratio(*standing, |value| gauge!("stint_standing", &labels()).set(value));
    }
}

/// What is undefined has no series; it is not zero.
fn ratio(fraction: Fraction, record: impl FnOnce(f64)) {
    if let Some(value) = fraction.approx() {
        record(value);
    }
}
