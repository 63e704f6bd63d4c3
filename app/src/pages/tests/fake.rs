//! A backend that answers from values, so that pages are tested as the server renders them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use stint_core::api::budgets::{BudgetRow, BudgetTree};
use stint_core::api::fleet::{HostList, HostRow, HostRun, HostState, PoolView};
use stint_core::api::org::{NodeList, NodeView};
use stint_core::api::queue::{QueuePage, QueueQuery, QueueRow, StandingAt, Why};
use stint_core::api::session::{Me, PeriodOption, PoolOption, Role, RoleGrant, Shell};
use stint_core::api::standing::{StandingQuery, StandingRow, StandingView};
use stint_core::api::workloads::{LogEntry, RunView, WorkloadPage, WorkloadQuery, WorkloadRow, WorkloadView};
use stint_core::api::{Code, Problem, Time};
use stint_core::id::{PeriodId, PoolId, RunId, WorkloadId};
use stint_core::org::NodeKind;
use stint_core::sched::contract::{AfterPreemption, EndCause, Fallback, Then, Topology, WorkloadState};
use stint_core::sched::reason::ReasonCode;
use stint_core::units::{Fraction, GpuSeconds, HOUR_S, MilliGpus, Timestamp};

use crate::backend::{Backend, RefusedForm};

/// A name that does harm wherever it is taken for markup.
pub(super) const HOSTILE: &str = "</title><img src=x onerror=\"alert('1')\">";

pub(super) const NOW_S: i64 = 1_794_922_326;

pub(super) fn at(after_now_s: i64) -> Time {
    Time::new(Timestamp(NOW_S + after_now_s), 3_600).unwrap()
}

pub(super) fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().unwrap()
}

pub(super) fn hours(hours: i64) -> GpuSeconds {
    GpuSeconds(hours * HOUR_S)
}

/// What the fake answers; tests change what they are about.
#[derive(Clone)]
pub(super) struct Fake {
    pub(super) me: Option<Me>,
    pub(super) speed: u32,
    pub(super) queue: Result<QueuePage, Problem>,
    pub(super) mine: Vec<WorkloadRow>,
    pub(super) workload: Option<WorkloadView>,
    pub(super) standing: Vec<StandingRow>,
    pub(super) budgets: Vec<BudgetRow>,
    pub(super) hosts: Vec<HostRow>,
    pub(super) refused: Option<RefusedForm>,
    pub(super) people: Vec<Me>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            me: Some(person("mk", Role::Manager)),
            speed: 600,
            queue: Ok(queue_page(vec![queue_row(1), queue_row(2)], 0, 2)),
            mine: vec![
                workload_row(WorkloadState::Protected),
                workload_row(WorkloadState::Queued),
            ],
            workload: Some(workload()),
            standing: standing_rows(),
            budgets: budget_rows(),
            hosts: vec![host()],
            refused: None,
            people: vec![person("mk", Role::Manager), person("ana", Role::Researcher)],
        }
    }
}

impl Fake {
    pub(super) fn shared(self) -> Arc<dyn Backend> {
        Arc::new(self)
    }
}

#[async_trait]
impl Backend for Fake {
    async fn shell(&self, pool: Option<PoolId>, _period: Option<PeriodId>) -> Result<Shell, Problem> {
        if pool.is_some_and(|pool| pool.as_str() != "gpu") {
            return Err(Problem::new(Code::NotFound, "There is no such pool."));
        }
        Ok(Shell {
            as_of: at(0),
            zone: "Europe/Berlin".to_owned(),
            zone_short: "CET".to_owned(),
            speed: self.speed,
            me: self.me.clone(),
            pools: vec![PoolOption {
                id: id("gpu"),
                gpus: 256,
                hosts: 32,
            }],
            periods: vec![period()],
            pool: id("gpu"),
            period: id("2026-Q4"),
            queued: 843,
        })
    }

    async fn queue(&self, query: QueueQuery) -> Result<QueuePage, Problem> {
        self.shell(query.pool, None).await?;
        self.queue.clone()
    }

