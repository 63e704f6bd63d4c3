//! The organisation as REST answers it.

use serde::{Deserialize, Serialize};

use crate::id::NodeId;
use crate::org::NodeKind;

/// One node with its place in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeView {
    /// The node.
    pub id: NodeId,
    /// The node above.
    pub parent: Option<NodeId>,
    /// What it stands for.
    pub kind: NodeKind,
    /// Its name.
    pub name: String,
    /// Names from the root to the node.
    pub path: Vec<String>,
    /// Steps below the root.
    pub depth: u32,
    /// How many nodes are directly below.
    pub children: u32,
}

/// A list of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeList {
    /// The nodes, parents before children.
    pub nodes: Vec<NodeView>,
    /// Asks for the next page; absent on the last.
    pub next: Option<String>,
}
