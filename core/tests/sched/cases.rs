//! What users of other schedulers reported, as scenarios with the right result.

use crate::pool::{DAY, HOUR, Pool, gang, sweep, work};
use stint_core::id::WorkloadId;
use stint_core::sched::contract::{
    AfterPreemption, EndCause, Fallback, HostState, Then, Topology, Workload, WorkloadState,
};
use stint_core::sched::explain;
use stint_core::sched::reason::{Reason, ReasonCode};
use stint_core::sched::state::Event;
use stint_core::units::{GpuSeconds, Seconds, Timestamp};

const W: fn(u64) -> WorkloadId = WorkloadId;

fn running(pool: &Pool, id: u64) -> bool {
    pool.stands(W(id)).is_some_and(WorkloadState::is_running)
}

#[test]
fn an_unallocated_run_yields_once_and_does_not_come_back_in_a_loop() {
    let mut pool = Pool::new(1, 6, 1, &[("a", 3), ("b", 3), ("be", 0)]);
    pool.submit(work(1, "a", 5));
    pool.submit(sweep(2, "be", 1));
    pool.pass();
    assert!(running(&pool, 1) && running(&pool, 2));
    pool.submit(work(3, "a", 1));
    let decisions = pool.pass();
    assert_eq!((decisions.stops.len(), decisions.starts.len()), (1, 1));
    assert!(running(&pool, 3));
    pool.until(DAY);
    assert_eq!(pool.preempted.iter().filter(|(_, id)| *id == W(2)).count(), 1);
    assert_eq!(pool.stands(W(2)), Some(WorkloadState::Queued));
}

#[test]
fn the_cheapest_victim_alone_is_enough() {
    let mut pool = Pool::new(2, 8, 1, &[("over", 4), ("owed", 8)]);
    pool.submit(work(2, "over", 8));
    pool.submit(sweep(1, "over", 8));
    pool.pass();
    pool.until(2 * HOUR);
    pool.submit(work(3, "owed", 8));
    pool.pass();
    assert_eq!(pool.preempted, [(2 * HOUR, W(1))]);
    assert!(running(&pool, 2) && running(&pool, 3));
}

#[test]
fn two_teams_with_endless_work_take_turns_without_thrashing() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 4), ("b", 4)]);
    pool.submit(work(1, "a", 8));
    pool.submit(work(2, "b", 8));
    for minute in 0..7 * 24 * 60 {
        pool.until(minute * 60);
    }
    assert!(pool.preempted.len() <= 168, "{} swaps", pool.preempted.len());
    let ran = |node: &str| {
        let leaf = pool.state.tree().charged_to(&node.parse().unwrap()).unwrap();
        pool.state.charged_in_period(leaf, pool.state.now()).0 / 8 / HOUR
    };
    assert!(
        (82..=86).contains(&ran("a")) && (82..=86).contains(&ran("b")),
        "{} h and {} h",
        ran("a"),
        ran("b")
    );
    assert!(pool.starts.windows(2).all(|pair| pair[1].0 - pair[0].0 >= HOUR));
}

#[test]
fn a_guarantee_is_taken_back_from_the_other_side_of_the_tree_in_one_pass() {
    let mut pool = Pool::new(128, 8, 16, &[("p1/a", 256), ("p1/b", 256), ("p2/c", 512)]);
    for n in 0..128 {
        pool.submit(work(n + 1, if n % 2 == 0 { "a" } else { "b" }, 8));
    }
    pool.pass();
    pool.until(DAY);
    pool.submit(Workload {
        min_runtime: Seconds(HOUR),
        ..gang(500, "c", 64, 8)
    });
    let decisions = pool.pass();
    assert_eq!(decisions.stops.len(), 64);
    assert!(running(&pool, 500));
}

#[test]
fn a_gang_larger_than_its_rate_starts_when_its_team_is_owed_time() {
    let mut pool = Pool::new(128, 8, 16, &[("rich", 924), ("small", 100)]);
    for n in 0..128 {
        pool.submit(work(n + 1, "rich", 8));
    }
    pool.pass();
    pool.until(7 * DAY);
    pool.submit(gang(500, "small", 32, 8));
    pool.pass();
    assert!(running(&pool, 500));
    assert_eq!(pool.preempted.len(), 32);
}

