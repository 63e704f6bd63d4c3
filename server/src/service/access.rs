//! The question to `stint_core::authz`, and what its answers become: hidden is not found, forbidden says so.

use stint_core::api::session::Me;
use stint_core::api::{Code, Problem};
use stint_core::authz::{Action, Decision, Owner, Position, allowed};
use stint_core::org::{NodeIx, Org};

/// What one person may do in an organisation.
pub(super) struct Access<'a> {
    org: &'a Org,
    me: &'a Me,
}

impl<'a> Access<'a> {
    pub(super) fn new(org: &'a Org, me: &'a Me) -> Self {
        Self { org, me }
    }

    fn decide(&self, action: Action, nodes: &[NodeIx], owner: Owner) -> Decision {
        allowed(self.org, &self.me.roles, action, Position { nodes, owner })
    }

    /// Whether the person may do this to nodes.
    ///
    /// # Errors
    /// Not found where they may not know, forbidden where they may.
    pub(super) fn check(&self, action: Action, nodes: &[NodeIx]) -> Result<(), Problem> {
        refuse(self.decide(action, nodes, Owner::Another))
    }

    /// Whether the person may do this to a workload that is charged to a node.
    ///
    /// # Errors
    /// As [`Access::check`].
    pub(super) fn check_workload(&self, action: Action, node: NodeIx, owner: Owner) -> Result<(), Problem> {
        refuse(self.decide(action, &[node], owner))
    }

    /// Whether the person may see something of the organisation as a whole.
    ///
    /// # Errors
    /// As [`Access::check`].
    pub(super) fn check_anywhere(&self, action: Action) -> Result<(), Problem> {
        self.check(action, &[self.org.root()])
    }

    /// Whether the person may do this to a node.
    pub(super) fn is_allowed(&self, action: Action, node: NodeIx) -> bool {
        self.decide(action, &[node], Owner::Another) == Decision::Allowed
    }

    /// Whether the person may do this to a workload that is charged to a node.
    pub(super) fn is_allowed_for(&self, action: Action, node: NodeIx, owner: Owner) -> bool {
        self.decide(action, &[node], owner) == Decision::Allowed
    }

    /// Whether a node is one the person has a role at, or lies above one.
    pub(super) fn leads_to_mine(&self, node: NodeIx) -> bool {
        let mut mine = self
            .me
            .roles
            .iter()
            .filter_map(|grant| self.org.find(&grant.node));
        mine.any(|granted_at| self.org.is_within(granted_at, node))
    }
}

fn refuse(decision: Decision) -> Result<(), Problem> {
    match decision {
        Decision::Allowed => Ok(()),
        Decision::Forbidden => Err(Problem::new(
            Code::AuthForbidden,
            "Your roles don't include this here; ask a manager of the node.",
        )),
        Decision::Hidden => Err(Problem::new(Code::NotFound, "There is nothing here for you.")),
    }
}
