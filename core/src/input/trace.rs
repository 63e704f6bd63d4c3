//! Recorded demand as CSV with a header line:
//! `id,submit_s,user,charged_to,gpus,hosts,min_runtime_s,duration_s,resumable,priority,kind`.
//!
//! Only `id`, `submit_s`, `charged_to`, `gpus` and `duration_s` have to be there. The rest has defaults, also where a
//! single cell is empty: the user is named like the node that pays; as few hosts as hold the GPUs; the minimum runtime
//! of the kind (never over the pool's cap), or 1 h where no kind is given; resumable; priority 0; the kind that size
//! and minimum runtime suggest. Columns of other names are ignored, with a warning.

use std::collections::BTreeMap;

use csv::{ByteRecord, ReaderBuilder};
use serde::{Deserialize, Serialize};

use super::{BadInput, Refusal, excerpt};
use crate::id::{NodeId, PersonId, WorkloadId};
use crate::org::Org;
use crate::sched::contract::{
    AfterPreemption, Fallback, Limits, PRIORITY_BOUND, Shape, Then, Topology, Workload,
};
use crate::units::{MAX_GPUS, MAX_SPAN, Seconds, Timestamp};

/// The most rows of one trace: years of demand of a large institute, and still far from filling memory.
pub const MAX_ROWS: usize = 2_000_000;
/// How many bad rows are kept with their reasons; more are only counted.
pub const MAX_ERRORS: usize = 100;
/// The longest id of a row, which becomes the workload's name in the other system.
pub const MAX_ID_CHARS: usize = 100;
/// The longest minimum runtime of debug work.
const DEBUG_MIN_RUNTIME: Seconds = Seconds::from_minutes(15);
/// The most GPUs of a workload that still counts as small, and as mid-sized.
const SMALL_GPUS: u32 = 8;
const MID_GPUS: u32 = 64;

/// The columns that must be there.
const REQUIRED: [&str; 5] = ["id", "submit_s", "charged_to", "gpus", "duration_s"];
/// The columns that may be there.
const OPTIONAL: [&str; 6] = ["user", "hosts", "min_runtime_s", "resumable", "priority", "kind"];

/// What sort of work a row is; reports group by it, the scheduler never asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A quick try on at most one host.
    Debug,
    /// A person sits in front of it.
    Interactive,
    /// At most 8 GPUs.
    Small,
    /// At most 64 GPUs.
    Mid,
    /// More than 64 GPUs.
    Large,
    /// Unallocated work that takes what is left.
    Sweep,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Debug,
        Self::Interactive,
        Self::Small,
        Self::Mid,
        Self::Large,
        Self::Sweep,
    ];

    /// The word in files and reports.
    pub fn label(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Interactive => "interactive",
            Self::Small => "small",
            Self::Mid => "mid",
            Self::Large => "large",
            Self::Sweep => "sweep",
        }
    }

    /// The minimum runtime of a row that names its kind and nothing else.
    pub fn usual_min_runtime(self) -> Seconds {
        match self {
            Self::Debug => DEBUG_MIN_RUNTIME,
            Self::Interactive | Self::Large => Seconds::from_hours(8),
            Self::Small => Seconds::from_hours(1),
            Self::Mid => Seconds::from_hours(4),
            Self::Sweep => Seconds::ZERO,
        }
    }

    /// The kind that a shape and a minimum runtime suggest.
    pub fn suggested(shape: Shape, min_runtime: Seconds) -> Self {
        match (min_runtime, shape.hosts, shape.gpus().get()) {
            (Seconds::ZERO, ..) => Self::Sweep,
            (min, 1, _) if min <= DEBUG_MIN_RUNTIME => Self::Debug,
            (.., 0..=SMALL_GPUS) => Self::Small,
            (.., 0..=MID_GPUS) => Self::Mid,
            _ => Self::Large,
        }
    }
}

