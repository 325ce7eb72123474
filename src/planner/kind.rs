//! Steps whose answers are as long and whose paths are the same have their laws in common.

use std::collections::BTreeMap;

use super::chain::{Chain, Tally};
use super::fate::Draws;
use super::problem::Problem;
use super::sound::chance;
use super::stage::PATHS_MAX;
use crate::latency::law::{Laws, StepLaw};

/// Steps whose expected tokens differ by less than this factor share one law.
const ALIKE: f64 = 1.1;

/// How attempts of steps that are alike go, by path of the step: outside a spell, and in one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    pub chains: Vec<[Chain; 2]>,
    /// By path: median seconds of attempts that end by themselves.
    pub medians: Vec<f64>,
    /// The quickest path.
    pub rescue: usize,
}

/// What tells kinds apart: size and spread, in steps of [`ALIKE`], and the paths.
type Likeness = (i64, i64, Vec<usize>);

/// Kinds as they are found.
pub(super) struct Kinds<'a> {
    laws: &'a Laws,
    draws: &'a Draws,
    bits: &'a [Option<u32>],
    cell: f64,
    cells: usize,
    known: BTreeMap<Likeness, usize>,
    made: Vec<Kind>,
}

impl<'a> Kinds<'a> {
    /// The kinds of a problem, and by step its kind. `grid`: seconds a cell, and cells.
    pub(super) fn all(
        problem: &Problem,
        laws: &'a Laws,
        draws: &'a Draws,
        bits: &'a [Option<u32>],
        grid: (f64, usize),
    ) -> (Vec<Kind>, Vec<Option<usize>>) {
        let (cell, cells) = grid;
        let (known, made) = (BTreeMap::new(), Vec::new());
        let mut kinds = Self { laws, draws, bits, cell, cells, known, made };
        let found = (0..problem.steps.len()).map(|step| kinds.of(problem, step)).collect();
        (kinds.made, found)
    }

    fn of(&mut self, problem: &Problem, step: usize) -> Option<usize> {
        let paths: Vec<usize> = problem.steps[step].paths.iter().take(PATHS_MAX).copied().collect();
        let law = self.laws.steps[step].filter(|_| !paths.is_empty())?;
        #[expect(clippy::cast_possible_truncation, reason = "logarithms of sizes")]
        let rounded = |of: f64| (of.max(1e-3).ln() / ALIKE.ln()).round() as i64;
        let spread = law.spread_shared.hypot(law.spread_own);
        let likeness = (rounded(law.tokens), rounded(spread), paths.clone());
        if let Some(kind) = self.known.get(&likeness) {
            return Some(*kind);
        }
        self.known.insert(likeness, self.made.len());
        self.made.push(self.make(&law, &paths));
        Some(self.made.len() - 1)
    }

    fn make(&self, law: &StepLaw, paths: &[usize]) -> Kind {
        let provider = |path: &usize| self.laws.paths[*path].provider;
        let spell = |path: &usize| chance(self.laws.providers[provider(path)].spell);
        let tally = |path: &usize| {
            let blended = self.bits[provider(path)].is_none();
            let fates = self.draws.fates(self.laws, law, *path, blended);
            Tally::of(fates, &self.laws.paths[*path], law.tokens, self.cell, self.cells)
        };
        let mut tallies: Vec<Tally> = paths.iter().map(tally).collect();
        let both = tallies.iter_mut().zip(paths);
        let medians: Vec<f64> = both.map(|(tally, path)| tally.median(spell(path))).collect();
        let chains = tallies.iter().zip(paths).map(|(tally, path)| {
            // A visible failure is followed by the first path of another provider, else by the default one.
            let other = paths.iter().position(|other| provider(other) != provider(path));
            let other = other.unwrap_or(0);
            let fresh = tallies[other].fresh(spell(&paths[other]));
            [tally.chain(0, &fresh), tally.chain(1, &fresh)]
        });
        let quickest = (0..paths.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b]));
        Kind { chains: chains.collect(), rescue: quickest.unwrap_or(0), medians }
    }
}