#[test]
fn a_protected_candidate_never_ends_the_search_for_one_that_may_go() {
    let mut pool = Pool::new(2, 8, 1, &[("org2/r", 6), ("org2/b", 4), ("p", 6)]);
    pool.submit(work(1, "b", 8));
    pool.pass();
    pool.until(HOUR + 1);
    pool.submit(Workload {
        min_runtime: Seconds(8 * HOUR),
        ..work(2, "p", 8)
    });
    pool.pass();
    pool.submit(work(3, "r", 8));
    pool.pass();
    assert_eq!(pool.preempted, [(HOUR + 1, W(1))]);
    assert!(running(&pool, 2) && running(&pool, 3));
}

#[test]
fn of_many_small_runs_exactly_one_leaves_for_one_gpu() {
    let mut pool = Pool::new(1, 11, 1, &[("a", 11)]);
    for n in 1..=11 {
        pool.submit(sweep(n, "a", 1));
        pool.until(i64::try_from(n).unwrap() * 60);
    }
    pool.submit(work(20, "a", 1));
    pool.pass();
    assert_eq!(pool.preempted, [(11 * 60, W(11))], "the one with least lost work");
}

#[test]
fn nothing_is_stopped_for_a_gang_that_would_not_fit_all_the_same() {
    let mut pool = Pool::new(2, 8, 1, &[("a", 16)]);
    pool.submit(sweep(1, "a", 8));
    pool.submit(sweep(2, "a", 8));
    pool.pass();
    let mut wanted = gang(3, "a", 2, 8);
    wanted.shape.topology = Topology::SameBlock;
    pool.submit(wanted);
    let decisions = pool.pass();
    assert!(decisions.is_empty());
}

#[test]
fn a_victim_gang_leaves_whole_and_the_rest_of_its_hosts_go_to_the_next_in_the_same_pass() {
    let mut pool = Pool::new(4, 8, 4, &[("over", 4), ("owed", 28)]);
    pool.submit(Workload {
        min_runtime: Seconds(300),
        ..gang(1, "over", 4, 8)
    });
    pool.pass();
    pool.until(600);
    for n in 2..=4 {
        pool.submit(work(n, "owed", 8));
    }
    let decisions = pool.pass();
    assert_eq!(decisions.stops.len(), 1, "one gang is one victim");
    assert_eq!(decisions.starts.len(), 3);
    assert_eq!(
        pool.stands(W(1)),
        Some(WorkloadState::Queued),
        "it is queued again, once"
    );
}

#[test]
fn a_large_gang_is_not_thrown_out_for_a_short_try_until_that_has_waited_its_worth() {
    let mut pool = Pool::new(4, 8, 4, &[("over", 4), ("owed", 28)]);
    pool.submit(Workload {
        min_runtime: Seconds(4 * HOUR),
        ..gang(1, "over", 4, 8)
    });
    pool.pass();
    pool.until(5 * HOUR);
    pool.submit(Workload {
        min_runtime: Seconds(300),
        ..work(2, "owed", 8)
    });
    pool.pass();
    assert!(pool.preempted.is_empty());
    // 32 GPUs x 4 h are at stake; 8 GPUs x (15 min + wait) outweigh that after 15.75 h.
    pool.until(5 * HOUR + 15 * HOUR + 44 * 60);
    assert!(pool.preempted.is_empty());
    pool.until(5 * HOUR + 15 * HOUR + 46 * 60);
    assert!(running(&pool, 2));
}

#[test]
fn a_single_victim_is_preferred_to_a_gang() {
    let mut pool = Pool::new(3, 8, 3, &[("over", 6), ("owed", 18)]);
    pool.submit(gang(1, "over", 2, 8));
    pool.submit(work(2, "over", 8));
    pool.pass();
    pool.until(2 * HOUR);
    pool.submit(work(3, "owed", 8));
    pool.pass();
    assert_eq!(pool.preempted, [(2 * HOUR, W(2))]);
}

