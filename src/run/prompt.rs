//! What an attempt is sent: the step's prompt as written, and after it what a follow-up is told.

use std::sync::Arc;

use serde_json::Value;

use super::{Answered, Run};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, StepIx};
use crate::domain::message::{Message, Prompt, estimate_tokens};
use crate::domain::model::ModelProfile;
use crate::domain::outcome::{AttemptEnd, Status};
use crate::domain::plan::{Need, NeedKind};
use crate::domain::time::{Timestamp, show};
use crate::engine::{AttemptSpec, AttemptView};
use crate::policy::fallback::Told;
use crate::provider::{Draw, Exchange};
use crate::resume::{PARTIAL_MAX, Snapshot, bounded, feedback_turn, repair_turn};
use crate::template::RenderError;
use crate::workflow::{Answer, PromptContent, WorkContent};

/// Most characters of an invalid answer that a repair turn repeats to its model.
const ANSWER_MAX: usize = 4 * PARTIAL_MAX;

/// Tokens that asking for JSON of the answer's schema may add to a prompt.
#[must_use]
pub fn instruction_tokens(answer: &Answer) -> u64 {
    match answer {
        Answer::Text => 0,
        Answer::Json(schema) => estimate_tokens(&schema.source().to_string()) + 80,
    }
}

impl Run {
    /// The request of an attempt, and the tokens its prompt is expected to be.
    pub(super) fn exchange(
        &mut self,
        spec: &AttemptSpec,
        profile: Arc<ModelProfile>,
        now: Timestamp,
    ) -> Result<(Exchange, u64), RenderError> {
        let workflow = self.workflow.clone();
        let of = &workflow.steps[spec.step.at()];
        let WorkContent::Prompt(content) = &of.work else {
            return Err(RenderError::new("the step has no prompt"));
        };
        // Other steps have been prepared since this one was.
        self.set_feedback(spec.step);
        let mut prompt = self.content.render(spec.step, spec.item, of, content)?;
        prompt.messages.splice(0..0, self.history(content));
        if let Some(turns) = self.unrendered_feedback(spec.step, content) {
            prompt.messages.extend(turns);
        }
        if let Some((from, told)) = spec.after {
            prompt = self.follow(spec, from, told, prompt, now);
        }
        let schema = match &content.answer {
            Answer::Text => None,
            Answer::Json(schema) => Some(schema.source().clone()),
        };
        let tokens = prompt.estimated_tokens() + instruction_tokens(&content.answer);
        let exchange = Exchange {
            prompt,
            schema,
            max_tokens: spec.max_tokens,
            temperature: content.temperature,
            effort: content.effort.clone(),
            profile,
            draw: self.draw(spec, &of.name),
        };
        Ok((exchange, tokens))
    }

    /// The conversations that go before a prompt.
    pub(super) fn history(&self, content: &PromptContent) -> Vec<Message> {
        let of = |step: &StepIx| self.content.exchange_of(*step, &self.workflow.steps[step.at()]);
        content.history.iter().filter_map(of).flatten().collect()
    }

    fn draw(&self, spec: &AttemptSpec, step_name: &str) -> Draw {
        Draw {
            run: self.seed,
            step: spec.step.0,
            item: spec.item.0,
            place: self.content.place(spec.step, spec.item),
            attempt: spec.n.saturating_sub(1),
            path: spec.path.0,
            input: self.input,
            workflow: self.workflow.name.clone(),
            step_name: step_name.to_owned(),
        }
    }

    /// In a later round, the step's prompt sees what its validator said.
    pub(super) fn set_feedback(&mut self, step: StepIx) {
        let review = self.review(step).cloned();
        self.content.give_feedback(review);
    }

    /// What the step's validator said of the round before.
    fn review(&self, step: StepIx) -> Option<&Value> {
        let judge = self.workflow.plan.step(step).judged_by?;
        self.machine.step(step).filter(|step| step.round > 0)?;
        self.content.output(&self.workflow.steps[judge.at()])
    }

    /// In a revision whose prompt does not mention `feedback`: the rejected answer and the review as turns.
    pub(super) fn unrendered_feedback(
        &self,
        step: StepIx,
        content: &PromptContent,
    ) -> Option<[Message; 2]> {
        let review = self.review(step)?;
        let mut texts = content.system.iter().chain([&content.prompt]);
        if texts.any(|text| text.mentions().iter().any(|m| m.name == "feedback")) {
            return None;
        }
        let rejected = self.content.output(&self.workflow.steps[step.at()])?;
        let review = feedback_turn(&review.to_string());
        Some([Message::assistant(rejected.to_string()), Message::user(review)])
    }

