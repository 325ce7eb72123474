//! What is counted of a path: first tokens, paces, outcomes.

use serde::{Deserialize, Serialize};

use super::change;
use super::histogram::Histogram;
use super::provider::Evidence;
use super::seen::{Fate, Seen};
use super::window::{Pair, Tally};

/// Before anything is seen: the spread of the logarithm of times to the first token, and of the time a token takes
/// (published measurements of 1.2 million calls).
pub const SPREAD_FIRST: f64 = 0.40;
/// See [`SPREAD_FIRST`].
pub const SPREAD_PACE: f64 = 0.19;
/// A first token is late that takes so many times as long as usual; a token is slow whose pace is below 0.45 of usual.
pub const LATE: f64 = 3.0;
/// See [`LATE`].
pub const SLOW: f64 = 1.0 / 0.45;
/// Attempts below which nothing is called usual.
const FEW: f64 = 2.0;

/// How attempts came out, as weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Attempts of which it can be told whether they failed before the first token.
    pub sent: f64,
    /// Those that did.
    pub faults: f64,
    /// Attempts that ended with an answer, of use or not.
    pub answers: f64,
    /// Those of no use.
    pub invalid: f64,
    /// Shares of answers during which it can be told whether they stalled, summed.
    pub flowing: f64,
    /// Attempts that stalled.
    pub stalls: f64,
}

impl Outcomes {
    fn fields(&mut self) -> [&mut f64; 6] {
        let Self { sent, faults, answers, invalid, flowing, stalls } = self;
        [sent, faults, answers, invalid, flowing, stalls]
    }
}

impl Tally for Outcomes {
    fn scale(&mut self, by: f64) {
        for field in self.fields() {
            *field *= by;
        }
    }

    fn absorb(&mut self, other: &Self) {
        let mut other = *other;
        for (mine, theirs) in self.fields().into_iter().zip(other.fields()) {
            *mine += *theirs;
        }
    }

    fn is_sound(&self) -> bool {
        let mut same = *self;
        same.fields().iter().all(|field| field.is_sound())
    }
}

/// One path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathCounts {
    /// Its provider.
    pub provider: String,
    /// Seconds to the first token.
    pub first: Pair<Histogram>,
    /// Seconds a token, before it slows down.
    pub pace: Pair<Histogram>,
    /// How attempts came out.
    pub outcomes: Pair<Outcomes>,
    /// When it was last tried, by the book's clock.
    pub seen: f64,
}

/// What is usual on a path, in the latest minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usual {
    /// Seconds to the first token.
    pub first: Option<f64>,
    /// Seconds a token.
    pub pace: Option<f64>,
}

/// The median of weeks, moved where the latest minutes say so.
fn usual(of: &Pair<Histogram>, fade: Pair<f64>, spread: f64) -> Option<f64> {
    if of.long.events() * fade.long < FEW {
        return None;
    }
    let long = of.long.quantile(0.5)?.at_least();
    let recent = of.short.events() * fade.short;
    let Some(short) = of.short.quantile(0.5).filter(|_| recent >= FEW) else { return Some(long) };
    // A median is worth 2/pi of a mean.
    let shift = change::of_shift((short.at_least() / long).ln(), recent * 0.64, spread);
    Some(long * shift.value.exp())
}

impl PathCounts {
    /// What is usual, where counts are multiplied by `fade`.
    #[must_use]
    pub fn usual(&self, fade: Pair<f64>) -> Usual {
        Usual {
            first: usual(&self.first, fade, SPREAD_FIRST),
            pace: usual(&self.pace, fade, SPREAD_PACE),
        }
    }

