//! Validators whose verdict comes too late to mend anything.

use crate::definition::lower::lint::Look;
use crate::definition::page::Reader;
use crate::domain::finding::Code;
use crate::domain::plan::{OnRejected, Work};

/// A verdict that nothing is done with.
pub const IDLE_VERDICT: Code = Code("P0805");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let plan = look.plan();
    for ix in look.asked() {
        let (step, draft) = (plan.step(ix), look.draft(ix));
        let (Some(judged), Some(revise)) = (step.validates, &draft.raw.revise) else { continue };
        if revise.value > 0 {
            continue;
        }
        let accepts = [&step.work, &plan.step(judged).work].into_iter().any(accepts);
        let (name, judged) = (step.name.as_str(), plan.step(judged).name.as_str());
        let message = match accepts {
            false => format!(
                "step '{name}' cannot send '{judged}' back: with `revise: 0` its first `pass: false` fails the run"
            ),
            true if is_read(look, name) => continue,
            true => format!(
                "nothing reads the verdict of '{name}': with `revise: 0` and `rejected: accept` it mends nothing and takes its time"
            ),
        };
        reader.warn(IDLE_VERDICT, &revise.span, message).help(format!(
            "revise: 1 lets '{judged}' answer again with these objections as `feedback`"
        ));
    }
}

/// Either of the two policies may say so.
fn accepts(work: &Work) -> bool {
    matches!(work, Work::Model { policy, .. } if policy.on.rejected == OnRejected::Accept)
}

/// Whether a step or the result reads a verdict, or how the validator ended.
fn is_read(look: &Look<'_>, name: &str) -> bool {
    let everything = look.mentions.iter().flatten().chain(&look.output);
    everything.into_iter().any(|mention| {
        let status = mention.name == "run";
        mention.name == name || (status && mention.path.get(1).is_none_or(|step| step == name))
    })
}
