//! What is counted of a path: first tokens, paces, outcomes.

use serde::{Deserialize, Serialize};

use super::change;
use super::histogram::Histogram;
use super::provider::Evidence;
use super::seen::{Fate, Seen};
use super::window::{Tally, Windows};

/// Before anything is seen: the spread of the logarithm of times to the first token, and of the time a token takes
/// (published measurements of 1.2 million calls).
pub const SPREAD_FIRST: f64 = 0.40;
/// See [`SPREAD_FIRST`].
pub const SPREAD_PACE: f64 = 0.19;
/// A first token is late that takes so many times as long as usual; a token is slow whose pace is below 0.45 of usual.
pub const LATE: f64 = 3.0;
/// See [`LATE`].
pub const SLOW: f64 = 1.0 / 0.45;
/// Windows are compared here, below the median: there are few slow ones among the quickest third, even in a spell.
const LOW: f64 = 0.35;
/// Attempts below which nothing is called usual.
const FEW: f64 = 2.0;

/// How attempts came out, as weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Attempts of which it can be told whether they failed before the first token.
    pub sent: f64,
    /// Those that did.
    pub faults: f64,
    /// Attempts that ended with an answer, of use or not, and shares of those that were closed.
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
    pub first: Windows<Histogram>,
    /// Seconds a token, before it slows down.
    pub pace: Windows<Histogram>,
    /// How attempts came out.
    pub outcomes: Windows<Outcomes>,
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

/// The median of weeks, moved where the latest minutes say so, and then where the latest minute does.
fn usual(of: &Windows<Histogram>, fade: Windows<f64>, spread: f64) -> Option<f64> {
    if of.long.events() * fade.long < FEW {
        return None;
    }
    let mut usual = of.long.quantile(0.5)?.at_least();
    let low = of.long.quantile(LOW)?.at_least();
    let mut shifted = 0.0;
    for (recent, fade) in [(&of.short, fade.short), (&of.quick, fade.quick)] {
        let count = recent.events() * fade;
        if count < 2.0 * FEW {
            continue;
        }
        let Some(recent) = recent.quantile(LOW) else { continue };
        // A quantile is worth 0.6 of a mean.
        let seen = (recent.at_least() / low).ln() - shifted;
        shifted += change::of_shift(seen, count * 0.6, spread, change::ODDS).value;
    }
    usual *= shifted.exp();
    Some(usual)
}

impl PathCounts {
    /// What is usual, where counts are multiplied by `fade`.
    #[must_use]
    pub fn usual(&self, fade: Windows<f64>) -> Usual {
        Usual {
            first: usual(&self.first, fade, SPREAD_FIRST),
            pace: usual(&self.pace, fade, SPREAD_PACE),
        }
    }

    /// Counts an attempt, and says what it tells of the provider. Its answer is expected to have `size` tokens.
    pub fn record(
        &mut self,
        seen: &Seen,
        size: f64,
        usual: Usual,
        weight: Windows<f64>,
    ) -> Evidence {
        let overdue = usual.first.is_some_and(|first| seen.lasted > 2.0 * first);
        match (seen.first, seen.fate) {
            (Some(first), _) => self.first.event(first, weight),
            (None, Fate::Closed) => self.first.censored(seen.lasted, weight),
            // A fault that comes when a token is long due was waited for.
            (None, Fate::Fault) if overdue => self.first.censored(seen.lasted, weight),
            (None, _) => {}
        }
        if let Some(pace) = seen.pace {
            self.pace.event(pace.before, weight);
        }
        self.count_outcome(seen, size, usual, weight);
        evidence(seen, size, usual)
    }

    fn count_outcome(&mut self, seen: &Seen, size: f64, usual: Usual, weight: Windows<f64>) {
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
            if seen.fate == Fate::Closed && !seen.stalled {
                // A useless answer ends after 0.3 to 1 of its length: so much of it would have shown.
                now.answers = ((far - 0.3) / 0.7).max(0.0);
            }
            now.flowing = if seen.stalled || seen.fate == Fate::Answered { 1.0 } else { far };
        }
        for (window, weight) in self.outcomes.list_mut().into_iter().zip(weight.list()) {
            let mut now = now;
            now.scale(weight);
            window.absorb(&now);
        }
    }

    /// Multiplies what each window counts.
    pub fn scale(&mut self, by: Windows<f64>) {
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
