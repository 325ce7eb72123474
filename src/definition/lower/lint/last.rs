//! A fan-out that can do without some items, and waits for the last one all the same.

use crate::definition::lower::lint::Look;
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::time::Share;

/// `min_ok` below 100 %, and no `cutoff_at`.
pub const WAITS_FOR_LAST: Code = Code("P0813");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    for ix in look.asked() {
        let (plan, draft) = (look.plan().step(ix), look.draft(ix));
        let (Some(each), None, Some(written)) = (&plan.each, plan.cutoff_at, &draft.raw.min_ok)
        else {
            continue;
        };
        if each.min_ok == Share::ALL {
            continue;
        }
        let message = format!(
            "step '{}' can do with {} of its items, and has no `cutoff_at`: it waits for its last item",
            plan.name, each.min_ok
        );
        reader
            .warn(WAITS_FOR_LAST, &written.span, message)
            .help("cutoff_at: 60% goes on at that share of the deadline, once `min_ok` is reached");
    }
}
