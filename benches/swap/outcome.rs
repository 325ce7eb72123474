//! What runs came to, added up, and held against the targets.

use std::time::Duration;

use serde_json::{Value, json};

use crate::desk::Account;
use crate::fault::Fault;

/// What one run came to.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is counted by itself")]
pub struct Outcome {
    /// Something was handed to the caller before the deadline.
    pub completed: bool,
    /// It has the shape that was agreed.
    pub valid: bool,
    /// It says what is true.
    pub right: bool,
    /// The caller is told that it is in doubt.
    pub flagged: bool,
    pub elapsed: Duration,
}

/// What is done about failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Naive,
    Retry,
    /// Ours, each run on a server without a past: what a swap keeps.
    Punctual,
    /// Ours, all runs on one server, whose runs know of each other's failures.
    Shared,
}

pub const POLICIES: [Policy; 4] = [Policy::Naive, Policy::Retry, Policy::Punctual, Policy::Shared];

impl Policy {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive router",
            Self::Retry => "retry only",
            Self::Punctual => "punctual",
            Self::Shared => "punctual, one server",
        }
    }

    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Punctual | Self::Shared)
    }
}

/// All runs of one policy against one fault.
#[derive(Clone, Debug)]
pub struct Row {
    pub fault: Fault,
    pub policy: Policy,
    pub runs: u64,
    completed: u64,
    valid: u64,
    right: u64,
    silent: u64,
    attempts: u64,
    swaps: u64,
    kept: u64,
    /// Of completed runs alone: a run that gave up early is not cheap.
    tokens: u64,
    /// Of completed runs, in milliseconds, ascending.
    elapsed: Vec<f64>,
}

impl Row {
    /// A row without runs.
    pub const fn new(fault: Fault, policy: Policy) -> Self {
        Self {
            fault,
            policy,
            runs: 0,
            completed: 0,
            valid: 0,
            right: 0,
            silent: 0,
            attempts: 0,
            swaps: 0,
            kept: 0,
            tokens: 0,
            elapsed: Vec::new(),
        }
    }

    /// Adds a run.
    pub fn add(&mut self, outcome: &Outcome, account: &Account) {
        self.runs += 1;
        self.attempts += account.attempts;
        self.swaps += account.swaps;
        self.kept += account.kept;
        if !outcome.completed {
            return;
        }
        self.completed += 1;
        self.tokens += account.tokens;
        self.valid += u64::from(outcome.valid && !account.broken_handover);
        self.right += u64::from(outcome.right);
        self.silent += u64::from(!outcome.right && !outcome.flagged);
        let ms = outcome.elapsed.as_secs_f64() * 1e3;
        let at = self.elapsed.partition_point(|other| *other < ms);
        self.elapsed.insert(at, ms);
    }

    pub fn completion(&self) -> Option<f64> {
        share(self.completed, self.runs)
    }

    pub fn integrity(&self) -> Option<f64> {
        share(self.valid, self.completed)
    }

    pub fn correct(&self) -> Option<f64> {
        share(self.right, self.runs)
    }

    pub fn preserved(&self) -> Option<f64> {
        share(self.kept, self.swaps)
    }

    pub const fn silent(&self) -> u64 {
        self.silent
    }

    /// Requests a run.
    pub fn attempts(&self) -> f64 {
        share(self.attempts, self.runs).unwrap_or(0.0)
    }

    /// Tokens a completed run.
    pub fn tokens(&self) -> Option<f64> {
        share(self.tokens, self.completed)
    }

    fn at(&self, part: f64) -> Option<f64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ part < 1")]
        #[expect(clippy::cast_precision_loss, reason = "thousands")]
        let ix = (self.elapsed.len() as f64 * part) as usize;
        self.elapsed.get(ix).copied()
    }

    /// Milliseconds that completed runs took beyond the median of the same policy's runs without a fault: their
    /// median and their 99th percentile.
    pub fn added(&self, rows: &[Self]) -> Option<(f64, f64)> {
        let calm = rows.iter().find(|r| r.fault == Fault::Calm && r.policy == self.policy)?;
        let base = calm.at(0.5)?;
        Some((self.at(0.5)? - base, self.at(0.99)? - base))
    }

    /// Targets that a row of ours misses, in words.
    pub fn missed(&self, rows: &[Self]) -> Vec<String> {
        if !self.policy.is_ours() {
            return Vec::new();
        }
        let mut missed = Vec::new();
        let mut at_least = |what: &str, value: Option<f64>, bound: f64| {
            if let Some(value) = value.filter(|value| *value < bound) {
                missed.push(format!("{what} {:.1} % < {:.0} %", value * 100.0, bound * 100.0));
            }
        };
        // Of a few runs, one may fall short of 99 %: on a busy machine a scaled-down deadline is short.
        let few = u32::try_from(self.runs.max(1)).map_or(0.0, |runs| 1.5 / f64::from(runs));
        let most = 0.99_f64.min(1.0 - few);
        // Where every call hangs at once, permits let few of them race; the rest wait for twice their cutoff, which may be too
        // long. That is what permits are for, and the row shows what it costs.
        if (self.policy, self.fault) != (Policy::Shared, Fault::SlowDeath) {
            at_least("completion", self.completion(), most);
            at_least("correct value", self.correct(), most);
        }
        at_least("schema integrity", self.integrity(), 1.0);
        at_least("state preservation", self.preserved(), 1.0);
        if self.silent > 0 {
            missed.push(format!("{} silent corruptions", self.silent));
        }
        // Where retrying completes nothing, it is what it takes without a fault.
        let retry = |fault| {
            let row = rows.iter().find(|r| r.policy == Policy::Retry && r.fault == fault);
            row.and_then(Self::tokens)
        };
        let bound = retry(self.fault).or_else(|| retry(Fault::Calm));
        if let (Some(own), Some(other)) = (self.tokens(), bound)
            && own > 1.3 * other
        {
            missed.push(format!("tokens {own:.0} > 1.3 × {other:.0}"));
        }
        missed
    }

    pub fn json(&self, rows: &[Self]) -> Value {
        let (p50, p99) = self.added(rows).unzip();
        json!({
            "fault": self.fault.name(),
            "policy": self.policy.name(),
            "runs": self.runs,
            "completion": self.completion(),
            "schema_integrity": self.integrity(),
            "correct_value": self.correct(),
            "swaps": self.swaps,
            "state_preservation": self.preserved(),
            "silent_corruptions": self.silent,
            "attempts_per_run": self.attempts(),
            "tokens_per_completed_run": self.tokens(),
            "added_ms_p50": p50,
            "added_ms_p99": p99,
            "missed": self.missed(rows),
        })
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³")]
    (whole > 0).then(|| part as f64 / whole as f64)
}
