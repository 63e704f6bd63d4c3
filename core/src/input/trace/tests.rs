use proptest::prelude::*;

use super::*;
use crate::org::{Node, NodeKind};

const HEADER: &str =
    "id,submit_s,user,charged_to,gpus,hosts,min_runtime_s,duration_s,resumable,priority,kind";

fn org() -> Org {
    let node = |id: &str, parent: Option<&str>| Node {
        id: id.parse().unwrap(),
        parent: parent.map(|parent| parent.parse().unwrap()),
        kind: NodeKind::Team,
        name: id.to_owned(),
    };
    Org::new(vec![
        node("lab", None),
        node("robots", Some("lab")),
        node("vision", Some("lab")),
    ])
    .unwrap()
}

fn read_with(bytes: &[u8], bad_rows: BadRows) -> Result<Trace, Refusal> {
    let org = org();
    let limits = Limits {
        hosts: 4,
        gpus_per_host: 8,
        ..Limits::default()
    };
    read(bytes, &Bounds { org: &org, limits }, bad_rows)
}

/// Reads one row below the full header, strictly.
fn row(text: &str) -> Result<TraceRow, String> {
    let file = format!("{HEADER}\n{text}\n");
    let trace = read_with(file.as_bytes(), BadRows::Refuse).map_err(|refusal| refusal.to_string())?;
    Ok(trace.rows[0].clone())
}

#[test]
fn a_full_row_is_read_as_it_stands() {
    let row = row("a-1,60,ana,robots,16,2,7200,9000,false,-3,mid").unwrap();
    assert_eq!(row.id, "a-1");
    assert_eq!((row.submit, row.duration), (Seconds(60), Seconds(9_000)));
    assert_eq!((row.user.as_str(), row.charged_to.as_str()), ("ana", "robots"));
    assert_eq!((row.shape.hosts, row.shape.gpus_per_host), (2, 8));
    assert_eq!(row.min_runtime, Seconds::from_hours(2));
    assert_eq!(row.after_preemption, AfterPreemption::End);
    assert_eq!((row.priority, row.kind), (-3, Kind::Mid));
}

#[test]
fn what_is_not_given_has_the_stated_defaults() {
    let file = b"gpus,id,duration_s,charged_to,submit_s\n12,x,60,vision,0\n";
    let trace = read_with(file, BadRows::Refuse).unwrap();
    let row = &trace.rows[0];
    assert_eq!(row.user.as_str(), "vision");
    assert_eq!((row.shape.hosts, row.shape.gpus_per_host), (2, 6));
    assert_eq!(row.min_runtime, Seconds::from_hours(1));
    assert_eq!(row.after_preemption, AfterPreemption::Requeue);
    assert_eq!((row.priority, row.kind), (0, Kind::Mid));
    assert_eq!(trace.warnings, Vec::<String>::new());
}

#[test]
fn the_minimum_runtime_of_a_kind_never_exceeds_the_cap() {
    let check = |kind: &str, want: i64| {
        let row = row(&format!("x,0,,robots,1,,,60,,,{kind}")).unwrap();
        assert_eq!(row.min_runtime, Seconds(want), "{kind}");
    };
    check("debug", 900);
    check("interactive", 28_800);
    check("sweep", 0);
    check("", 3_600);
    let org = org();
    let limits = Limits {
        hosts: 4,
        gpus_per_host: 8,
        cap: Seconds(1_800),
        ..Limits::default()
    };
    let file = format!("{HEADER}\nx,0,,robots,1,,,60,,,large\n");
    let trace = read(file.as_bytes(), &Bounds { org: &org, limits }, BadRows::Refuse).unwrap();
    assert_eq!(trace.rows[0].min_runtime, Seconds(1_800));
}

