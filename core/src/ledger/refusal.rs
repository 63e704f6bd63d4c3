//! Why the ledger refuses, with the numbers that failed.

use super::rule::{NodeRef, Used};
use super::transaction::CommandId;
use crate::api::{Code, Problem};
use crate::id::{NodeId, PeriodId};
use crate::units::{GpuSeconds, Timestamp};

/// Why a change of budgets is refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// There is no such node.
    #[error("there is no organisation node {0}")]
    UnknownNode(NodeId),
    /// Nothing, a negative amount, or more than any pool can hold. No number stands for "unlimited".
    #[error("an amount must be more than nothing and at most {} GPU-h, not {}", GpuSeconds::MAX_INPUT.hours_text(), .0.hours_text())]
    NotAnAmount(GpuSeconds),
    /// A grant that is negative or more than any pool can hold.
    #[error("{}: a grant must be from 0 to {} GPU-h, not {}", .node.name, GpuSeconds::MAX_INPUT.hours_text(), .asked.hours_text())]
    NotAGrant {
        /// The node.
        node: NodeRef,
        /// The grant that was asked for.
        asked: GpuSeconds,
    },
    /// From a node to itself.
    #[error("{} can't move hours to itself", .0.name)]
    SameNode(NodeRef),
    /// The grant is what it was asked to become.
    #[error("{} is granted {} GPU-h already", .node.name, .granted.hours_text())]
    Unchanged {
        /// The node.
        node: NodeRef,
        /// Its grant.
        granted: GpuSeconds,
    },
    /// The giving node can't move so much.
    #[error(
        "{} can still move {} GPU-h, not {}: of its own {}, {} have accrued and {} are charged or held",
        .node.name, .movable.hours_text(), .asked.hours_text(), .own.hours_text(), .accrued.hours_text(),
        (.used.charged + .used.held).hours_text()
    )]
    Insufficient {
        /// The node that gives.
        node: NodeRef,
        /// How much it was asked for.
        asked: GpuSeconds,
        /// How much it can still give.
        movable: GpuSeconds,
        /// Its own part.
        own: GpuSeconds,
        /// What of it has accrued.
        accrued: GpuSeconds,
        /// What work has used of it.
        used: Used,
    },
    /// The node above, or the pool, can't give so much.
    #[error("{} can still give {} GPU-h, not {}", above_name(.above.as_ref()), .available.hours_text(), .asked.hours_text())]
    ExceedsParent {
        /// The node above; the pool's capacity if there is none.
        above: Option<NodeRef>,
        /// How much was asked of it.
        asked: GpuSeconds,
        /// How much it can still give.
        available: GpuSeconds,
    },
    /// The grant would fall below what has accrued, or is charged, held or passed on.
    #[error(
        "{} can't have less than {} GPU-h: {} passed on; of its own part {} have accrued, {} are charged and {} held",
        .node.name, .least.hours_text(), .passed_on.hours_text(), .accrued.hours_text(), .used.charged.hours_text(),
        .used.held.hours_text()
    )]
    BelowCharged {
        /// The node.
        node: NodeRef,
        /// The grant that was asked for.
        asked: GpuSeconds,
        /// The least grant that it can have.
        least: GpuSeconds,
        /// Granted to the nodes below it.
        passed_on: GpuSeconds,
        /// What of its own part has accrued.
        accrued: GpuSeconds,
        /// What work has used of its own part.
        used: Used,
    },
    /// The period is over.
    #[error("{period} is over; nothing more is posted to it")]
    Closed {
        /// The period.
        period: PeriodId,
        /// Its end.
        ended: Timestamp,
    },
    /// Grants of a whole tree are only imported into an empty period.
    #[error("{period} has {} GPU-h granted already; change them one by one", .granted.hours_text())]
    NotEmpty {
        /// The period.
        period: PeriodId,
        /// What is granted.
        granted: GpuSeconds,
    },
    /// The command was used for another change.
    #[error("the command {0} was used for another change")]
    CommandReused(CommandId),
    /// The postings don't sum to zero.
    #[error("the postings sum to {0} GPU-seconds instead of zero")]
    Unbalanced(i128),
}

fn above_name(above: Option<&NodeRef>) -> &str {
    above.map_or("the pool's capacity", |node| &node.name)
}

impl LedgerError {
    /// The stable name of the problem.
    pub fn code(&self) -> Code {
        match self {
            Self::UnknownNode(_) => Code::NotFound,
            Self::NotAnAmount(_) | Self::NotAGrant { .. } | Self::SameNode(_) | Self::Unchanged { .. } => {
                Code::Validation
            }
            Self::Insufficient { .. } => Code::BudgetInsufficient,
            Self::ExceedsParent { .. } => Code::BudgetExceedsParent,
            Self::BelowCharged { .. } => Code::BudgetBelowCharged,
            Self::Closed { .. } => Code::PeriodClosed,
            Self::NotEmpty { .. } => Code::Conflict,
            Self::CommandReused(_) => Code::IdempotencyReused,
            Self::Unbalanced(_) => Code::Internal,
        }
    }

    /// The numbers that failed, by name.
    fn numbers(&self) -> Vec<(&'static str, i64)> {
        let used = |used: &Used| {
            [
                ("charged_gpu_seconds", used.charged.0),
                ("held_gpu_seconds", used.held.0),
            ]
        };
        match self {
            Self::Insufficient {
                asked,
                movable,
                own,
                accrued,
                used: work,
                ..
            } => [
                ("asked_gpu_seconds", asked.0),
                ("available_gpu_seconds", movable.0),
                ("own_gpu_seconds", own.0),
                ("accrued_gpu_seconds", accrued.0),
            ]
            .into_iter()
            .chain(used(work))
            .collect(),
            Self::ExceedsParent { asked, available, .. } => vec![
                ("asked_gpu_seconds", asked.0),
                ("available_gpu_seconds", available.0),
            ],
            Self::BelowCharged {
                asked,
                least,
                passed_on,
                accrued,
                used: work,
                ..
            } => [
                ("asked_gpu_seconds", asked.0),
                ("least_gpu_seconds", least.0),
                ("passed_on_gpu_seconds", passed_on.0),
                ("accrued_gpu_seconds", accrued.0),
            ]
            .into_iter()
            .chain(used(work))
            .collect(),
            Self::Closed { ended, .. } => vec![("ended_at", ended.0)],
            Self::NotAGrant { asked, .. } | Self::NotAnAmount(asked) => vec![("asked_gpu_seconds", asked.0)],
            Self::NotEmpty { granted, .. } | Self::Unchanged { granted, .. } => {
                vec![("granted_gpu_seconds", granted.0)]
            }
            Self::UnknownNode(_) | Self::SameNode(_) | Self::CommandReused(_) | Self::Unbalanced(_) => vec![],
        }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        error.numbers().into_iter().fold(
            Self::new(error.code(), error.to_string()),
            |problem, (name, value)| problem.with_number(name, value),
        )
    }
}
