//! Everything that is worked out before a run: how attempts go from what can be seen of them, and what time left is worth.

use std::collections::BTreeMap;
use std::time::Duration;

use super::chain::{AGES, CELLS_MAX, Chain, STATES, Tally};
use super::fate::Draws;
use super::graph::Shape;
use super::look::Look;
use super::omen::Omens;
use super::problem::{Prices, Problem, Step};
use super::stopping::{Game, Played, Player};
use crate::latency::law::{Laws, StepLaw};

/// Providers whose spells the tables tell apart; those of further ones count as they are on average.
const TRACKED_MAX: usize = 4;
/// A deadline of so many seconds has cells of one.
const CELL_OF_ONE: std::ops::RangeInclusive<f64> = 30.0..=180.0;
/// Shorter deadlines have so many cells.
const CELLS_SHORT: f64 = 60.0;
/// Longer ones so many.
const CELLS_LONG: f64 = 180.0;
/// Spells that come together more rarely have no tables of their own.
const TOGETHER_MIN: f64 = 1e-4;
/// Steps whose expected tokens differ by less than this share one law.
const ALIKE: f64 = 1.1;
/// Most paths of a step that are planned with.
const PATHS_MAX: usize = 6;

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
    /// Which providers are in a spell, as bits of `tracked`, and how likely that is at first.
    pub(super) together: Vec<(u32, f64)>,
    /// By provider, its bit.
    pub(super) bits: Vec<Option<u32>>,
    pub(super) prices: Prices,
}

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

/// How attempts of steps that are alike go, by path of the step: outside a spell, and in one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    pub chains: Vec<[Chain; 2]>,
    /// The quickest path.
    pub rescue: usize,
}

/// What tells kinds apart: size and spread, in steps of [`ALIKE`], and the paths.
type Likeness = (i64, i64, Vec<usize>);

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
        let cells = ((seconds / cell).ceil() as usize + 3).min(CELLS_MAX);
        let bits = tracked(problem, laws);
        let mut kinds = Kinds::new(problem, laws, cell, cells, &bits);
        let found: Vec<Option<usize>> =
            (0..problem.steps.len()).map(|step| kinds.of(problem, step)).collect();
        let mut steps = Vec::new();
        let clean = Clean::of(problem, laws);
        for (step, kind) in found.into_iter().enumerate() {
            let medians = kind.map_or(&[][..], |kind| kinds.medians[kind].as_slice());
            steps.push(Stage::of(problem, laws, step, kind, medians, &clean, seconds));
        }
        let medians: Vec<f64> = steps.iter().map(Stage::median).collect();
        let mut tables = Self {
            omens: Omens::of(problem, laws, &kinds.draws, cell),
            shape: Shape::of(problem, &medians),
            kinds: kinds.made,
            steps,
            cell,
            cells,
            together: together(laws, &bits),
            bits,
            prices: problem.prices,
        };
        tables.price(&clean);
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

    /// Extra attempts get cheaper the more a run has paid by then, because missing costs that again.
    fn price(&mut self, clean: &Clean) {
        let again = self.prices.again.max(0.0) * (self.prices.tokens + self.prices.money);
        let paid: Vec<f64> = (0..self.steps.len())
            .map(|step| {
                let above = self.shape.above[step];
                let before = (0..self.steps.len()).filter(|other| above & 1 << other != 0);
                before.map(|other| self.steps[other].tokens).sum::<f64>() / clean.tokens
            })
            .collect();
        for (step, paid) in self.steps.iter_mut().zip(paid) {
            for lane in &mut step.paths {
                lane.extra /= 1.0 + again * paid;
            }
        }
    }

    /// Worth of every step under one combination of spells, backward.
    fn fill(&mut self, combination: usize) {
        let spells = self.together[combination].0;
        let mut played: Vec<Played> = vec![Played::default(); self.steps.len()];
        let mut known: BTreeMap<(usize, Vec<u32>), Vec<usize>> = BTreeMap::new();
        for step in (0..self.steps.len()).rev() {
            let done = self.done(step, &played);
            let stage = &self.steps[step];
            let Some(kind) = stage.kind else {
                played[step].before.clone_from(&done);
                self.steps[step].done.push(done);
                continue;
            };
            let key = (kind, done.iter().map(|value| value.to_bits()).collect());
            let alike = known.entry(key).or_default();
            let same = alike.iter().find(|other| self.steps[**other].same_prices(stage));
            let result = match same {
                Some(other) => played[*other].clone(),
                None => self.game(stage, kind, spells, &done).play(),
            };
            alike.push(step);
            played[step] = result;
            self.steps[step].done.push(done);
        }
        for (step, played) in self.steps.iter_mut().zip(played) {
            step.played.push(played);
        }
    }

    fn game<'a>(&'a self, stage: &Stage, kind: usize, spells: u32, value: &'a [f32]) -> Game<'a> {
        let paths = stage.paths.iter().zip(&self.kinds[kind].chains).map(|(lane, chains)| {
            let spell = self.bits[lane.provider].is_some_and(|bit| spells & 1 << bit != 0);
            Player {
                chain: &chains[usize::from(spell)],
                trust: narrow(lane.trust),
                light: lane.light,
                extra: narrow(lane.extra),
                start: narrow(lane.start),
                alone: lane.alone,
            }
        });
        let without = stage.optional.map(|optional| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            let closes = (optional.closes / self.cell).clamp(0.0, 1e4) as usize;
            (narrow(optional.without), closes)
        });
        Game { paths: paths.collect(), value, races: stage.races, without }
    }

    /// What it is worth, by cells left, that a step is done: all that follows it.
    fn done(&self, step: usize, played: &[Played]) -> Vec<f32> {
        let children = &self.shape.children[step];
        let one = |child: &usize| played[*child].before.clone();
        let [first, others @ ..] = children.as_slice() else { return vec![1.0; self.cells] };
        let mut all = one(first);
        let mut least = all.clone();
        for other in others {
            for (cell, value) in one(other).into_iter().enumerate() {
                all[cell] *= value;
                least[cell] = least[cell].min(value);
            }
        }
        let Some((join, far)) = self.shape.meets[step] else { return all };
        // What follows the join is in every branch's worth, and counts once.
        let below = &played[join].before;
        let times = i32::try_from(others.len()).unwrap_or(i32::MAX);
        let mut most = 0.0_f32;
        for cell in 0..self.cells {
            #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
            let left = cell as f64 - far / self.cell;
            let once = interpolate(below, left);
            if once > 1e-3 {
                all[cell] = (all[cell] / once.powi(times)).min(least[cell]);
            }
            most = most.max(all[cell]);
            all[cell] = most;
        }
        all
    }
}

