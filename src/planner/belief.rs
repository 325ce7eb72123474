//! What a run has come to think of its providers: whether each is in a slow spell, or in a burst of 429s.

use super::look::{Ended, Look};
use super::tables::Tables;

/// Beliefs of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    providers: Vec<Evidence>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Evidence {
    /// Log-likelihood ratio, spell against none, of attempts that have ended.
    settled: f64,
    passes: u32,
    refusals: u32,
    /// Chance of a spell, with what is in flight.
    spell: f64,
    /// Chance of a burst.
    burst: f64,
}

impl Belief {
    /// At a run's start: the laws' priors.
    #[must_use]
    pub fn new(tables: &Tables) -> Self {
        let mut belief = Self { providers: vec![Evidence::default(); tables.providers()] };
        belief.see(tables, []);
        belief
    }

    /// An attempt has ended, seen for the last time as in `look`.
    pub fn ended(&mut self, tables: &Tables, look: &Look, how: Ended) {
        let _ = (tables, look, how);
    }

    /// What is seen now: every attempt in flight of the run. To be called before decisions, whenever time has passed.
    pub fn see<'a>(&mut self, tables: &Tables, looks: impl IntoIterator<Item = &'a Look>) {
        let _ = (tables, looks.into_iter().count());
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
