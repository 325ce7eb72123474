//! How steps end: enough items, a validator's word, a cutoff, a failure.

use super::decision::{Kind, Reason};
use super::state::{ItemPhase, Phase};
use super::{Action, Machine};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::StepIx;
use crate::domain::outcome::{AttemptEnd, Outcome, RunFailure, Status};
use crate::domain::plan::{OnRejected, Work};
use crate::domain::time::Timestamp;

impl Machine {
    /// Items that must be good for the step to be accepted, of how many.
    fn needed(&self, step: StepIx) -> (u32, u32) {
        let of = u32::try_from(self.steps[step.at()].items.len()).unwrap_or(u32::MAX);
        let each = self.plan.step(step).each;
        (each.map_or(of, |each| each.min_ok.of_count(of)), of)
    }

    /// An item of a running step was decided, or the step has just got its items.
    pub(super) fn step_moved(&mut self, step: StepIx, now: Timestamp) {
        let (needed, of) = self.needed(step);
        let state = &self.steps[step.at()];
        if state.phase != Phase::Running {
            return;
        }
        let (good, bad) = (state.good, state.bad);
        if bad > of - needed {
            let failure = self.last_failure(step);
            if self.plan.step(step).each.is_some() {
                let reason = Reason::TooFewItems { bad, of, needed };
                self.decide(now, Some(step), None, Kind::Fail, reason);
            }
            self.fail_step(step, &failure, now);
        } else if good + bad == of {
            self.answered(step, now);
        } else if state.past_cutoff {
            self.close_with_enough(step, now);
        }
    }

    /// Closes a fan-out whose `cutoff_at` has passed, if it has as many items as it needs.
    pub(super) fn close_with_enough(&mut self, step: StepIx, now: Timestamp) -> bool {
        let running = self.steps[step.at()].phase == Phase::Running;
        if !running || self.plan.step(step).each.is_none() {
            return false;
        }
        let (needed, of) = self.needed(step);
        let good = self.steps[step.at()].good;
        if good < needed {
            return false;
        }
        self.decide(now, Some(step), None, Kind::Close, Reason::EnoughItems { good, of, needed });
        self.cancel_step(step, AttemptEnd::Cancelled, now);
        self.answered(step, now);
        true
    }

    pub(super) fn last_failure(&self, step: StepIx) -> Failure {
        let bad = self.steps[step.at()].items.iter().filter(|i| i.phase == ItemPhase::Bad);
        let last = bad.max_by_key(|i| i.ended).and_then(|i| i.failure.clone());
        last.unwrap_or_else(|| {
            Failure::of_attempt(FailureClass::ServerError, "no attempt", "no attempt could be made")
        })
    }

    /// All that the step will produce is there: its validator judges it, or it is accepted.
    pub(super) fn answered(&mut self, step: StepIx, now: Timestamp) {
        let judge = self.plan.step(step).judged_by;
        match judge.map(|judge| self.steps[judge.at()].phase) {
            None => self.close(step, Status::Ok, Reason::Complete, now),
            Some(Phase::Ended(status)) => self.accept_unjudged(step, status, now),
            Some(Phase::Waiting | Phase::Preparing | Phase::Running | Phase::Answered) => {
                self.steps[step.at()].phase = Phase::Answered;
            }
        }
    }

    /// The step's validator will not speak.
    fn accept_unjudged(&mut self, step: StepIx, judge: Status, now: Timestamp) {
        if judge == Status::Skipped {
            self.close(step, Status::Ok, Reason::Complete, now);
        } else {
            self.steps[step.at()].unverified = true;
            self.close(step, Status::Ok, Reason::Unverified { why: judge }, now);
        }
    }

    /// Ends a step. Its attempts in flight are closed; what waits for its end is told.
    pub(super) fn close(&mut self, step: StepIx, status: Status, reason: Reason, now: Timestamp) {
        self.cancel_step(step, AttemptEnd::Cancelled, now);
        let state = &mut self.steps[step.at()];
        state.phase = Phase::Ended(status);
        state.ended = Some(now);
        let kind = match status {
            Status::Skipped => Kind::Skip,
            Status::Failed => Kind::Fail,
            Status::Ok
            | Status::Reused
            | Status::Waiting
            | Status::Running
            | Status::TimedOut
            | Status::Cut
            | Status::Cancelled => Kind::Close,
        };
        self.decide(now, Some(step), None, kind, reason);
        self.out.push(Action::Close { step, status });
        self.note_closed(step, status);
        if let Some(judged) = self.plan.step(step).validates {
            self.judge_ended(step, judged, status, now);
        }
        let judge = self.plan.step(step).judged_by.filter(|_| !status.accepted());
        if let Some(judge) = judge.filter(|j| !self.steps[j.at()].status().ended()) {
            self.close(judge, Status::Skipped, Reason::NothingToJudge, now);
        }
    }

    fn judge_ended(&mut self, judge: StepIx, judged: StepIx, status: Status, now: Timestamp) {
        if self.steps[judged.at()].phase != Phase::Answered {
            return;
        }
        match (status, self.steps[judge.at()].pass) {
            (Status::Ok, Some(true)) => self.close(judged, Status::Ok, Reason::Passed, now),
            // A validator that says neither yes nor no has not passed anything.
            (Status::Ok, Some(false) | None) => self.rejected(judge, judged, now),
            (other, _) => self.accept_unjudged(judged, other, now),
        }
    }

