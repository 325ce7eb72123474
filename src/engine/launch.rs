//! Launching: first attempts of items in turn, follow-ups when their time has come, each within attempts,
//! race and budget.

use super::decision::timing::Timing;
use super::decision::{Kind, Reason};
use super::next::Next;
use super::permit::Leave;
use super::state::{AttemptState, ItemPhase, Phase};
use super::{Action, AttemptSpec, Machine};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, ItemIx, StepIx};
use crate::domain::outcome::{AttemptEnd, Cause};
use crate::domain::plan::{Hedge, Policy, Work};
use crate::domain::time::Timestamp;
use crate::policy::fallback::{Told, Trouble};
use crate::policy::gate::{Grant, Refusal, Reservation};
use crate::policy::permit::{Claim, Permit};

/// Attempts of one item that may be turned away without counting. Each closes its path for a while, so that time
/// bounds them as well.
const TURNED_AWAY_MAX: usize = 100;

/// Why a decided launch does not happen now.
enum Hold {
    /// It may later.
    Later(Reason),
    /// It cannot in this run.
    Never(Reason, Box<Failure>),
}

impl Machine {
    pub(super) fn policy(&self, step: StepIx) -> Option<(&Policy, u32)> {
        match &self.plan.step(step).work {
            Work::Model { policy, max_tokens, .. } => Some((policy, *max_tokens)),
            Work::Value => None,
        }
    }

    /// Gives pending items their first attempt, as many at once as the step allows.
    pub(super) fn launch_pending(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for step in self.plan.step_ixs() {
            let most = self.plan.step(step).each.map_or(1, |each| each.max_parallel.max(1));
            while let Some(item) = self.next_pending(step, most) {
                self.first_attempt(step, item, now);
                moved = true;
            }
        }
        moved
    }

    fn next_pending(&mut self, step: StepIx, most: u32) -> Option<ItemIx> {
        let state = &mut self.steps[step.at()];
        if state.phase != Phase::Running || state.active.len() >= most as usize {
            return None;
        }
        let pending = |item: &super::state::ItemState| item.phase == ItemPhase::Pending;
        let offset = state.items.get(state.next_pending..)?.iter().position(pending)?;
        let at = state.next_pending + offset;
        let item = ItemIx(u32::try_from(at).ok()?);
        state.next_pending = at + 1;
        state.active.push(item);
        state.items[at].phase = ItemPhase::Active;
        Some(item)
    }

    /// Launches what is decided and due, where attempts, race and budget allow.
    pub(super) fn launch_due(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for step in self.plan.step_ixs() {
            if self.steps[step.at()].phase != Phase::Running {
                continue;
            }
            for item in self.steps[step.at()].active.clone() {
                moved |= self.launch_next(step, item, now);
                if self.outcome.is_some() || self.steps[step.at()].phase != Phase::Running {
                    return true;
                }
            }
        }
        moved
    }

    fn launch_next(&mut self, step: StepIx, item: ItemIx, now: Timestamp) -> bool {
        let Some(next) = self.steps[step.at()].items[item.at()].next else { return false };
        if next.choice.at > now {
            return false;
        }
        if self.open_at[next.choice.path.at()] > now {
            self.steps[step.at()].item(item).next = None;
            match next.after {
                None => self.first_attempt(step, item, now),
                Some((from, _)) => self.reconsider(from, &next, now),
            }
            return true;
        }
        if let Some(attempt) = self.beside(&next).filter(|_| next.replaces.is_none())
            && let Some(reason) = self.early_refusal(attempt)
        {
            self.steps[step.at()].item(item).next = None;
            self.early_refused(attempt, reason, now);
            return true;
        }
        let (claim, replaced) = match self.leave(step, item, &next, now) {
            Leave::Go(claim) => (claim, None),
            Leave::Replaces(attempt) => (Claim::Takes, Some(attempt)),
            Leave::No(reason) => {
                self.wait_on((step, item), &next, reason, now);
                return true;
            }
        };
        match self.admit((step, item), &next, replaced, now) {
            Ok(reserved) => {
                self.launch((step, item), next, claim, reserved, now);
                true
            }
            // It paid now; later is for the planner to say anew.
            Err(Hold::Later(_)) if next.worth.is_some() && next.is_early() => {
                self.steps[step.at()].item(item).next = None;
                false
            }
            Err(Hold::Later(reason)) => self.hold_back((step, item), &next, reason, now),
            Err(Hold::Never(reason, failure)) => {
                self.steps[step.at()].item(item).next = None;
                if self.racing(step, item) == 0 {
                    let known = self.steps[step.at()].items[item.at()].failure.clone();
                    let budget = failure.class == FailureClass::Budget;
                    let failure = known.filter(|_| !budget).unwrap_or(*failure);
                    self.fail_item(step, item, failure, reason, now);
                } else {
                    self.decide(now, Some(step), Some(item), Kind::Wait, reason);
                }
                true
            }
        }
    }

