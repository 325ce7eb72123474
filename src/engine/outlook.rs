//! What is left of a run, by measured medians: how long the rest usually takes, how long it takes at least, and who depends
//! on whom.
//!
//! Three weights of a step, in seconds. *Usual*: the median of its model's quickest path, measured or foretold; without
//! optional steps, because the run can do without them. *Sure*: the same where it was measured, without steps that may
//! not come to anything: skipped, or a list without items. *Quick*: the same over every path it may be sent to; nothing
//! where one of them is not measured yet.

use std::time::Duration;

use crate::domain::id::{ModelIx, PathIx, StepIx};
use crate::domain::plan::{OnSlow, Plan, StepPlan, Work};
use crate::planner::{Pilot, Times};
use crate::policy::cutoff::Shares;
use crate::policy::cutoff::measured::{Curve, SAMPLES_MIN, seconds};

/// An optional step is dropped when what follows it has no more than so many medians left: the floor of cutoffs.
const DROP: f64 = 1.15;
/// What takes half of its median on the quickest path has hardly ever been seen: 3 in 1,000 of the published calls.
pub(super) const AT_LEAST: f64 = 0.5;
/// Steps whose dependants are counted; the loader allows 200.
const COUNTED: usize = 256;

/// Seconds; infinite where not known.
#[derive(Clone, Copy, Debug)]
struct Weight {
    usual: f64,
    sure: f64,
    quick: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Outlook {
    own: Vec<Weight>,
    /// The heaviest chain after each step.
    after: Vec<Weight>,
    /// Per step: the share of the other steps with a model that depend on it.
    dependants: Vec<f64>,
    /// Steps that will take no more time.
    gone: Vec<bool>,
}

impl From<&Times> for Curve {
    fn from(times: &Times) -> Self {
        let points = |q: crate::planner::Quantiles| [q.p50, q.p95, q.p99];
        Self { first_token: points(times.first_token), total: points(times.total) }
    }
}

/// What is measured of `step` on `path`, on enough samples.
pub(super) fn known(pilot: &Pilot, step: StepIx, path: PathIx) -> Option<&Times> {
    pilot.times(step, path).filter(|times| times.samples >= SAMPLES_MIN)
}

/// Whether a step that is too slow may go on with the model's `faster` link.
pub(super) fn may_speed_up(slow: OnSlow) -> bool {
    matches!(slow, OnSlow::Auto | OnSlow::Faster)
}

/// The paths of a step's model, and those of its `faster` link where it may go on there.
pub(super) fn reachable(plan: &Plan, step: StepIx) -> impl Iterator<Item = PathIx> {
    let model = match &plan.step(step).work {
        Work::Model { model, .. } => Some(*model),
        Work::Value => None,
    };
    model.into_iter().flat_map(move |model| reachable_from(plan, step, model))
}

/// The same for a step that has come to `model`.
pub(super) fn reachable_from(
    plan: &Plan,
    step: StepIx,
    model: ModelIx,
) -> impl Iterator<Item = PathIx> {
    let may = match &plan.step(step).work {
        Work::Model { policy, .. } => may_speed_up(policy.on.slow),
        Work::Value => false,
    };
    let faster = plan.model(model).faster.filter(|_| may);
    let models = [Some(model), faster].into_iter().flatten();
    models.flat_map(|model| plan.model(model).paths.iter().copied())
}

impl Outlook {
    pub(super) fn of(plan: &Plan, pilot: &Pilot) -> Self {
        let own: Vec<Weight> = plan.step_ixs().map(|step| weigh(plan, pilot, step)).collect();
        let mut outlook = Self {
            after: vec![Weight { usual: 0.0, sure: 0.0, quick: 0.0 }; own.len()],
            gone: vec![false; own.len()],
            own,
            dependants: dependants(plan),
        };
        outlook.refresh(plan);
        outlook
    }

    /// A step will take no more time; what comes before it has less to wait for.
    pub(super) fn drop_step(&mut self, plan: &Plan, step: StepIx) {
        self.gone[step.at()] = true;
        self.refresh(plan);
    }

    /// No chain is longer than the plan, so that many passes do.
    fn refresh(&mut self, plan: &Plan) {
        self.after.fill(Weight { usual: 0.0, sure: 0.0, quick: 0.0 });
        for _ in 0..plan.steps.len() {
            let mut settled = true;
            for (before, step) in Shares::edges(plan) {
                let (own, then) = (self.own[step.at()], self.after[step.at()]);
                let gone = self.gone[step.at()];
                let longer = |own: f64, then: f64| if gone { then } else { own + then };
                let known = &mut self.after[before.at()];
                for (known, longer) in [
                    (&mut known.usual, longer(own.usual, then.usual)),
                    (&mut known.sure, longer(own.sure, then.sure)),
                    (&mut known.quick, longer(own.quick, then.quick)),
                ] {
                    if longer > *known {
                        *known = longer;
                        settled = false;
                    }
                }
            }
            if settled {
                break;
            }
        }
    }

