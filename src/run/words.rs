//! Words that the machine cannot find, because it sees no content: what a validator said, what a `check` refused.

use serde_json::Value;

use super::Run;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::RunFailure;
use crate::engine::decision::{Decision, Reason, Words};
use crate::policy::fallback::Trouble;

/// Most characters of a validator's answer in a failure's message: enough for a few sentences.
const SAID_MAX: usize = 300;
/// Most characters of an attempt's failure in a decision's reason.
const REFUSED_MAX: usize = 200;

impl Run {
    /// A failure's message for the caller, whose content it may hold: with the validator's own words, where it was one
    /// that said no.
    pub(super) fn told(&self, failure: &RunFailure) -> String {
        let message = failure.message.clone();
        let said = failure.step.filter(|_| failure.class == FailureClass::Rejected);
        match said.and_then(|step| self.objection(step)) {
            Some(said) => format!("{message}; it said {said}"),
            None => message,
        }
    }

    /// What the step's validator said beside `pass`, as compact JSON.
    fn objection(&self, step: StepIx) -> Option<String> {
        let judge = self.workflow.plan.step(step).judged_by?;
        let mut said =
            self.content.output(self.workflow.steps.get(judge.at())?)?.as_object()?.clone();
        said.shift_remove("pass");
        (!said.is_empty()).then(|| clipped(&Value::Object(said).to_string(), SAID_MAX))
    }

    /// Why something was decided; where a `check` was not met, with the condition.
    pub(super) fn because(&self, decision: &Decision) -> String {
        let reason = Words { decision, plan: &self.workflow.plan }.to_string();
        match self.refused(decision) {
            Some(failure) => format!("{reason} ({})", clipped(&failure.message, REFUSED_MAX)),
            None => reason,
        }
    }

    /// The failed check that a decision follows from.
    fn refused(&self, decision: &Decision) -> Option<&Failure> {
        let path = match &decision.reason {
            Reason::Follows {
                from, trouble: Trouble::Failed(FailureClass::CheckFailed), ..
            } => Some(*from),
            Reason::ByPolicy { class: FailureClass::CheckFailed }
            | Reason::Failure { class: FailureClass::CheckFailed } => None,
            _ => return None,
        };
        let (step, item): (StepIx, Option<ItemIx>) = (decision.step?, decision.item);
        let of = self.machine.attempts().filter(|attempt| {
            attempt.spec.step == step
                && item.is_none_or(|item| attempt.spec.item == item)
                && path.is_none_or(|path| attempt.spec.path == path)
                && attempt.ended.is_some_and(|(at, _)| at <= decision.at)
        });
        let failures = of.filter_map(|attempt| Some((attempt.ended?.0, attempt.failure?)));
        let refused = failures.filter(|(_, failure)| failure.class == FailureClass::CheckFailed);
        refused.max_by_key(|(at, _)| *at).map(|(_, failure)| failure)
    }
}

fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
