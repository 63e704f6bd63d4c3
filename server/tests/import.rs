//! Imports: what is written, what is refused and leaves nothing behind, and what a second time changes.

#![expect(clippy::unwrap_used, reason = "a test ends where it can't go on")]

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};
use stint_core::api::Code;
use stint_core::id::{NodeId, PoolId};
use stint_core::input::layout;
use stint_core::input::trace::{BadRows, Bounds, Kind, TraceRow, read};
use stint_core::units::{DAY_S, Fraction, GpuSeconds, Gpus, HOUR_S, Seconds, Timestamp};
use stint_server::import::demo::{self, LEAD, setup_demo};
use stint_server::import::hosts::import_hosts;
use stint_server::import::org::import_org;
use stint_server::import::replay::next_arrivals;
use stint_server::import::trace::{Target, TraceReport, import_trace};
use stint_server::import::{Author, ImportError, Mode};
use stint_server::store::{Store, arrivals, ledger, nodes, people, periods, pools, workloads};

/// 2026-10-01 00:00 in Los Angeles: the beginning of 2026-Q4.
const QUARTER: Timestamp = Timestamp(1_790_838_000);

const HOSTS: &str = "[[pool]]\nid = \"h100\"\n[[hosts]]\npool = \"h100\"\nprefix = \"gpu\"\ncount = 4\ngpus = 8\nblock_size = 2\n";
const ORG: &str = "zone = \"America/Los_Angeles\"
[[node]]
id = \"lab\"
kind = \"organisation\"
name = \"Lab\"
[[node]]
id = \"robots\"
parent = \"lab\"
kind = \"team\"
name = \"Robots\"
weight = 3
[[node]]
id = \"vision\"
parent = \"lab\"
kind = \"team\"
name = \"Vision\"
weight = 1
[[person]]
id = \"mia\"
name = \"Mia\"
roles = [{ role = \"manager\", node = \"lab\" }]
";
const TRACE: &str = "id,submit_s,user,charged_to,gpus,duration_s\n\
    a,0,mia,robots,8,3600\nb,60,ben,vision,1,600\nc,7200,ben,vision,16,60\n";

struct Lab {
    store: Store,
    author: Author,
    _folder: tempfile::TempDir,
}

impl Lab {
    async fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await;
        let author = Author {
            person: "olga".parse().unwrap(),
            name: "Olga".to_owned(),
            at: QUARTER + Seconds(DAY_S),
        };
        Self {
            store,
            author,
            _folder: folder,
        }
    }

    async fn with_hosts() -> Self {
        let lab = Self::empty().await;
        import_hosts(&lab.store, &lab.author, HOSTS.as_bytes(), Mode::Apply)
            .await
            .unwrap();
        lab
    }

    async fn with_org() -> Self {
        let lab = Self::with_hosts().await;
        lab.org(ORG).await.unwrap();
        lab
    }

    async fn org(&self, text: &str) -> Result<stint_server::import::org::OrgReport, ImportError> {
        import_org(&self.store, &self.author, text.as_bytes(), None, Mode::Apply).await
    }

    async fn trace(&self, text: &str) -> Result<TraceReport, ImportError> {
        self.trace_as(text, BadRows::Skip, Mode::Apply).await
    }

    async fn trace_as(&self, text: &str, bad_rows: BadRows, mode: Mode) -> Result<TraceReport, ImportError> {
        let target = Target {
            pool: None,
            began: QUARTER,
            bad_rows,
        };
        import_trace(
            &self.store,
            &self.author,
            text.as_bytes(),
            &target,
            mode,
            &mut |_| {},
        )
        .await
    }

    /// Everything that imports write, for comparing before and after.
    async fn contents(&self) -> String {
        let mut db = self.store.read().await.unwrap();
        let pool: PoolId = "h100".parse().unwrap();
        let mut text = format!(
            "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
            nodes::all(&mut db).await.unwrap(),
            people::all(&mut db).await.unwrap(),
            pools::all(&mut db).await.unwrap(),
            pools::hosts(&mut db, &pool).await.unwrap(),
            periods::all(&mut db).await.unwrap(),
            arrivals::all(&mut db).await.unwrap(),
            workloads::list(&mut db, &workloads::Filter::default(), u32::MAX)
                .await
                .unwrap(),
        );
        for period in periods::all(&mut db).await.unwrap() {
            let transactions = ledger::transactions(&mut db, &pool, &period.id).await.unwrap();
            let balances = ledger::balances(&mut db, &pool, &period.id).await.unwrap();
            writeln!(text, "{transactions:?}\n{balances:?}").unwrap();
        }
        text
    }
}

async fn open(folder: &Path) -> Store {
    let store = Store::open(&folder.join("stint.db")).await.unwrap();
    store.migrate().await.unwrap();
    store
}

fn id(text: &str) -> NodeId {
    text.parse().unwrap()
}

#[tokio::test]
async fn weights_become_one_balanced_transaction_over_the_budgetable_capacity() {
    let lab = Lab::with_hosts().await;
    let report = lab.org(ORG).await.unwrap();
    let length = 2_209 * HOUR_S;
    let budgetable = GpuSeconds(32 * length * 97 / 100);
    let pool: PoolId = "h100".parse().unwrap();
    assert_eq!(report.granted[&pool], budgetable);
    assert_eq!(report.period_added.as_deref(), Some("2026-Q4"));
    let mut db = lab.store.read().await.unwrap();
    let period = periods::all(&mut db).await.unwrap().remove(0);
    assert_eq!((period.starts, period.length()), (QUARTER, Seconds(length)));
    let transactions = ledger::transactions(&mut db, &pool, &period.id).await.unwrap();
    assert_eq!(transactions.len(), 1);
    assert_eq!((transactions[0].sum(), transactions[0].effective), (0, QUARTER));
    let balances = ledger::balances(&mut db, &pool, &period.id).await.unwrap();
    let own: Vec<(&str, i64)> = balances
        .iter()
        .map(|row| (row.node.as_str(), row.own.get()))
        .collect();
    let quarter_of_it = budgetable.get() / 4;
    assert_eq!(
        own,
        [
            ("robots", budgetable.get() - quarter_of_it),
            ("vision", quarter_of_it)
        ]
    );
}

#[tokio::test]
async fn teams_get_colours_and_people_their_roles() {
    let lab = Lab::with_org().await;
    let mut db = lab.store.read().await.unwrap();
    let hues: Vec<(String, u8)> = nodes::all(&mut db)
        .await
        .unwrap()
        .into_iter()
        .map(|row| (row.id.to_string(), row.hue))
        .collect();
    assert!(hues.contains(&("lab".to_owned(), 0)));
    assert!(hues.contains(&("robots".to_owned(), 1)));
    assert!(hues.contains(&("vision".to_owned(), 2)));
    let mia = people::me(&mut db, &"mia".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(mia.roles[0].node, id("lab"));
}

#[tokio::test]
async fn importing_everything_twice_is_importing_it_once() {
    let lab = Lab::with_org().await;
    lab.trace(TRACE).await.unwrap();
    let before = lab.contents().await;
    let hosts = import_hosts(&lab.store, &lab.author, HOSTS.as_bytes(), Mode::Apply)
        .await
        .unwrap();
    assert_eq!((hosts.hosts_added, hosts.hosts_unchanged), (0, 4));
    let org = lab.org(ORG).await.unwrap();
    assert_eq!(
        (org.nodes_added, org.nodes_unchanged, org.granted.len()),
        (0, 3, 0)
    );
    let trace = lab.trace(TRACE).await.unwrap();
    assert_eq!((trace.added, trace.unchanged), (0, 3));
    assert_eq!(lab.contents().await, before);
}

#[tokio::test]
async fn a_row_that_was_submitted_meanwhile_is_not_imported_again() {
    let lab = Lab::with_org().await;
    lab.trace(TRACE).await.unwrap();
    let submitted = next_arrivals(&lab.store, QUARTER + Seconds(60), 100)
        .await
        .unwrap();
    assert_eq!(submitted.len(), 2);
    let before = lab.contents().await;
    let trace = lab.trace(TRACE).await.unwrap();
    assert_eq!((trace.added, trace.unchanged), (0, 3));
    assert_eq!(lab.contents().await, before);
    let other = TRACE.replace("a,0,mia,robots,8", "a,0,mia,robots,4");
    let error = lab.trace(&other).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "workload a is there already, with another number of GPUs on each host: 8, not 4"
    );
}

#[tokio::test]
async fn a_known_id_with_other_content_is_a_conflict_that_leaves_nothing_behind() {
    let lab = Lab::with_org().await;
    lab.trace(TRACE).await.unwrap();
    let before = lab.contents().await;
    let other = format!("{}d,9,cleo,vision,1,60\n", TRACE.replace("b,60,", "b,61,"));
    let error = lab.trace(&other).await.unwrap_err();
    assert_eq!(error.code(), Code::Conflict);
    assert!(
        error
            .to_string()
            .starts_with("workload b is there already, with another submit time"),
        "{error}"
    );
    let check = |text: String, want: &'static str| {
        let lab = &lab;
        async move {
            let error = lab.org(&text).await.unwrap_err().to_string();
            assert!(error.starts_with(want), "{error}");
        }
    };
    check(
        ORG.replace("name = \"Vision\"", "name = \"Sight\""),
        "node vision is there already, with another name: Vision, not Sight",
    )
    .await;
    check(
        ORG.replace("weight = 3", "weight = 4"),
        "Grants of 2026-Q4: node robots in pool h100 is there already, with another amount",
    )
    .await;
    check(
        ORG.replace("America/Los_Angeles", "UTC"),
        "period 2026-Q4 is there already, with another time zone",
    )
    .await;
    check(
        ORG.replace("name = \"Mia\"", "name = \"Mina\""),
        "person mia is there already, with another name: Mia, not Mina",
    )
    .await;
    check(
        ORG.replace(
            "id = \"robots\"\nparent = \"lab\"",
            "id = \"robots\"\nparent = \"vision\"",
        ),
        "node robots is there already, with another parent: lab, not vision",
    )
    .await;
    check(
        ORG.replace("\"lab\"", "\"other\"")
            .replace("robots", "r2")
            .replace("vision", "v2"),
        "the nodes and those already stored are no tree: nodes lab and other both have no parent",
    )
    .await;
    let hosts = HOSTS.replace("id = \"h100\"\n", "id = \"h100\"\ncap_s = 3600\n");
    let error = import_hosts(&lab.store, &lab.author, hosts.as_bytes(), Mode::Apply)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "pool h100 is there already, with another cap: 8 h, not 1 h"
    );
    assert_eq!(lab.contents().await, before);
}