    /// Seconds that what follows `step` usually takes; `None` where that is not known.
    pub(super) fn after(&self, step: StepIx) -> Option<f64> {
        Some(self.after[step.at()].usual).filter(|after| after.is_finite())
    }

    /// The share of the other steps that depend on `step`.
    pub(super) fn dependants(&self, step: StepIx) -> f64 {
        self.dependants[step.at()]
    }

    /// How long before the run's end `step` must be done, so that what follows can be: `None` where nothing says so.
    /// With `begun` false its own work is ahead too.
    pub(super) fn last_call(&self, plan: &Plan, step: StepIx, begun: bool) -> Option<Duration> {
        if plan.step(step).work == Work::Value {
            return None;
        }
        let (own, after) = (self.own[step.at()], self.after[step.at()]);
        let ahead = if plan.step(step).optional {
            DROP * after.sure
        } else {
            AT_LEAST * (after.quick + if begun { 0.0 } else { own.quick })
        };
        (ahead > 0.0 && ahead.is_finite()).then(|| seconds(ahead))
    }

    /// How long the critical path usually takes on the quickest paths, and the step it begins with. `wait`: seconds before
    /// a step can begin that waits for no other.
    pub(super) fn critical(
        &self,
        plan: &Plan,
        wait: impl Fn(StepIx) -> f64,
    ) -> Option<(Duration, StepIx)> {
        let open = plan.step_ixs().filter(|step| !self.gone[step.at()]);
        let weighty = open.filter(|step| self.own[step.at()].quick > 0.0);
        let chains = weighty.map(|step| {
            let (own, after) = (self.own[step.at()].quick, self.after[step.at()].quick);
            (wait(step) + own + after, step)
        });
        // Of two as long, the first.
        let longest = chains.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        (longest.0 > 0.0).then(|| (seconds(longest.0), longest.1))
    }

    /// The share of the run's usual work that is done where `done` says so.
    pub(super) fn paid(&self, done: impl Fn(usize) -> bool) -> f64 {
        let (mut paid, mut all) = (0.0, 0.0);
        for (ix, own) in self.own.iter().enumerate() {
            let known = own.usual.is_finite() && !self.gone[ix];
            all += if known { own.usual } else { 0.0 };
            paid += if known && done(ix) { own.usual } else { 0.0 };
        }
        if all > 0.0 { paid / all } else { 0.0 }
    }
}

fn weigh(plan: &Plan, pilot: &Pilot, step: StepIx) -> Weight {
    let StepPlan { work, optional, conditional, each, .. } = plan.step(step);
    let Work::Model { model, .. } = work else {
        return Weight { usual: 0.0, sure: 0.0, quick: 0.0 };
    };
    if *optional {
        return Weight { usual: 0.0, sure: 0.0, quick: 0.0 };
    }
    let paths = || plan.model(*model).paths.iter().copied();
    let usual = paths().filter_map(|path| pilot.times(step, path)).map(|times| times.total.p50);
    let usual = usual.filter(|p50| p50.is_finite()).fold(f64::INFINITY, f64::min);
    let unsure = *conditional || each.is_some();
    let median = |path: PathIx| known(pilot, step, path).map(|times| times.total.p50);
    let sure = paths().filter_map(median).fold(f64::INFINITY, f64::min);
    let sure = if unsure || !sure.is_finite() { 0.0 } else { sure };
    let quick = reachable(plan, step)
        .try_fold(f64::INFINITY, |least, path| median(path).map(|median| least.min(median)));
    let quick = quick.filter(|quick| quick.is_finite() && !unsure).unwrap_or(0.0);
    Weight { usual, sure, quick }
}

/// Per step: the share of the other steps with a model that wait for it, directly or not.
fn dependants(plan: &Plan) -> Vec<f64> {
    let mut behind = vec![[0_u64; COUNTED / 64]; plan.steps.len()];
    for _ in 0..plan.steps.len() {
        let mut settled = true;
        for (before, step) in Shares::edges(plan) {
            let mut more = behind[step.at()];
            if plan.step(step).work != Work::Value && step.at() < COUNTED {
                more[step.at() / 64] |= 1 << (step.at() % 64);
            }
            for (known, more) in behind[before.at()].iter_mut().zip(more) {
                settled &= *known | more == *known;
                *known |= more;
            }
        }
        if settled {
            break;
        }
    }
    let models = plan.steps.iter().filter(|step| step.work != Work::Value).count();
    let others = u32::try_from(models.saturating_sub(1)).unwrap_or(u32::MAX).max(1);
    let count = |bits: &[u64; COUNTED / 64]| bits.iter().map(|b| b.count_ones()).sum::<u32>();
    behind.iter().map(|bits| (f64::from(count(bits)) / f64::from(others)).min(1.0)).collect()
}
