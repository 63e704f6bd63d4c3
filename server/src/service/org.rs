//! The organisation, as a list.

use stint_core::api::Problem;
use stint_core::api::org::{NodeList, NodeView};
use stint_core::authz::Action;
use stint_core::id::NodeId;
use stint_core::org::NodeIx;

use super::access::Access;
use super::ground::Ground;
use super::{Caller, Service, cursor};

/// Which nodes to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct NodeQuery {
    /// Only those directly below this node.
    pub parent: Option<NodeId>,
    /// Only those whose id or name contains this, whatever the case.
    pub q: Option<String>,
    /// Where to go on.
    pub after: Option<String>,
    /// How many rows.
    pub limit: Option<u16>,
}

impl Service {
    /// The nodes that match, parents before children.
    pub async fn nodes(&self, caller: &Caller, query: &NodeQuery) -> Result<NodeList, Problem> {
        let limit = usize::from(cursor::page_size(query.limit)?);
        let mut matching = self.matching_nodes(caller, query).await?;
        let next = (matching.len() > limit).then(|| {
            matching.truncate(limit);
            matching
                .last()
                .map(|node| cursor::write("nodes", node.id.as_str()))
        });
        Ok(NodeList {
            nodes: matching,
            next: next.flatten(),
        })
    }

    /// Every node, for pickers.
    pub async fn all_nodes(&self, caller: &Caller) -> Result<NodeList, Problem> {
        let nodes = self.matching_nodes(caller, &NodeQuery::default()).await?;
        Ok(NodeList { nodes, next: None })
    }

    async fn matching_nodes(&self, caller: &Caller, query: &NodeQuery) -> Result<Vec<NodeView>, Problem> {
        let me = caller.person()?;
        let mut db = self.store.read().await?;
        let ground = self.ground(&mut db).await?;
        let org = &ground.organisation.org;
        Access::new(org, me).check_anywhere(Action::SeeTree)?;
        let parent = match &query.parent {
            Some(parent) => Some(ground.node("parent", parent)?),
            None => None,
        };
        let from = match &query.after {
            Some(after) => {
                let id = cursor::read("nodes", after)?;
                let last = id.parse().ok().and_then(|id| org.find(&id));
                last.map_or(org.len(), |ix| ix.0 + 1)
            }
            None => 0,
        };
        let wanted = query.q.as_deref().unwrap_or_default().to_lowercase();
        let matches = |ix: &NodeIx| {
            let node = org.node(*ix);
            (parent.is_none() || org.parent(*ix) == parent)
                && (node.id.as_str().contains(&wanted) || node.name.to_lowercase().contains(&wanted))
        };
        let found = org.indices().skip(from).filter(matches);
        Ok(found.map(|ix| node_view(&ground, ix)).collect())
    }
}

fn node_view(ground: &Ground, ix: NodeIx) -> NodeView {
    let org = &ground.organisation.org;
    let node = org.node(ix);
    NodeView {
        id: node.id.clone(),
        parent: node.parent.clone(),
        kind: node.kind,
        name: node.name.clone(),
        path: ground.path_names(ix),
        depth: count(org.depth(ix)),
        children: count(org.children(ix).len()),
    }
}

/// A count as the API has it. Nodes, hosts and queued workloads are all below 2^32.
pub(super) fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
