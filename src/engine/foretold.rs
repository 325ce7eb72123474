//! When attempts would be cut, told before any run: in one in which every step takes its usual time on its first path.

use std::sync::Arc;
use std::time::Duration;

use super::Machine;
use super::state::Phase;
use crate::domain::id::{PathIx, StepIx};
use crate::domain::outcome::Status;
use crate::domain::plan::{Plan, Work};
use crate::domain::time::Timestamp;
use crate::planner::{Pilot, SharedPilot};
use crate::policy::cutoff::Limits;
use crate::policy::cutoff::measured::seconds;

/// A step on one of its model's paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foretold {
    /// The step.
    pub step: StepIx,
    /// The path.
    pub path: PathIx,
    /// When the step begins, from the call's arrival.
    pub begins: Duration,
    /// When an attempt is cut, from its sending.
    pub limits: Limits,
}

/// The cutoffs of every step that asks a model, on each of its model's paths, by the rules and what `pilot` knows.
#[must_use]
pub fn foretell(plan: &Arc<Plan>, pilot: &SharedPilot) -> Vec<Foretold> {
    let bare = Pilot { tables: None, ..(**pilot).clone() };
    let mut machine = Machine::new(plan.clone(), plan.deadline).with_pilot(Some(Arc::new(bare)));
    let mut ends = vec![Duration::ZERO; plan.steps.len()];
    let mut all = Vec::new();
    for step in plan.step_ixs() {
        let before = plan.step(step).needs.iter().map(|need| {
            let judge = plan.step(need.step).judged_by.filter(|judge| *judge < step);
            ends[judge.unwrap_or(need.step).at()]
        });
        let begins = before.max().unwrap_or_default();
        ends[step.at()] = begins;
        let Work::Model { model, .. } = &plan.step(step).work else { continue };
        for earlier in plan.step_ixs().filter(|earlier| *earlier < step) {
            let done = ends[earlier.at()] <= begins;
            let phase = if done { Phase::Ended(Status::Ok) } else { Phase::Running };
            machine.steps[earlier.at()].phase = phase;
        }
        let now = Timestamp::after_start(begins);
        let paths = &plan.model(*model).paths;
        all.extend(paths.iter().map(|path| {
            let (limits, _) = machine.limits(step, (*model, *path), 1, now);
            Foretold { step, path: *path, begins, limits }
        }));
        let usual = paths.first().and_then(|path| pilot.times(step, *path));
        let usual = usual.map(|times| seconds(times.total.p50));
        let share = || machine.shares.share(step, machine.end_at.since(now), 1);
        ends[step.at()] = begins + usual.unwrap_or_else(share);
    }
    all
}