    async fn workloads(&self, _query: WorkloadQuery) -> Result<WorkloadPage, Problem> {
        Ok(WorkloadPage {
            as_of: at(0),
            rows: self.mine.clone(),
            next: None,
        })
    }

    async fn workload(&self, asked: WorkloadId) -> Result<WorkloadView, Problem> {
        let found = self.workload.clone().filter(|workload| workload.row.id == asked);
        found.ok_or_else(|| Problem::new(Code::NotFound, format!("There is no workload {asked}.")))
    }

    async fn standing(&self, _query: StandingQuery) -> Result<StandingView, Problem> {
        Ok(StandingView {
            as_of: at(0),
            pool: id("gpu"),
            window_s: 7 * 86_400,
            covered_s: 7 * 86_400,
            horizon_s: 8 * HOUR_S,
            gpus: 256,
            rows: self.standing.clone(),
            delivered_over_owed: Fraction { num: 983, den: 1_000 },
            teams_served: (1, 2),
        })
    }

    async fn budgets(&self, period_id: PeriodId, _pool: Option<PoolId>) -> Result<BudgetTree, Problem> {
        if period_id.as_str() != "2026-Q4" {
            return Err(Problem::new(
                Code::NotFound,
                format!("There is no period {period_id}."),
            ));
        }
        Ok(BudgetTree {
            as_of: at(0),
            period: period(),
            pool: id("gpu"),
            zone: "Europe/Berlin".to_owned(),
            period_hours: 2_209,
            passed_s: 1_000 * HOUR_S,
            hosts: 32,
            gpus: 256,
            reserve_bp: 300,
            capacity_gpu_seconds: hours(548_538),
            rows: self.budgets.clone(),
        })
    }

    async fn hosts(&self, _pool: Option<PoolId>) -> Result<HostList, Problem> {
        Ok(HostList {
            as_of: at(0),
            pool: id("gpu"),
            hosts: self.hosts.clone(),
        })
    }

    async fn pool(&self, _pool: Option<PoolId>) -> Result<PoolView, Problem> {
        Ok(PoolView {
            as_of: at(0),
            pool: id("gpu"),
            gpus: 256,
            healthy_gpus: 250,
            protected_gpus: 150,
            interruptible_gpus: 60,
            unallocated_gpus: 30,
            delivered_over_owed: Fraction { num: 0, den: 0 },
            queued: 843,
            asked_gpus: 5_000,
        })
    }

    async fn nodes(&self) -> Result<NodeList, Problem> {
        let node = |node: &str, parent: Option<&str>, name: &str, path: &[&str]| NodeView {
            id: id(node),
            parent: parent.map(id),
            kind: NodeKind::Team,
            name: name.to_owned(),
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            depth: 0,
            children: 0,
        };
        Ok(NodeList {
            nodes: vec![
                node("institute", None, "Institute", &["Institute"]),
                node("vision", Some("institute"), HOSTILE, &["Institute", HOSTILE]),
            ],
            next: None,
        })
    }

    async fn sign_in_choices(&self) -> Result<Vec<Me>, Problem> {
        Ok(self.people.clone())
    }

    async fn refused_form(&self, _id: String) -> Result<Option<RefusedForm>, Problem> {
        Ok(self.refused.clone())
    }
}

pub(super) fn person(name: &str, role: Role) -> Me {
    Me {
        person: id(name),
        name: name.to_owned(),
        roles: vec![RoleGrant {
            role,
            node: id("vision"),
            node_name: HOSTILE.to_owned(),
        }],
    }
}

fn period() -> PeriodOption {
    PeriodOption {
        id: id("2026-Q4"),
        starts: at(-1_000 * HOUR_S),
        ends: at(1_209 * HOUR_S),
        current: true,
    }
}

