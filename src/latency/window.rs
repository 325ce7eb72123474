//! Two windows over everything that is counted: the latest minutes, and weeks. Both forget by half-lives.
//!
//! Counts are not faded as time passes; what is added later weighs more (forward decay, Cormode et al. 2009), and a count
//! is divided by what an addition now would weigh when it is read. So counting costs the same however much is known.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Seconds after which an observation weighs half in the short window.
pub const SHORT_HALF_LIFE_S: f64 = 300.0;
/// Seconds after which an observation weighs half in the long one: 30 days.
pub const LONG_HALF_LIFE_S: f64 = 30.0 * 86_400.0;
/// Half-lives after which counts are brought down again, far below what a double holds.
const ROLL: f64 = 64.0;
/// Weights below this are nothing: 2^-40 of an observation.
pub(super) const NOTHING: f64 = 9e-13;

/// The same in both windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pair<T> {
    /// Of the latest minutes.
    pub short: T,
    /// Of weeks; what the short one holds is in it too.
    pub long: T,
}

/// What can be counted in a window.
pub trait Tally {
    /// Multiplies all it counts.
    fn scale(&mut self, by: f64);
    /// Adds what another has counted.
    fn absorb(&mut self, other: &Self);
    /// Whether every number in it is finite and none is negative.
    fn is_sound(&self) -> bool;
}

impl Tally for f64 {
    fn scale(&mut self, by: f64) {
        *self *= by;
    }

    fn absorb(&mut self, other: &Self) {
        *self += other;
    }

    fn is_sound(&self) -> bool {
        self.is_finite() && *self >= 0.0
    }
}

impl<T: Tally> Pair<T> {
    /// Multiplies what each window counts.
    pub fn scale(&mut self, by: Pair<f64>) {
        self.short.scale(by.short);
        self.long.scale(by.long);
    }

    /// Adds what another has counted.
    pub fn absorb(&mut self, other: &Self) {
        self.short.absorb(&other.short);
        self.long.absorb(&other.long);
    }

    /// Whether both are.
    pub fn is_sound(&self) -> bool {
        self.short.is_sound() && self.long.is_sound()
    }
}

impl Pair<f64> {
    /// Counts `weight` times `by`.
    pub fn count(&mut self, weight: Pair<f64>, by: f64) {
        self.short += weight.short * by;
        self.long += weight.long * by;
    }

    /// Window by window.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self { short: self.short * other.short, long: self.long * other.long }
    }
}

/// The clock of a book: the latest time it was told, and the moments at which an addition weighed 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    latest: f64,
    from: Pair<f64>,
}

/// How much more an addition at `to` weighs than one at `from`.
fn growth(from: Pair<f64>, to: Pair<f64>) -> Pair<f64> {
    Pair {
        short: ((to.short - from.short) / SHORT_HALF_LIFE_S).exp2(),
        long: ((to.long - from.long) / LONG_HALF_LIFE_S).exp2(),
    }
}

impl Clock {
    /// Takes the time on. Time does not go back: an earlier one counts as the latest. Where counts must be multiplied to
    /// go on, by how much.
    #[must_use]
    pub fn advance(&mut self, now: Duration) -> Option<Pair<f64>> {
        self.latest = self.latest.max(now.as_secs_f64());
        let due = |from: f64, half_life: f64| (self.latest - from) / half_life > ROLL;
        if !due(self.from.short, SHORT_HALF_LIFE_S) && !due(self.from.long, LONG_HALF_LIFE_S) {
            return None;
        }
        let now = Pair { short: self.latest, long: self.latest };
        let by = growth(now, self.from);
        self.from = now;
        Some(by)
    }

    /// What an addition weighs now.
    #[must_use]
    pub fn weight(&self) -> Pair<f64> {
        growth(self.from, Pair { short: self.latest, long: self.latest })
    }

    /// By how much counts must be multiplied when they are read at `now`.
    #[must_use]
    pub fn fade(&self, now: Duration) -> Pair<f64> {
        let now = self.latest.max(now.as_secs_f64());
        growth(Pair { short: now, long: now }, self.from)
    }

    /// Makes two clocks one: by how much the counts of each must be multiplied then.
    #[must_use]
    pub fn join(&mut self, other: &Self) -> [Pair<f64>; 2] {
        let later = Pair {
            short: self.from.short.max(other.from.short),
            long: self.from.long.max(other.from.long),
        };
        let by = [growth(later, self.from), growth(later, other.from)];
        *self = Self { latest: self.latest.max(other.latest), from: later };
        by
    }

    /// The latest time it was told, in seconds.
    #[must_use]
    pub const fn latest(&self) -> f64 {
        self.latest
    }

    /// Whether it can be what a clock has written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let past = |from: f64, half_life: f64| {
            from.is_finite()
                && from >= 0.0
                && (0.0..=2.0 * ROLL).contains(&((self.latest - from) / half_life))
        };
        past(self.from.short, SHORT_HALF_LIFE_S) && past(self.from.long, LONG_HALF_LIFE_S)
    }
}
