//! How a command ends: a number for scripts and one message for people.

use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use stint_core::api::{Code, Problem};

/// The numbers, as `--help` explains them.
pub(super) const EXPLAINED: &str = "Exit codes:
  0  done, nothing found
  1  failed, or something was found (audit)
  2  bad input or usage
  3  the server can't be reached
  4  not signed in, not allowed, or not found";

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Fine,
    /// Failed, or something was found.
    Found,
    /// Bad input or usage.
    Usage,
    /// The server can't be reached.
    Unreachable,
    /// Not signed in, not allowed, or not found.
    Refused,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Found => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Refused => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub struct Failure {
    /// How it ends.
    pub exit: Exit,
    /// The message: what happened, and the mend where there is one.
    pub message: String,
    /// The problem that the server answered, if it did.
    pub problem: Option<Box<Problem>>,
}

impl Failure {
    /// A failure with a message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            problem: None,
        }
    }

    /// Bad input or usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// An error with everything that caused it.
    pub fn caused(exit: Exit, error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            // Writing to a string can't fail.
            let _ = write!(message, ": {error}");
            cause = error.source();
        }
        Self::new(exit, message)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self {
            exit: exit_of(problem.code),
            message: problem_text(&problem),
            problem: Some(Box::new(problem)),
        }
    }
}

impl From<io::Error> for Failure {
    /// A reader that went away, such as `head`, has what it wanted.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::new(Exit::Fine, "")
        } else {
            Self::new(Exit::Found, format!("can't write the answer: {error}"))
        }
    }
}

fn exit_of(code: Code) -> Exit {
    match code {
        Code::AuthRequired | Code::AuthForbidden | Code::NotFound => Exit::Refused,
        Code::Validation
        | Code::TreeCycle
        | Code::TooLarge
        | Code::MethodNotAllowed
        | Code::PreconditionRequired
        | Code::IdempotencyReused => Exit::Usage,
        Code::BudgetExceedsParent
        | Code::BudgetBelowCharged
        | Code::BudgetInsufficient
        | Code::PeriodClosed
        | Code::PreconditionFailed
        | Code::IdempotencyRunning
        | Code::Conflict
        | Code::Timeout
        | Code::FleetUnreachable
        | Code::Internal => Exit::Found,
    }
}

fn problem_text(problem: &Problem) -> String {
    let mut text = format!("{}: {}", problem.title, problem.detail);
    // One wrong field is already in the sentence.
    if problem.errors.len() > 1 {
        for error in &problem.errors {
            let _ = write!(
                text,
                "\n  {} is {:?}; accepted: {}",
                error.field, error.value, error.accepted
            );
        }
    }
    for (name, value) in &problem.numbers {
        let _ = write!(text, "\n  {name}: {value}");
    }
    if let (Code::Internal, Some(id)) = (problem.code, &problem.request_id) {
        let _ = write!(text, "\n  request {id}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_its_exit_code() {
        let check =
            |code: Code, want: u8| assert_eq!(Failure::from(Problem::new(code, "x")).exit.code(), want);
        check(Code::AuthRequired, 4);
        check(Code::AuthForbidden, 4);
        check(Code::NotFound, 4);
        check(Code::Validation, 2);
        check(Code::Conflict, 1);
        check(Code::Internal, 1);
    }

    #[test]
    fn a_problem_reads_as_one_message_with_its_fields_and_numbers() {
        let mut problem = Problem::new(Code::Validation, "two fields are wrong");
        problem.errors = Problem::field("gpus", "0", "1 or more").errors;
        problem.errors.extend(Problem::field("name", "", "a name").errors);
        let problem = problem.with_number("cap_s", 28_800);
        assert_eq!(
            problem_text(&problem),
            "Not accepted: two fields are wrong\n  gpus is \"0\"; accepted: 1 or more\n  \
             name is \"\"; accepted: a name\n  cap_s: 28800"
        );
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Failure::from(broken).exit, Exit::Fine);
    }
}
