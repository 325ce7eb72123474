//! Warnings: what works, and will not hold the deadline when it matters.

use crate::definition::lower::draft::Draft;
use crate::definition::page::Reader;
use crate::definition::raw::RawWorkflow;
use crate::domain::finding::Code;
use crate::domain::id::StepIx;
use crate::domain::plan::{Plan, Work};

/// An answer without a bound of its own on the longest chain.
pub const UNBOUNDED_ANSWER: Code = Code("P0411");
/// An essential step with a single path.
pub const SINGLE_PATH: Code = Code("P0509");
/// A budget that cannot be kept, as a price is unknown.
pub const UNKNOWN_PRICE: Code = Code("P0510");

/// Looks for them.
pub fn lint(reader: &mut Reader<'_>, raw: &RawWorkflow, plan: &Plan, drafts: &[Draft<'_>]) {
    let draft = |name: &str| drafts.iter().find(|draft| draft.name() == name);
    for ix in critical_path(plan) {
        let step = plan.step(ix);
        let Some(draft) = draft(&step.name).filter(|d| d.settings.max_tokens.is_none()) else {
            continue;
        };
        reader
            .warn(
                UNBOUNDED_ANSWER,
                &draft.raw.key.span,
                format!("step '{}' is on the longest chain and has no `max_tokens`", step.name),
            )
            .help("1024 is assumed; a bound near the usual length cuts a runaway answer early");
    }
    for step in &plan.steps {
        let (Work::Model { model, .. }, Some(draft)) = (&step.work, draft(&step.name)) else {
            continue;
        };
        let model = plan.model(*model);
        if let ([path], false) = (model.paths.as_slice(), step.optional) {
            let span = draft.model_span.as_ref().unwrap_or(&draft.raw.key.span);
            let message = format!(
                "step '{}' has a single path, {}: when it is slow there is no other",
                step.name,
                plan.path(*path).label
            );
            reader
                .warn(SINGLE_PATH, span, message)
                .help(format!("add a path at another provider to model '{}'", model.name));
        }
    }
    let unpriced = plan.paths.iter().find(|path| path.profile.price.is_none());
    if let (Some(usd), Some(path)) = (&raw.budget.usd, unpriced) {
        let message =
            format!("`budget.usd` cannot be kept on {}: its price is unknown", path.label);
        reader
            .warn(UNKNOWN_PRICE, &usd.span, message)
            .help("add price: {in: …, out: …} to the path in punctual.yaml, or bound `calls`");
    }
}

/// The chain of required steps with the largest sum of bounds, from root to end.
fn critical_path(plan: &Plan) -> Vec<StepIx> {
    let mut best: Vec<(u64, Option<StepIx>)> = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let own = match &step.work {
            Work::Model { max_tokens, .. } if !step.optional => u64::from(*max_tokens),
            _ => 0,
        };
        let before = step.needs.iter().map(|need| (best[need.step.at()].0, need.step)).max();
        best.push((own + before.map_or(0, |b| b.0), before.map(|b| b.1)));
    }
    let end = plan.step_ixs().max_by_key(|ix| best[ix.at()].0);
    let mut chain = Vec::new();
    let mut at = end;
    while let Some(ix) = at {
        if !plan.step(ix).optional {
            chain.push(ix);
        }
        at = best[ix.at()].1;
    }
    chain.reverse();
    chain
}
