//! What follows a cut or a failure: which path, which model, told what.
//!
//! The reaction follows the cause. This module only chooses; whether the choice may be launched (attempts,
//! budget, time) is asked before and after by the engine.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cutoff::Signal;
use crate::domain::failure::FailureClass;
use crate::domain::id::{ModelIx, PathIx};
use crate::domain::outcome::Cause;
use crate::domain::plan::{OnInvalid, OnRefused, OnSlow, OnTooLong, OnTrouble, Plan, Policy};
use crate::domain::time::{Timestamp, show};

mod beside;
mod known;
pub use known::Known;

/// First pause before the same path is used again without a stated window; doubles each time.
pub const BACKOFF: Duration = Duration::from_secs(1);

/// What went wrong with an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// It was cut.
    Cut(Signal),
    /// It has not answered yet, and is joined by another before its cutoff.
    Unanswered {
        /// For so long.
        after: Duration,
        /// Whether tokens have come.
        flowing: bool,
    },
    /// It failed, or its answer was invalid.
    Failed(FailureClass),
}

impl Trouble {
    /// The class under which it is reported where nothing follows.
    #[must_use]
    pub const fn class(self) -> FailureClass {
        match self {
            Self::Cut(_) | Self::Unanswered { .. } => FailureClass::Timeout,
            Self::Failed(class) => class,
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cut(signal) => signal.fmt(f),
            Self::Unanswered { after, .. } => write!(f, "no answer after {}", show(*after)),
            Self::Failed(class) => class.fmt(f),
        }
    }
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
    /// Paths that cannot take this item's prompt: it overflowed their window, or they refused its form.
    pub unfit: &'a [PathIx],
    /// Whether the path may change once more.
    pub may_swap: bool,
    /// How long the answer in trouble took from its request's leaving on; `None` where there is none.
    pub took: Option<Duration>,
    /// Per path: when it may be used again; [`Timestamp::NEVER`] where it is out for this run.
    pub open_at: &'a [Timestamp],
    /// Per path: how long at least nobody is let through who lines up now; shorter: the rest has no line.
    pub line_for: &'a [Duration],
    /// What is measured of the paths.
    pub known: Known<'a>,
    /// Per path: how long at least an attempt beside another waits for a permit; shorter: the rest has permits.
    pub permit_waits: &'a [Duration],
    /// Per path: whether a permit is all that it lacks for an attempt beside another; shorter: the rest has permits.
    pub short: &'a [bool],
    /// How many attempts may yet be launched beside those in flight; with 0 what follows waits until one fails or is given
    /// up.
    pub room: usize,
    /// When the run ends at the latest.
    pub end_at: Timestamp,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
        Trouble::Unanswered { flowing, .. } => {
            let signal = if flowing { Signal::TooSlow } else { Signal::NoFirstToken };
            view.beside(signal).map_or(Reaction::Wait, Reaction::Launch)
        }
        Trouble::Failed(class) => after_failure(view, class),
    }
}

