//! The ledger as a whole: cases that people reported of other systems, and the invariants under random changes.

#![expect(clippy::unwrap_used, reason = "a test that can't go on says so by panicking")]

mod ledger_support;

use std::collections::BTreeMap;

use ledger_support::{Fixture, entry, hours, id, node};
use proptest::prelude::*;
use stint_core::api::{Code, Problem};
use stint_core::ledger::{
    Applied, Balance, Book, Invariant, Kind, LedgerError, Posting, StoredBalance, Transaction, Used,
    UsedByNode, audit, period, preview, quarter, quarter_at,
};
use stint_core::org::Org;
use stint_core::units::{Fraction, GpuSeconds, Gpus, MilliGpus, Timestamp};

fn used_by(node: &str, charged_h: i64, held_h: i64) -> UsedByNode {
    let used = Used {
        charged: hours(charged_h),
        held: hours(held_h),
    };
    BTreeMap::from([(id(node), used)])
}

/// The organisation of the cases: a program with two projects beside another program.
fn institute(capacity_h: i64, grants: &[(&str, i64)]) -> Fixture {
    let nodes = vec![
        node("root", ""),
        node("research", "root"),
        node("language", "research"),
        node("robotics", "research"),
        node("vision", "research"),
        node("products", "root"),
    ];
    Fixture::new(nodes, hours(capacity_h), grants)
}

#[test]
fn u1_a_grant_beyond_the_node_above_is_refused_with_what_it_can_give() {
    let grants = [
        ("root", 100_000),
        ("research", 100_000),
        ("language", 60_000),
        ("robotics", 30_000),
    ];
    let fixture = institute(100_000, &grants);
    let book = fixture.book();
    let at = fixture.period.starts;
    let none = UsedByNode::new();
    let refused = book
        .set_gross(entry(7, at), &id("vision"), hours(20_000), &none)
        .unwrap_err();
    let problem = Problem::from(refused);
    assert_eq!((problem.code, problem.status), (Code::BudgetExceedsParent, 409));
    assert_eq!(problem.numbers["available_gpu_seconds"], 36_000_000);
    assert_eq!(problem.numbers["asked_gpu_seconds"], 72_000_000);
    // U3: the sentence names the ancestor and the number that failed.
    assert_eq!(
        problem.detail,
        "Research can still give 10,000.00 GPU-h, not 20,000.00"
    );
    // A move meets the same bound, and the whole of it can be had.
    let moved = book.move_hours(entry(8, at), &id("research"), &id("vision"), hours(20_000), &none);
    assert_eq!(
        Problem::from(moved.unwrap_err()).numbers["available_gpu_seconds"],
        36_000_000
    );
    assert!(
        book.set_gross(entry(9, at), &id("vision"), hours(10_000), &none)
            .is_ok()
    );
}

#[test]
fn u1_an_import_meets_the_same_bound() {
    let fixture = institute(100_000, &[]);
    let mut grants = BTreeMap::from([
        (id("root"), hours(100_000)),
        (id("research"), hours(100_000)),
        (id("language"), hours(60_000)),
        (id("robotics"), hours(60_000)),
    ]);
    let book = fixture.book();
    let import = |grants: &BTreeMap<_, _>| book.import(entry(1, fixture.period.starts), grants);
    let problem = Problem::from(import(&grants).unwrap_err());
    assert_eq!(problem.code, Code::BudgetExceedsParent);
    assert_eq!(
        problem.detail,
        "Research can still give 100,000.00 GPU-h, not 120,000.00"
    );
    grants.insert(id("robotics"), hours(40_000));
    assert!(import(&grants).is_ok());
    grants.insert(id("root"), hours(100_001));
    let problem = Problem::from(import(&grants).unwrap_err());
    assert_eq!(
        problem.detail,
        "the pool's capacity can still give 100,000.00 GPU-h, not 100,001.00"
    );
    grants.insert(id("nobody"), hours(1));
    assert_eq!(
        import(&grants).unwrap_err(),
        LedgerError::UnknownNode(id("nobody"))
    );
}

