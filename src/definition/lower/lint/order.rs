//! Chains that could be parallel: a step that waits by `needs` alone, for nothing that it reads.

use crate::definition::lower::lint::Look;
use crate::definition::lower::lint::pace::{Edge, Timeline, seconds};
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::id::StepIx;
use crate::domain::plan::NeedKind;

/// An order that nothing needs.
pub const NEEDLESS_ORDER: Code = Code("P0801");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let plan = look.plan();
    let edges: Vec<Edge> = plan.step_ixs().flat_map(|ix| needless(look, ix)).collect();
    if edges.is_empty() {
        return;
    }
    let free = Timeline::of(look.subject, &look.places, &edges);
    let (with, without) = (look.timeline.total(plan), free.total(plan));
    if without >= with {
        return;
    }
    for (before, ix) in edges {
        if free.start[ix.at()] >= look.timeline.start[ix.at()] {
            continue;
        }
        let (draft, name) = (look.draft(ix), plan.step(before).name.as_str());
        let Some(written) = draft.raw.needs.iter().find(|need| need.value == name) else {
            continue;
        };
        let message = format!(
            "step '{}' waits for '{name}' and reads nothing of it: at the median the longest chain takes {}, and {} without such waits",
            draft.name(),
            seconds(with),
            seconds(without)
        );
        reader.warn(NEEDLESS_ORDER, &written.span, message).help(format!(
            "remove '{name}' from `needs`: what a step reads orders it by itself, and steps without a reference run side by side"
        ));
    }
}

/// The edges to a step that stand in its `needs` and in none of its texts.
fn needless(look: &Look<'_>, ix: StepIx) -> Vec<Edge> {
    let plan = look.plan();
    let draft = look.draft(ix);
    let status = |name: &str| {
        look.mentions(ix).iter().any(|mention| {
            mention.name == "run" && mention.path.get(1).is_none_or(|step| step == name)
        })
    };
    let orders = plan.step(ix).needs.iter().filter(|need| need.kind == NeedKind::Order);
    let names = orders.map(|need| (need.step, plan.step(need.step).name.as_str()));
    let written = names.filter(|(_, name)| draft.raw.needs.iter().any(|need| need.value == *name));
    written.filter(|(_, name)| !status(name)).map(|(before, _)| (before, ix)).collect()
}
