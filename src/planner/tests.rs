#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests")]
//! Tiny graphs whose answers can be worked out by hand.

use std::time::Duration;

use super::belief::Belief;
use super::look::{Look, View};
use super::problem::{Path, Prices, Problem, Step};
use super::tables::Tables;
use crate::domain::id::{PathIx, StepIx};
use crate::latency::law::{Laws, PathLaw, Points, ProviderLaw, StepLaw};

mod belief;
mod choice;
mod graph;
mod nonsense;
mod worth;

/// A path that gives its first token after `first` seconds and then `rate` tokens a second, without fault.
fn path_law(provider: usize, first: &[f64], rate: f64) -> PathLaw {
    PathLaw {
        provider,
        first_token: Points::new(first.iter().copied()).unwrap(),
        per_token: Points::one(1.0 / rate),
        invalid: 0.0,
        invalid_at: Points::one(1.0),
        error: 0.0,
        error_at: Points::one(0.5),
        hangs: 0.0,
        stalls: 0.0,
        samples: 1_000.0,
    }
}

/// A provider without spells and bursts.
const STEADY: ProviderLaw = ProviderLaw {
    spell: 0.0,
    slow: [0.0, 0.0],
    late: [0.0, 0.0],
    burst: 0.0,
    refused: 0.6,
    refused_after: 0.5,
};

/// Steps of 100 tokens each, without spread.
fn laws(paths: Vec<PathLaw>, providers: Vec<ProviderLaw>, steps: usize) -> Laws {
    let step = StepLaw { tokens: 100.0, prompt_tokens: 0.0, spread_shared: 0.0, spread_own: 0.0 };
    Laws {
        paths,
        providers,
        late: Points::one(5.0),
        slow: Points::one(5.0),
        onset: Points::one(0.0),
        steps: vec![Some(step); steps],
    }
}

fn path(provider: usize, trust: f64, price: f64) -> Path {
    Path { provider, per_input: 0.0, per_output: price, trust, alone: false }
}

fn step(parents: &[usize], paths: &[usize]) -> Step {
    Step {
        parents: parents.to_vec(),
        paths: paths.to_vec(),
        optional: false,
        closes_at: None,
        races: true,
    }
}

fn problem(steps: Vec<Step>, paths: Vec<Path>) -> Problem {
    Problem { steps, paths, prices: Prices { tokens: 0.01, money: 0.001, ..Prices::default() } }
}

/// Two providers alike: half of the attempts say their first token after 1 s, half after 41 s; then an answer takes 1 s.
fn coin(steps: Vec<Step>) -> (Problem, Laws) {
    let count = steps.len();
    let paths = vec![path(0, 1.0, 1e-6), path(1, 1.0, 1e-6)];
    let first: Vec<f64> = (0..64).map(|at| if at < 32 { 1.0 } else { 41.0 }).collect();
    let law = |provider| path_law(provider, &first, 100.0);
    let laws = laws(vec![law(0), law(1)], vec![STEADY; 2], count);
    (problem(steps, paths), laws)
}

fn built(problem: &Problem, laws: &Laws, seconds: u64) -> (Tables, Belief) {
    let tables = Tables::build(problem, laws, Duration::from_secs(seconds)).unwrap();
    let belief = Belief::new(&tables);
    (tables, belief)
}

/// The situation of a step with this in flight.
fn view(step: u16, left: f64, attempts: &[Look]) -> View<'_> {
    View {
        step: StepIx(step),
        left,
        attempts,
        beside: &[],
        held: None,
        open_in: &[],
        refusals: &[],
        attempts_left: 8,
        dollars_left: f64::INFINITY,
        tokens_left: f64::INFINITY,
    }
}

/// An attempt without a token.
fn silent(step: u16, path: u16, age: f64) -> Look {
    Look {
        step: StepIx(step),
        path: PathIx(path),
        age,
        first_token: None,
        tokens: 0.0,
        rate: None,
        slow: false,
    }
}

/// One that streams.
fn streaming(look: Look, first: f64, tokens: f64, rate: f64) -> Look {
    Look { first_token: Some(first), tokens, rate: Some(rate), ..look }
}
