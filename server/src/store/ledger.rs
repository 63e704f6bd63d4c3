//! The ledger: transactions and their postings, the balances they add up to, and what was charged and is held.
//!
//! Rows of transactions and postings are inserted and never changed; the schema refuses anything else.

use std::collections::BTreeMap;

use stint_core::id::{NodeId, PeriodId, PersonId, PoolId, TransactionId};
use stint_core::ledger::{
    Balance, CommandId, Entry, Kind, Period, Posting, StoredBalance, Transaction, Used, UsedByNode,
};
use stint_core::units::{GpuSeconds, Timestamp};

use super::row::{from_row, number};
use super::{Connection, StoreError};

struct TransactionRow {
    id: TransactionId,
    kind: Kind,
    recorded_at: Timestamp,
    effective_at: Timestamp,
    person_id: PersonId,
    person_name: String,
    reason: String,
    request_id: Option<String>,
    command_id: String,
}
from_row!(TransactionRow {
    id,
    kind,
    recorded_at,
    effective_at,
    person_id,
    person_name,
    reason,
    request_id,
    command_id,
});

struct PostingRow {
    transaction_id: TransactionId,
    node_id: Option<NodeId>,
    amount_gpu_seconds: GpuSeconds,
}
from_row!(PostingRow {
    transaction_id,
    node_id,
    amount_gpu_seconds
});

struct BalanceRow {
    node_id: NodeId,
    own_gpu_seconds: GpuSeconds,
    accrued_gpu_seconds: GpuSeconds,
    accrued_at: Timestamp,
    version: u64,
}
from_row!(BalanceRow {
    node_id,
    own_gpu_seconds,
    accrued_gpu_seconds,
    accrued_at,
    version
});

struct UsedRow {
    node_id: NodeId,
    charged: GpuSeconds,
    held: GpuSeconds,
}
from_row!(UsedRow {
    node_id,
    charged,
    held
});

struct ChargedRow {
    node_id: NodeId,
    charged: GpuSeconds,
}
from_row!(ChargedRow { node_id, charged });

/// The balances of a pool and period, by node.
pub async fn balances(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
) -> Result<Vec<StoredBalance>, StoreError> {
    let rows: Vec<BalanceRow> = sqlx::query_as(include_str!("sql/balances_of.sql"))
        .bind(pool.as_str())
        .bind(period.as_str())
        .fetch_all(db)
        .await?;
    let stored = rows.into_iter().map(|row| StoredBalance {
        node: row.node_id,
        own: row.own_gpu_seconds,
        accrued: row.accrued_gpu_seconds,
        accrued_at: row.accrued_at,
        version: row.version,
    });
    Ok(stored.collect())
}

/// What was charged to own parts in a period, and what is held of them at an instant: the one query behind every
/// such number.
pub async fn used(
    db: &mut Connection,
    pool: &PoolId,
    period: &Period,
    at: Timestamp,
) -> Result<UsedByNode, StoreError> {
    let rows: Vec<UsedRow> = sqlx::query_as(include_str!("sql/ledger_used.sql"))
        .bind(pool.as_str())
        .bind(period.id.as_str())
        .bind(period.starts.0)
        .bind(period.ends.0)
        .bind(at.0)
        .fetch_all(db)
        .await?;
    let used = rows.into_iter().map(|row| {
        let used = Used {
            charged: row.charged,
            held: row.held,
        };
        (row.node_id, used)
    });
    Ok(used.collect())
}

/// What was charged to own parts between two instants.
pub async fn charged_between(
    db: &mut Connection,
    pool: &PoolId,
    from: Timestamp,
    to: Timestamp,
) -> Result<BTreeMap<NodeId, GpuSeconds>, StoreError> {
    let rows: Vec<ChargedRow> = sqlx::query_as(include_str!("sql/ledger_charged_between.sql"))
        .bind(pool.as_str())
        .bind(from.0)
        .bind(to.0)
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(|row| (row.node_id, row.charged)).collect())
}

/// When the first work of a pool was charged.
pub async fn first_charge(db: &mut Connection, pool: &PoolId) -> Result<Option<Timestamp>, StoreError> {
    let first: Option<i64> = sqlx::query_scalar(include_str!("sql/ledger_first_charge.sql"))
        .bind(pool.as_str())
        .fetch_one(db)
        .await?;
    Ok(first.map(Timestamp))
}

