//! The organisation tree: acyclic by construction, with paths and subtrees.
//!
//! An [`Org`] can only be made from a list of nodes that form one tree; from then on nothing has to ask again
//! whether a parent exists or a path ends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::NodeId;

/// The deepest tree that is accepted: far more levels than any institute has, few enough to walk at every choice.
pub const MAX_DEPTH: usize = 12;
/// The most nodes in one organisation.
pub const MAX_NODES: usize = 100_000;

/// What a node stands for. Budgets and standing treat all kinds alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The root.
    Organisation,
    /// A program.
    Program,
    /// A project.
    Project,
    /// A team.
    Team,
    /// A person.
    Person,
}

/// One organisation node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Node {
    /// Its identifier, used in URLs.
    pub id: NodeId,
    /// The node above; absent at the root alone.
    pub parent: Option<NodeId>,
    /// What it stands for.
    pub kind: NodeKind,
    /// Its name, free text.
    pub name: String,
}

/// The position of a node in its [`Org`]: parents come before their children, siblings in the order of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIx(pub usize);

/// Why a list of nodes is not a tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrgError {
    /// There is no node at all.
    #[error("the organisation has no nodes; give at least a root without a parent")]
    Empty,
    /// More than [`MAX_NODES`].
    #[error("the organisation has {0} nodes; at most {MAX_NODES} are accepted")]
    TooMany(usize),
    /// Two nodes have one id.
    #[error("node {0} is there twice; ids must be unique")]
    Duplicate(NodeId),
    /// A parent that is not in the list.
    #[error("node {node} has the parent {parent}, which does not exist")]
    UnknownParent {
        /// The node.
        node: NodeId,
        /// The parent it names.
        parent: NodeId,
    },
    /// Two nodes have no parent.
    #[error("nodes {0} and {1} both have no parent; exactly one root is accepted")]
    SeveralRoots(NodeId, NodeId),
    /// A node is its own ancestor, or no node is a root.
    #[error("node {0} is its own ancestor")]
    Cycle(NodeId),
    /// A path longer than [`MAX_DEPTH`].
    #[error("node {0} is deeper than {MAX_DEPTH} levels")]
    TooDeep(NodeId),
}

/// An organisation tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Org {
    nodes: Vec<Node>,
    parents: Vec<Option<NodeIx>>,
    children: Vec<Vec<NodeIx>>,
    depths: Vec<usize>,
    by_id: BTreeMap<NodeId, NodeIx>,
}

impl Org {
    /// Makes a tree of a list of nodes, in any order.
    ///
    /// # Errors
    /// [`OrgError`] names the first node that doesn't fit.
    pub fn new(nodes: Vec<Node>) -> Result<Self, OrgError> {
        if nodes.is_empty() {
            return Err(OrgError::Empty);
        }
        if nodes.len() > MAX_NODES {
            return Err(OrgError::TooMany(nodes.len()));
        }
        let mut named: BTreeMap<NodeId, Node> = BTreeMap::new();
        for node in nodes {
            if let Some(twice) = named.insert(node.id.clone(), node) {
                return Err(OrgError::Duplicate(twice.id));
            }
        }
        let mut below: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        let mut root: Option<NodeId> = None;
        for node in named.values() {
            match (&node.parent, &root) {
                (Some(parent), _) if !named.contains_key(parent) => {
                    return Err(OrgError::UnknownParent {
                        node: node.id.clone(),
                        parent: parent.clone(),
                    });
                }
                (Some(parent), _) => below.entry(parent.clone()).or_default().push(node.id.clone()),
                (None, Some(other)) => return Err(OrgError::SeveralRoots(other.clone(), node.id.clone())),
                (None, None) => root = Some(node.id.clone()),
            }
        }
        let Some(root) = root else {
            return Err(named.into_keys().next().map_or(OrgError::Empty, OrgError::Cycle));
        };
        Self::laid_out(named, &below, root)
    }

    /// Lays the nodes out depth first; what the walk doesn't reach hangs in a cycle.
    fn laid_out(
        mut named: BTreeMap<NodeId, Node>,
        below: &BTreeMap<NodeId, Vec<NodeId>>,
        root: NodeId,
    ) -> Result<Self, OrgError> {
        let mut org = Self {
            nodes: Vec::with_capacity(named.len()),
            parents: Vec::new(),
            children: Vec::new(),
            depths: Vec::new(),
            by_id: BTreeMap::new(),
        };
        let mut stack: Vec<(NodeId, Option<NodeIx>, usize)> = vec![(root, None, 0)];
        while let Some((id, parent, depth)) = stack.pop() {
            if depth > MAX_DEPTH {
                return Err(OrgError::TooDeep(id));
            }
            let Some(node) = named.remove(&id) else {
                return Err(OrgError::Cycle(id));
            };
            let ix = NodeIx(org.nodes.len());
            org.nodes.push(node);
            org.parents.push(parent);
            org.children.push(Vec::new());
            org.depths.push(depth);
            if let Some(parent) = parent {
                org.children[parent.0].push(ix);
            }
            for child in below.get(&id).into_iter().flatten().rev() {
                stack.push((child.clone(), Some(ix), depth + 1));
            }
            org.by_id.insert(id, ix);
        }
        match named.into_keys().next() {
            Some(unreached) => Err(OrgError::Cycle(unreached)),
            None => Ok(org),
        }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: a tree has a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The root.
    pub fn root(&self) -> NodeIx {
        NodeIx(0)
    }

    /// All positions, parents before children.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = NodeIx> + use<> {
        (0..self.nodes.len()).map(NodeIx)
    }

