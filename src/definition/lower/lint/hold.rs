//! An optional step on the longest chain: what is required waits for it, so long that the rest comes late.

use std::time::Duration;

use crate::definition::lower::lint::Look;
use crate::definition::lower::lint::pace::seconds;
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::id::StepIx;
use crate::domain::plan::{NeedKind, Plan};

/// A wait for an optional step that the deadline has no room for.
pub const HOLDING_OPTIONAL: Code = Code("P0803");

/// The shares that are proposed are multiples of so many percent.
const STEP_PERCENT: u32 = 5;

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let plan = look.plan();
    let end = Plan::end_at(plan.deadline).since_start();
    for held in plan.step_ixs().filter(|ix| plan.step(*ix).optional) {
        let Some((waiting, rest)) = longest_wait(look, held) else { continue };
        let Some(share) = plan.step(held).cutoff_at else { continue };
        let until = share.of(plan.deadline);
        // Without the wait it must fit, or it is the deadline that is wrong.
        if until + rest <= end || look.timeline.start[waiting.at()] + rest > end {
            continue;
        }
        let draft = look.draft(held);
        let span = draft.raw.cutoff_at.as_ref().map_or(&draft.raw.key.span, |share| &share.span);
        let message = format!(
            "step '{}' waits for the optional '{}' until {} at worst, and what follows takes {} at the median: the run ends at {}",
            plan.step(waiting).name,
            draft.name(),
            seconds(until),
            seconds(rest),
            seconds(end)
        );
        let help = match proposal(end.saturating_sub(rest), plan.deadline) {
            0 => "let only the result read it, which waits for nothing".to_owned(),
            percent => format!("cutoff_at: {percent}% on '{}' leaves the room", draft.name()),
        };
        reader.warn(HOLDING_OPTIONAL, span, message).help(help);
    }
}

/// The required step that waits for an optional one with the most to come, and how long that takes.
fn longest_wait(look: &Look<'_>, held: StepIx) -> Option<(StepIx, Duration)> {
    let plan = look.plan();
    let waits = |ix: &StepIx| {
        let step = plan.step(*ix);
        let needs = step.needs.iter().any(|n| n.step == held && n.kind == NeedKind::Guarded);
        needs && !step.optional && !step.conditional
    };
    let rest = |ix: StepIx| (ix, look.timeline.remaining(plan, ix));
    plan.step_ixs().filter(waits).map(rest).max_by_key(|(_, rest)| *rest)
}

/// The largest round share of the deadline that ends by then.
fn proposal(by: Duration, deadline: Duration) -> u32 {
    let fits = |percent: &u32| deadline * *percent / 100 <= by;
    (0..100 / STEP_PERCENT).rev().map(|n| n * STEP_PERCENT).find(fits).unwrap_or(0)
}
