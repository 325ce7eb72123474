//! What comes back from attempts: their signs of life, answers and failures, and what each has cost.

use super::decision::{Kind, Reason};
use super::state::{ItemPhase, Phase};
use super::{Action, Machine, Verdict};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, ItemIx, StepIx};
use crate::domain::message::Usage;
use crate::domain::money::{Price, Usd};
use crate::domain::outcome::AttemptEnd;
use crate::domain::time::Timestamp;
use crate::planner::look::Ended;
use crate::policy::gate::Ledger;

impl Machine {
    fn live(&mut self, attempt: AttemptId) -> Option<&mut super::state::AttemptState> {
        self.attempts.get_mut(attempt.at()).filter(|a| a.ended.is_none())
    }

    pub(super) fn sent(&mut self, attempt: AttemptId, now: Timestamp) {
        if let Some(state) = self.live(attempt) {
            state.sent.get_or_insert(now);
        }
    }

    pub(super) fn emitted(&mut self, attempt: AttemptId, tokens: u64, now: Timestamp) {
        if let Some(state) = self.live(attempt) {
            state.sent.get_or_insert(now);
            let first = *state.first_token.get_or_insert(now);
            state.latest_token = Some(now);
            state.emitted = state.emitted.max(tokens);
            state.flow.stream.push(now.since(first), state.emitted);
            self.note_flow(attempt, now);
        }
    }

    pub(super) fn ended(
        &mut self,
        attempt: AttemptId,
        usage: Usage,
        verdict: Verdict,
        now: Timestamp,
    ) {
        if self.live(attempt).is_none() {
            return;
        }
        match verdict {
            Verdict::Valid { pass } => {
                self.note_ended(attempt, Ended::Answered, now);
                self.settle(attempt, usage, AttemptEnd::Accepted, now);
                if !self.hold(attempt, pass, now) {
                    self.accept(attempt, pass, now);
                }
            }
            Verdict::Invalid { failure, repair_tokens } => {
                self.note_ended(attempt, Ended::Answered, now);
                self.settle(attempt, usage, AttemptEnd::Failed, now);
                self.in_trouble(attempt, failure, repair_tokens, now);
            }
        }
    }

    pub(super) fn failed(
        &mut self,
        attempt: AttemptId,
        failure: Failure,
        usage: Usage,
        now: Timestamp,
    ) {
        if self.live(attempt).is_none() {
            return;
        }
        let refused = failure.class == FailureClass::RateLimited;
        self.note_ended(attempt, if refused { Ended::Refused } else { Ended::Failed }, now);
        self.settle(attempt, usage, AttemptEnd::Failed, now);
        self.note_overflow(attempt, &failure);
        self.note_failure(attempt, failure.class);
        self.close_paths(self.attempts[attempt.at()].spec.path, &failure, now);
        self.in_trouble(attempt, failure, 0, now);
    }

    pub(super) fn accept(&mut self, attempt: AttemptId, pass: Option<bool>, now: Timestamp) {
        let (step, item) = self.place(attempt);
        self.drop_held(step, item, attempt);
        let path = self.attempts[attempt.at()].spec.path;
        let state = &mut self.steps[step.at()];
        state.active.retain(|active| *active != item);
        state.good += 1;
        state.pass = pass;
        let item_state = state.item(item);
        item_state.phase = ItemPhase::Good(Some(attempt));
        item_state.ended = Some(now);
        item_state.next = None;
        let rivals = item_state.attempts.clone();
        self.decide(now, Some(step), Some(item), Kind::Accept, Reason::FirstValid { path });
        self.out.push(Action::Accept { attempt });
        for rival in rivals.into_iter().filter(|r| *r != attempt) {
            if self.attempts[rival.at()].ended.is_none() {
                let path = self.attempts[rival.at()].spec.path;
                self.decide(now, Some(step), Some(item), Kind::Cancel, Reason::Superseded { path });
                self.cancel(rival, AttemptEnd::Superseded, now);
            }
        }
        self.step_moved(step, now);
    }

    /// Closes an attempt in flight and settles what it may have cost.
    pub(super) fn cancel(&mut self, attempt: AttemptId, end: AttemptEnd, now: Timestamp) {
        let usage = self.usage_when_closed(attempt);
        self.note_ended(attempt, Ended::Closed, now);
        self.settle(attempt, usage, end, now);
        self.out.push(Action::Cancel { attempt });
    }

    /// What an attempt in flight will have used if it is closed now.
    pub(super) fn usage_when_closed(&self, attempt: AttemptId) -> Usage {
        let state = &self.attempts[attempt.at()];
        if state.sent.is_none() {
            return Usage::default();
        }
        let billed = self.plan.provider_of(state.spec.path).billed_on_cancel;
        let most = u64::from(state.spec.max_tokens);
        let output = if billed { most } else { state.emitted.min(most) };
        Usage { input: state.prompt_tokens, cached_input: 0, output, estimated: true, cost: None }
    }

    pub(super) fn settle(
        &mut self,
        attempt: AttemptId,
        usage: Usage,
        end: AttemptEnd,
        now: Timestamp,
    ) {
        let mut ledger = std::mem::take(&mut self.ledger);
        let (cost, estimated) = self.settle_in(&mut ledger, attempt, usage);
        self.ledger = ledger;
        self.in_flight.retain(|a| *a != attempt);
        let state = &mut self.attempts[attempt.at()];
        state.ended = Some((now, end));
        (state.usage, state.cost, state.cost_estimated) = (usage, cost, estimated);
    }

    /// Settles an attempt's usage in `ledger`: what it costs, and whether that is an estimate. What was never
    /// sent costs nothing and does not count.
    pub(super) fn settle_in(
        &self,
        ledger: &mut Ledger,
        attempt: AttemptId,
        usage: Usage,
    ) -> (Usd, bool) {
        let state = &self.attempts[attempt.at()];
        if state.sent.is_none() && usage == Usage::default() {
            ledger.release(state.reserved);
            return (Usd::ZERO, false);
        }
        let price = self.plan.path(state.spec.path).profile.price;
        let charge = |p: Price| p.charge(usage.input, usage.cached_input, usage.output);
        let listed = price.map(charge);
        // What was charged goes before what a list of prices says.
        let cost = usage.cost.or(listed).unwrap_or(Usd::ZERO);
        ledger.settle(state.reserved, cost, usage);
        (cost, usage.cost.is_none() && (usage.estimated || price.is_none()))
    }

    pub(super) fn place(&self, attempt: AttemptId) -> (StepIx, ItemIx) {
        let spec = &self.attempts[attempt.at()].spec;
        (spec.step, spec.item)
    }

    pub(super) fn fail_item(
        &mut self,
        step: StepIx,
        item: ItemIx,
        failure: Failure,
        reason: Reason,
        now: Timestamp,
    ) {
        debug_assert_eq!(self.steps[step.at()].phase, Phase::Running);
        let state = &mut self.steps[step.at()];
        state.active.retain(|active| *active != item);
        state.bad += 1;
        let item_state = state.item(item);
        item_state.phase = ItemPhase::Bad;
        item_state.ended = Some(now);
        item_state.next = None;
        item_state.failure = Some(failure);
        self.decide(now, Some(step), Some(item), Kind::Fail, reason);
        self.step_moved(step, now);
    }
}
