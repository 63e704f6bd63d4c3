//! Submitting a workload.

use stint_core::api::workloads::{SubmitWorkload, WorkloadView};
use stint_core::api::{Code, FieldError, Problem};
use stint_core::authz::{Action, Owner};
use stint_core::id::WorkloadId;
use stint_core::sched::contract::{Limits, Shape, Workload};
use stint_core::units::{MAX_SPAN, Seconds};

use crate::service::access::Access;
use crate::service::ground::Ground;
use crate::service::idempotency::Request;
use crate::service::moves::not_accepted;
use crate::service::{Caller, IdempotencyKey, Service, Topic, audit, text};
use crate::store::pools::{self, HostRecord, PoolRow};
use crate::store::workloads::{NewWorkload, WorkloadRecord};
use crate::store::{Connection, StoreError, commit, workloads};

impl Service {
    /// Adds a workload to the queue. With a key, the same request sent twice adds it once.
    pub async fn submit<'k>(
        &self,
        caller: &Caller,
        key: impl Into<Option<&'k IdempotencyKey>>,
        request: SubmitWorkload,
    ) -> Result<WorkloadView, Problem> {
        let key = key.into();
        let me = caller.person()?;
        let mut db = self.store.write().await?;
        let ground = self.ground(&mut db).await?;
        let pool = ground.pool(request.pool.as_ref())?;
        let node = ground.node("charged_to", &request.charged_to)?;
        let access = Access::new(&ground.organisation.org, me);
        access.check_workload(Action::Submit, node, Owner::Oneself)?;
        let once = key
            .map(|key| Request::new(me, key, "submit", &request))
            .transpose()?;
        if let Some(once) = &once
            && let Some(answer) = once.answered(&mut db).await?
        {
            return Ok(answer);
        }
        let hosts = pools::hosts(&mut db, &pool.id).await?;
        let new = NewWorkload {
            pool_id: pool.id.clone(),
            external_id: request.external_id.clone(),
            name: request.name.clone(),
            contract: contract(&request, pool, caller, &ground)?,
            simulated_runtime: request.simulated_runtime_s.map(Seconds),
        };
        not_accepted(misfits(&request, &new.contract, pool, &hosts))?;
        let record = self.insert(&mut db, new).await?;
        let view = self.view(&mut db, &ground, me, &record).await?;
        if let Some(once) = &once {
            once.keep(&mut db, &view, ground.moment.now).await?;
        }
        let change = audit::Change {
            action: "workload.submit",
            subject: record.id.to_string(),
            before: None::<&()>,
            after: Some(&request),
            reason: None,
        };
        audit::note(&mut db, caller, me, ground.moment.now, change).await?;
        commit(db).await?;
        self.hub.wake();
        self.hub.announce(Topic::Workload(record.id));
        Ok(view)
    }

    /// Writes the row. A name of its own that another workload has already is refused with that workload's id.
    async fn insert(&self, db: &mut Connection, new: NewWorkload) -> Result<WorkloadRecord, Problem> {
        if let Some(external_id) = &new.external_id
            && let Some(other) = workloads::by_external_id(db, external_id).await?
        {
            let sentence = format!("The external id {external_id:?} is that of {other} already.");
            return Err(Problem {
                errors: vec![FieldError {
                    field: "external_id".to_owned(),
                    value: external_id.clone(),
                    accepted: "a name that no other workload has".to_owned(),
                }],
                ..Problem::new(Code::Conflict, sentence)
            });
        }
        let id = workloads::insert(db, &new).await?;
        let found = workloads::find(db, id).await?;
        Ok(found.ok_or(StoreError::Changed("the workload"))?)
    }
}

/// What the request asks of the scheduler. Hosts that aren't given are as few as hold the GPUs.
fn contract(
    request: &SubmitWorkload,
    pool: &PoolRow,
    caller: &Caller,
    ground: &Ground,
) -> Result<Workload, Problem> {
    let hosts = match request.hosts {
        Some(hosts) => hosts,
        None => request.gpus.div_ceil(pool.gpus_per_host.max(1)).max(1),
    };
    let divisible = hosts > 0 && request.gpus.is_multiple_of(hosts);
    // What doesn't divide is refused by name below; the shape stands for it until then.
    let gpus_per_host = if divisible { request.gpus / hosts } else { 0 };
    Ok(Workload {
        id: WorkloadId(0),
        charged_to: request.charged_to.clone(),
        submitted_by: caller.person()?.person.clone(),
        shape: Shape {
            hosts,
            gpus_per_host,
            topology: request.topology,
        },
        min_runtime: Seconds(request.min_runtime_s),
        after_preemption: request.after_preemption,
        priority: request.priority,
        then: request.then,
        fallback: request.fallback,
        grace: Seconds(request.grace_s),
        submitted_at: ground.moment.now,
    })
}

/// Everything that is not accepted, each by the name it has in the request.
fn misfits(
    request: &SubmitWorkload,
    contract: &Workload,
    pool: &PoolRow,
    hosts: &[HostRecord],
) -> Vec<FieldError> {
    let field = |field: &str, value: String, accepted: String| FieldError {
        field: field.to_owned(),
        value,
        accepted,
    };
    let mut found: Vec<FieldError> = text::check("name", &request.name, text::MAX_NAME)
        .err()
        .into_iter()
        .collect();
    if let Some(external_id) = &request.external_id {
        found.extend(text::check("external_id", external_id, text::MAX_NAME).err());
    }
    let mut fits = true;
    if request.gpus == 0 || request.gpus > pool.gpus {
        fits = false;
        found.push(field(
            "gpus",
            request.gpus.to_string(),
            format!("1 to {} (GPUs of the pool)", pool.gpus),
        ));
    } else if contract.shape.gpus_per_host == 0 && contract.shape.hosts > 0 {
        fits = false;
        let accepted = match request.hosts {
            Some(hosts) => format!("a multiple of {hosts}, the number of hosts"),
            None => format!(
                "at most {} on one host, or `hosts` that divide it",
                pool.gpus_per_host
            ),
        };
        found.push(field("gpus", request.gpus.to_string(), accepted));
    }
    let limits: Limits = pool.limits();
    for misfit in contract.misfits(&limits) {
        let of_shape = matches!(misfit.field, "hosts" | "gpus_per_host");
        if !of_shape || fits {
            found.push(field(misfit.field, misfit.value, misfit.accepted));
        }
    }
    let large_enough = |host: &&HostRecord| host.gpus >= contract.shape.gpus_per_host;
    let count = hosts.iter().filter(large_enough).count();
    let enough = usize::try_from(contract.shape.hosts).is_ok_and(|needed| needed <= count);
    if fits && !enough && found.iter().all(|error| error.field != "hosts") {
        let per_host = contract.shape.gpus_per_host;
        let accepted = format!("1 to {count} (hosts with {per_host} GPUs)");
        found.push(field("hosts", contract.shape.hosts.to_string(), accepted));
    }
    if let Some(runtime) = request.simulated_runtime_s
        && !(1..=MAX_SPAN.0).contains(&runtime)
    {
        found.push(field(
            "simulated_runtime_s",
            runtime.to_string(),
            format!("1 to {}", MAX_SPAN.0),
        ));
    }
    found
}
