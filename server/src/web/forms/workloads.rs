//! `POST /workloads` and `POST /workloads/{id}/cancel`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use stint_core::api::workloads::SubmitWorkload;
use stint_core::api::{Code, Problem};
use stint_core::id::{NodeId, WorkloadId};
use tower_sessions::Session;

use super::fields::Fields;
use super::{Back, KEY_FIELD, answer, encoded, key};
use crate::service::{Caller, IdempotencyKey, Service};

const SUBMIT: [&str; 14] = [
    "name",
    "pool",
    "charged_to",
    "gpus",
    "hosts",
    "min_runtime_min",
    "after_preemption",
    "priority",
    "then",
    "fallback",
    "grace_s",
    "topology",
    "simulated_runtime_min",
    KEY_FIELD,
];
const CANCEL: [&str; 1] = ["reason"];

pub(super) async fn submit(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Caller>,
    session: Session,
    fields: Fields,
) -> Response {
    let back = Back::to("/workloads/new".to_owned());
    let done = submitted(&service, &caller, &fields).await;
    answer(&session, fields, back, done).await
}

pub(super) async fn cancel(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    session: Session,
    fields: Fields,
) -> Response {
    let page = format!("/workloads/{}", encoded(&id));
    let back = Back::to(format!("{page}?dialog=cancel"));
    let done = cancelled(&service, &caller, &id, &fields).await.map(|()| page);
    answer(&session, fields, back, done).await
}

async fn submitted(service: &Service, caller: &Caller, fields: &Fields) -> Result<String, Problem> {
    caller.person()?;
    let (request, key) = read(fields)?;
    let view = service.submit(caller, &key, request).await?;
    Ok(format!("/workloads/{}", view.row.id))
}

async fn cancelled(service: &Service, caller: &Caller, id: &str, fields: &Fields) -> Result<(), Problem> {
    caller.person()?;
    let id: WorkloadId = id
        .parse()
        .map_err(|_| Problem::new(Code::NotFound, "There is no such workload."))?;
    let form = fields.reading(&CANCEL);
    let reason = form.text("reason").map(str::to_owned);
    form.finish()?;
    service.cancel(caller, id, reason).await?;
    Ok(())
}

fn read(fields: &Fields) -> Result<(SubmitWorkload, IdempotencyKey), Problem> {
    let mut form = fields.reading(&SUBMIT);
    let name = form.required("name", "a name");
    let pool = form.optional("pool", "a pool");
    let charged_to: Option<NodeId> = form.value("charged_to", "a node that pays");
    let gpus: Option<u32> = form.value("gpus", "a whole number, 1 or more");
    let hosts = form.optional("hosts", "a whole number, or nothing for as few as hold the GPUs");
    if form.text("min_runtime_min").is_none() {
        form.refuse("min_runtime_min", "whole minutes; 0 is unallocated");
    }
    let min_runtime_s = form.minutes("min_runtime_min");
    let after_preemption = form.word("after_preemption", "requeue or end");
    let priority = form.optional("priority", "a whole number").unwrap_or(0);
    let then = form.word("then", "charged, unallocated or stop");
    let fallback = form.word("fallback", "unallocated or wait");
    let grace_s = form.optional("grace_s", "whole seconds").unwrap_or(0);
    let topology = form.word("topology", "anywhere or same_block");
    let simulated_runtime_s = form.minutes("simulated_runtime_min");
    let key = key(&mut form);
    form.finish()?;
    let (Some(charged_to), Some(gpus), Some(min_runtime_s), Some(key)) =
        (charged_to, gpus, min_runtime_s, key)
    else {
        return Err(Problem::field("form", "", "all fields"));
    };
    let request = SubmitWorkload {
        name,
        pool,
        charged_to,
        gpus,
        hosts,
        min_runtime_s,
        after_preemption,
        priority,
        then,
        fallback,
        grace_s,
        topology,
        simulated_runtime_s,
        external_id: None,
    };
    Ok((request, key))
}

#[cfg(test)]
mod tests {
    use stint_core::sched::contract::{Then, Topology};

    use super::*;

    #[test]
    fn a_form_becomes_the_request_that_the_api_takes() {
        let sent = Fields::of(&[
            ("name", "train"),
            ("charged_to", "vision"),
            ("gpus", "16"),
            ("hosts", ""),
            ("min_runtime_min", "240"),
            ("then", "stop"),
            ("topology", "same_block"),
            ("simulated_runtime_min", "300"),
            (KEY_FIELD, "k"),
        ]);
        let (request, _) = read(&sent).unwrap();
        assert_eq!(request.min_runtime_s, 14_400);
        assert_eq!(request.simulated_runtime_s, Some(18_000));
        assert_eq!(
            (request.hosts, request.then, request.topology),
            (None, Then::Stop, Topology::SameBlock)
        );
    }

    #[test]
    fn an_empty_form_names_every_field_that_is_needed() {
        let problem = read(&Fields::of(&[])).unwrap_err();
        let named: Vec<&str> = problem.errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!(
            named,
            ["name", "charged_to", "gpus", "min_runtime_min", KEY_FIELD]
        );
    }
}
