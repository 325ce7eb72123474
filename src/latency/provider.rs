//! What is counted of a provider: the runs that met it, and what they met.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::spell::{Kind, Runs, whole};
use super::window::{Tally, Windows};

/// Runs that are followed at once, at most; of the oldest no further attempt is counted with its earlier ones.
const OPEN: usize = 1_024;
/// A run that showed nothing for so long is over, in seconds.
const OVER_S: f64 = 1_800.0;

/// What one attempt says of its provider's state.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own, asked or not, answered or not"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// How much of a chance there was to see it slow down, 0 to 1.
    pub slow_of: f64,
    /// Whether it did.
    pub slow: bool,
    /// Whether it can be told if its first token was late.
    pub late_of: bool,
    /// Whether it was.
    pub late: bool,
    /// Whether it was closed without one, later than usual.
    pub silent: bool,
    /// Whether it could have been refused.
    pub refused_of: bool,
    /// Whether it was.
    pub refused: bool,
}

/// A run that may go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open {
    run: u64,
    seen: f64,
    spell: [f64; 5],
    burst: [f64; 2],
    /// What it was counted with.
    weight: Windows<f64>,
}

/// One provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    /// By what they met of spells.
    pub spells: Windows<Runs<5>>,
    /// By what they met of refusals.
    pub bursts: Windows<Runs<2>>,
    /// Refusals, and the seconds after which they came, summed.
    pub refusals: Windows<f64>,
    /// See [`Provider::refusals`].
    pub refusal_s: Windows<f64>,
    /// When it was last met, by the book's clock.
    pub seen: f64,
    open: VecDeque<Open>,
}

impl Open {
    fn kinds(&self) -> (Kind, [u8; 2]) {
        (self.spell.map(whole), self.burst.map(whole))
    }

    fn count(&mut self, evidence: &Evidence) {
        let one = |yes: bool| if yes { 1.0 } else { 0.0 };
        let slow_of = if evidence.slow { 1.0 } else { evidence.slow_of };
        // More than a kind can hold says nothing new, and must not change the share.
        if self.spell[0] < 15.0 {
            self.spell[0] += slow_of;
            self.spell[1] += one(evidence.slow);
        }
        if self.spell[2] + self.spell[4] < 15.0 {
            self.spell[2] += one(evidence.late_of);
            self.spell[3] += one(evidence.late_of && evidence.late);
            self.spell[4] += one(evidence.silent);
        }
        if self.burst[0] < 15.0 {
            self.burst[0] += one(evidence.refused_of);
            self.burst[1] += one(evidence.refused_of && evidence.refused);
        }
    }
}

impl Provider {
    /// Counts what an attempt of `run` says, at a moment at which an observation weighs `weight`.
    pub fn record(&mut self, run: u64, evidence: &Evidence, weight: Windows<f64>, now: f64) {
        self.seen = now;
        let found = self.open.iter().rposition(|open| open.run == run);
        let mut open = match found.and_then(|at| self.open.remove(at)) {
            Some(open) => {
                let back = open.weight.map(|weight| -weight);
                self.enter(&open, back);
                open
            }
            None => Open { run, seen: now, spell: [0.0; 5], burst: [0.0; 2], weight },
        };
        open.count(evidence);
        open.seen = now;
        open.weight = weight;
        self.enter(&open, weight);
        self.open.push_back(open);
        while self.open.len() > OPEN
            || self.open.front().is_some_and(|oldest| oldest.seen + OVER_S < now)
        {
            self.open.pop_front();
        }
    }

    fn enter(&mut self, open: &Open, weight: Windows<f64>) {
        let (spell, burst) = open.kinds();
        for (runs, weight) in self.spells.list_mut().into_iter().zip(weight.list()) {
            if spell != [0; 5] {
                runs.count(spell, weight);
            }
        }
        for (runs, weight) in self.bursts.list_mut().into_iter().zip(weight.list()) {
            if burst[0] > 0 {
                runs.count(burst, weight);
            }
        }
    }

    /// Multiplies what each window counts.
    pub fn scale(&mut self, by: Windows<f64>) {
        self.spells.scale(by);
        self.bursts.scale(by);
        self.refusals.scale(by);
        self.refusal_s.scale(by);
        for open in &mut self.open {
            open.weight.scale(by);
        }
    }

    /// Adds what another book has counted.
    pub fn absorb(&mut self, other: &Self) {
        self.spells.absorb(&other.spells);
        self.bursts.absorb(&other.bursts);
        self.refusals.absorb(&other.refusals);
        self.refusal_s.absorb(&other.refusal_s);
        self.seen = self.seen.max(other.seen);
        self.open.extend(other.open.iter().cloned());
        let order = |a: &Open, b: &Open| a.seen.total_cmp(&b.seen).then(a.run.cmp(&b.run));
        self.open.make_contiguous().sort_by(order);
        while self.open.len() > OPEN {
            self.open.pop_front();
        }
    }

    /// Whether it can be what a book has written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let open = |open: &Open| {
            let counts = open.spell.iter().chain(&open.burst);
            open.seen.is_sound()
                && open.weight.is_sound()
                && counts.copied().all(|n| (0.0..=64.0).contains(&n))
        };
        self.spells.is_sound()
            && self.bursts.is_sound()
            && self.refusals.is_sound()
            && self.refusal_s.is_sound()
            && self.seen.is_sound()
            && self.open.len() <= OPEN
            && self.open.iter().all(open)
    }
}
