//! What follows a cut or a failure: which path, which model, told what.
//!
//! The reaction follows the cause. This module only chooses; whether the choice may be launched (attempts,
//! budget, time) is asked before and after by the engine.

use std::time::Duration;

use super::cutoff::Signal;
use crate::domain::failure::FailureClass;
use crate::domain::id::{ModelIx, PathIx};
use crate::domain::outcome::Cause;
use crate::domain::plan::{OnInvalid, OnRefused, OnSlow, OnTooLong, OnTrouble, Plan, Policy};
use crate::domain::time::Timestamp;

/// First pause before the same path is used again without a stated window; doubles each time.
pub const BACKOFF: Duration = Duration::from_secs(1);

/// What went wrong with an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It was cut.
    Cut(Signal),
    /// It failed, or its answer was invalid.
    Failed(FailureClass),
}

/// A step's or item's situation.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The step's policy.
    pub policy: &'a Policy,
    /// The model of the attempt in trouble.
    pub model: ModelIx,
    /// Its path.
    pub path: PathIx,
    /// Paths with an attempt in flight for this item, the one in trouble included where it stays.
    pub in_flight: &'a [PathIx],
    /// Paths this item has used already.
    pub used: &'a [PathIx],
    /// Whether a repair turn was taken on the current path's answer.
    pub repaired: bool,
    /// Whether another model was asked after a refusal.
    pub refused_before: bool,
    /// Per path: when it may be used again; [`Timestamp::NEVER`] where it is out for this run.
    pub open_at: &'a [Timestamp],
    /// Now.
    pub now: Timestamp,
}

/// What to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// On which path.
    pub path: PathIx,
    /// Of which model.
    pub model: ModelIx,
    /// Why.
    pub cause: Cause,
    /// Not before.
    pub at: Timestamp,
    /// What the model is told of the attempt before.
    pub told: Told,
}

/// What a follow-up attempt is told of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing: the prompt as it is.
    Nothing,
    /// Its answer and what was wrong with it.
    Violations,
    /// Where the run stands and what had arrived: a resume message.
    Resume,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Launch this.
    Launch(Choice),
    /// Keep waiting for what is in flight: nothing better can be launched beside it.
    Wait,
    /// Nothing can follow.
    GiveUp(NoWay),
}

/// Why nothing can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoWay {
    /// The policy says so.
    Policy,
    /// No path is left.
    Path,
}

/// The reaction to `trouble`.
#[must_use]
pub fn decide(view: &View<'_>, trouble: Trouble) -> Reaction {
    match trouble {
        Trouble::Cut(signal) => after_cut(view, signal),
        Trouble::Failed(class) => after_failure(view, class),
    }
}

fn after_cut(view: &View<'_>, signal: Signal) -> Reaction {
    let faster = match (view.policy.on.slow, signal) {
        (OnSlow::Fail, _) => return Reaction::GiveUp(NoWay::Policy),
        (OnSlow::Faster, _) | (OnSlow::Auto, Signal::TooSlow) => true,
        (OnSlow::Next, _) | (OnSlow::Auto, Signal::NoFirstToken | Signal::Stalled) => false,
    };
    let link = view.plan.model(view.model).faster.filter(|_| faster);
    let quicker = link.and_then(|model| view.first_of(model, Cause::Faster, Told::Resume));
    let choice = quicker.or_else(|| view.beside(Cause::Hedge));
    choice.map_or(Reaction::Wait, Reaction::Launch)
}

fn after_failure(view: &View<'_>, class: FailureClass) -> Reaction {
    use FailureClass as F;
    let on = &view.policy.on;
    let choice = match class {
        F::RateLimited | F::Overloaded if on.limited == OnTrouble::Next => view.next(Told::Resume),
        F::ServerError
        | F::Timeout
        | F::StreamInterrupted
        | F::QuotaExhausted
        | F::Auth
        | F::Permission
        | F::ModelNotFound
        | F::BadRequest
        | F::UnsupportedParameter
            if on.down == OnTrouble::Next =>
        {
            view.next(Told::Resume)
        }
        F::ContextOverflow if on.too_long == OnTooLong::Larger => view.larger(),
        F::ContentFiltered | F::Refusal if !view.refused_before => match on.refused {
            OnRefused::Stronger => {
                view.stronger(Told::Nothing).or_else(|| view.other(Told::Nothing))
            }
            OnRefused::Next => view.other(Told::Nothing),
            OnRefused::Fail => return Reaction::GiveUp(NoWay::Policy),
        },
        F::EmptyOutput
        | F::TruncatedOutput
        | F::UnparseableOutput
        | F::SchemaViolation
        | F::CheckFailed => match on.invalid {
            OnInvalid::Repair if !view.repaired => view.repair(),
            OnInvalid::Repair | OnInvalid::Stronger => {
                view.stronger(Told::Violations).or_else(|| view.next(Told::Violations))
            }
            OnInvalid::Next => view.next(Told::Violations),
            OnInvalid::Fail => return Reaction::GiveUp(NoWay::Policy),
        },
        F::RateLimited
        | F::Overloaded
        | F::ServerError
        | F::Timeout
        | F::StreamInterrupted
        | F::QuotaExhausted
        | F::Auth
        | F::Permission
        | F::ModelNotFound
        | F::BadRequest
        | F::UnsupportedParameter
        | F::ContextOverflow
        | F::ContentFiltered
        | F::Refusal
        | F::Rejected
        | F::Deadline
        | F::Budget
        | F::InvalidInput
        | F::Cancelled => return Reaction::GiveUp(NoWay::Policy),
    };
    choice.map_or(Reaction::GiveUp(NoWay::Path), Reaction::Launch)
}