#[test]
fn a_gang_that_frees_both_hosts_is_one_victim() {
    let mut pool = Pool::new(2, 8, 2, &[("over", 2), ("owed", 14)]);
    pool.submit(gang(1, "over", 2, 8));
    pool.pass();
    pool.until(2 * HOUR);
    pool.submit(gang(2, "owed", 2, 8));
    let decisions = pool.pass();
    assert_eq!(decisions.stops.len(), 1);
    assert!(running(&pool, 2));
}

#[test]
fn the_younger_of_two_runs_leaves() {
    let mut pool = Pool::new(1, 2, 1, &[("a", 2)]);
    pool.submit(sweep(1, "a", 1));
    pool.until(55 * 60);
    pool.submit(sweep(2, "a", 1));
    pool.until(HOUR);
    pool.submit(work(3, "a", 1));
    pool.pass();
    assert_eq!(pool.preempted, [(HOUR, W(2))]);
}

#[test]
fn a_free_host_is_used_before_anyone_is_stopped() {
    let mut pool = Pool::new(2, 8, 1, &[("a", 16)]);
    pool.submit(sweep(1, "a", 8));
    pool.pass();
    pool.submit(work(2, "a", 8));
    pool.pass();
    assert!(pool.preempted.is_empty());
    assert_ne!(pool.hosts_of(W(1)), pool.hosts_of(W(2)));
}

#[test]
fn ten_owed_teams_start_in_one_pass() {
    let names: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let mut leaves: Vec<(&str, i64)> = names.iter().map(|name| (name.as_str(), 7)).collect();
    leaves.push(("over", 10));
    let mut pool = Pool::new(10, 8, 10, &leaves);
    for n in 0..10 {
        pool.submit(work(n + 1, "over", 8));
    }
    pool.pass();
    pool.until(2 * HOUR);
    for (n, name) in (100..).zip(&names) {
        pool.submit(work(n, name, 8));
    }
    assert_eq!(pool.pass().starts.len(), 10);
}

#[test]
fn a_run_that_exits_by_itself_during_grace_is_finished_and_not_queued_again() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8)]);
    pool.submit(Workload {
        grace: Seconds(10),
        ..sweep(1, "a", 8)
    });
    pool.pass();
    pool.submit(work(2, "a", 8));
    let decisions = pool.pass();
    assert_eq!(decisions.starts[0].waits_for.len(), 1);
    assert_eq!(pool.stands(W(1)), Some(WorkloadState::Stopping));
    assert_eq!(pool.stands(W(2)), Some(WorkloadState::Starting));
    pool.now += 5;
    pool.finish(W(1));
    assert_eq!(pool.stands(W(1)), None, "over");
    assert!(running(&pool, 2), "its pinned GPUs are its own now");
}

#[test]
fn a_leaf_without_a_rate_runs_only_where_nothing_funded_fits_and_displaces_no_allocated_work() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8), ("z", 0)]);
    pool.submit(work(1, "z", 8));
    pool.submit(work(2, "a", 8));
    pool.pass();
    assert!(running(&pool, 2) && !running(&pool, 1));
    pool.until(3 * DAY);
    assert!(running(&pool, 2) && pool.preempted.is_empty());
}

#[test]
fn a_side_at_or_below_its_share_loses_nothing_to_one_above() {
    let mut pool = Pool::new(2, 8, 2, &[("p/x", 8), ("q/y", 8)]);
    pool.submit(work(1, "x", 8));
    pool.submit(work(2, "y", 8));
    pool.pass();
    pool.until(DAY);
    for n in 3..6 {
        pool.submit(work(n, "x", 8));
    }
    pool.until(2 * DAY);
    assert!(pool.preempted.iter().all(|(_, id)| *id != W(2)));
}

