//! What an attempt in flight says of its provider: is it in a slow spell?

use super::chain::AGES;
use super::fate::Draws;
use super::look::Look;
use super::problem::Problem;
use super::sound::{amount, chance as sound};
use crate::latency::law::{Laws, StepLaw};

/// Bins of the time to the first token: eight an octave from [`FIRST`] on.
const BINS: usize = 64;
/// Seconds at which the bins start.
const FIRST: f64 = 0.2;
/// Weight every bin has at least, so that no single attempt decides.
const BIN_MIN: f64 = 1e-4;
/// Weight everything unseen has.
const UNSEEN: f64 = 1e-3;
/// An attempt is slow below this share of its path's typical rate.
const SLOW_RATE: f64 = 0.45;
/// Seconds of stream before that is judged.
const SLOW_FROM: f64 = 1.5;
/// Share of an answer by which a slow attempt has shown itself.
const SHOWN_BY: f64 = 0.8;

/// Likelihoods of what is seen, in a spell against outside, by path and provider.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Omens {
    paths: Vec<PathOmen>,
    pub providers: Vec<ProviderOmen>,
    cell: f64,
}

#[derive(Clone, Debug, PartialEq)]
struct PathOmen {
    /// Tokens a second.
    typical: f64,
    /// By bin of the time to the first token, log-likelihood ratio.
    first: Vec<f64>,
    /// By age in cells without a token, the same.
    none: Vec<f64>,
    provider: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProviderOmen {
    /// Chance of a spell at a run's start.
    pub spell: f64,
    /// Chance of a burst.
    pub burst: f64,
    /// Chance of a 429 in one.
    pub refused: f64,
    /// Seconds after which a 429 comes.
    pub refused_after: f64,
    /// Chance of a slow attempt outside a spell, and in one.
    slow: [f64; 2],
}

impl Omens {
    pub(super) fn of(problem: &Problem, laws: &Laws, draws: &Draws, cell: f64) -> Self {
        let chance = |p: f64| sound(p).clamp(1e-4, 1.0 - 1e-4);
        let providers = laws.providers.iter().map(|law| ProviderOmen {
            spell: chance(law.spell),
            burst: sound(law.burst),
            refused: chance(law.refused),
            refused_after: amount(law.refused_after).min(60.0),
            slow: law.slow.map(chance),
        });
        let paths = (0..problem.paths.len()).map(|path| PathOmen::of(laws, draws, path, cell));
        Self { providers: providers.collect(), paths: paths.collect(), cell }
    }

    /// Whether it is slow now.
    pub(super) fn is_slow(&self, look: &Look) -> bool {
        let (Some(path), Some(first), Some(rate)) =
            (self.paths.get(look.path.at()), look.first_token, look.rate)
        else {
            return look.slow;
        };
        look.slow || look.age - first > SLOW_FROM && rate < SLOW_RATE * path.typical
    }

    /// Whether a complete answer's own rate was slow.
    pub(super) fn was_slow(&self, look: &Look) -> bool {
        let (Some(path), Some(first)) = (self.paths.get(look.path.at()), look.first_token) else {
            return look.slow;
        };
        look.slow || look.tokens / (look.age - first).max(1e-3) < SLOW_RATE * path.typical
    }

    /// Its provider, where it has one.
    pub(super) fn provider(&self, look: &Look) -> Option<usize> {
        self.paths.get(look.path.at()).map(|path| path.provider)
    }

    /// Log-likelihood ratio of what is seen of an attempt, in a spell against outside. `expected` tokens are to come in
    /// all; `over` once nothing more comes.
    pub(super) fn ratio(&self, look: &Look, expected: f64, over: bool) -> f64 {
        let Some(path) = self.paths.get(look.path.at()) else { return 0.0 };
        let Some(first) = look.first_token else {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            let age = (look.age / self.cell).clamp(0.0, 1e6) as usize;
            return path.none[age.min(AGES - 1)];
        };
        let [out, within] = self.providers[path.provider].slow;
        let begun = path.first[bin(first)];
        if look.slow {
            return begun + (within / out).ln();
        }
        let shown = if over { 1.0 } else { (look.tokens / expected.max(1.0) / SHOWN_BY).min(1.0) };
        let shown = 0.5 + 0.5 * shown.max(0.0);
        begun + ((1.0 - within * shown) / (1.0 - out * shown)).ln()
    }
}

impl PathOmen {
    fn of(laws: &Laws, draws: &Draws, path: usize, cell: f64) -> Self {
        // The size of the answer has no part in it.
        let step = StepLaw { tokens: 1.0, prompt_tokens: 0.0, spread_shared: 0.0, spread_own: 0.0 };
        let law = &laws.paths[path];
        let (mut begun, mut none) = ([[0.0; 2]; BINS], [[sound(law.hangs); 2]; AGES]);
        for fate in draws.fates(laws, &step, path, false) {
            let at = bin(fate.first);
            for (spell, weight) in fate.weight.into_iter().enumerate() {
                begun[at][spell] += weight;
                for (age, open) in none.iter_mut().enumerate() {
                    #[expect(clippy::cast_precision_loss, reason = "41")]
                    if fate.first <= age as f64 * cell {
                        break;
                    }
                    open[spell] += weight;
                }
            }
        }
        let smooth = |at: usize, spell: usize| {
            let around = at.saturating_sub(1)..(at + 2).min(BINS);
            around.map(|bin| begun[bin][spell]).sum::<f64>() / 3.0 + BIN_MIN
        };
        let ratio = |[out, within]: [f64; 2]| ((within + UNSEEN) / (out + UNSEEN)).ln();
        Self {
            typical: 1.0 / law.per_token.at(0.5).max(1e-9),
            first: (0..BINS).map(|at| (smooth(at, 1) / smooth(at, 0)).ln()).collect(),
            none: none.into_iter().map(ratio).collect(),
            provider: law.provider,
        }
    }
}

fn bin(first: f64) -> usize {
    let octaves = (first.max(1e-6) / FIRST).log2();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let bin = (8.0 * octaves).clamp(0.0, 1e3) as usize;
    bin.min(BINS - 1)
}
