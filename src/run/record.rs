//! What models have said in a run, in the form a case holds it: from it the same run can be had again.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Run;
use crate::domain::failure::FailureClass;
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::AttemptEnd;
use crate::engine::AttemptView;
use crate::workflow::case::{Said, StepAnswers, Told};
use crate::workflow::{Answer, WorkContent};

impl Run {
    /// What the caller passed, as the run sees it.
    #[must_use]
    pub fn input(&self) -> &Value {
        self.content.input()
    }

    /// What the models of each step have said: of every item the complete answers, invalid ones included where they
    /// were repaired; where there is none, how its last attempt fared. Left out is what the simulator made up against the step's
    /// `check`. Empty once the run has been forgotten.
    #[must_use]
    pub fn recorded(&self) -> Vec<StepAnswers> {
        let mut of_item: BTreeMap<(StepIx, ItemIx), Vec<AttemptView<'_>>> = BTreeMap::new();
        for attempt in self.machine.attempts() {
            of_item.entry((attempt.spec.step, attempt.spec.item)).or_default().push(attempt);
        }
        let mut recorded = Vec::new();
        for ix in self.workflow.plan.step_ixs() {
            let mut items: Vec<Vec<Said>> = Vec::new();
            for ((_, item), attempts) in of_item.range((ix, ItemIx(0))..=(ix, ItemIx(u32::MAX))) {
                let place = self.content.place(ix, *item) as usize;
                if items.len() <= place {
                    items.resize(place + 1, Vec::new());
                }
                items[place] = self.said(ix, attempts);
            }
            // One entry an item: those that no attempt was made for have their places too.
            let listed = self.listed(ix).filter(|_| !items.is_empty()).unwrap_or(0);
            items.resize(items.len().max(listed), Vec::new());
            if items.iter().any(|item| !item.is_empty()) {
                recorded
                    .push(StepAnswers { step: self.workflow.steps[ix.at()].name.clone(), items });
            }
        }
        recorded
    }

    fn said(&self, step: StepIx, attempts: &[AttemptView<'_>]) -> Vec<Said> {
        let plain = match &self.workflow.steps[step.at()].work {
            WorkContent::Prompt(prompt) => matches!(prompt.answer, Answer::Text),
            WorkContent::Value(_) => false,
        };
        // A case is held to its step's `check`: what would not pass is left for the simulator to make up again.
        let doubtful = |attempt: &AttemptView<'_>| {
            self.answers.get(&attempt.spec.attempt).is_some_and(|answered| answered.doubtful)
        };
        if attempts.iter().any(doubtful) {
            return Vec::new();
        }
        let complete = attempts.iter().filter_map(|attempt| {
            let answered = self.answers.get(&attempt.spec.attempt)?;
            let accepted = attempt.ended.is_some_and(|(_, end)| end == AttemptEnd::Accepted);
            let text = match &answered.value {
                Some(value) if accepted && !plain => value.to_string(),
                Some(_) if accepted => answered.text.clone(),
                None if !answered.problems.is_empty() => answered.text.clone(),
                // What had arrived of a broken answer, and what lost a race.
                Some(_) | None => return None,
            };
            Some(Said { text: Some(text), told: None })
        });
        let said: Vec<Said> = complete.collect();
        match attempts.last() {
            Some(last) if said.is_empty() => vec![Said { text: None, told: Some(fared(last)) }],
            _ => said,
        }
    }
}

/// How an attempt without an answer fared.
fn fared(attempt: &AttemptView<'_>) -> Told {
    match (attempt.failure.map(|failure| failure.class), attempt.ended) {
        (Some(FailureClass::RateLimited), _) => Told::RateLimited,
        (_, Some((_, AttemptEnd::Failed))) => Told::Error,
        _ => Told::Hang,
    }
}
