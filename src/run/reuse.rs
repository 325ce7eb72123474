//! What a later run of the same call takes over, and how.

use serde_json::Value;

use super::Run;
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::Status;
use crate::domain::plan::{Need, NeedKind};
use crate::engine::FAN_OUT_MAX;
use crate::workflow::content::Expansion;

impl Run {
    /// Makes an output of an earlier run this run's. `false` where it does not fit what stands here.
    pub(super) fn take_over(&mut self, step: StepIx, output: Value) -> bool {
        let workflow = self.workflow.clone();
        let Some(of) = workflow.steps.get(step.at()) else { return false };
        let (Some(_), Value::Array(items)) = (&of.each, &output) else {
            self.content.accept(step, ItemIx(0), of, output);
            return true;
        };
        // Its list is bound beside its answers: a consumer may look at both.
        if self.content.expand(step, of, FAN_OUT_MAX) != Expansion::Items(items.len()) {
            return false;
        }
        for (ix, item) in (0_u32..).zip(items) {
            self.content.accept(step, ItemIx(ix), of, item.clone());
        }
        self.content.close(step, of, Status::Reused);
        true
    }

    /// Outputs of the steps accepted so far, for a later run of the same call, in the plan's order.
    #[must_use]
    pub fn accepted(&self) -> Vec<(StepIx, Value)> {
        let output = |ix: &StepIx| self.content.output(&self.workflow.steps[ix.at()]).cloned();
        self.whole().into_iter().filter_map(|ix| Some((ix, output(&ix)?))).collect()
    }

    /// The steps that a later run of the same call takes over. Neither an answer that no validator vouches for nor
    /// a fan-out with gaps is among them, nor what was made of those: the later run will have others. A
    /// validator's word goes with the answer it judged.
    pub(super) fn whole(&self) -> Vec<StepIx> {
        let plan = &self.workflow.plan;
        let mut changes = vec![false; plan.steps.len()];
        let mut whole = Vec::new();
        for (ix, view) in plan.step_ixs().zip(self.machine.steps()) {
            let step = plan.step(ix);
            let sees = |need: &Need| need.kind != NeedKind::Order && changes[need.step.at()];
            let gaps =
                view.unverified || view.shrunk || view.items().any(|item| !item.status.accepted());
            let accepted = view.status.accepted();
            changes[ix.at()] = step.needs.iter().any(sees) || (accepted && gaps);
            let judged = step.validates.is_none_or(|judged| whole.contains(&judged));
            if accepted && judged && !changes[ix.at()] {
                whole.push(ix);
            }
        }
        whole
    }
}