#[tokio::test]
async fn a_broken_file_leaves_nothing_behind() {
    let lab = Lab::empty().await;
    let empty = lab.contents().await;
    let hosts =
        format!("{HOSTS}[[hosts]]\npool = \"h100\"\nprefix = \"x\"\ncount = 1\ngpus = 0\nblock_size = 1\n");
    let error = import_hosts(&lab.store, &lab.author, hosts.as_bytes(), Mode::Apply)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::Validation);
    assert!(error.to_string().starts_with("line 13, gpus: 0;"), "{error}");
    assert!(matches!(lab.org(ORG).await, Err(ImportError::NoPool)));
    assert_eq!(lab.contents().await, empty);

    let lab = Lab::with_hosts().await;
    let before = lab.contents().await;
    assert!(matches!(lab.trace(TRACE).await, Err(ImportError::NoOrganisation)));
    let cycle = ORG.replace(
        "kind = \"organisation\"\n",
        "kind = \"organisation\"\nparent = \"vision\"\n",
    );
    let error = lab.org(&cycle).await.unwrap_err();
    assert!(error.to_string().contains("is its own ancestor"), "{error}");
    let too_much = ORG
        .replace("weight = 3", "hours = 1000000")
        .replace("weight = 1", "hours = 1");
    let error = lab.org(&too_much).await.unwrap_err();
    assert_eq!(error.code(), Code::BudgetExceedsParent);
    let role = ORG.replace("node = \"lab\"", "node = \"elsewhere\"");
    assert!(lab.org(&role).await.is_err());
    assert_eq!(lab.contents().await, before);

    let lab = Lab::with_org().await;
    let before = lab.contents().await;
    let broken = format!("{TRACE}d,9,cleo,vision,0,60\n");
    let error = lab
        .trace_as(&broken, BadRows::Refuse, Mode::Apply)
        .await
        .unwrap_err();
    assert!(error.to_string().starts_with("line 5, gpus: \"0\";"), "{error}");
    assert_eq!(lab.contents().await, before);
}

