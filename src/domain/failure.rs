//! How an attempt or a run can fail, and what each failure says about its surroundings.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The cause of a failure. Matched exhaustively everywhere: a new cause must be given a reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// 429: this quota is throttled for a while.
    RateLimited,
    /// 503, 529: the provider is up but full.
    Overloaded,
    /// The prompt does not fit the model's window.
    ContextOverflow,
    /// The account's money or contract is exhausted.
    QuotaExhausted,
    /// The key is missing or wrong.
    Auth,
    /// The key may not do this.
    Permission,
    /// The model is unknown to the provider.
    ModelNotFound,
    /// The provider refuses the request as malformed.
    BadRequest,
    /// The provider refuses one parameter of the request.
    UnsupportedParameter,
    /// A content filter stopped prompt or answer.
    ContentFiltered,
    /// The model declined.
    Refusal,
    /// 5xx, or an unreachable host.
    ServerError,
    /// The provider gave up waiting, or the connection did.
    Timeout,
    /// The stream broke off before the answer was complete.
    StreamInterrupted,
    /// The answer is empty.
    EmptyOutput,
    /// The answer hit its token bound.
    TruncatedOutput,
    /// The answer is not JSON.
    UnparseableOutput,
    /// The answer is JSON of the wrong shape.
    SchemaViolation,
    /// A deterministic check of the workflow said no.
    CheckFailed,
    /// The validator said no, and no revision is left.
    Rejected,
    /// The run's time is up.
    Deadline,
    /// A budget does not cover another attempt.
    Budget,
    /// The caller's arguments do not fit the workflow's input.
    InvalidInput,
    /// The caller withdrew the call.
    Cancelled,
}

impl FailureClass {
    /// Every class, in declaration order.
    pub const ALL: [Self; 24] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::ContextOverflow,
        Self::QuotaExhausted,
        Self::Auth,
        Self::Permission,
        Self::ModelNotFound,
        Self::BadRequest,
        Self::UnsupportedParameter,
        Self::ContentFiltered,
        Self::Refusal,
        Self::ServerError,
        Self::Timeout,
        Self::StreamInterrupted,
        Self::EmptyOutput,
        Self::TruncatedOutput,
        Self::UnparseableOutput,
        Self::SchemaViolation,
        Self::CheckFailed,
        Self::Rejected,
        Self::Deadline,
        Self::Budget,
        Self::InvalidInput,
        Self::Cancelled,
    ];

    /// The name in reports and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ContextOverflow => "context_overflow",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Auth => "auth",
            Self::Permission => "permission",
            Self::ModelNotFound => "model_not_found",
            Self::BadRequest => "bad_request",
            Self::UnsupportedParameter => "unsupported_parameter",
            Self::ContentFiltered => "content_filtered",
            Self::Refusal => "refusal",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::StreamInterrupted => "stream_interrupted",
            Self::EmptyOutput => "empty_output",
            Self::TruncatedOutput => "truncated_output",
            Self::UnparseableOutput => "unparseable_output",
            Self::SchemaViolation => "schema_violation",
            Self::CheckFailed => "check_failed",
            Self::Rejected => "rejected",
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::InvalidInput => "invalid_input",
            Self::Cancelled => "cancelled",
        }
    }

    /// The class of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// Whether the same call, made again later, can be expected to fare better.
    #[must_use]
    pub const fn retryable(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::ServerError
            | Self::Timeout
            | Self::StreamInterrupted
            | Self::EmptyOutput
            | Self::TruncatedOutput
            | Self::UnparseableOutput
            | Self::SchemaViolation
            | Self::CheckFailed
            | Self::Rejected
            | Self::Deadline
            | Self::Cancelled => true,
            Self::ContextOverflow
            | Self::QuotaExhausted
            | Self::Auth
            | Self::Permission
            | Self::ModelNotFound
            | Self::BadRequest
            | Self::UnsupportedParameter
            | Self::ContentFiltered
            | Self::Refusal
            | Self::Budget
            | Self::InvalidInput => false,
        }
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How far a failure reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This attempt only; the same path may do better.
    Attempt,
    /// This path: provider and model together.
    Path,
    /// Everything that draws on the same quota.
    Quota,
    /// The whole provider, until its configuration or key changes.
    Provider,
}

/// A failed attempt, as classified from status, headers and body together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The cause.
    pub class: FailureClass,
    /// How far it reaches.
    pub scope: Scope,
    /// The wait the provider asked for.
    pub retry_after: Option<Duration>,
    /// Whether the provider says that the same request, sent to the same path again, meets the same.
    pub hopeless: bool,
    /// What the class was read from, `429 + retry-after`, at most 500 characters; never prompt or answer text.
    pub evidence: String,
    /// The provider's own words or ours, at most 500 characters, without secrets. Not written down with an event: it may
    /// quote an answer.
    #[serde(skip)]
    pub message: String,
    /// What precisely it speaks of, where that could be told.
    pub about: Option<About>,
}

