//! Cursors: where the next page of a list goes on. Opaque to those who ask, so that they can change.
//!
//! A cursor holds the sort key of the last row of a page, never an offset: rows that come or go meanwhile neither
//! repeat nor hide others.

use stint_core::api::{DEFAULT_PAGE, MAX_PAGE, Problem};

use crate::hex;

/// Writes a cursor for a key of a kind of list.
pub fn write(kind: &str, key: &str) -> String {
    hex::write(format!("{kind}:{key}").as_bytes())
}

/// Reads the key of a cursor that was written for this kind of list.
///
/// # Errors
/// A problem that names the field, when it is not one of ours.
pub fn read(kind: &str, cursor: &str) -> Result<String, Problem> {
    let wrong = || Problem::field("after", cursor, "the `next` of an earlier page of the same list");
    let text = hex::read(cursor).and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(wrong)?;
    match text.split_once(':') {
        Some((found, key)) if found == kind => Ok(key.to_owned()),
        _ => Err(wrong()),
    }
}

/// How many rows a page gets.
///
/// # Errors
/// A problem that names the field, beyond what is accepted.
pub fn page_size(asked: Option<u16>) -> Result<u16, Problem> {
    match asked {
        None => Ok(DEFAULT_PAGE),
        Some(limit) if (1..=MAX_PAGE).contains(&limit) => Ok(limit),
        Some(limit) => Err(Problem::field(
            "limit",
            limit.to_string(),
            format!("1 to {MAX_PAGE}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_reads_as_it_was_written_and_only_for_its_list(key in "\\PC{0,40}") {
            let cursor = write("nodes", &key);
            prop_assert_eq!(read("nodes", &cursor).unwrap(), key);
            prop_assert!(read("queue", &cursor).is_err());
        }

        #[test]
        fn no_text_makes_reading_a_cursor_fail_badly(text in "\\PC{0,40}") {
            let _ = read("nodes", &text);
        }
    }

    #[test]
    fn a_page_has_one_to_two_hundred_rows() {
        assert_eq!(page_size(None), Ok(100));
        assert_eq!(page_size(Some(1)), Ok(1));
        assert_eq!(page_size(Some(200)), Ok(200));
        assert!(page_size(Some(0)).is_err());
        assert!(page_size(Some(201)).is_err());
    }
}