#[test]
fn three_failed_launches_hold_a_workload_and_leave_nothing_charged_or_held() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8)]);
    pool.submit(work(1, "a", 8));
    for _ in 0..3 {
        pool.pass();
        let run = pool.run(W(1));
        pool.event(Event::Ended(run, EndCause::LaunchFailed));
    }
    assert_eq!(pool.stands(W(1)), Some(WorkloadState::Held));
    assert!(pool.pass().is_empty());
    let leaf = pool.state.tree().charged_to(&"a".parse().unwrap()).unwrap();
    let ix = pool.state.tree().leaf_ix(leaf);
    let now = pool.state.now();
    assert_eq!(
        (
            pool.state.held(ix, now).0,
            pool.state.charged_in_period(leaf, now).0
        ),
        (0, 0)
    );
    let order = explain::order(&pool.state, now);
    assert_eq!(order[0].reason, Reason::LaunchFailures { count: 3 });
}

#[test]
fn a_spent_budget_stops_nobody_and_new_work_runs_free_and_unprotected() {
    let mut pool = Pool::new(2, 8, 2, &[("a", 16)]);
    pool.grant("a", 8 * (HOUR + 600));
    pool.submit(work(1, "a", 8));
    pool.submit(work(2, "a", 8));
    pool.pass();
    assert_eq!(pool.stands(W(1)), Some(WorkloadState::Protected));
    assert_eq!(pool.stands(W(2)), Some(WorkloadState::Unallocated));
    pool.submit(Workload {
        fallback: Fallback::Wait,
        ..work(3, "a", 8)
    });
    pool.pass();
    let order = explain::order(&pool.state, pool.state.now());
    assert_eq!(order[0].reason.code(), ReasonCode::Funds);
    pool.grant("a", 1 << 40);
    pool.pass();
    assert_eq!(
        pool.stands(W(2)),
        Some(WorkloadState::Protected),
        "promoted where it runs"
    );
    assert!(pool.preempted.is_empty());
}

#[test]
fn a_start_comes_at_the_very_second_at_which_protection_ends() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 1), ("b", 7)]);
    pool.submit(work(1, "a", 8));
    pool.pass();
    pool.now = 60;
    pool.submit(work(2, "b", 8));
    pool.pass();
    assert_eq!(pool.state.next_timer(), Some(Timestamp(HOUR)));
    pool.until(2 * HOUR);
    assert_eq!(pool.starts, [(0, W(1)), (HOUR, W(2))]);
}

#[test]
fn a_higher_priority_displaces_a_lower_one_of_the_same_node_once_its_protection_has_passed() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8)]);
    pool.submit(work(1, "a", 8));
    pool.pass();
    pool.now = 60;
    pool.submit(Workload {
        priority: 5,
        ..work(2, "a", 8)
    });
    pool.pass();
    assert!(pool.preempted.is_empty(), "not while it is protected");
    pool.until(HOUR);
    assert_eq!(pool.preempted, [(HOUR, W(1))]);
    pool.until(3 * HOUR);
    assert!(running(&pool, 2), "and not the other way round");
}

#[test]
fn an_uncordoned_host_is_used_in_the_next_pass() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8)]);
    pool.event(Event::Host("h000".parse().unwrap(), HostState::Draining));
    pool.submit(work(1, "a", 8));
    assert!(pool.pass().is_empty());
    pool.event(Event::Host("h000".parse().unwrap(), HostState::Up));
    assert_eq!(pool.pass().starts.len(), 1);
}

#[test]
fn lost_time_is_given_back_and_the_workload_keeps_its_place() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8)]);
    pool.submit(work(1, "a", 8));
    pool.pass();
    pool.now = 1_000;
    let run = pool.run(W(1));
    let effects = pool.event(Event::Ended(run, EndCause::HostFailed));
    assert!(format!("{effects:?}").contains("Refund"), "{effects:?}");
    let leaf = pool.state.tree().charged_to(&"a".parse().unwrap()).unwrap();
    assert_eq!(
        pool.state.charged_in_period(leaf, Timestamp(1_000)),
        GpuSeconds(0)
    );
    assert_eq!(pool.state.live()[&W(1)].workload.submitted_at, Timestamp(0));
}

