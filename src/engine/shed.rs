//! Giving up in time: runs that cannot be in time are not begun, nothing is spent on what would come too late, and
//! optional steps are dropped for what needs the time.

use std::time::Duration;

use super::Machine;
use super::decision::timing::Timing;
use super::decision::{Kind, Reason};
use super::outlook::{AT_LEAST, reachable};
use super::state::Phase;
use crate::domain::failure::FailureClass;
use crate::domain::id::{PathIx, StepIx};
use crate::domain::outcome::{Outcome, RunFailure, Status};
use crate::domain::time::{Timestamp, show};
use crate::policy::cutoff::measured::seconds;

/// Latency that has risen everywhere is looked at over so long.
const SHOCK_WINDOW: Duration = Duration::from_secs(300);

impl Machine {
    /// Why nothing is spent on `path`: not even half of its median fits.
    pub(super) fn in_vain(&self, step: StepIx, path: PathIx, at: Timestamp) -> Option<Reason> {
        let least = self.measured(step, path)?.total.p50 * AT_LEAST;
        let quick = self.measure.as_ref()?.outlook.last_call(&self.plan, step, true);
        let quick = quick.filter(|_| !self.plan.step(step).optional).unwrap_or_default();
        let left = self.end_at.since(at).saturating_sub(quick);
        let needs = seconds(least);
        (needs > left).then_some(Reason::Timing(Timing::Vain { path, needs, left }))
    }

    /// A run whose critical path does not fit at the median of its quickest paths is not begun.
    pub(super) fn shed_short(&mut self, now: Timestamp) {
        let (Some(measure), None) = (&self.measure, &self.outcome) else { return };
        let wait = |step: StepIx| {
            let ready = reachable(&self.plan, step).map(|path| self.ready_at(path, now)).min();
            let first = self.plan.step(step).needs.is_empty();
            ready.filter(|_| first).map_or(0.0, |ready| ready.since(now).as_secs_f64())
        };
        let Some((needs, step)) = measure.outlook.critical(&self.plan, wait) else { return };
        let left = self.end_at.since(now);
        if needs <= left {
            return;
        }
        let waited = seconds(wait(step));
        let normal = needs.div_f64(self.shock().unwrap_or(1.0).max(1.0));
        let retry_after = match waited {
            waited if needs.saturating_sub(waited) <= left => Some(waited),
            _ => (normal <= left).then_some(SHOCK_WINDOW),
        };
        let name = &self.plan.step(step).name;
        let (usual, time) = (show(needs), show(left));
        let advice = match (retry_after, self.shock()) {
            (Some(_), Some(shock)) if waited.is_zero() => {
                format!("everything takes {shock:.1} times as long as usual now")
            }
            (Some(_), _) => format!("{} of it are the wait for its quota", show(waited)),
            (None, _) => {
                "give it a longer deadline, fewer steps in a row, or a quicker model".into()
            }
        };
        let message = format!(
            "needs about {usual} on the critical path, from step '{name}' on, {time} are left: {advice}"
        );
        self.end_short(step, message, (needs, left), retry_after, now);
    }

    fn end_short(
        &mut self,
        step: StepIx,
        message: String,
        (needs, left): (Duration, Duration),
        retry_after: Option<Duration>,
        now: Timestamp,
    ) {
        if let Some(measure) = &mut self.measure {
            measure.short = Some((needs, left));
        }
        let (class, step) = (FailureClass::Deadline, Some(step));
        self.finish(Outcome::Failed(RunFailure { class, step, message, retry_after }), now);
    }

    /// When `step` must be done, or begun, so that what is still to do can be; `None` where nothing says so.
    pub(super) fn last_call(&self, step: StepIx) -> Option<Timestamp> {
        let measure = self.measure.as_ref()?;
        let begun = match self.steps[step.at()].phase {
            Phase::Ended(_) | Phase::Answered => return None,
            Phase::Waiting | Phase::Preparing => false,
            Phase::Running => self.in_flight.iter().any(|a| self.place(*a).0 == step),
        };
        let ahead = measure.outlook.last_call(&self.plan, step, begun)?;
        let end = self.end_at.since_start();
        Some(Timestamp::after_start(end.saturating_sub(ahead)))
    }

    /// Stops spending where what is still to do no longer fits: optional steps are dropped, steps that can end with what
    /// they have do, and without anything of that kind the run fails at once.
    pub(super) fn heed_last_calls(&mut self, now: Timestamp) -> bool {
        if self.measure.is_none() {
            return false;
        }
        let due = |step: &StepIx| self.last_call(*step).is_some_and(|at| at <= now);
        let Some(step) = self.plan.step_ixs().find(due) else { return false };
        let left = self.end_at.since(now);
        let at = self.last_call(step).unwrap_or(now);
        let needs = self.end_at.since(at);
        let reason = Reason::Timing(Timing::LastCall { needs, left });
        if self.close_with_what_it_has(step, Status::Cut, &reason, now) {
            return true;
        }
        if self.plan.step(step).optional {
            self.close(step, Status::Cut, reason, now);
            return true;
        }
        self.decide(now, Some(step), None, Kind::Fail, reason);
        let name = &self.plan.step(step).name;
        let message = format!(
            "step '{name}' is not done, and what is still to do takes {} at least, {} are left",
            show(needs),
            show(left)
        );
        self.end_short(step, message, (needs, left), None, now);
        true
    }

    /// A step has ended; one that will never be done takes no more time.
    pub(super) fn note_closed(&mut self, step: StepIx, status: Status) {
        if let Some(measure) = self.measure.as_mut().filter(|_| status != Status::Ok) {
            measure.outlook.drop_step(&self.plan, step);
        }
    }

    /// Why a run ends that is late, or would be.
    pub(super) fn late_reason(&self) -> Reason {
        match self.measure.as_ref().and_then(|measure| measure.short) {
            Some((needs, left)) => Reason::Timing(Timing::Short { needs, left }),
            None => Reason::TimeUp { deadline: self.deadline },
        }
    }
}
