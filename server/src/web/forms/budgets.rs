//! `POST /budgets/{period}/transfers`: moves hours from one node to another.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use stint_core::api::budgets::TransferRequest;
use stint_core::api::{Code, Problem};
use stint_core::id::{NodeId, PeriodId, PoolId};
use stint_core::units::{GpuSeconds, HoursError};
use tower_sessions::Session;

use super::fields::Fields;
use super::{Back, KEY_FIELD, answer, encoded, key};
use crate::service::{Caller, IdempotencyKey, Service};

const KNOWN: [&str; 6] = ["pool", "from", "to", "hours", "reason", KEY_FIELD];

pub(super) async fn transfer(
    State(service): State<Arc<Service>>,
    Path(period): Path<String>,
    Extension(caller): Extension<Caller>,
    session: Session,
    fields: Fields,
) -> Response {
    let page = format!("/budgets/{}", encoded(&period));
    let back = Back::to(match fields.reading(&KNOWN).text("pool") {
        Some(pool) => format!("{page}?pool={}&dialog=move", encoded(pool)),
        None => format!("{page}?dialog=move"),
    });
    let done = moved(&service, &caller, &period, &fields).await;
    answer(&session, fields, back, done).await
}

async fn moved(service: &Service, caller: &Caller, period: &str, fields: &Fields) -> Result<String, Problem> {
    caller.person()?;
    let period: PeriodId = period
        .parse()
        .map_err(|_| Problem::new(Code::NotFound, "There is no such period."))?;
    let (request, key) = read(fields)?;
    let pool = request.pool.clone();
    let transfer = service.transfer(caller, &period, &key, request).await?;
    Ok(format!(
        "/budgets/{period}?pool={pool}&moved={}",
        encoded(&transfer.id.to_string())
    ))
}

fn read(fields: &Fields) -> Result<(TransferRequest, IdempotencyKey), Problem> {
    let mut form = fields.reading(&KNOWN);
    let pool: Option<PoolId> = form.value("pool", "a pool");
    let from: Option<NodeId> = form.value("from", "a node that gives");
    let to: Option<NodeId> = form.value("to", "a node that receives");
    let hours = form.required("hours", "GPU-hours, such as 500 or 12.25");
    let amount = if hours.is_empty() {
        None
    } else {
        match GpuSeconds::from_hours_text(&hours) {
            Ok(amount) => Some(amount),
            Err(error) => {
                form.refuse("hours", accepted_hours(&error));
                None
            }
        }
    };
    let reason = form.required("reason", "a sentence that says why; it is kept in the ledger");
    let key = key(&mut form);
    form.finish()?;
    match (pool, from, to, amount, key) {
        (Some(pool), Some(from), Some(to), Some(amount_gpu_seconds), Some(key)) => Ok((
            TransferRequest {
                pool,
                from,
                to,
                amount_gpu_seconds,
                reason,
            },
            key,
        )),
        _ => Err(Problem::field("form", "", "all fields")),
    }
}

fn accepted_hours(error: &HoursError) -> &'static str {
    match error {
        HoursError::NotANumber => "a number such as 500 or 12.25",
        HoursError::Negative => "a number above 0; to move the other way, swap the two nodes",
        HoursError::TooManyDecimals => "at most two decimals; 0.01 is the smallest amount",
        HoursError::TooLarge => "no more than any pool can hold",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(hours: &str, reason: &str) -> Fields {
        Fields::of(&[
            ("pool", "philly"),
            ("from", "a"),
            ("to", "b"),
            ("hours", hours),
            ("reason", reason),
            (KEY_FIELD, "k"),
        ])
    }

    #[test]
    fn hours_are_read_as_typed_and_never_rounded() {
        let (request, key) = read(&form("1,200.25", "new project")).unwrap();
        assert_eq!(request.amount_gpu_seconds, GpuSeconds(4_320_900));
        assert_eq!(key.as_str(), "k");
        for (hours, says) in [
            ("0.001", "two decimals"),
            ("-5", "swap"),
            ("x", "a number"),
            ("", "GPU-hours"),
        ] {
            let problem = read(&form(hours, "r")).unwrap_err();
            let error = &problem.errors[0];
            assert_eq!(error.field, "hours");
            assert!(error.accepted.contains(says), "{hours}: {}", error.accepted);
        }
    }

    #[test]
    fn a_reason_is_required() {
        let problem = read(&form("5", "  ")).unwrap_err();
        assert_eq!(problem.errors[0].field, "reason");
    }
}