#[test]
fn a_cell_that_is_not_accepted_is_named_with_its_line_its_value_and_what_would_be() {
    let check = |text: &str, want: &str| assert_eq!(row(text).unwrap_err(), want, "{text}");
    check(
        "x,0,,robots,0,,,60,,,",
        "line 2, gpus: \"0\"; accepted: a whole number from 1 to 32 (the pool's GPUs)",
    );
    check(
        "x,0,,robots,64,,,60,,,",
        "line 2, gpus: \"64\"; accepted: a whole number from 1 to 32 (the pool's GPUs)",
    );
    check(
        "x,0,,robots,1,,,-1,,,",
        "line 2, duration_s: \"-1\"; accepted: a whole number from 1 to 316224000 (ten years)",
    );
    check(
        "x,99999999999999999999,,robots,1,,,60,,,",
        "line 2, submit_s: \"99999999999999999999\"; accepted: a whole number from 0 to 316224000 (ten years)",
    );
    check(
        "x,0,,robots,1,,28801,60,,,",
        "line 2, min_runtime_s: \"28801\"; accepted: 0, or 300 to 28800 (the pool's cap)",
    );
    check(
        "x,0,,robots,1,,299,60,,,",
        "line 2, min_runtime_s: \"299\"; accepted: 0, or 300 to 28800 (the pool's cap)",
    );
    check(
        "x,0,,nobody,1,,,60,,,",
        "line 2, charged_to: \"nobody\"; accepted: the id of an organisation node that exists",
    );
    check(
        "x,0,,robots,8,5,,60,,,",
        "line 2, hosts: \"5\"; accepted: a whole number from 1 to 4 (the fewest that hold the GPUs, the pool's hosts)",
    );
    check(
        "x,0,,robots,9,,,60,,,",
        "line 2, hosts: 9 GPUs on 2 hosts; accepted: a number of hosts that divides the GPUs evenly",
    );
    check(
        "x,0,,robots,1,,,60,maybe,,",
        "line 2, resumable: \"maybe\"; accepted: true or false",
    );
    check(
        "x,0,,robots,1,,,60,,1001,",
        "line 2, priority: \"1001\"; accepted: a whole number from -1000 to 1000",
    );
    check(
        "x,0,,robots,1,,,60,,,huge",
        "line 2, kind: \"huge\"; accepted: debug, interactive, small, mid, large, sweep",
    );
    check(
        ",0,,robots,1,,,60,,,",
        "line 2, id: \"\"; accepted: 1 to 100 characters, none of them a control character",
    );
    check(
        "x,0,,robots,1",
        "line 2: 5 cells; accepted: 11, as many as the header has",
    );
    check(
        "x,0,An A,robots,1,,,60,,,",
        "line 2, user: \"An A\" must be 1 to 63 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit; \
         accepted: the id of a person, or nothing",
    );
}

#[test]
fn every_bad_cell_of_a_row_is_named_at_once() {
    let errors = row("x,-1,,nobody,0,,,0,,,").unwrap_err();
    let fields: Vec<&str> = errors
        .lines()
        .map(|line| line.split([' ', ':']).nth(2).unwrap())
        .collect();
    assert_eq!(fields, ["submit_s", "charged_to", "gpus", "duration_s"]);
}

#[test]
fn bad_rows_are_left_out_and_counted_or_refuse_the_file() {
    let file = format!(
        "{HEADER}\na,0,,robots,1,,,60,,,\nb,0,,robots,0,,,60,,,\nc,0,,vision,1,,,60,,,\na,5,,vision,1,,,60,,,\n"
    );
    let trace = read_with(file.as_bytes(), BadRows::Skip).unwrap();
    let ids: Vec<&str> = trace.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["a", "c"]);
    assert_eq!(trace.skipped, 2);
    assert_eq!(
        trace.errors[1].to_string(),
        "line 5, id: \"a\" is on line 2 already; accepted: an id of its own"
    );
    let refusal = read_with(file.as_bytes(), BadRows::Refuse).unwrap_err();
    assert_eq!(refusal.errors, trace.errors);
}

#[test]
fn a_file_without_one_usable_row_is_refused_even_when_bad_rows_are_skipped() {
    let check = |file: &[u8], want: &str| {
        let refusal = read_with(file, BadRows::Skip).unwrap_err().to_string();
        assert!(refusal.starts_with(want), "{refusal}");
    };
    check(
        b"",
        "the file is empty; accepted: a header line and at least one row",
    );
    check(
        b"\n\n",
        "the file is empty; accepted: a header line and at least one row",
    );
    check(
        format!("{HEADER}\n").as_bytes(),
        "the file has a header and no rows",
    );
    check(
        format!("{HEADER}\nx,0,,robots,0,,,60,,,\n").as_bytes(),
        "line 2, gpus",
    );
    check(
        b"id,submit_s,gpus,duration_s\nx,0,1,60\n",
        "line 1, charged_to: the column is missing",
    );
    check(
        b"id,id,submit_s,charged_to,gpus,duration_s\n",
        "line 1, id: the column is there twice",
    );
    check(
        b"id,\xff,submit_s,charged_to,gpus,duration_s\n",
        "line 1, header: the name of column 2",
    );
}

#[test]
fn an_unknown_column_is_ignored_with_a_warning() {
    let file = b"id,submit_s,charged_to,gpus,duration_s,colour\nx,0,robots,1,60,red\n";
    let trace = read_with(file, BadRows::Refuse).unwrap();
    assert_eq!(trace.rows.len(), 1);
    assert_eq!(trace.warnings, ["column \"colour\" is not known and is ignored"]);
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let check = |end: &str| {
        let file = [
            HEADER,
            "a,0,,robots,1,,,60,,,",
            "",
            "b,0,,robots,0,,,60,,,",
            "",
            "",
            "c,0,,robots,0,,,60,,,",
        ]
        .join(end);
        let trace = read_with(file.as_bytes(), BadRows::Skip).unwrap();
        let lines: Vec<Option<u64>> = trace.errors.iter().map(|error| error.line).collect();
        assert_eq!(lines, [Some(4), Some(7)], "{end:?}");
    };
    check("\n");
    check("\r\n");
}