impl Stage {
    fn of(
        problem: &Problem,
        laws: &Laws,
        at: usize,
        kind: Option<usize>,
        medians: &[f64],
        clean: &Clean,
        deadline: f64,
    ) -> Self {
        let step = &problem.steps[at];
        let law = laws.steps[at].filter(|_| kind.is_some());
        let (expected, prompt) = law.map_or((0.0, 0.0), |law| (law.tokens, law.prompt_tokens));
        let prices = &problem.prices;
        let trust = |path: &usize| problem.paths[*path].trust.clamp(0.0, 1.0);
        let own_trust = step.paths.first().map_or(1.0, trust);
        let dollars = |path: usize| clean.dollars(problem, path, prompt, expected);
        let own = step.paths.first().map_or(0.0, |path| dollars(*path));
        let paths = step.paths.iter().take(PATHS_MAX).zip(medians).map(|(path, median)| {
            let money = prices.money * dollars(*path) / clean.dollars;
            Lane {
                path: *path,
                provider: problem.paths[*path].provider,
                trust: trust(path),
                light: trust(path) < own_trust - 1e-9,
                alone: problem.paths[*path].alone,
                dollars: dollars(*path),
                extra: prices.tokens * (prompt + expected) / clean.tokens + money,
                start: money - prices.money * own / clean.dollars,
                median: *median,
            }
        });
        let optional = step.optional.then(|| Optional {
            without: (1.0 - prices.optional).clamp(0.0, 1.0),
            closes: step.closes_at.map_or(0.0, |share| deadline * (1.0 - share)),
        });
        Self {
            kind,
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
    fn median(&self) -> f64 {
        let trusted = self.paths.iter().filter(|lane| !lane.light);
        trusted.map(|lane| lane.median).reduce(f64::min).unwrap_or(0.0)
    }

    fn same_prices(&self, other: &Self) -> bool {
        let bits = |lane: &Lane| [lane.extra.to_bits(), lane.start.to_bits()];
        self.races == other.races
            && self.optional == other.optional
            && self.paths.iter().map(bits).eq(other.paths.iter().map(bits))
    }
}

/// One clean pass on the default paths.
struct Clean {
    tokens: f64,
    dollars: f64,
    /// Whether the default paths have prices; else all tokens cost the same, prompts a fifth.
    priced: bool,
}

impl Clean {
    fn of(problem: &Problem, laws: &Laws) -> Self {
        let mut clean = Self { tokens: 0.0, dollars: 0.0, priced: true };
        let paid = |step: &(&Step, &Option<StepLaw>)| !step.0.paths.is_empty();
        let steps = || problem.steps.iter().zip(&laws.steps).filter(paid);
        for (step, law) in steps() {
            let (tokens, prompt) = law.map_or((0.0, 0.0), |law| (law.tokens, law.prompt_tokens));
            clean.tokens += tokens + prompt;
            clean.dollars += clean.dollars(problem, step.paths[0], prompt, tokens);
        }
        clean.priced = clean.dollars > 0.0;
        if !clean.priced {
            clean.dollars = clean.tokens;
        }
        clean.tokens = clean.tokens.max(1e-9);
        clean.dollars = clean.dollars.max(1e-300);
        clean
    }

    fn dollars(&self, problem: &Problem, path: usize, prompt: f64, answer: f64) -> f64 {
        let path = &problem.paths[path];
        let one = |price: f64| if price.is_finite() { price.max(0.0) } else { 0.0 };
        if self.priced { one(path.per_input) * prompt + one(path.per_output) * answer } else { 0.0 }
    }
}

/// Kinds as they are found.
struct Kinds<'a> {
    laws: &'a Laws,
    cell: f64,
    cells: usize,
    bits: &'a [Option<u32>],
    draws: Draws,
    known: BTreeMap<Likeness, usize>,
    made: Vec<Kind>,
    /// By kind, then by path: median seconds.
    medians: Vec<Vec<f64>>,
    providers: Vec<usize>,
}

impl<'a> Kinds<'a> {
    fn new(
        problem: &Problem,
        laws: &'a Laws,
        cell: f64,
        cells: usize,
        bits: &'a [Option<u32>],
    ) -> Self {
        Self {
            laws,
            cell,
            cells,
            bits,
            draws: Draws::new(),
            known: BTreeMap::new(),
            made: Vec::new(),
            medians: Vec::new(),
            providers: problem.paths.iter().map(|path| path.provider).collect(),
        }
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
        let (kind, medians) = self.make(&law, &paths);
        self.known.insert(likeness, self.made.len());
        self.made.push(kind);
        self.medians.push(medians);
        Some(self.made.len() - 1)
    }

