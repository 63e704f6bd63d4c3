//! What may be given: the one validator behind imports, grants, moves and their preview.
//!
//! What has accrued can't be given away, else the rates of the children would add up to more than the rate of the
//! node above; neither can what is charged or held. *Source*: policy, section 2; ledger, section 2.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::refusal::LedgerError;
use crate::id::NodeId;
use crate::org::Node;
use crate::units::GpuSeconds;

/// A node with the name that people know it by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRef {
    /// The node.
    pub id: NodeId,
    /// Its name.
    pub name: String,
}

impl From<&Node> for NodeRef {
    fn from(node: &Node) -> Self {
        Self {
            id: node.id.clone(),
            name: node.name.clone(),
        }
    }
}

/// What work has used of an own part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Charged in the period.
    pub charged: GpuSeconds,
    /// Held by running work.
    pub held: GpuSeconds,
}

/// What work has used, by the node it is charged to; a node that is not there used nothing.
pub type UsedByNode = BTreeMap<NodeId, Used>;

/// The own part of a node at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPart {
    /// The node.
    pub node: NodeRef,
    /// The own part.
    pub own: GpuSeconds,
    /// What of it has accrued.
    pub accrued: GpuSeconds,
    /// What work has used of it.
    pub used: Used,
}

impl OwnPart {
    /// What has to stay: the larger of what has accrued, and of what is charged and held.
    pub fn bound(&self) -> GpuSeconds {
        self.accrued.max(self.used.charged + self.used.held)
    }

    /// What can still be given away; never negative, though late charges may exceed the own part.
    pub fn movable(&self) -> GpuSeconds {
        (self.own - self.bound()).or_zero()
    }

    /// Whether so much can be given away.
    ///
    /// # Errors
    /// [`LedgerError::NotAnAmount`] or [`LedgerError::Insufficient`].
    pub fn give(&self, amount: GpuSeconds) -> Result<(), LedgerError> {
        if amount <= GpuSeconds::ZERO || amount > GpuSeconds::MAX_INPUT {
            return Err(LedgerError::NotAnAmount(amount));
        }
        if amount > self.movable() {
            return Err(LedgerError::Insufficient {
                node: self.node.clone(),
                asked: amount,
                movable: self.movable(),
                own: self.own,
                accrued: self.accrued,
                used: self.used,
            });
        }
        Ok(())
    }
}

/// Whether so much can be moved from an own part to another node's.
///
/// # Errors
/// [`LedgerError::SameNode`], or what [`OwnPart::give`] says.
pub fn check_move(from: &OwnPart, to: &NodeRef, amount: GpuSeconds) -> Result<(), LedgerError> {
    if from.node.id == to.id {
        return Err(LedgerError::SameNode(to.clone()));
    }
    from.give(amount)
}