#[test]
fn u2_a_grant_below_what_is_charged_and_held_is_refused_and_exactly_that_is_accepted() {
    let fixture = institute(100_000, &[("root", 10_000), ("products", 1_000)]);
    let mut book = fixture.book();
    let at = fixture.period.starts;
    let used = used_by("products", 750, 50);
    let refused = book
        .set_gross(entry(7, at), &id("products"), hours(700), &used)
        .unwrap_err();
    let problem = Problem::from(refused);
    assert_eq!((problem.code, problem.status), (Code::BudgetBelowCharged, 409));
    let number = |name: &str| problem.numbers[name] / 3_600;
    assert_eq!(
        [
            number("least_gpu_seconds"),
            number("charged_gpu_seconds"),
            number("held_gpu_seconds")
        ],
        [800, 750, 50]
    );
    let set = book
        .set_gross(entry(8, at), &id("products"), hours(800), &used)
        .unwrap();
    book.apply(&set).unwrap();
    assert_eq!(book.granted(&id("products")), Some(hours(800)));
    let part = book.own_part(&id("products"), at, used[&id("products")]).unwrap();
    assert_eq!(part.movable(), GpuSeconds::ZERO);
}

#[test]
fn a_grant_can_not_fall_below_what_has_accrued_or_was_passed_on() {
    let fixture = institute(
        100_000,
        &[("root", 10_000), ("research", 1_000), ("language", 600)],
    );
    let book = fixture.book();
    let set = |at: Timestamp, granted_h: i64| {
        book.set_gross(
            entry(7, at),
            &id("research"),
            hours(granted_h),
            &UsedByNode::new(),
        )
    };
    let least = |problem: Problem| problem.numbers["least_gpu_seconds"] / 3_600;
    assert_eq!(least(set(fixture.period.starts, 599).unwrap_err().into()), 600);
    assert_eq!(least(set(fixture.half(), 799).unwrap_err().into()), 800);
    assert!(set(fixture.half(), 800).is_ok());
}

#[test]
fn u4_no_number_stands_for_unlimited() {
    let fixture = institute(100_000, &[("root", 10_000), ("products", 1_000)]);
    let book = fixture.book();
    let at = fixture.period.starts;
    let none = UsedByNode::new();
    for amount in [-1, i64::MIN, i64::MAX] {
        let set = book.set_gross(entry(7, at), &id("products"), GpuSeconds(amount), &none);
        let problem = Problem::from(set.unwrap_err());
        assert_eq!((problem.code, problem.status), (Code::Validation, 422));
    }
    for amount in [-1, 0, i64::MIN, i64::MAX] {
        let moved = book.move_hours(
            entry(7, at),
            &id("products"),
            &id("vision"),
            GpuSeconds(amount),
            &none,
        );
        assert_eq!(moved.unwrap_err().code(), Code::Validation, "{amount}");
    }
    let itself = book.move_hours(entry(7, at), &id("products"), &id("products"), hours(1), &none);
    assert_eq!(itself.unwrap_err().code(), Code::Validation);
    assert_eq!(
        preview(
            &fixture.tree(&book, at, &none),
            &id("products"),
            &id("vision"),
            "-1"
        )
        .unwrap_err()
        .status,
        422
    );
}

#[test]
fn u12_a_node_without_a_grant_has_a_rate_of_zero_and_gives_nothing() {
    let fixture = institute(100_000, &[("root", 10_000)]);
    let book = fixture.book();
    let row = book.row(&id("vision"), fixture.half()).unwrap();
    assert_eq!(
        (row.granted, row.rate.milli()),
        (GpuSeconds::ZERO, MilliGpus::ZERO)
    );
    assert_eq!(row.rate_gpus.text(2).as_deref(), Some("0.00"));
    let part = |used| book.own_part(&id("vision"), fixture.half(), used).unwrap();
    assert_eq!(part(Used::default()).movable(), GpuSeconds::ZERO);
    // Late charges against nothing granted: still nothing to give, nothing below zero.
    let charged = Used {
        charged: hours(5),
        held: GpuSeconds::ZERO,
    };
    assert_eq!(part(charged).movable(), GpuSeconds::ZERO);
}

