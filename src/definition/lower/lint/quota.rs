//! Essential steps that a single quota stands behind: one path, or several at one provider.

use crate::definition::lower::lint::Look;
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::id::ModelIx;
use crate::domain::plan::Work;

/// An essential step with a single path, or a single provider.
pub const SINGLE_QUOTA: Code = Code("P0509");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let plan = look.plan();
    let mut told: Vec<ModelIx> = Vec::new();
    for ix in look.asked() {
        let (step, draft) = (plan.step(ix), look.draft(ix));
        let Work::Model { model: at, .. } = step.work else { continue };
        if step.optional {
            continue;
        }
        let span = draft.model_span.as_ref().unwrap_or(&draft.raw.key.span);
        let model = plan.model(at);
        if let [path] = model.paths.as_slice() {
            let message = format!(
                "step '{}' has a single path, {}: when it is slow there is no other",
                step.name,
                plan.path(*path).label
            );
            reader
                .warn(SINGLE_QUOTA, span, message)
                .help(format!("add a path at another provider to model '{}'", model.name));
            continue;
        }
        let mut providers: Vec<&str> =
            model.paths.iter().map(|path| plan.provider_of(*path).name.as_str()).collect();
        providers.dedup();
        let [provider] = providers.as_slice() else { continue };
        // Many steps share a model, and one line of punctual.yaml mends them all.
        if told.contains(&at) {
            continue;
        }
        told.push(at);
        let message = format!(
            "step '{}': all {} paths of model '{}' are at '{provider}', and one rate limit there stops them together",
            step.name,
            model.paths.len(),
            model.name
        );
        reader
            .warn(SINGLE_QUOTA, span, message)
            .help(format!("add a path at another provider to model '{}'", model.name));
    }
}
