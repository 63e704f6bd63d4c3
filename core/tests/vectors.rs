//! Conformance vectors made with exact rational arithmetic, independent of this implementation: every entry is
//! checked. Times are Unix seconds, amounts GPU-seconds, fractions `[numerator, denominator]`.

#![expect(clippy::unwrap_used, reason = "a test that can't go on says so by panicking")]

use std::collections::BTreeMap;

use serde::Deserialize;
use stint_core::ledger::{self, Line, Period, split};
use stint_core::standing::{
    Candidate, LookBack, OwedDelivered, Standing, StepSum, compare, delivered_over_owed,
};
use stint_core::units::{Fraction, GpuSeconds, Gpus, MilliGpus, Seconds, Timestamp};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    accrual: Vec<Accrual>,
    split: Vec<Split>,
    quarters: Vec<Quarter>,
    boundary_charges: Vec<BoundaryCharge>,
    sibling_order: Vec<SiblingOrder>,
    look_back: Vec<LookBackSum>,
    owed_delivered: Vec<Owed>,
}

/// Numerator and denominator.
type Exact = (i128, i128);

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("data/vectors.json")).unwrap()
}

fn same(found: Fraction, want: Exact) -> bool {
    i128::from(found.num) * want.1 == want.0 * i128::from(found.den) && (found.den == 0) == (want.1 == 0)
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Accrual {
    period_start: i64,
    period_end: i64,
    grant: i64,
    changed_at: i64,
    accrued_at_change: i64,
    new_grant: i64,
    at: i64,
    accrued: i64,
    rate_before: Exact,
    rate_after: Exact,
    accrued_at_end: i64,
}

#[test]
fn grants_accrue_and_change_as_in_every_vector() {
    let entries = vectors().accrual;
    assert!(!entries.is_empty());
    for entry in entries {
        let (starts, ends) = (Timestamp(entry.period_start), Timestamp(entry.period_end));
        let before = Line::granting(GpuSeconds(entry.grant), starts, ends);
        assert!(same(before.rate().fraction(), entry.rate_before), "{entry:?}");
        let changed_at = Timestamp(entry.changed_at);
        assert_eq!(
            before.accrued_at(changed_at),
            GpuSeconds(entry.accrued_at_change),
            "{entry:?}"
        );
        let after = before.regranted(changed_at, GpuSeconds(entry.new_grant));
        assert!(same(after.rate().fraction(), entry.rate_after), "{entry:?}");
        assert_eq!(
            after.accrued_at(Timestamp(entry.at)),
            GpuSeconds(entry.accrued),
            "{entry:?}"
        );
        assert_eq!(
            after.accrued_at(ends),
            GpuSeconds(entry.accrued_at_end),
            "{entry:?}"
        );
    }
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Split {
    total: i64,
    weights_in_id_order: Vec<u32>,
    parts: Vec<i64>,
}

#[test]
fn amounts_are_split_as_in_every_vector() {
    let entries = vectors().split;
    assert!(!entries.is_empty());
    for entry in entries {
        let parts = split::by_weight(GpuSeconds(entry.total), &entry.weights_in_id_order).unwrap();
        let parts: Vec<i64> = parts.into_iter().map(GpuSeconds::get).collect();
        assert_eq!(parts, entry.parts, "{entry:?}");
    }
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Quarter {
    zone: String,
    period: String,
    start: i64,
    end: i64,
    start_utc: String,
    length_s: i64,
}

#[test]
fn quarters_begin_and_end_as_in_every_vector() {
    let entries = vectors().quarters;
    assert!(!entries.is_empty());
    for entry in entries {
        let (year, number) = entry.period.split_once("-Q").unwrap();
        let want = Period {
            id: entry.period.parse().unwrap(),
            starts: Timestamp(entry.start),
            ends: Timestamp(entry.end),
            zone: entry.zone.clone(),
        };
        let found = ledger::quarter(&entry.zone, year.parse().unwrap(), number.parse().unwrap());
        assert_eq!(found, Ok(want.clone()), "{entry:?}");
        for at in [entry.start, entry.start + 1, entry.end - 1] {
            assert_eq!(
                ledger::quarter_at(&entry.zone, Timestamp(at)),
                Ok(want.clone()),
                "{entry:?}"
            );
        }
        assert_eq!(want.length(), Seconds(entry.length_s));
        let utc = stint_core::api::Time::new(want.starts, 0).unwrap();
        assert_eq!(utc.rfc3339(), entry.start_utc);
    }
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct BoundaryCharge {
    zone: String,
    boundary: i64,
    gpus: u32,
    start: i64,
    end: i64,
    before: i64,
    after: i64,
}

#[test]
fn charges_across_a_boundary_are_cut_as_in_every_vector() {
    let entries = vectors().boundary_charges;
    assert!(!entries.is_empty());
    for entry in entries {
        let (starts, ends) = (Timestamp(entry.start), Timestamp(entry.end));
        let quarters = [starts, ends].map(|at| ledger::quarter_at(&entry.zone, at).unwrap());
        assert_eq!(quarters[1].starts, Timestamp(entry.boundary), "{entry:?}");
        let parts = ledger::period::cut(&quarters, starts, ends).unwrap();
        let charges: Vec<i64> = parts
            .iter()
            .map(|part| part.charge(Gpus(entry.gpus)).get())
            .collect();
        assert_eq!(charges, [entry.before, entry.after], "{entry:?}");
    }
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct SiblingOrder {
    horizon_s: i64,
    siblings: Vec<Sibling>,
    order: Vec<String>,
    standing: BTreeMap<String, Option<Exact>>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Sibling {
    id: String,
    rate_milli_gpus: i64,
    allocated_milli_gpu_s: i128,
    used_gpu_s: i128,
    head_submit: i64,
}

#[test]
fn siblings_are_ordered_as_in_every_vector() {
    let entries = vectors().sibling_order;
    assert!(!entries.is_empty());
    let week = LookBack::Sliding(Seconds(604_800));
    for entry in entries {
        let candidate = |sibling: &Sibling| Candidate {
            standing: Standing::new(
                week,
                sibling.used_gpu_s,
                0,
                sibling.allocated_milli_gpu_s,
                MilliGpus(sibling.rate_milli_gpus),
                Seconds(entry.horizon_s),
            ),
            head_submitted: Timestamp(sibling.head_submit),
            id: sibling.id.clone(),
        };
        let mut candidates: Vec<Candidate<String>> = entry.siblings.iter().map(candidate).collect();
        for candidate in &candidates {
            match (candidate.standing.fraction(), entry.standing[&candidate.id]) {
                (Some(found), Some(want)) => assert!(same(found, want), "{entry:?}"),
                (found, want) => assert!(found.is_none() && want.is_none(), "{entry:?}"),
            }
        }
        // Whatever order they come in.
        for _ in 0..2 {
            candidates.reverse();
            candidates.sort_by(compare);
            let order: Vec<&str> = candidates.iter().map(|c| c.id.as_str()).collect();
            assert_eq!(order, entry.order, "{entry:?}");
        }
    }
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct LookBackSum {
    at: i64,
    window_s: i64,
    runs: Vec<Run>,
    used_sliding: i128,
    fade_s: i64,
    used_fade: Exact,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Run {
    gpus: i64,
    start: i64,
    end: i64,
}

#[test]
fn look_backs_sum_as_in_every_vector() {
    let entries = vectors().look_back;
    assert!(!entries.is_empty());
    for entry in entries {
        let starts = entry.runs.iter().map(|run| (run.start, run.gpus));
        let ends = entry.runs.iter().map(|run| (run.end, -run.gpus));
        let mut changes: Vec<(i64, i64)> = starts.chain(ends).collect();
        changes.sort_unstable();
        let mut used = StepSum::default();
        for (at, by) in changes {
            used.change(Timestamp(at), by);
        }
        let at = Timestamp(entry.at);
        let sliding = used.over(LookBack::Sliding(Seconds(entry.window_s)), at);
        assert_eq!(sliding, entry.used_sliding, "{entry:?}");
        let fade = LookBack::Fade(Seconds(entry.fade_s));
        let faded = used.over(fade, at);
        assert_eq!(
            faded * entry.used_fade.1,
            entry.used_fade.0 * fade.scale(),
            "{entry:?}"
        );
    }
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Owed {
    leaves: BTreeMap<String, Leaf>,
    delivered_over_owed: Exact,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Leaf {
    rate_gpus: i64,
    hours_demand_delivered: Vec<(i64, i64)>,
    owed: i64,
    delivered: i64,
}

#[test]
fn owed_and_delivered_are_as_in_every_vector() {
    let entries = vectors().owed_delivered;
    assert!(!entries.is_empty());
    for entry in entries {
        let mut leaves = Vec::new();
        for (id, leaf) in &entry.leaves {
            let mut sum = OwedDelivered::default();
            for (demand, delivered) in &leaf.hours_demand_delivered {
                let rate = MilliGpus(1_000 * leaf.rate_gpus);
                sum.add(rate, Seconds(3_600), GpuSeconds(*demand), GpuSeconds(*delivered));
            }
            assert_eq!(sum.owed(), GpuSeconds(leaf.owed), "{id} of {entry:?}");
            assert_eq!(sum.delivered(), GpuSeconds(leaf.delivered), "{id} of {entry:?}");
            leaves.push(sum);
        }
        assert!(
            same(delivered_over_owed(&leaves), entry.delivered_over_owed),
            "{entry:?}"
        );
    }
}
