//! What an attempt in trouble leads to: a cut, another attempt, waiting for a rival, or the item's failure.

use super::Machine;
use super::decision::timing::Timing;
use super::decision::{Kind, Reason};
use super::next::Next;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::outcome::AttemptEnd;
use crate::domain::plan::{OnSlow, PathPlan};
use crate::domain::time::{Timestamp, show};
use crate::policy::closing::{self, Closing};
use crate::policy::cutoff::Signal;
use crate::policy::fallback::{self, Choice, Known, NoWay, Reaction, Told, Trouble, View};

impl Machine {
    /// An attempt has failed or its answer was invalid: waits for another that is relied on, or reacts.
    pub(super) fn in_trouble(
        &mut self,
        attempt: AttemptId,
        failure: Failure,
        told: u64,
        now: Timestamp,
    ) {
        let (step, item) = self.place(attempt);
        let class = failure.class;
        self.attempts[attempt.at()].failure = Some(failure.clone());
        self.steps[step.at()].item(item).failure = Some(failure);
        if self.racing(step, item) == 0 && self.accept_held_of(step, now) {
            return;
        }
        let state = &self.steps[step.at()].items[item.at()];
        let relied = |a: &AttemptId| {
            let other = &self.attempts[a.at()];
            other.ended.is_none() && !other.cut
        };
        if state.attempts.iter().any(relied) {
            return;
        }
        let trouble = Trouble::Failed(class);
        match state.next {
            None => self.react(attempt, trouble, told, now),
            Some(planned) if planned.is_early() => self.react(attempt, trouble, told, now),
            Some(planned) => {
                if let Ok(choice) = self.follow_up(attempt, trouble, now)
                    && choice.at < planned.choice.at
                {
                    self.plan_next(attempt, trouble, choice, told);
                }
            }
        }
    }

    fn react(&mut self, attempt: AttemptId, trouble: Trouble, told_tokens: u64, now: Timestamp) {
        if let Trouble::Failed(class) = trouble
            && let Some((choice, worth)) = self.planned_restart(attempt, class, now)
        {
            self.plan_next(attempt, trouble, choice, told_tokens);
            let (step, item) = self.place(attempt);
            if let Some(next) = &mut self.steps[step.at()].item(item).next {
                next.worth = Some(worth);
            }
            return;
        }
        match self.follow_up(attempt, trouble, now) {
            Ok(choice) => {
                self.plan_next(attempt, trouble, choice, told_tokens);
                self.note_unpermitted(attempt, choice.path, now);
            }
            Err(_) if self.ask_to_shrink(attempt, trouble, now) => {}
            Err(reason) => {
                let (step, item) = self.place(attempt);
                self.nothing_follows(step, item, trouble, reason, now);
            }
        }
    }

    /// Decides anew what follows, because the path that was chosen has been closed meanwhile.
    pub(super) fn reconsider(&mut self, from: AttemptId, next: &Next, now: Timestamp) {
        let Some((_, trouble)) = next.after else { return };
        let state = &self.attempts[from.at()];
        let failed = state.failure.as_ref().filter(|_| state.ended.is_some());
        let trouble = failed.map_or(trouble, |failure| Trouble::Failed(failure.class));
        self.react(from, trouble, next.told_tokens, now);
    }

    pub(super) fn plan_next(
        &mut self,
        after: AttemptId,
        trouble: Trouble,
        choice: Choice,
        told_tokens: u64,
    ) {
        let (step, item) = self.place(after);
        let mut next = Next { told_tokens, ..Next::of(choice, Some((after, trouble))) };
        // A prompt that fits is worth more than being told what went before.
        if !self.takes(step, item, choice.path, next.extra_tokens()) {
            next.choice.told = Told::Nothing;
        }
        self.steps[step.at()].item(item).next = Some(next);
    }

    /// What follows an attempt in trouble, or why nothing does.
    pub(super) fn follow_up(
        &self,
        attempt: AttemptId,
        trouble: Trouble,
        now: Timestamp,
    ) -> Result<Choice, Reason> {
        let (step, item) = self.place(attempt);
        let Some((policy, _)) = self.policy(step) else { return Err(Reason::NoPath) };
        let state = &self.steps[step.at()].items[item.at()];
        let paths = |live: bool| -> Vec<PathIx> {
            let of = state.attempts.iter().map(|a| &self.attempts[a.at()]);
            let of = of.filter(|a| !a.turned_away && (!live || a.ended.is_none()));
            of.map(|a| a.spec.path).collect()
        };
        let (in_flight, used) = (paths(true), paths(false));
        let unfit = self.unfit(step, item);
        let (suspect, usual) = self.known_of(step);
        let left = self.time_for(step, now);
        let home = self.steps[step.at()].model.filter(|_| self.measure.is_some());
        let of = &self.attempts[attempt.at()];
        let may_swap = state.swaps < policy.max_swaps;
        let view = View {
            plan: &self.plan,
            policy,
            model: of.model,
            path: of.spec.path,
            in_flight: &in_flight,
            used: &used,
            repaired: state.repaired,
            refused_before: state.refused,
            unfit: &unfit,
            may_swap,
            took: of.ended.map(|(at, _)| at.since(of.sent.unwrap_or(of.launched))),
            open_at: &self.open_at,
            line_for: &self.line_for,
            known: Known { suspect: &suspect, usual: &usual, left, home },
            permit_waits: &self.permit_waits(step, item, now),
            short: &self.short_of_permits(step, item),
            room: usize::from(!self.race_is_full(step, item)),
            end_at: self.end_at,
            now,
        };
        match fallback::decide(&view, trouble) {
            Reaction::Launch(choice) if choice.at < self.end_at => {
                self.in_vain(step, choice.path, choice.at).map_or(Ok(choice), Err)
            }
            Reaction::GiveUp(NoWay::Policy) => Err(Reason::ByPolicy { class: trouble.class() }),
            Reaction::Launch(_) | Reaction::Wait | Reaction::GiveUp(NoWay::Path) => {
                let swaps = state.swaps;
                Err(if may_swap { Reason::NoPath } else { Reason::SwapsUsed { swaps } })
            }
        }
    }

