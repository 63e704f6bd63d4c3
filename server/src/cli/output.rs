//! The one place that writes answers: tables for people, JSON for machines.

use std::io::{self, IsTerminal, Write};

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::exit::Failure;

/// For whom answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Tables and sentences.
    Human,
    /// JSON.
    Json,
}

/// Where answers go.
pub struct Output {
    form: Form,
    out: Box<dyn Write>,
    width: Option<u16>,
}

impl Output {
    /// Standard output.
    pub fn stdout(form: Form) -> Self {
        let out = io::stdout();
        let size = out
            .is_terminal()
            .then(|| console::Term::stdout().size_checked())
            .flatten();
        Self {
            form,
            out: Box::new(out),
            width: size.map(|(_rows, columns)| columns),
        }
    }

    /// For whom answers are written.
    pub fn form(&self) -> Form {
        self.form
    }

    /// A sentence, followed by a line end.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{text}")?)
    }

    /// A value as JSON.
    pub fn value(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.out, value).map_err(io::Error::from)?;
        Ok(writeln!(self.out)?)
    }

    /// A table; `numbers` are the columns to align right.
    pub fn table(
        &mut self,
        header: &[&str],
        numbers: &[usize],
        rows: Vec<Vec<String>>,
    ) -> Result<(), Failure> {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
        table.set_header(header.iter().copied());
        table.add_rows(rows);
        for at in numbers {
            if let Some(column) = table.column_mut(*at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        if let Some(width) = self.width {
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width);
        }
        self.line(&table.trim_fmt())
    }

    /// Raw bytes, such as a completion script.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(self.out.write_all(bytes)?)
    }

    /// Makes sure that everything is written.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// A bar on standard error while something long goes on; nothing when that is not a terminal.
pub fn progress(what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {human_pos} {elapsed_precise} {spinner}");
    let bar = ProgressBar::no_length().with_message(what);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn numbers_are_aligned_right_under_their_header() {
        let page = Page::default();
        let mut output = Output {
            form: Form::Human,
            out: Box::new(page.clone()),
            width: None,
        };
        let rows = vec![vec!["a".to_owned(), "7".to_owned()]];
        output.table(&["name", "GPUs"], &[1], rows).unwrap();
        let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        assert!(
            text.contains(" a    ") && text.lines().any(|l| l.ends_with("   7")),
            "{text}"
        );
    }
}
