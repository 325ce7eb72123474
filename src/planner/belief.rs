//! What a run has come to think of its providers: whether each is in a slow spell, or in a burst of 429s.

use super::look::{Ended, Look};
use super::tables::Tables;

/// Log-odds are held to this.
const ODDS_MAX: f64 = 30.0;
/// Combinations of spells that are less likely are left out of account.
pub(super) const WEIGHT_MIN: f64 = 1e-3;

/// Beliefs of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    providers: Vec<Evidence>,
    /// By the tables' combinations of spells.
    pub(super) weights: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Evidence {
    /// Log-likelihood ratio, spell against none, of attempts that have ended.
    settled: f64,
    passes: u32,
    refusals: u32,
    /// The ratio with what is in flight; then the chance of a spell.
    odds: f64,
    spell: f64,
    burst: f64,
}

impl Belief {
    /// At a run's start: the laws' priors.
    #[must_use]
    pub fn new(tables: &Tables) -> Self {
        let mut belief = Self {
            providers: vec![Evidence::default(); tables.providers()],
            weights: vec![0.0; tables.together.len()],
        };
        belief.see(tables, []);
        belief
    }

    /// An attempt has ended, seen for the last time as in `look`.
    pub fn ended(&mut self, tables: &Tables, look: &Look, how: Ended) {
        let omens = &tables.omens;
        let Some(provider) = omens.provider(look) else { return };
        let Some(evidence) = self.providers.get_mut(provider) else { return };
        let expected = tables.expected(look);
        match how {
            Ended::Refused => evidence.refusals += 1,
            Ended::Failed => evidence.passes += 1,
            Ended::Answered => {
                evidence.passes += 1;
                let look = Look { slow: omens.was_slow(look), ..*look };
                evidence.settled += omens.ratio(&look, expected, true);
            }
            Ended::Closed => {
                if look.age > 1.5 * omens.providers[provider].refused_after {
                    evidence.passes += 1;
                }
                evidence.settled += omens.ratio(look, expected, false);
            }
        }
    }

    /// What is seen now: every attempt in flight of the run. To be called before decisions, whenever time has passed.
    pub fn see<'a>(&mut self, tables: &Tables, looks: impl IntoIterator<Item = &'a Look>) {
        for evidence in &mut self.providers {
            evidence.odds = evidence.settled;
        }
        for look in looks {
            let Some(provider) = tables.omens.provider(look) else { continue };
            if let Some(evidence) = self.providers.get_mut(provider) {
                evidence.odds += tables.omens.ratio(look, tables.expected(look), false);
            }
        }
        for (evidence, prior) in self.providers.iter_mut().zip(&tables.omens.providers) {
            let odds = evidence.odds.clamp(-ODDS_MAX, ODDS_MAX).exp() * prior.spell;
            evidence.spell = odds / (odds + 1.0 - prior.spell);
            evidence.burst = if evidence.refusals > 0 {
                1.0
            } else {
                let passes = i32::try_from(evidence.passes).unwrap_or(i32::MAX);
                let odds = prior.burst * (1.0 - prior.refused).powi(passes);
                odds / (odds + 1.0 - prior.burst).max(1e-300)
            };
        }
        let mut sum = 0.0;
        for (weight, (set, _)) in self.weights.iter_mut().zip(&tables.together) {
            *weight = 1.0;
            for (bit, evidence) in tables.bits.iter().zip(&self.providers) {
                let Some(bit) = bit else { continue };
                let spell = evidence.spell;
                *weight *= if set & 1 << bit != 0 { spell } else { 1.0 - spell };
            }
            sum += *weight;
        }
        // Without tables of their own, combinations count as those that have some.
        for weight in &mut self.weights {
            *weight = if sum > 1e-12 { *weight / sum } else { 0.0 };
        }
        if sum <= 1e-12
            && let Some(last) = self.weights.last_mut()
        {
            *last = 1.0;
        }
    }

    /// Chance that the provider at this place is in a slow spell.
    #[must_use]
    pub fn spell(&self, provider: usize) -> f64 {
        self.providers.get(provider).map_or(0.0, |evidence| evidence.spell)
    }

    /// Chance that it is in a burst of 429s.
    #[must_use]
    pub fn burst(&self, provider: usize) -> f64 {
        self.providers.get(provider).map_or(0.0, |evidence| evidence.burst)
    }
}
