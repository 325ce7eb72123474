//! What a run makes of measured times: cutoffs, projections, which providers are sick in this run, and when what is left
//! no longer fits.

use std::time::Duration;

use super::Machine;
use super::decision::timing::{Alone, By, Late, Timing};
use super::decision::{Kind, Reason};
use super::outlook::{Outlook, known, reachable_from};
use super::state::{AttemptState, Pace, Phase};
use crate::domain::id::{AttemptId, ModelIx, PathIx, StepIx};
use crate::domain::outcome::{Cause, Status};
use crate::domain::plan::{After, Cutoff, Hedge, OnSlow, Plan};
use crate::domain::time::Timestamp;
use crate::planner::{Pilot, Times};
use crate::policy::cutoff::measured::{
    self, Curve, Misses, Projection, SHOCK, SLUGGISH, Situation, scaled, seconds,
};
use crate::policy::cutoff::{self, Limits, Signal};

/// A rate below this part of the usual one means a sick provider (the published rules), once the answer has flowed for
/// [`SICK_AFTER`].
const SICK: f64 = 0.45;
const SICK_AFTER: Duration = Duration::from_millis(1_500);
/// What a fresh attempt takes where it is not measured: the published rules let an attempt finish that is that close.
const FRESH: f64 = 2.0;
/// An answer that is nearly there is given so long at least.
const GRACE: Duration = Duration::from_millis(500);

/// What a run with a pilot keeps beside it.
#[derive(Clone, Debug)]
pub(super) struct Measure {
    pub(super) outlook: Outlook,
    /// Per path: whether its provider is sick in this run.
    pub(super) suspect: Vec<bool>,
    /// What was needed and what was left, where the run was given up for it.
    pub(super) short: Option<(Duration, Duration)>,
}

impl Measure {
    pub(super) fn of(plan: &Plan, pilot: &Pilot) -> Self {
        let suspect = vec![false; plan.paths.len()];
        Self { outlook: Outlook::of(plan, pilot), suspect, short: None }
    }
}

impl Machine {
    pub(super) fn measured(&self, step: StepIx, path: PathIx) -> Option<&Times> {
        known(self.pilot.as_ref()?, step, path)
    }

    /// By how much everything is slower than usual, where that is a shock.
    pub(super) fn shock(&self) -> Option<f64> {
        self.pilot.as_ref().map(|pilot| pilot.shock).filter(|shock| *shock > SHOCK)
    }

    /// Seconds left for `step`, when what usually follows it is taken off; `None` where that is not known.
    pub(super) fn left_for(&self, step: StepIx, now: Timestamp) -> Option<f64> {
        let after = self.measure.as_ref()?.outlook.after(step)?;
        Some(self.end_at.since(now).as_secs_f64() - after)
    }

    /// The limits of an attempt that is launched now, and what its stream is held against; `waves`: how often the step's
    /// items still come to the front.
    pub(super) fn limits(
        &self,
        step: StepIx,
        (model, path): (ModelIx, PathIx),
        waves: u32,
        now: Timestamp,
    ) -> (Limits, Option<Pace>) {
        if self.is_planned(step) {
            return (Limits::default(), None);
        }
        let left = self.end_at.since(now);
        let share = self.shares.share(step, left, waves);
        let cutoff = self.policy(step).map_or(Cutoff::Auto, |(policy, _)| policy.cutoff);
        let known = self.measured(step, path).filter(|_| cutoff == Cutoff::Auto);
        let Some((times, measure)) = known.zip(self.measure.as_ref()) else {
            return (cutoff::decide(cutoff, share), None);
        };
        let curve = Curve::from(times);
        let own = times.total.p50;
        let rest = measure.outlook.after(step).map(|after| own * f64::from(waves.max(1)) + after);
        let rest = rest.filter(|rest| rest.is_finite() && *rest > 0.0);
        let seconds_left = left.as_secs_f64();
        let done = |ix: usize| self.steps[ix].phase == Phase::Ended(Status::Ok);
        let situation = Situation {
            dependants: measure.outlook.dependants(step),
            slack: rest.map(|rest| (seconds_left - rest) / rest),
            paid: measure.outlook.paid(done),
            shock: self.pilot.as_ref().map_or(1.0, |pilot| pilot.shock),
            share: rest.map_or(share, |rest| seconds(seconds_left * own / rest)),
        };
        let fresh = reachable_from(&self.plan, step, model)
            .filter(|other| *other != path)
            .map(|other| self.measured(step, other).map_or(FRESH, |times| times.total.p50));
        let pace = Pace {
            expected: times.tokens,
            usual: times.rate,
            late: seconds(times.first_token.p99),
            gain: fresh.fold(f64::INFINITY, f64::min),
            extended: false,
        };
        (measured::decide(&curve, &situation), Some(pace))
    }

    /// The limits of an attempt of `step` on `path` if it were launched at `at`, for whoever explains a plan; those of a
    /// step with items as though they ran in one wave.
    #[must_use]
    pub fn limits_if_launched(&self, step: StepIx, path: PathIx, at: Timestamp) -> Limits {
        let model = self.steps.get(step.at()).and_then(|state| state.model);
        model.map_or_else(Limits::default, |model| self.limits(step, (model, path), 1, at).0)
    }

    /// When an attempt is joined by another before its cutoff, as `hedge: {after}` says.
    pub(super) fn early_after(&self, step: StepIx, path: PathIx) -> Option<Duration> {
        match self.policy(step)?.0.hedge {
            Hedge::After { after: After::Fixed(after), .. } => Some(after),
            Hedge::After { after: After::Percentile(percent), .. } => {
                Some(Curve::from(self.measured(step, path)?).percentile(percent))
            }
            Hedge::Off | Hedge::Auto => None,
        }
    }

