//! Reasons as data, and the one place where they become sentences.
//!
//! A reason holds the numbers as they were when it was given: standings as whole-number terms, ids, needs and
//! haves. The sentence is made from it here and nowhere else. *Source*: policy, section 11.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::contract::Shape;
use crate::id::{BlockId, HostId, NodeId, RunId, WorkloadId};
use crate::standing::Standing;
use crate::units::{GpuSeconds, Gpus, Seconds, Timestamp};

/// What kind of thing a workload waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Others come first.
    Order,
    /// The node's funds don't cover the hold.
    Funds,
    /// The pool could never hold this shape.
    ShapeImpossible,
    /// Enough GPUs, but not together.
    Topology,
    /// What it needs is protected, or can't be taken from those who have it.
    ProtectedUntil,
    /// Hosts are reserved for another workload.
    ReservedForOther,
    /// Its owner holds it back.
    HeldByUser,
    /// It failed to launch too often.
    LaunchFailures,
    /// Hosts are draining.
    Draining,
    /// It starts when others have left.
    StartingAfterVictims,
    /// It was submitted after the last pass.
    NextPass,
}

impl ReasonCode {
    /// Every code.
    pub const ALL: [Self; 11] = [
        Self::Order,
        Self::Funds,
        Self::ShapeImpossible,
        Self::Topology,
        Self::ProtectedUntil,
        Self::ReservedForOther,
        Self::HeldByUser,
        Self::LaunchFailures,
        Self::Draining,
        Self::StartingAfterVictims,
        Self::NextPass,
    ];

    /// A few words for filters and chips.
    pub fn label(self) -> &'static str {
        match self {
            Self::Order => "Others come first",
            Self::Funds => "Waits for funds",
            Self::ShapeImpossible => "Can never fit",
            Self::Topology => "Not enough together",
            Self::ProtectedUntil => "GPUs are protected",
            Self::ReservedForOther => "Reserved for another",
            Self::HeldByUser => "Held by owner",
            Self::LaunchFailures => "Launches failed",
            Self::Draining => "Hosts are draining",
            Self::StartingAfterVictims => "Starts when others leave",
            Self::NextPass => "Just submitted",
        }
    }
}

/// One of two sides that compete below a common node, with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Its standing at that moment.
    pub standing: Standing,
}

/// The level where two paths part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parting {
    /// The name of the common node.
    pub under: String,
    /// The side that goes first.
    pub first: Side,
    /// The side that goes second.
    pub second: Side,
}

/// What a shape found when it was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Have {
    /// Hosts with enough free GPUs.
    pub hosts: u32,
    /// The most free GPUs on one host.
    pub most_free: u32,
    /// The host that has them.
    pub on: Option<HostId>,
    /// All free GPUs.
    pub free: Gpus,
}

/// Why a workload waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// Another workload of the same node comes first.
    Order {
        /// What it needs.
        need: Shape,
        /// What there is.
        have: Have,
        /// Who is just ahead.
        ahead: WorkloadId,
        /// Where the paths part; absent when both are charged to the same node.
        parting: Option<Parting>,
        /// Whether the order is that of unallocated work: least unallocated time per rate first.
        unallocated: Option<UnallocatedOrder>,
    },
    /// The node's funds don't cover the hold, and the workload would rather wait.
    Funds {
        /// The node.
        node: NodeId,
        /// What a start would hold.
        needed: GpuSeconds,
        /// What is left.
        left: GpuSeconds,
    },
    /// The pool could never hold this shape.
    ShapeImpossible {
        /// What it needs.
        need: Shape,
        /// Hosts that are large enough.
        hosts: u32,
    },
    /// Enough hosts are free, but not in one block.
    Topology {
        /// What it needs.
        need: Shape,
        /// Free hosts by block.
        blocks: Vec<(BlockId, u32)>,
    },
    /// It comes first, but nothing it needs is free or may be taken.
    ProtectedUntil {
        /// What it needs.
        need: Shape,
        /// What there is.
        have: Have,
        /// When the next protection passes on a host that would do, and which.
        next: Option<(Timestamp, HostId)>,
        /// The side past its protection that stands lower, where that is what is in the way.
        poorer: Option<Parting>,
    },
    /// Its owner holds it back.
    HeldByUser {
        /// Since when.
        since: Timestamp,
    },
    /// It failed to launch too often.
    LaunchFailures {
        /// How often.
        count: u32,
    },
    /// It starts when others have left.
    StartingAfterVictims {
        /// Its hosts.
        hosts: Vec<HostId>,
        /// The runs that are leaving.
        victims: Vec<RunId>,
        /// When the last of them is gone at the latest.
        by: Timestamp,
    },
    /// It was submitted after the last pass.
    NextPass,
}

/// The order of unallocated work: unallocated time per rate, least first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnallocatedOrder {
    /// The node of this workload.
    pub node: NodeId,
    /// Unallocated time in the look-back.
    pub used: GpuSeconds,
}

impl Reason {
    /// The kind of reason.
    pub fn code(&self) -> ReasonCode {
        match self {
            Self::Order { .. } => ReasonCode::Order,
            Self::Funds { .. } => ReasonCode::Funds,
            Self::ShapeImpossible { .. } => ReasonCode::ShapeImpossible,
            Self::Topology { .. } => ReasonCode::Topology,
            Self::ProtectedUntil { .. } => ReasonCode::ProtectedUntil,
            Self::HeldByUser { .. } => ReasonCode::HeldByUser,
            Self::LaunchFailures { .. } => ReasonCode::LaunchFailures,
            Self::StartingAfterVictims { .. } => ReasonCode::StartingAfterVictims,
            Self::NextPass => ReasonCode::NextPass,
        }
    }

