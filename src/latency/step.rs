//! What is counted of a step: how long its answers and prompts are.

use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::law::StepLaw;
use super::seen::{Fate, Seen};
use super::window::{Tally, Windows};

/// Before anything is seen: the spread of the logarithm of answers' sizes, shared by all attempts of one step and run,
/// and each attempt's own (published measurements of 1.2 million calls).
pub const SPREAD_SHARED: f64 = 0.15;
/// See [`SPREAD_SHARED`].
pub const SPREAD_OWN: f64 = 0.08;
/// How firmly the expected size is believed, in answers, and the spread.
const FIRM: f64 = 3.0;
const FIRM_SPREAD: f64 = 20.0;
/// Sizes are counted in thousands, so that a histogram of seconds holds them.
const UNIT: f64 = 1_000.0;

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Thousands of tokens of its answers.
    tokens: Histogram,
    /// Thousands of tokens of its prompts.
    prompts: Histogram,
    /// Tokens that were expected of an answer, as last told.
    expected: f64,
    /// When it was last tried, by the book's clock.
    pub seen: f64,
}

impl StepCounts {
    /// Counts an attempt.
    pub fn record(&mut self, seen: &Seen, weight: f64, now: f64) {
        self.seen = now;
        self.expected = seen.expected;
        self.prompts.event(seen.prompt.max(1.0) / UNIT, weight);
        let size = seen.tokens.max(1.0) / UNIT;
        match seen.fate {
            Fate::Answered => self.tokens.event(size, weight),
            Fate::Closed if seen.first.is_some() && !seen.stalled => {
                self.tokens.censored(size, weight);
            }
            Fate::Closed | Fate::Invalid | Fate::Refused | Fate::Fault | Fate::Unrelated => {}
        }
    }

    /// How many tokens its answers have, at the median.
    #[must_use]
    pub fn size(&self, fade: f64) -> f64 {
        let known = self.tokens.events() * fade;
        let Some(median) = self.tokens.quantile(0.5) else { return self.expected.max(1.0) };
        let (seen, expected) = ((median.at_least() * UNIT).ln(), self.expected.max(1.0).ln());
        ((known * seen + FIRM * expected) / (known + FIRM)).exp()
    }

    /// Tokens of its prompts, at the median; `None` where none was seen.
    #[must_use]
    pub fn prompt(&self) -> Option<f64> {
        Some(self.prompts.quantile(0.5)?.at_least() * UNIT)
    }

    /// What its answers are like.
    #[must_use]
    pub fn law(&self, fade: f64) -> StepLaw {
        let known = self.tokens.events() * fade;
        let quartile = |share: f64| Some(self.tokens.quantile(share)?.known()?.ln());
        // A normal law's quartiles are 1.349 spreads apart.
        let seen = quartile(0.75).zip(quartile(0.25)).map(|(high, low)| (high - low) / 1.349);
        let prior = SPREAD_SHARED.hypot(SPREAD_OWN);
        let spread = seen.map_or(prior, |seen| {
            let weight = known / (known + FIRM_SPREAD);
            (weight * seen * seen + (1.0 - weight) * prior * prior).sqrt()
        });
        StepLaw {
            tokens: self.size(fade),
            prompt_tokens: self.prompt().unwrap_or(1_000.0),
            spread_shared: spread * SPREAD_SHARED / prior,
            spread_own: spread * SPREAD_OWN / prior,
        }
    }

    /// Multiplies what the windows count.
    pub fn scale(&mut self, by: Windows<f64>) {
        self.tokens.scale(by.long);
        self.prompts.scale(by.long);
    }

    /// Adds what another book has counted.
    pub fn absorb(&mut self, other: &Self) {
        if (other.seen, other.expected) > (self.seen, self.expected) {
            self.expected = other.expected;
        }
        self.seen = self.seen.max(other.seen);
        self.tokens.absorb(&other.tokens);
        self.prompts.absorb(&other.prompts);
    }

    /// Whether it can be what a book has written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.tokens.is_sound()
            && self.prompts.is_sound()
            && self.expected.is_sound()
            && self.seen.is_sound()
    }
}
