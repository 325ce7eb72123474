//! How a run, a step and an attempt end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::failure::FailureClass;
use super::id::{ItemIx, StepIx};

/// The one end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything asked for, valid.
    Delivered,
    /// Valid, with parts missing, unverified, or made from less than there was.
    Degraded {
        /// Optional steps and items that are not there.
        missing: Vec<Part>,
        /// Steps whose validator did not speak, or said no and was overruled.
        unverified: Vec<StepIx>,
        /// Steps whose prompts did not fit and were shortened.
        shrunk: Vec<StepIx>,
    },
    /// No valid answer.
    Failed(RunFailure),
    /// Withdrawn by the caller.
    Cancelled,
}

/// A part of a result: a step, or one item of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// The step.
    pub step: StepIx,
    /// The item, of an `each` step.
    pub item: Option<ItemIx>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// The cause.
    pub class: FailureClass,
    /// The step that could not be had.
    pub step: Option<StepIx>,
    /// What a person should read. Not written down with a decision: it may quote an answer.
    #[serde(skip)]
    pub message: String,
    /// When the same call may fare better.
    pub retry_after: Option<Duration>,
}

/// How a step ended, or stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Waiting,
    /// Under way, or answered and waiting to be judged.
    Running,
    /// Accepted.
    Ok,
    /// Accepted in an earlier run of the same call.
    Reused,
    /// Its condition was false.
    Skipped,
    /// No valid answer could be had.
    Failed,
    /// The run's time was up.
    TimedOut,
    /// Closed at its `cutoff_at` without an answer.
    Cut,
    /// The run ended for another reason.
    Cancelled,
}

impl Status {
    /// The name in reports and in `run.status.<step>`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Reused => "reused",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cut => "cut",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more will happen to the step.
    #[must_use]
    pub const fn ended(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }

    /// Whether its output is there.
    #[must_use]
    pub const fn accepted(self) -> bool {
        matches!(self, Self::Ok | Self::Reused)
    }
}

/// Why an attempt was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The first of its step or item.
    Primary,
    /// Beside one that was cut.
    Hedge,
    /// After a failure, on the next path.
    Next,
    /// After a cut by projection, on a quicker model.
    Faster,
    /// After invalid output or a refusal, on a more capable model.
    Stronger,
    /// A second turn after invalid output, told what was wrong.
    Repair,
    /// After the validator sent the step back.
    Revision,
}

impl Cause {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Hedge => "hedge",
            Self::Next => "next",
            Self::Faster => "faster",
            Self::Stronger => "stronger",
            Self::Repair => "repair",
            Self::Revision => "revision",
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// Its answer became the step's or item's output.
    Accepted,
    /// It failed, or its answer was invalid.
    Failed,
    /// It was closed at its cutoff.
    Cut,
    /// Another attempt won.
    Superseded,
    /// The run or step ended first.
    Cancelled,
}

impl AttemptEnd {
    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Failed => "failed",
            Self::Cut => "cut",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
        }
    }
}
