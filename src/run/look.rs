//! What can be seen of a run under way, for those who lay it out before it is made.

use serde_json::Value;

use super::Run;
use crate::domain::id::{AttemptId, PathIx, StepIx};
use crate::domain::money::Usd;
use crate::domain::outcome::Status;
use crate::domain::plan::Work;
use crate::engine::{FAN_OUT_MAX, StepView};
use crate::expression::Expression;
use crate::latency::observation::Observation;
use crate::planner::SharedPilot;
use crate::workflow::content::Expansion;
use crate::workflow::{EachContent, StepContent};

impl Run {
    /// How a step stands.
    #[must_use]
    pub fn step(&self, step: StepIx) -> Option<StepView<'_>> {
        self.machine.step(step)
    }

    /// What a step has answered so far, as its consumers see it.
    #[must_use]
    pub fn output_of(&self, step: StepIx) -> Option<&Value> {
        self.content.output(self.workflow.steps.get(step.at())?)
    }

    /// What an attempt that has ended has cost.
    #[must_use]
    pub fn cost(&self, attempt: AttemptId) -> Option<Usd> {
        let attempt = self.machine.attempt(attempt)?;
        attempt.ended.map(|_| attempt.cost)
    }

    /// What an attempt that has ended has shown of its path; `None` before, and where it was never sent.
    #[must_use]
    pub fn observe(&self, attempt: AttemptId) -> Option<Observation> {
        self.machine.observation(attempt, self.id.number())
    }

    /// What was known of times when it began; `None` where nothing was.
    #[must_use]
    pub fn pilot(&self) -> Option<&SharedPilot> {
        self.machine.pilot()
    }

    /// The path of an attempt.
    #[must_use]
    pub fn path_of(&self, attempt: AttemptId) -> Option<PathIx> {
        self.machine.attempt(attempt).map(|attempt| attempt.spec.path)
    }

    /// How many items a step that has not begun will have; `None` where its list waits for other steps. Items that
    /// a condition on what is not there yet may leave out are counted.
    #[must_use]
    pub fn items_of(&self, step: StepIx) -> Option<usize> {
        let of = self.workflow.steps.get(step.at())?;
        let Some(each) = &of.each else { return Some(1) };
        let known = |text: &Expression| text.mentions().iter().all(|m| self.is_known(&m.name));
        if !known(&each.list) {
            return None;
        }
        let when = each.when.clone().filter(known);
        let each = Some(EachContent { when, ..each.clone() });
        let of = StepContent { when: None, each, ..of.clone() };
        match self.content.clone().expand(step, &of, FAN_OUT_MAX) {
            Expansion::Items(count) => Some(count),
            Expansion::Skip | Expansion::Impossible(_) => None,
        }
    }

    /// How many items a fan-out's list had, those that a condition left out among them; `None` where it did not come
    /// to its list, or is no fan-out.
    #[must_use]
    pub fn listed(&self, step: StepIx) -> Option<usize> {
        self.workflow.steps.get(step.at())?.each.as_ref()?;
        let view = self.machine.step(step)?;
        let all = view.items().count() + self.content.left_out(step).len();
        (all > 0 || view.status == Status::Ok).then_some(all)
    }

    /// Whether what a text calls by this name is decided: a step that has ended, or no step.
    #[must_use]
    pub fn is_known(&self, name: &str) -> bool {
        match self.workflow.step_named(name) {
            Some(at) => self.machine.steps().nth(at).is_some_and(|step| step.status.ended()),
            None => name != "run" && name != "feedback",
        }
    }

    /// What the prompts of a step do not show, because no window holds it: `input.documents[12..20]`.
    #[must_use]
    pub fn left_off(&self, step: StepIx) -> Vec<String> {
        let cut = self.content.kept(step).iter().filter(|list| list.kept < list.of);
        cut.map(|list| format!("{}[{}..{}]", list.path.join("."), list.kept, list.of)).collect()
    }

    /// The tokens that a prompt may have at most to fit the largest window among the step's paths, its answer beside it,
    /// those of linked models too where a larger one may be looked for; `None` where one of them is not known.
    #[must_use]
    pub fn window(&self, step: StepIx) -> Option<u64> {
        let plan = &self.workflow.plan;
        let Work::Model { model, .. } = &plan.step(step).work else { return None };
        let models = self.machine.windows_of(step, *model);
        let paths = models.iter().flat_map(|model| &plan.model(*model).paths);
        let rooms = paths.map(|path| self.machine.room(step, *path));
        rooms.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}
