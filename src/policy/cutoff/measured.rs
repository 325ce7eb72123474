//! Cutoffs by what is measured: `P95 × (1 − 0.10 · dependants) × (1 − 0.10 · paid) × clamp(0.7 + 0.3 · slack, 0.7, 1.15)`,
//! at least 1.15 medians, never past the step's share of the time left.
//!
//! The first, third and floor terms are those of the published simulation of 1.2 million calls' tails, where they close
//! 82 to 86 % of the gap between waiting and a perfect choice. `paid` makes an extra attempt cheaper the more of the run is paid
//! for, within the same range as dependants: the two add up to about one along a chain.
//!
//! Where waiting for the first token is over half of a step's median, the first token is the signal: what comes after it
//! is short, and a stuck attempt is seen early. Elsewhere it is a guard, by P99, and the total and its projection are
//! the signals.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{COLD_STALL, Limits};
use crate::domain::time::show;

/// Below so many samples nothing counts as measured (the format's documentation).
pub const SAMPLES_MIN: f64 = 20.0;
/// From here on latency has risen everywhere: cutoffs are later, and hedges fewer.
pub const SHOCK: f64 = 1.3;
/// No cutoff is later than so many times what it would be without a shock.
const SHOCK_MAX: f64 = 2.0;
/// An attempt is not cut before so many medians.
const FLOOR: f64 = 1.15;
/// Signs of life are gathered over 100 ms; a shorter limit would cut on our own delay.
const LEAST: f64 = 0.25;
/// The least pause between tokens that is a stall: streams pause for shorter without harm.
const LEAST_STALL: f64 = 2.0;
/// Longer than any run: what is no number, or longer, is taken as this.
const LONGEST: f64 = 86_400.0;
/// A rate below this part of the usual one is the path's fault, and not the size of the work.
pub const SLUGGISH: f64 = 0.67;

/// What is measured of a step on a path, in seconds: the values at P50, P95 and P99.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// To the first token.
    pub first_token: [f64; 3],
    /// To the complete answer.
    pub total: [f64; 3],
}

/// Where a run stands when an attempt is launched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation {
    /// Share of the other steps that depend on this one, 0 to 1.
    pub dependants: f64,
    /// Time left beyond the typical rest of the run, in terms of that rest; below 0 where it no longer fits. `None`
    /// where the rest is not known.
    pub slack: Option<f64>,
    /// Share of the run's work that is done and paid for, 0 to 1.
    pub paid: f64,
    /// By how much the latest minutes are slower than ever, on all paths at once.
    pub shock: f64,
    /// The step's share of the time left.
    pub share: Duration,
}

/// What a cutoff was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Basis {
    /// The cutoff.
    pub after: Duration,
    /// So many of a hundred are below `time`.
    pub percent: u8,
    /// The measured time.
    pub time: Duration,
    /// What it was multiplied by, in thousandths.
    pub factor: u32,
    /// What else has decided.
    pub bound: Bound,
}

/// What decided how long a cutoff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The percentile and its factor.
    Factor,
    /// It would have been later than the step's share of the time left.
    Share,
    /// It would have been shorter than can be told.
    Least,
    /// A pause nearly as long as the writing of a whole answer usually takes.
    Writing,
}

/// What an attempt's limits were made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Bases {
    /// To the first token.
    pub first_token: Basis,
    /// From one token to the next.
    pub idle: Basis,
    /// To the complete answer.
    pub total: Basis,
}

/// An attempt that flows, and will not be done in time at this rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Projection {
    /// How long it will still take.
    pub more: Duration,
    /// Its tokens a second, in tenths.
    pub rate: u32,
    /// The usual tokens a second on this path, in tenths.
    pub usual: u32,
    /// What it misses.
    pub misses: Misses,
}

/// What a projection misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misses {
    /// The time that is left for it.
    Time(Duration),
    /// Its cutoff.
    Cutoff(Basis),
}

/// Seconds as a duration; what is no number is very long.
#[must_use]
pub fn seconds(seconds: f64) -> Duration {
    let bounded = if seconds.is_nan() { LONGEST } else { seconds.clamp(0.0, LONGEST) };
    // Whole microseconds, as everywhere.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 8.64e10")]
    Duration::from_micros((bounded * 1e6).round() as u64)
}

/// A number that is not negative in units of `1 / scale`, for words.
#[must_use]
pub fn scaled(number: f64, scale: f64) -> u32 {
    let bounded = if number.is_finite() { (number * scale).round().clamp(0.0, 1e9) } else { 1e9 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1e9")]
    let whole = bounded as u32;
    whole
}

/// By how much cutoffs are later while latency has risen everywhere: 1 to 2.
#[must_use]
pub fn later_by(shock: f64) -> f64 {
    if shock > SHOCK { shock.min(SHOCK_MAX) } else { 1.0 }
}

impl Curve {
    /// Whether the first token is the signal: waiting for it is over half of the median.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.first_token[0] > 0.5 * self.total[0]
    }

    /// The time within which `percent` of a hundred answers have come, 50 to 99: between the measured points along
    /// the logarithms of time and of the share that is still missing, as though the tail were a power law.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Duration {
        let missing = |percent: f64| (1.0 - percent / 100.0).ln();
        let [p50, p95, p99] = self.total.map(|time| if time.is_nan() { LONGEST } else { time });
        let percent = f64::from(percent.clamp(50, 99));
        let (from, to, low, high) =
            if percent <= 95.0 { (50.0, 95.0, p50, p95) } else { (95.0, 99.0, p95, p99) };
        let part = (missing(percent) - missing(from)) / (missing(to) - missing(from));
        let (low, high) = (low.clamp(1e-6, LONGEST), high.clamp(1e-6, LONGEST));
        seconds((low.ln() + part * (high.ln() - low.ln())).exp())
    }
}

