//! What a failure says about the paths around it: which are closed, for how long, for whom.
//!
//! Not the reaction to it: that is [`super::fallback`].

use std::time::Duration;

use super::fallback::BACKOFF;
use crate::domain::failure::{Failure, FailureClass, Scope};

/// What a failure closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Nothing: it speaks of its answer alone.
    Nothing,
    /// The path, and every path whose window is no larger, to this prompt.
    TooSmall,
    /// The path to this prompt.
    Unfit,
    /// Everything of this scope, for a while.
    For(Scope, Duration),
    /// Everything of this scope, for the rest of the run.
    ForRun(Scope),
}

/// What `failure` closes. Throttling reaches at least its path and a dead key or account at least its quota,
/// however narrowly the failure was classified; a model outside the account's plan takes nothing else with it.
#[must_use]
pub fn decide(failure: &Failure) -> Closing {
    use FailureClass as F;
    let scope = failure.scope;
    let wait = failure.retry_after.unwrap_or(BACKOFF);
    match failure.class {
        F::QuotaExhausted if scope == Scope::Path => Closing::ForRun(scope),
        F::QuotaExhausted | F::Auth => Closing::ForRun(scope.max(Scope::Quota)),
        F::Permission | F::ModelNotFound => Closing::ForRun(scope.max(Scope::Path)),
        F::RateLimited | F::Overloaded => Closing::For(scope.max(Scope::Path), wait),
        F::ServerError | F::Timeout | F::StreamInterrupted => {
            match (scope, failure.retry_after, failure.class) {
                (_, Some(wait), _) => Closing::For(scope.max(Scope::Path), wait),
                (Scope::Attempt, None, _) | (_, None, F::StreamInterrupted) => Closing::Nothing,
                (Scope::Path | Scope::Quota | Scope::Provider, None, _) => {
                    Closing::For(scope, BACKOFF)
                }
            }
        }
        F::ContextOverflow => Closing::TooSmall,
        // A redirect, an address at which nothing is served: every request there is refused.
        F::BadRequest if scope == Scope::Provider => Closing::ForRun(scope),
        F::BadRequest | F::UnsupportedParameter => Closing::Unfit,
        F::ContentFiltered
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
        | F::Cancelled => Closing::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closing(class: FailureClass, scope: Scope, retry_after: Option<u64>) -> Closing {
        let retry_after = retry_after.map(Duration::from_secs);
        decide(&Failure { scope, retry_after, ..Failure::of_attempt(class, "", "") })
    }

    #[test]
    fn every_class_closes_what_it_speaks_of_and_no_more() {
        use FailureClass as F;
        for class in F::ALL {
            let expected = match class {
                F::QuotaExhausted | F::Auth => Closing::ForRun(Scope::Quota),
                F::Permission | F::ModelNotFound => Closing::ForRun(Scope::Path),
                F::RateLimited | F::Overloaded => Closing::For(Scope::Path, BACKOFF),
                F::ContextOverflow => Closing::TooSmall,
                F::BadRequest | F::UnsupportedParameter => Closing::Unfit,
                F::ServerError
                | F::Timeout
                | F::StreamInterrupted
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
                | F::Cancelled => Closing::Nothing,
            };
            assert_eq!(closing(class, Scope::Attempt, None), expected, "{class}");
        }
    }

    #[test]
    fn an_address_that_is_none_closes_its_provider() {
        let closed = closing(FailureClass::BadRequest, Scope::Provider, None);
        assert_eq!(closed, Closing::ForRun(Scope::Provider));
        assert_eq!(closing(FailureClass::BadRequest, Scope::Path, None), Closing::Unfit);
    }

    #[test]
    fn a_stated_window_is_honoured_as_wide_as_it_was_stated() {
        let seven = Duration::from_secs(7);
        let closed = closing(FailureClass::RateLimited, Scope::Quota, Some(7));
        assert_eq!(closed, Closing::For(Scope::Quota, seven));
        let closed = closing(FailureClass::ServerError, Scope::Attempt, Some(7));
        assert_eq!(closed, Closing::For(Scope::Path, seven));
    }

    #[test]
    fn a_model_outside_the_plan_takes_nothing_else_with_it() {
        let closed = closing(FailureClass::QuotaExhausted, Scope::Path, Some(7));
        assert_eq!(closed, Closing::ForRun(Scope::Path));
        let closed = closing(FailureClass::Auth, Scope::Path, None);
        assert_eq!(closed, Closing::ForRun(Scope::Quota));
    }

    #[test]
    fn a_sick_path_rests_and_a_broken_stream_does_not_close_it() {
        let closed = closing(FailureClass::ServerError, Scope::Path, None);
        assert_eq!(closed, Closing::For(Scope::Path, BACKOFF));
        assert_eq!(closing(FailureClass::StreamInterrupted, Scope::Path, None), Closing::Nothing);
    }
}
