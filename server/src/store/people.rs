//! People and their roles.

use stint_core::api::session::{Me, Role, RoleGrant};
use stint_core::id::{NodeId, PersonId};

use super::row::{from_row, word};
use super::{Connection, StoreError};

/// One person as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRow {
    /// The person.
    pub id: PersonId,
    /// Their name.
    pub name: String,
    /// Whether they may sign in.
    pub active: bool,
}
from_row!(PersonRow { id, name, active });

struct RoleRow {
    role: Role,
    node_id: NodeId,
    node_name: String,
}
from_row!(RoleRow {
    role,
    node_id,
    node_name
});

/// Everybody, by id.
pub async fn all(db: &mut Connection) -> Result<Vec<PersonRow>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/people_all.sql"))
        .fetch_all(db)
        .await?)
}

/// A person with their roles as of now; `None` when unknown or no longer active.
pub async fn me(db: &mut Connection, person: &PersonId) -> Result<Option<Me>, StoreError> {
    let found: Option<PersonRow> = sqlx::query_as(include_str!("sql/people_find.sql"))
        .bind(person.as_str())
        .fetch_optional(&mut *db)
        .await?;
    let Some(found) = found.filter(|row| row.active) else {
        return Ok(None);
    };
    let roles: Vec<RoleRow> = sqlx::query_as(include_str!("sql/role_grants_of.sql"))
        .bind(person.as_str())
        .fetch_all(db)
        .await?;
    let roles = roles.into_iter().map(|row| RoleGrant {
        role: row.role,
        node: row.node_id,
        node_name: row.node_name,
    });
    Ok(Some(Me {
        person: found.id,
        name: found.name,
        roles: roles.collect(),
    }))
}

/// Adds a person.
pub async fn insert(db: &mut Connection, person: &PersonRow) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/people_insert.sql"))
        .bind(person.id.as_str())
        .bind(&person.name)
        .bind(i64::from(person.active))
        .execute(db)
        .await?;
    Ok(())
}

/// Lets a person sign in, or no longer. Their roles, work and history stay.
pub async fn set_active(db: &mut Connection, person: &PersonId, active: Activity) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/people_set_active.sql"))
        .bind(person.as_str())
        .bind(i64::from(active == Activity::Active))
        .execute(db)
        .await?;
    Ok(())
}

/// Whether a person may sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// They may.
    Active,
    /// They left.
    Inactive,
}

/// Gives a person a role at a node. Giving it again changes nothing.
pub async fn grant_role(
    db: &mut Connection,
    person: &PersonId,
    role: Role,
    node: &NodeId,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/role_grants_insert.sql"))
        .bind(person.as_str())
        .bind(word(&role))
        .bind(node.as_str())
        .execute(db)
        .await?;
    Ok(())
}
