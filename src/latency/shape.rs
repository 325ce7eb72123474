//! What all paths of a server have in common: how late the late are, how slow the slow, from where on, and when faults
//! come. Pooled, because a single path shows too few of them.

use serde::{Deserialize, Serialize};

use super::histogram::{Histogram, Quantile, middle_ln};
use super::law::Points;
use super::mixture::LogNormal;
use super::normal::{above, density, inverse};
use super::path::{LATE, SLOW, Usual};
use super::seen::{Fate, Seen};
use super::window::Tally;

/// Points of a law that is handed out.
pub const POINTS: usize = 64;
/// Before anything is seen: by how much the first token of a late attempt, and each token of a slow one, takes longer
/// (published measurements of 1.2 million calls: medians of 5 and 4.7).
pub const LATE_FACTOR: LogNormal = LogNormal { mean: 1.609_437_912, spread: 0.60 };
/// See [`LATE_FACTOR`].
pub const SLOW_FACTOR: LogNormal = LogNormal { mean: 1.547_562_509, spread: 0.37 };
/// How firmly both are believed, in observations.
const FIRM: f64 = 30.0;
/// Shares of an answer are counted by tenths; one more for none of it.
const TENTHS: usize = 11;

/// What is counted server-wide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    late: Histogram,
    slow: Histogram,
    /// By the share of the answer that had come before it slowed down: none, or up to so many tenths.
    onset: [f64; TENTHS],
    /// By the share of the answer that had come before a useless one ended.
    invalid_at: [f64; TENTHS],
    /// By the share of the usual time to the first token.
    error_at: Histogram,
}

fn tenth(share: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let tenth = (share.clamp(0.0, 1.0) * 10.0).ceil() as usize;
    tenth.min(TENTHS - 1)
}

#[expect(clippy::cast_precision_loss, reason = "a few points")]
pub(super) fn share_of(at: usize, of: usize) -> f64 {
    (at as f64 + 0.5) / of as f64
}

/// A law as points.
#[must_use]
pub fn points(at: impl Fn(f64) -> f64) -> Points {
    let all = (0..POINTS).map(|place| at(share_of(place, POINTS)));
    Points::new(all).unwrap_or_else(|| Points::one(1.0))
}

/// A log-normal law as points.
#[must_use]
pub fn log_normal(law: LogNormal) -> Points {
    points(|share| (law.mean + law.spread * inverse(share)).exp())
}

/// The law of factors of which only those above `from` were told apart.
fn above_only(seen: &Histogram, fade: f64, from: f64, prior: LogNormal) -> LogNormal {
    let edge = from.ln();
    let (mut n, mut first, mut second) = (0.0, 0.0, 0.0);
    for cell in seen.cells() {
        let (weight, x) = (cell.1 * fade, middle_ln(cell.0));
        n += weight;
        first += weight * x;
        second += weight * x * x;
    }
    let mut law = prior;
    for _ in 0..20 {
        // Those below the edge were not seen; by this law there were so many, and on average there.
        let z = (edge - law.mean) / law.spread;
        let seen = above(z).max(0.05);
        let hidden = n * (1.0 - seen) / seen;
        let ratio = density(z) / (1.0 - seen).max(1e-9);
        let mean = law.mean - law.spread * ratio;
        let square = mean * mean + law.spread.powi(2) * (1.0 - z * ratio - ratio * ratio).max(0.0);
        let all = n + hidden + FIRM;
        let mean = (first + hidden * mean + FIRM * prior.mean) / all;
        let prior_square = prior.spread.powi(2) + prior.mean.powi(2);
        let square = (second + hidden * square + FIRM * prior_square) / all;
        law = LogNormal { mean, spread: (square - mean * mean).max(0.01).sqrt() };
    }
    law
}

