//! The runs of this process: by name, by what they were called with, and what they have validated.
//!
//! An identical call joins the run in flight; after a failure it continues from validated steps. Bounded:
//! the oldest ended runs and the oldest validated outputs are forgotten first.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::handle::RunHandle;
use crate::domain::id::{RunId, StepIx};
use crate::domain::outcome::Outcome;
use crate::run::Run;
use crate::workflow::Workflow;

/// Ended runs that can still be asked for.
const ENDED_MAX: usize = 256;
/// Failed calls whose validated outputs are kept for the next one.
const VALIDATED_MAX: usize = 128;

/// Names what a call asks for: the workflow in this version, with this input. 128 bits of keyed hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallKey(u64, u64);

/// See the module.
#[derive(Default)]
pub(super) struct Register {
    keys: (RandomState, RandomState),
    runs: HashMap<RunId, RunHandle>,
    ended: VecDeque<RunId>,
    in_flight: HashMap<CallKey, RunId>,
    running: usize,
    validated: HashMap<CallKey, Vec<(StepIx, Value)>>,
    validated_order: VecDeque<CallKey>,
}

impl Register {
    pub(super) fn key(&self, workflow: &Workflow, input: &Value) -> CallKey {
        let text = input.to_string();
        let paths = workflow.plan.paths.iter().map(|p| p.label.as_str());
        let models: Vec<&str> = paths.collect();
        let named = (&workflow.name, &workflow.version, &models, &text);
        CallKey(self.keys.0.hash_one(named), self.keys.1.hash_one(named))
    }

    /// Runs in flight.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn get(&self, id: &RunId) -> Option<&RunHandle> {
        self.runs.get(id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &RunHandle> {
        self.runs.values()
    }

    /// The run in flight that an identical call can join.
    pub(super) fn joinable(&self, key: CallKey) -> Option<&RunHandle> {
        self.in_flight(key).filter(|handle| !handle.ended())
    }

    fn in_flight(&self, key: CallKey) -> Option<&RunHandle> {
        self.runs.get(self.in_flight.get(&key)?)
    }

    /// What a call continues from: what an earlier, failed run of the same call has validated, be it one that
    /// is still being cancelled.
    pub(super) fn continued(&self, key: CallKey) -> Vec<(StepIx, Value)> {
        let leaving = self.in_flight(key).filter(|handle| handle.shared().leaving());
        match leaving.map(|handle| handle.shared().with_run(validated)) {
            Some(None) => Vec::new(),
            Some(Some(steps)) if !steps.is_empty() => steps,
            Some(Some(_)) | None => self.validated.get(&key).cloned().unwrap_or_default(),
        }
    }

    pub(super) fn begin(&mut self, key: CallKey, handle: RunHandle) {
        self.running += 1;
        self.in_flight.insert(key, handle.id.clone());
        self.runs.insert(handle.id.clone(), handle);
    }

    /// A run has ended. `validated` is what it adds for a further call to continue from; `None` where that may
    /// not continue from anything.
    pub(super) fn end(
        &mut self,
        key: CallKey,
        id: &RunId,
        validated: Option<Vec<(StepIx, Value)>>,
    ) {
        self.running = self.running.saturating_sub(1);
        if self.in_flight.get(&key) == Some(id) {
            self.in_flight.remove(&key);
        }
        self.ended.push_back(id.clone());
        while self.ended.len() > ENDED_MAX {
            if let Some(oldest) = self.ended.pop_front() {
                self.runs.remove(&oldest);
            }
        }
        match validated {
            None => self.forget(key),
            // One that was cancelled before it began takes nothing away from what is known.
            Some(steps) if steps.is_empty() => {}
            Some(steps) => self.keep(key, steps),
        }
    }

    fn forget(&mut self, key: CallKey) {
        if self.validated.remove(&key).is_some() {
            self.validated_order.retain(|kept| *kept != key);
        }
    }

    fn keep(&mut self, key: CallKey, steps: Vec<(StepIx, Value)>) {
        self.forget(key);
        self.validated.insert(key, steps);
        self.validated_order.push_back(key);
        while self.validated_order.len() > VALIDATED_MAX {
            if let Some(oldest) = self.validated_order.pop_front() {
                self.validated.remove(&oldest);
            }
        }
    }
}

/// What a further run of the same call may continue from; `None` after a result, which is asked for anew then.
pub(super) fn validated(run: &Run) -> Option<Vec<(StepIx, Value)>> {
    match run.outcome() {
        Some(Outcome::Failed(_) | Outcome::Cancelled) | None => Some(run.accepted()),
        Some(Outcome::Delivered | Outcome::Degraded { .. }) => None,
    }
}