/// One workload that was once submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceRow {
    /// Its name in the trace, unique within it.
    pub id: String,
    /// When it is submitted, from the beginning of the trace.
    pub submit: Seconds,
    /// Who submits it.
    pub user: PersonId,
    /// The node that pays.
    pub charged_to: NodeId,
    /// The GPUs it needs.
    pub shape: Shape,
    /// For how long it is not preempted once it runs.
    pub min_runtime: Seconds,
    /// For how long it runs, all runs together, before it finishes by itself.
    pub duration: Seconds,
    /// What a preemption does.
    pub after_preemption: AfterPreemption,
    /// Sorts within the node.
    pub priority: i32,
    /// What sort of work it is.
    pub kind: Kind,
}

impl TraceRow {
    /// The workload that this row submits, when the trace began at `began`.
    pub fn workload(&self, id: WorkloadId, began: Timestamp) -> Workload {
        Workload {
            id,
            charged_to: self.charged_to.clone(),
            submitted_by: self.user.clone(),
            shape: self.shape,
            min_runtime: self.min_runtime,
            after_preemption: self.after_preemption,
            priority: self.priority,
            then: Then::default(),
            fallback: Fallback::default(),
            grace: Seconds::ZERO,
            submitted_at: began + self.submit,
        }
    }
}

/// What the rows of a trace must fit.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a> {
    /// The nodes that may pay.
    pub org: &'a Org,
    /// The limits of the pool.
    pub limits: Limits,
}

impl Bounds<'_> {
    fn pool_gpus(&self) -> u32 {
        self.limits
            .hosts
            .saturating_mul(self.limits.gpus_per_host)
            .min(MAX_GPUS)
    }
}

/// What is done about rows that are not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRows {
    /// They are left out, reported and counted.
    Skip,
    /// The file is refused.
    Refuse,
}

/// A trace that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The rows, in the order of the file.
    pub rows: Vec<TraceRow>,
    /// Why rows were left out, at most [`MAX_ERRORS`].
    pub errors: Vec<BadInput>,
    /// How many rows were left out.
    pub skipped: u64,
    /// What else a person should know.
    pub warnings: Vec<String>,
}

/// Reads a trace.
///
/// # Errors
/// A [`Refusal`] when the file as a whole can't be used, when no row can, or when a row can't and `bad_rows` says so.
pub fn read(bytes: &[u8], bounds: &Bounds<'_>, bad_rows: BadRows) -> Result<Trace, Refusal> {
    let mut records = Records::new(bytes);
    let Some(header) = records.next()? else {
        return Err(whole_file("the file is empty", "a header line and at least one row").into());
    };
    let mut trace = Trace::default();
    let columns = Columns::new(&header, &mut trace.warnings)?;
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    let mut more = 0;
    while let Some(numbered) = records.next()? {
        if trace.rows.len() >= MAX_ROWS {
            let found = format!("more than {MAX_ROWS} rows");
            return Err(whole_file(&found, "a shorter trace, or several").into());
        }
        let read = columns
            .row(&numbered, bounds)
            .and_then(|row| match seen.get(&row.id) {
                None => Ok(row),
                Some(first) => {
                    let found = format!("{} is on line {first} already", excerpt(&row.id));
                    Err(vec![at(numbered.line, "id", found, "an id of its own")])
                }
            });
        match read {
            Ok(row) => {
                seen.insert(row.id.clone(), numbered.line);
                trace.rows.push(row);
            }
            Err(errors) => {
                trace.skipped += 1;
                for error in errors {
                    if trace.errors.len() < MAX_ERRORS {
                        trace.errors.push(error);
                    } else {
                        more += 1;
                    }
                }
            }
        }
    }
    finished(trace, more, bad_rows)
}