/// The number of the next transaction. Taken inside the write transaction that inserts it.
pub async fn next_id(db: &mut Connection) -> Result<TransactionId, StoreError> {
    let id: i64 = sqlx::query_scalar(include_str!("sql/ledger_transactions_next.sql"))
        .fetch_one(db)
        .await?;
    Ok(TransactionId(id.unsigned_abs()))
}

/// Writes a transaction with its postings.
pub async fn insert(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
    transaction: &Transaction,
) -> Result<(), StoreError> {
    let entry = &transaction.entry;
    let id = number(entry.id.0);
    sqlx::query(include_str!("sql/ledger_transactions_insert.sql"))
        .bind(id)
        .bind(pool.as_str())
        .bind(period.as_str())
        .bind(transaction.kind.as_str())
        .bind(entry.recorded.0)
        .bind(transaction.effective.0)
        .bind(entry.person.as_str())
        .bind(&entry.person_name)
        .bind(&entry.reason)
        .bind(entry.request.as_deref())
        .bind(&entry.command.0)
        .execute(&mut *db)
        .await?;
    for (seq, posting) in (0_i64..).zip(&transaction.postings) {
        let node = match &posting.to {
            Balance::Capacity => None,
            Balance::Own(node) => Some(node.as_str()),
        };
        sqlx::query(include_str!("sql/ledger_postings_insert.sql"))
            .bind(id)
            .bind(seq)
            .bind(node)
            .bind(posting.amount.0)
            .execute(&mut *db)
            .await?;
    }
    Ok(())
}

/// Adds a balance that wasn't there, or replaces the one whose version is one less.
pub async fn put_balance(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
    balance: &StoredBalance,
) -> Result<(), StoreError> {
    let put = sqlx::query(include_str!("sql/balances_put.sql"))
        .bind(balance.node.as_str())
        .bind(pool.as_str())
        .bind(period.as_str())
        .bind(balance.own.0)
        .bind(balance.accrued.0)
        .bind(balance.accrued_at.0)
        .bind(number(balance.version))
        .execute(db)
        .await?;
    match put.rows_affected() {
        0 => Err(StoreError::Changed("the balance")),
        _ => Ok(()),
    }
}

/// All transactions of a pool and period with their postings, first to last.
pub async fn transactions(
    db: &mut Connection,
    pool: &PoolId,
    period: &PeriodId,
) -> Result<Vec<Transaction>, StoreError> {
    let rows: Vec<TransactionRow> = sqlx::query_as(include_str!("sql/ledger_transactions_of.sql"))
        .bind(pool.as_str())
        .bind(period.as_str())
        .fetch_all(&mut *db)
        .await?;
    let postings: Vec<PostingRow> = sqlx::query_as(include_str!("sql/ledger_postings_of.sql"))
        .bind(pool.as_str())
        .bind(period.as_str())
        .fetch_all(db)
        .await?;
    let mut of: BTreeMap<TransactionId, Vec<Posting>> = BTreeMap::new();
    for row in postings {
        of.entry(row.transaction_id).or_default().push(Posting {
            to: row.node_id.map_or(Balance::Capacity, Balance::Own),
            amount: row.amount_gpu_seconds,
        });
    }
    let whole = rows.into_iter().map(|row| Transaction {
        postings: of.remove(&row.id).unwrap_or_default(),
        effective: row.effective_at,
        kind: row.kind,
        entry: Entry {
            id: row.id,
            recorded: row.recorded_at,
            command: CommandId(row.command_id),
            person: row.person_id,
            person_name: row.person_name,
            reason: row.reason,
            request: row.request_id,
        },
    });
    Ok(whole.collect())
}

/// The transaction that carried out a command.
pub async fn by_command(
    db: &mut Connection,
    command: &CommandId,
) -> Result<Option<TransactionId>, StoreError> {
    let id: Option<i64> = sqlx::query_scalar(include_str!("sql/ledger_transactions_by_command.sql"))
        .bind(&command.0)
        .fetch_optional(db)
        .await?;
    Ok(id.map(|id| TransactionId(id.unsigned_abs())))
}