fn after_cut(view: &View<'_>, signal: Signal) -> Reaction {
    let faster = match (view.policy.on.slow, signal) {
        (OnSlow::Fail, _) => return Reaction::GiveUp(NoWay::Policy),
        (OnSlow::Faster, _) | (OnSlow::Auto, Signal::TooSlow) => true,
        (OnSlow::Next, _)
        | (OnSlow::Auto, Signal::NoFirstToken | Signal::Stalled | Signal::Sluggish) => false,
    };
    let beside = view.beside(signal);
    let choice = if faster {
        // A quicker model on a sick provider is not quicker.
        let (sound, sick) = view.quicker().map_or((None, None), |choice| {
            if view.known.suspects(choice.path) {
                (None, Some(choice))
            } else {
                (Some(choice), None)
            }
        });
        view.sooner(sound, beside).or(sick)
    } else {
        view.or_quicker(beside)
    };
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
            if on.down == OnTrouble::Next =>
        {
            view.next(Told::Resume)
        }
        // The same request would be refused in the same words.
        F::BadRequest | F::UnsupportedParameter if on.down == OnTrouble::Next => {
            view.other(Told::Resume)
        }
        F::ContextOverflow if on.too_long == OnTooLong::Larger => view.larger(),
        F::ContentFiltered | F::Refusal if !view.refused_before => match on.refused {
            OnRefused::Stronger => {
                view.sooner(view.stronger(Told::Resume), view.other(Told::Resume))
            }
            OnRefused::Next => view.other(Told::Resume),
            OnRefused::Fail => return Reaction::GiveUp(NoWay::Policy),
        },
        F::EmptyOutput
        | F::TruncatedOutput
        | F::UnparseableOutput
        | F::SchemaViolation
        | F::CheckFailed => match on.invalid {
            OnInvalid::Repair if !view.repaired => {
                let repair = view.sooner(view.repair(), view.better());
                view.in_time().or(repair)
            }
            OnInvalid::Repair => view.in_time().or_else(|| view.better()),
            OnInvalid::Stronger => view.better(),
            OnInvalid::Next => view.redraw(),
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

/// Lines shorter than this are none, and so are those shorter than a fiftieth of the run: another path is no better
/// for them.
const SHORT_LINE: Duration = Duration::from_secs(1);

/// When `path` can be used in a run that ends at `end_at`, as far as that is known: it is open, and its line moves.
#[must_use]
pub fn ready_at(
    open_at: &[Timestamp],
    line_for: &[Duration],
    path: PathIx,
    end_at: Timestamp,
    now: Timestamp,
) -> Timestamp {
    let open = open_at.get(path.at()).copied().unwrap_or_default();
    let short = SHORT_LINE.min(end_at.since_start() / 50);
    let line = line_for.get(path.at()).copied().filter(|line| *line >= short);
    open.max(now + line.unwrap_or_default())
}

impl View<'_> {
    fn open_at(&self, path: PathIx) -> Timestamp {
        self.open_at.get(path.at()).copied().unwrap_or_default()
    }

    fn choice(&self, model: ModelIx, path: PathIx, cause: Cause, told: Told) -> Choice {
        let swap = if path == self.path { Duration::ZERO } else { self.policy.swap_delay };
        let at = self.open_at(path).max(self.now + swap).max(self.permitted_at(path));
        Choice { path, model, cause, at, told }
    }

    /// When an attempt may join what is in flight, as far as permits go.
    fn permitted_at(&self, path: PathIx) -> Timestamp {
        self.now + self.permit_waits.get(path.at()).copied().unwrap_or_default()
    }

    /// The first choice, unless only the second can be had without waiting for a closed path.
    fn sooner(&self, first: Option<Choice>, second: Option<Choice>) -> Option<Choice> {
        match (first, second) {
            (Some(a), Some(b)) if b.at + self.policy.swap_delay < a.at => Some(b),
            (first, second) => first.or(second),
        }
    }

    /// The model's paths in order, beginning after the one in trouble where it is one of them.
    fn order(&self, model: ModelIx) -> impl Iterator<Item = PathIx> {
        let paths = &self.plan.model(model).paths;
        let start = paths.iter().position(|p| *p == self.path).map_or(0, |at| at + 1);
        let (before, after) = paths.split_at(start);
        after.iter().chain(before).copied()
    }

    /// Paths of the model beside the one in trouble that nothing of this item is in flight on.
    fn elsewhere(&self, model: ModelIx) -> impl Iterator<Item = PathIx> {
        self.order(model).filter(|p| *p != self.path && !self.in_flight.contains(p))
    }

    /// Whether the path can take the prompt before the run's end.
    fn usable(&self, path: PathIx) -> bool {
        self.ready_at(path) < self.end_at
            && !self.unfit.contains(&path)
            && (self.may_swap || path == self.path)
    }

    fn ready_at(&self, path: PathIx) -> Timestamp {
        ready_at(self.open_at, self.line_for, path, self.end_at, self.now)
            .max(self.permitted_at(path))
    }

    /// The best of `candidates`: ready now before ready later, well before sick, of another quota before what is in flight,
    /// unused before used, then in order.
    fn best(&self, candidates: impl Iterator<Item = PathIx>) -> Option<PathIx> {
        candidates.filter(|p| self.usable(*p)).min_by_key(|p| {
            let (ready, sick) = (self.ready_at(*p), self.known.suspects(*p));
            (ready, sick, self.crowded(*p), self.used.contains(p))
        })
    }

    /// The best path of a linked model; never the one in trouble, which a link may share.
    fn first_of(&self, model: ModelIx, cause: Cause, told: Told) -> Option<Choice> {
        let paths = self.plan.model(model).paths.iter().copied();
        let free = paths.filter(|p| *p != self.path && !self.in_flight.contains(p));
        let path = self.best(free)?;
        Some(self.choice(model, path, cause, told))
    }

    /// Another path; the same one again, after a pause, where no other can be used sooner.
    fn next(&self, told: Told) -> Option<Choice> {
        self.or_quicker(self.sooner(self.other(told), self.again(told)))
    }

    /// The quicker model, where the policy allows it.
    fn quicker(&self) -> Option<Choice> {
        let allowed = matches!(self.policy.on.slow, OnSlow::Auto | OnSlow::Faster);
        let model = self.plan.model(self.model).faster.filter(|_| allowed)?;
        self.first_of(model, Cause::Faster, Told::Resume)
    }

    /// `way`; the quicker model where something is measured that speaks against it: its provider is sick, or its
    /// answer would usually come too late. Also where there is no other way, once anything is measured.
    fn or_quicker(&self, way: Option<Choice>) -> Option<Choice> {
        let measured = self.known.left.is_some() || !self.known.suspect.is_empty();
        let sound = way.filter(|c| !self.known.suspects(c.path) && self.known.fits(c.path));
        if sound.is_some() || !measured {
            return way;
        }
        let quicker = self.quicker().filter(|choice| !self.known.suspects(choice.path));
        self.sooner(quicker, way)
    }

    /// Another path, never the same one.
    fn other(&self, told: Told) -> Option<Choice> {
        self.away(Cause::Next, told, |_| true)
    }

    /// The model's best path beside the one in trouble, of those that `may` be; where it has none, the best of the step's
    /// own model.
    fn away(&self, cause: Cause, told: Told, may: impl Fn(PathIx) -> bool) -> Option<Choice> {
        self.models().find_map(|model| {
            let path = self.best(self.elsewhere(model).filter(|path| may(*path)))?;
            Some(self.choice(model, path, cause, told))
        })
    }

    /// The model of the attempt in trouble, then the step's own.
    fn models(&self) -> impl Iterator<Item = ModelIx> {
        [Some(self.model), self.known.home].into_iter().flatten()
    }

    /// The same path, after a pause that doubles each time.
    fn again(&self, told: Told) -> Option<Choice> {
        let path = self.best([self.path].into_iter())?;
        let times = self.used.iter().filter(|p| **p == path).count().clamp(1, 6);
        let pause = BACKOFF * (1 << (times - 1));
        let mut choice = self.choice(self.model, path, Cause::Next, told);
        choice.at = choice.at.max(self.now + pause);
        (choice.at < self.end_at).then_some(choice)
    }

    fn repair(&self) -> Option<Choice> {
        let path = self.best([self.path].into_iter())?;
        Some(self.choice(self.model, path, Cause::Repair, Told::Violations))
    }

    /// After invalid output, where less time is left than the answer took: a repair on the quicker model. The same model
    /// takes about as long again, and a more capable one no less.
    fn in_time(&self) -> Option<Choice> {
        let late = self.took.is_some_and(|took| self.now + took >= self.end_at)
            || !self.known.fits(self.path);
        let allowed = matches!(self.policy.on.slow, OnSlow::Auto | OnSlow::Faster);
        let model = self.plan.model(self.model).faster.filter(|_| late && allowed)?;
        self.first_of(model, Cause::Faster, Told::Violations)
    }

    /// After invalid output: the more capable model, else a re-draw.
    fn better(&self) -> Option<Choice> {
        let stronger = self.stronger(Told::Violations);
        let (fits, late) = (stronger.filter(|choice| self.known.fits(choice.path)), stronger);
        self.sooner(fits, self.redraw()).or(late)
    }

    /// Another path, told what was wrong; the same one where there is no other: it is well, only its answer
    /// was not, so nothing is waited for.
    fn redraw(&self) -> Option<Choice> {
        let same = self.best([self.path].into_iter());
        let same = same.map(|p| self.choice(self.model, p, Cause::Next, Told::Violations));
        self.sooner(self.other(Told::Violations), same)
    }

    fn stronger(&self, told: Told) -> Option<Choice> {
        let model = self.plan.model(self.model).stronger?;
        self.first_of(model, Cause::Stronger, told)
    }

    /// A path whose window is known to be larger, or unknown: of this model, then of its links; one that was not
    /// used yet before one that was, and failed for another reason.
    fn larger(&self) -> Option<Choice> {
        let window = |p: PathIx| self.plan.path(p).profile.context.unwrap_or(u64::MAX);
        let current = self.plan.path(self.path).profile.context.unwrap_or(0);
        let model = self.plan.model(self.model);
        let models = [Some(self.model), model.stronger, model.faster];
        [false, true].into_iter().find_map(|used| {
            models.into_iter().flatten().find_map(|m| {
                let wider = self.plan.model(m).paths.iter().copied();
                let free = wider.filter(|p| window(*p) > current && !self.in_flight.contains(p));
                let path = self.best(free.filter(|p| self.used.contains(p) == used))?;
                Some(self.choice(m, path, Cause::Next, Told::Resume))
            })
        })
    }
}

#[cfg(test)]
mod tests;