    /// The prompt of an attempt that follows another: on the same path as a conversation that goes on, elsewhere
    /// with what another model needs to take over.
    fn follow(
        &self,
        spec: &AttemptSpec,
        from: AttemptId,
        told: Told,
        mut prompt: Prompt,
        now: Timestamp,
    ) -> Prompt {
        let Some(before) = self.machine.attempt(from) else { return prompt };
        match told {
            Told::Nothing => prompt,
            Told::Violations if before.spec.path == spec.path => {
                prompt.messages.extend(self.repair_turns(from, spec.step));
                prompt
            }
            // Launched beside an attempt that may well answer, and has said nothing: there is nothing to take over.
            Told::Resume
                if !before.cut && before.ended.is_none() && self.told_by(&before).is_empty() =>
            {
                prompt
            }
            Told::Violations | Told::Resume => {
                self.snapshot(spec, &before, prompt, now).into_prompt()
            }
        }
    }

    fn repair_turns(&self, from: AttemptId, step: StepIx) -> Vec<Message> {
        let Some(answered) = self.answers.get(&from) else { return Vec::new() };
        let turn = repair_turn(&answered.problems, self.schema_text(step).as_deref());
        if answered.text.trim().is_empty() {
            return vec![Message::user(turn)];
        }
        let said = Message::assistant(bounded(&answered.text, ANSWER_MAX));
        vec![said, Message::user(turn)]
    }

    fn schema_text(&self, step: StepIx) -> Option<String> {
        let WorkContent::Prompt(prompt) = &self.workflow.steps[step.at()].work else { return None };
        match &prompt.answer {
            Answer::Text => None,
            Answer::Json(schema) => Some(schema.source().to_string()),
        }
    }

    /// What an attempt had said that another model may go on from. Not what a filter stopped or the model declined
    /// to say.
    fn told_by(&self, attempt: &AttemptView<'_>) -> &str {
        use FailureClass as F;
        let withheld = |failure: &Failure| matches!(failure.class, F::ContentFiltered | F::Refusal);
        if attempt.failure.is_some_and(withheld) {
            return "";
        }
        self.answers.get(&attempt.spec.attempt).map_or("", |answered| answered.text.trim())
    }

    /// The latest attempt of this work that said something, this one or one before it: a refusal in between is no
    /// reason to forget what came before it. Not beyond a version that was accepted.
    fn last_words(&self, attempt: &AttemptView<'_>) -> Option<AttemptView<'_>> {
        let spec = attempt.spec;
        let earlier = (0..=spec.attempt.0).rev().filter_map(|n| self.machine.attempt(AttemptId(n)));
        let said = |of: &AttemptView<'_>| {
            let problems = |answered: &Answered| !answered.problems.is_empty();
            !self.told_by(of).is_empty() || self.answers.get(&of.spec.attempt).is_some_and(problems)
        };
        earlier
            .filter(|of| (of.spec.step, of.spec.item) == (spec.step, spec.item))
            .take_while(|of| !matches!(of.ended, Some((_, AttemptEnd::Accepted))))
            .find(said)
    }

    /// Where the run stands, for the next model.
    fn snapshot(
        &self,
        spec: &AttemptSpec,
        before: &AttemptView<'_>,
        prompt: Prompt,
        now: Timestamp,
    ) -> Snapshot {
        let plan = &self.workflow.plan;
        let steps = plan.step_ixs().zip(self.machine.steps());
        let alive: Vec<StepIx> =
            steps.filter(|(_, view)| view.status != Status::Skipped).map(|(ix, _)| ix).collect();
        let place = alive.iter().position(|ix| *ix == spec.step).map_or(1, |at| at + 1);
        let interruption = match (before.failure, before.ended) {
            (Some(failure), _) => failure.class.to_string(),
            (None, Some((_, AttemptEnd::Cut)) | None) => {
                let since = now.since(before.sent.unwrap_or(before.launched));
                format!("too slow after {}", show(since))
            }
            (None, Some((_, end))) => end.as_str().to_owned(),
        };
        let last = self.last_words(before);
        let last = last.as_ref().unwrap_or(before);
        let answered = self.answers.get(&last.spec.attempt);
        Snapshot {
            run: self.id.to_string(),
            place,
            of: alive.len(),
            step: plan.step(spec.step).name.clone(),
            role: plan.step(spec.step).role,
            prompt,
            shown: self.shown(spec.step),
            previous_model: plan.path(before.spec.path).profile.id.clone(),
            interruption,
            partial: self.told_by(last).to_owned(),
            problems: answered.map(|answered| answered.problems.clone()).unwrap_or_default(),
            schema: self.schema_text(spec.step),
        }
    }

    /// The steps whose accepted outputs a step's prompt refers to.
    fn shown(&self, step: StepIx) -> Vec<String> {
        let plan = &self.workflow.plan;
        let accepted = |need: &&Need| {
            let seen = need.kind != NeedKind::Order;
            seen && self.machine.step(need.step).is_some_and(|step| step.status.accepted())
        };
        let needs = plan.step(step).needs.iter().filter(accepted);
        needs.map(|need| plan.step(need.step).name.clone()).collect()
    }
}