    /// A launch that is due is held until something happens, or everything in flight has hung for too long; whether
    /// another takes its place.
    fn hold_back(
        &mut self,
        (step, item): (StepIx, ItemIx),
        next: &Next,
        reason: Reason,
        now: Timestamp,
    ) -> bool {
        if self.look_elsewhere(step, item, next, now) {
            return true;
        }
        let full = self.race_is_full(step, item);
        let until = self.hung_at(step, item, now).filter(|at| full && *at > now);
        let Some(held) = &mut self.steps[step.at()].item(item).next else { return false };
        held.held_until = until;
        if !std::mem::replace(&mut held.held, true) {
            self.decide(now, Some(step), Some(item), Kind::Wait, reason);
        }
        false
    }

    /// `replaced`: the attempt that is given up for it.
    fn admit(
        &mut self,
        (step, item): (StepIx, ItemIx),
        next: &Next,
        replaced: Option<AttemptId>,
        now: Timestamp,
    ) -> Result<Reservation, Hold> {
        let Some((policy, max_tokens)) = self.policy(step) else {
            return Err(Hold::Later(Reason::NoPath));
        };
        let (attempts, hedge) = (policy.attempts, policy.hedge);
        let racing = self.racing(step, item);
        if replaced.is_none() && self.race_is_full(step, item) {
            return Err(Hold::Later(Reason::RaceFull { in_flight: racing }));
        }
        let state = &self.steps[step.at()].items[item.at()];
        let turned = state.attempts.iter().filter(|a| self.attempts[a.at()].turned_away).count();
        if state.attempts.len() - turned.min(TURNED_AWAY_MAX) >= attempts as usize {
            let text = format!("all {attempts} attempts are used");
            let failure = Failure::of_attempt(FailureClass::ServerError, "attempts used", text);
            return Err(Hold::Never(Reason::AttemptsUsed { attempts }, Box::new(failure)));
        }
        let profile = &self.plan.path(next.choice.path).profile;
        let bound = profile.bound(max_tokens);
        let prompt = state.prompt_tokens.saturating_add(next.extra_tokens());
        let most = Reservation::most(prompt, bound, profile.price.as_ref());
        let off = hedge == Hedge::Off;
        let is_cut = |a: &AttemptId| off && self.attempts[a.at()].cut || replaced == Some(*a);
        let closed: Vec<AttemptId> = self.in_race(step, item).filter(is_cut).collect();
        if self.affords_after_closing(&closed, most) {
            for attempt in closed {
                self.make_room(attempt, off, now);
            }
        }
        match self.ledger.reserve(most) {
            Grant::Granted => Ok(most),
            Grant::Later(refusal) => Err(Hold::Later(Reason::Budget(refusal))),
            Grant::Never(refusal) => {
                Err(Hold::Never(Reason::Budget(refusal), Box::new(budget_failure(&refusal))))
            }
        }
    }

    fn launch(
        &mut self,
        (step, item): (StepIx, ItemIx),
        next: Next,
        claim: Claim,
        reserved: Reservation,
        now: Timestamp,
    ) {
        let Ok(id) = u32::try_from(self.attempts.len()) else { return };
        let beside = self.beside(&next);
        let (id, choice) = (AttemptId(id), next.choice);
        let each = self.plan.step(step).each;
        let waves = each.map_or(1, |each| {
            let state = &self.steps[step.at()];
            let items = u32::try_from(state.items.len()).unwrap_or(u32::MAX);
            let open = items.saturating_sub(state.good).saturating_sub(state.bad);
            open.div_ceil(each.max_parallel.max(1))
        });
        let Some((_, max_tokens)) = self.policy(step) else { return };
        let (limits, pace) = self.limits(step, (choice.model, choice.path), waves, now);
        let early_after = self.early_after(step, choice.path);
        let profile = &self.plan.path(choice.path).profile;
        let max_tokens = profile.bound(max_tokens);
        let state = self.steps[step.at()].item(item);
        let n = u32::try_from(state.earlier + state.attempts.len() + 1).unwrap_or(u32::MAX);
        state.next = None;
        let prompt_tokens = state.prompt_tokens.saturating_add(next.extra_tokens());
        let after = next.after.map(|(attempt, _)| (attempt, choice.told));
        let extra_of = beside.map(|attempt| self.attempts[attempt.at()].spec.path);
        let spec = AttemptSpec {
            attempt: id,
            step,
            item,
            n,
            path: choice.path,
            cause: choice.cause,
            max_tokens,
            after,
            extra_of,
            claim,
        };
        state.attempts.push(id);
        let before = (state.repaired, state.refused, state.swaps);
        let swaps = after.is_some_and(|(a, _)| self.attempts[a.at()].spec.path != choice.path);
        self.steps[step.at()].item(item).swaps += u32::from(swaps);
        self.note_told(step, item, &next);
        let reason = self.launch_reason(step, &next, (prompt_tokens, claim), now);
        self.decide(now, Some(step), Some(item), Kind::Launch, reason);
        self.attempts.push(AttemptState {
            prompt_tokens,
            limits,
            pace,
            early_after,
            reserved,
            ..AttemptState::of(spec.clone(), next, before, now)
        });
        self.in_flight.push(id);
        self.note_extra(extra_of);
        self.note_claim(choice.path, claim);
        self.out.push(Action::Launch(spec));
        self.note_unmeasured(step, item, now);
    }

