//! How many tests passed and failed, read from what the runners print.

use std::fmt;
use std::ops::AddAssign;

use super::Verdict;

/// Tests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: u64,
    pub(super) failed: u64,
}

impl Count {
    pub(super) fn verdict(self) -> Verdict {
        if self.failed == 0 && self.passed > 0 {
            Verdict::Passed
        } else {
            Verdict::Failed
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// A program that runs tests.
#[derive(Clone, Copy)]
pub(super) enum Runner {
    Nextest,
    Libtest,
    Playwright,
}

impl Runner {
    /// What one line of the runner's output adds to the count: nothing, unless it is a line of the summary.
    pub(super) fn count(self, line: &str) -> Count {
        let summary = match self {
            Self::Nextest => line
                .trim_start()
                .strip_prefix("Summary [")
                .and_then(|rest| rest.split_once(']')),
            Self::Libtest => line.split_once("test result: "),
            // Playwright prints one line for each outcome: a number, a word, nothing else but the time.
            Self::Playwright => Some(("", line)).filter(|_| starts_with_number(line)),
        };
        summary.map(|(_, rest)| tally(rest)).unwrap_or_default()
    }
}

fn starts_with_number(line: &str) -> bool {
    line.starts_with("  ")
        && line
            .split_whitespace()
            .next()
            .is_some_and(|word| word.parse::<u64>().is_ok())
}

/// Adds up the numbers that stand before a word of outcome.
fn tally(text: &str) -> Count {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut count = Count::default();
    for pair in words.windows(2) {
        let Ok(number) = pair[0].parse::<u64>() else {
            continue;
        };
        match pair[1] {
            "passed" => count.passed += number,
            // "3 timed out", "1 exec failed", "2 did not run"; a test that passes only the second time has failed.
            "failed" | "timed" | "exec" | "flaky" | "interrupted" | "did" => count.failed += number,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runner: Runner, output: &str, passed: u64, failed: u64) {
        let mut total = Count::default();
        for line in output.lines() {
            total += runner.count(line);
        }
        assert_eq!(total, Count { passed, failed }, "{output}");
    }

    #[test]
    fn the_summary_of_nextest_is_counted() {
        check(
            Runner::Nextest,
            "     Summary [   0.005s] 12 tests run: 12 passed, 3 skipped",
            12,
            0,
        );
        check(
            Runner::Nextest,
            "        PASS [   0.004s] stint-core 2 passed, 1 failed\n     \
             Summary [   1.205s] 12/14 tests run: 9 passed (1 slow, 1 leaky), 1 failed, 1 exec failed, 1 timed out",
            9,
            3,
        );
    }

    #[test]
    fn the_results_of_several_crates_are_added() {
        check(
            Runner::Libtest,
            "running 2 tests\ntest a ... ok\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s",
            7,
            1,
        );
    }

    #[test]
    fn every_outcome_of_playwright_but_passed_is_a_failure() {
        check(
            Runner::Playwright,
            "Running 9 tests using 1 worker\n\n  9 passed (12.3s)",
            9,
            0,
        );
        check(
            Runner::Playwright,
            "  1 failed\n    [js] queue.spec.js:3:1 3 passed here\n  1 flaky\n  2 did not run\n  5 passed (1.2m)",
            5,
            4,
        );
    }

    #[test]
    fn nothing_run_is_not_a_pass() {
        assert_eq!(Count::default().verdict(), Verdict::Failed);
        assert_eq!(Count { passed: 3, failed: 0 }.verdict(), Verdict::Passed);
        assert_eq!(Count { passed: 3, failed: 1 }.verdict(), Verdict::Failed);
        assert_eq!(Count { passed: 3, failed: 1 }.to_string(), "3 passed, 1 failed");
    }
}
