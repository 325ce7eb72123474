//! What a run is told at its start of how long things take, and the planner that spends its deadline by it.
//!
//! A [`Pilot`] is made from the plan and what the server knows at that moment, and pinned to the run: the same pilot, the
//! same events and the same times give the same decisions.

mod pilot;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::id::{PathIx, StepIx};
use crate::latency::law::Laws;

pub mod belief;
mod chain;
pub mod decide;
mod fate;
mod graph;
mod kind;
pub mod look;
pub mod number;
mod omen;
pub mod problem;
mod scene;
mod sound;
mod stage;
mod stopping;
pub mod tables;
mod worth;

#[cfg(test)]
mod tests;

/// What is measured of one step on one path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How many attempts it was measured on, censored ones included; a merely foretold one has none.
    #[serde(with = "number")]
    pub samples: f64,
    /// Seconds to the first token.
    pub first_token: Quantiles,
    /// Seconds to the complete answer.
    pub total: Quantiles,
    /// Tokens of an answer, at the median.
    #[serde(with = "number")]
    pub tokens: f64,
    /// Tokens a second, at the median.
    #[serde(with = "number")]
    pub rate: f64,
}

/// Three points of a distribution, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Half are below.
    #[serde(with = "number")]
    pub p50: f64,
    /// 95 % are.
    #[serde(with = "number")]
    pub p95: f64,
    /// 99 % are.
    #[serde(with = "number")]
    pub p99: f64,
}

/// What a run knows of times, from its start to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// Tells this knowledge from any other; in the record of a run.
    pub mark: u64,
    /// By step, then by path of the plan; `None` where the step does not use the path, or nothing is known.
    pub times: Vec<Vec<Option<Times>>>,
    /// By how much the latest minutes are slower than the weeks before, on all paths at once; 1 is as ever.
    pub shock: f64,
    /// What the planner decides by; `None` where it leaves that to the rules.
    pub tables: Option<Arc<tables::Tables>>,
    /// How attempts on the plan's paths go; `None` where a pilot was put together by hand.
    pub laws: Option<Arc<Laws>>,
}

impl Pilot {
    /// What is measured of `step` on `path`.
    #[must_use]
    pub fn times(&self, step: StepIx, path: PathIx) -> Option<&Times> {
        self.times.get(step.at())?.get(path.at())?.as_ref()
    }
}

/// Shared by the runs that began with it.
pub type SharedPilot = Arc<Pilot>;
