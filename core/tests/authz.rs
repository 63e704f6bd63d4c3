//! Role x action x position, compared with a committed table: a difference, a missing line or a missing column
//! fails. After a decision has been changed on purpose, the table that is printed takes its place.

#![expect(clippy::unwrap_used, reason = "a test that can't go on says so by panicking")]

use std::fmt::Write as _;

use stint_core::api::session::{Role, RoleGrant};
use stint_core::authz::{Action, Decision, Owner, Position, allowed};
use stint_core::id::NodeId;
use stint_core::org::{Node, NodeIx, NodeKind, Org};

/// The grant is at `a`; the name of a node says where it lies from there.
fn org() -> Org {
    let node = |id: &str, parent: &str| Node {
        id: id.parse().unwrap(),
        parent: parent.parse().ok(),
        kind: if parent.is_empty() {
            NodeKind::Organisation
        } else {
            NodeKind::Team
        },
        name: id.to_owned(),
    };
    Org::new(vec![
        node("root", ""),
        node("a", "root"),
        node("below", "a"),
        node("further-below", "below"),
        node("beside", "root"),
    ])
    .unwrap()
}

fn at(org: &Org, id: &str) -> NodeIx {
    org.find(&id.parse::<NodeId>().unwrap()).unwrap()
}

fn grant(role: Role, node: &str) -> RoleGrant {
    RoleGrant {
        role,
        node: node.parse().unwrap(),
        node_name: node.to_owned(),
    }
}

const POSITIONS: [(&str, &[&str], Owner); 13] = [
    ("everywhere", &[], Owner::Another),
    ("a", &["a"], Owner::Another),
    ("a, one's own", &["a"], Owner::Oneself),
    ("below", &["below"], Owner::Another),
    ("below, one's own", &["below"], Owner::Oneself),
    ("beside", &["beside"], Owner::Another),
    ("beside, one's own", &["beside"], Owner::Oneself),
    ("root", &["root"], Owner::Another),
    ("root, one's own", &["root"], Owner::Oneself),
    ("a -> below", &["a", "below"], Owner::Another),
    (
        "further-below -> below",
        &["further-below", "below"],
        Owner::Another,
    ),
    ("below -> beside", &["below", "beside"], Owner::Another),
    ("root -> a", &["root", "a"], Owner::Another),
];

/// A word as JSON has it.
fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

fn table_for_grants_at(node: &str) -> String {
    let org = org();
    let mut columns: Vec<(String, Vec<RoleGrant>)> = vec![("nobody".to_owned(), vec![])];
    columns.extend(Role::ALL.map(|role| (word(role), vec![grant(role, node)])));
    let header: Vec<&str> = columns.iter().map(|(role, _)| role.as_str()).collect();
    let mut text = format!(
        "granted at {node}\n{:<19}{:<23}{}\n",
        "action",
        "position",
        header.join(" ")
    );
    for action in Action::ALL {
        for (position, nodes, owner) in POSITIONS {
            let nodes: Vec<NodeIx> = nodes.iter().map(|id| at(&org, id)).collect();
            let mut line = format!("{:<19}{position:<23}", word(action));
            for (role, grants) in &columns {
                let decision = match allowed(&org, grants, action, Position { nodes: &nodes, owner }) {
                    Decision::Allowed => "yes",
                    Decision::Forbidden => "403",
                    Decision::Hidden => "404",
                };
                write!(line, "{decision:<width$}", width = role.len() + 1).unwrap();
            }
            writeln!(text, "{}", line.trim_end()).unwrap();
        }
    }
    text
}

fn table() -> String {
    format!("{}\n{}", table_for_grants_at("a"), table_for_grants_at("root"))
}

#[test]
fn every_combination_is_decided_as_the_committed_table_says() {
    let (found, committed) = (table(), include_str!("data/authz.txt"));
    let differs = found
        .lines()
        .zip(committed.lines())
        .find(|(found, committed)| found != committed);
    assert_eq!(
        differs, None,
        "found and committed differ; the whole table is now:\n{found}"
    );
    assert_eq!(found, committed, "a line is missing or left over");
}

#[test]
fn a_platform_admin_can_not_move_hours_and_a_manager_can_not_import() {
    let org = org();
    let nodes = [at(&org, "a"), at(&org, "below")];
    let check = |role, action, want| {
        let decision = allowed(&org, &[grant(role, "root")], action, Position::at(&nodes));
        assert_eq!(decision, want, "{role:?} {action:?}");
    };
    check(Role::PlatformAdmin, Action::MoveHours, Decision::Forbidden);
    check(Role::PlatformAdmin, Action::SetBudget, Decision::Forbidden);
    check(Role::Manager, Action::Import, Decision::Forbidden);
}

#[test]
fn two_grants_that_each_cover_one_side_do_not_permit_a_move() {
    let org = org();
    let grants = [grant(Role::Manager, "below"), grant(Role::Manager, "beside")];
    let nodes = [at(&org, "below"), at(&org, "beside")];
    assert_eq!(
        allowed(&org, &grants, Action::MoveHours, Position::at(&nodes)),
        Decision::Forbidden
    );
}

#[test]
fn a_manager_divides_the_grant_of_the_node_but_does_not_set_it() {
    let org = org();
    let check = |node: &str, want| {
        let nodes = [at(&org, node)];
        let decision = allowed(
            &org,
            &[grant(Role::Manager, "a")],
            Action::SetBudget,
            Position::at(&nodes),
        );
        assert_eq!(decision, want, "{node}");
    };
    check("a", Decision::Forbidden);
    check("below", Decision::Allowed);
    check("further-below", Decision::Allowed);
    check("beside", Decision::Forbidden);
}

#[test]
fn a_grant_at_a_node_that_is_gone_permits_nothing() {
    let grants = [grant(Role::Auditor, "gone")];
    assert_eq!(
        allowed(&org(), &grants, Action::SeeTree, Position::everywhere()),
        Decision::Hidden
    );
}
