//! What the kept runs say about a workflow: how long it takes, how often it answers, what it costs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::tool::simulated;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// Latest runs that are looked at, of all workflows together.
pub(super) const SAMPLE: usize = 500;

/// Ended runs by workflow.
#[derive(Default)]
pub(super) struct Measured<'a>(BTreeMap<&'a str, Vec<&'a RunReport>>);

impl<'a> Measured<'a> {
    pub fn of(reports: &'a [RunReport]) -> Self {
        let mut all = Self::default();
        // A call that was withdrawn says nothing about the workflow.
        let ended = |report: &&RunReport| {
            matches!(report.outcome.as_str(), "delivered" | "degraded" | "failed")
        };
        for report in reports.iter().filter(ended) {
            all.0.entry(&report.workflow).or_default().push(report);
        }
        all
    }

    /// Medians and shares; `None` where no run is kept. Made-up runs and real ones are never mixed.
    pub fn workflow(&self, workflow: &Workflow) -> Option<Value> {
        let made_up = simulated(workflow);
        let runs = self.0.get(workflow.name.as_str())?.iter().copied();
        let runs: Vec<&RunReport> = runs.filter(|run| run.simulated == made_up).collect();
        let answered = runs.iter().filter(|run| run.outcome != "failed").count();
        let elapsed = median(runs.iter().map(|run| seconds(run.elapsed_ms)).collect())?;
        let cost = median(runs.iter().map(|run| run.cost_usd).collect())?;
        Some(json!({
            "runs": runs.len(),
            "typical_s": elapsed,
            "on_time_rate": rounded(ratio(answered, runs.len())),
            "typical_cost_usd": cost,
        }))
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^52")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "counts are at most the sample's")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// To three places.
fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}