pub(super) fn queue_row(place: u32) -> QueueRow {
    let standing = |node: &str, standing: &str| StandingAt {
        node: id(node),
        standing: standing.to_owned(),
    };
    QueueRow {
        place,
        id: WorkloadId(48_000 + u64::from(place)),
        name: (place != 2).then(|| HOSTILE.to_owned()),
        node: id("vision"),
        node_name: HOSTILE.to_owned(),
        hue: 3,
        submitted_by: None,
        gpus: 64,
        hosts: 8,
        min_runtime_s: 8 * HOUR_S,
        priority: 0,
        submitted: at(-5_760),
        waiting_s: 5_760,
        starts: 1,
        standings: vec![standing("perception", "0.892"), standing("vision", "0.830")],
        state: WorkloadState::Queued,
        why: Why {
            code: ReasonCode::Order,
            sentence: format!("{HOSTILE} (0.741) goes before Perception (0.921)."),
        },
        latest_start: (place == 1).then(|| at(3_600)),
        mine: place == 1,
    }
}

pub(super) fn queue_page(rows: Vec<QueueRow>, before: u64, matching: u64) -> QueuePage {
    QueuePage {
        as_of: at(0),
        pool: id("gpu"),
        version: 7,
        next: (before + (rows.len() as u64) < matching).then(|| "after-this".to_owned()),
        rows,
        matching,
        before,
        queued: matching,
        queued_mine: 1,
        asked_gpus: 792,
        free_gpus: 9,
        pinned_gpus: 8,
    }
}

pub(super) fn workload_row(state: WorkloadState) -> WorkloadRow {
    WorkloadRow {
        id: WorkloadId(48_213),
        name: Some(HOSTILE.to_owned()),
        pool: id("gpu"),
        node: id("vision"),
        node_name: HOSTILE.to_owned(),
        hue: 3,
        submitted_by: Some(id("mk")),
        gpus: 32,
        hosts: 4,
        min_runtime_s: 8 * HOUR_S,
        submitted: at(-20 * HOUR_S),
        state,
        place: (state == WorkloadState::Queued).then_some(9),
        why: Some(Why {
            code: ReasonCode::ProtectedUntil,
            sentence: "Needs 4 hosts; 3 free.".to_owned(),
        }),
        protected_until: (state == WorkloadState::Protected).then(|| at(5_340)),
        latest_start: None,
    }
}

fn workload() -> WorkloadView {
    let run = |number, from_h, until_h, ended: Option<(i64, EndCause)>| RunView {
        id: RunId(u64::from(number)),
        number,
        assigned: Some(at(from_h * HOUR_S)),
        running: Some(at(from_h * HOUR_S + 180)),
        protected_until: Some(at(until_h * HOUR_S)),
        ended: ended.map(|(h, _)| at(h * HOUR_S)),
        cause: ended.map(|(_, cause)| cause),
        hosts: vec![(id("gpu-a01"), vec![0, 1])],
        charged_gpu_seconds: hours(210),
        allocated: true,
        preemption: ended.map(|_| "Preempted for w-1: its protection had passed.".to_owned()),
    };
    WorkloadView {
        as_of: at(0),
        row: workload_row(WorkloadState::Protected),
        path: vec!["Institute".to_owned(), HOSTILE.to_owned()],
        standings: vec![StandingAt {
            node: id("vision"),
            standing: "0.830".to_owned(),
        }],
        priority: 0,
        after_preemption: AfterPreemption::Requeue,
        then: Then::Charged,
        fallback: Fallback::Wait,
        grace_s: 120,
        topology: Topology::SameBlock,
        external_id: Some(HOSTILE.to_owned()),
        runs: vec![
            run(1, -19, -11, Some((-8, EndCause::Preempted))),
            run(2, -6, 2, None),
        ],
        log: vec![LogEntry {
            at: at(-60),
            what: "started".to_owned(),
            sentence: HOSTILE.to_owned(),
        }],
        charged_gpu_seconds: hours(816),
        held_gpu_seconds: hours(47),
        may_cancel: true,
    }
}