#[tokio::test]
async fn bad_rows_are_reported_and_the_good_ones_kept() {
    let lab = Lab::with_org().await;
    let report = lab
        .trace(&format!("{TRACE}d,9,cleo,vision,64,60\n"))
        .await
        .unwrap();
    assert_eq!((report.added, report.skipped), (3, 1));
    assert_eq!(report.errors[0].line, Some(5));
    assert_eq!(report.people_added, 1);
    let mut db = lab.store.read().await.unwrap();
    let ben = people::me(&mut db, &"ben".parse().unwrap()).await.unwrap();
    assert!(ben.is_none(), "who is only known from a trace can't sign in");
}

#[tokio::test]
async fn a_dry_run_reports_and_changes_nothing() {
    let lab = Lab::empty().await;
    let empty = lab.contents().await;
    let hosts = import_hosts(&lab.store, &lab.author, HOSTS.as_bytes(), Mode::DryRun)
        .await
        .unwrap();
    assert_eq!(hosts.hosts_added, 4);
    assert_eq!(lab.contents().await, empty);
    let lab = Lab::with_org().await;
    let before = lab.contents().await;
    let report = lab.trace_as(TRACE, BadRows::Refuse, Mode::DryRun).await.unwrap();
    assert_eq!(report.added, 3);
    assert_eq!(lab.contents().await, before);
}

