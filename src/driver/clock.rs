//! The only clock: everything below is handed times, everything above asks here.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::domain::time::Timestamp;

/// Real time, or real time sped up for the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    /// Seconds of the clock per second of the machine.
    speed: f64,
}

impl Clock {
    /// A clock that starts now and runs as the machine's does.
    #[must_use]
    pub fn start() -> Self {
        Self::sped_up(1.0)
    }

    /// A clock that starts now and runs `speed` times as fast as the machine's (0.01 to 1,000).
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
    pub fn sped_up(speed: f64) -> Self {
        let speed = if speed.is_finite() { speed.clamp(0.01, 1_000.0) } else { 1.0 };
        Self { origin: Instant::now(), speed }
    }

    /// A clock of the same speed that starts now: a run's own.
    #[must_use]
    pub fn restart(&self) -> Self {
        Self::sped_up(self.speed)
    }

    /// Seconds of this clock per second of the machine.
    #[must_use]
    pub fn speed(&self) -> f64 {
        self.speed
    }

    fn is_real(&self) -> bool {
        (self.speed - 1.0).abs() < f64::EPSILON
    }

    /// Time since the clock's start.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
    pub fn now(&self) -> Timestamp {
        let real = Instant::now().duration_since(self.origin);
        Timestamp::after_start(if self.is_real() { real } else { real.mul_f64(self.speed) })
    }

    /// Waits until the clock shows `at`, rounded up to the next millisecond of the machine's timer.
    pub async fn sleep_until(&self, at: Timestamp) {
        let real = at.since_start();
        let real = if self.is_real() { real } else { real.div_f64(self.speed) };
        match self.origin.checked_add(real) {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// Waits for `pause` of this clock.
    pub async fn sleep(&self, pause: Duration) {
        self.sleep_until(self.now() + pause).await;
    }
}

/// The machine's date and time, which signatures carry.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
pub fn system_time() -> SystemTime {
    SystemTime::now()
}

/// The date and time, RFC 3339 in UTC to the millisecond.
#[must_use]
pub fn wall_time() -> String {
    let now = jiff::Timestamp::now();
    format!("{now:.3}")
}

/// The UTC day, `2026-11-30`.
#[must_use]
pub fn utc_day() -> String {
    wall_time().chars().take(10).collect()
}

/// Time until the next UTC day begins.
#[must_use]
pub fn until_tomorrow() -> Duration {
    let seconds = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    Duration::from_secs(86_400 - seconds % 86_400)
}