impl Shape {
    /// Counts an attempt on a path on which `usual` is usual. Its answer is expected to have `size` tokens.
    pub fn record(&mut self, seen: &Seen, size: f64, usual: Usual, weight: f64) {
        if let Some(usual) = usual.first {
            match seen.first {
                Some(first) if first > LATE * usual => self.late.event(first / usual, weight),
                None if seen.fate == Fate::Fault => {
                    self.error_at.event(seen.lasted / usual, weight);
                }
                _ => {}
            }
        }
        if let (Some(pace), Some(usual)) = (seen.pace, usual.pace)
            && pace.after > SLOW * usual
        {
            let steady = pace.after <= pace.before;
            let factor = pace.after / if steady { usual } else { pace.before };
            self.slow.event(factor, weight);
            let whole =
                if seen.fate == Fate::Answered { seen.tokens } else { size.max(seen.tokens) };
            self.onset[if steady { 0 } else { tenth(pace.split / whole.max(1.0)).max(1) }] +=
                weight;
        }
        if seen.fate == Fate::Invalid {
            self.invalid_at[tenth(seen.tokens / size).max(1)] += weight;
        }
    }

    /// By how much late first tokens take longer.
    #[must_use]
    pub fn late(&self, fade: f64) -> LogNormal {
        above_only(&self.late, fade, LATE, LATE_FACTOR)
    }

    /// By how much slow tokens take longer.
    #[must_use]
    pub fn slow(&self, fade: f64) -> LogNormal {
        above_only(&self.slow, fade, SLOW, SLOW_FACTOR)
    }

    /// From which share of the answer on slow attempts are slow.
    #[must_use]
    pub fn onset(&self, fade: f64) -> Points {
        // Half from the start, the others evenly over the first eight tenths.
        let prior = |at: usize| {
            if at == 0 {
                0.5
            } else if at <= 8 {
                0.0625
            } else {
                0.0
            }
        };
        tenths(&self.onset, fade, prior)
    }

    /// At which share of its writing time a useless answer ends.
    #[must_use]
    pub fn invalid_at(&self, fade: f64) -> Points {
        tenths(&self.invalid_at, fade, |at| if at >= 4 { 1.0 / 7.0 } else { 0.0 })
    }

    /// At which share of the time to its first token an error comes.
    #[must_use]
    pub fn error_at(&self, fade: f64) -> Points {
        let events = self.error_at.events() * fade;
        let known = events / (events + FIRM);
        points(|share| {
            let seen = self.error_at.quantile(share).map_or(share, Quantile::at_least);
            known * seen + (1.0 - known) * share
        })
    }
}

/// Counts by tenths as points, with a prior of [`FIRM`] observations.
fn tenths(counts: &[f64; TENTHS], fade: f64, prior: impl Fn(usize) -> f64) -> Points {
    let weights: Vec<f64> =
        counts.iter().enumerate().map(|(at, n)| n * fade + FIRM * prior(at)).collect();
    let all: f64 = weights.iter().sum();
    points(|share| {
        let mut left = share * all;
        for (at, weight) in weights.iter().enumerate() {
            if left <= *weight && *weight > 0.0 {
                let end = share_of(at, 10) - 0.05;
                return if at == 0 { 0.0 } else { end - 0.1 + 0.1 * left / weight };
            }
            left -= weight;
        }
        1.0
    })
}

impl Tally for Shape {
    fn scale(&mut self, by: f64) {
        self.late.scale(by);
        self.slow.scale(by);
        self.error_at.scale(by);
        for count in self.onset.iter_mut().chain(&mut self.invalid_at) {
            *count *= by;
        }
    }

    fn absorb(&mut self, other: &Self) {
        self.late.absorb(&other.late);
        self.slow.absorb(&other.slow);
        self.error_at.absorb(&other.error_at);
        let mine = self.onset.iter_mut().chain(&mut self.invalid_at);
        for (count, more) in mine.zip(other.onset.iter().chain(&other.invalid_at)) {
            *count += more;
        }
    }

    fn is_sound(&self) -> bool {
        let counts = self.onset.iter().chain(&self.invalid_at);
        self.late.is_sound()
            && self.slow.is_sound()
            && self.error_at.is_sound()
            && counts.copied().all(|count| count.is_sound())
    }
}