#[tokio::test]
async fn hours_are_granted_as_they_are_and_the_rest_stays_undistributed() {
    let lab = Lab::with_hosts().await;
    let hours = ORG
        .replace("name = \"Lab\"\n", "name = \"Lab\"\nhours = 100\n")
        .replace("weight = 3", "hours = 60.25")
        .replace("weight = 1", "hours = 10");
    lab.org(&hours).await.unwrap();
    let mut db = lab.store.read().await.unwrap();
    let pool: PoolId = "h100".parse().unwrap();
    let period = periods::all(&mut db).await.unwrap().remove(0);
    let balances = ledger::balances(&mut db, &pool, &period.id).await.unwrap();
    let own: Vec<(&str, String)> = balances
        .iter()
        .map(|row| (row.node.as_str(), row.own.hours_text()))
        .collect();
    assert_eq!(
        own,
        [
            ("lab", "29.75".to_owned()),
            ("robots", "60.25".to_owned()),
            ("vision", "10.00".to_owned())
        ]
    );
}

#[tokio::test]
async fn arrivals_are_submitted_once_when_they_are_due_in_the_order_of_their_times() {
    let lab = Lab::with_org().await;
    lab.trace(TRACE).await.unwrap();
    let before = next_arrivals(&lab.store, QUARTER - Seconds(1), 10).await.unwrap();
    assert!(before.is_empty());
    let first = next_arrivals(&lab.store, QUARTER + Seconds(HOUR_S), 1)
        .await
        .unwrap();
    let second = next_arrivals(&lab.store, QUARTER + Seconds(HOUR_S), 10)
        .await
        .unwrap();
    assert_eq!((first.len(), second.len()), (1, 1));
    let again = next_arrivals(&lab.store, QUARTER + Seconds(HOUR_S), 10)
        .await
        .unwrap();
    assert!(again.is_empty());
    let mut db = lab.store.read().await.unwrap();
    let row = workloads::find(&mut db, second[0]).await.unwrap().unwrap();
    assert_eq!(row.external_id.as_deref(), Some("b"));
    assert_eq!(row.submitted_at, QUARTER + Seconds(60));
    assert_eq!(row.simulated_runtime_s, Some(Seconds(600)));
    assert_eq!(arrivals::all(&mut db).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_arrival_whose_id_was_submitted_otherwise_is_dropped_and_not_doubled() {
    let lab = Lab::with_org().await;
    lab.trace(TRACE).await.unwrap();
    let mut db = lab.store.read().await.unwrap();
    let rows = arrivals::all(&mut db).await.unwrap();
    drop(db);
    next_arrivals(&lab.store, QUARTER, 10).await.unwrap();
    let mut db = lab.store.write().await.unwrap();
    arrivals::insert(&mut db, &rows[0]).await.unwrap();
    db.commit().await.unwrap();
    let again = next_arrivals(&lab.store, QUARTER, 10).await.unwrap();
    assert!(again.is_empty());
    let mut db = lab.store.read().await.unwrap();
    let all = workloads::list(&mut db, &workloads::Filter::default(), 10)
        .await
        .unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(arrivals::all(&mut db).await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_example_is_set_up_once_with_a_full_queue_from_before_the_quarter() {
    let lab = Lab::empty().await;
    assert_eq!(demo::period_start(QUARTER + Seconds(DAY_S)), Ok(QUARTER));
    let mut told = 0;
    let report = setup_demo(&lab.store, QUARTER, &mut |done| told = done)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((report.hosts.hosts_added, report.org.nodes_added), (32, 15));
    assert_eq!(
        (report.trace.added, report.trace.skipped, told),
        (45_470, 0, 45_470)
    );
    assert_eq!(report.trace.people_added, 0, "all who submit are in org.toml");
    assert_eq!(report.trace.warnings, Vec::<String>::new());
    assert!((800..=2_000).contains(&report.queued), "{}", report.queued);
    let mut db = lab.store.read().await.unwrap();
    let queued = workloads::list(&mut db, &workloads::Filter::default(), u32::MAX)
        .await
        .unwrap();
    assert_eq!(queued.len(), report.queued);
    let times = queued.iter().map(|row| row.submitted_at);
    assert!(times.clone().all(|at| (QUARTER - LEAD..QUARTER).contains(&at)));
    let to_come = arrivals::all(&mut db).await.unwrap();
    assert!(to_come.iter().all(|row| row.submit_at >= QUARTER));
    assert!(to_come.len() > 25_000, "{} to come", to_come.len());
    drop(db);
    let again = setup_demo(&lab.store, QUARTER, &mut |_| {}).await.unwrap();
    assert_eq!(again, None);
}

/// The example's trace, read as the simulator reads it.
fn example() -> Vec<TraceRow> {
    let org = layout::org::read(demo::ORG).unwrap();
    let hosts = layout::hosts::read(demo::HOSTS).unwrap();
    assert_eq!(org.zone, demo::ZONE);
    let bounds = Bounds {
        org: &org.org,
        limits: hosts.pools[0].limits(),
    };
    read(demo::TRACE, &bounds, BadRows::Refuse).unwrap().rows
}

#[test]
fn the_example_follows_the_rules_that_its_readme_states() {
    for row in example() {
        let digest = Sha256::digest(row.id.as_bytes());
        let gpus = row.shape.gpus().get();
        let want = match gpus {
            _ if digest[0].is_multiple_of(10) => (Kind::Sweep, 0),
            ..=8 if row.duration <= Seconds(900) => (Kind::Debug, 900),
            1 => (Kind::Small, HOUR_S),
            2..=4 => (Kind::Small, 2 * HOUR_S),
            5..=8 => (Kind::Small, 4 * HOUR_S),
            _ => (Kind::Mid, 8 * HOUR_S),
        };
        assert_eq!((row.kind, row.min_runtime.get()), want, "{}", row.id);
        assert_eq!(row.shape.hosts, gpus.div_ceil(8), "{}", row.id);
        let by_noor = row.charged_to == id("perception") && digest[1].is_multiple_of(16);
        assert_eq!(row.user.as_str() == "noor", by_noor, "{}", row.id);
    }
}

#[test]
fn the_example_asks_for_2_4_times_what_its_pool_supplies() {
    let span = Seconds(28 * DAY_S);
    let rows = example();
    assert!(rows.iter().all(|row| row.submit < span));
    let asked: GpuSeconds = rows.iter().map(|row| row.shape.gpus().over(row.duration)).sum();
    let supplied = Gpus(256).over(span);
    assert_eq!(
        Fraction::percent(asked.get(), supplied.get(), 0).as_deref(),
        Some("244")
    );
}
