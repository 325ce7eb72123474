//! Slow spells and bursts of refusals: states that a provider is in for a run, seen only by how its attempts fare.
//!
//! Counted are runs by what they met: of so many attempts so many were slow, or late. How often there is a spell, and how
//! attempts fare in and outside of one, is then found by expectation maximisation over that table.

use serde::{Deserialize, Serialize};

use super::window::{NOTHING, Tally};

/// More attempts of one run on one provider are not counted.
const MOST: f64 = 15.0;
/// Kinds of runs that are told apart, at most; the rarest are forgotten.
const KINDS: usize = 1_024;
/// Enough for the table's figures to settle: where spells are frequent, they move by a few percent a round.
const ROUNDS: usize = 80;

/// What a run has met at a provider, in whole attempts: of how many it could be told whether they are slow, how many
/// were; the same for late; how many were closed without a token when late ones and dead ones could not be told apart.
pub type Kind = [u8; 5];

/// Runs by what they met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Runs<const N: usize>
where
    [u8; N]: Serialize + for<'a> Deserialize<'a>,
{
    kinds: Vec<([u8; N], f64)>,
}

impl<const N: usize> Runs<N>
where
    [u8; N]: Serialize + for<'a> Deserialize<'a>,
{
    /// Counts a run, or with a negative weight takes one back.
    pub fn count(&mut self, kind: [u8; N], weight: f64) {
        match self.kinds.binary_search_by_key(&kind, |entry| entry.0) {
            Ok(at) => {
                self.kinds[at].1 += weight;
                if self.kinds[at].1 <= NOTHING {
                    self.kinds.remove(at);
                }
            }
            Err(at) if weight > 0.0 => self.kinds.insert(at, (kind, weight)),
            Err(_) => {}
        }
        if self.kinds.len() > KINDS {
            let rarest = self.kinds.iter().enumerate().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
            if let Some((at, _)) = rarest {
                self.kinds.remove(at);
            }
        }
    }

    /// Kinds of which there is enough to matter, their counts multiplied by `fade`.
    fn present(&self, fade: f64) -> Vec<([u8; N], f64)> {
        let faded = self.kinds.iter().map(|kind| (kind.0, kind.1 * fade));
        faded.filter(|kind| kind.1 > 1e-3).collect()
    }

    /// All runs together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.kinds.iter().map(|kind| kind.1).sum()
    }
}

impl<const N: usize> Tally for Runs<N>
where
    [u8; N]: Serialize + for<'a> Deserialize<'a>,
{
    fn scale(&mut self, by: f64) {
        for kind in &mut self.kinds {
            kind.1 *= by;
        }
        self.kinds.retain(|kind| kind.1 > NOTHING);
    }

    fn absorb(&mut self, other: &Self) {
        for &(kind, weight) in &other.kinds {
            self.count(kind, weight);
        }
    }

    fn is_sound(&self) -> bool {
        self.kinds.is_sorted_by(|a, b| a.0 < b.0)
            && self.kinds.len() <= KINDS
            && self.kinds.iter().all(|kind| kind.1.is_sound())
    }
}

/// The figures of a provider's spells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spells {
    /// Chance that a run meets one.
    pub spell: f64,
    /// Chance of a slow attempt: outside, and in one.
    pub slow: [f64; 2],
    /// Chance of a late attempt: outside, and in one.
    pub late: [f64; 2],
}

/// How firmly figures are believed before anything is seen: in runs for the first, in attempts for the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Firmness {
    /// Of the chance of a spell.
    pub spell: f64,
    /// Of the chances outside.
    pub outside: f64,
    /// Of the chances in one.
    pub inside: f64,
}

/// Before anything is seen: what published measurements of 1.2 million calls were fitted with.
pub const SPELLS: Spells = Spells { spell: 0.05, slow: [0.02, 0.5], late: [0.01, 0.25] };
/// How firmly that is believed.
pub const FIRM: Firmness = Firmness { spell: 20.0, outside: 60.0, inside: 25.0 };

/// A whole number of attempts from what was counted.
#[must_use]
pub fn whole(count: f64) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let whole = count.clamp(0.0, MOST).round() as u8;
    whole
}

/// The logarithms of figures and of what they leave, taken once for a whole table.
struct Logs {
    spell: [f64; 2],
    /// Of a hit and of a miss, by state.
    slow: [[f64; 2]; 2],
    late: [[f64; 2]; 2],
}

impl Logs {
    fn of(spells: &Spells) -> Self {
        let both = |chance: f64| [chance.ln(), (1.0 - chance).ln()];
        let [inside, outside] = both(spells.spell);
        Self { spell: [outside, inside], slow: spells.slow.map(both), late: spells.late.map(both) }
    }

    /// The logarithms of the likelihood of a kind of run outside a spell, and in one.
    fn weigh(&self, kind: Kind, silent_late: f64) -> [f64; 2] {
        let [slow_of, slow, late_of, late, silent] = kind.map(f64::from);
        let late_hits = late + silent * silent_late;
        [0, 1].map(|state| {
            let [hit, miss] = self.slow[state];
            let [late_hit, late_miss] = self.late[state];
            self.spell[state]
                + slow * hit
                + (slow_of - slow).max(0.0) * miss
                + late_hits * late_hit
                + (late_of - late).max(0.0) * late_miss
        })
    }
}

