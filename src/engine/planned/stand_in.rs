//! When the planner may launch nothing more, because too much is in flight or no other quota has a permit, and what is in
//! flight hangs: the oldest gives its place to an attempt that pays. Planned attempts have no cutoffs that could say so.

use std::time::Duration;

use super::super::Machine;
use super::super::decision::worth::Worth;
use super::super::outlook::reachable;
use super::view::{Active, Joins};
use super::{Joiner, Mind, ONLY, RACE_MAX};
use crate::domain::id::{AttemptId, PathIx, StepIx};
use crate::domain::time::Timestamp;
use crate::planner::decide;
use crate::planner::look::{Beside, Look};
use crate::policy::cutoff::COLD_FIRST_TOKEN;
use crate::policy::cutoff::measured::seconds;

/// An attempt hangs that has been silent for so many times as long as 99 of 100 first tokens take.
const HANGS: u32 = 3;

impl Machine {
    /// The attempt that takes the place of the oldest that hangs, where nothing more may be launched beside it.
    pub(super) fn stand_in(
        &self,
        mind: &Mind,
        active: &Active,
        others: &[Beside<'_>],
        now: Timestamp,
    ) -> Option<Joiner> {
        let Active { step, looks, .. } = active;
        let attempts = &self.steps[step.at()].items[ONLY.at()].attempts;
        let live = attempts.iter().copied().filter(|a| self.attempts[a.at()].ended.is_none());
        let live: Vec<AttemptId> = live.collect();
        let hung: Vec<AttemptId> = live.iter().copied().filter(|a| self.hangs(*a, now)).collect();
        let beside = *hung.first()?;
        if looks.len() < RACE_MAX && self.permits_elsewhere(*step, &hung) {
            return None;
        }
        let rest = live.iter().zip(looks).filter(|(attempt, _)| **attempt != beside);
        let rest: Vec<Look> = rest.map(|(_, look)| *look).collect();
        let frame = self.frame(*step, Joins::Instead(&hung), now);
        let view = frame.view(&rest, others);
        let (path, worth) = if rest.is_empty() {
            let start = decide::start(&mind.tables, &mind.belief, &view)?;
            (start.path, Worth::new(None, start.value, 0.0))
        } else {
            let extra = decide::extra(&mind.tables, &mind.belief, &view)?;
            (extra.path, Worth::new(Some(extra.waiting), extra.with, extra.price))
        };
        let now_there = self.ready_at(path, now) <= now && self.may_replace(&hung, path);
        now_there.then_some(Joiner { path, beside, worth, replaces: true })
    }

    /// Whether a planned attempt has been silent for far longer than its path's first tokens take.
    fn hangs(&self, attempt: AttemptId, now: Timestamp) -> bool {
        let state = &self.attempts[attempt.at()];
        let Some(since) = state.latest_token.or(state.sent) else { return false };
        let times = self.pilot.as_ref().and_then(|p| p.times(state.spec.step, state.spec.path));
        let usual = times.map_or(COLD_FIRST_TOKEN, |times| seconds(times.first_token.p99));
        let most = usual.max(Duration::from_millis(1)).saturating_mul(HANGS);
        now.since(since) >= most
    }

    /// Whether an attempt may join on a quota that nothing of these hangs on.
    fn permits_elsewhere(&self, step: StepIx, hung: &[AttemptId]) -> bool {
        let provider = |path: PathIx| self.plan.path(path).provider;
        let sick = |path: PathIx| {
            hung.iter().any(|a| provider(self.attempts[a.at()].spec.path) == provider(path))
        };
        reachable(&self.plan, step).any(|path| !sick(path) && self.permit_for(path).is_ok())
    }
}
