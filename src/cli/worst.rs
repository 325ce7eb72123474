//! The most a run can use: attempts, tokens, dollars, and how long it takes where everything goes well.

use std::time::Duration;

use serde::Serialize;

use super::graph::{revisions, waits};
use super::prior::Prior;
use crate::definition::config::Configuration;
use crate::domain::id::{ModelIx, StepIx};
use crate::domain::money::Usd;
use crate::domain::plan::{Plan, Work};
use crate::policy::gate::Reservation;

/// What a follow-up attempt is told on top, apart from the answer before: what was wrong, or where the run stands.
const TOLD_TOKENS: u64 = 300;

/// How large one step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Items; 1 without a fan-out.
    pub items: u32,
    /// Tokens of its largest prompt.
    pub prompt: u64,
}

/// The most of one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfStep {
    /// Its name.
    pub step: String,
    /// Items.
    pub items: u32,
    /// Attempts of all items and rounds together.
    pub attempts: u64,
    /// Tokens of one first prompt.
    pub prompt_tokens: u64,
    /// Tokens of all prompts.
    pub input_tokens: u64,
    /// Tokens of all answers.
    pub output_tokens: u64,
    /// Dollars, on the dearest path; `None` where a price is unknown.
    pub usd: Option<f64>,
}

/// The most of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// Step by step.
    pub steps: Vec<OfStep>,
    /// Attempts.
    pub attempts: u64,
    /// Prompts and answers.
    pub tokens: u64,
    /// Dollars; `None` where a price is unknown.
    pub usd: Option<f64>,
    /// The same where every step needs one attempt, on its first path, and fills its bound.
    pub smooth_usd: Option<f64>,
    /// Paths whose price is unknown.
    pub unpriced: Vec<String>,
    /// Which budget holds a run below this.
    pub held_by: Vec<String>,
}

/// The most that a run of `plan` can use, steps being as large as `size` says.
#[must_use]
pub fn worst(plan: &Plan, size: impl Fn(StepIx) -> Size) -> Worst {
    let mut smooth = Some(Usd::ZERO);
    let steps: Vec<OfStep> = plan
        .step_ixs()
        .filter(|ix| matches!(plan.step(*ix).work, Work::Model { .. }))
        .map(|ix| {
            let of = of_step(plan, ix, size(ix));
            smooth = smooth.zip(first(plan, ix, size(ix))).map(|(sum, usd)| sum.plus(usd));
            of
        })
        .collect();
    let attempts = steps.iter().map(|step| step.attempts).sum();
    let tokens = steps.iter().map(|step| step.input_tokens.saturating_add(step.output_tokens));
    let tokens = tokens.fold(0_u64, u64::saturating_add);
    let usd = steps.iter().try_fold(0.0, |sum, step| Some(sum + step.usd?));
    let unpriced = plan.paths.iter().filter(|path| path.profile.price.is_none());
    Worst {
        held_by: held_by(plan, attempts, tokens, usd),
        unpriced: unpriced.map(|path| path.label.clone()).collect(),
        steps,
        attempts,
        tokens,
        usd,
        smooth_usd: smooth.map(Usd::dollars),
    }
}

fn held_by(plan: &Plan, attempts: u64, tokens: u64, usd: Option<f64>) -> Vec<String> {
    let budget = &plan.budget;
    let mut held = Vec::new();
    if let Some(calls) = budget.calls.filter(|calls| u64::from(*calls) < attempts) {
        held.push(format!("{calls} attempts"));
    }
    if let Some(most) = budget.tokens.filter(|most| *most < tokens) {
        held.push(format!("{most} tokens"));
    }
    if let Some(most) = budget.usd.filter(|most| usd.is_none_or(|usd| most.dollars() < usd)) {
        held.push(most.to_string());
    }
    held
}

/// Rounds: one, and one for each time that a validator sends back.
fn rounds(plan: &Plan, ix: StepIx) -> u64 {
    let judge = plan.step(ix).judged_by.unwrap_or(ix);
    u64::from(revisions(plan, judge)) + 1
}

