//! A workload's life over time: queued, running protected, running interruptible, preempted, and what is ahead.

use stint_core::sched::contract::EndCause;
use stint_core::units::{DAY_S, HOUR_S};

use super::drawn;

/// Width of the drawing.
pub const WIDTH: f64 = 1_010.0;
/// Room at either side.
pub const MARGIN: f64 = 20.0;
/// A segment is never narrower than this, or it would not be seen.
pub const NARROWEST: f64 = 2.0;
/// The most ticks.
const TICKS: i64 = 12;
const STEPS: [i64; 13] = [
    60,
    300,
    900,
    1_800,
    HOUR_S,
    3 * HOUR_S,
    6 * HOUR_S,
    12 * HOUR_S,
    DAY_S,
    2 * DAY_S,
    7 * DAY_S,
    14 * DAY_S,
    28 * DAY_S,
];

/// A run as the life line sees it, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When its GPUs were assigned.
    pub assigned: i64,
    /// Until when it is protected; absent for unallocated runs and before it runs.
    pub protected_until: Option<i64>,
    /// When it ended.
    pub ended: Option<i64>,
    /// How it ended.
    pub cause: Option<EndCause>,
    /// Whether it is charged: if not, it is hatched throughout.
    pub allocated: bool,
}

/// What a segment shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Waiting.
    Queued,
    /// Running, protected; or starting.
    Protected,
    /// Running, may be taken.
    Interruptible,
    /// Protection that is still ahead.
    Ahead,
}

/// A piece of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// What it shows.
    pub kind: Kind,
    /// Its left edge.
    pub x: f64,
    /// Its width.
    pub width: f64,
    /// For how many seconds.
    pub seconds: i64,
    /// Which run, from 0; `None` while waiting.
    pub run: Option<usize>,
}

/// The whole line.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeLine {
    /// Its pieces, first to last.
    pub segments: Vec<Segment>,
    /// Where protection ends or ended: the run, and the place.
    pub protections: Vec<(usize, f64)>,
    /// Where runs were preempted.
    pub preemptions: Vec<(usize, f64)>,
    /// Ticks: the instant, and the place.
    pub ticks: Vec<(i64, f64)>,
    /// Where now is, while it goes on.
    pub now: Option<f64>,
}

/// From instants to places.
#[derive(Clone, Copy, Debug)]
struct Scale {
    from: i64,
    to: i64,
}

impl Scale {
    fn place(self, at: i64) -> f64 {
        let span = drawn((self.to - self.from).max(1));
        MARGIN + drawn(at.clamp(self.from, self.to) - self.from) / span * (WIDTH - 2.0 * MARGIN)
    }

    fn segment(self, kind: Kind, from: i64, to: i64, run: Option<usize>) -> Option<Segment> {
        (to > from).then(|| Segment {
            kind,
            x: self.place(from),
            width: (self.place(to) - self.place(from)).max(NARROWEST),
            seconds: to - from,
            run,
        })
    }
}

/// The life line of a workload submitted at `submitted`, read at `now`. `over` says that nothing more happens;
/// `offset_s` is the zone's offset, by which ticks fall on round local times.
pub fn life_line(submitted: i64, runs: &[Span], now: i64, over: bool, offset_s: i64) -> LifeLine {
    let last_end = runs.iter().filter_map(|run| run.ended).max();
    let ahead = runs
        .last()
        .filter(|run| run.ended.is_none())
        .and_then(|run| run.protected_until);
    let end = if over {
        last_end.unwrap_or(now)
    } else {
        now.max(ahead.unwrap_or(now))
    };
    let scale = Scale {
        from: submitted,
        to: end.max(submitted + 1),
    };
    let mut line = LifeLine {
        segments: Vec::new(),
        protections: Vec::new(),
        preemptions: Vec::new(),
        ticks: ticks(scale, offset_s),
        now: (!over).then(|| scale.place(now)),
    };
    let mut waits_since = submitted;
    for (ix, run) in runs.iter().enumerate() {
        line.segments
            .extend(scale.segment(Kind::Queued, waits_since, run.assigned, None));
        add_run(&mut line, scale, ix, run, now);
        waits_since = run.ended.unwrap_or(i64::MAX);
    }
    if !over && waits_since < now {
        line.segments
            .extend(scale.segment(Kind::Queued, waits_since, now, None));
    }
    line
}

fn add_run(line: &mut LifeLine, scale: Scale, ix: usize, run: &Span, now: i64) {
    let end = run.ended.unwrap_or(now);
    let protected_to = match (run.allocated, run.protected_until) {
        (false, _) => run.assigned,
        (true, Some(until)) => until.min(end),
        (true, None) => end,
    };
    let pieces = [
        (Kind::Protected, run.assigned, protected_to),
        (Kind::Interruptible, protected_to.max(run.assigned), end),
    ];
    for (kind, from, to) in pieces {
        line.segments.extend(scale.segment(kind, from, to, Some(ix)));
    }
    if let Some(until) = run.protected_until.filter(|_| run.allocated) {
        if run.ended.is_none() {
            line.segments
                .extend(scale.segment(Kind::Ahead, now, until, Some(ix)));
        }
        if until <= end || run.ended.is_none() {
            line.protections.push((ix, scale.place(until)));
        }
    }
    if run.cause == Some(EndCause::Preempted) {
        line.preemptions.push((ix, scale.place(end)));
    }
}

