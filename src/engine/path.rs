//! What is known of paths: closed by this run's own failures, or by what all runs have found.
//!
//! A run takes what the others know as it stands when something happens ([`Signals`]); a path that was closed stays
//! closed for the run until the time that was named, so that its decisions replay. An attempt that was launched and
//! then turned away, because its path was closed meanwhile, counts for nothing: what it was launched for is decided
//! anew.

use std::time::Duration;

use super::decision::{Away, Kind, Passed, Reason};
use super::state::Phase;
use super::{Machine, Signals};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::id::{AttemptId, ModelIx, PathIx, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::AttemptEnd;
use crate::domain::plan::Work;
use crate::domain::time::{Timestamp, show};
use crate::policy::closing::{self, Closing};
use crate::policy::fallback::ready_at;
use crate::policy::permit::NO_PERMIT;

/// Most paths that the text of a failure names.
const NAMED_MAX: usize = 3;

impl Machine {
    pub(super) fn note_signals(&mut self, signals: &Signals, now: Timestamp) {
        self.traffic.clone_from(&signals.traffic);
        self.permits.clone_from(&signals.permits);
        self.line_for.clone_from(&signals.line_for);
        self.windows.clone_from(&signals.windows);
        let paths = self.open_at.iter_mut().zip(&mut self.why);
        for (ix, ((open, why), closed)) in paths.zip(&signals.closed_for).enumerate() {
            let until = now + *closed;
            if !closed.is_zero() && until > *open {
                *open = until;
                *why = signals.why.get(ix).cloned().flatten();
            }
        }
    }

    /// Closes, for this run, the paths that a failure speaks of.
    pub(super) fn close_paths(&mut self, path: PathIx, failure: &Failure, now: Timestamp) {
        let (scope, until) = match closing::decide(failure) {
            Closing::Nothing | Closing::TooSmall | Closing::Unfit => return,
            Closing::For(scope, wait) => (scope, now + wait),
            Closing::ForRun(scope) => (scope, Timestamp::NEVER),
        };
        for (ix, open) in self.open_at.iter_mut().enumerate() {
            if concerned(&self.plan, scope, path, ix) {
                *open = (*open).max(until);
            }
        }
    }

    /// When `path` can be used, as far as that is known.
    pub(super) fn ready_at(&self, path: PathIx, now: Timestamp) -> Timestamp {
        ready_at(&self.open_at, &self.line_for, path, self.end_at, now)
    }

    /// How `path` is away at `now`; `None` where it is not.
    pub(super) fn away(&self, path: PathIx, now: Timestamp) -> Option<Away> {
        let open_at = self.open_at[path.at()];
        let ready_at = self.ready_at(path, now);
        if open_at <= now {
            return (ready_at > now).then(|| Away::Line { wait: ready_at.since(now) });
        }
        let own = self.own_closing(&[path]).map(|failure| failure.class);
        let shared = self.why[path.at()].as_ref().map(|why| why.event.class);
        let class = shared.or(own);
        let elsewhere = shared.is_some() && shared != own;
        Some(if open_at == Timestamp::NEVER {
            Away::Out { class, elsewhere }
        } else {
            Away::Closed { wait: open_at.since(now), class, elsewhere }
        })
    }

    /// The first path that would have been chosen before `chosen`, had it not been away. `from`: the one in trouble,
    /// after which the order begins.
    pub(super) fn passed_over(
        &self,
        model: ModelIx,
        chosen: PathIx,
        from: Option<PathIx>,
        now: Timestamp,
    ) -> Option<Passed> {
        let paths = &self.plan.model(model).paths;
        let start = paths.iter().position(|p| Some(*p) == from).map_or(0, |at| at + 1);
        let (before, after) = paths.split_at(start);
        let order = after.iter().chain(before).copied();
        let earlier = order.take_while(|p| *p != chosen).filter(|p| Some(*p) != from);
        let mut away = earlier.filter_map(|p| Some(Passed { path: p, away: self.away(p, now)? }));
        away.next()
    }

    /// The path of `model` that can be used first, where none can now.
    pub(super) fn first_to_open(&self, model: ModelIx, now: Timestamp) -> Option<Passed> {
        let paths = self.plan.model(model).paths.iter().copied();
        let path = paths.min_by_key(|p| self.ready_at(*p, now))?;
        Some(Passed { path, away: self.away(path, now)? })
    }

    /// The latest failure of this run that closed one of `paths`.
    fn own_closing(&self, paths: &[PathIx]) -> Option<&Failure> {
        let mut sent = self.attempts.iter().rev().filter(|a| !a.turned_away);
        sent.find_map(|a| {
            let failure = a.failure.as_ref()?;
            let scope = match closing::decide(failure) {
                Closing::For(scope, _) | Closing::ForRun(scope) => scope,
                Closing::Nothing | Closing::TooSmall | Closing::Unfit => return None,
            };
            let closed = |path: &PathIx| concerned(&self.plan, scope, a.spec.path, path.at());
            paths.iter().any(closed).then_some(failure)
        })
    }

    /// Why no path of `model` can be used any more: what closed the one that opens first, and when that is.
    pub(super) fn no_open_path(&self, model: ModelIx, now: Timestamp) -> Failure {
        let retry_after = self.soonest_open(model, now);
        let paths = &self.plan.model(model).paths;
        let soonest = paths.iter().map(|p| self.ready_at(*p, now)).min();
        let first = paths.iter().copied().filter(|p| Some(self.ready_at(*p, now)) == soonest);
        let first: Vec<PathIx> = first.collect();
        if let Some(own) = self.own_closing(&first) {
            return Failure { retry_after, ..own.clone() };
        }
        let why = first.iter().find_map(|path| self.why[path.at()].clone());
        let class = why.as_ref().map_or(FailureClass::RateLimited, |why| why.event.class);
        let named = paths.iter().take(NAMED_MAX).filter_map(|path| self.away_text(*path, now));
        let named: Vec<String> = named.collect();
        let model = &self.plan.model(model).name;
        let list = if named.is_empty() { String::new() } else { format!(": {}", named.join("; ")) };
        let text = format!("no path of model '{model}' is open in time{list}");
        let evidence = "every path is closed";
        Failure { retry_after, ..Failure::of_attempt(class, evidence, text) }
    }

    /// How a path is away, with what was said where it was closed.
    fn away_text(&self, path: PathIx, now: Timestamp) -> Option<String> {
        let label = &self.plan.path(path).label;
        let said = match (&self.why[path.at()], self.own_closing(&[path])) {
            (Some(why), _) => format!(" ({}: {})", why.event.class, why.said),
            (None, Some(own)) => format!(" ({}: {})", own.class, own.message),
            (None, None) => String::new(),
        };
        Some(match self.away(path, now)? {
            Away::Closed { wait, .. } => format!("{label} is closed for {}{said}", show(wait)),
            Away::Out { .. } => format!("{label} is out{said}"),
            Away::Line { wait } => {
                format!("the limits before {label} let nothing through for {}", show(wait))
            }
            // Passed over, and open all the same.
            Away::Suspect | Away::Slower { .. } => return None,
        })
    }

    /// How long until the first of the model's paths can be used; `None` where one can now, or none ever.
    pub(super) fn soonest_open(&self, model: ModelIx, now: Timestamp) -> Option<Duration> {
        let paths = self.plan.model(model).paths.iter();
        let soonest = paths.map(|p| self.ready_at(*p, now)).min()?;
        (soonest > now && soonest != Timestamp::NEVER).then(|| soonest.since(now))
    }

    /// A run that cannot succeed is not begun: a step that is needed in any case has no path that opens before
    /// the run's end.
    pub(super) fn shed_hopeless(&mut self, now: Timestamp) {
        let hopeless = self.plan.step_ixs().find_map(|step| {
            let plan = self.plan.step(step);
            let Work::Model { model, .. } = plan.work else { return None };
            let spared = |ix: StepIx| self.plan.step(ix).optional || self.plan.step(ix).conditional;
            let needed = self.steps[step.at()].phase == Phase::Waiting
                && plan.each.is_none()
                && !spared(step)
                && !plan.validates.is_some_and(spared);
            let paths = &self.plan.model(model).paths;
            let shut = paths.iter().all(|p| self.ready_at(*p, now) >= self.end_at);
            (needed && shut).then_some((step, model))
        });
        let Some((step, model)) = hopeless else { return };
        if let Some(first) = self.first_to_open(model, now) {
            self.decide(now, Some(step), None, Kind::Fail, Reason::AllAway { first });
        }
        let failure = self.no_open_path(model, now);
        self.fail_step(step, &failure, now);
    }

    /// An attempt was not sent. Nothing was spent, and it does not count.
    pub(super) fn turned_away(&mut self, attempt: AttemptId, failure: Failure, now: Timestamp) {
        let state = self.attempts.get(attempt.at());
        let Some(state) = state.filter(|a| a.ended.is_none() && a.sent.is_none()) else { return };
        let (path, planned, before) = (state.spec.path, state.planned, state.before);
        let (step, item) = self.place(attempt);
        self.settle(attempt, Usage::default(), AttemptEnd::Failed, now);
        self.close_paths(path, &failure, now);
        let class = failure.class;
        let unpermitted = failure.evidence == NO_PERMIT;
        let state = &mut self.attempts[attempt.at()];
        (state.turned_away, state.failure) = (true, Some(failure));
        let state = self.steps[step.at()].item(item);
        (state.repaired, state.refused, state.swaps) = before;
        let reason = if unpermitted {
            self.note_no_permit(path)
        } else {
            Reason::TurnedAway { path, class }
        };
        self.decide(now, Some(step), Some(item), Kind::Wait, reason);
        match planned.after {
            _ if self.steps[step.at()].items[item.at()].next.is_some() => {}
            None => self.first_attempt(step, item, now),
            Some((from, _)) => self.reconsider(from, &planned, now),
        }
    }
}

/// Whether a failure on `path` that reaches `scope` concerns the path at `ix`.
fn concerned(plan: &crate::domain::plan::Plan, scope: Scope, path: PathIx, ix: usize) -> bool {
    match scope {
        Scope::Attempt => false,
        Scope::Path => ix == path.at(),
        Scope::Quota | Scope::Provider => plan.paths[ix].provider == plan.path(path).provider,
    }
}
