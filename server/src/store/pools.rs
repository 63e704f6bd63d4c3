//! Pools and their hosts.

use stint_core::api::fleet::HostState;
use stint_core::id::{BlockId, HostId, PoolId};
use stint_core::sched::contract::Limits;
use stint_core::standing::LookBack;
use stint_core::units::Seconds;

use super::row::{from_row, word};
use super::{Connection, StoreError};

/// One pool as stored, with the sums over its hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRow {
    /// The pool.
    pub id: PoolId,
    /// The reserve, in basis points.
    pub reserve_bp: u32,
    /// The longest minimum runtime.
    pub cap_s: Seconds,
    /// How long a start may take.
    pub startup_s: Seconds,
    /// How the past is weighed: `sliding` or `fade`.
    pub look_back: String,
    /// The look-back.
    pub window_s: Seconds,
    /// By how much standings must differ before one displaces the other, in thousandths.
    pub margin_milli: i64,
    /// How many hosts it has.
    pub hosts: u32,
    /// All their GPUs.
    pub gpus: u32,
    /// GPUs of its largest host.
    pub gpus_per_host: u32,
}
from_row!(PoolRow {
    id,
    reserve_bp,
    cap_s,
    startup_s,
    look_back,
    window_s,
    margin_milli,
    hosts,
    gpus,
    gpus_per_host,
});

impl PoolRow {
    /// What a workload must fit.
    pub fn limits(&self) -> Limits {
        Limits {
            hosts: self.hosts,
            gpus_per_host: self.gpus_per_host,
            cap: self.cap_s,
            startup_allowance: self.startup_s,
        }
    }

    /// How the past is weighed.
    pub fn look_back(&self) -> LookBack {
        match self.look_back.as_str() {
            "fade" => LookBack::Fade(self.window_s),
            _ => LookBack::Sliding(self.window_s),
        }
    }
}

/// One host as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRecord {
    /// The host.
    pub id: HostId,
    /// Its pool.
    pub pool_id: PoolId,
    /// Its block.
    pub block_id: BlockId,
    /// Its GPUs.
    pub gpus: u32,
    /// Whether it can be used.
    pub state: HostState,
}
from_row!(HostRecord {
    id,
    pool_id,
    block_id,
    gpus,
    state
});

/// Every pool, by id.
pub async fn all(db: &mut Connection) -> Result<Vec<PoolRow>, StoreError> {
    Ok(sqlx::query_as(include_str!("sql/pools_all.sql"))
        .fetch_all(db)
        .await?)
}

/// The hosts of a pool, by block and id.
pub async fn hosts(db: &mut Connection, pool: &PoolId) -> Result<Vec<HostRecord>, StoreError> {
    let hosts = sqlx::query_as(include_str!("sql/hosts_of_pool.sql"))
        .bind(pool.as_str())
        .fetch_all(db)
        .await?;
    Ok(hosts)
}

/// Adds a pool; the sums over its hosts are ignored.
pub async fn insert(db: &mut Connection, pool: &PoolRow) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/pools_insert.sql"))
        .bind(pool.id.as_str())
        .bind(i64::from(pool.reserve_bp))
        .bind(pool.cap_s.0)
        .bind(pool.startup_s.0)
        .bind(&pool.look_back)
        .bind(pool.window_s.0)
        .bind(pool.margin_milli)
        .execute(db)
        .await?;
    Ok(())
}

/// Adds a host; its pool must be there.
pub async fn insert_host(db: &mut Connection, host: &HostRecord) -> Result<(), StoreError> {
    sqlx::query(include_str!("sql/hosts_insert.sql"))
        .bind(host.id.as_str())
        .bind(host.pool_id.as_str())
        .bind(host.block_id.as_str())
        .bind(i64::from(host.gpus))
        .bind(word(&host.state))
        .execute(db)
        .await?;
    Ok(())
}
