//! The contract of the store, whatever database is behind it: each check takes a fresh one and speaks through its
//! ports alone, except where it shows that the schema itself refuses.

#![expect(clippy::unwrap_used, reason = "a test ends where it can't go on")]

use std::path::Path;
use std::sync::Arc;

use stint_core::api::Code;
use stint_core::api::session::Role;
use stint_core::id::{NodeId, PersonId, PoolId, TransactionId, WorkloadId};
use stint_core::ledger::{Balance, CommandId, Entry, Kind, Period, Posting, StoredBalance, Transaction};
use stint_core::org::NodeKind;
use stint_core::sched::contract::{
    AfterPreemption, Fallback, HostState, Shape, Then, Topology, Workload, WorkloadState,
};
use stint_core::units::{GpuSeconds, Seconds, Timestamp};
use stint_server::clock::ManualClock;
use stint_server::store::audit_log::{self, AuditRow};
use stint_server::store::idempotency::{self, AnswerRow};
use stint_server::store::nodes::NodeRow;
use stint_server::store::people::PersonRow;
use stint_server::store::pools::{HostRecord, PoolRow};
use stint_server::store::sessions::Sessions;
use stint_server::store::workloads::{Filter, NewWorkload};
use stint_server::store::{
    Connection, Store, StoreError, commit, ledger, nodes, people, periods, pools, settings, workloads,
};
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};

struct Fresh {
    store: Store,
    folder: tempfile::TempDir,
}

impl Fresh {
    async fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await;
        store.migrate().await.unwrap();
        Self { store, folder }
    }

    /// With one team, person, pool, host and period.
    async fn furnished() -> Self {
        let fresh = Self::empty().await;
        let mut db = fresh.store.write().await.unwrap();
        nodes::insert(&mut db, &node("lab", None)).await.unwrap();
        nodes::insert(&mut db, &node("vision", Some("lab")))
            .await
            .unwrap();
        people::insert(&mut db, &person("rex")).await.unwrap();
        pools::insert(&mut db, &pool_row()).await.unwrap();
        pools::insert_host(&mut db, &host("gpu-1", 8)).await.unwrap();
        pools::insert_host(&mut db, &host("gpu-2", 4)).await.unwrap();
        periods::insert(&mut db, &period()).await.unwrap();
        commit(db).await.unwrap();
        fresh
    }
}

async fn open(folder: &Path) -> Store {
    Store::open(&folder.join("stint.db")).await.unwrap()
}

fn node(id: &str, parent: Option<&str>) -> NodeRow {
    NodeRow {
        id: id.parse().unwrap(),
        parent_id: parent.map(|parent| parent.parse().unwrap()),
        kind: if parent.is_some() {
            NodeKind::Team
        } else {
            NodeKind::Organisation
        },
        name: id.to_uppercase(),
        hue: 3,
    }
}

fn person(id: &str) -> PersonRow {
    PersonRow {
        id: id.parse().unwrap(),
        name: id.to_uppercase(),
        active: true,
    }
}

fn pool() -> PoolId {
    "h100".parse().unwrap()
}

fn pool_row() -> PoolRow {
    PoolRow {
        id: pool(),
        reserve_bp: 300,
        cap_s: Seconds(28_800),
        startup_s: Seconds(600),
        look_back: "sliding".to_owned(),
        window_s: Seconds(604_800),
        margin_milli: 10,
        hosts: 0,
        gpus: 0,
        gpus_per_host: 0,
    }
}

fn host(id: &str, gpus: u32) -> HostRecord {
    HostRecord {
        id: id.parse().unwrap(),
        pool_id: pool(),
        block_id: "a".parse().unwrap(),
        gpus,
        state: HostState::Up,
    }
}

fn period() -> Period {
    Period {
        id: "2026-Q4".parse().unwrap(),
        starts: Timestamp(0),
        ends: Timestamp(10_000),
        zone: "UTC".to_owned(),
    }
}

fn workload(name: &str, external_id: Option<&str>, charged_to: &str) -> NewWorkload {
    NewWorkload {
        pool_id: pool(),
        external_id: external_id.map(str::to_owned),
        name: name.to_owned(),
        contract: Workload {
            id: WorkloadId(0),
            charged_to: charged_to.parse().unwrap(),
            submitted_by: "rex".parse().unwrap(),
            shape: Shape {
                hosts: 2,
                gpus_per_host: 4,
                topology: Topology::SameBlock,
            },
            min_runtime: Seconds(3_600),
            after_preemption: AfterPreemption::End,
            priority: -7,
            then: Then::Unallocated,
            fallback: Fallback::Wait,
            grace: Seconds(30),
            submitted_at: Timestamp(50),
        },
        simulated_runtime: None,
    }
}

