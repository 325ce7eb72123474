//! The steps of a problem with their paths, priced.

use super::kind::Kind;
use super::problem::{Prices, Problem, Step};
use super::sound::{amount, chance};
use super::stopping::Played;
use crate::latency::law::{Laws, StepLaw};

/// Most paths of a step that are planned with.
pub(super) const PATHS_MAX: usize = 6;

/// Most of a clean pass's tokens that an extra attempt is charged for: a step that is all of its workflow is not left late for
/// as long as a miss is cheaper than the tokens of a whole pass.
const SHARE_MAX: f64 = 0.25;
/// A model that is more trusted than the step's own is begun with for at most one wrong answer less in a thousand.
const BETTER_MAX: f64 = 0.001;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    /// Its place in `kinds`; `None` where it takes no time.
    pub kind: Option<usize>,
    pub expected: f64,
    /// Tokens billed of one attempt, at the median.
    pub tokens: f64,
    pub races: bool,
    pub optional: Option<Optional>,
    pub paths: Vec<Lane>,
    /// By combination of spells, then by cells left: worth when done.
    pub done: Vec<Vec<f32>>,
    /// By combination of spells: worth before.
    pub played: Vec<Played>,
}

/// An optional step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Optional {
    /// Share of the worth that is left without it.
    pub without: f64,
    /// Seconds left at which it is closed.
    pub closes: f64,
}

/// One path of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lane {
    /// Its place in the plan.
    pub path: usize,
    pub provider: usize,
    /// Share of the run's worth that is left, on average, with an answer of it.
    pub trust: f64,
    pub light: bool,
    pub alone: bool,
    /// Dollars of an attempt.
    pub dollars: f64,
    /// Worth that an extra attempt costs.
    pub extra: f64,
    /// Worth that starting here costs more than on the default path.
    pub start: f64,
    /// Median seconds.
    pub median: f64,
}

impl Stage {
    /// `kind`: its place, and what it is; `deadline` in seconds.
    pub(super) fn of(
        problem: &Problem,
        laws: &Laws,
        at: usize,
        kind: Option<(usize, &Kind)>,
        clean: &Clean,
        prices: &Prices,
        deadline: f64,
    ) -> Self {
        let step = &problem.steps[at];
        let law = laws.steps[at].filter(|_| kind.is_some());
        let (expected, prompt) =
            law.map_or((0.0, 0.0), |law| (law.tokens, amount(law.prompt_tokens)));
        let (per_pass, money) = (amount(prices.tokens), amount(prices.money));
        let medians = kind.map_or(&[][..], |(_, kind)| &kind.medians);
        // A wrong answer of an optional step is as bad as none, not as a wrong run.
        let at_stake = if step.optional { chance(prices.optional) } else { 1.0 };
        let trust = |path: &usize| 1.0 - at_stake * (1.0 - chance(problem.paths[*path].trust));
        let own_trust = step.paths.first().map_or(1.0, trust);
        let dollars = |path: usize| dollars(problem, path, prompt, expected);
        let own = step.paths.first().map_or(0.0, |path| dollars(*path));
        let paths = step.paths.iter().take(PATHS_MAX).zip(medians).map(|(path, median)| {
            let paid = money * dollars(*path) / clean.dollars;
            Lane {
                path: *path,
                provider: problem.paths[*path].provider,
                trust: trust(path),
                light: trust(path) < own_trust - 1e-9,
                alone: problem.paths[*path].alone,
                dollars: dollars(*path),
                extra: per_pass * ((prompt + expected) / clean.tokens).min(SHARE_MAX) + paid,
                start: begins(paid - money * own / clean.dollars, trust(path) - own_trust),
                median: *median,
            }
        });
        let optional = step.optional.then(|| Optional {
            without: 1.0 - chance(prices.optional),
            closes: step.closes_at.map_or(0.0, |share| deadline * (1.0 - chance(share))),
        });
        Self {
            kind: kind.map(|(at, _)| at),
            expected,
            tokens: prompt + expected,
            races: step.races,
            optional,
            paths: paths.collect(),
            done: Vec::new(),
            played: Vec::new(),
        }
    }

    /// Median seconds on the quickest path that is trusted like the default one.
    pub(super) fn median(&self) -> f64 {
        let trusted = self.paths.iter().filter(|lane| !lane.light);
        trusted.map(|lane| lane.median).reduce(f64::min).unwrap_or(0.0)
    }

    pub(super) fn same_prices(&self, other: &Self) -> bool {
        let bits = |lane: &Lane| [lane.extra.to_bits(), lane.start.to_bits()];
        self.races == other.races
            && self.optional == other.optional
            && self.paths.iter().map(bits).eq(other.paths.iter().map(bits))
    }
}

/// One clean pass on the default paths.
pub(super) struct Clean {
    pub tokens: f64,
    pub dollars: f64,
}

impl Clean {
    pub(super) fn of(problem: &Problem, laws: &Laws) -> Self {
        let mut clean = Self { tokens: 0.0, dollars: 0.0 };
        let paid = |step: &(&Step, &Option<StepLaw>)| !step.0.paths.is_empty();
        for (step, law) in problem.steps.iter().zip(&laws.steps).filter(paid) {
            let law = law.map_or((0.0, 0.0), |law| (law.tokens, amount(law.prompt_tokens)));
            let (tokens, prompt) = law;
            clean.tokens += tokens + prompt;
            clean.dollars += dollars(problem, step.paths[0], prompt, tokens);
        }
        clean.tokens = clean.tokens.max(1e-9);
        // Without prices on the default paths, money has no measure and is left out.
        if clean.dollars <= 0.0 {
            clean.dollars = f64::INFINITY;
        }
        clean
    }
}

/// What it costs to begin on a path that is `dearer` by so much worth and more trusted by `better`. Trust is a coarse prior,
/// and whoever named the step's model has chosen it over more trusted ones: beyond [`BETTER_MAX`] their better answers
/// are worth no more than what they cost.
fn begins(dearer: f64, better: f64) -> f64 {
    dearer + (better - BETTER_MAX).max(0.0)
}

fn dollars(problem: &Problem, path: usize, prompt: f64, answer: f64) -> f64 {
    let path = &problem.paths[path];
    amount(path.per_input) * prompt + amount(path.per_output) * answer
}
