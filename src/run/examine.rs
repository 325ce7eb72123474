//! From a reply's text to a verdict: extraction, schema, checks, and a validator's word. Nothing is repaired into
//! data the model did not say.

use serde_json::Value;

use super::{Answered, Run, instruction_tokens};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, ItemIx, StepIx};
use crate::domain::message::{Usage, estimate_tokens};
use crate::engine::{Event, Verdict};
use crate::provider::Reply;
use crate::schema::{Schema, extract};
use crate::workflow::{Answer, WorkContent, text_value};

/// Most violations a repair turn and a failure message name.
const PROBLEMS_MAX: usize = 8;
/// Tokens of a repair turn, or of the resume message another model is sent, around the answer, its problems and the
/// schema.
const REPAIR_FRAME: u64 = 150;

/// Why a reply cannot be accepted.
struct Invalid {
    class: FailureClass,
    problems: Vec<String>,
}

impl Run {
    /// Examines a complete reply: the event it amounts to.
    pub(super) fn examine(&mut self, step: StepIx, attempt: AttemptId, reply: Reply) -> Event {
        let Reply { text, usage, invented, remaining: _ } = reply;
        let workflow = self.workflow.clone();
        let of = &workflow.steps[step.at()];
        let answer = match &of.work {
            WorkContent::Prompt(prompt) => &prompt.answer,
            WorkContent::Value(_) => &Answer::Text,
        };
        let item = self.machine.attempt(attempt).map_or(ItemIx(0), |a| a.spec.item);
        let mut doubtful = false;
        let checked = value_of(answer, &text).and_then(|value| {
            let problems = self.content.unmet(step, item, of, &value);
            // What the simulator makes up by shape cannot be expected to be right.
            if invented && !of.check.is_empty() {
                self.unchecked.insert(step);
                doubtful = !problems.is_empty();
                return Ok(value);
            }
            if problems.is_empty() {
                return Ok(value);
            }
            let problems = problems.into_iter().take(PROBLEMS_MAX).collect();
            Err(Invalid { class: FailureClass::CheckFailed, problems })
        });
        match checked {
            Ok(value) => {
                let judges = self.workflow.plan.step(step).validates.is_some();
                let pass = judges.then(|| value.get("pass") == Some(&Value::Bool(true)));
                let answered =
                    Answered { text, value: Some(value), problems: Vec::new(), doubtful };
                self.answers.insert(attempt, answered);
                Event::Ended { attempt, usage, verdict: Verdict::Valid { pass } }
            }
            Err(Invalid { class, problems }) => {
                let asked = instruction_tokens(answer);
                let told: u64 = problems.iter().map(|p| estimate_tokens(p)).sum();
                let repair_tokens = estimate_tokens(&text) + told + asked + REPAIR_FRAME;
                let message = problems.join("; ");
                let failure = Failure::of_attempt(class, "validation", message);
                self.answers.insert(attempt, Answered { text, value: None, problems, doubtful });
                Event::Ended {
                    attempt,
                    usage,
                    verdict: Verdict::Invalid { failure, repair_tokens },
                }
            }
        }
    }

    /// What a broken exchange used, where its provider did not say: nothing where it was refused, else what
    /// had arrived.
    pub(super) fn sent_usage(failure: &Failure, partial: &str) -> Usage {
        use FailureClass as F;
        let answered = match failure.class {
            F::StreamInterrupted | F::TruncatedOutput | F::ContentFiltered | F::Refusal => true,
            F::RateLimited
            | F::Overloaded
            | F::ContextOverflow
            | F::QuotaExhausted
            | F::Auth
            | F::Permission
            | F::ModelNotFound
            | F::BadRequest
            | F::UnsupportedParameter
            | F::ServerError
            | F::Timeout
            | F::EmptyOutput
            | F::UnparseableOutput
            | F::SchemaViolation
            | F::CheckFailed
            | F::Rejected
            | F::Deadline
            | F::Budget
            | F::InvalidInput
            | F::Cancelled => !partial.is_empty(),
        };
        let output = if answered { estimate_tokens(partial) } else { 0 };
        Usage { input: 0, cached_input: 0, output, estimated: answered, cost: None }
    }
}

fn value_of(answer: &Answer, text: &str) -> Result<Value, Invalid> {
    if text.trim().is_empty() {
        let problems = vec!["the answer is empty".to_owned()];
        return Err(Invalid { class: FailureClass::EmptyOutput, problems });
    }
    let schema = match answer {
        Answer::Text => return Ok(text_value(text)),
        Answer::Json(schema) => schema,
    };
    let shape = Schema::to_shape(schema.source());
    let fits = |value: &Value| schema.accepts(&Schema::drop_absent(&shape, value.clone()));
    let value = extract(text, fits)
        .map_err(|error| Invalid { class: error.class, problems: vec![error.message] })?;
    let value = Schema::drop_absent(&shape, value);
    let violations = schema.violations(&value);
    if violations.is_empty() {
        return Ok(value);
    }
    let shown = violations.into_iter().take(PROBLEMS_MAX).map(|violation| {
        let place = if violation.pointer.is_empty() { "/" } else { &violation.pointer };
        format!("{place}: {}", violation.message)
    });
    Err(Invalid { class: FailureClass::SchemaViolation, problems: shown.collect() })
}
