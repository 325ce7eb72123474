//! Everything that is worked out before a run: how attempts go from what can be seen of them, and what time left is worth.

use std::time::Duration;

use super::chain::{CELLS_MAX, Chain};
use super::fate::Draws;
use super::graph::Shape;
use super::kind::{Kind, Kinds};
use super::look::Look;
use super::omen::Omens;
use super::problem::{Prices, Problem};
use super::sound::chance;
use super::stage::{Clean, Lane, PATHS_MAX, Stage};
use crate::latency::law::Laws;

/// Providers whose spells the tables tell apart; those of further ones count as they are on average.
const TRACKED_MAX: usize = 4;
/// A deadline of so many seconds has cells of one.
const CELL_OF_ONE: std::ops::RangeInclusive<f64> = 30.0..=180.0;
/// Shorter deadlines have so many cells.
const CELLS_SHORT: f64 = 60.0;
/// Longer ones so many.
const CELLS_LONG: f64 = 180.0;
/// Cells beyond the deadline, so that there is something to interpolate with.
pub(super) const SPARE: usize = 3;
/// Spells that come together more rarely have no tables of their own.
const TOGETHER_MIN: f64 = 1e-4;

/// Tables of one problem, deadline and state of knowledge; made off the hot path, read by any number of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    pub(super) steps: Vec<Stage>,
    pub(super) kinds: Vec<Kind>,
    pub(super) omens: Omens,
    pub(super) shape: Shape,
    /// Seconds a cell.
    pub(super) cell: f64,
    /// Cells of the deadline, and a few more.
    pub(super) cells: usize,
    /// Which providers are in a spell, by their bits, and how likely that is at first.
    pub(super) together: Vec<(u32, f64)>,
    /// By provider, its bit.
    pub(super) bits: Vec<Option<u32>>,
}

impl Tables {
    /// Builds them. `None` where the laws do not fit the problem.
    #[must_use]
    pub fn build(problem: &Problem, laws: &Laws, deadline: Duration) -> Option<Self> {
        if !fits(problem, laws) || deadline.is_zero() {
            return None;
        }
        let seconds = deadline.as_secs_f64();
        let cell = if CELL_OF_ONE.contains(&seconds) {
            1.0
        } else if seconds < *CELL_OF_ONE.start() {
            seconds / CELLS_SHORT
        } else {
            seconds / CELLS_LONG
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "60 to 180")]
        let cells = ((seconds / cell).ceil() as usize + SPARE).min(CELLS_MAX);
        let bits = tracked(problem, laws);
        let draws = Draws::new();
        let (kinds, found) = Kinds::all(problem, laws, &draws, &bits, (cell, cells));
        let clean = Clean::of(problem, laws);
        let stages = |kinds: &[Kind], prices: &Prices| -> Vec<Stage> {
            let one = |(step, kind): (usize, &Option<usize>)| {
                let kind = kind.map(|kind| (kind, &kinds[kind]));
                Stage::of(problem, laws, step, kind, &clean, prices, seconds)
            };
            found.iter().enumerate().map(one).collect()
        };
        let steps = stages(&kinds, &problem.prices);
        let medians: Vec<f64> = steps.iter().map(Stage::median).collect();
        let mut tables = Self {
            omens: Omens::of(problem, laws, &draws, cell),
            shape: Shape::of(problem, &medians),
            steps,
            kinds,
            cell,
            cells,
            together: together(laws, &bits),
            bits,
        };
        let mut prices = problem.prices;
        if prices.by_risk {
            prices = prices.at_risk(tables.risk());
            tables.steps = stages(&tables.kinds, &prices);
        }
        tables.cheapen(&prices, &clean);
        for combination in 0..tables.together.len() {
            tables.fill(combination);
        }
        Some(tables)
    }

    /// How many providers there are.
    #[must_use]
    pub fn providers(&self) -> usize {
        self.bits.len()
    }

    /// Whether this attempt's rate is below 45 % of what is typical of its path; asked from 1.5 s after its first token
    /// on. Once slow, an attempt stays [`Look::slow`].
    #[must_use]
    pub fn is_slow(&self, look: &Look) -> bool {
        self.omens.is_slow(look)
    }

    /// Bytes on the heap, roughly.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let chains = self.kinds.iter().flat_map(|kind| kind.chains.iter().flatten());
        let played = self.steps.iter().map(|step| {
            let done: usize = step.done.iter().map(Vec::len).sum();
            let played = step.played.iter().map(|p| p.fresh.len() + p.before.len());
            4 * (done + played.sum::<usize>()) + step.paths.len() * size_of::<Lane>()
        });
        chains.map(Chain::heap_bytes).sum::<usize>() + played.sum::<usize>()
    }

    /// Tokens that are expected of an attempt's answer in all.
    pub(super) fn expected(&self, look: &Look) -> f64 {
        self.steps.get(look.step.at()).map_or(0.0, |stage| stage.expected)
    }
}

fn fits(problem: &Problem, laws: &Laws) -> bool {
    let steps = problem.steps.len();
    let path_fits = |path: &usize| *path < problem.paths.len() && *path < laws.paths.len();
    steps > 0
        && steps <= Problem::STEPS_MAX
        && laws.steps.len() == steps
        && problem.paths.iter().all(|path| path.provider < laws.providers.len())
        && laws.paths.iter().all(|path| path.provider < laws.providers.len())
        && problem.steps.iter().zip(&laws.steps).enumerate().all(|(at, (step, law))| {
            let sized = law.is_some_and(|law| law.tokens.is_finite() && law.tokens > 0.0);
            step.parents.iter().all(|parent| *parent < at)
                && step.paths.iter().all(path_fits)
                && (step.paths.is_empty() || sized)
        })
}

/// By provider, the bit of its spells.
fn tracked(problem: &Problem, laws: &Laws) -> Vec<Option<u32>> {
    let mut bits = vec![None; laws.providers.len()];
    let mut next = 0;
    let used = problem.steps.iter().flat_map(|step| step.paths.iter().take(PATHS_MAX));
    for path in used {
        let bit = &mut bits[problem.paths[*path].provider];
        if bit.is_none() && (next as usize) < TRACKED_MAX {
            *bit = Some(next);
            next += 1;
        }
    }
    bits
}

/// Combinations of spells that come together often enough, with their chances.
fn together(laws: &Laws, bits: &[Option<u32>]) -> Vec<(u32, f64)> {
    let mut all = vec![(0_u32, 1.0)];
    for (bit, law) in bits.iter().zip(&laws.providers) {
        let Some(bit) = bit else { continue };
        let spell = chance(law.spell).clamp(1e-3, 0.999);
        let with = all.iter().map(|(set, chance)| (set | 1 << bit, chance * spell));
        let with: Vec<_> = with.collect();
        for (_, chance) in &mut all {
            *chance *= 1.0 - spell;
        }
        all.extend(with);
    }
    all.retain(|(set, chance)| *chance >= TOGETHER_MIN || set.count_ones() < 2);
    all
}