#[test]
fn u14_after_the_last_instant_of_the_period_nothing_is_posted() {
    let fixture = institute(100_000, &[("root", 10_000), ("products", 1_000)]);
    let mut book = fixture.book();
    let ends = fixture.period.ends;
    let none = UsedByNode::new();
    let last = Timestamp(ends.get() - 1);
    assert!(
        book.set_gross(entry(7, last), &id("products"), hours(1_001), &none)
            .is_err()
    );
    assert!(
        book.move_hours(
            entry(7, fixture.half()),
            &id("root"),
            &id("products"),
            hours(1),
            &none
        )
        .is_ok()
    );
    let refused = [
        book.set_gross(entry(7, ends), &id("products"), hours(900), &none),
        book.move_hours(entry(7, ends), &id("root"), &id("products"), hours(1), &none),
        book.import(entry(7, ends), &BTreeMap::new()),
    ];
    for refusal in refused {
        let problem = Problem::from(refusal.unwrap_err());
        assert_eq!(problem.code, Code::PeriodClosed);
        assert_eq!(problem.numbers["ended_at"], ends.get());
    }
    let mut late = book
        .move_hours(
            entry(7, fixture.half()),
            &id("root"),
            &id("products"),
            hours(1),
            &none,
        )
        .unwrap();
    late.effective = ends;
    assert_eq!(book.apply(&late).unwrap_err().code(), Code::PeriodClosed);
    let tree = fixture.tree(&book, ends, &none);
    assert_eq!(
        preview(&tree, &id("root"), &id("products"), "1")
            .unwrap_err()
            .code,
        Code::PeriodClosed
    );
}

#[test]
fn u17_and_u20_a_run_across_midnight_of_a_quarter_is_cut_by_its_own_instants() {
    for zone in ["UTC", "Europe/Athens", "America/Montreal", "Asia/Kolkata"] {
        let boundary = quarter(zone, 2027, 1).unwrap().starts;
        let (starts, ends) = (
            Timestamp(boundary.get() - 1_800),
            Timestamp(boundary.get() + 1_800),
        );
        let periods = [starts, ends].map(|at| quarter_at(zone, at).unwrap());
        let parts = period::cut(&periods, starts, ends).unwrap();
        let charges: Vec<(String, i64)> = parts
            .iter()
            .map(|part| (part.period.to_string(), part.charge(Gpus(8)).get()))
            .collect();
        assert_eq!(
            charges,
            [("2026-Q4".to_owned(), 14_400), ("2027-Q1".to_owned(), 14_400)],
            "{zone}"
        );
    }
}

#[test]
fn case_40_time_that_was_not_used_does_not_raise_the_rate() {
    let fixture = Fixture::new(vec![node("root", "")], hours(216_000), &[("root", 216_000)]);
    let book = fixture.book();
    for day in [0, 44, 45, 46, 89] {
        let at = Timestamp(fixture.period.starts.get() + day * 86_400);
        let row = book.row(&id("root"), at).unwrap();
        assert_eq!(row.rate.milli(), MilliGpus(100_000));
        assert_eq!(row.accrued, hours(100 * 24 * day));
        assert_eq!(row.rate_gpus.text(3).as_deref(), Some("100.000"));
    }
}

#[test]
fn case_41_only_what_has_not_accrued_can_be_passed_on() {
    let fixture = institute(100, &[("root", 100)]);
    let mut book = fixture.book();
    let none = UsedByNode::new();
    let at = fixture.half();
    let grant =
        |book: &Book<'_>, granted_h| book.set_gross(entry(7, at), &id("products"), hours(granted_h), &none);
    let problem = Problem::from(grant(&book, 80).unwrap_err());
    assert_eq!(problem.numbers["available_gpu_seconds"], hours(50).get());
    let granted = grant(&book, 50).unwrap();
    book.apply(&granted).unwrap();
    let rates: BTreeMap<String, MilliGpus> = book
        .rates()
        .into_iter()
        .map(|(node, _, rate)| (node.to_string(), rate))
        .collect();
    assert_eq!(rates["products"], rates["root"]);
}

