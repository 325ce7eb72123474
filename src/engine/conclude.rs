//! The end of a run: at its deadline with what is valid, or when every step has ended.
//!
//! Steps without a model take no time: one whose needs are met when time is up is still computed, so that what is
//! valid can go out in the shape the workflow promises. The machine asks for it with `Prepare` and takes the answer in
//! the same instant; whoever comes later, or wakes it again, has let time pass, and the run ends with what there is.

use super::decision::Reason;
use super::state::{ItemPhase, Phase};
use super::{Event, Machine};
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, ItemIx, StepIx};
use crate::domain::outcome::{Outcome, Part, RunFailure, Status};
use crate::domain::plan::Work;
use crate::domain::time::{Timestamp, show};

impl Machine {
    /// The run's time is up. Nothing counts any more but the `Prepared` of steps that take no time, and that an attempt
    /// has left or said something: that is paid for, whenever it is heard of.
    pub(super) fn handle_last(&mut self, event: Event, now: Timestamp) {
        let first = self.concluding.is_none();
        let since = *self.concluding.get_or_insert(now);
        let patient = self.started && (first || (now == since && event != Event::Woke));
        self.note_sign(&event, now);
        if let Event::Prepared { step, round, result } = event
            && patient
            && self.computes(step)
        {
            self.prepared(step, round, result, now);
        }
        self.conclude_at_deadline(patient, now);
    }

    /// The run's time is up, and an attempt has left or said something that is paid for. Whether there may be more of that
    /// kind in the same moment: as long as something in flight was not heard to have left, the next message or the timer
    /// ends the run. Each attempt is waited for twice at most.
    pub(super) fn hear_last(&mut self, event: &Event, now: Timestamp) -> bool {
        if self.concluding.is_some() {
            return false;
        }
        if !self.note_sign(event, now) {
            return false;
        }
        self.heard_last += 1;
        let unheard = |a: &AttemptId| self.attempts[a.at()].sent.is_none();
        self.heard_last <= 2 * self.in_flight.len() && self.in_flight.iter().any(unheard)
    }

    /// Notes that an attempt has left or said something; whether that is what happened.
    fn note_sign(&mut self, event: &Event, now: Timestamp) -> bool {
        match *event {
            Event::Sent { attempt } => self.sent(attempt, now),
            Event::FirstToken { attempt } => self.emitted(attempt, 1, now),
            Event::Emitted { attempt, tokens } => self.emitted(attempt, tokens, now),
            Event::Started { .. }
            | Event::Prepared { .. }
            | Event::Ended { .. }
            | Event::Failed { .. }
            | Event::Shrunk { .. }
            | Event::TurnedAway { .. }
            | Event::Withdrawn
            | Event::Woke => return false,
        }
        true
    }

    /// Whether it is a step without a model.
    pub(super) fn computes(&self, step: StepIx) -> bool {
        self.plan.steps.get(step.at()).is_some_and(|plan| plan.work == Work::Value)
    }

    /// What is valid goes out, the rest is named; without an essential step the run fails. `patient`: steps
    /// without a model are computed first. Each pass ends a step or returns, and a step that was sent back is
    /// computed again as often as its validator may send it back.
    fn conclude_at_deadline(&mut self, patient: bool, now: Timestamp) {
        loop {
            if self.outcome.is_some() || (patient && self.compute_ready(now)) {
                return;
            }
            if !self.close_one(now) {
                break;
            }
        }
        let open = |s: &super::StepState| !matches!(s.phase, Phase::Ended(_));
        let unfinished = self.plan.step_ixs().find(|s| open(&self.steps[s.at()]));
        let late = unfinished.map(|step| Outcome::Failed(self.late(step, now)));
        let outcome = late.unwrap_or_else(|| self.result());
        self.finish(outcome, now);
    }

    /// Asks for every step without a model that waits for nothing more; whether one is being computed.
    fn compute_ready(&mut self, now: Timestamp) -> bool {
        let mut computing = false;
        for step in self.plan.step_ixs() {
            if !self.computes(step) {
                continue;
            }
            if self.can_start(step) {
                self.prepare(step, now);
            }
            computing |= self.steps[step.at()].phase == Phase::Preparing;
        }
        computing
    }

    /// Ends one step that can end without more work. Last of all those that may yet be computed, or be judged by one
    /// that is: what ends before them may be all they wait for.
    fn close_one(&mut self, now: Timestamp) -> bool {
        let spared = |step: &StepIx| {
            let judge = self.plan.step(*step).judged_by;
            self.computes(*step) || judge.is_some_and(|judge| self.computes(judge))
        };
        let (last, first): (Vec<StepIx>, Vec<StepIx>) = self.plan.step_ixs().partition(spared);
        first.into_iter().chain(last).any(|step| self.close_in_time(step, now))
    }

    /// Ends what can end without more work: fan-outs with enough items, optional steps, steps with an earlier
    /// version that the policy accepts. Closing an optional validator accepts what it judges, unverified.
    fn close_in_time(&mut self, step: StepIx, now: Timestamp) -> bool {
        if matches!(self.steps[step.at()].phase, Phase::Ended(_)) {
            return false;
        }
        let reason = Reason::TimeUp { deadline: self.deadline };
        if self.close_with_what_it_has(step, Status::TimedOut, &reason, now) {
            return true;
        }
        let optional = self.plan.step(step).optional;
        if optional {
            self.close(step, Status::TimedOut, reason, now);
        }
        optional
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
