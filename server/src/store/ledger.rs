//! The ledger: transactions and their postings, the balances they add up to, and what was charged and is held.
//!
//! Rows of transactions and postings are inserted and never changed; the schema refuses anything else.

use stint_core::id::{NodeId, PeriodId, PersonId, PoolId, TransactionId};
use stint_core::units::{GpuSeconds, Timestamp};

use super::periods::PeriodRow;
use super::row::{from_row, number};
use super::{Connection, StoreError};

/// A transaction as stored, without its postings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRow {
    /// The transaction.
    pub id: TransactionId,
    /// The pool whose hours it moves.
    pub pool_id: PoolId,
    /// The period.
    pub period_id: PeriodId,
    /// `import`, `set`, `move` or `reversal`.
    pub kind: String,
    /// When it was written down.
    pub recorded_at: Timestamp,
    /// From when on it counts.
    pub effective_at: Timestamp,
    /// Who made it.
    pub person_id: PersonId,
    /// Their name at that time.
    pub person_name: String,
    /// Why.
    pub reason: String,
    /// The request it came with.
    pub request_id: Option<String>,
    /// The command it carries out; each is carried out once.
    pub command_id: String,
}
from_row!(TransactionRow {
    id,
    pool_id,
    period_id,
    kind,
    recorded_at,
    effective_at,
    person_id,
    person_name,
    reason,
    request_id,
    command_id,
});

/// One posting; without a node it is one against the pool's capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostingRow {
    /// The transaction it belongs to.
    pub transaction_id: TransactionId,
    /// Its place in the transaction, from 0.
    pub seq: u32,
    /// The node whose own part it changes.
    pub node_id: Option<NodeId>,
    /// By how much.
    pub amount_gpu_seconds: GpuSeconds,
}
from_row!(PostingRow {
    transaction_id,
    seq,
    node_id,
    amount_gpu_seconds
});

/// The own part of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalanceRow {
    /// The node.
    pub node_id: NodeId,
    /// What it keeps itself.
    pub own_gpu_seconds: GpuSeconds,
    /// What of it had accrued when it last changed.
    pub accrued_gpu_seconds: GpuSeconds,
    /// When it last changed.
    pub accrued_at: Timestamp,
    /// Counts the changes.
    pub version: u64,
}
from_row!(BalanceRow {
    node_id,
    own_gpu_seconds,
    accrued_gpu_seconds,
    accrued_at,
    version
});

/// What was charged to a node's own part in a period, and what running work holds of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedRow {
    /// The node.
    pub node_id: NodeId,
    /// Charged less refunded.
    pub charged: GpuSeconds,
    /// Held: what the protection of running and starting work may still cost.
    pub held: GpuSeconds,
}
from_row!(UsedRow {
    node_id,
    charged,
    held
});

/// The balances of a pool and period, by node.
pub async fn balances(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
) -> Result<Vec<BalanceRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/balances_of.sql"))
        .bind(pool.as_str())
        .bind(period.as_str())
        .fetch_all(db)
        .await?;
    Ok(rows)
}

/// What was charged in a period and is held at an instant, by node: the one query behind every such number.
pub async fn used(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodRow,
    at: Timestamp,
) -> Result<Vec<UsedRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/ledger_used.sql"))
        .bind(pool.as_str())
        .bind(period.id.as_str())
        .bind(period.starts_at.0)
        .bind(period.ends_at.0)
        .bind(at.0)
        .fetch_all(db)
        .await?;
    Ok(rows)
}

/// What was charged between two instants, by node; nothing is held in it.
pub async fn charged_between(
    db: &mut Connection,
    pool: &PoolId,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<UsedRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/ledger_charged_between.sql"))
        .bind(pool.as_str())
        .bind(from.0)
        .bind(to.0)
        .fetch_all(db)
        .await?;
    Ok(rows)
}

/// When the first work of a pool was charged, or began to be.
pub async fn first_charge(db: &mut Connection, pool: &PoolId) -> Result<Option<Timestamp>, StoreError> {
    let first: Option<i64> = sqlx::query_scalar(include_str!("sql/ledger_first_charge.sql"))
        .bind(pool.as_str())
        .fetch_one(db)
        .await?;
    Ok(first.map(Timestamp))
}

/// Writes a transaction with its postings and numbers it; the id it comes with is ignored.
pub async fn insert(
    db: &mut Connection,
    transaction: &TransactionRow,
    postings: &[(Option<NodeId>, GpuSeconds)],
) -> Result<TransactionId, StoreError> {
    let id: i64 = sqlx::query_scalar(include_str!("sql/ledger_transactions_next.sql"))
        .fetch_one(&mut *db)
        .await?;
    sqlx::query(include_str!("sql/ledger_transactions_insert.sql"))
        .bind(id)
        .bind(transaction.pool_id.as_str())
        .bind(transaction.period_id.as_str())
        .bind(&transaction.kind)
        .bind(transaction.recorded_at.0)
        .bind(transaction.effective_at.0)
        .bind(transaction.person_id.as_str())
        .bind(&transaction.person_name)
        .bind(&transaction.reason)
        .bind(transaction.request_id.as_deref())
        .bind(&transaction.command_id)
        .execute(&mut *db)
        .await?;
    for (seq, (node, amount)) in (0_i64..).zip(postings) {
        sqlx::query(include_str!("sql/ledger_postings_insert.sql"))
            .bind(id)
            .bind(seq)
            .bind(node.as_ref().map(NodeId::as_str))
            .bind(amount.0)
            .execute(&mut *db)
            .await?;
    }
    Ok(TransactionId(id.unsigned_abs()))
}

/// Adds a balance that wasn't there, or replaces the one whose version is one less.
pub async fn put_balance(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
    balance: &BalanceRow,
) -> Result<(), StoreError> {
    let put = sqlx::query(include_str!("sql/balances_put.sql"))
        .bind(balance.node_id.as_str())
        .bind(pool.as_str())
        .bind(period.as_str())
        .bind(balance.own_gpu_seconds.0)
        .bind(balance.accrued_gpu_seconds.0)
        .bind(balance.accrued_at.0)
        .bind(number(balance.version))
        .execute(db)
        .await?;
    match put.rows_affected() {
        0 => Err(StoreError::Changed("the balance")),
        _ => Ok(()),
    }
}

/// The transaction that carried out a command.
pub async fn by_command(db: &mut Connection, command: &str) -> Result<Option<TransactionRow>, StoreError> {
    let row = sqlx::query_as(include_str!("sql/ledger_transactions_by_command.sql"))
        .bind(command)
        .fetch_optional(db)
        .await?;
    Ok(row)
}

/// All transactions of a pool and period, first to last.
pub async fn transactions(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
) -> Result<Vec<TransactionRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/ledger_transactions_of.sql"))
        .bind(pool.as_str())
        .bind(period.as_str())
        .fetch_all(db)
        .await?;
    Ok(rows)
}

/// All postings of a pool and period, first to last.
pub async fn postings(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
) -> Result<Vec<PostingRow>, StoreError> {
    let rows = sqlx::query_as(include_str!("sql/ledger_postings_of.sql"))
        .bind(pool.as_str())
        .bind(period.as_str())
        .fetch_all(db)
        .await?;
    Ok(rows)
}