    /// All nodes, parents before children.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The position of a node.
    pub fn find(&self, id: &NodeId) -> Option<NodeIx> {
        self.by_id.get(id).copied()
    }

    /// The node at a position.
    pub fn node(&self, ix: NodeIx) -> &Node {
        &self.nodes[ix.0]
    }

    /// The node above.
    pub fn parent(&self, ix: NodeIx) -> Option<NodeIx> {
        self.parents[ix.0]
    }

    /// The nodes directly below, in the order of ids.
    pub fn children(&self, ix: NodeIx) -> &[NodeIx] {
        &self.children[ix.0]
    }

    /// How many steps below the root.
    pub fn depth(&self, ix: NodeIx) -> usize {
        self.depths[ix.0]
    }

    /// From the root down to the node, both included.
    pub fn path(&self, ix: NodeIx) -> Vec<NodeIx> {
        let mut path: Vec<NodeIx> = std::iter::successors(Some(ix), |at| self.parent(*at)).collect();
        path.reverse();
        path
    }

    /// Whether the node lies in the subtree of `ancestor`, itself included.
    pub fn is_within(&self, ix: NodeIx, ancestor: NodeIx) -> bool {
        self.subtree(ancestor).contains(&ix.0)
    }

    /// The positions of a subtree: they are next to each other.
    pub fn subtree(&self, ix: NodeIx) -> std::ops::Range<usize> {
        let deeper = self.depths[ix.0 + 1..]
            .iter()
            .take_while(|depth| **depth > self.depths[ix.0])
            .count();
        ix.0..ix.0 + 1 + deeper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, parent: &str) -> Node {
        let kind = if parent.is_empty() {
            NodeKind::Organisation
        } else {
            NodeKind::Team
        };
        Node {
            id: id.parse().unwrap(),
            parent: parent.parse().ok(),
            kind,
            name: id.to_uppercase(),
        }
    }

    #[test]
    fn a_tree_is_laid_out_depth_first_whatever_the_order_of_its_list() {
        let mut nodes = vec![
            node("b1", "b"),
            node("a", "root"),
            node("root", ""),
            node("b", "root"),
            node("a1", "a"),
        ];
        let org = Org::new(nodes.clone()).unwrap();
        nodes.reverse();
        assert_eq!(Org::new(nodes).unwrap(), org);
        let order: Vec<&str> = org.nodes().iter().map(|n| n.id.as_str()).collect();
        assert_eq!(order, ["root", "a", "a1", "b", "b1"]);
        let b1 = org.find(&"b1".parse().unwrap()).unwrap();
        assert_eq!(org.path(b1), [NodeIx(0), NodeIx(3), NodeIx(4)]);
        assert_eq!(org.subtree(NodeIx(1)), 1..3);
        assert!(org.is_within(b1, NodeIx(3)) && !org.is_within(b1, NodeIx(1)));
    }

    #[test]
    fn what_is_no_tree_is_refused_with_the_node_that_does_not_fit() {
        let id = |text: &str| text.parse::<NodeId>().unwrap();
        let check = |nodes: Vec<Node>, want: OrgError| assert_eq!(Org::new(nodes), Err(want));
        check(vec![], OrgError::Empty);
        check(vec![node("a", ""), node("a", "")], OrgError::Duplicate(id("a")));
        check(
            vec![node("a", ""), node("b", "")],
            OrgError::SeveralRoots(id("a"), id("b")),
        );
        check(
            vec![node("a", ""), node("b", "x")],
            OrgError::UnknownParent {
                node: id("b"),
                parent: id("x"),
            },
        );
        check(vec![node("a", "b"), node("b", "a")], OrgError::Cycle(id("a")));
        check(
            vec![node("r", ""), node("a", "b"), node("b", "a")],
            OrgError::Cycle(id("a")),
        );
        check(vec![node("r", ""), node("s", "s")], OrgError::Cycle(id("s")));
        let mut chain = vec![node("n0", "")];
        chain.extend((1..20).map(|n| node(&format!("n{n}"), &format!("n{}", n - 1))));
        check(chain, OrgError::TooDeep(id("n13")));
    }
}
