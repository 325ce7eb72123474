//! An observation, made sane: what can be learned of it, in seconds and tokens.

use std::time::Duration;

use super::observation::{End, Observation};
use super::pace::{Pace, pace, real};
use crate::domain::failure::FailureClass;

/// Longer is never told apart, in seconds.
const LONGEST_S: f64 = 3_600.0;
/// An attempt that is quiet for longer than this, and for longer than so many of its tokens take, has stalled.
const QUIET_S: f64 = 3.0;
const QUIET_TOKENS: f64 = 60.0;

/// Points of a stream that are looked at.
const POINTS_MAX: usize = 64;

/// How an attempt ended, as far as times go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// With a valid answer.
    Answered,
    /// With an answer, or a part of one, that is of no use.
    Invalid,
    /// Refused because the provider throttles.
    Refused,
    /// By a fault of the provider, before its first token.
    Fault,
    /// It was closed, and would have gone on.
    Closed,
    /// In a way that says nothing of the next attempt: settings, keys, the prompt.
    Unrelated,
}

/// What there is to learn of one attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// How it ended.
    pub fate: Fate,
    /// Seconds to its first token.
    pub first: Option<f64>,
    /// Seconds it lasted.
    pub lasted: f64,
    /// Tokens that came.
    pub tokens: f64,
    /// Its pace, where enough came.
    pub pace: Option<Pace>,
    /// Whether tokens stopped coming, long before it ended.
    pub stalled: bool,
    /// Tokens that were expected of it.
    pub expected: f64,
    /// Tokens of its prompt.
    pub prompt: f64,
}

impl Fate {
    fn of(end: End, started: bool) -> Self {
        let fault = if started { Self::Invalid } else { Self::Fault };
        match end {
            End::Answered { valid: true } => Self::Answered,
            End::Answered { valid: false } => Self::Invalid,
            End::Closed => Self::Closed,
            End::Failed(class) => match class {
                FailureClass::RateLimited | FailureClass::Overloaded => Self::Refused,
                FailureClass::ServerError
                | FailureClass::Timeout
                | FailureClass::StreamInterrupted
                | FailureClass::EmptyOutput => fault,
                FailureClass::ContentFiltered
                | FailureClass::Refusal
                | FailureClass::TruncatedOutput
                | FailureClass::UnparseableOutput
                | FailureClass::SchemaViolation
                | FailureClass::CheckFailed => Self::Invalid,
                // Judged by another step, valid by itself.
                FailureClass::Rejected => Self::Answered,
                FailureClass::Deadline | FailureClass::Cancelled => Self::Closed,
                FailureClass::ContextOverflow
                | FailureClass::QuotaExhausted
                | FailureClass::Auth
                | FailureClass::Permission
                | FailureClass::ModelNotFound
                | FailureClass::BadRequest
                | FailureClass::UnsupportedParameter
                | FailureClass::Budget
                | FailureClass::InvalidInput => Self::Unrelated,
            },
        }
    }
}

/// The points of a stream, ascending in both, from its first token to its last.
fn stream_of(observation: &Observation) -> Vec<(Duration, u64)> {
    let mut points: Vec<(Duration, u64)> =
        observation.stream.iter().copied().take(POINTS_MAX).collect();
    points.sort_unstable();
    if points.first().is_some_and(|first| !first.0.is_zero()) {
        points.insert(0, (Duration::ZERO, 0));
    }
    let mut most = 0;
    points.retain(|point| {
        let goes_on = point.1 >= most;
        most = most.max(point.1);
        goes_on
    });
    let all = points.len();
    while points.len() > 1 && points[points.len() - 2].1 == points[points.len() - 1].1 {
        points.pop();
    }
    // Where points were taken at times of their own, the last token came somewhere before the first that shows it.
    if points.len() < all {
        points.pop();
    }
    points
}

impl Seen {
    /// What there is to learn. Times that contradict each other are put in order.
    #[must_use]
    pub fn of(observation: &Observation) -> Self {
        let lasted = observation.lasted.as_secs_f64().min(LONGEST_S);
        let first = observation.first_token.map(|first| first.as_secs_f64().min(lasted));
        let stream = stream_of(observation);
        let fate = Fate::of(observation.end, first.is_some());
        let tokens = real(observation.tokens);
        let whole = || {
            let span = observation.lasted.saturating_sub(observation.first_token?);
            pace(&[(Duration::ZERO, 0), (span, observation.tokens)])
        };
        let complete = matches!(fate, Fate::Answered | Fate::Invalid);
        let pace =
            first.and_then(|_| pace(&stream).or_else(|| if complete { whole() } else { None }));
        let quiet = match (first, stream.last()) {
            (Some(first), Some(last)) => lasted - first - last.0.as_secs_f64(),
            _ => 0.0,
        };
        let patience: f64 = pace.map_or(0.0, |pace| pace.after * QUIET_TOKENS);
        let patience = patience.max(QUIET_S);
        let expected = observation.expected_tokens;
        Self {
            stalled: fate == Fate::Closed && first.is_some() && quiet > patience,
            fate,
            first,
            lasted,
            tokens,
            pace,
            expected: if expected.is_finite() { expected.clamp(1.0, 1e6) } else { 1.0 },
            prompt: real(observation.prompt_tokens),
        }
    }

    /// Whether it was closed without a token.
    #[must_use]
    pub fn silent(&self) -> bool {
        self.fate == Fate::Closed && self.first.is_none()
    }
}
