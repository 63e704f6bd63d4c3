//! Numbers and values as people read them.
//!
//! Every text is made once, from exact whole numbers, and holds nothing that depends on the browser's clock or
//! language: the server and the browser print the same. Undefined is said in words, never as 0, NaN or 100 %.

use stint_core::api::Time;
use stint_core::org::NodeKind;
use stint_core::sched::contract::{AfterPreemption, Fallback, Then, Topology};
use stint_core::units::{Fraction, GpuSeconds, HOUR_S, Seconds, grouped};

/// Stands where a value does not exist.
pub const NONE: &str = "–";

/// Which rows of how many a page shows: `1 to 100 of 843`.
pub fn range_label(before: u64, shown: usize, matching: u64) -> String {
    let shown = shown as u64;
    let whole = |n: u64| grouped(i128::from(n));
    match shown {
        0 => "none".to_owned(),
        1 => format!("{} of {}", whole(before + 1), whole(matching)),
        _ => format!(
            "{} to {} of {}",
            whole(before + 1),
            whole(before + shown),
            whole(matching)
        ),
    }
}

/// A number and its noun: `1 workload`, `27 workloads`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", grouped(i128::from(number)))
}

/// A span as hours and minutes: `1:36`.
pub fn hours_minutes(span_s: i64) -> String {
    let span_s = span_s.max(0);
    format!("{}:{:02}", span_s / HOUR_S, span_s % HOUR_S / 60)
}

/// A minimum runtime: `30 min`, `8 h`, or `none` for unallocated work.
pub fn min_runtime(span_s: i64) -> String {
    if span_s == 0 {
        "none".to_owned()
    } else {
        Seconds(span_s).to_string()
    }
}

/// GPUs and hosts in a narrow column: `64 × 8`.
pub fn gpus_by_hosts(gpus: u32, hosts: u32) -> String {
    format!("{} × {hosts}", grouped(i128::from(gpus)))
}

/// GPUs and hosts in a sentence: `64 GPUs on 8 hosts`.
pub fn gpus_on_hosts(gpus: u32, hosts: u32) -> String {
    format!(
        "{} on {}",
        counted(u64::from(gpus), "GPU", "GPUs"),
        counted(u64::from(hosts), "host", "hosts")
    )
}

/// A fraction as percent without its sign: `98.3`; `None` when undefined.
pub fn percent_number(value: Fraction, decimals: u32) -> Option<String> {
    Fraction::percent(value.num, value.den, decimals)
}

/// A fraction as percent: `98.3 %`, or a dash when undefined.
pub fn percent(value: Fraction, decimals: u32) -> String {
    percent_number(value, decimals).map_or_else(|| NONE.to_owned(), |number| format!("{number} %"))
}

/// A part of a whole as percent number: `39.3`, or a dash when there is no whole.
pub fn part_of(part: GpuSeconds, whole: GpuSeconds) -> String {
    Fraction::percent(part.0, whole.0, 1).unwrap_or_else(|| NONE.to_owned())
}

/// A difference with its sign: `+1,194`, `−470`, `0`.
pub fn signed_hours(amount: GpuSeconds) -> String {
    let text = hours(amount);
    if amount.0 > 0 && !text.starts_with('<') {
        format!("+{text}")
    } else {
        text
    }
}

/// GPU-hours with one decimal; what is there but rounds to nothing is not shown as 0.
pub fn hours(amount: GpuSeconds) -> String {
    const TENTH_S: i64 = HOUR_S / 10;
    match amount.0 {
        1..HOUR_S if amount.0 * 2 < TENTH_S => "< 0.1".to_owned(),
        s if s < 0 && -s * 2 < TENTH_S => "> \u{2212}0.1".to_owned(),
        _ => amount.hours_text_to(1),
    }
}

/// A rate in GPUs: `76.96`, or a dash when undefined.
pub fn rate(gpus: Fraction) -> String {
    gpus.text(2).unwrap_or_else(|| NONE.to_owned())
}

/// An optional time near another, or a dash.
pub fn time_or_none(time: Option<Time>, as_of: Time) -> String {
    time.map_or_else(|| NONE.to_owned(), |time| time.near(as_of))
}

/// What happens after protection.
pub fn then_label(then: Then) -> &'static str {
    match then {
        Then::Charged => "Go on, charged",
        Then::Unallocated => "Go on free, last in line",
        Then::Stop => "Stop",
    }
}

/// What happens without funds.
pub fn fallback_label(fallback: Fallback) -> &'static str {
    match fallback {
        Fallback::Unallocated => "Run unprotected and free",
        Fallback::Wait => "Wait for funds",
    }
}

/// What a preemption does.
pub fn after_preemption_label(after: AfterPreemption) -> &'static str {
    match after {
        AfterPreemption::Requeue => "Queue again, with its first submit time",
        AfterPreemption::End => "End",
    }
}

/// Where the hosts of a gang may lie.
pub fn topology_label(topology: Topology) -> &'static str {
    match topology {
        Topology::Anywhere => "Anywhere, one block if possible",
        Topology::SameBlock => "One block, or not at all",
    }
}

/// What a node stands for.
pub fn kind_label(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Organisation => "organisation",
        NodeKind::Program => "program",
        NodeKind::Project => "project",
        NodeKind::Team => "team",
        NodeKind::Person => "person",
    }
}