fn transaction(id: u64, command: &str, amount: i64) -> Transaction {
    Transaction {
        entry: Entry {
            id: TransactionId(id),
            recorded: Timestamp(10),
            command: CommandId(command.to_owned()),
            person: "rex".parse().unwrap(),
            person_name: "Rex".to_owned(),
            reason: "why".to_owned(),
            request: None,
        },
        effective: Timestamp(10),
        kind: Kind::Import,
        postings: vec![
            Posting {
                to: Balance::Capacity,
                amount: GpuSeconds(-amount),
            },
            Posting {
                to: Balance::Own("vision".parse().unwrap()),
                amount: GpuSeconds(amount),
            },
        ],
    }
}

fn constraint<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    result.unwrap_err().constraint().unwrap().to_owned()
}

#[tokio::test]
async fn the_schema_is_brought_up_once_and_stays() {
    let fresh = Fresh::empty().await;
    assert!(fresh.store.is_current().await.unwrap());
    fresh.store.migrate().await.unwrap();
    let mut db = fresh.store.write().await.unwrap();
    settings::set(&mut db, "k", "1").await.unwrap();
    settings::set(&mut db, "k", "2").await.unwrap();
    commit(db).await.unwrap();
    fresh.store.close().await;
    let again = open(fresh.folder.path()).await;
    again.migrate().await.unwrap();
    let mut db = again.read().await.unwrap();
    assert_eq!(settings::get(&mut db, "k").await.unwrap().as_deref(), Some("2"));
    assert_eq!(settings::get(&mut db, "other").await.unwrap(), None);
}

#[tokio::test]
async fn a_schema_of_a_later_program_is_refused() {
    let fresh = Fresh::empty().await;
    let mut db = fresh.store.write().await.unwrap();
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'later', 1, x'00', 0)";
    sqlx::query(later).execute(&mut *db).await.unwrap();
    commit(db).await.unwrap();
    let refused = fresh.store.migrate().await.unwrap_err();
    assert!(
        matches!(refused, StoreError::NewerSchema { found: 9_999, .. }),
        "{refused}"
    );
    assert!(!fresh.store.is_current().await.unwrap());
}

#[tokio::test]
async fn what_is_not_committed_leaves_nothing_behind() {
    let fresh = Fresh::empty().await;
    let mut db = fresh.store.write().await.unwrap();
    settings::set(&mut db, "k", "1").await.unwrap();
    drop(db);
    let mut db = fresh.store.read().await.unwrap();
    assert_eq!(settings::get(&mut db, "k").await.unwrap(), None);
    assert!(
        settings::set(&mut db, "k", "1").await.is_err(),
        "readers can't write"
    );
}

#[tokio::test]
async fn a_reader_sees_one_state_while_others_write() {
    let fresh = Fresh::empty().await;
    let mut reader = fresh.store.read().await.unwrap();
    assert_eq!(settings::get(&mut reader, "k").await.unwrap(), None);
    let mut writer = fresh.store.write().await.unwrap();
    settings::set(&mut writer, "k", "1").await.unwrap();
    commit(writer).await.unwrap();
    assert_eq!(settings::get(&mut reader, "k").await.unwrap(), None);
}

#[tokio::test]
async fn every_broken_constraint_has_a_name_and_a_code() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    let mut bad_hue = node("blue", Some("lab"));
    bad_hue.hue = 11;
    assert_eq!(
        constraint(nodes::insert(&mut db, &bad_hue).await),
        "nodes_hue_range"
    );
    assert_eq!(
        constraint(nodes::insert(&mut db, &node("lab", None)).await),
        "nodes_pk"
    );
    let orphan = node("orphan", Some("nobody"));
    assert_eq!(
        constraint(nodes::insert(&mut db, &orphan).await),
        "reference_exists"
    );
    assert_eq!(
        constraint(pools::insert_host(&mut db, &host("gpu-3", 65)).await),
        "hosts_gpus_range"
    );
    workloads::insert(&mut db, &workload("a", Some("x"), "vision"))
        .await
        .unwrap();
    let twice = workloads::insert(&mut db, &workload("b", Some("x"), "vision"))
        .await
        .unwrap_err();
    assert_eq!(
        (twice.constraint(), twice.code()),
        (Some("workloads_external_id_unique"), Code::Conflict)
    );
    let period = period().id;
    ledger::insert(&mut db, &pool(), &period, &transaction(1, "c", 5))
        .await
        .unwrap();
    let twice = ledger::insert(&mut db, &pool(), &period, &transaction(2, "c", 5))
        .await
        .unwrap_err();
    assert_eq!(twice.code(), Code::IdempotencyReused);
    let negative = ledger::put_balance(&mut db, &pool(), &period, &balance(-1, 1))
        .await
        .unwrap_err();
    assert_eq!(negative.constraint(), Some("balances_own_not_negative"));
    assert_eq!(negative.code(), Code::BudgetInsufficient);
}

