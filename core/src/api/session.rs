//! Who is signed in, and what every page shows around its content.

use serde::{Deserialize, Serialize};

use super::Time;
use crate::id::{NodeId, PeriodId, PersonId, PoolId};

/// What a person may do at a node and below it. *Source*: ledger, section 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sees the tree, shares and standing.
    Viewer,
    /// Submits and cancels own workloads.
    Researcher,
    /// Allocates, moves and decides below the node.
    Manager,
    /// Approves drains.
    OnCall,
    /// Reads the ledger and the audit log.
    Auditor,
    /// Submits and cancels within its scope.
    Service,
    /// Pools, calendar, imports, settings; no hours.
    PlatformAdmin,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 7] = [
        Self::Viewer,
        Self::Researcher,
        Self::Manager,
        Self::OnCall,
        Self::Auditor,
        Self::Service,
        Self::PlatformAdmin,
    ];

    /// The word on the screens.
    pub fn label(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Researcher => "researcher",
            Self::Manager => "manager",
            Self::OnCall => "on-call",
            Self::Auditor => "auditor",
            Self::Service => "service",
            Self::PlatformAdmin => "operator",
        }
    }
}

/// One role of one person at one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RoleGrant {
    /// The role.
    pub role: Role,
    /// The node it covers, with everything below.
    pub node: NodeId,
    /// The node's name.
    pub node_name: String,
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
    /// The person.
    pub person: PersonId,
    /// Their name.
    pub name: String,
    /// Their roles.
    pub roles: Vec<RoleGrant>,
}

/// A pool in the picker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PoolOption {
    /// The pool.
    pub id: PoolId,
    /// All its GPUs.
    pub gpus: u32,
    /// Its hosts.
    pub hosts: u32,
}

/// A period in the picker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PeriodOption {
    /// The period.
    pub id: PeriodId,
    /// Its first instant.
    pub starts: Time,
    /// The first instant after it.
    pub ends: Time,
    /// Whether it is the one of now.
    pub current: bool,
}

/// What surrounds every page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Shell {
    /// The instant that everything on the page is true for.
    pub as_of: Time,
    /// The IANA zone in which times are shown.
    pub zone: String,
    /// The zone's short name at that instant, such as `PDT`.
    pub zone_short: String,
    /// How many seconds of the shown clock pass in a second; 1 in production.
    pub speed: u32,
    /// Who is signed in.
    pub me: Option<Me>,
    /// Pools to choose from.
    pub pools: Vec<PoolOption>,
    /// Periods to choose from, newest first.
    pub periods: Vec<PeriodOption>,
    /// The chosen pool.
    pub pool: PoolId,
    /// The chosen period.
    pub period: PeriodId,
    /// How many workloads are queued in the pool.
    pub queued: u64,
}
