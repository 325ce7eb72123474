//! What one attempt has shown of its path.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::failure::FailureClass;

/// What one attempt has shown of its path, told once, at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Who served it, by the name in `punctual.yaml`: slow spells and bursts of refusals are a provider's.
    pub provider: Arc<str>,
    /// `provider/model`.
    pub path: Arc<str>,
    /// `workflow/step`.
    pub step: Arc<str>,
    /// Tells runs apart: a spell lasts at least as long as a run.
    pub run: u64,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// Tokens that were expected of its answer, at the median.
    pub expected_tokens: f64,
    /// From sending to the first token; `None` where none came.
    pub first_token: Option<Duration>,
    /// Tokens that came.
    pub tokens: u64,
    /// From sending to its end, or to the moment from which nothing more was seen of it.
    pub lasted: Duration,
    /// How its stream went: at most a handful of points, ascending, each the time since the first token and the tokens
    /// that had come by then.
    pub stream: Vec<(Duration, u64)>,
    /// How it ended.
    pub end: End,
}

/// How an observed attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a complete answer.
    Answered {
        /// Whether it was valid.
        valid: bool,
    },
    /// It failed by itself.
    Failed(FailureClass),
    /// It was closed by us or its caller, and would have gone on: a censored observation.
    Closed,
}