#[tokio::test]
async fn the_ledger_and_the_audit_log_are_only_added_to() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    ledger::insert(&mut db, &pool(), &period().id, &transaction(1, "c", 5))
        .await
        .unwrap();
    let row = AuditRow {
        at: Timestamp(1),
        person_id: "rex".parse().unwrap(),
        person_name: "Rex".to_owned(),
        action: "budget.move".to_owned(),
        subject: "t-1".to_owned(),
        before: None,
        after: Some("{}".to_owned()),
        reason: Some("why".to_owned()),
        request_id: None,
    };
    audit_log::insert(&mut db, &row).await.unwrap();
    assert_eq!(audit_log::of_subject(&mut db, "t-1", 5).await.unwrap(), [row]);
    let refused = async |db: &mut Connection, statement: &'static str| {
        let result = sqlx::query(statement).execute(db).await.map_err(StoreError::from);
        constraint(result)
    };
    for (statement, name) in [
        (
            "UPDATE ledger_postings SET amount_gpu_seconds = 6",
            "ledger_postings_append_only",
        ),
        ("DELETE FROM ledger_postings", "ledger_postings_append_only"),
        (
            "UPDATE ledger_transactions SET reason = 'x'",
            "ledger_transactions_append_only",
        ),
        (
            "DELETE FROM ledger_transactions",
            "ledger_transactions_append_only",
        ),
        ("UPDATE audit_log SET reason = 'x'", "audit_log_append_only"),
        ("DELETE FROM audit_log", "audit_log_append_only"),
    ] {
        assert_eq!(refused(&mut db, statement).await, name);
    }
}

#[tokio::test]
async fn a_transaction_reads_as_it_was_written() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    assert_eq!(ledger::next_id(&mut db).await.unwrap(), TransactionId(1));
    let written = [transaction(1, "a", 5), transaction(2, "b", 7)];
    for transaction in &written {
        ledger::insert(&mut db, &pool(), &period().id, transaction)
            .await
            .unwrap();
    }
    assert_eq!(ledger::next_id(&mut db).await.unwrap(), TransactionId(3));
    assert_eq!(
        ledger::transactions(&mut db, &pool(), &period().id)
            .await
            .unwrap(),
        written
    );
    let other = "2027-Q1".parse().unwrap();
    assert_eq!(ledger::transactions(&mut db, &pool(), &other).await.unwrap(), []);
    let found = ledger::by_command(&mut db, &CommandId("b".to_owned()))
        .await
        .unwrap();
    assert_eq!(found, Some(TransactionId(2)));
}

fn balance(own: i64, version: u64) -> StoredBalance {
    StoredBalance {
        node: "vision".parse().unwrap(),
        own: GpuSeconds(own),
        accrued: GpuSeconds(0),
        accrued_at: Timestamp(0),
        version,
    }
}

#[tokio::test]
async fn a_balance_is_replaced_only_by_its_next_version() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    let put = async |db: &mut Connection, balance: StoredBalance| {
        ledger::put_balance(db, &pool(), &period().id, &balance).await
    };
    put(&mut db, balance(10, 1)).await.unwrap();
    put(&mut db, balance(20, 2)).await.unwrap();
    for stale in [1, 2, 4] {
        let refused = put(&mut db, balance(30, stale)).await.unwrap_err();
        assert_eq!(refused.code(), Code::PreconditionFailed, "{stale}");
    }
    assert_eq!(
        ledger::balances(&mut db, &pool(), &period().id).await.unwrap(),
        [balance(20, 2)]
    );
}