    /// Remembers what a follow-up was told, so that it is told once.
    fn note_told(&mut self, step: StepIx, item: ItemIx, next: &Next) {
        let state = self.steps[step.at()].item(item);
        // Also where there was no room to say what was wrong.
        let repair = next.choice.cause == Cause::Repair;
        state.repaired = repair || next.choice.told == Told::Violations;
        state.refused |= next.after.is_some_and(|(_, trouble)| {
            matches!(
                trouble,
                Trouble::Failed(FailureClass::Refusal | FailureClass::ContentFiltered)
            )
        });
    }

    fn launch_reason(
        &self,
        step: StepIx,
        next: &Next,
        (prompt_tokens, claim): (u64, Claim),
        now: Timestamp,
    ) -> Reason {
        let (path, model) = (next.choice.path, next.choice.model);
        if let Some(worth) = next.worth {
            let after = next.after.map(|(from, of)| (self.attempts[from.at()].spec.path, of));
            return Reason::Planned { path, after, worth };
        }
        match next.after {
            Some((from, Trouble::Cut(_))) if self.attempts[from.at()].late.is_some() => {
                let late = self.attempts[from.at()].late;
                late.map_or(Reason::NoPath, |late| Reason::Timing(Timing::Joins { path, late }))
            }
            Some((from, trouble)) => {
                let from = self.attempts[from.at()].spec.path;
                let passed = self.passed_over(model, path, Some(from), now);
                let permit = self.permit_for(path).ok().filter(|_| claim == Claim::Needs);
                let permit = permit.unwrap_or(Permit::Uncounted);
                Reason::Follows { path, from, trouble, passed, permit }
            }
            None if next.choice.cause == Cause::Revision => {
                let judge = self.plan.step(step).judged_by;
                let of = judge.map_or(0, |judge| self.plan.step(judge).revise);
                Reason::SentBack { path, revision: self.steps[step.at()].revisions, of }
            }
            None => {
                if let Some(hurry) = self.hurry_reason(step, next, now) {
                    return hurry;
                }
                let passed = self.passed_over(model, path, None, now);
                let passed = passed.or_else(|| self.passed_by_rank(step, model, path));
                Reason::First { path, prompt_tokens, passed }
            }
        }
    }

    /// Whether `most` can be reserved once these attempts are closed and settled: a stuck attempt is not given up for one
    /// that the budget then refuses.
    fn affords_after_closing(&self, closed: &[AttemptId], most: Reservation) -> bool {
        let mut ledger = self.ledger.clone();
        for attempt in closed {
            self.settle_in(&mut ledger, *attempt, self.usage_when_closed(*attempt));
        }
        ledger.reserve(most) == Grant::Granted
    }

    /// Closes an attempt before another starts: `off`, where there is to be one at a time.
    fn make_room(&mut self, attempt: AttemptId, off: bool, now: Timestamp) {
        if !off {
            return self.give_up(attempt, now);
        }
        let (step, item) = self.place(attempt);
        let path = self.attempts[attempt.at()].spec.path;
        self.decide(now, Some(step), Some(item), Kind::Cancel, Reason::HedgeOff { path });
        self.cancel(attempt, AttemptEnd::Cut, now);
    }
}

fn budget_failure(refusal: &Refusal) -> Failure {
    let text = format!("the budget does not cover another attempt: {refusal}");
    Failure::of_attempt(FailureClass::Budget, "budget", text)
}
