//! Permits: an attempt beside one that may still win needs one of the quota it is sent to.
//!
//! How many there are is asked of what all runs know ([`Signals::permits`](super::Signals::permits)) and settled by the
//! quota's door when the attempt lines up, so that two runs never spend one permit. A refusal means waiting on, and asking
//! again. Who waits on for an attempt that stays silent for twice its cutoff gives it up: it is closed, and replaced where
//! another quota is at ease. A provider that hangs holds nobody for longer, and at no moment more is in flight.

use std::time::Duration;

use super::Machine;
use super::decision::{Kind, Reason};
use super::state::Next;
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::outcome::{AttemptEnd, Cause};
use crate::domain::time::Timestamp;
use crate::policy::cutoff::Signal;
use crate::policy::fallback::Trouble;
use crate::policy::permit::{CAP, Claim, Permit, Stock};

/// An attempt that has been silent for so many times its cutoff is given up where no permit is to be had.
const GIVEN_UP: u32 = 2;

/// What becomes of a launch that is due.
pub(super) enum Leave {
    /// It may be launched, with this claim.
    Go(Claim),
    /// Not now.
    No(Reason),
    /// It may in place of the attempts that are in flight.
    Replaces,
}

impl Machine {
    /// Leave for an attempt on `path` beside one that may still win.
    ///
    /// # Errors
    /// Why there is none now: whoever asks waits on.
    pub fn permit_for(&self, path: PathIx) -> Result<Permit, Reason> {
        let Some(stock) = self.permits.get(path.at()) else { return Ok(Permit::Uncounted) };
        stock.permit().map_err(|_| Reason::NotPermitted { path, stock: *stock })
    }

    /// Per path: how long an extra attempt waits for a permit at least. Empty where none is needed: nothing of the item
    /// is in flight.
    pub(super) fn permit_waits(&self, step: StepIx, item: ItemIx) -> Vec<Duration> {
        if self.racing(step, item) == 0 {
            return Vec::new();
        }
        let wait = |path: usize| self.permits.get(path).map_or(Duration::ZERO, |stock| stock.wait);
        (0..self.plan.paths.len()).map(wait).collect()
    }

    /// Whether a launch that is due may happen now.
    pub(super) fn leave(&self, step: StepIx, item: ItemIx, next: &Next, now: Timestamp) -> Leave {
        if self.racing(step, item) == 0 {
            return Leave::Go(self.claim_alone(step, item, next));
        }
        match self.permit_for(next.choice.path) {
            Ok(_) => Leave::Go(Claim::Needs),
            Err(_) if self.may_replace(step, item, next, now) => Leave::Replaces,
            Err(reason) => Leave::No(reason),
        }
    }

    /// What an attempt is that has nothing beside it: load that failures bring back takes a permit, an answer that is
    /// mended does not.
    fn claim_alone(&self, step: StepIx, item: ItemIx, next: &Next) -> Claim {
        use FailureClass as F;
        let first = self.steps[step.at()].items[item.at()].attempts.is_empty();
        match next.after {
            None if first && next.choice.cause == Cause::Primary => Claim::Earns,
            None => Claim::Nothing,
            Some((_, Trouble::Cut(_) | Trouble::Unanswered { .. })) => Claim::Takes,
            Some((_, Trouble::Failed(class))) => match class {
                F::RateLimited
                | F::Overloaded
                | F::ServerError
                | F::Timeout
                | F::StreamInterrupted => Claim::Takes,
                F::QuotaExhausted
                | F::Auth
                | F::Permission
                | F::ModelNotFound
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
                | F::Cancelled => Claim::Nothing,
            },
        }
    }

    /// Whether everything in flight has been silent for so long that it is given up, and `next` goes to a quota of
    /// another provider that is at ease.
    fn may_replace(&self, step: StepIx, item: ItemIx, next: &Next, now: Timestamp) -> bool {
        let provider = |path: PathIx| self.plan.path(path).provider;
        let stock = self.permits.get(next.choice.path.at());
        let eased = stock.and_then(|s| s.shortage).is_none_or(|shortage| !shortage.is_pressure());
        eased
            && self.in_race(step, item).all(|attempt| {
                let path = self.attempts[attempt.at()].spec.path;
                provider(path) != provider(next.choice.path)
                    && self.given_up_at(attempt).is_some_and(|at| at <= now)
            })
    }

