//! What a run knew of times, in its wire form: stored once for all runs that began with it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::plan::Plan;
use crate::latency::law::Laws;
use crate::planner::{Pilot, Times};

/// What a [`Pilot`] was made of.
///
/// The two functions below are the only place that knows both sides. A part of a pilot that follows from its plan and its
/// other parts (a table) is made anew; every other one needs a field here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knowledge {
    mark: u64,
    times: Vec<Vec<Option<Times>>>,
    #[serde(with = "crate::planner::number")]
    shock: f64,
    laws: Option<Laws>,
    planned: bool,
}

impl Knowledge {
    /// What `pilot` was made of.
    #[must_use]
    pub fn of(pilot: &Pilot) -> Self {
        let Pilot { mark, times, shock, tables, laws } = pilot;
        Self {
            mark: *mark,
            times: times.clone(),
            shock: *shock,
            laws: laws.as_deref().cloned(),
            planned: tables.is_some(),
        }
    }

    /// The pilot of a run of `plan` under `deadline`, as it was: what it computes from these is computed again.
    #[must_use]
    pub fn pilot(self, plan: &Plan, _deadline: Duration) -> Pilot {
        let Self { mark, times, shock, laws, planned } = self;
        let pilot = Pilot { mark, times, shock, tables: None, laws: laws.map(Arc::new) };
        if planned { Pilot { mark, ..pilot.planned(plan) } } else { pilot }
    }

    /// The name it is stored under.
    #[must_use]
    pub fn name(mark: u64) -> String {
        format!("knowledge-{mark:016x}")
    }
}
