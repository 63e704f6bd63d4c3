//! Free text that people send: bounded, and without characters that could forge lines in logs and tables.

use stint_core::api::FieldError;

/// The longest name of a workload, or of one in another system.
pub(super) const MAX_NAME: usize = 200;
/// The longest reason: a few sentences.
pub(super) const MAX_REASON: usize = 500;

/// Whether a text is there, short enough and without control characters.
///
/// # Errors
/// The field, and what would be accepted.
pub(super) fn check(field: &str, text: &str, longest: usize) -> Result<(), FieldError> {
    let length = text.chars().count();
    let plain = !text.chars().any(char::is_control);
    if !text.trim().is_empty() && length <= longest && plain {
        return Ok(());
    }
    // The value is echoed to the one who sent it; far too long ones are cut.
    Err(FieldError {
        field: field.to_owned(),
        value: text.chars().take(longest).collect(),
        accepted: format!("1 to {longest} characters without control characters"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_there_short_and_on_one_line() {
        let check = |text: &str, fine: bool| assert_eq!(check("name", text, 5).is_ok(), fine, "{text:?}");
        check("a", true);
        check("héllo", true);
        check("", false);
        check("   ", false);
        check("abcdef", false);
        check("a\nb", false);
        check("a\u{1b}", false);
    }
}