    fn in_race(&self, step: StepIx, item: ItemIx) -> impl Iterator<Item = AttemptId> {
        let attempts = self.steps[step.at()].items[item.at()].attempts.iter().copied();
        attempts.filter(|attempt| self.attempts[attempt.at()].ended.is_none())
    }

    /// When an attempt that was cut has been silent for too long; `None` while it says something.
    fn given_up_at(&self, attempt: AttemptId) -> Option<Timestamp> {
        let state = &self.attempts[attempt.at()];
        let since = state.latest_token.or(state.sent).filter(|_| state.cut)?;
        let signal =
            if state.first_token.is_some() { Signal::Stalled } else { Signal::NoFirstToken };
        Some(since + state.limits.of(signal)? * GIVEN_UP)
    }

    /// Closes what is given up; its path is closed for this run for as long again as it was waited for.
    pub(super) fn give_up(&mut self, step: StepIx, item: ItemIx, now: Timestamp) {
        for attempt in self.in_race(step, item).collect::<Vec<_>>() {
            let state = &self.attempts[attempt.at()];
            let path = state.spec.path;
            let silent = now.since(state.latest_token.or(state.sent).unwrap_or(state.launched));
            self.decide(
                now,
                Some(step),
                Some(item),
                Kind::Cancel,
                Reason::GivenUp { path, silent },
            );
            self.cancel(attempt, AttemptEnd::Cut, now);
            let open = &mut self.open_at[path.at()];
            *open = (*open).max(now + silent);
        }
    }

    /// Waits on with what is in flight: decides anew what follows and when, and says once why it does not now.
    pub(super) fn wait_on(
        &mut self,
        (step, item): (StepIx, ItemIx),
        next: &Next,
        reason: Reason,
        now: Timestamp,
    ) {
        self.steps[step.at()].item(item).next = None;
        if let Some(attempt) = self.beside(next) {
            self.early_refused(attempt, reason, now);
        } else if let Some((from, _)) = next.after {
            self.say_unpermitted(from, reason, now);
            self.reconsider(from, next, now);
        }
    }

    /// Says once why an attempt that was cut is not joined by another.
    fn say_unpermitted(&mut self, from: AttemptId, reason: Reason, now: Timestamp) {
        let (step, item) = self.place(from);
        if !std::mem::replace(&mut self.attempts[from.at()].unpermitted, true) {
            self.decide(now, Some(step), Some(item), Kind::Wait, reason);
        }
    }

    /// The same for what was planned for later because there is no permit now.
    pub(super) fn note_unpermitted(&mut self, from: AttemptId, path: PathIx, now: Timestamp) {
        let (step, item) = self.place(from);
        if self.racing(step, item) > 0
            && let Err(reason) = self.permit_for(path)
        {
            self.say_unpermitted(from, reason, now);
        }
    }

    /// An attempt with this claim is sent to `path`: its quota has that much less, until the next event brings what all
    /// runs have left it.
    pub(super) fn note_claim(&mut self, path: PathIx, claim: Claim) {
        let provider = self.plan.path(path).provider;
        for (path, stock) in self.plan.paths.iter().zip(&mut self.permits) {
            if path.provider == provider {
                stock.claim(claim);
            }
        }
    }

    /// Its quota bears no extra attempt, as its door has found: until the next event tells more.
    pub(super) fn note_no_permit(&mut self, path: PathIx) -> Reason {
        let provider = self.plan.path(path).provider;
        self.permits.resize(self.plan.paths.len(), Stock::of(CAP));
        for (path, stock) in self.plan.paths.iter().zip(&mut self.permits) {
            if path.provider == provider && stock.shortage.is_none() {
                *stock = Stock::of(0);
            }
        }
        Reason::NotPermitted { path, stock: self.permits[path.at()] }
    }
}
