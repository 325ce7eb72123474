//! What is told of a workflow's chances: its figures by deadline, the deadline that follows, and what limits it.

use std::time::Duration;

use serde_json::{Value, json};

use super::limit::{Limit, limit};
use crate::workflow::Workflow;
use crate::world::forecast::{Figures, Sample};

/// Share of runs in time from which on a deadline is recommended.
pub const GOOD: f64 = 0.99;

/// One deadline.
#[derive(Clone, Debug)]
pub struct Row {
    /// What its runs come to.
    pub figures: Figures,
    samples: Vec<Sample>,
}

/// All deadlines.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The workflow.
    pub name: String,
    /// By deadline, ascending; at least one.
    pub rows: Vec<Row>,
    /// The place of the recommended one.
    pub recommended: usize,
    /// What keeps the recommended deadline from being shorter, or from being better.
    pub limit: Option<Limit>,
    /// What the luck of paths was drawn from, in words.
    pub world: String,
    /// Where inputs are from, in words.
    pub inputs: String,
    /// The first run's seed.
    pub seed: u64,
}

impl Row {
    /// The runs played under a deadline.
    #[must_use]
    pub fn of((deadline, samples): (&Duration, Vec<Sample>)) -> Self {
        Self { figures: Figures::of(*deadline, &samples), samples }
    }
}

impl Survey {
    /// What follows from the figures.
    #[must_use]
    pub fn new(
        workflow: &Workflow,
        rows: Vec<Row>,
        world: String,
        inputs: String,
        seed: u64,
    ) -> Self {
        let shares: Vec<f64> = rows.iter().map(|row| row.figures.on_time).collect();
        let recommended = recommended(&shares);
        let good = shares.get(recommended).is_some_and(|share| *share >= GOOD);
        // What a shorter one fails of says why it is not recommended; where none will do, what the best one fails of.
        let looked = if good { recommended.checked_sub(1) } else { Some(recommended) };
        let looked = looked.and_then(|at| rows.get(at));
        let limit =
            looked.and_then(|row| limit(&workflow.plan, row.figures.deadline_ms, &row.samples));
        Self { name: workflow.name.clone(), rows, recommended, limit, world, inputs, seed }
    }

    /// Whether the recommended deadline is good enough.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.rows.get(self.recommended).is_some_and(|row| row.figures.on_time >= GOOD)
    }

    /// Everything as JSON.
    #[must_use]
    pub fn record(&self) -> Value {
        let figures: Vec<&Figures> = self.rows.iter().map(|row| &row.figures).collect();
        json!({
            "workflow": self.name,
            "simulated": true,
            "world": self.world,
            "inputs": self.inputs,
            "seed": self.seed,
            "deadlines": figures,
            "recommended": {
                "deadline_ms": figures.get(self.recommended).map(|figures| figures.deadline_ms),
                "good": self.is_good(),
            },
            "limit": self.limit,
        })
    }
}

/// The first with a share of at least [`GOOD`], else the first of the best.
fn recommended(shares: &[f64]) -> usize {
    let good = shares.iter().position(|share| *share >= GOOD);
    let best = shares.iter().copied().fold(0.0, f64::max);
    let first = |of: f64| shares.iter().position(|share| *share >= of);
    good.or_else(|| first(best)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_good_deadline_is_recommended_else_the_first_of_the_best() {
        assert_eq!(recommended(&[0.5, 0.98, 0.991, 1.0]), 2);
        assert_eq!(recommended(&[0.5, 0.97, 0.97, 0.96]), 1);
        assert_eq!(recommended(&[]), 0);
    }
}