/// The second of two chances, given by their logarithms.
fn share_of_second([first, second]: [f64; 2]) -> f64 {
    1.0 / (1.0 + (first - second).exp())
}

fn ln_sum([first, second]: [f64; 2]) -> f64 {
    let most = first.max(second);
    most + ((first - most).exp() + (second - most).exp()).ln()
}

fn chance([hits, trials]: [f64; 2]) -> f64 {
    (hits / trials.max(1e-9)).clamp(1e-4, 0.98)
}

impl Spells {
    /// The logarithm of the likelihood of a whole table, whose counts are multiplied by `fade`.
    #[must_use]
    pub fn ln_likelihood(&self, runs: &Runs<5>, fade: f64, silent_late: f64) -> f64 {
        let logs = Logs::of(self);
        let of = |&(kind, n): &(Kind, f64)| n * fade * ln_sum(logs.weigh(kind, silent_late));
        runs.kinds.iter().map(of).sum()
    }

    /// Fits the figures to a table. Of the attempts that were closed without a token, a share `silent_late` was late, and
    /// the others dead.
    #[must_use]
    pub fn fit(runs: &Runs<5>, fade: f64, silent_late: f64, prior: &Self, firm: Firmness) -> Self {
        let kinds = runs.present(fade);
        let mut found = *prior;
        let weights = [firm.outside, firm.inside];
        let believed = |of: [f64; 2]| [0, 1].map(|z| [weights[z] * of[z], weights[z]]);
        for _ in 0..ROUNDS {
            let logs = Logs::of(&found);
            let mut spell = [firm.spell * prior.spell, firm.spell];
            let (mut slow, mut late) = (believed(prior.slow), believed(prior.late));
            for &(kind, count) in &kinds {
                let inside = share_of_second(logs.weigh(kind, silent_late));
                spell[0] += count * inside;
                spell[1] += count;
                let [slow_of, slow_hits, late_of, late_hits, silent] = kind.map(f64::from);
                let silent = silent * silent_late;
                for (z, share) in [(0, 1.0 - inside), (1, inside)] {
                    let weight = count * share;
                    slow[z][0] += weight * slow_hits;
                    slow[z][1] += weight * slow_of;
                    late[z][0] += weight * (late_hits + silent);
                    late[z][1] += weight * (late_of + silent);
                }
            }
            found = Self { spell: chance(spell), slow: slow.map(chance), late: late.map(chance) };
        }
        found
    }

    /// Between these figures and others, at a share of the way.
    #[must_use]
    pub fn towards(&self, other: &Self, share: f64) -> Self {
        let mix = |a: f64, b: f64| a + (b - a) * share;
        let both = |a: [f64; 2], b: [f64; 2]| [mix(a[0], b[0]), mix(a[1], b[1])];
        Self {
            spell: mix(self.spell, other.spell),
            slow: both(self.slow, other.slow),
            late: both(self.late, other.late),
        }
    }
}

/// The figures of a provider's bursts of refusals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Chance that a run meets one.
    pub burst: f64,
    /// Chance of a refusal in one.
    pub refused: f64,
}

/// Before anything is seen.
pub const BURSTS: Bursts = Bursts { burst: 0.01, refused: 0.6 };
/// Chance of a refusal that is part of no burst.
const STRAY: f64 = 5e-4;

impl Bursts {
    /// The logarithms of the likelihood of a kind of run outside a burst, and in one.
    fn weigh(&self, kind: [u8; 2]) -> [f64; 2] {
        let [of, hits] = kind.map(f64::from);
        let ln = |chance: f64| hits * chance.ln() + (of - hits).max(0.0) * (1.0 - chance).ln();
        [(1.0 - self.burst).ln() + ln(STRAY), self.burst.ln() + ln(self.refused)]
    }

    /// The logarithm of the likelihood of a whole table, whose counts are multiplied by `fade`.
    #[must_use]
    pub fn ln_likelihood(&self, runs: &Runs<2>, fade: f64) -> f64 {
        runs.kinds.iter().map(|&(kind, n)| n * fade * ln_sum(self.weigh(kind))).sum()
    }

    /// Fits the figures to a table of attempts and refused ones; the prior is believed as firmly as `runs` and half as
    /// many attempts in a burst.
    #[must_use]
    pub fn fit(table: &Runs<2>, fade: f64, prior: &Self, runs: f64) -> Self {
        let kinds = table.present(fade);
        let mut found = *prior;
        for _ in 0..ROUNDS {
            let mut burst = [runs * prior.burst, runs];
            let mut refused = [runs / 3.0 * prior.refused, runs / 3.0];
            for &(kind, count) in &kinds {
                let inside = count * share_of_second(found.weigh(kind));
                let [of, hits] = kind.map(f64::from);
                burst[0] += inside;
                burst[1] += count;
                refused[0] += inside * hits;
                refused[1] += inside * of;
            }
            found = Self { burst: chance(burst), refused: chance(refused) };
        }
        found
    }
}