    /// Paths that cannot take the item's prompt: whose window is known to be too small, where a prompt no longer than
    /// it overflowed and wherever the window is known to be no larger, where the request itself was refused, and where
    /// the provider said that sending it again is of no use.
    pub(super) fn unfit(&self, step: StepIx, item: ItemIx) -> Vec<PathIx> {
        let all = (0..).map(PathIx).zip(&self.plan.paths).map(|(path, _)| path);
        let mut unfit: Vec<PathIx> = all.filter(|path| !self.takes(step, item, *path, 0)).collect();
        let state = &self.steps[step.at()].items[item.at()];
        for attempt in state.attempts.iter().map(|a| &self.attempts[a.at()]) {
            let path = attempt.spec.path;
            let shorter = attempt.prompt_tokens <= state.prompt_tokens;
            if attempt.failure.as_ref().is_some_and(|failure| failure.hopeless) {
                unfit.push(path);
            }
            match attempt.failure.as_ref().map_or(Closing::Nothing, closing::decide) {
                Closing::TooSmall if shorter => {
                    let window = |path: &PathPlan| path.profile.context;
                    let limit = window(self.plan.path(path));
                    let small = |path: &PathPlan| {
                        limit.is_some_and(|most| window(path).is_some_and(|w| w <= most))
                    };
                    let all = (0..).map(PathIx).zip(&self.plan.paths);
                    unfit.extend(all.filter(|(_, path)| small(path)).map(|(ix, _)| ix));
                    unfit.push(path);
                }
                Closing::Unfit => unfit.push(path),
                Closing::TooSmall | Closing::Nothing | Closing::For(..) | Closing::ForRun(_) => {}
            }
        }
        unfit
    }

    /// Nothing can be launched: what is in flight may still win, else the item fails.
    pub(super) fn nothing_follows(
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
        let mut failure = known.unwrap_or_else(|| {
            let text = format!("{trouble}, and nothing could follow");
            Failure::of_attempt(trouble.class(), "cutoff", text)
        });
        let model = self.steps[step.at()].model;
        let wait = model.and_then(|model| self.soonest_open(model, now));
        if let Some(wait) = wait.filter(|wait| now + *wait >= self.end_at) {
            failure.retry_after = Some(wait);
        }
        self.fail_item(step, item, failure, reason, now);
    }

    /// Stops relying on attempts whose cutoff has passed, and decides what follows.
    pub(super) fn cut_late(&mut self, now: Timestamp) -> bool {
        let mut moved = false;
        for attempt in self.in_flight.clone() {
            let due = self.attempts[attempt.at()].cut_due();
            let Some((_, signal)) = due.filter(|(at, _)| *at <= now) else { continue };
            if signal == Signal::TooSlow && self.nearly_done(attempt, now) {
                moved = true;
                continue;
            }
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
        let late = self.lateness(attempt, signal);
        self.note_wait(attempt, now);
        if late.is_some_and(|late| self.stays_alone(attempt, late, now)) {
            return;
        }
        let state = &mut self.attempts[attempt.at()];
        (state.cut, state.late) = (true, late);
        let path = state.spec.path;
        let (after, automatic) =
            (state.limits.of(signal).unwrap_or_default(), state.limits.automatic);
        let cold = Reason::Late { path, signal, after, automatic };
        let reason = late.map_or(cold, |late| Reason::Timing(Timing::Cut(late)));
        self.decide(now, Some(step), Some(item), Kind::Cut, reason);
        let fails = self.policy(step).is_some_and(|(policy, _)| policy.on.slow == OnSlow::Fail);
        if fails {
            let text =
                format!("{} was cut: {signal} within {}", self.plan.path(path).label, show(after));
            let failure = Failure::of_attempt(FailureClass::Timeout, "cutoff", text);
            self.attempts[attempt.at()].failure = Some(failure.clone());
            self.steps[step.at()].item(item).failure = Some(failure);
            self.cancel(attempt, AttemptEnd::Cut, now);
        }
        let next = self.steps[step.at()].items[item.at()].next;
        if next.is_none_or(|next| next.is_early()) {
            self.react(attempt, Trouble::Cut(signal), 0, now);
        }
    }
}