#[test]
fn capacity_that_was_not_handed_out_in_time_is_gone() {
    let fixture = institute(1_000, &[("root", 400)]);
    let book = fixture.book();
    let set = |at, granted_h| book.set_gross(entry(7, at), &id("root"), hours(granted_h), &UsedByNode::new());
    assert!(set(fixture.period.starts, 1_000).is_ok());
    assert_eq!(
        Problem::from(set(fixture.half(), 701).unwrap_err()).numbers["available_gpu_seconds"],
        hours(300).get()
    );
    let mut raised = fixture.book();
    raised.apply(&set(fixture.half(), 700).unwrap()).unwrap();
    let length_h = fixture.period.length().get() / 3_600;
    assert_eq!(
        raised.row(&id("root"), fixture.half()).unwrap().rate.milli(),
        MilliGpus(1_000_000 / length_h)
    );
}

#[test]
fn a_move_is_previewed_with_every_node_whose_grant_changes() {
    let grants = [
        ("root", 10_000),
        ("research", 6_000),
        ("language", 4_200),
        ("products", 1_000),
    ];
    let fixture = institute(10_000, &grants);
    let book = fixture.book();
    let tree = fixture.tree(&book, fixture.period.starts, &UsedByNode::new());
    let names = |from: &str, to: &str| -> Vec<String> {
        let effect = preview(&tree, &id(from), &id(to), "500").unwrap();
        effect.changes.into_iter().map(|change| change.name).collect()
    };
    let effect = preview(&tree, &id("language"), &id("products"), "500").unwrap();
    assert_eq!(
        effect.sentence(),
        "Moves 500.00 GPU-h from Language to Products. Language keeps 3,700.00."
    );
    assert_eq!(
        names("language", "products"),
        ["Research", "Language", "Products"]
    );
    assert_eq!(names("research", "vision"), ["Vision"]);
    assert_eq!(names("language", "research"), ["Language"]);
    assert_eq!(names("root", "language"), ["Research", "Language"]);
    let down = preview(&tree, &id("research"), &id("vision"), "500").unwrap();
    assert_eq!(
        (down.from.granted_before, down.from.granted_after),
        (hours(6_000), hours(6_000))
    );
    assert_eq!(
        (down.from.own_before, down.from.own_after),
        (hours(1_800), hours(1_300))
    );
    let refused = |from: &str, text: &str| preview(&tree, &id(from), &id("vision"), text).unwrap_err();
    assert_eq!(refused("language", "0.001").errors[0].field, "hours");
    assert_eq!(refused("language", "4200.01").code, Code::BudgetInsufficient);
    assert_eq!(refused("nobody", "1").code, Code::NotFound);
}

#[test]
fn a_reversal_puts_back_what_has_not_accrued_since() {
    let fixture = institute(1_000, &[("root", 1_000), ("language", 0), ("research", 500)]);
    let mut book = fixture.book();
    let none = UsedByNode::new();
    let moved = book.move_hours(
        entry(7, fixture.period.starts),
        &id("research"),
        &id("vision"),
        hours(200),
        &none,
    );
    let moved = moved.unwrap();
    book.apply(&moved).unwrap();
    let soon = book
        .reverse(entry(8, fixture.period.starts), &moved, &none)
        .unwrap();
    assert_eq!(soon.kind, Kind::Reversal);
    assert_eq!(
        book.reverse(entry(8, fixture.half()), &moved, &none)
            .unwrap_err()
            .code(),
        Code::BudgetInsufficient
    );
    book.apply(&soon).unwrap();
    assert_eq!(book.granted(&id("vision")), Some(GpuSeconds::ZERO));
}

#[test]
fn a_transaction_that_is_unbalanced_or_takes_too_much_is_not_applied() {
    let fixture = institute(1_000, &[("root", 1_000), ("products", 500)]);
    let mut book = fixture.book();
    let before: Vec<StoredBalance> = book.balances().collect();
    let posting = |node: &str, amount_h: i64| Posting {
        to: Balance::Own(id(node)),
        amount: hours(amount_h),
    };
    let mut check = |postings: Vec<Posting>, code: Code| {
        let transaction = Transaction {
            entry: entry(7, fixture.half()),
            effective: fixture.half(),
            kind: Kind::Move,
            postings,
        };
        assert_eq!(book.apply(&transaction).unwrap_err().code(), code);
    };
    check(vec![posting("products", 1)], Code::Internal);
    check(
        vec![posting("products", -251), posting("vision", 251)],
        Code::BudgetInsufficient,
    );
    check(
        vec![posting("products", -1), posting("nobody", 1)],
        Code::NotFound,
    );
    let capacity = Posting {
        to: Balance::Capacity,
        amount: hours(-1),
    };
    check(vec![capacity, posting("root", 1)], Code::BudgetExceedsParent);
    assert_eq!(book.balances().collect::<Vec<_>>(), before);
}

