//! Results: one run as measured, and one row of many.

use serde::Serialize;

use super::file::Cell;
use super::table::quantile;

/// The 97.5 % quantile of the normal distribution: intervals hold 95 %.
const Z: f64 = 1.96;

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Whether a right answer was there by the deadline.
    pub on_time: bool,
    /// Whether an answer was, right or silently wrong.
    pub answered: bool,
    /// The chance, 0 to 1, that it was right, as the paths of its answers have it: what luck leaves out.
    pub right: f64,
    /// Seconds, the deadline where there was none.
    pub elapsed_s: f64,
    /// Tokens billed, as a multiple of one clean pass.
    pub tokens: f64,
    /// Money, likewise, at the flagship's prices.
    pub cost: f64,
    /// Extra launches a step.
    pub hedges: f64,
    /// Optional steps whose answers were there.
    pub extras: f64,
}

/// One cell under one policy. Field names are those of the published results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The regime.
    pub scenario: String,
    /// The workflow.
    pub wf: String,
    /// Seconds.
    #[serde(rename = "D")]
    pub deadline_s: u32,
    /// The policy.
    pub policy: String,
    /// Runs.
    pub n: usize,
    /// Share with a right answer by the deadline.
    pub ontime: f64,
    /// Lower end of its 95 % interval (Wilson).
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Seconds to the end or the deadline: median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Standard deviation.
    pub std: f64,
    /// Tokens of one clean pass.
    pub tok: f64,
    /// Money of one clean pass.
    pub cost: f64,
    /// Extra launches a step.
    pub hedge: f64,
    /// What no policy can exceed: the oracle's share, times the strong model's floor of silent errors.
    pub bound: f64,
    /// Share of the way from `wait` to the bound.
    pub gap_closed: f64,
    /// Share without any answer by the deadline: missed by time alone.
    #[serde(skip)]
    pub late: f64,
    /// Share on time, were silent errors as frequent as their chances.
    #[serde(skip)]
    pub expected: f64,
    /// Optional steps answered, a run.
    #[serde(skip)]
    pub extras: f64,
}

impl Row {
    /// The row of `runs`; `bound` and `gap_closed` are left at 0 for [`Row::compare`].
    #[must_use]
    pub fn of(cell: &Cell, policy: &str, runs: &[Measured]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "runs of a benchmark")]
        let n = runs.len().max(1) as f64;
        let mean = |of: fn(&Measured) -> f64| runs.iter().map(of).sum::<f64>() / n;
        let ontime = mean(|run| f64::from(u8::from(run.on_time)));
        let (lo, hi) = wilson(ontime, n);
        let mut elapsed: Vec<f64> = runs.iter().map(|run| run.elapsed_s).collect();
        elapsed.sort_unstable_by(f64::total_cmp);
        let middle = mean(|run| run.elapsed_s);
        let spread = runs.iter().map(|run| (run.elapsed_s - middle).powi(2)).sum::<f64>() / n;
        Self {
            scenario: cell.scenario.clone(),
            wf: cell.workflow.clone(),
            deadline_s: cell.deadline_s,
            policy: policy.to_owned(),
            n: runs.len(),
            ontime,
            lo,
            hi,
            p50: quantile(&elapsed, 0.5),
            p95: quantile(&elapsed, 0.95),
            p99: quantile(&elapsed, 0.99),
            std: spread.sqrt(),
            tok: mean(|run| run.tokens),
            cost: mean(|run| run.cost),
            hedge: mean(|run| run.hedges),
            bound: 0.0,
            gap_closed: 0.0,
            late: mean(|run| f64::from(u8::from(!run.answered))),
            expected: mean(|run| run.right),
            extras: mean(|run| run.extras),
        }
    }

    /// Puts the row between what waiting reaches and what nothing exceeds.
    pub fn compare(&mut self, wait: f64, bound: f64) {
        self.bound = bound;
        self.gap_closed = (self.ontime - wait) / (bound - wait).max(1e-12);
    }
}

/// The 95 % interval of a share (Wilson, 1927).
fn wilson(share: f64, n: f64) -> (f64, f64) {
    let z = Z * Z;
    let width = 1.0 + z / n;
    let middle = (share + z / (2.0 * n)) / width;
    let half = Z * (share * (1.0 - share) / n + z / (4.0 * n * n)).sqrt() / width;
    (middle - half, middle + half)
}