pub(super) fn standing_row(node: &str, parent: Option<&str>, depth: u32, used_milli: i64) -> StandingRow {
    StandingRow {
        node: id(node),
        parent: parent.map(id),
        name: if node == "vision" {
            HOSTILE.to_owned()
        } else {
            node.to_owned()
        },
        kind: NodeKind::Team,
        depth,
        hue: 3,
        share: Fraction { num: 1, den: 4 },
        rate_milli_gpus: MilliGpus(64_000),
        owed_gpu_seconds: hours(1_000),
        delivered_gpu_seconds: hours(948),
        held_gpu_seconds: hours(10),
        allocated_gpu_seconds: hours(1_200),
        delivered_over_owed: Fraction { num: 948, den: 1_000 },
        standing: Some(Fraction {
            num: used_milli,
            den: 1_000,
        }),
        standing_text: Fraction {
            num: used_milli,
            den: 1_000,
        }
        .text(3)
        .unwrap(),
        rank: 1,
        of: 2,
        queued: 4,
        held_gpus: 8,
        mine: node == "vision",
    }
}

fn standing_rows() -> Vec<StandingRow> {
    vec![
        standing_row("institute", None, 0, 900),
        standing_row("perception", Some("institute"), 1, 752),
        standing_row("vision", Some("perception"), 2, 830),
        standing_row("audio", Some("perception"), 2, 1_060),
        standing_row("language", Some("institute"), 1, 986),
    ]
}

pub(super) fn budget_row(node: &str, parent: Option<&str>, depth: u32, granted: i64) -> BudgetRow {
    let own = if node == "institute" || node == "perception" {
        granted / 10
    } else {
        granted
    };
    BudgetRow {
        node: id(node),
        parent: parent.map(id),
        name: if node == "vision" {
            HOSTILE.to_owned()
        } else {
            node.to_owned()
        },
        kind: NodeKind::Team,
        depth,
        children: u32::from(node == "institute") * 2 + u32::from(node == "perception") * 2,
        granted_gpu_seconds: hours(granted),
        own_gpu_seconds: hours(own),
        accrued_gpu_seconds: hours(granted / 4),
        own_accrued_gpu_seconds: hours(own / 4),
        charged_gpu_seconds: hours(granted / 5),
        own_charged_gpu_seconds: hours(own / 5),
        held_gpu_seconds: hours(granted / 100),
        own_held_gpu_seconds: hours(own / 100),
        left_gpu_seconds: hours(granted - granted / 5 - granted / 100),
        movable_gpu_seconds: hours(own - own / 4),
        rate_gpus: Fraction {
            num: granted - granted / 4,
            den: 1_209,
        },
        used_ratio: (granted > 0).then_some(Fraction { num: 1, den: 5 }),
        forecast_gpu_seconds: Some(hours(granted / 2)),
        version: 1,
        may_move: depth > 0,
        mine: node == "vision",
    }
}

fn budget_rows() -> Vec<BudgetRow> {
    vec![
        budget_row("institute", None, 0, 100_000),
        budget_row("perception", Some("institute"), 1, 60_000),
        budget_row("vision", Some("perception"), 2, 17_000),
        budget_row("audio", Some("perception"), 2, 5_200),
        budget_row("language", Some("institute"), 1, 0),
    ]
}

fn host() -> HostRow {
    let run = |run: u64, gpus: &[u8], state| HostRun {
        run: RunId(run),
        workload: WorkloadId(48_000 + run),
        name: Some(HOSTILE.to_owned()),
        node: id("vision"),
        node_name: HOSTILE.to_owned(),
        hue: 3,
        gpus: gpus.to_vec(),
        state,
        protected_until: Some(at(600)),
    };
    HostRow {
        id: id("gpu-a01"),
        block: id("a"),
        gpus: 8,
        free: 2,
        state: HostState::Up,
        runs: vec![
            run(1, &[0, 1, 2, 3], WorkloadState::Protected),
            run(2, &[4, 5], WorkloadState::Interruptible),
        ],
    }
}

/// A move that was refused, with what had been typed.
pub(super) fn refused_move() -> RefusedForm {
    let typed = [
        ("from", "vision"),
        ("to", "audio"),
        ("hours", "99999.00"),
        ("reason", HOSTILE),
    ];
    RefusedForm {
        problem: Problem::new(
            Code::BudgetInsufficient,
            "vision can give at most 12,750.00 GPU-h.",
        ),
        fields: typed
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
    }
}