#[tokio::test]
async fn a_pool_counts_its_hosts_and_people_their_roles() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    let found = pools::all(&mut db).await.unwrap();
    let want = PoolRow {
        hosts: 2,
        gpus: 12,
        gpus_per_host: 8,
        ..pool_row()
    };
    assert_eq!(found, [want]);
    let (rex, vision): (PersonId, NodeId) = ("rex".parse().unwrap(), "vision".parse().unwrap());
    people::grant_role(&mut db, &rex, Role::Researcher, &vision)
        .await
        .unwrap();
    people::grant_role(&mut db, &rex, Role::Researcher, &vision)
        .await
        .unwrap();
    let me = people::me(&mut db, &rex).await.unwrap().unwrap();
    assert_eq!(me.roles.len(), 1);
    assert_eq!(
        (me.roles[0].role, me.roles[0].node_name.as_str()),
        (Role::Researcher, "VISION")
    );
    people::set_active(&mut db, &rex, people::Activity::Inactive)
        .await
        .unwrap();
    assert_eq!(people::me(&mut db, &rex).await.unwrap(), None);
    assert_eq!(people::me(&mut db, &"ivy".parse().unwrap()).await.unwrap(), None);
}

#[tokio::test]
async fn a_workload_reads_as_it_was_submitted_and_is_cancelled_once() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    let new = workload("name", Some("x"), "vision");
    let id = workloads::insert(&mut db, &new).await.unwrap();
    assert_eq!(id, WorkloadId(1));
    let found = workloads::find(&mut db, id).await.unwrap().unwrap();
    assert_eq!(found.contract(), Workload { id, ..new.contract });
    assert_eq!(
        (found.name.as_str(), found.state, found.starts),
        ("name", WorkloadState::Queued, 0)
    );
    assert_eq!(workloads::by_external_id(&mut db, "x").await.unwrap(), Some(id));
    let rex: PersonId = "rex".parse().unwrap();
    assert!(
        workloads::request_cancel(&mut db, id, Timestamp(9), &rex)
            .await
            .unwrap()
    );
    assert!(
        !workloads::request_cancel(&mut db, id, Timestamp(10), &rex)
            .await
            .unwrap()
    );
    let found = workloads::find(&mut db, id).await.unwrap().unwrap();
    assert_eq!(
        (found.cancel_requested_at, found.cancel_requested_by),
        (Some(Timestamp(9)), Some(rex))
    );
    assert_eq!(workloads::find(&mut db, WorkloadId(7)).await.unwrap(), None);
}

#[tokio::test]
async fn lists_filter_and_go_on_where_they_were() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    for n in 0..10 {
        let node = if n % 2 == 0 { "vision" } else { "lab" };
        workloads::insert(&mut db, &workload(&format!("n{n}"), None, node))
            .await
            .unwrap();
    }
    let ids = async |db: &mut Connection, filter: Filter| {
        let rows = workloads::list(db, &filter, 3).await.unwrap();
        rows.into_iter().map(|row| row.id.0).collect::<Vec<_>>()
    };
    let all = Filter::default();
    assert_eq!(ids(&mut db, all.clone()).await, [10, 9, 8]);
    let before = Some(WorkloadId(8));
    assert_eq!(
        ids(
            &mut db,
            Filter {
                before,
                ..all.clone()
            }
        )
        .await,
        [7, 6, 5]
    );
    let person: Option<PersonId> = Some("rex".parse().unwrap());
    assert_eq!(
        ids(
            &mut db,
            Filter {
                person,
                before,
                ..all.clone()
            }
        )
        .await,
        [7, 6, 5]
    );
    let state = Some(WorkloadState::Queued);
    assert_eq!(
        ids(
            &mut db,
            Filter {
                state,
                before,
                ..all.clone()
            }
        )
        .await,
        [7, 6, 5]
    );
    let nodes = Some(vec!["vision".parse().unwrap()]);
    assert_eq!(
        ids(
            &mut db,
            Filter {
                nodes: nodes.clone(),
                ..all.clone()
            }
        )
        .await,
        [9, 7, 5]
    );
    let nobody = Filter {
        person: Some("ivy".parse().unwrap()),
        nodes,
        state,
        ..all.clone()
    };
    assert_eq!(ids(&mut db, nobody).await, [0_u64; 0]);
    assert_eq!(
        ids(
            &mut db,
            Filter {
                pool: Some("other".parse().unwrap()),
                ..all
            }
        )
        .await,
        [0_u64; 0]
    );
    let names = workloads::names(&mut db, &[WorkloadId(3), WorkloadId(99)])
        .await
        .unwrap();
    assert_eq!(names.len(), 1);
    assert_eq!(names[0].name, "n2");
}

