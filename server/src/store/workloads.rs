//! Workloads: what was submitted, and the state it is in.

use stint_core::id::{NodeId, PersonId, PoolId, WorkloadId};
use stint_core::sched::contract::{
    AfterPreemption, Fallback, Shape, Then, Topology, Workload, WorkloadState,
};
use stint_core::units::{Seconds, Timestamp};

use super::row::{from_row, number, word};
use super::{Connection, StoreError};

/// One workload as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadRecord {
    /// The workload.
    pub id: WorkloadId,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its name in another system.
    pub external_id: Option<String>,
    /// Its name.
    pub name: String,
    /// The node that pays.
    pub charged_to: NodeId,
    /// Who submitted it.
    pub submitted_by: PersonId,
    /// How many hosts.
    pub hosts: u32,
    /// GPUs on each of them.
    pub gpus_per_host: u32,
    /// Where the hosts may lie.
    pub topology: Topology,
    /// For how long it is not preempted once it runs.
    pub min_runtime_s: Seconds,
    /// What a preemption does.
    pub after_preemption: AfterPreemption,
    /// Sorts within the node.
    pub priority: i32,
    /// What happens after protection.
    pub then_do: Then,
    /// What happens without funds.
    pub fallback: Fallback,
    /// Time between signal and kill.
    pub grace_s: Seconds,
    /// On a simulated fleet: for how long it runs before it finishes by itself.
    pub simulated_runtime_s: Option<Seconds>,
    /// When it was first submitted.
    pub submitted_at: Timestamp,
    /// The state it is in.
    pub state: WorkloadState,
    /// Counts its changes.
    pub generation: u64,
    /// How often it has started.
    pub starts: u32,
    /// How often its launch failed.
    pub launch_failures: u32,
    /// Since when it is held.
    pub held_since: Option<Timestamp>,
    /// When a person asked to cancel it.
    pub cancel_requested_at: Option<Timestamp>,
    /// Who asked.
    pub cancel_requested_by: Option<PersonId>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
}
from_row!(WorkloadRecord {
    id,
    pool_id,
    external_id,
    name,
    charged_to,
    submitted_by,
    hosts,
    gpus_per_host,
    topology,
    min_runtime_s,
    after_preemption,
    priority,
    then_do,
    fallback,
    grace_s,
    simulated_runtime_s,
    submitted_at,
    state,
    generation,
    starts,
    launch_failures,
    held_since,
    cancel_requested_at,
    cancel_requested_by,
    ended_at,
});

impl WorkloadRecord {
    /// The workload as the scheduler knows it.
    pub fn contract(&self) -> Workload {
        Workload {
            id: self.id,
            charged_to: self.charged_to.clone(),
            submitted_by: self.submitted_by.clone(),
            shape: Shape {
                hosts: self.hosts,
                gpus_per_host: self.gpus_per_host,
                topology: self.topology,
            },
            min_runtime: self.min_runtime_s,
            after_preemption: self.after_preemption,
            priority: self.priority,
            then: self.then_do,
            fallback: self.fallback,
            grace: self.grace_s,
            submitted_at: self.submitted_at,
        }
    }
}

/// A workload that is new: what its pool and outside world call it, and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWorkload {
    /// Its pool.
    pub pool_id: PoolId,
    /// Its name in another system.
    pub external_id: Option<String>,
    /// Its name.
    pub name: String,
    /// What it asks for; its id is ignored.
    pub contract: Workload,
    /// On a simulated fleet: for how long it runs before it finishes by itself.
    pub simulated_runtime: Option<Seconds>,
}

/// Which workloads to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this pool.
    pub pool: Option<PoolId>,
    /// In this state.
    pub state: Option<WorkloadState>,
    /// Submitted by this person.
    pub person: Option<PersonId>,
    /// Charged to one of these nodes.
    pub nodes: Option<Vec<NodeId>>,
    /// Older than this one.
    pub before: Option<WorkloadId>,
}

/// Name and place in the life of a workload, for lists that know the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRow {
    /// The workload.
    pub id: WorkloadId,
    /// Its name.
    pub name: String,
}
from_row!(NameRow { id, name });

