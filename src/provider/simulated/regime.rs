//! The named regimes: how fast and how faulty the simulated paths are. The figures are those of a model fitted
//! to published measurements of about 1.2 million production calls (June 2026); `scenarios.json` beside this
//! file holds them, with the workflows and the seed that their published results were computed with.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// One regime.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Regime {
    /// The four paths: two flagships, a light and a strong model.
    pub paths: [PathFigures; 4],
    /// The providers A, B and C.
    pub providers: Providers,
    /// What all paths have in common.
    pub shape: ShapeFigures,
}

/// A path's medians and faults.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct PathFigures {
    /// Who serves it.
    pub provider: ProviderName,
    /// Its price a token, as a multiple of the flagship's.
    pub price: f64,
    /// Median seconds to the first token.
    pub ttft_med_s: f64,
    /// Median seconds a token.
    pub tpot_med_s: f64,
    /// Chance of an answer that is visibly invalid.
    pub p_garbage: f64,
    /// Chance of an answer that fits and is wrong.
    pub p_silent: f64,
}

/// The providers' names.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum ProviderName {
    /// At place 0.
    A,
    /// At place 1.
    B,
    /// At place 2.
    C,
}

/// The providers of a regime.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Providers {
    /// Of the first flagship.
    #[serde(rename = "A")]
    pub a: ProviderFigures,
    /// Of the second flagship and the strong model.
    #[serde(rename = "B")]
    pub b: ProviderFigures,
    /// Of the light model.
    #[serde(rename = "C")]
    pub c: ProviderFigures,
}

/// A provider's state.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct ProviderFigures {
    /// Factor on the time a token takes.
    pub tpot_mult: f64,
    /// Factor on the time to the first token.
    pub ttft_mult: f64,
    /// Chance that a run meets it in a slow spell.
    pub p_spell: f64,
    /// Chance of a slow attempt outside a spell.
    pub p_slow_normal: f64,
    /// Chance of a slow attempt in a spell.
    pub p_slow_in_spell: f64,
    /// Chance that a run meets it throttling.
    pub p_429_burst: f64,
    /// Chance of an error.
    pub p_error: f64,
    /// Chance of no end.
    pub p_hang: f64,
}

/// Spreads and shares, log-normal where not said otherwise.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct ShapeFigures {
    /// Spread of the time to the first token.
    pub sigma_ttft: f64,
    /// Share of slow attempts that wait in a queue.
    pub p_queue_slow_share: f64,
    /// Median factor of that wait.
    pub queue_factor_med: f64,
    /// Its spread.
    pub queue_factor_sigma: f64,
    /// Spread of the time a token takes.
    pub sigma_tpot: f64,
    /// Median factor of slow generation.
    pub slow_factor_med: f64,
    /// Its spread.
    pub slow_factor_sigma: f64,
    /// Spread of the answer's size, shared by all attempts of a step.
    pub sigma_size_step: f64,
    /// Spread of the answer's size by attempt.
    pub sigma_size_attempt: f64,
    /// Chance of a 429 while a provider throttles.
    pub p_429_in_burst: f64,
    /// Share of slow generations that start well and slow down midway.
    pub p_midstream_onset: f64,
}

/// A regime that is not known.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown regime '{name}' of the simulator; there are {known}")]
pub struct UnknownRegime {
    /// As written.
    pub name: String,
    /// The names there are, separated by commas.
    pub known: String,
}

/// The published scenario file that the regimes are from.
pub const SCENARIOS_JSON: &str = include_str!("scenarios.json");

#[derive(Deserialize)]
struct Scenarios {
    scenarios: BTreeMap<String, Regime>,
}

#[expect(clippy::expect_used, reason = "the file is compiled in, and a test reads it")]
static SCENARIOS: LazyLock<Scenarios> =
    LazyLock::new(|| serde_json::from_str(SCENARIOS_JSON).expect("scenarios.json is well-formed"));

/// The names of all regimes, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    SCENARIOS.scenarios.keys().map(String::as_str)
}

impl PathFigures {
    /// Its provider's place: 0 to 2.
    #[must_use]
    pub const fn provider_at(&self) -> u8 {
        match self.provider {
            ProviderName::A => 0,
            ProviderName::B => 1,
            ProviderName::C => 2,
        }
    }
}

impl Regime {
    /// The regime of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<&'static Self, UnknownRegime> {
        SCENARIOS.scenarios.get(name).ok_or_else(|| UnknownRegime {
            name: name.to_owned(),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }

    /// The figures of the provider at 0 (A), 1 (B) or else (C).
    #[must_use]
    pub fn provider(&self, at: u8) -> &ProviderFigures {
        match at {
            0 => &self.providers.a,
            1 => &self.providers.b,
            _ => &self.providers.c,
        }
    }
}