fn finished(trace: Trace, more: u64, bad_rows: BadRows) -> Result<Trace, Refusal> {
    if trace.skipped > 0 && (bad_rows == BadRows::Refuse || trace.rows.is_empty()) {
        return Err(Refusal {
            errors: trace.errors,
            more,
        });
    }
    if trace.rows.is_empty() {
        return Err(whole_file("the file has a header and no rows", "at least one row").into());
    }
    Ok(trace)
}

fn whole_file(found: &str, accepted: &str) -> BadInput {
    BadInput {
        line: None,
        field: None,
        found: found.to_owned(),
        accepted: accepted.to_owned(),
    }
}

fn at(line: u64, field: &str, found: String, accepted: &str) -> BadInput {
    BadInput {
        line: Some(line),
        field: Some(field.to_owned()),
        found,
        accepted: accepted.to_owned(),
    }
}

/// A record and the line it begins on.
struct Numbered {
    line: u64,
    record: ByteRecord,
}

/// The records of a file. Lines are counted here: the reader's own count is off by one after a carriage return
/// and on blank lines.
struct Records<'a> {
    bytes: &'a [u8],
    reader: csv::Reader<&'a [u8]>,
    /// Up to where lines have been counted, and how many line ends that were.
    counted: usize,
    line_ends: u64,
}

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        Self {
            bytes,
            reader,
            counted: 0,
            line_ends: 0,
        }
    }

    fn offset(&self) -> usize {
        usize::try_from(self.reader.position().byte()).map_or(self.bytes.len(), |at| at.min(self.bytes.len()))
    }

    /// The next record, or `None` at the end.
    fn next(&mut self) -> Result<Option<Numbered>, BadInput> {
        let from = self.offset();
        let mut record = ByteRecord::new();
        let more = self
            .reader
            .read_byte_record(&mut record)
            .map_err(|error| BadInput {
                line: Some(self.line_ends + 1),
                field: None,
                found: error.to_string(),
                accepted: "comma-separated values".to_owned(),
            })?;
        if !more {
            return Ok(None);
        }
        let to = self.offset().max(from);
        let blank = self.bytes[from..to]
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        let line = self.line_of(from + blank);
        // Without its closing quote a cell swallows the lines after it: nobody can say any more what the rows are.
        if count(b'"', &self.bytes[from..to]) % 2 == 1 {
            return Err(BadInput {
                line: Some(line),
                field: None,
                found: "a quote is not closed".to_owned(),
                accepted: "an even number of quotes in each row".to_owned(),
            });
        }
        Ok(Some(Numbered { line, record }))
    }

    fn line_of(&mut self, offset: usize) -> u64 {
        self.line_ends += count(b'\n', &self.bytes[self.counted..offset]);
        self.counted = offset;
        self.line_ends + 1
    }
}

fn count(wanted: u8, bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum + u64::from(*byte == wanted))
}

/// Where each known column is.
struct Columns {
    places: BTreeMap<&'static str, usize>,
    width: usize,
}

impl Columns {
    fn new(header: &Numbered, warnings: &mut Vec<String>) -> Result<Self, Refusal> {
        let mut places = BTreeMap::new();
        let mut errors = Vec::new();
        for (place, cell) in header.record.iter().enumerate() {
            let Ok(name) = std::str::from_utf8(cell) else {
                let found = format!("the name of column {} is not UTF-8", place + 1);
                errors.push(at(header.line, "header", found, "UTF-8 text"));
                continue;
            };
            let known = REQUIRED.iter().chain(&OPTIONAL).find(|known| **known == name);
            match known {
                None => warnings.push(format!("column {} is not known and is ignored", excerpt(name))),
                Some(known) => {
                    if places.insert(*known, place).is_some() {
                        errors.push(at(
                            header.line,
                            known,
                            "the column is there twice".to_owned(),
                            "each column once",
                        ));
                    }
                }
            }
        }
        for missing in REQUIRED.iter().filter(|name| !places.contains_key(**name)) {
            let accepted = format!(
                "a header with {}, and any of {}",
                REQUIRED.join(", "),
                OPTIONAL.join(", ")
            );
            errors.push(at(
                header.line,
                missing,
                "the column is missing".to_owned(),
                &accepted,
            ));
        }
        if errors.is_empty() {
            let width = header.record.len();
            Ok(Self { places, width })
        } else {
            Err(Refusal { errors, more: 0 })
        }
    }

