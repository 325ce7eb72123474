//! Three windows over everything that is counted: the latest minute or two, the latest minutes, and weeks. All forget by
//! half-lives. The quickest shows a change within a few runs, the next one with less noise once it has lasted.
//!
//! Counts are not faded as time passes; what is added later weighs more (forward decay, Cormode et al. 2009), and a count
//! is divided by what an addition now would weigh when it is read. So counting costs the same however much is known.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Seconds after which an observation weighs half, window by window.
pub const HALF_LIFE_S: Windows<f64> = Windows { quick: 50.0, short: 180.0, long: 30.0 * 86_400.0 };
/// Half-lives after which counts are brought down again, far below what a double holds.
const ROLL: f64 = 64.0;
/// Weights below this are nothing: 2^-40 of an observation.
pub(super) const NOTHING: f64 = 9e-13;

/// The same in every window. What a quicker one holds is in the longer ones too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Windows<T> {
    /// Of the latest minute or two.
    pub quick: T,
    /// Of the latest minutes.
    pub short: T,
    /// Of weeks.
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

impl<T> Windows<T> {
    /// The same for every window.
    pub fn all(of: T) -> Self
    where
        T: Clone,
    {
        Self { quick: of.clone(), short: of.clone(), long: of }
    }

    /// Borrowed.
    pub const fn each(&self) -> Windows<&T> {
        Windows { quick: &self.quick, short: &self.short, long: &self.long }
    }

    /// Something else for every window.
    pub fn map<U>(self, mut to: impl FnMut(T) -> U) -> Windows<U> {
        Windows { quick: to(self.quick), short: to(self.short), long: to(self.long) }
    }

    /// Window by window beside another.
    pub fn zip<U>(self, with: Windows<U>) -> Windows<(T, U)> {
        Windows {
            quick: (self.quick, with.quick),
            short: (self.short, with.short),
            long: (self.long, with.long),
        }
    }

    /// One after another, the quickest first.
    pub fn list(self) -> [T; 3] {
        [self.quick, self.short, self.long]
    }

    /// One after another, the quickest first, to be changed.
    pub const fn list_mut(&mut self) -> [&mut T; 3] {
        [&mut self.quick, &mut self.short, &mut self.long]
    }
}

impl<T: Tally> Windows<T> {
    /// Multiplies what each window counts.
    pub fn scale(&mut self, by: Windows<f64>) {
        for (window, by) in self.list_mut().into_iter().zip(by.list()) {
            window.scale(by);
        }
    }

    /// Adds what another has counted.
    pub fn absorb(&mut self, other: &Self) {
        for (window, other) in self.list_mut().into_iter().zip(other.each().list()) {
            window.absorb(other);
        }
    }

    /// Whether all are.
    pub fn is_sound(&self) -> bool {
        self.each().list().into_iter().all(Tally::is_sound)
    }
}

impl Windows<f64> {
    /// Counts `weight` times `by`.
    pub fn count(&mut self, weight: Windows<f64>, by: f64) {
        for (window, weight) in self.list_mut().into_iter().zip(weight.list()) {
            *window += weight * by;
        }
    }

    /// Window by window.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        self.zip(other).map(|(a, b)| a * b)
    }
}

/// The clock of a book: the latest time it was told, and the moments at which an addition weighed 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    latest: f64,
    /// The same for the two quick windows, for which a pause counts little: a server that is asked once in ten minutes
    /// would have no latest minutes else.
    busy: f64,
    from: Windows<f64>,
}

/// Of a pause, so many seconds count for the quick windows,
const PAUSE_S: f64 = 45.0;
/// and what is beyond so many.
const BREAK_S: f64 = 1_800.0;

/// How much more an addition at `to` weighs than one at `from`.
fn growth(from: Windows<f64>, to: Windows<f64>) -> Windows<f64> {
    from.zip(to).zip(HALF_LIFE_S).map(|((from, to), half_life)| ((to - from) / half_life).exp2())
}

impl Clock {
    /// What each window takes for the time at `now`. Time does not go back: an earlier one counts as the latest.
    fn at(&self, now: Duration) -> Windows<f64> {
        let latest = self.latest.max(now.as_secs_f64());
        let gap = latest - self.latest;
        let busy = self.busy + gap.min(PAUSE_S) + (gap - BREAK_S).max(0.0);
        Windows { quick: busy, short: busy, long: latest }
    }

    /// Takes the time on. Where counts must be multiplied to go on, by how much.
    #[must_use]
    pub fn advance(&mut self, now: Duration) -> Option<Windows<f64>> {
        let times = self.at(now);
        self.latest = times.long;
        self.busy = times.quick;
        let age = |((from, to), half_life): ((f64, f64), f64)| (to - from) / half_life;
        let ages = self.from.zip(times).zip(HALF_LIFE_S).map(age);
        if ages.list().into_iter().all(|age| age <= ROLL) {
            return None;
        }
        let by = growth(times, self.from);
        self.from = times;
        Some(by)
    }

    /// What an addition weighs now.
    #[must_use]
    pub fn weight(&self) -> Windows<f64> {
        growth(self.from, Windows { quick: self.busy, short: self.busy, long: self.latest })
    }

    /// By how much counts must be multiplied when they are read at `now`.
    #[must_use]
    pub fn fade(&self, now: Duration) -> Windows<f64> {
        growth(self.at(now), self.from)
    }

    /// Makes two clocks one: by how much the counts of each must be multiplied then.
    #[must_use]
    pub fn join(&mut self, other: &Self) -> [Windows<f64>; 2] {
        let later = self.from.zip(other.from).map(|(a, b)| a.max(b));
        let by = [growth(later, self.from), growth(later, other.from)];
        *self = Self {
            latest: self.latest.max(other.latest),
            busy: self.busy.max(other.busy),
            from: later,
        };
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
        let now = Windows { quick: self.busy, short: self.busy, long: self.latest };
        let past = |((from, to), half_life): ((f64, f64), f64)| {
            from.is_sound()
                && to.is_sound()
                && (0.0..=2.0 * ROLL).contains(&((to - from) / half_life))
        };
        self.from.zip(now).zip(HALF_LIFE_S).map(past).list().into_iter().all(|past| past)
    }
}
