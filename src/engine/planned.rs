//! Where the planner decides: the path a step starts on, whether another attempt joins, whether a lighter answer waits.
//!
//! It does so where a run's pilot has tables, for steps whose cutoff and hedge are left to it (`auto`) and that run once.
//! Everything else is decided by the rules, and so is what the planner has no answer to: a refusal, a prompt that is too
//! long, a dead key.

mod stand_in;
mod view;

use std::sync::Arc;
use std::time::Duration;

use super::Machine;
use super::decision::worth::Worth;
use super::decision::{Kind, Reason};
use super::next::Next;
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, ItemIx, ModelIx, PathIx, StepIx};
use crate::domain::outcome::{AttemptEnd, Cause, Status};
use crate::domain::plan::{Cutoff, Hedge, OnInvalid, OnSlow, OnTrouble};
use crate::domain::time::Timestamp;
use crate::planner::belief::Belief;
use crate::planner::decide;
use crate::planner::look::{Beside, Ended, View};
use crate::planner::tables::Tables;
use crate::policy::fallback::{Choice, Told, Trouble};
use view::{Active, Joins};

/// How often it is asked whether another attempt pays, while nothing happens. Half of the published planner's gain over
/// a second's tick is had at half a second.
const TICK: Duration = Duration::from_millis(500);
/// Most attempts of a planned step in flight at once.
pub(super) const RACE_MAX: usize = 3;
/// A step has one item, where it has no `each`.
const ONLY: ItemIx = ItemIx(0);

/// What a run has come to think, and when it thinks again.
#[derive(Clone, Debug)]
pub(super) struct Mind {
    tables: Arc<Tables>,
    belief: Belief,
    tick: Timestamp,
}

/// What is to be done about one step.
enum Move {
    Accept(AttemptId),
    Launch(Joiner),
    GiveUp,
}

/// Another attempt.
struct Joiner {
    path: PathIx,
    /// The attempt it is launched beside.
    beside: AttemptId,
    worth: Worth,
    /// Whether it takes that one's place.
    replaces: bool,
}

impl Mind {
    pub(super) fn new(tables: Arc<Tables>) -> Self {
        Self { belief: Belief::new(&tables), tables, tick: Timestamp::ZERO }
    }
}

impl Machine {
    /// Whether the planner decides about a step.
    pub(super) fn is_planned(&self, step: StepIx) -> bool {
        // Not by `mind`, which is taken out while the planner thinks.
        let tables = self.pilot.as_ref().is_some_and(|pilot| pilot.tables.is_some());
        let Some((policy, _)) = self.policy(step).filter(|_| tables) else {
            return false;
        };
        let left_to_it = policy.cutoff == Cutoff::Auto
            && policy.hedge == Hedge::Auto
            && policy.on.slow == OnSlow::Auto;
        left_to_it && self.plan.step(step).each.is_none()
    }

    /// Whether it decides what follows a failure: those that another attempt may be spared, and where the policy does
    /// not say what follows.
    fn plans_after(&self, step: StepIx, class: FailureClass) -> bool {
        use FailureClass as F;
        let Some((policy, _)) = self.policy(step).filter(|_| self.is_planned(step)) else {
            return false;
        };
        match class {
            F::RateLimited | F::Overloaded => policy.on.limited == OnTrouble::Next,
            F::ServerError | F::Timeout | F::StreamInterrupted => policy.on.down == OnTrouble::Next,
            F::EmptyOutput
            | F::TruncatedOutput
            | F::UnparseableOutput
            | F::SchemaViolation
            | F::CheckFailed => policy.on.invalid == OnInvalid::Repair,
            F::ContextOverflow
            | F::QuotaExhausted
            | F::Auth
            | F::Permission
            | F::ModelNotFound
            | F::BadRequest
            | F::UnsupportedParameter
            | F::ContentFiltered
            | F::Refusal
            | F::Rejected
            | F::Deadline
            | F::Budget
            | F::InvalidInput
            | F::Cancelled => false,
        }
    }

    /// An attempt is no longer in flight: what it has shown of its provider is kept.
    pub(super) fn note_ended(&mut self, attempt: AttemptId, how: Ended, now: Timestamp) {
        if self.mind.is_none() || self.attempts[attempt.at()].sent.is_none() {
            return;
        }
        let look = self.look(attempt, now);
        if let Some(mind) = &mut self.mind {
            mind.belief.ended(&mind.tables, &look, how);
        }
    }

    /// When the planner looks again though nothing happens; `None` where nothing of its is under way.
    pub(super) fn tick_at(&self) -> Option<Timestamp> {
        let mind = self.mind.as_ref()?;
        let waits = |attempt: &AttemptId| self.is_planned(self.attempts[attempt.at()].spec.step);
        self.in_flight.iter().any(waits).then_some(mind.tick)
    }