fn of_step(plan: &Plan, ix: StepIx, size: Size) -> OfStep {
    let step = plan.step(ix);
    let Work::Model { model, max_tokens, policy } = &step.work else {
        return OfStep {
            step: step.name.clone(),
            items: size.items,
            attempts: 0,
            prompt_tokens: 0,
            input_tokens: 0,
            output_tokens: 0,
            usd: Some(0.0),
        };
    };
    let (rounds, items) = (rounds(plan, ix), u64::from(size.items));
    let attempts = items.saturating_mul(rounds).saturating_mul(u64::from(policy.attempts));
    let bound = u64::from(*max_tokens);
    // A later attempt, or a later round, is told of the answer before it.
    let firsts = items;
    let later = size.prompt.saturating_add(bound).saturating_add(TOLD_TOKENS);
    let input = firsts
        .saturating_mul(size.prompt)
        .saturating_add(attempts.saturating_sub(firsts).saturating_mul(later));
    let dearest = reachable(plan, *model).into_iter().flat_map(|model| &plan.model(model).paths);
    let mut dearest = dearest.map(|path| plan.path(*path).profile.price.as_ref()).map(|price| {
        let one = |prompt| Reservation::most(prompt, *max_tokens, price).usd.dollars();
        #[expect(clippy::cast_precision_loss, reason = "counts of attempts are small")]
        let cost =
            one(size.prompt) * firsts as f64 + one(later) * attempts.saturating_sub(firsts) as f64;
        price.map(|_| cost)
    });
    let usd = dearest.try_fold(0.0_f64, |most, cost| Some(most.max(cost?)));
    OfStep {
        step: step.name.clone(),
        items: size.items,
        attempts,
        prompt_tokens: size.prompt,
        input_tokens: input,
        output_tokens: attempts.saturating_mul(bound),
        usd,
    }
}

/// What a step costs that needs one attempt on its first path.
fn first(plan: &Plan, ix: StepIx, size: Size) -> Option<Usd> {
    let Work::Model { model, max_tokens, .. } = &plan.step(ix).work else {
        return Some(Usd::ZERO);
    };
    let path = plan.model(*model).paths.first()?;
    let price = plan.path(*path).profile.price.as_ref()?;
    let one = Reservation::most(size.prompt, *max_tokens, Some(price)).usd;
    Some((0..size.items).fold(Usd::ZERO, |sum, _| sum.plus(one)))
}

/// A model and those its links lead to.
fn reachable(plan: &Plan, model: ModelIx) -> Vec<ModelIx> {
    let mut found = vec![model];
    let mut at = 0;
    while let Some(model) = found.get(at).copied() {
        let links = [plan.model(model).faster, plan.model(model).stronger];
        for link in links.into_iter().flatten() {
            if !found.contains(&link) {
                found.push(link);
            }
        }
        at += 1;
    }
    found
}

/// How long a run takes whose steps need one attempt each: at the median with answers of the usual size, and with
/// answers that fill their bounds.
#[must_use]
pub fn time(
    plan: &Plan,
    configuration: &Configuration,
    items: impl Fn(StepIx) -> u32,
) -> (Duration, Duration) {
    let mut ends = vec![(Duration::ZERO, Duration::ZERO); plan.steps.len()];
    for ix in plan.step_ixs() {
        let step = plan.step(ix);
        let start = waits(plan, ix).map(|before| ends[before.at()]);
        let start = start.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))).unwrap_or_default();
        let own = match &step.work {
            Work::Value => (Duration::ZERO, Duration::ZERO),
            Work::Model { model, max_tokens, .. } => {
                let path = plan.model(*model).paths.first();
                let prior = path.map(|path| Prior::of(plan, *path, configuration));
                let prior = prior.unwrap_or_default();
                let at_once = step.each.map_or(1, |each| each.max_parallel.max(1));
                let waves = items(ix).div_ceil(at_once);
                let usual = prior.time(Prior::usual_size(*max_tokens)) * waves;
                (usual, prior.time(f64::from(*max_tokens)) * waves)
            }
        };
        ends[ix.at()] = (start.0 + own.0, start.1 + own.1);
    }
    ends.into_iter().reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))).unwrap_or_default()
}