    fn row(&self, numbered: &Numbered, bounds: &Bounds<'_>) -> Result<TraceRow, Vec<BadInput>> {
        let Numbered { line, record } = numbered;
        if record.len() != self.width {
            let found = format!("{} cells", record.len());
            let accepted = format!("{}, as many as the header has", self.width);
            return Err(vec![BadInput {
                line: Some(*line),
                field: None,
                found,
                accepted,
            }]);
        }
        let mut cells = Cells {
            columns: self,
            line: *line,
            record,
            errors: Vec::new(),
        };
        match cells.row(bounds) {
            Some(row) if cells.errors.is_empty() => Ok(row),
            _ => Err(cells.errors),
        }
    }
}

/// The cells of one row, and what was found wrong in them.
struct Cells<'a> {
    columns: &'a Columns,
    line: u64,
    record: &'a ByteRecord,
    errors: Vec<BadInput>,
}

impl<'a> Cells<'a> {
    /// The whole row. Every cell is looked at before the first error ends it, so that one run finds all.
    fn row(&mut self, bounds: &Bounds<'_>) -> Option<TraceRow> {
        let id = self.id();
        let submit = self.seconds("submit_s", 0);
        let charged_to = self.node(bounds);
        let user = self.user(charged_to.as_ref());
        let shape = self.shape(bounds);
        let duration = self.seconds("duration_s", 1);
        let after_preemption = self.after_preemption();
        let priority = self.number(
            "priority",
            -i64::from(PRIORITY_BOUND)..=i64::from(PRIORITY_BOUND),
            "",
            Some(0),
        );
        let kind = self.kind();
        let min_runtime = self.min_runtime(kind.flatten(), &bounds.limits);
        let (min_runtime, shape) = (min_runtime?, shape?);
        let row = TraceRow {
            id: id?,
            submit: submit?,
            user: user?,
            charged_to: charged_to?,
            shape,
            min_runtime,
            duration: duration?,
            after_preemption: after_preemption?,
            priority: i32::try_from(priority?).ok()?,
            kind: kind?.unwrap_or_else(|| Kind::suggested(shape, min_runtime)),
        };
        let workload = row.workload(WorkloadId(0), Timestamp::default());
        for misfit in workload.misfits(&bounds.limits) {
            self.refuse(misfit.field, excerpt(&misfit.value), &misfit.accepted);
        }
        Some(row)
    }

    fn refuse(&mut self, field: &str, found: String, accepted: &str) {
        self.errors.push(at(self.line, field, found, accepted));
    }

