//! Tables for spreadsheets: UTF-8, units and zone in the header, numbers as numbers, and no text that a spreadsheet
//! would run.
//!
//! *Source*: CWE-1236. A cell of text that begins like a formula or with a control character is prefixed and quoted;
//! numbers are written by another path and keep their sign.

use csv::{QuoteStyle, WriterBuilder};

/// The media type of an answer.
pub const TEXT_CSV: &str = "text/csv; charset=utf-8; header=present";

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Text that people chose, or that was made from it.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Nothing.
    Empty,
}

impl Cell {
    /// Text, or nothing.
    pub fn text(text: Option<String>) -> Self {
        text.map_or(Self::Empty, Self::Text)
    }

    fn written(self) -> String {
        match self {
            Self::Text(text) => harmless(text),
            Self::Number(number) => number.to_string(),
            Self::Empty => String::new(),
        }
    }
}

/// The same text, prefixed where a spreadsheet would take it for a formula.
fn harmless(text: String) -> String {
    let risky = |first: char| matches!(first, '=' | '+' | '-' | '@') || first.is_control();
    if text.chars().next().is_some_and(risky) {
        format!("'{text}")
    } else {
        text
    }
}

/// A table with its header. Cells that need quotes get them; so do those that were prefixed.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) -> String {
    let mut lines = vec![line(&header.map(str::to_owned))];
    lines.extend(rows.into_iter().map(|row| line(&row.map(Cell::written))));
    lines.concat()
}

fn line(cells: &[String]) -> String {
    let quote = |cell: &String| cell.starts_with('\'');
    let style = if cells.iter().any(quote) {
        QuoteStyle::NonNumeric
    } else {
        QuoteStyle::Necessary
    };
    let mut writer = WriterBuilder::new().quote_style(style).from_writer(Vec::new());
    // Writing to memory can't fail; a line that did would be left out.
    let written = writer.write_record(cells).is_ok();
    let bytes = writer.into_inner().unwrap_or_default();
    if written {
        String::from_utf8(bytes).unwrap_or_default()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_looks_like_a_formula_is_prefixed_and_quoted_and_numbers_keep_their_sign() {
        let check = |text: &str, number: i64, want: &str| {
            let cells = [Cell::Text(text.to_owned()), Cell::Number(number)];
            assert_eq!(table(["name", "hours"], [cells]), format!("name,hours\n{want}\n"));
        };
        check("=HYPERLINK(\"x\")", -500, "\"'=HYPERLINK(\"\"x\"\")\",-500");
        check("+1", 5, "\"'+1\",5");
        check("-1", 5, "\"'-1\",5");
        check("@SUM(A1)", 5, "\"'@SUM(A1)\",5");
        check("\t=1", 5, "\"'\t=1\",5");
        check("\r=1", 5, "\"'\r=1\",5");
        check("vision", -500, "vision,-500");
        check("a, b", 0, "\"a, b\",0");
    }
}