    /// Looks at every planned step: at each tick whether another attempt pays, at each event whether what is held waits.
    pub(super) fn plan_ahead(&mut self, now: Timestamp) -> bool {
        let Some(mind) = &self.mind else { return false };
        let ticks = now >= mind.tick;
        let holds = |step: &super::StepState| step.items.first().is_some_and(|i| i.held.is_some());
        if !ticks && !self.steps.iter().any(holds) {
            return false;
        }
        let Some(mut mind) = self.mind.take() else { return false };
        let tables = mind.tables.clone();
        let all = self.active(&tables, now);
        mind.belief.see(&tables, all.iter().flat_map(|active| &active.looks));
        if ticks {
            mind.tick = now + TICK;
        }
        let beside: Vec<Beside<'_>> = all.iter().map(Active::beside).collect();
        let moves = all.iter().enumerate().filter_map(|(ix, active)| {
            let others: Vec<Beside<'_>> =
                beside[..ix].iter().chain(&beside[ix + 1..]).copied().collect();
            let next = self.consider(&mind, active, &others, ticks, now)?;
            Some((active.step, next))
        });
        let moves: Vec<(StepIx, Move)> = moves.collect();
        self.mind = Some(mind);
        let some = !moves.is_empty();
        for (step, next) in moves {
            self.make(step, &next, now);
        }
        some
    }

