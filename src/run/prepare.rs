//! What comes before a step's attempts: its condition, its list, its prompts, or its value where it asks no model.

use serde_json::Value;

use super::Run;
use super::shrink::unrendered;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{ItemIx, StepIx};
use crate::engine::{FAN_OUT_MAX, Prepared};
use crate::expression::Expression;
use crate::workflow::content::Expansion;
use crate::workflow::{PromptContent, StepContent, WorkContent};

impl Run {
    pub(super) fn prepare(&mut self, step: StepIx) -> Prepared {
        let workflow = self.workflow.clone();
        let of = &workflow.steps[step.at()];
        self.set_feedback(step);
        match self.content.expand(step, of, FAN_OUT_MAX) {
            Expansion::Skip => Prepared::Skip,
            Expansion::Impossible(message) => Prepared::Impossible(Failure::of_attempt(
                FailureClass::InvalidInput,
                "each",
                message,
            )),
            Expansion::Items(count) => self.prepare_items(step, of, count),
        }
    }

    fn prepare_items(&mut self, step: StepIx, of: &StepContent, count: usize) -> Prepared {
        match &of.work {
            WorkContent::Prompt(prompt) => self.prepare_prompts(step, of, prompt, count),
            WorkContent::Value(fields) => self.compute(step, of, fields, count),
        }
    }

    /// Computes a step without a model. What its `check` refuses cannot be had: it would come out the same again. Of a
    /// step with `each` that is an item, not the whole.
    fn compute(
        &mut self,
        step: StepIx,
        of: &StepContent,
        fields: &[(String, Expression)],
        count: usize,
    ) -> Prepared {
        let items = (0..u32::try_from(count).unwrap_or(u32::MAX)).map(ItemIx);
        let found = items.map(|item| self.compute_item(step, item, of, fields));
        let mut found: Vec<Option<Failure>> = found.collect();
        if of.each.is_some() {
            return Prepared::Computed(found);
        }
        if let Some(failure) = found.pop().flatten() {
            return Prepared::Impossible(failure);
        }
        let judges = self.workflow.plan.step(step).validates.is_some();
        let output = self.content.output(of).filter(|_| judges);
        let pass = output.map(|said| said.get("pass") == Some(&Value::Bool(true)));
        pass.map_or(Prepared::Done, |pass| Prepared::Judged { pass })
    }

    /// Computes an item, and takes it; what is wrong with it where it cannot be had.
    fn compute_item(
        &mut self,
        step: StepIx,
        item: ItemIx,
        of: &StepContent,
        fields: &[(String, Expression)],
    ) -> Option<Failure> {
        let value = self.content.compute(step, item, of, fields);
        let unmet = self.content.unmet(step, item, of, &value);
        if unmet.is_empty() {
            self.content.accept(step, item, of, value);
            return None;
        }
        let place = match of.each {
            Some(_) => format!("item {}: ", self.content.place(step, item)),
            None => String::new(),
        };
        let message = format!("{place}{}", unmet.join("; "));
        Some(Failure::of_attempt(FailureClass::CheckFailed, "check", message))
    }

    fn prepare_prompts(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        count: usize,
    ) -> Prepared {
        let tokens = self.shrink_to_fit(step, of, prompt, count);
        match tokens {
            Ok(tokens) if self.content.kept(step).is_empty() => Prepared::Prompts(tokens),
            Ok(tokens) => Prepared::Shrunk(tokens),
            Err((item, error)) => {
                let item = item.filter(|_| of.each.is_some());
                let place = item.map(|item| self.content.place(step, item));
                Prepared::Impossible(unrendered(place, &error))
            }
        }
    }
}
