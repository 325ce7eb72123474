//! A deadline that even the medians miss.

use crate::definition::lower::lint::Look;
use crate::definition::lower::lint::pace::{Pace, seconds};
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::plan::{Plan, Work};

/// A longest chain that is longer than the deadline.
pub const SHORT_DEADLINE: Code = Code("P0804");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let plan = look.plan();
    let end = Plan::end_at(plan.deadline).since_start();
    let total = look.timeline.total(plan);
    if total <= end {
        return;
    }
    let chain = look.timeline.chain(plan);
    let own = |ix: &crate::domain::id::StepIx| look.timeline.own[ix.at()];
    let Some(longest) = chain.iter().copied().max_by_key(own) else { return };
    let Work::Model { model, .. } = plan.step(longest).work else { return };
    let names: Vec<&str> = chain.iter().map(|ix| plan.step(*ix).name.as_str()).collect();
    let raw = look.subject.raw;
    let span = raw.deadline.as_ref().map_or(&raw.steps_span, |deadline| &deadline.span);
    let message = format!(
        "{} {} at the median, and the run ends at {}",
        chain_words(&names),
        seconds(total),
        seconds(end)
    );
    let (step, waves) = (plan.step(longest), look.timeline.waves[longest.at()]);
    let instead = match &step.each {
        Some(each) if waves > 1 => format!(
            "the `max_parallel` of '{}', whose items go {} at a time, in {waves} rounds: it",
            step.name, each.max_parallel
        ),
        Some(_) | None => format!("the `max_tokens` of '{}', which", step.name),
    };
    let verb = if waves > 1 { "or raise" } else { "or lower" };
    reader.warn(SHORT_DEADLINE, span, message).help(format!(
        "raise `deadline`, {verb} {instead} takes {} ({})",
        seconds(own(&longest)),
        Pace::of(plan, model).words()
    ));
}

/// The chain as the subject of a sentence; a long one by its ends.
fn chain_words(names: &[&str]) -> String {
    match names {
        [] => "nothing takes".to_owned(),
        [one] => format!("step '{one}' takes"),
        [first, .., last] if names.len() > 5 => {
            format!("the {} steps from '{first}' to '{last}' take", names.len())
        }
        _ => format!("the chain {} takes", names.join(" → ")),
    }
}
