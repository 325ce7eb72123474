//! The permits of one quota: earned by first attempts, halved by 429s, slowly recovering.
//!
//! A token bucket as in retry budgets (`linkerd`, `tower`: a share of the requests, a floor, a cap), with the additive
//! increase and multiplicative decrease of congestion control on top: what is in it counts by a factor, which a 429
//! halves. Taking a permit while the factor is a quarter empties the bucket by four.

use std::time::Duration;

use super::WHOLE;

/// What a first attempt earns: a tenth of a permit.
pub const EARNED: u64 = WHOLE / 10;
/// Most permits in a bucket.
pub const CAP: u64 = 20 * WHOLE;
/// Up to so many come by themselves, so that a quiet server may hedge at all; a new bucket holds as many.
pub const FLOOR: u64 = 2 * WHOLE;
/// One permit comes by itself in this time, below the floor: the longest cutoff while nothing is measured, so that the
/// steps of a single run, one after another, never lack one.
pub const TRICKLE: Duration = Duration::from_secs(10);
/// No extra attempt is sent into a quota for so long after a 429.
pub const SUSPENDED: Duration = Duration::from_secs(10);
/// The factor recovers by a hundredth a second: from nothing to all in this time.
pub const RECOVERY: Duration = Duration::from_secs(100);
/// A 429 halves the factor at most once in this time: a burst of them is one.
const HALVING: Duration = Duration::from_secs(1);

/// The factor that changes nothing, in millionths.
const UNCHANGED: u64 = 1_000_000;
/// Microseconds for a millionth of a permit to come by itself.
const TRICKLE_STEP: u128 = 10;
/// Microseconds for the factor to recover by a millionth.
const RECOVERY_STEP: u128 = 100;

/// See the module. Times count from the server's start; one that goes back counts as the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// In millionths, before the factor.
    permits: u64,
    /// In millionths.
    factor: u64,
    /// Up to when permits have come by themselves.
    filled: Duration,
    /// Up to when the factor has recovered.
    recovered: Duration,
    halved: Option<Duration>,
    suspended_until: Duration,
}

impl Default for Bucket {
    fn default() -> Self {
        Self {
            permits: FLOOR,
            factor: UNCHANGED,
            filled: Duration::ZERO,
            recovered: Duration::ZERO,
            halved: None,
            suspended_until: Duration::ZERO,
        }
    }
}

impl Bucket {
    /// A first attempt was launched that may turn to this quota.
    pub fn earn(&mut self, now: Duration) {
        self.pass(now);
        self.permits = (self.permits + EARNED).min(CAP);
    }

    /// Permits there are at `now`, in millionths, by the factor.
    pub fn permits(&mut self, now: Duration) -> u64 {
        self.pass(now);
        self.permits * self.factor / UNCHANGED
    }

    /// Takes a whole permit, if there is one. What was paid for it, for [`Bucket::give_back`].
    pub fn take(&mut self, now: Duration) -> Option<u64> {
        (self.permits(now) >= WHOLE).then(|| self.take_some(now))
    }

    /// Takes a permit, or what there is of one.
    pub fn take_some(&mut self, now: Duration) -> u64 {
        self.pass(now);
        let paid = self.price().min(self.permits);
        self.permits -= paid;
        paid
    }

    /// What was paid for a permit that was not used after all.
    pub fn give_back(&mut self, paid: u64) {
        self.permits = self.permits.saturating_add(paid).min(CAP);
    }

    /// The quota has refused something.
    pub fn refused(&mut self, now: Duration) {
        self.pass(now);
        self.suspended_until = self.suspended_until.max(now.saturating_add(SUSPENDED));
        if self.halved.is_none_or(|at| at + HALVING <= now) {
            self.factor /= 2;
            (self.halved, self.recovered) = (Some(now), now);
        }
    }

    /// How long no extra attempt is sent after a 429; zero where nothing was refused lately.
    #[must_use]
    pub fn suspended_for(&self, now: Duration) -> Duration {
        self.suspended_until.saturating_sub(now)
    }

    /// The factor, in millionths.
    pub fn factor(&mut self, now: Duration) -> u64 {
        self.pass(now);
        self.factor
    }

    /// What a whole permit is before the factor; a factor of nothing has no price that could be paid.
    fn price(&self) -> u64 {
        (WHOLE * UNCHANGED).div_ceil(self.factor.max(1))
    }

    /// Time passes: permits come by themselves up to the floor, and the factor recovers.
    fn pass(&mut self, now: Duration) {
        let (permits, filled) = steps(self.filled, now, TRICKLE_STEP);
        self.filled = filled;
        if self.permits < FLOOR {
            self.permits = self.permits.saturating_add(permits).min(FLOOR);
        }
        let (factor, recovered) = steps(self.recovered, now, RECOVERY_STEP);
        self.recovered = recovered;
        self.factor = self.factor.saturating_add(factor).min(UNCHANGED);
    }
}

/// Whole steps between `from` and `now`, and up to when they reach: what is left of one counts on.
fn steps(from: Duration, now: Duration, step: u128) -> (u64, Duration) {
    let Some(passed) = now.checked_sub(from) else { return (0, from) };
    let count = u64::try_from(passed.as_micros() / step).unwrap_or(u64::MAX);
    let micros = u64::try_from(u128::from(count) * step).unwrap_or(u64::MAX);
    (count, from.saturating_add(Duration::from_micros(micros)))
}