/// The limits of an attempt that goes by `curve`.
#[must_use]
pub fn decide(curve: &Curve, situation: &Situation) -> Limits {
    let factor = factor(situation);
    let cutoff = |percent: u8, times: &[f64; 3], factor: f64| {
        let time = if percent == 95 { times[1] } else { times[2] };
        basis(percent, time, times[0], factor, situation.share)
    };
    let (first_token, total) = if curve.waits() {
        (cutoff(95, &curve.first_token, factor), cutoff(99, &curve.total, factor))
    } else {
        // Not before the P95: a first token that is a little late says nothing of a long answer.
        let least = curve.first_token[1] / curve.first_token[2].max(1e-6);
        let guard = if least.is_finite() { factor.max(least) } else { factor };
        (cutoff(99, &curve.first_token, guard), cutoff(95, &curve.total, factor))
    };
    let writing = (curve.total[0] - curve.first_token[0]) * later_by(situation.shock);
    let idle = Basis {
        after: seconds(writing.max(LEAST_STALL)).min(COLD_STALL).min(situation.share),
        percent: 50,
        time: seconds(writing.max(0.0)),
        factor: 1_000,
        bound: Bound::Writing,
    };
    Limits {
        first_token: Some(first_token.after),
        idle: Some(idle.after),
        total: Some(total.after),
        automatic: true,
        measured: Some(Bases { first_token, idle, total }),
    }
}

fn factor(situation: &Situation) -> f64 {
    let part = |share: f64| 1.0 - 0.10 * if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let time = situation.slack.filter(|slack| !slack.is_nan());
    let time = time.map_or(1.0, |slack| (0.7 + 0.3 * slack).clamp(0.7, 1.15));
    part(situation.dependants) * part(situation.paid) * time * later_by(situation.shock)
}

fn basis(percent: u8, time: f64, median: f64, factor: f64, share: Duration) -> Basis {
    let (by_factor, floor) = (time * factor, median * FLOOR);
    let (percent, time, factor) =
        if by_factor < floor { (50, median, FLOOR) } else { (percent, time, factor) };
    let after = seconds(by_factor.max(floor).max(LEAST));
    let bound = match after {
        after if after > share => Bound::Share,
        _ if by_factor.max(floor) < LEAST => Bound::Least,
        _ => Bound::Factor,
    };
    let (after, time) = (after.min(share), seconds(time));
    Basis { after, percent, time, factor: scaled(factor, 1_000.0), bound }
}

impl fmt::Display for Basis {
    /// `P95 4.6 s × 0.9`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.factor.saturating_add(5) / 10;
        let factor = match (hundredths / 100, hundredths % 100) {
            (whole, 0) => whole.to_string(),
            (whole, rest) if rest % 10 == 0 => format!("{whole}.{}", rest / 10),
            (whole, rest) => format!("{whole}.{rest:02}"),
        };
        let time = show(self.time);
        match (self.bound, self.percent) {
            (Bound::Writing, _) => write!(f, "a whole answer usually takes {time} to write"),
            (Bound::Least, _) => write!(f, "the least that can be told"),
            (Bound::Share, 50) => write!(f, "its share of the time left; median {time} × {factor}"),
            (Bound::Share, p) => write!(f, "its share of the time left; P{p} {time} × {factor}"),
            (Bound::Factor, 50) => write!(f, "median {time} × {factor}"),
            (Bound::Factor, p) => write!(f, "P{p} {time} × {factor}"),
        }
    }
}

impl fmt::Display for Projection {
    /// `about 9.4 s more at 21 tokens/s, usually 62, and 6.1 s are left for it`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, usual) = (Tenths(self.rate), Tenths(self.usual));
        write!(f, "about {} more at {rate} tokens/s, usually {usual}", show(self.more))?;
        match self.misses {
            Misses::Time(left) => write!(f, ", and {} are left for it", show(left)),
            Misses::Cutoff(basis) => {
                write!(f, ", past its cutoff of {} ({basis})", show(basis.after))
            }
        }
    }
}

/// A number in tenths, for people.
struct Tenths(u32);

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 10, self.0 % 10) {
            (whole, tenth) if whole >= 10 => write!(f, "{}", whole + u32::from(tenth >= 5)),
            (whole, 0) => write!(f, "{whole}"),
            (whole, tenth) => write!(f, "{whole}.{tenth}"),
        }
    }
}

#[cfg(test)]
mod tests;
