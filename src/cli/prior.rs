//! What is held of a path before anything is measured: how often an attempt fails, and how long it takes.
//!
//! A simulated path is what its regime says. Of every other path no more is known here than of a flagship in the
//! regime `pooled`, whose figures follow published measurements of production calls; the chance that an answer which
//! fits is also right is the path's `trust`.

use std::sync::Arc;
use std::time::Duration;

use crate::definition::config::{Configuration, DEFAULT_REGIME, DEFAULT_SEED};
use crate::domain::id::PathIx;
use crate::domain::plan::Plan;
use crate::domain::provider::{Dialect, SimulatorSettings};
use crate::provider::simulated::{BOUND_PER_MEDIAN, Recordings, Simulation};

/// The model that stands for every real one.
const USUAL: &str = "flagship";

/// Of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prior {
    /// Chance that its provider throttles for the whole run.
    pub throttled: f64,
    /// Chance that an attempt brings no valid answer: an error, no end, or invalid output.
    pub failed: f64,
    /// Chance that a valid answer is right.
    pub trust: f64,
    /// Median seconds to the first token.
    first_token_s: f64,
    /// Median seconds a token.
    token_s: f64,
}

impl Prior {
    /// Of a path of `plan` on `configuration`.
    #[must_use]
    pub fn of(plan: &Plan, path: PathIx, configuration: &Configuration) -> Self {
        let known = plan.path(path);
        let provider = configuration.provider(&plan.provider_of(path).name);
        let simulated = provider.and_then(|provider| match &provider.dialect {
            Dialect::Simulated(settings) => Some((provider.name.as_str(), settings.clone())),
            Dialect::OpenAiChat(_)
            | Dialect::OpenAiResponses
            | Dialect::Anthropic
            | Dialect::Gemini
            | Dialect::Bedrock(_) => None,
        });
        let usual = || SimulatorSettings { regime: DEFAULT_REGIME.to_owned(), seed: DEFAULT_SEED };
        let (name, model, settings) = match simulated {
            Some((name, settings)) => (name, known.profile.id.as_str(), settings),
            None => ("", USUAL, usual()),
        };
        let none = Arc::new(Recordings::default());
        let simulation = Simulation::new(name, &settings, none).ok();
        let Some((path, provider, shape)) = simulation.and_then(|of| of.figures(model)) else {
            return Self { trust: known.profile.trust, ..Self::default() };
        };
        let well = (1.0 - provider.p_error) * (1.0 - provider.p_hang) * (1.0 - path.p_garbage);
        Self {
            throttled: provider.p_429_burst * shape.p_429_in_burst,
            failed: 1.0 - well,
            trust: known.profile.trust,
            first_token_s: path.ttft_med_s * provider.ttft_mult,
            token_s: path.tpot_med_s * provider.tpot_mult,
        }
    }

    /// How long an answer of `tokens` takes at the median.
    #[must_use]
    pub fn time(&self, tokens: f64) -> Duration {
        Duration::try_from_secs_f64(self.first_token_s + self.token_s * tokens).unwrap_or_default()
    }

    /// The usual size of an answer that may be `bound` tokens.
    #[must_use]
    pub fn usual_size(bound: u32) -> f64 {
        f64::from(bound) / BOUND_PER_MEDIAN
    }
}
