//! Who is in the race for a step or item, and who leaves it: an attempt that hangs.
//!
//! A cutoff closes nothing: what was cut may still win. But it keeps its place, and where no other attempt may be launched
//! because the race is full, or because no other quota has a permit, a provider that hangs would hold the step to its
//! deadline. So when everything in flight was cut and has been silent for twice its cutoff, the oldest is given up: it is
//! closed, and replaced by an attempt elsewhere. At no moment more is in flight.

use std::time::Duration;

use super::Machine;
use super::decision::{Kind, Reason};
use super::next::Next;
use super::planned;
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::outcome::AttemptEnd;
use crate::domain::time::Timestamp;
use crate::policy::cutoff::Signal;

/// Most attempts of one step or item in flight at once: one, and one extra.
const RACE_MAX: usize = 2;

/// An attempt that has been silent for so many times its cutoff may be given up.
const GIVEN_UP: u32 = 2;

impl Machine {
    /// Attempts of the item that are in flight, cut ones included.
    pub(super) fn racing(&self, step: StepIx, item: ItemIx) -> usize {
        self.in_race(step, item).count()
    }

    /// The same, oldest first.
    pub(super) fn in_race(
        &self,
        step: StepIx,
        item: ItemIx,
    ) -> impl Iterator<Item = AttemptId> + use<'_> {
        let attempts = self.steps[step.at()].items[item.at()].attempts.iter().copied();
        attempts.filter(|attempt| self.attempts[attempt.at()].ended.is_none())
    }

    /// Whether as many attempts are in flight as may be.
    pub(super) fn race_is_full(&self, step: StepIx, item: ItemIx) -> bool {
        let races = self.policy(step).is_some_and(|(policy, _)| policy.hedge.races());
        let most = if self.is_planned(step) { planned::RACE_MAX } else { RACE_MAX };
        races && self.racing(step, item) >= most
    }

    /// When everything in flight will have been silent for too long; `None` while something of it says something, or may
    /// still be relied on, and where what replaced the oldest would not be given as long as the oldest's cutoff: so late,
    /// attempts that can hardly be in time would only take from their quotas what other runs could use.
    pub(super) fn hung_at(&self, step: StepIx, item: ItemIx, now: Timestamp) -> Option<Timestamp> {
        let full = self.race_is_full(step, item);
        let all = self.in_race(step, item).map(|attempt| self.silence(attempt, full));
        let all = all.collect::<Option<Vec<_>>>()?;
        let (_, cutoff) = *all.first()?;
        let at =
            all.iter().map(|(since, cutoff)| *since + cutoff.saturating_mul(GIVEN_UP)).max()?;
        (at.max(now) + cutoff < self.end_at).then_some(at)
    }

    /// Since when an attempt that was cut is silent, and its cutoff for that; `None` where nothing bounds it. One that has
    /// begun to answer and may pause as it likes is given up for its total, but only where the race is full.
    fn silence(&self, attempt: AttemptId, full: bool) -> Option<(Timestamp, Duration)> {
        let state = &self.attempts[attempt.at()];
        let since = state.latest_token.or(state.sent).filter(|_| state.cut)?;
        let begun = state.first_token.is_some();
        let signal = if begun { Signal::Stalled } else { Signal::NoFirstToken };
        let limit = state.limits.of(signal).or(state.limits.total.filter(|_| full))?;
        Some((since, limit))
    }

    /// The attempt that one on `path` replaces now; `None` where none is to be given up.
    pub(super) fn replaced_by(
        &self,
        step: StepIx,
        item: ItemIx,
        path: PathIx,
        now: Timestamp,
    ) -> Option<AttemptId> {
        let hung = self.hung_at(step, item, now).is_some_and(|at| at <= now);
        let oldest = self.in_race(step, item).next()?;
        (hung && self.stands_in(step, item, path)).then_some(oldest)
    }

    /// Whether an attempt on `path` may stand in for those in flight once they hang.
    pub(super) fn stands_in(&self, step: StepIx, item: ItemIx, path: PathIx) -> bool {
        let racing: Vec<AttemptId> = self.in_race(step, item).collect();
        self.may_replace(&racing, path)
    }

    /// Whether an attempt on `path` may take the place of one of `hung`: on a path without any of them, and either on the
    /// quota of another provider that is at ease, or with a permit.
    pub(super) fn may_replace(&self, hung: &[AttemptId], path: PathIx) -> bool {
        let provider = |path: PathIx| self.plan.path(path).provider;
        let mut paths = hung.iter().map(|attempt| self.attempts[attempt.at()].spec.path);
        let same = paths.clone().any(|hung| hung == path);
        let elsewhere = paths.all(|hung| provider(hung) != provider(path));
        let shortage = self.permits.get(path.at()).and_then(|stock| stock.shortage);
        let eased = shortage.is_none_or(|shortage| !shortage.is_pressure());
        !same && if elsewhere { eased } else { shortage.is_none() }
    }

    /// A launch waits for its place in a race of which all hang, on a path that hangs with them: another path, where there
    /// is one by now, does not wait. Whether there is.
    pub(super) fn look_elsewhere(
        &mut self,
        step: StepIx,
        item: ItemIx,
        next: &Next,
        now: Timestamp,
    ) -> bool {
        let hung = self.hung_at(step, item, now).is_some_and(|at| at <= now);
        let stuck = hung && self.race_is_full(step, item);
        let Some((from, trouble)) = next.after.filter(|_| stuck) else { return false };
        if self.stands_in(step, item, next.choice.path) {
            return false;
        }
        let choice = self.follow_up(from, trouble, now);
        let Some(choice) = choice.ok().filter(|c| self.stands_in(step, item, c.path)) else {
            return false;
        };
        self.plan_next(from, trouble, choice, next.told_tokens);
        true
    }

    /// Closes an attempt that hangs; its path is closed for this run for as long again as it was waited for.
    pub(super) fn give_up(&mut self, attempt: AttemptId, now: Timestamp) {
        let (step, item) = self.place(attempt);
        let state = &self.attempts[attempt.at()];
        let path = state.spec.path;
        let silent = now.since(state.latest_token.or(state.sent).unwrap_or(state.launched));
        let reason = Reason::GivenUp { path, silent };
        self.decide(now, Some(step), Some(item), Kind::Cancel, reason);
        self.cancel(attempt, AttemptEnd::Cut, now);
        let open = &mut self.open_at[path.at()];
        *open = (*open).max(now + silent);
    }
}
