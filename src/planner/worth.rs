//! What time left is worth: backward over the steps, for each combination of spells.

use std::collections::BTreeMap;

use super::chain::Chain;
use super::problem::Prices;
use super::sound::{amount, narrow};
use super::stage::{Clean, Stage};
use super::stopping::{Game, Played, Player};
use super::tables::{SPARE, Tables};

impl Tables {
    /// Extra attempts get cheaper the more a run has paid by then, because missing costs that again.
    pub(super) fn cheapen(&mut self, prices: &Prices, clean: &Clean) {
        let again = amount(prices.again) * (amount(prices.tokens) + amount(prices.money));
        let paid = |step: usize| {
            let above = self.shape.above[step];
            let before = (0..self.steps.len()).filter(|other| above & 1 << other != 0);
            before.map(|other| self.steps[other].tokens).sum::<f64>() / clean.tokens
        };
        let paid: Vec<f64> = (0..self.steps.len()).map(paid).collect();
        for (step, paid) in self.steps.iter_mut().zip(paid) {
            for lane in &mut step.paths {
                lane.extra /= 1.0 + again * paid;
            }
        }
    }

    /// How much of what could be had a run that is left alone on the default paths is expected to miss.
    pub(super) fn risk(&self) -> f64 {
        let most = |stage: &Stage| stage.paths.iter().map(|lane| lane.trust).reduce(f64::max);
        let could: f64 = self.steps.iter().filter_map(most).product();
        let mut alone = 0.0;
        for (spells, chance) in &self.together {
            let mut before: Vec<Vec<f32>> = vec![Vec::new(); self.steps.len()];
            for step in (0..self.steps.len()).rev() {
                let (stage, done) = (&self.steps[step], self.done(step, &before));
                let Some((lane, kind)) = stage.paths.first().zip(stage.kind) else {
                    before[step] = done;
                    continue;
                };
                let fresh = &self.chain(kind, 0, lane.provider, *spells).fresh;
                let within =
                    |cell: usize| fresh[cell] - cell.checked_sub(1).map_or(0.0, |c| fresh[c]);
                let worth = |left: usize| {
                    (0..=left).map(|cell| within(cell) * done[left - cell]).sum::<f32>()
                };
                before[step] =
                    (0..self.cells).map(|left| narrow(lane.trust) * worth(left)).collect();
            }
            let first = (0..self.steps.len()).filter(|step| self.shape.above[*step] == 0);
            // The cells beyond the deadline are there for interpolation.
            let at = self.cells.saturating_sub(SPARE + 1);
            alone += chance * first.map(|step| f64::from(before[step][at])).product::<f64>();
        }
        let all: f64 = self.together.iter().map(|(_, chance)| chance).sum();
        could - alone / all.max(1e-12)
    }

    /// How attempts go on one path of a kind, as these spells have it.
    pub(super) fn chain(&self, kind: usize, place: usize, provider: usize, spells: u32) -> &Chain {
        let spell = self.bits[provider].is_some_and(|bit| spells & 1 << bit != 0);
        &self.kinds[kind].chains[place][usize::from(spell)]
    }

    /// Worth of every step under one combination of spells, backward.
    pub(super) fn fill(&mut self, combination: usize) {
        let spells = self.together[combination].0;
        let mut played: Vec<Played> = vec![Played::default(); self.steps.len()];
        let mut before: Vec<Vec<f32>> = vec![Vec::new(); self.steps.len()];
        let mut known: BTreeMap<(usize, Vec<u32>), Vec<usize>> = BTreeMap::new();
        for step in (0..self.steps.len()).rev() {
            let done = self.done(step, &before);
            let stage = &self.steps[step];
            let Some(kind) = stage.kind else {
                before[step].clone_from(&done);
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
            before[step].clone_from(&result.before);
            played[step] = result;
            self.steps[step].done.push(done);
        }
        for (step, played) in self.steps.iter_mut().zip(played) {
            step.played.push(played);
        }
    }

    fn game<'a>(&'a self, stage: &Stage, kind: usize, spells: u32, value: &'a [f32]) -> Game<'a> {
        let paths = stage.paths.iter().enumerate().map(|(place, lane)| Player {
            chain: self.chain(kind, place, lane.provider, spells),
            trust: narrow(lane.trust),
            light: lane.light,
            extra: narrow(lane.extra),
            start: narrow(lane.start),
            alone: lane.alone,
        });
        let without = stage.optional.map(|optional| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            let closes = (optional.closes / self.cell).clamp(0.0, 1e4) as usize;
            (narrow(optional.without), closes)
        });
        Game { paths: paths.collect(), value, races: stage.races, without }
    }

    /// What it is worth, by cells left, that a step is done: all that follows it.
    fn done(&self, step: usize, before: &[Vec<f32>]) -> Vec<f32> {
        let children = &self.shape.children[step];
        let [first, others @ ..] = children.as_slice() else { return vec![1.0; self.cells] };
        let mut all = before[*first].clone();
        let mut least = all.clone();
        for other in others {
            for (cell, value) in before[*other].iter().enumerate() {
                all[cell] *= value;
                least[cell] = least[cell].min(*value);
            }
        }
        let Some((join, far)) = self.shape.meets[step] else { return all };
        // What follows the join is in every branch's worth, and counts once.
        let below = &before[join];
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

/// Worth at a number of cells that is no whole one; nothing below 0.
pub(super) fn interpolate(worth: &[f32], left: f64) -> f32 {
    if left.is_nan() || left < 0.0 || worth.is_empty() {
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
