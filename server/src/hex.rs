//! Bytes as text: two hexadecimal digits each.

use std::fmt::Write as _;

/// Writes bytes.
pub fn write(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing to a string can't fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Reads bytes; `None` when the text is not pairs of hexadecimal digits.
pub fn read(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_read_as_they_were_written(bytes in prop::collection::vec(any::<u8>(), 0..40), text in "\\PC{0,20}") {
            prop_assert_eq!(read(&write(&bytes)), Some(bytes));
            prop_assert!(read(&text).is_none_or(|bytes| write(&bytes) == text.to_ascii_lowercase()));
        }
    }
}