    fn rejected(&mut self, judge: StepIx, judged: StepIx, now: Timestamp) {
        let revise = self.plan.step(judge).revise;
        let unused = revise.saturating_sub(self.steps[judged.at()].revisions);
        let too_late = now >= self.end_at && !self.computes(judged);
        let left = if too_late { 0 } else { unused };
        let accepts = self.accepts_rejected(judge) || self.accepts_rejected(judged);
        if left == 0 {
            let reason = Reason::Rejected { revisions_left: 0 };
            self.decide(now, Some(judged), None, Kind::Fail, reason);
            if accepts {
                self.steps[judged.at()].unverified = true;
                self.close(judged, Status::Ok, Reason::RejectedAccepted, now);
            } else {
                let name = &self.plan.step(judge).name;
                let none = if unused > 0 { "time" } else { "revision" };
                let text = format!("validator '{name}' rejected it, and no {none} is left");
                let failure = Failure::of_attempt(FailureClass::Rejected, "pass: false", text);
                self.fail_step(judged, &failure, now);
            }
            return;
        }
        let reason = Reason::Rejected { revisions_left: left };
        self.decide(now, Some(judged), None, Kind::Revise, reason);
        let stronger = match &self.plan.step(judged).work {
            Work::Model { model, .. } => self.plan.model(*model).stronger.or(Some(*model)),
            Work::Value => None,
        };
        let state = &mut self.steps[judged.at()];
        if let Some(ItemPhase::Good(Some(attempt))) = state.items.first().map(|i| i.phase) {
            state.rejected = accepts.then_some(attempt);
        }
        state.revisions += 1;
        state.round += 1;
        state.model = stronger;
        self.prepare(judged, now);
        let judge = &mut self.steps[judge.at()];
        judge.phase = Phase::Waiting;
        judge.ended = None;
        judge.round += 1;
        judge.pass = None;
    }

    fn accepts_rejected(&self, step: StepIx) -> bool {
        self.policy(step).is_some_and(|(policy, _)| policy.on.rejected == OnRejected::Accept)
    }

    /// The step cannot be had: an optional one is missing, any other ends the run.
    pub(super) fn fail_step(&mut self, step: StepIx, failure: &Failure, now: Timestamp) {
        if self.restore_rejected(step, now) {
            return;
        }
        let class = failure.class;
        self.steps[step.at()].failure = Some(failure.clone());
        if self.plan.step(step).optional {
            self.close(step, Status::Failed, Reason::Failure { class }, now);
            return;
        }
        let made = self.attempts.iter().filter(|a| a.spec.step == step && !a.turned_away);
        let attempts = if class == FailureClass::Rejected { 0 } else { made.count() };
        let message = self.step_message(step, failure, attempts);
        self.steps[step.at()].phase = Phase::Ended(Status::Failed);
        self.steps[step.at()].ended = Some(now);
        self.decide(now, Some(step), None, Kind::Fail, Reason::Failure { class });
        let (retry_after, step) = (failure.retry_after, Some(step));
        self.finish(Outcome::Failed(RunFailure { class, step, message, retry_after }), now);
    }

    /// A revision came to nothing: the version before it goes out where the policy prefers that to failing.
    pub(super) fn restore_rejected(&mut self, step: StepIx, now: Timestamp) -> bool {
        let Some(attempt) = self.steps[step.at()].rejected.take() else { return false };
        self.cancel_step(step, AttemptEnd::Cancelled, now);
        let launched = self.attempts[attempt.at()].launched;
        let state = &mut self.steps[step.at()];
        state.unverified = true;
        state.reset(vec![0]);
        state.good = 1;
        state.items[0].phase = ItemPhase::Good(Some(attempt));
        (state.items[0].started, state.items[0].ended) = (Some(launched), Some(now));
        self.out.push(Action::Accept { attempt });
        self.close(step, Status::Ok, Reason::RejectedAccepted, now);
        // What the validator said of this version stands, for whoever wants to read it.
        let judge = self.plan.step(step).judged_by;
        if let Some(judge) = judge.filter(|j| !self.steps[j.at()].status().ended()) {
            self.close(judge, Status::Ok, Reason::RejectedAccepted, now);
        }
        true
    }

    /// Ends a step that has something to show though more was wanted: enough items, an answer whose optional
    /// validator has not spoken (which ends as `judge`), or an earlier version that the policy accepts.
    pub(super) fn close_with_what_it_has(
        &mut self,
        step: StepIx,
        judge: Status,
        reason: &Reason,
        now: Timestamp,
    ) -> bool {
        let judge_ix = self.plan.step(step).judged_by.filter(|j| self.plan.step(*j).optional);
        if let Some(ix) = judge_ix.filter(|_| self.steps[step.at()].phase == Phase::Answered) {
            self.close(ix, judge, reason.clone(), now);
            return true;
        }
        self.close_with_enough(step, now) || self.restore_rejected(step, now)
    }

    pub(super) fn cancel_step(&mut self, step: StepIx, end: AttemptEnd, now: Timestamp) {
        for attempt in self.in_flight.clone() {
            if self.attempts[attempt.at()].spec.step == step {
                self.cancel(attempt, end, now);
            }
        }
        for item in &mut self.steps[step.at()].items {
            item.next = None;
        }
    }
}
