//! Changes of budgets: moves between two nodes, and setting a grant.
//!
//! Core's book decides what may be given; here the decision is written: the transaction with its postings, the
//! balances it changed, the line in the audit log and the answer under its key, all or nothing.

use serde_json::json;
use stint_core::api::budgets::{BudgetRow, SetBudget, Transfer, TransferRequest, TransferSide};
use stint_core::api::session::Me;
use stint_core::api::{Code, FieldError, Problem};
use stint_core::authz::Action;
use stint_core::id::{NodeId, PeriodId};
use stint_core::ledger::{Applied, CommandId, Entry, LedgerError, Row, Transaction};
use stint_core::org::NodeIx;
use stint_core::units::GpuSeconds;

use super::access::Access;
use super::budgets::{Budgets, budget_row};
use super::ground::Ground;
use super::idempotency::Request;
use super::{Caller, IdempotencyKey, Service, Topic, audit, text};
use crate::store::{Connection, commit, ledger};

/// The version of a grant that whoever wants to set it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(pub u64);

/// What a use case knows when it comes to writing.
struct Writing<'a> {
    caller: &'a Caller,
    me: &'a Me,
    ground: &'a Ground,
    reason: &'a str,
}

impl Service {
    /// Moves GPU time out of the own part of one node into that of another.
    pub async fn transfer(
        &self,
        caller: &Caller,
        period: &PeriodId,
        key: &IdempotencyKey,
        request: TransferRequest,
    ) -> Result<Transfer, Problem> {
        let me = caller.person()?;
        check_request(
            "amount_gpu_seconds",
            request.amount_gpu_seconds,
            Least::MoreThanNothing,
            &request.reason,
        )?;
        let mut db = self.store.write().await?;
        let ground = self.ground(&mut db).await?;
        let from = ground.node("from", &request.from)?;
        let to = ground.node("to", &request.to)?;
        Access::new(&ground.organisation.org, me).check(Action::MoveHours, &[from, to])?;
        let once = Request::new(me, key, &format!("transfer {period}"), &request)?;
        if let Some(answer) = once.answered(&mut db).await? {
            return Ok(answer);
        }
        let mut budgets = Budgets::load(&mut db, &ground, period, Some(&request.pool)).await?;
        let writing = Writing {
            caller,
            me,
            ground: &ground,
            reason: &request.reason,
        };
        let command = format!("{}/{}", me.person, key.as_str());
        let entry = writing.entry(&mut db, command).await?;
        let transaction = budgets.book.move_hours(
            entry,
            &request.from,
            &request.to,
            request.amount_gpu_seconds,
            &budgets.used,
        )?;
        let before = (
            budgets.row(&request.from, &ground)?,
            budgets.row(&request.to, &ground)?,
        );
        writing.apply(&mut db, &mut budgets, &transaction).await?;
        let after = (
            budgets.row(&request.from, &ground)?,
            budgets.row(&request.to, &ground)?,
        );
        let answer = Transfer {
            id: transaction.entry.id,
            effective: ground.moment.time(transaction.effective),
            amount_gpu_seconds: request.amount_gpu_seconds,
            from: side(&ground, from, &before.0, &after.0),
            to: side(&ground, to, &before.1, &after.1),
        };
        once.keep(&mut db, &answer, ground.moment.now).await?;
        writing
            .note(
                &mut db,
                "budget.move",
                answer.id.to_string(),
                None,
                &json!(answer),
            )
            .await?;
        commit(db).await?;
        self.budgets_changed(&request.pool);
        Ok(answer)
    }

    /// Sets the grant of a node; the difference comes from or goes to the own part of the node above.
    pub async fn set_budget(
        &self,
        caller: &Caller,
        period: &PeriodId,
        node: &NodeId,
        expected: Option<Expected>,
        request: SetBudget,
    ) -> Result<BudgetRow, Problem> {
        let me = caller.person()?;
        check_request(
            "granted_gpu_seconds",
            request.granted_gpu_seconds,
            Least::Nothing,
            &request.reason,
        )?;
        let mut db = self.store.write().await?;
        let ground = self.ground(&mut db).await?;
        let org = &ground.organisation.org;
        let ix = org
            .find(node)
            .ok_or_else(|| Problem::new(Code::NotFound, format!("There is no organisation node {node}.")))?;
        let access = Access::new(org, me);
        access.check(Action::SetBudget, &[ix])?;
        let Some(Expected(expected)) = expected else {
            return Err(Problem::new(
                Code::PreconditionRequired,
                "Send If-Match with the version of the budget that you have seen.",
            ));
        };
        let mut budgets = Budgets::load(&mut db, &ground, period, Some(&request.pool)).await?;
        let version = budgets.version(org, ix);
        let before = budgets.row(node, &ground)?;
        if version != expected {
            return Err(changed_meanwhile(&ground, ix, &before, version));
        }
        let writing = Writing {
            caller,
            me,
            ground: &ground,
            reason: &request.reason,
        };
        let command = format!("set/{}/{period}/{node}/{version}", request.pool);
        let entry = writing.entry(&mut db, command).await?;
        let transaction = budgets
            .book
            .set_gross(entry, node, request.granted_gpu_seconds, &budgets.used)?;
        writing.apply(&mut db, &mut budgets, &transaction).await?;
        let after = budgets.row(node, &ground)?;
        let (old, new) = (
            json!({"granted_gpu_seconds": before.granted}),
            json!({"granted_gpu_seconds": after.granted}),
        );
        writing
            .note(
                &mut db,
                "budget.set",
                format!("{node} {period} {}", request.pool),
                Some(&old),
                &new,
            )
            .await?;
        let answer = budget_row(&ground, &access, &budgets, ix, &after, None);
        commit(db).await?;
        self.budgets_changed(&request.pool);
        Ok(answer)
    }

