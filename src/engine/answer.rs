//! What comes back from attempts: their signs of life, answers and failures, and what each leads to.

use super::decision::{Kind, Reason};
use super::state::{ItemPhase, Next, Phase};
use super::{Action, Machine, Verdict};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::message::Usage;
use crate::domain::money::Usd;
use crate::domain::outcome::AttemptEnd;
use crate::domain::plan::OnSlow;
use crate::domain::time::Timestamp;
use crate::policy::cutoff::Signal;
use crate::policy::fallback::{self, NoWay, Reaction, Told, Trouble, View};

/// Tokens a resume message may add to a prompt: its frame and 2,000 characters of partial output.
const RESUME_TOKENS: u64 = 2_500;

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
            state.first_token.get_or_insert(now);
            state.latest_token = Some(now);
            state.emitted = state.emitted.max(tokens);
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
                self.settle(attempt, usage, AttemptEnd::Accepted, now);
                self.accept(attempt, pass, now);
            }
            Verdict::Invalid { failure, repair_tokens } => {
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
        self.settle(attempt, usage, AttemptEnd::Failed, now);
        self.close_paths(self.attempts[attempt.at()].spec.path, &failure, now);
        self.in_trouble(attempt, failure, 0, now);
    }

    fn accept(&mut self, attempt: AttemptId, pass: Option<bool>, now: Timestamp) {
        let (step, item) = self.place(attempt);
        let path = self.attempts[attempt.at()].spec.path;
        let state = &mut self.steps[step.at()];
        state.active = state.active.saturating_sub(1);
        state.good += 1;
        state.pass = pass;
        let item_state = state.item(item);
        item_state.phase = ItemPhase::Good(attempt);
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

    /// An attempt has failed or its answer was invalid: waits for another that is relied on, or reacts.
    fn in_trouble(&mut self, attempt: AttemptId, failure: Failure, told: u64, now: Timestamp) {
        let (step, item) = self.place(attempt);
        let class = failure.class;
        self.attempts[attempt.at()].failure = Some(failure.clone());
        self.steps[step.at()].item(item).failure = Some(failure);
        let state = &self.steps[step.at()].items[item.at()];
        let relied = |a: &AttemptId| {
            let other = &self.attempts[a.at()];
            other.ended.is_none() && !other.cut
        };
        if state.next.is_some() || state.attempts.iter().any(relied) {
            return;
        }
        self.react(attempt, Trouble::Failed(class), told, now);
    }

    fn react(&mut self, attempt: AttemptId, trouble: Trouble, told_tokens: u64, now: Timestamp) {
        let (step, item) = self.place(attempt);
        let Some((policy, _)) = self.policy(step) else { return };
        let state = &self.steps[step.at()].items[item.at()];
        let paths = |live: bool| -> Vec<PathIx> {
            let of = state.attempts.iter().map(|a| &self.attempts[a.at()]);
            of.filter(|a| !live || a.ended.is_none()).map(|a| a.spec.path).collect()
        };
        let (in_flight, used) = (paths(true), paths(false));
        let of = &self.attempts[attempt.at()];
        let view = View {
            plan: &self.plan,
            policy,
            model: of.model,
            path: of.spec.path,
            in_flight: &in_flight,
            used: &used,
            repaired: state.repaired,
            refused_before: state.refused,
            open_at: &self.open_at,
            now,
        };
        let (swaps, max_swaps, path) = (state.swaps, policy.max_swaps, of.spec.path);
        match fallback::decide(&view, trouble) {
            Reaction::Launch(choice) if choice.path != path && swaps >= max_swaps => {
                self.nothing_follows(step, item, trouble, Reason::SwapsUsed { swaps }, now);
            }
            Reaction::Launch(choice) if choice.at >= self.end_at => {
                self.nothing_follows(step, item, trouble, Reason::NoPath, now);
            }
            Reaction::Launch(choice) => {
                let state = self.steps[step.at()].item(item);
                state.repaired = choice.told == Told::Violations;
                state.refused |= matches!(
                    trouble,
                    Trouble::Failed(FailureClass::Refusal | FailureClass::ContentFiltered)
                );
                let extra_tokens = match choice.told {
                    Told::Nothing => 0,
                    Told::Violations => told_tokens,
                    Told::Resume => RESUME_TOKENS,
                };
                let after = Some((attempt, trouble));
                state.next = Some(Next { choice, after, extra_tokens, held: false });
            }
            Reaction::Wait => self.nothing_follows(step, item, trouble, Reason::NoPath, now),
            Reaction::GiveUp(NoWay::Path) => {
                self.nothing_follows(step, item, trouble, Reason::NoPath, now);
            }
            Reaction::GiveUp(NoWay::Policy) => {
                let class = match trouble {
                    Trouble::Failed(class) => class,
                    Trouble::Cut(_) => FailureClass::Timeout,
                };
                self.nothing_follows(step, item, trouble, Reason::ByPolicy { class }, now);
            }
        }
    }

    /// Nothing can be launched: what is in flight may still win, else the item fails.
    fn nothing_follows(
        &mut self,
        step: StepIx,
        item: ItemIx,
        trouble: Trouble,
        reason: Reason,
        now: Timestamp,
    ) {
        if self.racing(step, item) > 0 {
            self.decide(now, Some(step), Some(item), Kind::Wait, reason);
            return;
        }
        let known = self.steps[step.at()].items[item.at()].failure.clone();
        let failure = known.unwrap_or_else(|| {
            let text = format!("{trouble:?}");
            Failure::of_attempt(FailureClass::Timeout, "cutoff", text)
        });
        self.fail_item(step, item, failure, reason, now);
    }

    /// Stops relying on attempts whose cutoff has passed, and decides what follows.
    pub(super) fn cut_late(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for attempt in self.in_flight.clone() {
            let due = self.attempts[attempt.at()].cut_due();
            let Some((_, signal)) = due.filter(|(at, _)| *at <= now) else { continue };
            self.cut(attempt, signal, now);
            moved = true;
            if self.outcome.is_some() {
                break;
            }
        }
        moved
    }

    fn cut(&mut self, attempt: AttemptId, signal: Signal, now: Timestamp) {
        let (step, item) = self.place(attempt);
        let state = &mut self.attempts[attempt.at()];
        state.cut = true;
        let path = state.spec.path;
        let after = match signal {
            Signal::NoFirstToken => state.limits.first_token.or(state.limits.total),
            Signal::Stalled => state.limits.idle,
            Signal::TooSlow => state.limits.total,
        };
        let after = after.unwrap_or_default();
        let reason = Reason::Late { path, signal, after, automatic: state.limits.automatic };
        self.decide(now, Some(step), Some(item), Kind::Cut, reason);
        let fails = self.policy(step).is_some_and(|(policy, _)| policy.on.slow == OnSlow::Fail);
        if fails {
            let text = format!(
                "{} was cut: nothing complete within {}",
                self.plan.path(path).label,
                crate::domain::time::show(after)
            );
            let failure = Failure::of_attempt(FailureClass::Timeout, "cutoff", text);
            self.attempts[attempt.at()].failure = Some(failure.clone());
            self.steps[step.at()].item(item).failure = Some(failure);
            self.cancel(attempt, AttemptEnd::Cut, now);
        }
        if self.steps[step.at()].items[item.at()].next.is_none() {
            self.react(attempt, Trouble::Cut(signal), 0, now);
        }
    }

    /// Closes an attempt in flight and settles what it may have cost.
    pub(super) fn cancel(&mut self, attempt: AttemptId, end: AttemptEnd, now: Timestamp) {
        let state = &self.attempts[attempt.at()];
        let billed = self.plan.provider_of(state.spec.path).billed_on_cancel;
        let output = if billed { u64::from(state.spec.max_tokens) } else { state.emitted };
        let usage = match state.sent {
            None => Usage::default(),
            Some(_) => {
                Usage { input: state.prompt_tokens, cached_input: 0, output, estimated: true }
            }
        };
        self.settle(attempt, usage, end, now);
        self.out.push(Action::Cancel { attempt });
    }

    fn settle(&mut self, attempt: AttemptId, usage: Usage, end: AttemptEnd, now: Timestamp) {
        self.in_flight.retain(|a| *a != attempt);
        let state = &mut self.attempts[attempt.at()];
        let price = self.plan.path(state.spec.path).profile.price;
        state.ended = Some((now, end));
        state.usage = usage;
        if state.sent.is_none() && usage == Usage::default() {
            self.ledger.release(state.reserved);
            return;
        }
        state.cost =
            price.map_or(Usd::ZERO, |p| p.charge(usage.input, usage.cached_input, usage.output));
        state.cost_estimated = usage.estimated || price.is_none();
        self.ledger.settle(state.reserved, state.cost, usage);
    }

    /// Closes, for this run, the paths that a failure speaks of.
    fn close_paths(&mut self, path: PathIx, failure: &Failure, now: Timestamp) {
        use FailureClass as F;
        let until = match failure.class {
            F::QuotaExhausted | F::Auth | F::Permission | F::ModelNotFound => Timestamp::NEVER,
            F::RateLimited | F::Overloaded | F::ServerError | F::Timeout => {
                now + failure.retry_after.unwrap_or(fallback::BACKOFF)
            }
            F::StreamInterrupted
            | F::ContextOverflow
            | F::BadRequest
            | F::UnsupportedParameter
            | F::ContentFiltered
            | F::Refusal
            | F::EmptyOutput
            | F::TruncatedOutput
            | F::UnparseableOutput
            | F::SchemaViolation
            | F::CheckFailed
            | F::Rejected
            | F::Deadline
            | F::Budget
            | F::InvalidInput
            | F::Cancelled => return,
        };
        let provider = self.plan.path(path).provider;
        for (ix, open) in self.open_at.iter_mut().enumerate() {
            let concerned = match failure.scope {
                Scope::Attempt => false,
                Scope::Path => ix == path.at(),
                Scope::Quota | Scope::Provider => self.plan.paths[ix].provider == provider,
            };
            if concerned {
                *open = (*open).max(until);
            }
        }
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
        state.active = state.active.saturating_sub(1);
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