    fn make(&self, law: &StepLaw, paths: &[usize]) -> (Kind, Vec<f64>) {
        let spell = |path: usize| {
            let provider = self.providers[path];
            self.laws.providers[provider].spell.clamp(0.0, 1.0)
        };
        let mut tallies: Vec<Tally> = Vec::new();
        for path in paths {
            let blended = self.bits[self.providers[*path]].is_none();
            let fates = self.draws.fates(self.laws, law, *path, blended);
            let path = &self.laws.paths[*path];
            tallies.push(Tally::of(fates, path, law.tokens, self.cell, self.cells));
        }
        let medians: Vec<f64> =
            tallies.iter_mut().zip(paths).map(|(tally, path)| tally.median(spell(*path))).collect();
        let chains = tallies.iter().zip(paths).map(|(tally, path)| {
            // A visible failure is followed by the first path of another provider, else by the default one.
            let provider = self.providers[*path];
            let other = paths.iter().position(|p| self.providers[*p] != provider).unwrap_or(0);
            let fresh = tallies[other].fresh(spell(paths[other]));
            [tally.chain(0, &fresh), tally.chain(1, &fresh)]
        });
        let quickest = (0..paths.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b]));
        (Kind { chains: chains.collect(), rescue: quickest.unwrap_or(0) }, medians)
    }
}

/// Worth at a number of cells that is no whole one; nothing below 0.
pub(super) fn interpolate(worth: &[f32], left: f64) -> f32 {
    if left < 0.0 || worth.is_empty() {
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let below = left.min(1e6) as usize;
    if below + 1 >= worth.len() {
        return worth[worth.len() - 1];
    }
    let share = narrow(left.fract());
    worth[below] * (1.0 - share) + worth[below + 1] * share
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
        let spell = if law.spell.is_finite() { law.spell.clamp(1e-3, 0.999) } else { 1e-3 };
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

#[expect(clippy::cast_possible_truncation, reason = "kept in single precision")]
fn narrow(number: f64) -> f32 {
    number as f32
}

const _: () = assert!(AGES < STATES && STATES < 256);