#[test]
fn grants_are_imported_once() {
    let fixture = institute(1_000, &[("root", 1_000)]);
    let mut book = fixture.book();
    let grants = BTreeMap::from([(id("root"), hours(1_000))]);
    let again = book.import(entry(2, fixture.period.starts), &grants);
    assert_eq!(again.unwrap_err().code(), Code::Conflict);
    assert_eq!(book.apply(&fixture.history[0]), Ok(Applied::Before));
    // The same holds for a book that was loaded and told what its balances contain.
    let balances: Vec<StoredBalance> = book.balances().collect();
    let mut loaded = Book::load(&fixture.org, fixture.period.clone(), fixture.capacity, &balances).unwrap();
    loaded.recall(fixture.history[0].clone());
    assert_eq!(loaded.apply(&fixture.history[0]), Ok(Applied::Before));
}

#[test]
fn an_audit_finds_each_broken_invariant() {
    let fixture = institute(1_000, &[("root", 1_000), ("products", 500)]);
    let mut book = fixture.book();
    let none = UsedByNode::new();
    let moved = book
        .move_hours(
            entry(2, fixture.half()),
            &id("products"),
            &id("vision"),
            hours(100),
            &none,
        )
        .unwrap();
    book.apply(&moved).unwrap();
    let history = vec![fixture.history[0].clone(), moved];
    let stored: Vec<StoredBalance> = book.balances().collect();
    let found = |capacity: GpuSeconds, history: &[Transaction], stored: &[StoredBalance]| {
        let findings = audit(&fixture.org, &fixture.period, capacity, history, stored);
        let mut broken: Vec<Invariant> = findings.into_iter().map(|finding| finding.invariant).collect();
        broken.dedup();
        broken
    };
    let capacity = fixture.capacity;
    assert_eq!(found(capacity, &history, &stored), []);
    assert_eq!(found(hours(999), &history, &stored), [Invariant::L3]);
    let changed = |by_from: i64, by_to: i64| {
        let mut history = history.clone();
        history[1].postings[0].amount += hours(by_from);
        history[1].postings[1].amount += hours(by_to);
        history
    };
    assert_eq!(
        found(capacity, &changed(0, 1), &stored),
        [Invariant::L1, Invariant::L3, Invariant::L5]
    );
    assert_eq!(
        found(capacity, &changed(-200, 200), &stored),
        [Invariant::L2, Invariant::L5]
    );
    assert_eq!(
        found(capacity, &changed(-500, 500), &stored),
        [Invariant::L4, Invariant::L5]
    );
    let mut off = stored.clone();
    off[1].version += 1;
    assert_eq!(found(capacity, &history, &off), [Invariant::L5]);
    let kept = stored
        .iter()
        .filter(|balance| balance.node != id("vision"))
        .cloned();
    assert_eq!(
        found(capacity, &history, &kept.collect::<Vec<_>>()),
        [Invariant::L5]
    );
    let mut reused = history.clone();
    reused[1].entry.command = reused[0].entry.command.clone();
    assert_eq!(found(capacity, &reused, &stored), [Invariant::L9]);
}

/// One random operation: what, between which nodes, how much, how long after the last.
type Step = (u8, usize, usize, i64, i64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        (0_u8..4, 0_usize..20, 0_usize..20, 0_i64..400_000, 0_i64..200_000),
        1..60,
    )
}

