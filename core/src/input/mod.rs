//! What institutes bring along: recorded demand, their organisation, their hosts. Bytes in, values out.
//!
//! - [`trace`]: workloads that were once submitted, as CSV
//! - [`layout`]: organisation, people, budgets, pools and hosts, as TOML (feature `input`)
//!
//! Invariant: whatever the bytes are, a reader ends with values that fit each other or with [`BadInput`]s that say
//! where, what was found and what would have been accepted. It never panics and never guesses silently. Reading files
//! and writing to the store are the server's.

use std::fmt;

use serde::Serialize;

#[cfg(feature = "input")]
pub mod layout;
pub mod trace;

/// How much of a strange value an error repeats: enough to find it, not enough to flood a terminal.
const EXCERPT_CHARS: usize = 60;

/// Something in a file that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct BadInput {
    /// The line, from 1; absent when it concerns the file as a whole.
    pub line: Option<u64>,
    /// The column or key.
    pub field: Option<String>,
    /// What was found.
    pub found: String,
    /// What would be accepted.
    pub accepted: String,
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, &self.field) {
            (Some(line), Some(field)) => write!(f, "line {line}, {field}: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            (None, Some(field)) => write!(f, "{field}: ")?,
            (None, None) => {}
        }
        write!(f, "{}; accepted: {}", self.found, self.accepted)
    }
}

/// A file that is refused, with everything that was found wrong up to a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Refusal {
    /// What is wrong, in the order of the file.
    pub errors: Vec<BadInput>,
    /// How many more were found and not kept.
    pub more: u64,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.errors.iter().enumerate() {
            write!(f, "{}{error}", if at == 0 { "" } else { "\n" })?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl From<BadInput> for Refusal {
    fn from(error: BadInput) -> Self {
        Self {
            errors: vec![error],
            more: 0,
        }
    }
}

/// A value as an error shows it: quoted, control characters escaped, shortened.
fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(EXCERPT_CHARS).collect();
    if short.len() == text.len() {
        format!("{short:?}")
    } else {
        format!("{short:?} and more")
    }
}