#[test]
fn what_happens_after_protection_is_as_asked() {
    let mut pool = Pool::new(3, 8, 3, &[("a", 24)]);
    pool.submit(work(1, "a", 8));
    pool.submit(Workload {
        then: Then::Unallocated,
        ..work(2, "a", 8)
    });
    pool.submit(Workload {
        then: Then::Stop,
        ..work(3, "a", 8)
    });
    pool.pass();
    pool.until(2 * HOUR);
    assert_eq!(pool.stands(W(1)), Some(WorkloadState::Interruptible));
    assert_eq!(pool.stands(W(2)), Some(WorkloadState::Unallocated));
    assert_eq!(pool.stands(W(3)), None);
    let leaf = pool.state.tree().charged_to(&"a".parse().unwrap()).unwrap();
    assert_eq!(
        pool.state.charged_in_period(leaf, Timestamp(2 * HOUR)).0,
        8 * (2 + 1 + 1) * HOUR
    );
}

#[test]
fn a_preempted_workload_that_is_not_resumable_ends() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8)]);
    pool.submit(Workload {
        after_preemption: AfterPreemption::End,
        ..sweep(1, "a", 8)
    });
    pool.pass();
    pool.submit(work(2, "a", 8));
    pool.pass();
    assert_eq!(pool.stands(W(1)), None);
}

#[test]
fn parts_of_a_host_fill_broken_hosts_and_leave_whole_ones_whole() {
    let mut pool = Pool::new(3, 8, 3, &[("a", 24)]);
    pool.submit(work(1, "a", 5));
    pool.pass();
    pool.submit(work(2, "a", 2));
    pool.submit(work(3, "a", 4));
    pool.pass();
    assert_eq!(pool.hosts_of(W(2)), pool.hosts_of(W(1)));
    pool.submit(work(4, "a", 3));
    pool.pass();
    assert_eq!(pool.hosts_of(W(4)), pool.hosts_of(W(3)));
}

#[test]
fn a_cancelled_workload_leaves_the_queue_or_is_told_to_stop_whatever_protects_it() {
    let mut pool = Pool::new(1, 8, 1, &[("a", 8)]);
    pool.submit(Workload {
        grace: Seconds(30),
        ..work(1, "a", 8)
    });
    pool.submit(work(2, "a", 8));
    pool.pass();
    pool.event(Event::Cancelled(W(2)));
    assert_eq!(pool.stands(W(2)), None);
    pool.event(Event::Cancelled(W(1)));
    assert_eq!(pool.stands(W(1)), Some(WorkloadState::Stopping));
    let run = pool.run(W(1));
    pool.event(Event::Ended(run, EndCause::Cancelled));
    assert_eq!(pool.stands(W(1)), None);
}

#[test]
fn every_wait_has_a_reason_with_its_numbers() {
    let mut pool = Pool::new(2, 8, 2, &[("p/x", 4), ("q/y", 12)]);
    pool.submit(Workload {
        min_runtime: Seconds(8 * HOUR),
        ..gang(1, "x", 2, 8)
    });
    pool.pass();
    pool.now = 600;
    pool.submit(work(2, "y", 8));
    pool.submit(work(3, "y", 4));
    pool.submit(work(4, "x", 8));
    pool.submit(sweep(5, "x", 1));
    pool.submit(gang(6, "y", 3, 8));
    pool.pass();
    let order = explain::order(&pool.state, pool.state.now());
    let clock = |at: Timestamp| format!("{} s", at.0);
    let find = |id: u64| order.iter().find(|entry| entry.workload == W(id)).unwrap();
    let say = |id: u64| find(id).reason.sentence(&clock);
    assert_eq!(order[0].workload, W(2));
    assert_eq!(
        say(2),
        "Needs 8 GPUs on one host; none is free. The next protection there passes at 28800 s on h000."
    );
    assert_eq!(
        say(3),
        "Behind w-2 of the same team; needs 4 GPUs on one host; none is free."
    );
    assert!(
        say(4).starts_with("q (") && say(4).contains("goes before p ("),
        "{}",
        say(4)
    );
    assert!(
        say(5).starts_with("Unallocated: after all allocated work"),
        "{}",
        say(5)
    );
    assert_eq!(say(6), "Needs 3 hosts of 8 GPUs; the pool has 2 such hosts.");
    assert_eq!(order.len(), 5);
}