#[tokio::test]
async fn u32_a_page_far_back_is_read_from_an_index_like_the_first() {
    let fresh = Fresh::empty().await;
    let mut db = fresh.store.read().await.unwrap();
    let plan = async |db: &mut Connection, statement: &'static str| {
        let statement = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let steps: Vec<(i64, i64, i64, String)> = sqlx::query_as(statement).fetch_all(db).await.unwrap();
        steps
            .into_iter()
            .map(|(.., step)| step)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let check = async |db: &mut Connection, statement: &'static str, search: &str| {
        let plan = plan(db, statement).await;
        assert!(plan.contains(search), "{plan}");
        assert!(!plan.contains("TEMP B-TREE FOR ORDER BY"), "{plan}");
    };
    let lists = [
        (include_str!("../src/store/sql/workloads_list.sql"), "(id<?)"),
        (
            include_str!("../src/store/sql/workloads_list_by_person.sql"),
            "workloads_by_person (submitted_by=? AND id<?)",
        ),
        (
            include_str!("../src/store/sql/workloads_list_by_state.sql"),
            "workloads_by_state (state=? AND id<?)",
        ),
        (
            include_str!("../src/store/sql/decisions_of_workload.sql"),
            "decisions_by_workload (workload_id=? AND id<?)",
        ),
    ];
    for (statement, search) in lists {
        check(&mut db, statement, search).await;
    }
}

#[tokio::test]
async fn an_answer_is_kept_under_a_person_s_key() {
    let fresh = Fresh::furnished().await;
    let mut db = fresh.store.write().await.unwrap();
    let rex: PersonId = "rex".parse().unwrap();
    let answer = AnswerRow {
        body_hash: "h".to_owned(),
        status: Some(201),
        response: Some("{}".to_owned()),
    };
    assert_eq!(idempotency::find(&mut db, &rex, "k").await.unwrap(), None);
    idempotency::insert(&mut db, &rex, "k", &answer, Timestamp(1))
        .await
        .unwrap();
    assert_eq!(
        idempotency::find(&mut db, &rex, "k").await.unwrap(),
        Some(answer.clone())
    );
    assert_eq!(
        idempotency::find(&mut db, &"ivy".parse().unwrap(), "k")
            .await
            .unwrap(),
        None
    );
    assert!(
        idempotency::insert(&mut db, &rex, "k", &answer, Timestamp(1))
            .await
            .is_err()
    );
}

fn record(id: Id, expires: i64) -> Record {
    Record {
        id,
        data: std::iter::once(("person".to_owned(), serde_json::json!("rex"))).collect(),
        expiry_date: time::OffsetDateTime::from_unix_timestamp(expires).unwrap(),
    }
}

#[tokio::test]
async fn a_session_is_found_by_its_id_until_it_runs_out_and_its_id_is_not_stored() {
    let fresh = Fresh::empty().await;
    let clock = Arc::new(ManualClock::at(Timestamp(1_000)));
    let sessions = Sessions::new(fresh.store.clone(), clock.clone());
    let mut first = record(Id(7), 2_000);
    sessions.create(&mut first).await.unwrap();
    assert_eq!(first.id, Id(7));
    let mut second = record(Id(7), 3_000);
    sessions.create(&mut second).await.unwrap();
    assert_ne!(second.id, Id(7), "two sessions never share an id");
    assert_eq!(sessions.load(&Id(7)).await.unwrap(), Some(first.clone()));
    first.data.clear();
    sessions.save(&first).await.unwrap();
    assert_eq!(sessions.load(&Id(7)).await.unwrap(), Some(first));
    let mut db = fresh.store.read().await.unwrap();
    let stored: Vec<String> = sqlx::query_scalar("SELECT id_hash FROM sessions")
        .fetch_all(&mut *db)
        .await
        .unwrap();
    assert!(
        stored
            .iter()
            .all(|hash| hash.len() == 64 && *hash != Id(7).to_string())
    );
    drop(db);
    clock.set(Timestamp(2_000));
    assert_eq!(sessions.load(&Id(7)).await.unwrap(), None);
    assert_eq!(sessions.delete_expired().await.unwrap(), 1);
    sessions.delete(&second.id).await.unwrap();
    assert_eq!(sessions.load(&second.id).await.unwrap(), None);
}