    fn consider(
        &self,
        mind: &Mind,
        active: &Active,
        beside: &[Beside<'_>],
        ticks: bool,
        now: Timestamp,
    ) -> Option<Move> {
        let Active { step, looks, held } = active;
        if let Some(held) = held {
            let alone = looks.is_empty();
            let frame = self.frame(*step, Joins::Alone, now);
            let view = View {
                held: Some(self.attempts[held.at()].spec.path),
                ..frame.view(looks, beside)
            };
            let waits = !alone && decide::keep_holding(&mind.tables, &mind.belief, &view);
            return (!waits).then_some(Move::Accept(*held));
        }
        let state = &self.steps[step.at()].items[ONLY.at()];
        if !ticks || looks.is_empty() || state.next.is_some() {
            return None;
        }
        if looks.len() >= RACE_MAX {
            return self.stand_in(mind, active, beside, now).map(Move::Launch);
        }
        let frame = self.frame(*step, Joins::Beside, now);
        let view = frame.view(looks, beside);
        if self.plan.step(*step).optional && decide::give_up(&mind.tables, &mind.belief, &view) {
            return Some(Move::GiveUp);
        }
        let Some(extra) = decide::extra(&mind.tables, &mind.belief, &view) else {
            return self.stand_in(mind, active, beside, now).map(Move::Launch);
        };
        let live = |a: &&AttemptId| self.attempts[a.at()].ended.is_none();
        let beside = *state.attempts.iter().rfind(live)?;
        let worth = Worth::new(Some(extra.waiting), extra.with, extra.price);
        Some(Move::Launch(Joiner { path: extra.path, beside, worth, replaces: false }))
    }

    fn make(&mut self, step: StepIx, next: &Move, now: Timestamp) {
        match *next {
            Move::Accept(attempt) => self.accept_held(step, attempt, now),
            Move::GiveUp => self.close(step, Status::Cut, Reason::NotWorth, now),
            Move::Launch(Joiner { path, beside, worth, replaces }) => {
                let state = &self.attempts[beside.at()];
                let after = state.sent.map_or(Duration::ZERO, |sent| now.since(sent));
                let trouble = Trouble::Unanswered { after, flowing: state.first_token.is_some() };
                let Some(model) = self.model_of(step, path) else { return };
                let cause = self.cause(step, model);
                let choice = Choice { path, model, cause, at: now, told: Told::Nothing };
                let next = Next {
                    worth: Some(worth),
                    replaces: replaces.then_some(beside),
                    ..Next::of(choice, Some((beside, trouble)))
                };
                self.steps[step.at()].item(ONLY).next = Some(next);
            }
        }
    }

    /// The nearest model of a step's chain of links that offers the path.
    fn model_of(&self, step: StepIx, path: PathIx) -> Option<ModelIx> {
        let models = self.plan.linked(self.steps[step.at()].model?);
        models.into_iter().find(|model| self.plan.model(*model).paths.contains(&path))
    }

    /// Why an attempt on `model` joins or follows another of the step.
    fn cause(&self, step: StepIx, model: ModelIx) -> Cause {
        let own = self.steps[step.at()].model.map(|own| self.plan.model(own));
        match own {
            Some(own) if own.faster == Some(model) => Cause::Faster,
            Some(own) if own.stronger == Some(model) => Cause::Stronger,
            _ => Cause::Hedge,
        }
    }

    /// Where a step starts; `None` where the rules are to say.
    pub(super) fn planned_start(
        &mut self,
        step: StepIx,
        item: ItemIx,
        now: Timestamp,
    ) -> Option<Next> {
        if !self.is_planned(step) || item != ONLY {
            return None;
        }
        let start = self.ask_start(step, now)?;
        let model = self.model_of(step, start.path)?;
        let cause = match self.steps[step.at()].revisions {
            0 => Cause::Primary,
            _ => Cause::Revision,
        };
        let at = self.open_at[start.path.at()].max(now);
        let choice = Choice { path: start.path, model, cause, at, told: Told::Nothing };
        let worth = Some(Worth::new(None, start.value, 0.0));
        Some(Next { worth, ..Next::of(choice, None) })
    }

    fn ask_start(&mut self, step: StepIx, now: Timestamp) -> Option<decide::Start> {
        self.ask(step, now, |mind, view| {
            decide::start(&mind.tables, &mind.belief, &View { attempts: &[], ..*view })
        })?
    }

    /// Asks the planner about one step, by all that is seen now; `None` where there is no planner.
    fn ask<T>(
        &mut self,
        step: StepIx,
        now: Timestamp,
        question: impl FnOnce(&Mind, &View<'_>) -> T,
    ) -> Option<T> {
        let mut mind = self.mind.take()?;
        let tables = mind.tables.clone();
        let all = self.active(&tables, now);
        mind.belief.see(&tables, all.iter().flat_map(|active| &active.looks));
        let others = all.iter().filter(|active| active.step != step);
        let beside: Vec<Beside<'_>> = others.map(Active::beside).collect();
        let looks = all.iter().find(|active| active.step == step).map_or(&[][..], |of| &of.looks);
        let frame = self.frame(step, Joins::Alone, now);
        let answer = question(&mind, &frame.view(looks, &beside));
        self.mind = Some(mind);
        Some(answer)
    }

    /// What follows a failure when nothing of the item is in flight any more; `None` where the rules are to say.
    pub(super) fn planned_restart(
        &mut self,
        attempt: AttemptId,
        class: FailureClass,
        now: Timestamp,
    ) -> Option<(Choice, Worth)> {
        let (step, item) = self.place(attempt);
        if !self.plans_after(step, class) || item != ONLY || self.racing(step, item) > 0 {
            return None;
        }
        let start = self.ask_start(step, now)?;
        let model = self.model_of(step, start.path)?;
        let invalid = matches!(
            class,
            FailureClass::EmptyOutput
                | FailureClass::TruncatedOutput
                | FailureClass::UnparseableOutput
                | FailureClass::SchemaViolation
                | FailureClass::CheckFailed
        );
        let same = start.path == self.attempts[attempt.at()].spec.path;
        let cause = match self.cause(step, model) {
            Cause::Hedge if same && invalid => Cause::Repair,
            Cause::Hedge => Cause::Next,
            linked => linked,
        };
        let told = if invalid { Told::Violations } else { Told::Resume };
        let pause =
            self.policy(step).filter(|_| !same).map_or(Duration::ZERO, |(p, _)| p.swap_delay);
        let at = self.open_at[start.path.at()].max(now + pause);
        let choice = Choice { path: start.path, model, cause, at, told };
        (at < self.end_at).then(|| (choice, Worth::new(None, start.value, 0.0)))
    }

    /// Keeps a valid answer of less trust while a more trusted attempt is about to finish; whether it did.
    pub(super) fn hold(&mut self, attempt: AttemptId, pass: Option<bool>, now: Timestamp) -> bool {
        let (step, item) = self.place(attempt);
        if !self.is_planned(step) || item != ONLY || self.racing(step, item) == 0 {
            return false;
        }
        if self.steps[step.at()].items[item.at()].held.is_some() {
            return false;
        }
        let path = self.attempts[attempt.at()].spec.path;
        let waits = self.ask(step, now, |mind, view| {
            let view = View { held: Some(path), ..*view };
            decide::keep_holding(&mind.tables, &mind.belief, &view)
        });
        let waits = waits == Some(true);
        if waits {
            self.steps[step.at()].item(item).held = Some((attempt, pass));
            self.decide(now, Some(step), Some(item), Kind::Wait, Reason::Held { path });
        }
        waits
    }

    pub(super) fn accept_held(&mut self, step: StepIx, attempt: AttemptId, now: Timestamp) {
        let held = self.steps[step.at()].item(ONLY).held.take();
        if let Some((_, pass)) = held.filter(|(held, _)| *held == attempt) {
            self.accept(attempt, pass, now);
        }
    }

    /// Takes every answer that is held: nothing better comes in time.
    pub(super) fn accept_all_held(&mut self, now: Timestamp) {
        for step in self.plan.clone().step_ixs() {
            self.accept_held_of(step, now);
        }
    }

    /// The same for one step; whether it had one.
    pub(super) fn accept_held_of(&mut self, step: StepIx, now: Timestamp) -> bool {
        let held = self.steps[step.at()].items.first().and_then(|item| item.held);
        if let Some((attempt, _)) = held {
            self.accept_held(step, attempt, now);
        }
        held.is_some()
    }

    /// Another answer was accepted: the one that was held is not needed.
    pub(super) fn drop_held(&mut self, step: StepIx, item: ItemIx, accepted: AttemptId) {
        let held = self.steps[step.at()].item(item).held.take();
        if let Some((attempt, _)) = held.filter(|(held, _)| *held != accepted)
            && let Some((_, end)) = &mut self.attempts[attempt.at()].ended
        {
            *end = AttemptEnd::Superseded;
        }
    }
}
