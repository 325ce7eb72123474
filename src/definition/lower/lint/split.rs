//! Steps that could be one: the second reads nothing but the first, and nothing else reads the first.

use crate::definition::lower::draft::Draft;
use crate::definition::lower::lint::Look;
use crate::definition::lower::lint::pace::{Pace, seconds};
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::id::StepIx;
use crate::domain::plan::{NeedKind, StepPlan, Work};

/// Two prompts in a row that could be one.
pub const SPLIT_STEP: Code = Code("P0802");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let plan = look.plan();
    for second in look.asked() {
        let [need] = plan.step(second).needs.as_slice() else { continue };
        let first = need.step;
        if need.kind != NeedKind::Output || !could_be_one(look, first, second) {
            continue;
        }
        let Work::Model { model, .. } = plan.step(second).work else { continue };
        let pace = Pace::of(plan, model);
        let (before, after) = (plan.step(first).name.as_str(), look.draft(second));
        let wait = std::time::Duration::from_millis(pace.first_token_ms);
        let message = format!(
            "step '{}' alone reads '{before}', on the same model: as two steps they wait for a first token twice ({} at the median) and can fail twice",
            after.name(),
            seconds(wait)
        );
        reader.warn(SPLIT_STEP, &after.raw.key.span, message).help(format!(
            "ask once: put the fields of '{before}' before those of '{}' in one `output`; models answer in that order",
            after.name()
        ));
    }
}

fn could_be_one(look: &Look<'_>, first: StepIx, second: StepIx) -> bool {
    let plan = look.plan();
    let (before, after) = (plan.step(first), plan.step(second));
    let models = match (&before.work, &after.work) {
        (Work::Model { model: one, .. }, Work::Model { model: other, .. }) => one == other,
        _ => false,
    };
    let consumers = plan.steps.iter().filter(|step| step.needs.iter().any(|n| n.step == first));
    models
        && consumers.count() == 1
        && !is_told(look, &before.name)
        && [before, after].into_iter().all(is_plain)
        && asks_alike(look.draft(first), look.draft(second))
}

/// Whether nothing but a prompt happens there.
fn is_plain(step: &StepPlan) -> bool {
    step.each.is_none()
        && step.validates.is_none()
        && step.judged_by.is_none()
        && !step.optional
        && !step.conditional
}

/// Whether the result reads a step, or how it ended.
fn is_told(look: &Look<'_>, name: &str) -> bool {
    look.output.iter().any(|mention| {
        let status = mention.name == "run";
        mention.name == name || (status && mention.path.get(1).is_none_or(|step| step == name))
    })
}

/// Whether one request could stand for both.
fn asks_alike(one: &Draft<'_>, other: &Draft<'_>) -> bool {
    let system = [one, other].map(|draft| draft.system.as_ref().map(|text| text.body.source()));
    let free = |draft: &Draft<'_>| {
        draft.raw.check.is_empty() && draft.raw.history.is_empty() && draft.raw.shrink.is_empty()
    };
    let temperature = |draft: &Draft<'_>| draft.settings.temperature.as_ref().map(|t| t.value);
    let effort = |draft: &Draft<'_>| draft.settings.effort.as_ref().map(|e| e.value);
    free(one)
        && free(other)
        && system[0] == system[1]
        && temperature(one) == temperature(other)
        && effort(one) == effort(other)
}