    /// The text of a cell; `Some("")` where the column is missing or the cell is empty, `None` where it can't be read.
    fn text(&mut self, column: &str) -> Option<&'a str> {
        let cell = self
            .columns
            .places
            .get(column)
            .and_then(|place| self.record.get(*place));
        let text = std::str::from_utf8(cell.unwrap_or_default());
        if text.is_err() {
            self.refuse(column, "bytes that are not UTF-8".to_owned(), "UTF-8 text");
        }
        text.ok()
    }

    fn id(&mut self) -> Option<String> {
        let text = self.text("id")?;
        let fits = (1..=MAX_ID_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        if !fits {
            let accepted = format!("1 to {MAX_ID_CHARS} characters, none of them a control character");
            self.refuse("id", excerpt(text), &accepted);
        }
        fits.then(|| text.to_owned())
    }

    /// A whole number within bounds. `note` says where the bounds come from.
    fn number(
        &mut self,
        column: &str,
        range: std::ops::RangeInclusive<i64>,
        note: &str,
        default: Option<i64>,
    ) -> Option<i64> {
        let text = self.text(column)?;
        if let ("", Some(default)) = (text, default) {
            return Some(default);
        }
        let number = text.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let accepted = format!("a whole number from {} to {}{note}", range.start(), range.end());
            self.refuse(column, excerpt(text), &accepted);
        }
        number
    }

    fn seconds(&mut self, column: &str, least: i64) -> Option<Seconds> {
        self.number(column, least..=MAX_SPAN.get(), " (ten years)", None)
            .map(Seconds)
    }

    fn node(&mut self, bounds: &Bounds<'_>) -> Option<NodeId> {
        let text = self.text("charged_to")?;
        let known = text.parse().ok().filter(|id| bounds.org.find(id).is_some());
        if known.is_none() {
            self.refuse(
                "charged_to",
                excerpt(text),
                "the id of an organisation node that exists",
            );
        }
        known
    }

    fn user(&mut self, charged_to: Option<&NodeId>) -> Option<PersonId> {
        let text = match self.text("user")? {
            "" => charged_to?.as_str(),
            text => text,
        };
        let user = text.parse::<PersonId>();
        if let Err(error) = &user {
            self.refuse("user", error.to_string(), "the id of a person, or nothing");
        }
        user.ok()
    }

    fn shape(&mut self, bounds: &Bounds<'_>) -> Option<Shape> {
        let pool = bounds.pool_gpus();
        let gpus = self.number("gpus", 1..=pool.into(), " (the pool's GPUs)", None);
        let gpus = u32::try_from(gpus?).ok()?;
        let fewest = gpus.div_ceil(bounds.limits.gpus_per_host.max(1));
        let most = bounds.limits.hosts.max(1);
        let hosts = self.number(
            "hosts",
            fewest.into()..=most.into(),
            " (the fewest that hold the GPUs, the pool's hosts)",
            Some(fewest.into()),
        );
        let hosts = u32::try_from(hosts?).ok()?;
        if hosts == 0 || gpus % hosts != 0 {
            self.refuse(
                "hosts",
                format!("{gpus} GPUs on {hosts} hosts"),
                "a number of hosts that divides the GPUs evenly",
            );
            return None;
        }
        Some(Shape {
            hosts,
            gpus_per_host: gpus / hosts,
            topology: Topology::default(),
        })
    }

    fn after_preemption(&mut self) -> Option<AfterPreemption> {
        match self.text("resumable")? {
            "" | "true" | "yes" | "1" => Some(AfterPreemption::Requeue),
            "false" | "no" | "0" => Some(AfterPreemption::End),
            other => {
                self.refuse("resumable", excerpt(other), "true or false");
                None
            }
        }
    }

    /// The kind that is named, if any; `None` when it is not a kind.
    #[expect(
        clippy::option_option,
        reason = "unreadable, absent and named are three answers"
    )]
    fn kind(&mut self) -> Option<Option<Kind>> {
        let text = self.text("kind")?;
        if text.is_empty() {
            return Some(None);
        }
        let kind = Kind::ALL.into_iter().find(|kind| kind.label() == text);
        if kind.is_none() {
            let accepted = Kind::ALL.map(Kind::label).join(", ");
            self.refuse("kind", excerpt(text), &accepted);
        }
        kind.map(Some)
    }

    /// Whether it lies between the shortest and the pool's cap is the contract's to say.
    fn min_runtime(&mut self, kind: Option<Kind>, limits: &Limits) -> Option<Seconds> {
        let usual = kind.map_or(Seconds::from_hours(1), Kind::usual_min_runtime);
        let usual = usual.min(limits.cap).get();
        let note = format!(" (the pool's cap is {})", limits.cap.get());
        self.number("min_runtime_s", 0..=MAX_SPAN.get(), &note, Some(usual))
            .map(Seconds)
    }
}

#[cfg(test)]
mod tests;
