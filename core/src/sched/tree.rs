//! The organisation as the walk sees it: branches, leaves, and the own part of each branch as an implicit leaf.
//!
//! Work can be charged to any node. What is charged to a node that has children competes with them as one more
//! child, its own part. *Source*: policy, section 4.

use std::collections::BTreeMap;

use crate::id::NodeId;
use crate::org::{NodeIx, Org};

/// The position of a branch or leaf in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeIx(pub usize);

/// The position of a leaf among the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeafIx(pub usize);

/// What of a node an item stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The node with everything below it.
    Gross,
    /// The own part of a node that has children.
    Own,
}

/// A branch or a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The organisation node.
    pub node: NodeId,
    /// Its name, as sentences use it.
    pub name: String,
    /// What of the node this is.
    pub part: Part,
    /// The branch above.
    pub parent: Option<TreeIx>,
    /// What is directly below; empty for a leaf.
    pub children: Vec<TreeIx>,
    /// Its position among the leaves, if it is one.
    pub leaf: Option<LeafIx>,
}

/// Branches and leaves, parents before children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    items: Vec<Item>,
    leaves: Vec<TreeIx>,
    paths: Vec<Vec<TreeIx>>,
    gross: BTreeMap<NodeId, TreeIx>,
    charged: BTreeMap<NodeId, LeafIx>,
}

impl Tree {
    /// The tree of an organisation.
    pub fn new(org: &Org) -> Self {
        let mut tree = Self {
            items: Vec::with_capacity(2 * org.len()),
            leaves: Vec::new(),
            paths: Vec::new(),
            gross: BTreeMap::new(),
            charged: BTreeMap::new(),
        };
        tree.add(org, org.root(), None);
        tree
    }

    fn add(&mut self, org: &Org, node: NodeIx, parent: Option<TreeIx>) -> TreeIx {
        let id = org.node(node).id.clone();
        let ix = self.push(org, node, Part::Gross, parent);
        self.gross.insert(id, ix);
        if org.children(node).is_empty() {
            self.make_leaf(ix);
            return ix;
        }
        for child in org.children(node) {
            let child = self.add(org, *child, Some(ix));
            self.items[ix.0].children.push(child);
        }
        let own = self.push(org, node, Part::Own, Some(ix));
        self.items[ix.0].children.push(own);
        self.make_leaf(own);
        ix
    }

    fn push(&mut self, org: &Org, node: NodeIx, part: Part, parent: Option<TreeIx>) -> TreeIx {
        let node = org.node(node);
        let name = match part {
            Part::Gross => node.name.clone(),
            Part::Own => format!("{} itself", node.name),
        };
        self.items.push(Item {
            node: node.id.clone(),
            name,
            part,
            parent,
            children: Vec::new(),
            leaf: None,
        });
        TreeIx(self.items.len() - 1)
    }

    fn make_leaf(&mut self, ix: TreeIx) {
        let leaf = LeafIx(self.leaves.len());
        self.items[ix.0].leaf = Some(leaf);
        self.leaves.push(ix);
        self.charged.insert(self.items[ix.0].node.clone(), leaf);
        let mut path: Vec<TreeIx> = std::iter::successors(Some(ix), |at| self.items[at.0].parent).collect();
        path.reverse();
        self.paths.push(path);
    }

    /// All branches and leaves, parents before children.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// One branch or leaf.
    pub fn item(&self, ix: TreeIx) -> &Item {
        &self.items[ix.0]
    }

    /// How many leaves there are.
    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// All leaves.
    pub fn leaves(&self) -> impl Iterator<Item = LeafIx> + use<> {
        (0..self.leaves.len()).map(LeafIx)
    }

    /// The item of a leaf.
    pub fn leaf_item(&self, leaf: LeafIx) -> &Item {
        self.item(self.leaves[leaf.0])
    }

    /// The position of a leaf in the tree.
    pub fn leaf_ix(&self, leaf: LeafIx) -> TreeIx {
        self.leaves[leaf.0]
    }

    /// The leaf that work charged to a node belongs to.
    pub fn charged_to(&self, node: &NodeId) -> Option<LeafIx> {
        self.charged.get(node).copied()
    }

    /// The branch or leaf that stands for a whole node.
    pub fn gross(&self, node: &NodeId) -> Option<TreeIx> {
        self.gross.get(node).copied()
    }

    /// From the root down to a leaf, both included.
    pub fn path(&self, leaf: LeafIx) -> &[TreeIx] {
        &self.paths[leaf.0]
    }

    /// The two items just below where the paths of two leaves part: the side of the first, the side of the second.
    /// `None` when the leaves are the same.
    pub fn sides(&self, first: LeafIx, second: LeafIx) -> Option<(TreeIx, TreeIx)> {
        self.paths[first.0]
            .iter()
            .zip(&self.paths[second.0])
            .find(|(a, b)| a != b)
            .map(|(a, b)| (*a, *b))
    }
}
