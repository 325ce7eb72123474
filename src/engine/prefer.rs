//! Which path is preferred by what is measured, and by what this run has seen: providers that are sick come last, much
//! slower paths behind quicker ones, and a quicker model is begun with where the step's own does not fit.

use std::time::Duration;

use super::decision::timing::Timing;
use super::decision::{Away, Passed, Reason};
use super::outlook::may_speed_up;
use super::{Machine, Next};
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, ItemIx, ModelIx, PathIx, StepIx};
use crate::domain::time::Timestamp;
use crate::policy::cutoff::measured::seconds;

/// Another path goes before the first only where its P95 is shorter by this factor: the order that was written is a
/// choice too (the published rules).
const SLOWER: f64 = 1.3;

impl Machine {
    /// The provider of `path` is sick in this run: others are preferred from now on.
    pub(super) fn suspect(&mut self, path: PathIx) {
        let provider = self.plan.path(path).provider;
        let Some(measure) = &mut self.measure else { return };
        for (suspect, path) in measure.suspect.iter_mut().zip(&self.plan.paths) {
            *suspect |= path.provider == provider;
        }
    }

    /// A failure of an attempt speaks of its provider: throttling at once, anything else at the second in a step.
    pub(super) fn note_failure(&mut self, attempt: AttemptId, class: FailureClass) {
        if self.measure.is_none() {
            return;
        }
        let (step, item) = self.place(attempt);
        let path = self.attempts[attempt.at()].spec.path;
        let provider = self.plan.path(path).provider;
        let of = &self.steps[step.at()].items[item.at()].attempts;
        let before = of.iter().map(|a| &self.attempts[a.at()]).filter(|a| {
            a.failure.is_some()
                && !a.turned_away
                && self.plan.path(a.spec.path).provider == provider
        });
        let throttled = matches!(class, FailureClass::RateLimited | FailureClass::Overloaded);
        if throttled || before.count() > 0 {
            self.suspect(path);
        }
    }

    /// A cut has shown how long was waited for a first token: longer than 99 of 100 do means a sick provider.
    pub(super) fn note_wait(&mut self, attempt: AttemptId, now: Timestamp) {
        let state = &self.attempts[attempt.at()];
        let path = state.spec.path;
        let waited = state.sent.filter(|_| state.first_token.is_none()).map(|at| now.since(at));
        if waited.zip(state.pace).is_some_and(|(waited, pace)| waited >= pace.late) {
            self.suspect(path);
        }
    }

    /// Per path: whether its provider is sick, its median for `step`, and the time left: what a reaction goes by.
    pub(super) fn known_of(&self, step: StepIx) -> (Vec<bool>, Vec<Option<Duration>>) {
        let Some(measure) = &self.measure else { return (Vec::new(), Vec::new()) };
        let usual = (0..).map(PathIx).zip(&self.plan.paths);
        let usual = usual.map(|(p, _)| Some(seconds(self.measured(step, p)?.total.p50)));
        (measure.suspect.clone(), usual.collect())
    }

    /// Time left for `step` in whole microseconds; `None` where what follows it is not known.
    pub(super) fn time_for(&self, step: StepIx, now: Timestamp) -> Option<Duration> {
        self.left_for(step, now).map(seconds)
    }

    /// A path's place among those of its model for `step`: slower ones behind quicker ones, then those that are sick in
    /// this run, then those that are more than twice as slow.
    pub(super) fn rank(&self, step: StepIx, model: ModelIx, path: PathIx) -> u8 {
        let Some(measure) = &self.measure else { return 0 };
        let slower = match self.slower(step, model, path) {
            // Measured over weeks, it is worse than what one attempt has made suspect.
            Some((own, best)) if own > best * 2 => 3,
            slower => u8::from(slower.is_some()),
        };
        2 * u8::from(measure.suspect[path.at()]) + slower
    }

    fn slower(&self, step: StepIx, model: ModelIx, path: PathIx) -> Option<(Duration, Duration)> {
        let own = self.measured(step, path)?.total.p95;
        let others = self.plan.model(model).paths.iter().filter(|other| **other != path);
        let best = others.filter_map(|other| Some(self.measured(step, *other)?.total.p95));
        let best = best.fold(f64::INFINITY, f64::min);
        (best * SLOWER < own).then(|| (seconds(own), seconds(best)))
    }

    /// How a path is passed over though it is open.
    pub(super) fn ranked_lower(&self, step: StepIx, model: ModelIx, path: PathIx) -> Option<Away> {
        if self.measure.as_ref()?.suspect[path.at()] {
            return Some(Away::Suspect);
        }
        let (p95, other) = self.slower(step, model, path)?;
        Some(Away::Slower { p95, other })
    }

    /// A quicker model for the first attempt, where the step's own on `path` usually takes longer than is left for it.
    pub(super) fn hurried(
        &self,
        step: StepIx,
        item: ItemIx,
        (model, path): (ModelIx, PathIx),
        now: Timestamp,
    ) -> Option<(ModelIx, PathIx)> {
        let left = self.left_for(step, now)?;
        let own = self.measured(step, path)?.total.p50;
        let (policy, _) = self.policy(step)?;
        if own <= left || self.plan.step(step).optional || !may_speed_up(policy.on.slow) {
            return None;
        }
        let faster = self.plan.model(model).faster?;
        let suspect = &self.measure.as_ref()?.suspect;
        let paths = self.plan.model(faster).paths.iter().copied();
        let usable = paths.filter(|p| {
            self.takes(step, item, *p, 0) && self.ready_at(*p, now) <= now && !suspect[p.at()]
        });
        let usual = usable.filter_map(|p| Some((p, self.measured(step, p)?.total.p50)));
        let (quickest, usual) = usual.min_by(|a, b| a.1.total_cmp(&b.1))?;
        (usual < own).then_some((faster, quickest))
    }

    /// Why a first attempt is on a faster model.
    pub(super) fn hurry_reason(&self, step: StepIx, next: &Next, now: Timestamp) -> Option<Reason> {
        let model = self.steps[step.at()].model.filter(|own| *own != next.choice.model)?;
        let own = *self.plan.model(model).paths.first()?;
        let usual = seconds(self.measured(step, own)?.total.p50);
        let left = self.time_for(step, now).filter(|left| *left < usual)?;
        let path = next.choice.path;
        Some(Reason::Timing(Timing::Hurried { path, own, usual, left }))
    }

    /// The first path before `chosen` in the order that was written, where it was passed over though it is open.
    pub(super) fn passed_by_rank(
        &self,
        step: StepIx,
        model: ModelIx,
        chosen: PathIx,
    ) -> Option<Passed> {
        let paths = self.plan.model(model).paths.iter().copied();
        let mut before = paths.take_while(|path| *path != chosen);
        before.find_map(|path| Some(Passed { path, away: self.ranked_lower(step, model, path)? }))
    }
}
