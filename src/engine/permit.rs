//! Permits: an attempt beside one that may still win needs one of the quota it is sent to.
//!
//! How many there are is asked of what all runs know ([`Signals::permits`](super::Signals::permits)) and settled by the
//! quota's door when the attempt lines up, so that two runs never spend one permit. A refusal means waiting on, and asking
//! again, until what is in flight is given up: `race.rs`.

use std::time::Duration;

use super::Machine;
use super::decision::{Kind, Reason};
use super::next::Next;
use super::state::Said;
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::outcome::Cause;
use crate::domain::time::Timestamp;
use crate::policy::fallback::Trouble;
use crate::policy::permit::{CAP, Claim, Permit, Stock};

/// What becomes of a launch that is due.
pub(super) enum Leave {
    /// It may be launched, with this claim.
    Go(Claim),
    /// Not now.
    No(Reason),
    /// It may in place of this attempt, which hangs.
    Replaces(AttemptId),
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

    /// Per path: how long an extra attempt waits for a permit at least, or for the moment at which it needs none, because
    /// it replaces one that hangs. Empty where none is needed: nothing of the item is in flight.
    pub(super) fn permit_waits(&self, step: StepIx, item: ItemIx, now: Timestamp) -> Vec<Duration> {
        if self.racing(step, item) == 0 {
            return Vec::new();
        }
        let hung = self.hung_at(step, item, now).map(|at| at.since(now));
        let waits = (0..).map(PathIx).zip(&self.plan.paths).map(|(path, _)| {
            let wait = self.permits.get(path.at()).map_or(Duration::ZERO, |stock| stock.wait);
            hung.filter(|_| self.stands_in(step, item, path)).map_or(wait, |hung| wait.min(hung))
        });
        waits.collect()
    }

    /// Per path: whether a permit is all that it lacks for an extra attempt; empty where none is needed.
    pub(super) fn short_of_permits(&self, step: StepIx, item: ItemIx) -> Vec<bool> {
        if self.racing(step, item) == 0 {
            return Vec::new();
        }
        let short = |stock: &Stock| stock.shortage.is_some_and(|shortage| !shortage.is_pressure());
        self.permits.iter().map(short).collect()
    }

    /// Whether a launch that is due may happen now.
    pub(super) fn leave(&self, step: StepIx, item: ItemIx, next: &Next, now: Timestamp) -> Leave {
        if self.racing(step, item) == 0 {
            return Leave::Go(self.claim_alone(step, item, next));
        }
        let path = next.choice.path;
        let live = |attempt: &AttemptId| self.attempts[attempt.at()].ended.is_none();
        let replaced = match next.replaces.filter(live) {
            Some(attempt) => self.may_replace(&[attempt], path).then_some(attempt),
            None => self.replaced_by(step, item, path, now),
        };
        match (self.permit_for(path), replaced) {
            (Ok(_), Some(attempt)) if self.race_is_full(step, item) => Leave::Replaces(attempt),
            (Ok(_), _) => Leave::Go(Claim::Needs),
            (Err(_), Some(attempt)) => Leave::Replaces(attempt),
            (Err(reason), None) => Leave::No(reason),
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
        let said = &mut self.attempts[from.at()].unpermitted;
        if std::mem::replace(said, Said::Once) == Said::NotYet {
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
