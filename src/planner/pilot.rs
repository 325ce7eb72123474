//! A pilot from what a server has learned.

use std::sync::Arc;
use std::time::Duration;

use super::problem::Problem;
use super::tables::Tables;
use super::{Pilot, Quantiles, Times};
use crate::domain::id::{PathIx, StepIx};
use crate::domain::plan::{Plan, Work};
use crate::latency::book::Book;
use crate::latency::curve::Part;
use crate::latency::histogram::Histogram;
use crate::latency::law::Laws;

/// Attempts of a step on its first path from which on the planner decides: below, as for cutoffs, the rules do.
const ENOUGH: f64 = 20.0;

impl Pilot {
    /// What `book` says of `plan` at `now`, by the clock with which it was written.
    #[must_use]
    pub fn of(plan: &Plan, book: &Book, now: Duration) -> Self {
        let estimate = book.estimate(plan, now);
        let shock = estimate.shock();
        let laws = estimate.laws;
        let times = plan.step_ixs().map(|step| times(plan, book, &laws, step, now)).collect();
        let mut pilot = Self { mark: 0, times, shock, laws: Some(Arc::new(laws)), tables: None };
        pilot.mark = pilot.content_mark();
        pilot
    }

    /// The same with the tables that the planner decides by, where enough is known for them: every step that asks a model
    /// was measured [`ENOUGH`] times on its first path. Takes up to a second: not for a hot path.
    #[must_use]
    pub fn planned(self, plan: &Plan) -> Self {
        let known = |step: StepIx| match &plan.step(step).work {
            Work::Model { model, .. } => {
                let first = plan.model(*model).paths.first();
                let times = first.and_then(|path| self.times(step, *path));
                times.is_some_and(|times| times.samples >= ENOUGH)
            }
            Work::Value => true,
        };
        let Some(laws) = self.laws.as_deref().filter(|_| plan.step_ixs().all(known)) else {
            return self;
        };
        let problem = Problem::of(plan, laws);
        let end = Plan::end_at(plan.deadline).since_start();
        let Some(tables) = problem.and_then(|of| Tables::build(&of, laws, end)) else {
            return self;
        };
        // Who is told more knows something else.
        Self { mark: self.mark.rotate_left(1) ^ 1, tables: Some(Arc::new(tables)), ..self }
    }

    /// A hash over all it says, the same on every machine.
    fn content_mark(&self) -> u64 {
        let mut mark = Mark::default();
        mark.add(&[self.shock]);
        for times in self.times.iter().flatten() {
            let Some(times) = times else {
                mark.add(&[]);
                continue;
            };
            let Times { samples, first_token, total, tokens, rate } = times;
            mark.add(&[*samples, *tokens, *rate]);
            for quantiles in [first_token, total] {
                mark.add(&[quantiles.p50, quantiles.p95, quantiles.p99]);
            }
        }
        if let Some(laws) = &self.laws {
            mark.laws(laws);
        }
        mark.0
    }
}

/// The paths that a step may come to use: its model's, and those of the models it links to.
fn paths(plan: &Plan, step: StepIx) -> Vec<PathIx> {
    let Work::Model { model, .. } = &plan.step(step).work else { return Vec::new() };
    let models = plan.linked(*model);
    let models = models.iter().filter_map(|ix| plan.models.get(ix.at()));
    models.flat_map(|model| model.paths.iter().copied()).collect()
}

fn times(plan: &Plan, book: &Book, laws: &Laws, step: StepIx, now: Duration) -> Vec<Option<Times>> {
    let mut all = vec![None; plan.paths.len()];
    let Some(Some(law)) = laws.steps.get(step.at()) else { return all };
    let name = format!("{}/{}", plan.workflow, plan.step(step).name);
    let fade = book.fade(now);
    for path in paths(plan, step) {
        let Some(slot) = all.get_mut(path.at()) else { continue };
        let [mut first, mut total] = laws.foretell(step.at(), path.at());
        let mut samples = 0.0;
        let per_token = laws.paths.get(path.at()).map(|path| path.per_token.at(0.5));
        let mut rate = per_token.filter(|pace| *pace > 0.0).map_or(0.0, |pace| 1.0 / pace);
        if let Some(curve) = book.curve(&name, &plan.path(path).label) {
            let prompt = Some(law.prompt_tokens);
            samples = curve.measured(Part::Total, prompt, fade).total();
            first = curve.believed(Part::FirstToken, prompt, fade, &first);
            total = curve.believed(Part::Total, prompt, fade, &total);
            let pace = curve.measured(Part::Pace, prompt, fade);
            let known = pace.events() / (pace.events() + crate::latency::curve::PRIOR);
            if let Some(pace) = pace.quantile(0.5).map(|pace| pace.at_least().max(1e-4)) {
                rate = known / pace + (1.0 - known) * rate;
            }
        }
        let (Some(first_token), Some(total)) = (quantiles(&first), quantiles(&total)) else {
            continue;
        };
        *slot = Some(Times { samples, first_token, total, tokens: law.tokens, rate });
    }
    all
}

fn quantiles(of: &Histogram) -> Option<Quantiles> {
    let at = |share: f64| Some(of.quantile(share)?.at_least());
    Some(Quantiles { p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)? })
}

/// A running hash over numbers: 64-bit FNV-1a, a number a step, folded so that high bits reach low ones.
struct Mark(u64);

impl Default for Mark {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Mark {
    fn step(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
        self.0 ^= self.0 >> 32;
    }

    fn add(&mut self, numbers: &[f64]) {
        self.step(numbers.len() as u64);
        for number in numbers {
            self.step(number.to_bits());
        }
    }

    fn laws(&mut self, laws: &Laws) {
        for path in &laws.paths {
            self.add(path.first_token.all());
            self.add(path.per_token.all());
            self.add(path.invalid_at.all());
            self.add(path.error_at.all());
            let chances = [path.invalid, path.error, path.hangs, path.stalls, path.samples];
            self.add(&chances);
            self.step(path.provider as u64);
        }
        for one in &laws.providers {
            self.add(&[one.spell, one.burst, one.refused, one.refused_after]);
            self.add(&one.slow);
            self.add(&one.late);
        }
        for points in [&laws.late, &laws.slow, &laws.onset] {
            self.add(points.all());
        }
        for step in &laws.steps {
            let step = step
                .as_ref()
                .map(|step| [step.tokens, step.prompt_tokens, step.spread_shared, step.spread_own]);
            self.add(step.as_ref().map_or(&[], |step| step));
        }
    }
}