    /// The sentence people read. `clock` turns an instant into the pool's local time.
    pub fn sentence(&self, clock: &dyn Fn(Timestamp) -> String) -> String {
        match self {
            Self::Order {
                need,
                have,
                ahead,
                parting,
                unallocated,
            } => match (parting, unallocated) {
                (_, Some(order)) => format!(
                    "Unallocated: after all allocated work and {ahead}; {} used {} unallocated GPU-h.",
                    order.node,
                    order.used.hours_text_to(1)
                ),
                (Some(parting), None) => parting_sentence(parting, "goes before"),
                (None, None) => format!("Behind {ahead} of the same team; {}", need_and_have(*need, have)),
            },
            Self::Funds { node, needed, left } => format!(
                "Needs {} GPU-h to be held; {node} has {} left, and its fallback is to wait.",
                needed.hours_text(),
                left.hours_text()
            ),
            Self::ShapeImpossible { need, hosts } => format!(
                "Needs {}; the pool has {hosts} such {}.",
                shape_words(*need),
                if *hosts == 1 { "host" } else { "hosts" }
            ),
            Self::Topology { need, blocks } => topology_sentence(*need, blocks),
            Self::ProtectedUntil {
                need,
                have,
                next,
                poorer,
            } => {
                let mut text = capitalised(&need_and_have(*need, have));
                if let Some((at, host)) = next {
                    let _ = write!(
                        text,
                        " The next protection there passes at {} on {host}.",
                        clock(*at)
                    );
                }
                if let Some(parting) = poorer {
                    let _ = write!(text, " {}", parting_sentence(parting, "keeps its GPUs from"));
                }
                text
            }
            Self::HeldByUser { since } => format!("Held by its owner since {}.", clock(*since)),
            Self::LaunchFailures { count } => {
                format!("{count} launches failed; held until its owner changes it.")
            }
            Self::StartingAfterVictims { hosts, victims, by } => {
                let hosts: Vec<&str> = hosts.iter().map(HostId::as_str).collect();
                let victims: Vec<String> = victims.iter().map(RunId::to_string).collect();
                format!(
                    "Starts on {} when {} {} left, by {} at the latest.",
                    hosts.join(", "),
                    victims.join(", "),
                    if victims.len() == 1 { "has" } else { "have" },
                    clock(*by)
                )
            }
            Self::NextPass => "Just submitted; the next pass considers it.".to_owned(),
        }
    }
}

fn parting_sentence(parting: &Parting, verb: &str) -> String {
    let Parting { under, first, second } = parting;
    format!(
        "{} ({}) {verb} {} ({}), both under {under}.",
        first.name,
        first.standing.text(),
        second.name,
        second.standing.text()
    )
}

fn topology_sentence(need: Shape, blocks: &[(BlockId, u32)]) -> String {
    let blocks: Vec<String> = blocks
        .iter()
        .map(|(block, free)| format!("{block} has {free}"))
        .collect();
    format!("Needs {} in one block; {}.", shape_words(need), blocks.join(", "))
}

fn shape_words(need: Shape) -> String {
    let gpus = |n: u32| format!("{n} {}", if n == 1 { "GPU" } else { "GPUs" });
    match need.hosts {
        1 => format!("{} on one host", gpus(need.gpus_per_host)),
        hosts => format!("{hosts} hosts of {}", gpus(need.gpus_per_host)),
    }
}

fn need_and_have(need: Shape, have: &Have) -> String {
    let words = shape_words(need);
    match (need.hosts, &have.on) {
        (1, Some(host)) => format!("needs {words}; the most free is {}, on {host}.", have.most_free),
        (1, None) => format!("needs {words}; none is free."),
        _ => format!("needs {words}; {} free.", have.hosts),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Which rule of displacement applied. *Source*: policy, section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The victim was unallocated.
    Unallocated,
    /// The victim's protection had passed and its side stood higher by more than the margin.
    Standing,
    /// Same node, protection passed, lower priority.
    Priority,
}

/// Why a run was preempted, with the numbers frozen at that moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preemption {
    /// The workload that starts thanks to it.
    pub preemptor: WorkloadId,
    /// The rule that allowed it.
    pub rule: Rule,
    /// Where the paths part: the preemptor's side first. Absent when both are charged to the same node.
    pub parting: Option<Parting>,
    /// The margin in thousandths.
    pub margin_milli: i64,
    /// For how long the victim had been running.
    pub ran: Seconds,
    /// GPU time since its last checkpoint or its start.
    pub lost: GpuSeconds,
}

impl Preemption {
    /// The sentence people read.
    pub fn sentence(&self) -> String {
        let why = match (self.rule, &self.parting) {
            (Rule::Unallocated, _) => "it was unallocated, and allocated work needed its GPUs".to_owned(),
            (Rule::Priority, _) => {
                "its protection had passed and the other has the higher priority".to_owned()
            }
            (Rule::Standing, Some(parting)) => {
                let text = parting_sentence(parting, "goes before");
                format!("its protection had passed, and {}", text.trim_end_matches('.'))
            }
            (Rule::Standing, None) => "its protection had passed".to_owned(),
        };
        format!(
            "Preempted for {} after {}: {why}. {} GPU-h lost.",
            self.preemptor,
            self.ran,
            self.lost.hours_text()
        )
    }
}