/// What precisely a failure speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A part of the request, by the provider's name for it.
    Parameter(String),
    /// A prompt beyond its limit, in tokens as the provider counts them.
    Size {
        /// What the prompt was.
        prompt: u64,
        /// What it may be.
        most: u64,
    },
}

impl Failure {
    /// A failure that says nothing about its surroundings. Words beyond their bound lose their end.
    #[must_use]
    pub fn of_attempt(
        class: FailureClass,
        evidence: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (evidence, message) = (bounded(evidence.into()), bounded(message.into()));
        Self {
            class,
            scope: Scope::Attempt,
            retry_after: None,
            hopeless: false,
            evidence,
            message,
            about: None,
        }
    }

    /// What this failure says to everyone who uses the same path, quota or provider; `None` where it speaks of its
    /// own prompt or answer alone.
    ///
    /// A bad answer or a refused prompt says nothing to others, and neither does what the caller or this server
    /// did. A refused request does where every request would be (a redirect, an address that is none): then its
    /// scope is the provider.
    #[must_use]
    pub fn throttle(&self) -> Option<ThrottleEvent> {
        use FailureClass as F;
        let concerns = match self.class {
            F::RateLimited
            | F::Overloaded
            | F::QuotaExhausted
            | F::Auth
            | F::Permission
            | F::ModelNotFound => true,
            F::ServerError | F::Timeout | F::StreamInterrupted => {
                self.scope > Scope::Attempt || self.retry_after.is_some()
            }
            F::BadRequest => self.scope == Scope::Provider,
            F::ContextOverflow
            | F::UnsupportedParameter
            | F::ContentFiltered
            | F::Refusal
            | F::EmptyOutput
            | F::TruncatedOutput
            | F::UnparseableOutput
            | F::SchemaViolation
            | F::CheckFailed
            | F::Rejected
            | F::Deadline
            | F::Budget
            | F::InvalidInput
            | F::Cancelled => false,
        };
        concerns.then(|| ThrottleEvent {
            class: self.class,
            scope: self.scope.max(Scope::Path),
            retry_after: self.retry_after,
            evidence: self.evidence.clone(),
        })
    }
}

/// The longest evidence and message of a failure, in characters.
const MAX_WORDS: usize = 500;

/// `text` with at most [`MAX_WORDS`] characters, the last one an ellipsis where some were lost.
fn bounded(mut text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_WORDS) else { return text };
    let last = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    text.truncate(last);
    text.push('…');
    text
}

/// What a failure says to others than its own attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottleEvent {
    /// The cause.
    pub class: FailureClass,
    /// How far it reaches: a path, a quota or a provider, never an attempt alone.
    pub scope: Scope,
    /// The window the provider stated, 1 ms to a day; `None` where it stated none.
    pub retry_after: Option<Duration>,
    /// What the class was read from; never prompt or answer text.
    pub evidence: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_reads_back_from_its_name() {
        for class in FailureClass::ALL {
            assert_eq!(FailureClass::parse(class.as_str()), Some(class));
        }
        assert_eq!(FailureClass::parse("unknown"), None);
    }

    #[test]
    fn words_beyond_their_bound_lose_their_end() {
        let of = |words: String| Failure::of_attempt(FailureClass::Refusal, words.clone(), words);
        let most = of("é".repeat(500));
        assert_eq!((most.message.as_str(), &most.evidence), (&*"é".repeat(500), &most.message));
        let beyond = of("é".repeat(501));
        assert_eq!(beyond.message, "é".repeat(499) + "…");
        assert_eq!(beyond.evidence, beyond.message);
    }

    #[test]
    fn what_concerns_others_is_told_to_them_and_nothing_else() {
        use FailureClass as F;
        let event = |class, scope, seconds: Option<u64>| {
            let retry_after = seconds.map(Duration::from_secs);
            Failure { scope, retry_after, ..Failure::of_attempt(class, "said so", "words") }
                .throttle()
        };
        for class in F::ALL {
            let told = event(class, Scope::Provider, None).map(|event| event.class);
            let concerns = matches!(
                class,
                F::RateLimited
                    | F::Overloaded
                    | F::QuotaExhausted
                    | F::Auth
                    | F::Permission
                    | F::ModelNotFound
                    | F::BadRequest
                    | F::ServerError
                    | F::Timeout
                    | F::StreamInterrupted
            );
            assert_eq!(told, concerns.then_some(class), "{class}");
        }
        assert_eq!(event(F::ServerError, Scope::Attempt, None), None);
        assert_eq!(event(F::BadRequest, Scope::Path, None), None);
        let seven = Some(Duration::from_secs(7));
        let narrow = event(F::Overloaded, Scope::Attempt, Some(7)).unwrap();
        assert_eq!((narrow.scope, narrow.retry_after), (Scope::Path, seven));
        let wide = event(F::RateLimited, Scope::Quota, Some(7)).unwrap();
        assert_eq!((wide.scope, wide.evidence.as_str()), (Scope::Quota, "said so"));
    }
}
