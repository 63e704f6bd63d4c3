//! What every error becomes at the edge. *Source*: RFC 9457.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A stable name for each kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Code {
    /// Nobody is signed in.
    #[serde(rename = "auth/required")]
    AuthRequired,
    /// The person may see it but not do this.
    #[serde(rename = "auth/forbidden")]
    AuthForbidden,
    /// It does not exist, or is hidden from this person.
    #[serde(rename = "not-found")]
    NotFound,
    /// A field is wrong; `errors` names it, its value and what would be accepted.
    #[serde(rename = "validation")]
    Validation,
    /// A grant would exceed what the parent can still give.
    #[serde(rename = "budget/exceeds-parent")]
    BudgetExceedsParent,
    /// A grant would fall below what was already accrued, charged or held.
    #[serde(rename = "budget/below-charged")]
    BudgetBelowCharged,
    /// The giving node has less than the amount that can still be moved.
    #[serde(rename = "budget/insufficient")]
    BudgetInsufficient,
    /// The period is over.
    #[serde(rename = "period/closed")]
    PeriodClosed,
    /// A node would become its own ancestor.
    #[serde(rename = "tree/cycle")]
    TreeCycle,
    /// `If-Match` is needed.
    #[serde(rename = "precondition/required")]
    PreconditionRequired,
    /// Somebody changed it meanwhile.
    #[serde(rename = "precondition/failed")]
    PreconditionFailed,
    /// The idempotency key was used for another request.
    #[serde(rename = "idempotency/reused")]
    IdempotencyReused,
    /// The request with this key is still under way.
    #[serde(rename = "idempotency/running")]
    IdempotencyRunning,
    /// It can't be done in the present state.
    #[serde(rename = "conflict")]
    Conflict,
    /// The body is larger than accepted.
    #[serde(rename = "too-large")]
    TooLarge,
    /// The method is not one of this address.
    #[serde(rename = "method-not-allowed")]
    MethodNotAllowed,
    /// The request took too long.
    #[serde(rename = "timeout")]
    Timeout,
    /// The fleet can't be reached.
    #[serde(rename = "fleet/unreachable")]
    FleetUnreachable,
    /// Our fault; the request id finds it in the log.
    #[serde(rename = "internal")]
    Internal,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 19] = [
        Self::AuthRequired,
        Self::AuthForbidden,
        Self::NotFound,
        Self::Validation,
        Self::BudgetExceedsParent,
        Self::BudgetBelowCharged,
        Self::BudgetInsufficient,
        Self::PeriodClosed,
        Self::TreeCycle,
        Self::PreconditionRequired,
        Self::PreconditionFailed,
        Self::IdempotencyReused,
        Self::IdempotencyRunning,
        Self::Conflict,
        Self::TooLarge,
        Self::MethodNotAllowed,
        Self::Timeout,
        Self::FleetUnreachable,
        Self::Internal,
    ];

    /// The HTTP status that goes with it.
    pub fn status(self) -> u16 {
        match self {
            Self::AuthRequired => 401,
            Self::AuthForbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Timeout => 408,
            Self::BudgetExceedsParent
            | Self::BudgetBelowCharged
            | Self::BudgetInsufficient
            | Self::PeriodClosed
            | Self::TreeCycle
            | Self::IdempotencyRunning
            | Self::Conflict => 409,
            Self::PreconditionFailed => 412,
            Self::TooLarge => 413,
            Self::Validation | Self::IdempotencyReused => 422,
            Self::PreconditionRequired => 428,
            Self::Internal => 500,
            Self::FleetUnreachable => 503,
        }
    }

    /// A short title for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::AuthRequired => "Sign in first",
            Self::AuthForbidden => "Not allowed",
            Self::NotFound => "Not found",
            Self::Validation => "Not accepted",
            Self::BudgetExceedsParent => "More than the node above can give",
            Self::BudgetBelowCharged => "Below what is already used",
            Self::BudgetInsufficient => "Not enough hours left to move",
            Self::PeriodClosed => "The period is over",
            Self::TreeCycle => "A node can't be its own ancestor",
            Self::PreconditionRequired => "If-Match is needed",
            Self::PreconditionFailed => "Changed meanwhile",
            Self::IdempotencyReused => "The key was used for another request",
            Self::IdempotencyRunning => "Still under way",
            Self::Conflict => "Not possible in this state",
            Self::TooLarge => "Too large",
            Self::MethodNotAllowed => "Method not allowed",
            Self::Timeout => "Took too long",
            Self::FleetUnreachable => "The fleet can't be reached",
            Self::Internal => "Something went wrong here",
        }
    }
}

/// A field that was not accepted: which, what it held, what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// The field.
    pub field: String,
    /// What it held.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

/// An error as REST answers it (`application/problem+json`) and the screens show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[error("{title}: {detail}")]
pub struct Problem {
    /// The stable name.
    pub code: Code,
    /// A short title.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, in a sentence.
    pub detail: String,
    /// The fields that were not accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The numbers that failed, by name; GPU-seconds where the name says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, i64>,
    /// Finds the request in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Problem {
    /// A problem of a kind, with a sentence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            errors: Vec::new(),
            numbers: BTreeMap::new(),
            request_id: None,
        }
    }

    /// One field that was not accepted.
    pub fn field(field: impl Into<String>, value: impl Into<String>, accepted: impl Into<String>) -> Self {
        let error = FieldError {
            field: field.into(),
            value: value.into(),
            accepted: accepted.into(),
        };
        let detail = format!(
            "{} is {:?}; accepted: {}",
            error.field, error.value, error.accepted
        );
        Self {
            errors: vec![error],
            ..Self::new(Code::Validation, detail)
        }
    }

    /// The same with a number that failed.
    #[must_use]
    pub fn with_number(mut self, name: &str, value: i64) -> Self {
        self.numbers.insert(name.to_owned(), value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_name_and_a_title() {
        let mut names: Vec<String> = Code::ALL
            .iter()
            .map(|code| serde_json::to_string(code).unwrap())
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        assert!(
            Code::ALL
                .iter()
                .all(|code| !code.title().is_empty() && (400..600).contains(&code.status()))
        );
    }
}
