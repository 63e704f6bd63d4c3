//! Who may do what where: the one table behind REST, server functions, the shell and the screens.
//!
//! A grant is a role at a node; it covers the subtree. Configuration and hours stay apart: whoever runs the platform
//! can't move hours, and whoever manages hours can't configure. A manager only ever changes how the grant of a node
//! they manage is divided below it, never how much that node has. What a person can't see answers as if it didn't
//! exist. The roles are asked for at each request, so a change counts from the next one. *Source*: ledger, section 6.

use serde::{Deserialize, Serialize};

use crate::api::session::{Role, RoleGrant};
use crate::org::{NodeIx, Org};

/// Everything that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// See the organisation, its budgets and shares.
    SeeTree,
    /// See standings.
    SeeStanding,
    /// See hosts and pools.
    SeeHosts,
    /// See the queue, with the names left out that [`Action::SeeWorkloadNames`] doesn't permit.
    SeeQueue,
    /// See a workload's name and page.
    SeeWorkloadNames,
    /// Submit a workload.
    Submit,
    /// Cancel a workload.
    Cancel,
    /// Move hours between two nodes.
    MoveHours,
    /// Set the grant of a node.
    SetBudget,
    /// Export the ledger.
    ExportLedger,
    /// Read the audit log and the findings on the ledger.
    ReadAudit,
    /// Import the organisation, grants or recorded demand.
    Import,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 12] = [
        Self::SeeTree,
        Self::SeeStanding,
        Self::SeeHosts,
        Self::SeeQueue,
        Self::SeeWorkloadNames,
        Self::Submit,
        Self::Cancel,
        Self::MoveHours,
        Self::SetBudget,
        Self::ExportLedger,
        Self::ReadAudit,
        Self::Import,
    ];
}

/// Whose workload it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The person who asks.
    Oneself,
    /// Somebody else, or nobody in particular.
    Another,
}

/// What an action is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// The nodes concerned: the one a workload is charged to, both sides of a move, the node whose grant is set.
    /// None when it is about the installation as a whole.
    pub nodes: &'a [NodeIx],
    /// Whose workload it is; [`Owner::Another`] where no workload is concerned.
    pub owner: Owner,
}

impl<'a> Position<'a> {
    /// About the installation as a whole: hosts, imports, a page of the queue.
    pub fn everywhere() -> Self {
        Self {
            nodes: &[],
            owner: Owner::Another,
        }
    }

    /// About nodes, and nobody's workload.
    pub fn at(nodes: &'a [NodeIx]) -> Self {
        Self {
            nodes,
            owner: Owner::Another,
        }
    }
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Go ahead.
    Allowed,
    /// The person may see it, but not do this: 403.
    Forbidden,
    /// The person may not even know that it is there: 404.
    Hidden,
}

/// How far a role reaches with an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Not at all.
    Nowhere,
    /// The whole organisation, wherever the role was granted.
    Everywhere,
    /// The node of the grant and everything below it.
    Subtree,
    /// One's own workloads in the subtree.
    OwnInSubtree,
    /// Nodes strictly below, whose grant comes out of a node of the subtree; the root where it is the node itself,
    /// because its grant comes out of capacity.
    Below,
    /// The whole installation, for roles granted at the root.
    AtRoot,
}

fn reach(role: Role, action: Action) -> Reach {
    use Role::{Auditor, Manager, OnCall, PlatformAdmin, Researcher, Service, Viewer};
    match action {
        Action::SeeTree | Action::SeeStanding => match role {
            Service => Reach::Subtree,
            Viewer | Researcher | Manager | OnCall | Auditor | PlatformAdmin => Reach::Everywhere,
        },
        Action::SeeHosts | Action::SeeQueue => Reach::Everywhere,
        Action::SeeWorkloadNames => match role {
            Viewer | Researcher | Manager | Service => Reach::Subtree,
            OnCall | Auditor | PlatformAdmin => Reach::Everywhere,
        },
        Action::Submit => match role {
            Researcher => Reach::OwnInSubtree,
            Service => Reach::Subtree,
            Viewer | Manager | OnCall | Auditor | PlatformAdmin => Reach::Nowhere,
        },
        Action::Cancel => match role {
            Researcher => Reach::OwnInSubtree,
            Manager | Service => Reach::Subtree,
            Viewer | OnCall | Auditor | PlatformAdmin => Reach::Nowhere,
        },
        Action::MoveHours => match role {
            Manager => Reach::Subtree,
            Viewer | Researcher | OnCall | Auditor | Service | PlatformAdmin => Reach::Nowhere,
        },
        Action::SetBudget => match role {
            Manager => Reach::Below,
            Viewer | Researcher | OnCall | Auditor | Service | PlatformAdmin => Reach::Nowhere,
        },
        Action::ExportLedger | Action::ReadAudit => match role {
            Manager => Reach::Subtree,
            Auditor | PlatformAdmin => Reach::Everywhere,
            Viewer | Researcher | OnCall | Service => Reach::Nowhere,
        },
        Action::Import => match role {
            PlatformAdmin => Reach::AtRoot,
            Viewer | Researcher | Manager | OnCall | Auditor | Service => Reach::Nowhere,
        },
    }
}

/// Whether one grant permits an action. All nodes have to be covered by the same grant: what is moved between two
/// nodes then stays below a node that the person manages.
fn permits(org: &Org, grant: &RoleGrant, action: Action, position: Position<'_>) -> bool {
    let Some(granted_at) = org.find(&grant.node) else {
        return false;
    };
    let covered =
        !position.nodes.is_empty() && position.nodes.iter().all(|node| org.is_within(*node, granted_at));
    match reach(grant.role, action) {
        Reach::Nowhere => false,
        Reach::Everywhere => true,
        Reach::Subtree => covered,
        Reach::OwnInSubtree => covered && position.owner == Owner::Oneself,
        Reach::Below => {
            covered
                && position
                    .nodes
                    .iter()
                    .all(|node| *node != granted_at || *node == org.root())
        }
        Reach::AtRoot => granted_at == org.root(),
    }
}

/// What a person has to see to be told that they may not do something to it.
fn sight(action: Action) -> Action {
    match action {
        Action::SeeWorkloadNames | Action::Cancel => Action::SeeWorkloadNames,
        Action::SeeHosts => Action::SeeHosts,
        Action::SeeQueue => Action::SeeQueue,
        Action::SeeStanding => Action::SeeStanding,
        Action::SeeTree
        | Action::Submit
        | Action::MoveHours
        | Action::SetBudget
        | Action::ExportLedger
        | Action::ReadAudit
        | Action::Import => Action::SeeTree,
    }
}

/// Whether a person with these grants may do this there.
pub fn allowed(org: &Org, grants: &[RoleGrant], action: Action, position: Position<'_>) -> Decision {
    let any = |action| grants.iter().any(|grant| permits(org, grant, action, position));
    if any(action) {
        Decision::Allowed
    } else if any(sight(action)) {
        Decision::Forbidden
    } else {
        Decision::Hidden
    }
}