    /// Latency has risen everywhere: hedging would only add to it.
    pub(super) fn shock_refusal(&self) -> Option<Reason> {
        let hundredths = scaled(self.shock()?, 100.0);
        Some(Reason::Timing(Timing::Shock { hundredths }))
    }

    /// Looks at a stream that has just moved: whether its provider is sick, and whether it will be done in time.
    pub(super) fn note_flow(&mut self, attempt: AttemptId, now: Timestamp) {
        let state = &self.attempts[attempt.at()];
        let (Some(pace), Some(sent), Some(first)) = (state.pace, state.sent, state.first_token)
        else {
            return;
        };
        let path = state.spec.path;
        let late = now == first && first.since(sent) > pace.late;
        let rate = state.flow.stream.rate(now.since(first));
        let slow = rate.filter(|rate| *rate < SICK * pace.usual && now.since(first) > SICK_AFTER);
        let projected = rate.and_then(|rate| self.project(state, &pace, rate, now));
        if late || slow.is_some() {
            self.suspect(path);
        }
        if let Some(projected) = projected {
            self.attempts[attempt.at()].projected = Some(projected);
        }
    }

    /// How an attempt that flows at `rate` will miss its time; `None` where it will not, or where no fresh attempt would
    /// be sooner.
    fn project(
        &self,
        state: &AttemptState,
        pace: &Pace,
        rate: f64,
        now: Timestamp,
    ) -> Option<(Timestamp, Signal, Projection)> {
        if state.cut || state.ended.is_some() {
            return None;
        }
        let more = remaining(state, pace, rate);
        if more <= pace.gain {
            return None;
        }
        let age = now.since(state.sent?).as_secs_f64();
        let cutoff = state.limits.total.unwrap_or(Duration::MAX);
        let left = self.left_for(state.spec.step, now);
        let misses = match left.filter(|left| more > *left) {
            Some(left) => Misses::Time(seconds(left)),
            None if age + more > cutoff.as_secs_f64() => {
                Misses::Cutoff(state.limits.basis(Signal::TooSlow)?)
            }
            None => return None,
        };
        // What would be late on any path needs a quicker model; what is late for the path's sake, another path.
        let sluggish = rate < SLUGGISH * pace.usual && matches!(misses, Misses::Cutoff(_));
        // What is only somewhat slow, and in time, has until its cutoff: raced as soon as it is foreseen, every third
        // long answer would be, most of them by a less trusted model (published cells: 1.14 times the tokens, not 1.12).
        if !sluggish && matches!(misses, Misses::Cutoff(_)) {
            return None;
        }
        let signal = if sluggish { Signal::Sluggish } else { Signal::TooSlow };
        let tenths = |rate: f64| scaled(rate, 10.0);
        let (rate, usual) = (tenths(rate), tenths(pace.usual));
        Some((now, signal, Projection { more: seconds(more), rate, usual, misses }))
    }

    /// Whether an attempt whose total has passed is about to finish: no fresh one would be sooner. It is given twice what
    /// it seems to need, once.
    pub(super) fn nearly_done(&mut self, attempt: AttemptId, now: Timestamp) -> bool {
        let state = &mut self.attempts[attempt.at()];
        let (Some(pace), Some(sent), Some(first)) = (state.pace, state.sent, state.first_token)
        else {
            return false;
        };
        let Some(rate) = state.flow.stream.rate(now.since(first)) else { return false };
        let more = remaining(state, &pace, rate);
        if pace.extended || state.projected.is_some() || more > pace.gain {
            return false;
        }
        state.pace = Some(Pace { extended: true, ..pace });
        state.limits.total = Some(now.since(sent) + seconds(2.0 * more).max(GRACE));
        true
    }

    /// How an attempt is late by what is measured; `None` where it is by a written or a cold rule.
    pub(super) fn lateness(&self, attempt: AttemptId, signal: Signal) -> Option<Late> {
        let state = &self.attempts[attempt.at()];
        let by = match state.projected {
            Some((_, _, projection)) => By::Projection(projection),
            None => By::Cutoff(state.limits.basis(signal)?),
        };
        Some(Late { path: state.spec.path, signal, by })
    }

    /// Whether an attempt that is late stays alone, and says why: the run can do without its step, or hedging would only add
    /// to a shock. It is relied on as before, and not looked at again.
    pub(super) fn stays_alone(&mut self, attempt: AttemptId, late: Late, now: Timestamp) -> bool {
        let (step, item) = self.place(attempt);
        let of = &self.steps[step.at()].items[item.at()].attempts;
        let extra = |attempt: &AttemptId| {
            let spec = &self.attempts[attempt.at()].spec;
            matches!(spec.cause, Cause::Hedge | Cause::Faster) || spec.extra_of.is_some()
        };
        let fails = self.policy(step).is_some_and(|(policy, _)| policy.on.slow == OnSlow::Fail);
        let why = match self.shock().filter(|_| of.iter().any(extra)) {
            _ if fails => return false,
            _ if self.plan.step(step).optional => Alone::Optional,
            Some(shock) => Alone::Shock(scaled(shock, 100.0)),
            None => return false,
        };
        let state = &mut self.attempts[attempt.at()];
        (state.limits, state.projected, state.pace) = (Limits::default(), None, None);
        let reason = Reason::Timing(Timing::Alone { late, why });
        self.decide(now, Some(step), Some(item), Kind::Wait, reason);
        true
    }
}

/// Seconds that an attempt still takes at `rate`: an answer longer than expected is never taken to be done.
fn remaining(state: &AttemptState, pace: &Pace, rate: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "tokens of one answer")]
    let left = (pace.expected - state.emitted as f64).max(0.05 * pace.expected);
    left / rate.max(1e-6)
}