/// The unit in which budgets are shown: label and value change together because both come from here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// GPU-hours.
    #[default]
    Hours,
    /// GPU-days.
    Days,
    /// Percent of the budget of the node above.
    OfParent,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 3] = [Self::Hours, Self::Days, Self::OfParent];

    /// Its name in an address.
    pub fn key(self) -> &'static str {
        match self {
            Self::Hours => "hours",
            Self::Days => "days",
            Self::OfParent => "parent",
        }
    }

    /// The unit an address names; GPU-hours for anything else.
    pub fn from_key(key: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|unit| unit.key() == key)
            .unwrap_or_default()
    }

    /// The unit in a column's head.
    pub fn label(self) -> &'static str {
        match self {
            Self::Hours => "GPU-h",
            Self::Days => "GPU-days",
            Self::OfParent => "% of parent",
        }
    }

    /// An amount in this unit. `parent` is the budget of the node above, itself for the root.
    pub fn amount(self, amount: GpuSeconds, parent: GpuSeconds) -> String {
        const DAY: i64 = 24 * HOUR_S;
        match self {
            Self::Hours => hours(amount),
            Self::Days => Fraction {
                num: amount.0,
                den: DAY,
            }
            .text(2)
            .unwrap_or_else(|| NONE.to_owned()),
            Self::OfParent => part_of(amount, parent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_right_for_nothing_one_a_whole_page_and_one_more() {
        let check =
            |before, shown, matching, want: &str| assert_eq!(range_label(before, shown, matching), want);
        check(0, 0, 0, "none");
        check(0, 1, 1, "1 of 1");
        check(0, 100, 100, "1 to 100 of 100");
        check(0, 100, 101, "1 to 100 of 101");
        check(100, 1, 101, "101 of 101");
        check(1_000, 100, 12_345, "1,001 to 1,100 of 12,345");
    }

    #[test]
    fn spans_and_shapes_are_short() {
        assert_eq!(hours_minutes(5_760), "1:36");
        assert_eq!(hours_minutes(59), "0:00");
        assert_eq!(hours_minutes(-5), "0:00");
        assert_eq!(min_runtime(0), "none");
        assert_eq!(min_runtime(1_800), "30 min");
        assert_eq!(gpus_by_hosts(64, 8), "64 × 8");
        assert_eq!(gpus_on_hosts(1, 1), "1 GPU on 1 host");
    }

    #[test]
    fn nothing_undefined_becomes_a_number() {
        let undefined = Fraction { num: 5, den: 0 };
        assert_eq!(percent(undefined, 1), NONE);
        assert_eq!(part_of(GpuSeconds(5), GpuSeconds::ZERO), NONE);
        assert_eq!(rate(undefined), NONE);
        assert_eq!(Unit::OfParent.amount(GpuSeconds(5), GpuSeconds::ZERO), NONE);
    }

    #[test]
    fn what_is_there_is_never_rounded_to_nothing() {
        assert_eq!(hours(GpuSeconds(0)), "0.0");
        assert_eq!(hours(GpuSeconds(1)), "< 0.1");
        assert_eq!(hours(GpuSeconds(-1)), "> \u{2212}0.1");
        assert_eq!(hours(GpuSeconds(-1_440)), "\u{2212}0.4");
        assert_eq!(signed_hours(GpuSeconds(4_298_400)), "+1,194.0");
        assert_eq!(signed_hours(GpuSeconds(1)), "< 0.1");
    }

    #[test]
    fn unit_and_value_change_together() {
        let amount = GpuSeconds(48 * HOUR_S);
        let parent = GpuSeconds(96 * HOUR_S);
        let shown = Unit::ALL.map(|unit| format!("{} {}", unit.amount(amount, parent), unit.label()));
        assert_eq!(shown, ["48.0 GPU-h", "2.00 GPU-days", "50.0 % of parent"]);
        assert!(Unit::ALL.iter().all(|unit| Unit::from_key(unit.key()) == *unit));
        assert_eq!(Unit::from_key("nonsense"), Unit::Hours);
    }

    #[test]
    fn every_value_has_its_own_words() {
        let then = [Then::Charged, Then::Unallocated, Then::Stop].map(then_label);
        assert_eq!(then, ["Go on, charged", "Go on free, last in line", "Stop"]);
        let fallback = [Fallback::Unallocated, Fallback::Wait].map(fallback_label);
        assert_eq!(fallback, ["Run unprotected and free", "Wait for funds"]);
        let after = [AfterPreemption::Requeue, AfterPreemption::End].map(after_preemption_label);
        assert_eq!(after, ["Queue again, with its first submit time", "End"]);
        let topology = [Topology::Anywhere, Topology::SameBlock].map(topology_label);
        assert_eq!(
            topology,
            ["Anywhere, one block if possible", "One block, or not at all"]
        );
        let kinds = [
            NodeKind::Organisation,
            NodeKind::Program,
            NodeKind::Project,
            NodeKind::Team,
            NodeKind::Person,
        ];
        assert_eq!(
            kinds.map(kind_label),
            ["organisation", "program", "project", "team", "person"]
        );
    }
}