impl View<'_> {
    fn open_at(&self, path: PathIx) -> Timestamp {
        self.open_at.get(path.at()).copied().unwrap_or_default()
    }

    fn choice(&self, model: ModelIx, path: PathIx, cause: Cause, told: Told) -> Choice {
        let swap = if path == self.path { Duration::ZERO } else { self.policy.swap_delay };
        Choice { path, model, cause, told, at: self.open_at(path).max(self.now + swap) }
    }

    /// The model's paths in order, beginning after the one in trouble where it is one of them.
    fn order(&self, model: ModelIx) -> impl Iterator<Item = PathIx> {
        let paths = &self.plan.model(model).paths;
        let start = paths.iter().position(|p| *p == self.path).map_or(0, |at| at + 1);
        let (before, after) = paths.split_at(start);
        after.iter().chain(before).copied()
    }

    /// The best of `candidates`: open now before open later, unused before used, then in order.
    fn best(&self, candidates: impl Iterator<Item = PathIx>) -> Option<PathIx> {
        candidates
            .filter(|p| self.open_at(*p) != Timestamp::NEVER)
            .min_by_key(|p| (self.open_at(*p).max(self.now), self.used.contains(p)))
    }

    fn first_of(&self, model: ModelIx, cause: Cause, told: Told) -> Option<Choice> {
        let free = self.plan.model(model).paths.iter().copied();
        let path = self.best(free.filter(|p| !self.in_flight.contains(p)))?;
        Some(self.choice(model, path, cause, told))
    }

    /// Beside an attempt that was cut: another path, or, where there is none and the vendor's capacity is
    /// shared, fresh luck on the same one. Only a path that is open now is worth an extra attempt.
    fn beside(&self, cause: Cause) -> Option<Choice> {
        let elsewhere = self.best(self.order(self.model).filter(|p| !self.in_flight.contains(p)));
        let again = Some(self.path).filter(|p| !self.plan.provider_of(*p).own_capacity);
        let ready = |p: &PathIx| self.open_at(*p) <= self.now;
        let path = elsewhere.filter(ready).or(again.filter(ready))?;
        let told = if path == self.path { Told::Nothing } else { Told::Resume };
        Some(self.choice(self.model, path, cause, told))
    }

    /// Another path; the same one again, after a pause, where it is the only one.
    fn next(&self, told: Told) -> Option<Choice> {
        let elsewhere = self.order(self.model).filter(|p| *p != self.path);
        if let Some(path) = self.best(elsewhere.filter(|p| !self.in_flight.contains(p))) {
            return Some(self.choice(self.model, path, Cause::Next, told));
        }
        let path = self.best(std::iter::once(self.path))?;
        let times = self.used.iter().filter(|p| **p == path).count().clamp(1, 6);
        let pause = BACKOFF * (1 << (times - 1));
        let mut choice = self.choice(self.model, path, Cause::Next, told);
        choice.at = choice.at.max(self.now + pause);
        Some(choice)
    }

    /// Another path, never the same one.
    fn other(&self, told: Told) -> Option<Choice> {
        let elsewhere = self.order(self.model).filter(|p| *p != self.path);
        let path = self.best(elsewhere.filter(|p| !self.in_flight.contains(p)))?;
        Some(self.choice(self.model, path, Cause::Next, told))
    }

    fn repair(&self) -> Option<Choice> {
        let path = self.best(std::iter::once(self.path))?;
        Some(self.choice(self.model, path, Cause::Repair, Told::Violations))
    }

    fn stronger(&self, told: Told) -> Option<Choice> {
        let model = self.plan.model(self.model).stronger?;
        self.first_of(model, Cause::Stronger, told)
    }

    /// A path whose window is known to be larger, or unknown: of this model, then of its links.
    fn larger(&self) -> Option<Choice> {
        let window = |p: PathIx| self.plan.path(p).profile.context.unwrap_or(u64::MAX);
        let current = self.plan.path(self.path).profile.context.unwrap_or(0);
        let model = self.plan.model(self.model);
        let models = [Some(self.model), model.stronger, model.faster];
        models.into_iter().flatten().find_map(|m| {
            let wider = self.plan.model(m).paths.iter().copied();
            let path =
                self.best(wider.filter(|p| window(*p) > current && !self.used.contains(p)))?;
            Some(self.choice(m, path, Cause::Next, Told::Nothing))
        })
    }
}

#[cfg(test)]
mod tests;