/// Adds a workload, queued, and numbers it.
pub async fn insert(db: &mut Connection, new: &NewWorkload) -> Result<WorkloadId, StoreError> {
    let id: i64 = sqlx::query_scalar(include_str!("sql/workloads_next.sql"))
        .fetch_one(&mut *db)
        .await?;
    let contract = &new.contract;
    sqlx::query(include_str!("sql/workloads_insert.sql"))
        .bind(id)
        .bind(new.pool_id.as_str())
        .bind(new.external_id.as_deref())
        .bind(&new.name)
        .bind(contract.charged_to.as_str())
        .bind(contract.submitted_by.as_str())
        .bind(i64::from(contract.shape.hosts))
        .bind(i64::from(contract.shape.gpus_per_host))
        .bind(word(&contract.shape.topology))
        .bind(contract.min_runtime.0)
        .bind(word(&contract.after_preemption))
        .bind(i64::from(contract.priority))
        .bind(word(&contract.then))
        .bind(word(&contract.fallback))
        .bind(contract.grace.0)
        .bind(new.simulated_runtime.map(Seconds::get))
        .bind(contract.submitted_at.0)
        .bind(word(&WorkloadState::Queued))
        .execute(db)
        .await?;
    Ok(WorkloadId(id.unsigned_abs()))
}

/// One workload.
pub async fn find(db: &mut Connection, id: WorkloadId) -> Result<Option<WorkloadRecord>, StoreError> {
    let found = sqlx::query_as(include_str!("sql/workloads_find.sql"))
        .bind(number(id.0))
        .fetch_optional(db)
        .await?;
    Ok(found)
}

/// The workload that another system calls so.
pub async fn by_external_id(
    db: &mut Connection,
    external_id: &str,
) -> Result<Option<WorkloadId>, StoreError> {
    let found: Option<i64> = sqlx::query_scalar(include_str!("sql/workloads_by_external_id.sql"))
        .bind(external_id)
        .fetch_optional(db)
        .await?;
    Ok(found.map(|id| WorkloadId(id.unsigned_abs())))
}

/// Workloads that match, newest first, at most `limit`. The index that serves the narrowest filter is read from
/// where the page before ended, so that every page costs the same.
pub async fn list(
    db: &mut Connection,
    filter: &Filter,
    limit: u32,
) -> Result<Vec<WorkloadRecord>, StoreError> {
    let statement = match (&filter.person, &filter.state) {
        (Some(_), _) => include_str!("sql/workloads_list_by_person.sql"),
        (None, Some(_)) => include_str!("sql/workloads_list_by_state.sql"),
        (None, None) => include_str!("sql/workloads_list.sql"),
    };
    let rows = sqlx::query_as(statement)
        .bind(filter.pool.as_ref().map(PoolId::as_str))
        .bind(filter.state.as_ref().map(word))
        .bind(filter.person.as_ref().map(PersonId::as_str))
        .bind(filter.nodes.as_deref().map(json_list))
        .bind(filter.before.map_or(i64::MAX, |id| number(id.0)))
        .bind(i64::from(limit))
        .fetch_all(db)
        .await?;
    Ok(rows)
}

/// The names of some workloads, in one statement.
pub async fn names(db: &mut Connection, ids: &[WorkloadId]) -> Result<Vec<NameRow>, StoreError> {
    let ids: Vec<i64> = ids.iter().map(|id| number(id.0)).collect();
    let rows = sqlx::query_as(include_str!("sql/workloads_names.sql"))
        .bind(json_list(&ids))
        .fetch_all(db)
        .await?;
    Ok(rows)
}

/// Notes that a person wants it cancelled; the engine acts on it. `false` when somebody had asked before, or it
/// is over.
pub async fn request_cancel(
    db: &mut Connection,
    id: WorkloadId,
    at: Timestamp,
    by: &PersonId,
) -> Result<bool, StoreError> {
    let asked = sqlx::query(include_str!("sql/workloads_request_cancel.sql"))
        .bind(number(id.0))
        .bind(at.0)
        .bind(by.as_str())
        .execute(db)
        .await?;
    Ok(asked.rows_affected() == 1)
}

fn json_list<T: serde::Serialize>(items: &[T]) -> String {
    serde_json::to_string(items).unwrap_or_else(|_| "[]".to_owned())
}
