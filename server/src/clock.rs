//! The one place that knows what time it is and the one place that waits.
//!
//! Everything reads a [`Clock`]. The demo's runs faster than real time from a stored anchor, so that it goes on
//! after a restart where it was.

use std::time::Duration;

use stint_core::units::Timestamp;

/// What time it is.
pub trait Clock: Send + Sync + 'static {
    /// Now, floored to the second.
    fn now(&self) -> Timestamp;
    /// Seconds of this clock that pass in a real second.
    fn speed(&self) -> u32;
}

/// Real time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the system's clock"
)]
fn real_millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since
        .ok()
        .and_then(|span| i64::try_from(span.as_millis()).ok())
        .unwrap_or(0)
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(real_millis().div_euclid(1_000))
    }

    fn speed(&self) -> u32 {
        1
    }
}

/// A clock that stood at `shown` when it was made and runs `speed` times as fast as real time from there.
#[derive(Clone, Copy, Debug)]
pub struct ScaledClock {
    shown: Timestamp,
    started_millis: i64,
    speed: u32,
}

impl ScaledClock {
    /// A clock that shows `shown` now.
    pub fn starting_at(shown: Timestamp, speed: u32) -> Self {
        Self {
            shown,
            started_millis: real_millis(),
            speed,
        }
    }
}

impl Clock for ScaledClock {
    fn now(&self) -> Timestamp {
        let passed = (real_millis() - self.started_millis).max(0);
        Timestamp(self.shown.0 + passed.saturating_mul(i64::from(self.speed)) / 1_000)
    }

    fn speed(&self) -> u32 {
        self.speed
    }
}

/// A clock that a test sets.
#[derive(Debug, Default)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

impl ManualClock {
    /// A clock that shows `at` until it is set.
    pub fn at(at: Timestamp) -> Self {
        Self(std::sync::atomic::AtomicI64::new(at.0))
    }

    /// Sets it.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.0, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }

    fn speed(&self) -> u32 {
        1
    }
}

/// Measures how long something took, in real time.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "the one place that measures real time")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// What has passed since.
    pub fn passed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Waits for a real span of time.
#[expect(clippy::disallowed_methods, reason = "the one place that waits")]
pub async fn wait(span: Duration) {
    tokio::time::sleep(span).await;
}