/// Ticks on round local times, as many as fit.
fn ticks(scale: Scale, offset_s: i64) -> Vec<(i64, f64)> {
    let span = scale.to - scale.from;
    let step = STEPS
        .into_iter()
        .find(|step| span / step < TICKS)
        .unwrap_or(STEPS[STEPS.len() - 1]);
    let first = (scale.from + offset_s).div_euclid(step) * step - offset_s;
    (0..)
        .map(|n| first + n * step)
        .skip_while(|at| *at < scale.from)
        .take_while(|at| *at <= scale.to)
        .take(usize::try_from(TICKS).unwrap_or(0) + 1)
        .map(|at| (at, scale.place(at)))
        .collect()
}

/// The runs whose marks stand far enough from the one before for a label to their left.
pub fn apart(marks: &[(usize, f64)], room: f64) -> Vec<usize> {
    let mut free_from = 0.0;
    let mut labelled = Vec::new();
    for (run, x) in marks {
        if x - room >= free_from {
            labelled.push(*run);
            free_from = *x;
        }
    }
    labelled
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: i64 = HOUR_S;

    fn kinds(line: &LifeLine) -> Vec<(Kind, i64)> {
        line.segments.iter().map(|s| (s.kind, s.seconds / 60)).collect()
    }

    fn run(assigned: i64, protected_until: i64, ended: Option<(i64, EndCause)>) -> Span {
        Span {
            assigned,
            protected_until: Some(protected_until),
            ended: ended.map(|(at, _)| at),
            cause: ended.map(|(_, cause)| cause),
            allocated: true,
        }
    }

    #[test]
    fn a_preempted_and_requeued_workload_tells_its_whole_story() {
        let runs = [
            run(H, 9 * H, Some((12 * H, EndCause::Preempted))),
            run(15 * H, 23 * H, None),
        ];
        let line = life_line(0, &runs, 20 * H, false, 0);
        assert_eq!(
            kinds(&line),
            [
                (Kind::Queued, 60),
                (Kind::Protected, 480),
                (Kind::Interruptible, 180),
                (Kind::Queued, 180),
                (Kind::Protected, 300),
                (Kind::Ahead, 180)
            ]
        );
        assert_eq!(line.protections.len(), 2);
        assert_eq!(line.preemptions.len(), 1);
        assert!(line.now.is_some());
        let last = line.segments.last().unwrap();
        assert!((last.x + last.width - (WIDTH - MARGIN)).abs() < 1e-6);
    }

    #[test]
    fn pieces_touch_and_never_leave_the_drawing() {
        let runs = [run(H, 2 * H, Some((3 * H, EndCause::Finished)))];
        let line = life_line(0, &runs, 100 * H, true, 0);
        for pair in line.segments.windows(2) {
            assert!((pair[0].x + pair[0].width - pair[1].x).abs() < 1e-6);
        }
        assert!(
            line.segments
                .iter()
                .all(|s| s.x >= MARGIN && s.x + s.width <= WIDTH)
        );
        assert_eq!(line.now, None);
    }

    #[test]
    fn unallocated_time_is_never_drawn_as_protected() {
        let free = Span {
            assigned: 60,
            protected_until: None,
            ended: None,
            cause: None,
            allocated: false,
        };
        let line = life_line(0, &[free], H, false, 0);
        assert_eq!(kinds(&line), [(Kind::Queued, 1), (Kind::Interruptible, 59)]);
        assert!(line.protections.is_empty());
    }

    #[test]
    fn a_workload_that_never_ran_only_waits() {
        let line = life_line(0, &[], 90 * 60, false, 0);
        assert_eq!(kinds(&line), [(Kind::Queued, 90)]);
        let just_now = life_line(500, &[], 500, false, 0);
        assert!(just_now.segments.is_empty() && just_now.now.is_some());
    }

    #[test]
    fn labels_of_marks_never_overlap() {
        let marks = [(0, 60.0), (1, 100.0), (2, 130.0), (3, 210.0), (4, 500.0)];
        assert_eq!(apart(&marks, 80.0), [1, 3, 4]);
        assert_eq!(apart(&[], 80.0), [0_usize; 0]);
    }

    #[test]
    fn a_moment_is_wide_enough_to_be_seen() {
        let runs = [run(H, 2 * H, Some((H + 1, EndCause::Failed)))];
        let line = life_line(0, &runs, 700 * H, false, 0);
        assert!(line.segments.iter().all(|s| s.width >= NARROWEST));
    }

    #[test]
    fn ticks_fall_on_round_local_times_and_are_few() {
        let half_hour_zone = 5 * H + 1_800;
        let line = life_line(100, &[], 26 * H, false, half_hour_zone);
        assert!(!line.ticks.is_empty() && line.ticks.len() <= 13);
        assert!(
            line.ticks
                .iter()
                .all(|(at, _)| (at + half_hour_zone).rem_euclid(3 * H) == 0)
        );
        assert!(life_line(0, &[], 400 * DAY_S, false, 0).ticks.len() <= 15);
    }
}
