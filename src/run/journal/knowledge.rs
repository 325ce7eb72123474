//! What a run knew of times, in its wire form: stored once for all runs that began with it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::plan::Plan;
use crate::planner::{Pilot, Times};

/// What a [`Pilot`] was made of.
///
/// The two functions below are the only place that knows both sides. A part of a pilot that follows from its plan and its
/// other parts (a table) is made anew; every other one needs a field here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knowledge {
    mark: u64,
    times: Vec<Vec<Option<Times>>>,
    shock: f64,
}

impl Knowledge {
    /// What `pilot` was made of.
    #[must_use]
    pub fn of(pilot: &Pilot) -> Self {
        let Pilot { mark, times, shock } = pilot;
        Self { mark: *mark, times: times.clone(), shock: *shock }
    }

    /// The pilot of a run of `plan` under `deadline`, as it was: what it computes from these is computed again.
    #[must_use]
    pub fn pilot(self, _plan: &Plan, _deadline: Duration) -> Pilot {
        let Self { mark, times, shock } = self;
        Pilot { mark, times, shock }
    }

    /// The name it is stored under.
    #[must_use]
    pub fn name(mark: u64) -> String {
        format!("knowledge-{mark:016x}")
    }
}
