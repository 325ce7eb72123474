//! What laws foretell of an attempt: when its first token comes, when its answer is complete, and what is left of either
//! given what has been seen of it.

use super::histogram::Histogram;
use super::law::{Laws, PathLaw, StepLaw};
use super::normal::inverse;

/// Attempts that are put together for each of: usual, late, slow, both. They are spread evenly, not drawn.
const ATTEMPTS: u32 = 96;
/// What an attempt is put together from: wait, lateness, pace, slowness, onset, size.
const PARTS: usize = 6;
/// Root of x^7 = x + 1; multiples of its powers fill six dimensions evenly (Roberts' generalised golden ratio).
const EVEN: f64 = 1.112_775_684_278_706;

/// An attempt that may come to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Possible {
    /// How likely it is; all together are 1.
    pub weight: f64,
    /// Seconds to its first token.
    pub first_token: f64,
    /// Seconds a token, before it slows down.
    pub per_token: f64,
    /// Tokens of its answer.
    pub tokens: f64,
    /// Tokens after which it slows down; all of them where it does not.
    pub onset: f64,
    /// By how much it does; 1 where it does not.
    pub slow: f64,
}

/// What has been seen of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Seconds since it was sent.
    pub age: f64,
    /// Tokens that have come; `None` before the first.
    pub tokens: Option<f64>,
    /// Tokens a second, of late.
    pub rate: Option<f64>,
}

impl Possible {
    /// Seconds to the complete answer.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.first_token + self.left(0.0, self.per_token)
    }

    /// Seconds from its `from`th token to its last, at so many a token before it slows down.
    fn left(&self, from: f64, per_token: f64) -> f64 {
        let quick = (self.onset - from).max(0.0);
        let slow = (self.tokens - self.onset.max(from)).max(0.0);
        (quick + slow * self.slow) * per_token
    }
}

impl Laws {
    /// Attempts of a step on a path, evenly spread over all that may be, faults apart. Empty where the laws know neither.
    #[must_use]
    pub fn possible(&self, step: usize, path: usize) -> Vec<Possible> {
        let (Some(Some(step)), Some(path)) = (self.steps.get(step), self.paths.get(path)) else {
            return Vec::new();
        };
        let provider = self.providers.get(path.provider);
        let (spell, late, slow) = provider.map_or((0.0, [0.0; 2], [0.0; 2]), |provider| {
            (provider.spell, provider.late, provider.slow)
        });
        let mut possible = Vec::with_capacity(4 * ATTEMPTS as usize);
        for (is_late, is_slow) in [(false, false), (true, false), (false, true), (true, true)] {
            let of = |chance: f64, yes: bool| if yes { chance } else { 1.0 - chance };
            let in_state = |z: usize| of(late[z], is_late) * of(slow[z], is_slow);
            let weight = (1.0 - spell) * in_state(0) + spell * in_state(1);
            if weight <= 0.0 {
                continue;
            }
            for at in 1..=ATTEMPTS {
                let one = self.one(step, path, even(at), is_late, is_slow);
                possible.push(Possible { weight: weight / f64::from(ATTEMPTS), ..one });
            }
        }
        possible
    }

    fn one(
        &self,
        step: &StepLaw,
        path: &PathLaw,
        at: [f64; PARTS],
        late: bool,
        slow: bool,
    ) -> Possible {
        let spread = step.spread_shared.hypot(step.spread_own);
        let tokens = step.tokens * (spread * inverse(at[0])).exp();
        Possible {
            weight: 0.0,
            first_token: path.first_token.at(at[1]) * if late { self.late.at(at[2]) } else { 1.0 },
            per_token: path.per_token.at(at[3]),
            tokens,
            onset: if slow { tokens * self.onset.at(at[5]) } else { tokens },
            slow: if slow { self.slow.at(at[4]) } else { 1.0 },
        }
    }

    /// Seconds to the first token and to the complete answer of a step on a path, faults apart.
    #[must_use]
    pub fn foretell(&self, step: usize, path: usize) -> [Histogram; 2] {
        let [mut first, mut total] = [Histogram::default(), Histogram::default()];
        for one in self.possible(step, path) {
            first.event(one.first_token, one.weight);
            total.event(one.total(), one.weight);
        }
        [first, total]
    }

    /// Seconds that an attempt of a step on a path still takes to its complete answer, given what has been seen of it.
    /// Empty where nothing foretold is like it.
    #[must_use]
    pub fn remaining(&self, step: usize, path: usize, seen: &Progress) -> Histogram {
        let mut left = Histogram::default();
        for one in self.possible(step, path) {
            match seen.tokens {
                None if one.first_token > seen.age => {
                    left.event(one.total() - seen.age, one.weight);
                }
                None => {}
                Some(tokens) => {
                    // A longer answer than any foretold is all but done.
                    let tokens = tokens.min(0.95 * one.tokens);
                    match seen.rate.filter(|rate| *rate > 0.0) {
                        // What has slowed down by now shows in the rate.
                        Some(_) if one.slow > 1.0 && one.onset <= tokens => {}
                        Some(rate) => left.event(one.left(tokens, 1.0 / rate), one.weight),
                        None => left.event(one.left(tokens, one.per_token), one.weight),
                    }
                }
            }
        }
        left
    }
}

/// The `at`th of points that fill the unit cube evenly.
fn even(at: u32) -> [f64; PARTS] {
    let mut power = 1.0;
    [(); PARTS].map(|()| {
        power /= EVEN;
        (0.5 + power * f64::from(at)).fract()
    })
}
