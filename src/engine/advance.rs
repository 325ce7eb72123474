//! What follows from the state and the time alone: steps that can start, cutoffs that have passed, launches
//! that are due.

use super::decision::{Kind, Reason};
use super::next::Next;
use super::state::{ItemPhase, Phase};
use super::{Action, Machine, Prepared};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::{AttemptEnd, Outcome, Status};
use crate::domain::plan::{NeedKind, Plan, StepPlan, Work};
use crate::domain::time::Timestamp;

/// Whether a waiting step can start.
enum Readiness {
    NotYet,
    Ready,
    NothingToJudge,
    /// The output of this step is needed, and will never be there.
    Missing(StepIx),
}

impl Machine {
    pub(super) fn begin(&mut self, reused: &[StepIx], now: Timestamp) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        for step in reused {
            let waits = self.steps.get(step.at()).is_some_and(|s| s.phase == Phase::Waiting);
            // A validator's word on an answer that is not taken over says nothing about the next one.
            let judges_new = |plan: &StepPlan| plan.validates.is_some_and(|j| !reused.contains(&j));
            if waits && !judges_new(self.plan.step(*step)) {
                self.close(*step, Status::Reused, Reason::Reused, now);
            }
        }
        self.shed_hopeless(now);
        self.shed_short(now);
    }

    /// Repeats until nothing more follows. Each pass moves at least one step or item forward in its life, so
    /// the passes are bounded by what the plan and the policies allow; the bound here only guards the proof.
    pub(super) fn advance(&mut self, now: Timestamp) {
        let most = 16 * (self.steps.len() + 1) + 4 * self.items_total();
        for _ in 0..most {
            if self.outcome.is_some() || !self.started {
                return;
            }
            let moved = self.close_at_cutoffs(now)
                | self.heed_last_calls(now)
                | self.cut_late(now)
                | self.start_ready(now)
                | self.launch_pending(now)
                | self.hedge_early(now)
                | self.plan_ahead(now)
                | self.launch_due(now);
            if !moved {
                break;
            }
        }
        let ended = |phase: &Phase| matches!(phase, Phase::Ended(_));
        if self.outcome.is_none() && self.steps.iter().all(|s| ended(&s.phase)) {
            let outcome = self.result();
            self.finish(outcome, now);
        }
    }

    fn items_total(&self) -> usize {
        self.steps.iter().map(|s| s.items.len()).sum()
    }

    pub(super) fn step_wakeup(&self, ix: usize, step: &super::StepState) -> Option<Timestamp> {
        let plan = &self.plan.steps[ix];
        let open = !matches!(step.phase, Phase::Ended(_));
        let cutoff = plan.cutoff_at.filter(|_| open && !step.past_cutoff);
        let cutoff = cutoff.map(|share| Timestamp::after_start(share.of(self.deadline)));
        let running = step.phase == Phase::Running;
        let active = step.active.iter().filter(|_| running);
        let nexts = active.filter_map(|item| step.items[item.at()].next.as_ref());
        let due = |next: &Next| if next.held { next.held_until } else { Some(next.choice.at) };
        let launch = nexts.filter_map(due).min();
        let last_call = u16::try_from(ix).ok().and_then(|ix| self.last_call(StepIx(ix)));
        [cutoff, launch, last_call].into_iter().flatten().min()
    }

    fn close_at_cutoffs(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for step in self.plan.step_ixs() {
            let Some(share) = self.plan.step(step).cutoff_at else { continue };
            let state = &self.steps[step.at()];
            let open = !matches!(state.phase, Phase::Ended(_));
            let due = now >= Timestamp::after_start(share.of(self.deadline));
            if !open || state.past_cutoff || !due {
                continue;
            }
            self.steps[step.at()].past_cutoff = true;
            moved = true;
            if self.accept_held_of(step, now) {
                continue;
            }
            let reason = Reason::CutoffAt { share };
            if self.close_with_what_it_has(step, Status::Cut, &reason, now) {
                continue;
            }
            if self.plan.step(step).optional {
                self.close(step, Status::Cut, reason, now);
            }
        }
        moved
    }

    fn start_ready(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for step in self.plan.step_ixs() {
            if self.steps[step.at()].phase != Phase::Waiting {
                continue;
            }
            match self.readiness(step) {
                Readiness::NotYet => continue,
                Readiness::Ready => self.prepare(step, now),
                Readiness::NothingToJudge => {
                    self.close(step, Status::Skipped, Reason::NothingToJudge, now);
                }
                Readiness::Missing(need) => {
                    let failure = self.missing_output(need);
                    self.fail_step(step, &failure, now);
                }
            }
            moved = true;
        }
        moved
    }

    /// Whether the step waits for nothing more.
    pub(super) fn can_start(&self, step: StepIx) -> bool {
        let waiting = self.steps[step.at()].phase == Phase::Waiting;
        waiting && matches!(self.readiness(step), Readiness::Ready)
    }

    fn readiness(&self, step: StepIx) -> Readiness {
        let mut ready = Readiness::Ready;
        for need in &self.plan.step(step).needs {
            let phase = self.steps[need.step.at()].phase;
            let met = match (need.kind, phase) {
                (NeedKind::Judges, Phase::Ended(_)) => return Readiness::NothingToJudge,
                (NeedKind::Judges, phase) => phase == Phase::Answered,
                (NeedKind::Output, Phase::Ended(status)) if !status.accepted() => {
                    return Readiness::Missing(need.step);
                }
                (NeedKind::Output | NeedKind::Guarded | NeedKind::Order, Phase::Ended(_)) => true,
                (NeedKind::Output | NeedKind::Guarded | NeedKind::Order, _) => false,
            };
            if !met {
                ready = Readiness::NotYet;
            }
        }
        ready
    }

    fn missing_output(&self, need: StepIx) -> Failure {
        let status = self.steps[need.at()].status();
        let class = match status {
            Status::TimedOut | Status::Cut => FailureClass::Timeout,
            Status::Failed => self.last_failure(need).class,
            Status::Waiting
            | Status::Running
            | Status::Ok
            | Status::Reused
            | Status::Skipped
            | Status::Cancelled => FailureClass::CheckFailed,
        };
        let (name, status) = (&self.plan.step(need).name, status.as_str());
        let text = format!("it needs the output of step '{name}', and there is none ({status})");
        Failure::of_attempt(class, "no output", text)
    }

    pub(super) fn prepare(&mut self, step: StepIx, now: Timestamp) {
        let state = &mut self.steps[step.at()];
        state.phase = Phase::Preparing;
        state.started.get_or_insert(now);
        let round = state.round;
        self.decide(now, Some(step), None, Kind::Prepare, Reason::Ready);
        self.out.push(Action::Prepare { step, round });
    }

    pub(super) fn prepared(&mut self, step: StepIx, round: u32, result: Prepared, now: Timestamp) {
        let Some(state) = self.steps.get_mut(step.at()) else { return };
        if state.phase != Phase::Preparing || state.round != round {
            return;
        }
        match result {
            Prepared::Skip => self.close(step, Status::Skipped, Reason::ConditionFalse, now),
            Prepared::Done => self.answered(step, now),
            Prepared::Computed(items) => self.take_computed(step, items, now),
            Prepared::Judged { pass } => {
                state.pass = Some(pass);
                self.answered(step, now);
            }
            Prepared::Impossible(failure) => self.fail_step(step, &failure, now),
            Prepared::Prompts(prompts) => self.take_prompts(step, prompts, now),
            Prepared::Shrunk(prompts) => {
                state.shrunk = true;
                self.take_prompts(step, prompts, now);
            }
        }
    }

    fn take_prompts(&mut self, step: StepIx, prompts: Vec<u64>, now: Timestamp) {
        let plan = self.plan.step(step);
        if plan.work == Work::Value || (plan.each.is_none() && prompts.len() != 1) {
            let text = format!("{} prompts were prepared for it", prompts.len());
            let failure = Failure::of_attempt(FailureClass::InvalidInput, "prompts", text);
            self.fail_step(step, &failure, now);
            return;
        }
        let state = &mut self.steps[step.at()];
        state.phase = Phase::Running;
        state.reset(prompts);
        self.step_moved(step, now);
    }

    /// The items of a fan-out without a model are decided as soon as they are known.
    fn take_computed(&mut self, step: StepIx, items: Vec<Option<Failure>>, now: Timestamp) {
        let state = &mut self.steps[step.at()];
        state.phase = Phase::Running;
        state.reset(vec![0; items.len()]);
        let mut failed = Vec::new();
        for ((ix, item), failure) in (0_u32..).zip(&mut state.items).zip(items) {
            (item.started, item.ended) = (Some(now), Some(now));
            if let Some(failure) = failure {
                failed.push((ItemIx(ix), failure.class));
                item.phase = ItemPhase::Bad;
                item.failure = Some(failure);
                state.bad += 1;
            } else {
                item.phase = ItemPhase::Good(None);
                state.good += 1;
            }
        }
        for (item, class) in failed {
            self.decide(now, Some(step), Some(item), Kind::Fail, Reason::Failure { class });
        }
        self.step_moved(step, now);
    }

    /// Ends the run where `outcome` says how, unless it has ended already: attempts in flight are closed.
    pub(super) fn finish(&mut self, outcome: Outcome, now: Timestamp) {
        if self.outcome.is_some() {
            return;
        }
        for attempt in self.in_flight.clone() {
            self.cancel(attempt, AttemptEnd::Cancelled, now);
        }
        let late = matches!(&outcome, Outcome::Failed(f) if f.class == FailureClass::Deadline);
        for state in &mut self.steps {
            if matches!(state.phase, Phase::Ended(_)) {
                continue;
            }
            let begun = state.phase != Phase::Waiting;
            let status = if late && begun { Status::TimedOut } else { Status::Cancelled };
            state.phase = Phase::Ended(status);
            state.ended = begun.then_some(now);
        }
        let reason = match &outcome {
            Outcome::Delivered | Outcome::Degraded { .. } => Reason::AllEnded,
            Outcome::Cancelled => Reason::Withdrawn,
            Outcome::Failed(_) if late => self.late_reason(),
            Outcome::Failed(failure) => Reason::Failure { class: failure.class },
        };
        self.decide(now, None, None, Kind::Finish, reason);
        self.out.push(Action::Finish(outcome.clone()));
        self.outcome = Some(outcome);
    }

    pub(super) fn decide(
        &mut self,
        at: Timestamp,
        step: Option<StepIx>,
        item: Option<ItemIx>,
        kind: Kind,
        reason: Reason,
    ) {
        let item = item.filter(|_| step.is_some_and(|s| self.plan.step(s).each.is_some()));
        self.decisions.push(super::decision::Decision { at, step, item, kind, reason });
    }

    /// A failure in the words of a person who runs the workflow.
    pub(super) fn step_message(&self, step: StepIx, failure: &Failure, attempts: usize) -> String {
        let Plan { steps, .. } = &*self.plan;
        let name = &steps[step.at()].name;
        match attempts {
            0 => format!("step '{name}' could not be had: {}", failure.message),
            1 => format!("step '{name}' failed after 1 attempt: {}", failure.message),
            n => format!("step '{name}' failed after {n} attempts: {}", failure.message),
        }
    }
}
