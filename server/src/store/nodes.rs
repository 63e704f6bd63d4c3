//! The organisation tree.

use std::collections::BTreeMap;

use stint_core::id::NodeId;
use stint_core::org::{Node, NodeKind, Org, OrgError};

use super::row::{from_row, word};
use super::{Connection, StoreError};

/// One node as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The node.
    pub id: NodeId,
    /// The node above.
    pub parent_id: Option<NodeId>,
    /// What it stands for.
    pub kind: NodeKind,
    /// Its name.
    pub name: String,
    /// Its colour, 1 to 10, or 0 for grey.
    pub hue: u8,
}
from_row!(NodeRow {
    id,
    parent_id,
    kind,
    name,
    hue
});

/// The whole organisation, with the colours of its nodes.
#[derive(Clone, Debug)]
pub struct Organisation {
    /// The tree.
    pub org: Org,
    hues: BTreeMap<NodeId, u8>,
}

impl Organisation {
    /// Makes a tree of stored nodes.
    ///
    /// # Errors
    /// [`OrgError`] when they are no tree.
    pub fn new(rows: Vec<NodeRow>) -> Result<Self, OrgError> {
        let hues = rows.iter().map(|row| (row.id.clone(), row.hue)).collect();
        let nodes = rows.into_iter().map(|row| Node {
            id: row.id,
            parent: row.parent_id,
            kind: row.kind,
            name: row.name,
        });
        Ok(Self {
            org: Org::new(nodes.collect())?,
            hues,
        })
    }

    /// The colour of a node, 1 to 10, or 0 for grey.
    pub fn hue(&self, node: &NodeId) -> u8 {
        self.hues.get(node).copied().unwrap_or(0)
    }

    /// The name of a node; its id when it is not in the tree.
    pub fn name(&self, node: &NodeId) -> String {
        self.org
            .find(node)
            .map_or_else(|| node.to_string(), |ix| self.org.node(ix).name.clone())
    }
}

/// Every node.
pub async fn all(db: &mut Connection) -> Result<Vec<NodeRow>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/nodes_all.sql"))
        .fetch_all(db)
        .await?)
}

/// The organisation; `None` before one is imported.
pub async fn organisation(db: &mut Connection) -> Result<Option<Organisation>, StoreError> {
    let rows = all(db).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    Organisation::new(rows)
        .map(Some)
        .map_err(|source| StoreError::Unreadable {
            what: "organisation",
            source: source.into(),
        })
}

/// Adds a node; its parent must be there.
pub async fn insert(db: &mut Connection, node: &NodeRow) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/nodes_insert.sql"))
        .bind(node.id.as_str())
        .bind(node.parent_id.as_ref().map(NodeId::as_str))
        .bind(word(&node.kind))
        .bind(&node.name)
        .bind(i64::from(node.hue))
        .execute(db)
        .await?;
    Ok(())
}