/// A random tree of up to 20 nodes whose root has everything and whose inner nodes got a part of it.
fn random_fixture(parents: &[usize], spread: i64) -> Fixture {
    let mut nodes = vec![node("n0", "")];
    for (n, parent) in parents.iter().enumerate() {
        nodes.push(node(&format!("n{}", n + 1), &format!("n{}", parent % (n + 1))));
    }
    let capacity = GpuSeconds(40_000_000 + spread);
    let fixture = Fixture::new(nodes, capacity, &[]);
    let mut grants = BTreeMap::new();
    for ix in fixture.org.indices() {
        let given = |ix| grants.get(&fixture.org.node(ix).id).copied().unwrap_or(capacity);
        let grant = fixture.org.parent(ix).map_or(capacity, |parent| {
            let sharing = i64::try_from(fixture.org.children(parent).len() + 1).unwrap();
            GpuSeconds(given(parent).get() / sharing)
        });
        grants.insert(fixture.org.node(ix).id.clone(), grant);
    }
    fixture.imported(&grants)
}

fn random_use(org: &Org, seed: i64) -> UsedByNode {
    let used = |n: i64| Used {
        charged: GpuSeconds((seed * 31 + n * 7_919) % 300_000),
        held: GpuSeconds((seed * 17 + n * 104_729) % 50_000),
    };
    (0..)
        .zip(org.nodes())
        .map(|(n, node)| (node.id.clone(), used(n)))
        .collect()
}

/// Asks for one operation; what the book makes of it.
fn asked(
    book: &Book<'_>,
    fixture: &Fixture,
    step: Step,
    number: u64,
    at: Timestamp,
    used: &UsedByNode,
) -> Option<Transaction> {
    let (what, from, to, amount, _) = step;
    let pick = |n: usize| fixture.org.nodes()[n % fixture.org.len()].id.clone();
    let entry = entry(number, at);
    match what {
        0 | 1 => book
            .move_hours(entry, &pick(from), &pick(to), GpuSeconds(amount), used)
            .ok(),
        2 => book
            .set_gross(entry, &pick(to), GpuSeconds(amount * 10), used)
            .ok(),
        _ => book.reverse(entry, fixture.history.get(from)?, used).ok(),
    }
}

