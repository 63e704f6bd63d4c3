//! The organisation file and the hosts file, both TOML.
//!
//! - [`org`]: zone, tree, people, and each node's GPU-hours or weight
//! - [`hosts`]: pools with their rules, hosts in blocks, how often they break in a simulation
//!
//! Unknown keys are refused by name: a misspelt limit that is silently ignored is worse than none. Amounts are read
//! from the file's text, not by way of floats, so that a third decimal is seen and refused.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;

use super::{BadInput, excerpt};

pub mod hosts;
pub mod org;

/// The longest file that is accepted: a hundred thousand nodes fit.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The text of a file, for finding lines and the exact text of numbers.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, BadInput> {
        let whole = |found: String, accepted: &str| BadInput {
            line: None,
            field: None,
            found,
            accepted: accepted.to_owned(),
        };
        if bytes.len() > MAX_BYTES {
            let accepted = format!("at most {MAX_BYTES}");
            return Err(whole(format!("{} bytes", bytes.len()), &accepted));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| BadInput {
            line: Some(line_of(bytes, error.valid_up_to())),
            ..whole("bytes that are not UTF-8".to_owned(), "UTF-8 text")
        })?;
        if text.trim().is_empty() {
            return Err(whole("the file is empty".to_owned(), "a TOML document"));
        }
        Ok(Self { text })
    }

    fn parse<T: DeserializeOwned>(self) -> Result<T, BadInput> {
        toml::from_str(self.text).map_err(|error| BadInput {
            line: error.span().map(|span| line_of(self.text.as_bytes(), span.start)),
            field: None,
            found: error.message().trim().to_owned(),
            accepted: "a TOML document with the documented keys".to_owned(),
        })
    }

    /// An error about the value at `span`.
    fn error(self, span: Range<usize>, field: &str, found: String, accepted: &str) -> BadInput {
        BadInput {
            line: Some(line_of(self.text.as_bytes(), span.start)),
            field: Some(field.to_owned()),
            found,
            accepted: accepted.to_owned(),
        }
    }

    /// The text of a number or string as it stands in the file, strings without their quotes.
    fn written(self, value: &'a Spanned<toml::Value>) -> &'a str {
        match value.get_ref() {
            toml::Value::String(text) => text,
            _ => self.text.get(value.span()).unwrap_or_default(),
        }
    }

    /// A whole number within bounds.
    fn whole<T>(
        self,
        value: &Spanned<i64>,
        field: &str,
        range: std::ops::RangeInclusive<i64>,
    ) -> Result<T, BadInput>
    where
        T: TryFrom<i64>,
    {
        let number = *value.get_ref();
        let fits = range
            .contains(&number)
            .then(|| T::try_from(number).ok())
            .flatten();
        fits.ok_or_else(|| {
            let accepted = format!("a whole number from {} to {}", range.start(), range.end());
            self.error(value.span(), field, number.to_string(), &accepted)
        })
    }
}

fn line_of(bytes: &[u8], offset: usize) -> u64 {
    let before = bytes.get(..offset).unwrap_or(bytes);
    1 + before.iter().fold(0, |sum, byte| sum + u64::from(*byte == b'\n'))
}