    fn budgets_changed(&self, pool: &stint_core::id::PoolId) {
        self.hub.wake();
        self.hub.announce(Topic::Budgets(pool.clone()));
    }
}

impl Budgets<'_> {
    fn row(&self, node: &NodeId, ground: &Ground) -> Result<Row, LedgerError> {
        let row = self.book.row(node, ground.moment.now);
        row.ok_or_else(|| LedgerError::UnknownNode(node.clone()))
    }
}

impl Writing<'_> {
    /// The head of a transaction that is about to be written.
    async fn entry(&self, db: &mut Connection, command: String) -> Result<Entry, Problem> {
        Ok(Entry {
            id: ledger::next_id(db).await?,
            recorded: self.ground.moment.now,
            command: CommandId(command),
            person: self.me.person.clone(),
            person_name: self.me.name.clone(),
            reason: self.reason.to_owned(),
            request: Some(self.caller.request_id.clone()).filter(|id| !id.is_empty()),
        })
    }

    /// Applies a transaction to the book and writes it with the balances it changed.
    async fn apply(
        &self,
        db: &mut Connection,
        budgets: &mut Budgets<'_>,
        transaction: &Transaction,
    ) -> Result<(), Problem> {
        let (pool, period) = (&budgets.pool.id, &budgets.period.id);
        let Applied::New(changed) = budgets.book.apply(transaction)? else {
            return Err(LedgerError::CommandReused(transaction.entry.command.clone()).into());
        };
        ledger::insert(db, pool, period, transaction).await?;
        for balance in &changed {
            ledger::put_balance(db, pool, period, balance).await?;
        }
        Ok(())
    }

    async fn note(
        &self,
        db: &mut Connection,
        action: &str,
        subject: String,
        before: Option<&serde_json::Value>,
        after: &serde_json::Value,
    ) -> Result<(), Problem> {
        let change = audit::Change {
            action,
            subject,
            before,
            after: Some(after),
            reason: Some(self.reason),
        };
        audit::note(db, self.caller, self.me, self.ground.moment.now, change).await
    }
}

/// The least amount that a request may name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Least {
    Nothing,
    MoreThanNothing,
}

/// Amount and reason, before anything is loaded. No number stands for "unlimited".
fn check_request(field: &str, amount: GpuSeconds, least: Least, reason: &str) -> Result<(), Problem> {
    let least_s = match least {
        Least::Nothing => 0,
        Least::MoreThanNothing => 1,
    };
    let mut errors: Vec<FieldError> = text::check("reason", reason, text::MAX_REASON)
        .err()
        .into_iter()
        .collect();
    if !(GpuSeconds(least_s)..=GpuSeconds::MAX_INPUT).contains(&amount) {
        errors.push(FieldError {
            field: field.to_owned(),
            value: amount.0.to_string(),
            accepted: format!(
                "a whole number of GPU-seconds from {least_s} to {}",
                GpuSeconds::MAX_INPUT.0
            ),
        });
    }
    not_accepted(errors)
}

/// One problem for all fields that were not accepted.
pub(super) fn not_accepted(errors: Vec<FieldError>) -> Result<(), Problem> {
    let sentences: Vec<String> = errors
        .iter()
        .map(|error| {
            format!(
                "{} is {:?}; accepted: {}",
                error.field, error.value, error.accepted
            )
        })
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(Problem {
        errors,
        ..Problem::new(Code::Validation, sentences.join(". "))
    })
}

fn changed_meanwhile(ground: &Ground, ix: NodeIx, now: &Row, version: u64) -> Problem {
    let name = &ground.organisation.org.node(ix).name;
    let sentence = format!(
        "Somebody changed the budget of {name} meanwhile; it has {} GPU-h now.",
        now.granted.hours_text()
    );
    Problem::new(Code::PreconditionFailed, sentence)
        .with_number("granted_gpu_seconds", now.granted.0)
        .with_number("version", i64::try_from(version).unwrap_or(i64::MAX))
}

fn side(ground: &Ground, ix: NodeIx, before: &Row, after: &Row) -> TransferSide {
    TransferSide {
        node: before.node.clone(),
        name: ground.organisation.org.node(ix).name.clone(),
        before_gpu_seconds: before.granted,
        after_gpu_seconds: after.granted,
        rate_before: before.rate_gpus,
        rate_after: after.rate_gpus,
    }
}
