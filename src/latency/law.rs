//! How attempts go, put together from parts that can each be measured, so that a path can be foretold for any length of
//! answer: time to first token, time per token, size, slow spells, bursts of refusals, faults.
//!
//! An attempt waits for its first token ([`PathLaw::first_token`], times a factor of [`Laws::late`] where it is late), then
//! writes its tokens ([`PathLaw::per_token`] each; from a share of [`Laws::onset`] on, times a factor of [`Laws::slow`]
//! where it is slow). How often attempts are late or slow depends on whether their provider is in a spell, which lasts
//! for a run; bursts of 429s likewise. The parts are those that published measurements of 1.2 million calls were fitted with.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A distribution as equally likely points, ascending; never empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Points(Arc<[f64]>);

/// Everything a planner needs to know of the paths of one plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Laws {
    /// By the plan's paths.
    pub paths: Vec<PathLaw>,
    /// By the plan's providers.
    pub providers: Vec<ProviderLaw>,
    /// By how much the first token of a late attempt takes longer; factors.
    pub late: Points,
    /// By how much each token of a slow attempt takes longer; factors, at least 1.
    pub slow: Points,
    /// Share of the answer that has come before a slow attempt slows down, 0 to 1; many are 0.
    pub onset: Points,
    /// By the plan's steps; `None` for steps without a model.
    pub steps: Vec<Option<StepLaw>>,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathLaw {
    /// Its provider's place in [`Laws::providers`].
    pub provider: usize,
    /// Seconds to the first token of an attempt that is not late.
    pub first_token: Points,
    /// Seconds for each token of an attempt that is not slow.
    pub per_token: Points,
    /// Chance that a complete answer is visibly invalid.
    pub invalid: f64,
    /// Share of its writing time after which an invalid answer has ended.
    pub invalid_at: Points,
    /// Chance of an error before the first token, throttling apart.
    pub error: f64,
    /// Share of the time to its first token after which an error comes.
    pub error_at: Points,
    /// Chance that no first token ever comes, though nothing else does either.
    pub hangs: f64,
    /// Chance, of all attempts, that it stops for ever once tokens have come.
    pub stalls: f64,
    /// How many attempts all this was learned from; 0 where it is a mere prior.
    pub samples: f64,
}

/// What the paths of one provider have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderLaw {
    /// Chance that a run meets it in a slow spell.
    pub spell: f64,
    /// Chance that an attempt is slow: outside a spell, and in one.
    pub slow: [f64; 2],
    /// Chance that an attempt's first token is late: outside a spell, and in one.
    pub late: [f64; 2],
    /// Chance that a run meets it in a burst of 429s.
    pub burst: f64,
    /// Chance of a 429 in a burst.
    pub refused: f64,
    /// Seconds after which a 429 comes.
    pub refused_after: f64,
}

/// What a step's answers are like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepLaw {
    /// Tokens of an answer, at the median.
    pub tokens: f64,
    /// Tokens of its prompt, at the median.
    pub prompt_tokens: f64,
    /// Spread of the logarithm of an answer's size that all attempts of one step and run share.
    pub spread_shared: f64,
    /// The same that each attempt has to itself.
    pub spread_own: f64,
}

impl TryFrom<Vec<f64>> for Points {
    type Error = &'static str;

    fn try_from(points: Vec<f64>) -> Result<Self, Self::Error> {
        Self::new(points).ok_or("a distribution has one point at least")
    }
}

impl From<Points> for Vec<f64> {
    fn from(points: Points) -> Self {
        points.0.to_vec()
    }
}

impl Points {
    /// From points in any order; numbers that are none are left out. `None` where nothing is left.
    #[must_use]
    pub fn new(points: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut points: Vec<f64> = points.into_iter().filter(|point| point.is_finite()).collect();
        points.sort_unstable_by(f64::total_cmp);
        (!points.is_empty()).then(|| Self(points.into()))
    }

    /// The same point always.
    #[must_use]
    pub fn one(point: f64) -> Self {
        Self(Arc::new([point]))
    }

    /// The points, ascending.
    #[must_use]
    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// The point below which a share `share`, 0 to 1, of them lies, interpolated between the two beside it.
    #[must_use]
    pub fn at(&self, share: f64) -> f64 {
        let last = self.0.len() - 1;
        #[expect(clippy::cast_precision_loss, reason = "a few points")]
        let place = share.clamp(0.0, 1.0) * last as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to `last`")]
        let below = place as usize;
        let above = (below + 1).min(last);
        self.0[below] + (self.0[above] - self.0[below]) * place.fract()
    }
}