    /// Counts an attempt, and says what it tells of the provider. Its answer is expected to have `size` tokens.
    pub fn record(&mut self, seen: &Seen, size: f64, usual: Usual, weight: Pair<f64>) -> Evidence {
        let add = |to: &mut Pair<Histogram>, seconds: f64, event: bool| {
            if event {
                to.short.event(seconds, weight.short);
                to.long.event(seconds, weight.long);
            } else {
                to.short.censored(seconds, weight.short);
                to.long.censored(seconds, weight.long);
            }
        };
        let overdue = usual.first.is_some_and(|first| seen.lasted > 2.0 * first);
        match (seen.first, seen.fate) {
            (Some(first), _) => add(&mut self.first, first, true),
            (None, Fate::Closed) => add(&mut self.first, seen.lasted, false),
            // A fault that comes when a token is long due was waited for.
            (None, Fate::Fault) if overdue => add(&mut self.first, seen.lasted, false),
            (None, _) => {}
        }
        if let Some(pace) = seen.pace {
            add(&mut self.pace, pace.before, true);
        }
        self.count_outcome(seen, size, usual, weight);
        evidence(seen, size, usual)
    }

    fn count_outcome(&mut self, seen: &Seen, size: f64, usual: Usual, weight: Pair<f64>) {
        let mut now = Outcomes::default();
        let waited = usual.first.is_none_or(|first| seen.lasted > first);
        let told = match seen.fate {
            Fate::Answered | Fate::Invalid | Fate::Fault => true,
            Fate::Closed => seen.first.is_some() || waited,
            Fate::Refused | Fate::Unrelated => false,
        };
        now.sent = if told { 1.0 } else { 0.0 };
        now.faults = if seen.fate == Fate::Fault { 1.0 } else { 0.0 };
        now.answers = if matches!(seen.fate, Fate::Answered | Fate::Invalid) { 1.0 } else { 0.0 };
        now.invalid = if seen.fate == Fate::Invalid { 1.0 } else { 0.0 };
        if seen.first.is_some() {
            now.stalls = if seen.stalled { 1.0 } else { 0.0 };
            let far = (seen.tokens / size).clamp(0.0, 1.0);
            now.flowing = if seen.stalled || seen.fate == Fate::Answered { 1.0 } else { far };
        }
        for (window, weight) in
            [(&mut self.outcomes.short, weight.short), (&mut self.outcomes.long, weight.long)]
        {
            let mut now = now;
            now.scale(weight);
            window.absorb(&now);
        }
    }

    /// Multiplies what each window counts.
    pub fn scale(&mut self, by: Pair<f64>) {
        self.first.scale(by);
        self.pace.scale(by);
        self.outcomes.scale(by);
    }

    /// Adds what another book has counted.
    pub fn absorb(&mut self, other: &Self) {
        self.first.absorb(&other.first);
        self.pace.absorb(&other.pace);
        self.outcomes.absorb(&other.outcomes);
        self.seen = self.seen.max(other.seen);
        if self.provider.is_empty()
            || (!other.provider.is_empty() && other.provider < self.provider)
        {
            self.provider.clone_from(&other.provider);
        }
    }

    /// Whether it can be what a book has written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.first.is_sound()
            && self.pace.is_sound()
            && self.outcomes.is_sound()
            && self.seen.is_sound()
    }
}

fn evidence(seen: &Seen, size: f64, usual: Usual) -> Evidence {
    let mut evidence = Evidence {
        refused_of: matches!(
            seen.fate,
            Fate::Refused | Fate::Answered | Fate::Invalid | Fate::Fault
        ) || seen.first.is_some()
            || seen.lasted > 1.0,
        refused: seen.fate == Fate::Refused,
        ..Evidence::default()
    };
    if let (Some(pace), Some(usual)) = (seen.pace, usual.pace) {
        evidence.slow = pace.after > SLOW * usual;
        // Half of the slow ones are slow from the start, the others slow down within the first 0.8 of an answer.
        let far = (seen.tokens / (0.8 * size)).min(1.0);
        evidence.slow_of = if seen.fate == Fate::Answered { 1.0 } else { 0.5 + 0.5 * far };
    }
    if let Some(usual) = usual.first {
        evidence.late_of = seen.first.is_some();
        evidence.late = seen.first.is_some_and(|first| first > LATE * usual);
        evidence.silent = seen.silent() && seen.lasted > LATE * usual;
    }
    evidence
}
