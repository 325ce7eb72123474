//! The end of a run: at its deadline with what is valid, or when every step has ended.

use super::Machine;
use super::decision::Reason;
use super::state::{ItemPhase, Phase};
use crate::domain::failure::FailureClass;
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::{Outcome, Part, RunFailure, Status};
use crate::domain::time::{Timestamp, show};

impl Machine {
    /// The run's time is up. What is valid goes out, the rest is named; without an essential step the run
    /// fails.
    pub(super) fn conclude_at_deadline(&mut self, now: Timestamp) {
        for step in self.plan.step_ixs() {
            if self.outcome.is_some() {
                return;
            }
            self.close_in_time(step, now);
        }
        let open = |s: &super::StepState| !matches!(s.phase, Phase::Ended(_));
        let unfinished = self.plan.step_ixs().find(|s| open(&self.steps[s.at()]));
        let late = unfinished.map(|step| Outcome::Failed(self.late(step, now)));
        let outcome = late.unwrap_or_else(|| self.result());
        self.finish(outcome, now);
    }

    /// Ends what can end without more work: fan-outs with enough items, optional steps, steps with an earlier
    /// version that the policy accepts. Closing an optional validator accepts what it judges, unverified.
    fn close_in_time(&mut self, step: StepIx, now: Timestamp) {
        if matches!(self.steps[step.at()].phase, Phase::Ended(_)) {
            return;
        }
        let reason = Reason::TimeUp { deadline: self.deadline };
        if self.close_with_what_it_has(step, Status::TimedOut, &reason, now) {
            return;
        }
        if self.plan.step(step).optional {
            self.close(step, Status::TimedOut, reason, now);
        }
    }

    fn late(&self, step: StepIx, now: Timestamp) -> RunFailure {
        let name = &self.plan.step(step).name;
        let deadline = show(self.deadline);
        let state = &self.steps[step.at()];
        let doing = match state.phase {
            Phase::Answered => {
                let judge = self.plan.step(step).judged_by.map(|j| &self.plan.step(j).name);
                judge.map_or_else(String::new, |j| format!("; its validator '{j}' had not spoken"))
            }
            Phase::Waiting | Phase::Ended(_) => "; it had not begun".to_owned(),
            Phase::Preparing | Phase::Running => self.in_flight_text(step, now),
        };
        RunFailure {
            class: FailureClass::Deadline,
            step: Some(step),
            message: format!(
                "the deadline of {deadline} came before step '{name}' was done{doing}"
            ),
            retry_after: None,
        }
    }

    fn in_flight_text(&self, step: StepIx, now: Timestamp) -> String {
        let live = self.in_flight.iter().map(|a| &self.attempts[a.at()]);
        let waits: Vec<String> = live
            .filter(|a| a.spec.step == step)
            .take(2)
            .map(|a| {
                let label = &self.plan.path(a.spec.path).label;
                let since = show(now.since(a.sent.unwrap_or(a.launched)));
                match (a.sent, a.first_token) {
                    (None, _) => format!("queued for {label} for {since}"),
                    (Some(_), None) => format!("no token from {label} in {since}"),
                    (Some(_), Some(_)) => format!("{} tokens from {label} in {since}", a.emitted),
                }
            })
            .collect();
        if waits.is_empty() { self.held_text(step) } else { format!(": {}", waits.join(", ")) }
    }

    /// What a step without an attempt in flight was waiting for: a launch that is due is held back by nothing
    /// but the budget then.
    fn held_text(&self, step: StepIx) -> String {
        let state = &self.steps[step.at()];
        let nexts = state.active.iter().filter_map(|item| state.items[item.at()].next.as_ref());
        nexts
            .filter(|next| next.held)
            .map(|next| &self.plan.path(next.choice.path).label)
            .next()
            .map_or_else(String::new, |label| {
                format!("; another attempt, on {label}, waited for the budget")
            })
    }

    /// The outcome of a run whose steps have all ended.
    pub(super) fn result(&self) -> Outcome {
        let mut missing = Vec::new();
        let mut unverified = Vec::new();
        let mut shrunk = Vec::new();
        for (step, state) in self.plan.step_ixs().zip(&self.steps) {
            let Phase::Ended(status) = state.phase else { continue };
            if state.unverified {
                unverified.push(step);
            }
            if state.shrunk && status.accepted() {
                shrunk.push(step);
            }
            let plan = self.plan.step(step);
            if status.accepted() && plan.each.is_some() {
                let bad = state.items.iter().enumerate();
                let bad = bad.filter(|(_, item)| !matches!(item.phase, ItemPhase::Good(_)));
                let ixs = bad.filter_map(|(ix, _)| u32::try_from(ix).ok());
                missing.extend(ixs.map(|ix| Part { step, item: Some(ItemIx(ix)) }));
            } else if !status.accepted() && status != Status::Skipped && plan.validates.is_none() {
                missing.push(Part { step, item: None });
            }
        }
        if missing.is_empty() && unverified.is_empty() && shrunk.is_empty() {
            Outcome::Delivered
        } else {
            Outcome::Degraded { missing, unverified, shrunk }
        }
    }
}