fn check_tree(book: &Book<'_>, fixture: &Fixture, at: Timestamp) -> Result<(), TestCaseError> {
    let org = &fixture.org;
    let rows = book.rows(at);
    let milli: Vec<(MilliGpus, MilliGpus)> = book
        .rates()
        .into_iter()
        .map(|(_, own, node)| (own, node))
        .collect();
    for ix in org.indices() {
        let row = &rows[ix.0];
        let alone = book.row(&row.node, at);
        prop_assert_eq!(alone.as_ref(), Some(row));
        prop_assert!(row.own >= GpuSeconds::ZERO, "L4");
        prop_assert!(row.own_accrued <= row.own);
        let below: Vec<_> = org.children(ix).iter().map(|child| &rows[child.0]).collect();
        let granted: GpuSeconds = below.iter().map(|child| child.granted).sum();
        prop_assert_eq!(row.own + granted, row.granted, "L2");
        let unaccrued: GpuSeconds = below.iter().map(|child| child.granted - child.accrued).sum();
        prop_assert!(
            row.own - row.own_accrued + unaccrued <= row.granted - row.accrued,
            "L2 of what is still to come"
        );
        let mut rate = row.own_rate.clone();
        for child in &below {
            rate.add(&child.rate);
        }
        prop_assert_eq!(&rate, &row.rate);
        let shares: MilliGpus = org.children(ix).iter().map(|child| milli[child.0].1).sum();
        prop_assert!(milli[ix.0].0 + shares <= milli[ix.0].1);
    }
    prop_assert!(rows[0].granted <= fixture.capacity, "L3");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn l1_to_l5_and_l9_hold_under_random_changes(
        parents in prop::collection::vec(0_usize..20, 1..20), spread in 0_i64..1_000, steps in steps(), seed in 0_i64..1_000_000,
    ) {
        let mut fixture = random_fixture(&parents, spread);
        let org = fixture.org.clone();
        let mut book = Book::new(&org, fixture.period.clone(), fixture.capacity);
        for transaction in &fixture.history {
            book.apply(transaction).unwrap();
        }
        let mut at = fixture.period.starts;
        for (number, step) in (10..).zip(steps) {
            at = Timestamp(at.get() + step.4);
            let used = random_use(&org, seed);
            let Some(transaction) = asked(&book, &fixture, step, number, at, &used) else { continue };
            prop_assert_eq!(transaction.sum(), 0, "L1");
            let root_before = book.rows(at)[0].clone();
            prop_assert!(matches!(book.apply(&transaction), Ok(Applied::New(_))));
            let root = book.rows(at)[0].clone();
            if transaction.kind == Kind::Move {
                prop_assert_eq!((root.granted, root.accrued), (root_before.granted, root_before.accrued));
            }
            // L9: twice is once; the same command for something else is refused.
            prop_assert_eq!(book.apply(&transaction), Ok(Applied::Before));
            let mut other = transaction.clone();
            other.entry.reason.push('!');
            prop_assert!(matches!(book.apply(&other), Err(LedgerError::CommandReused(_))));
            for posting in transaction.postings.iter().filter(|posting| posting.amount < GpuSeconds::ZERO) {
                if let Balance::Own(node) = &posting.to {
                    let part = book.own_part(node, at, used[node]).unwrap();
                    prop_assert!(part.own >= part.bound(), "what is used stays");
                }
            }
            fixture.history.push(transaction);
        }
        let end = fixture.period.ends.get();
        for instant in [at.get(), i64::midpoint(at.get(), end), end - 1, end] {
            check_tree(&book, &fixture, Timestamp(instant))?;
        }
        let stored: Vec<StoredBalance> = book.balances().collect();
        let mut replayed = Book::new(&org, fixture.period.clone(), fixture.capacity);
        for transaction in &fixture.history {
            replayed.apply(transaction).unwrap();
        }
        prop_assert_eq!(&replayed.balances().collect::<Vec<_>>(), &stored, "L5");
        let loaded = Book::load(&org, fixture.period.clone(), fixture.capacity, &stored).unwrap();
        prop_assert_eq!(loaded.rows(at), book.rows(at));
        prop_assert_eq!(audit(&org, &fixture.period, fixture.capacity, &fixture.history, &stored), vec![]);
    }

    #[test]
    fn a_preview_says_what_the_book_then_does(
        parents in prop::collection::vec(0_usize..12, 1..12), from in 0_usize..14, to in 0_usize..14,
        hundredths in 0_i64..60_000, passed in 0_i64..8_000_000, seed in 0_i64..1_000_000,
    ) {
        let fixture = random_fixture(&parents, 7);
        let mut book = fixture.book();
        let pick = |n: usize| fixture.org.nodes().get(n).map_or_else(|| id("nobody"), |node| node.id.clone());
        let at = Timestamp(fixture.period.starts.get() + passed);
        let used = random_use(&fixture.org, seed);
        let tree = fixture.tree(&book, at, &used);
        let amount = GpuSeconds(hundredths * 36);
        let seen = preview(&tree, &pick(from), &pick(to), &amount.hours_field());
        match book.move_hours(entry(7, at), &pick(from), &pick(to), amount, &used) {
            Err(refused) => prop_assert_eq!(seen, Err(Problem::from(refused))),
            Ok(transaction) => {
                let before = book.rows(at);
                book.apply(&transaction).unwrap();
                let effect = seen.unwrap();
                let mut expected: Vec<(String, GpuSeconds, Fraction)> = Vec::new();
                for (before, after) in before.iter().zip(book.rows(at)) {
                    if before.granted != after.granted {
                        expected.push((after.node.to_string(), after.granted, after.rate_gpus));
                    }
                }
                let mut seen: Vec<(String, GpuSeconds, Fraction)> = effect
                    .changes
                    .iter()
                    .map(|change| (change.node.to_string(), change.granted_after, change.rate_after))
                    .collect();
                seen.sort_by(|a, b| a.0.cmp(&b.0));
                expected.sort_by(|a, b| a.0.cmp(&b.0));
                prop_assert_eq!(seen, expected);
                for side in [&effect.from, &effect.to] {
                    let row = book.row(&side.node.id, at).unwrap();
                    prop_assert_eq!((side.own_after, side.granted_after), (row.own, row.granted));
                }
            }
        }
    }
}