#[test]
fn bytes_that_are_not_text_are_named_with_their_line() {
    let mut file = format!("{HEADER}\na,0,,robots,1,,,60,,,\n").into_bytes();
    file.extend(b"b\xff,0,,robots,1,,,60,,,\n");
    let trace = read_with(&file, BadRows::Skip).unwrap();
    assert_eq!(trace.rows.len(), 1);
    assert_eq!(
        trace.errors[0].to_string(),
        "line 3, id: bytes that are not UTF-8; accepted: UTF-8 text"
    );
}

#[test]
fn a_quote_that_is_not_closed_refuses_the_file_since_it_swallows_rows() {
    let file = format!(
        "{HEADER}\na,0,,robots,1,,,60,,,\n\"b,0,,robots,1,,,60,,,\nc,0,,robots,1,,,60,,,\nd,0,,robots,1,,,60,,,\n"
    );
    let refusal = read_with(file.as_bytes(), BadRows::Skip).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "line 3: a quote is not closed; accepted: an even number of quotes in each row"
    );
    let quoted = row("\"x, \"\"the\"\" one\",0,,robots,1,,,60,,,").unwrap();
    assert_eq!(quoted.id, "x, \"the\" one");
}

#[test]
fn errors_are_kept_up_to_a_limit_and_counted_beyond_it() {
    let rows = vec!["x,0,,robots,0,,,60,,,"; 150].join("\n");
    let refusal = read_with(format!("{HEADER}\n{rows}\n").as_bytes(), BadRows::Skip).unwrap_err();
    assert_eq!((refusal.errors.len(), refusal.more), (MAX_ERRORS, 50));
    assert!(refusal.to_string().ends_with("\nand 50 more"));
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_name() {
    let file = format!("\u{feff}{HEADER}\nx,0,,robots,1,,,60,,,\n");
    assert_eq!(read_with(file.as_bytes(), BadRows::Refuse).unwrap().rows.len(), 1);
}

prop_compose! {
    fn any_row()(
        id in "[ -~]{0,20}[!-~]",
        submit in 0..=MAX_SPAN.get(),
        user in "[a-z0-9][a-z0-9._-]{0,20}",
        team in prop_oneof![Just("robots"), Just("vision"), Just("lab")],
        (hosts, gpus_per_host) in (1_u32..=4, 1_u32..=8),
        min_runtime in prop_oneof![Just(0), 300_i64..=28_800],
        duration in 1..=MAX_SPAN.get(),
        resumable in any::<bool>(),
        priority in -PRIORITY_BOUND..=PRIORITY_BOUND,
        kind in proptest::sample::select(Kind::ALL.to_vec()),
    ) -> TraceRow {
        TraceRow {
            id: id.trim().to_owned(),
            submit: Seconds(submit),
            user: user.parse().unwrap(),
            charged_to: team.parse().unwrap(),
            shape: Shape { hosts, gpus_per_host, topology: Topology::Anywhere },
            min_runtime: Seconds(min_runtime),
            duration: Seconds(duration),
            after_preemption: if resumable { AfterPreemption::Requeue } else { AfterPreemption::End },
            priority,
            kind,
        }
    }
}

fn written(rows: &[TraceRow]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER.split(',')).unwrap();
    for row in rows {
        let resumable = row.after_preemption == AfterPreemption::Requeue;
        writer
            .write_record([
                row.id.clone(),
                row.submit.get().to_string(),
                row.user.to_string(),
                row.charged_to.to_string(),
                row.shape.gpus().get().to_string(),
                row.shape.hosts.to_string(),
                row.min_runtime.get().to_string(),
                row.duration.get().to_string(),
                resumable.to_string(),
                row.priority.to_string(),
                row.kind.label().to_owned(),
            ])
            .unwrap();
    }
    writer.into_inner().unwrap()
}

proptest! {
    #[test]
    fn rows_that_are_written_are_read_again(rows in proptest::collection::vec(any_row(), 1..20)) {
        let mut rows = rows;
        for (at, row) in rows.iter_mut().enumerate() {
            row.id = format!("{at} {}", row.id);
        }
        let trace = read_with(&written(&rows), BadRows::Refuse);
        prop_assert_eq!(trace.map(|trace| trace.rows), Ok(rows));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let refused = read_with(&bytes, BadRows::Skip).is_err();
        prop_assert!(refused, "random bytes are no trace");
        let mut below = format!("{HEADER}\n").into_bytes();
        below.extend(&bytes);
        if let Ok(trace) = read_with(&below, BadRows::Skip) {
            prop_assert!(!trace.rows.is_empty());
        }
    }

    #[test]
    fn no_text_in_a_cell_makes_the_reader_panic(cells in proptest::collection::vec("\\PC{0,12}|-?[0-9]{1,22}", 11)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(HEADER.split(',')).unwrap();
        writer.write_record(&cells).unwrap();
        let file = writer.into_inner().unwrap();
        let trace = read_with(&file, BadRows::Skip);
        prop_assert!(trace.is_err() || trace.is_ok_and(|trace| trace.rows.len() == 1));
    }
}
