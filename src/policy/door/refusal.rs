//! In words and tokens: why something is not sent, what is out for good, and what an attempt has taken.

use std::time::Duration;

use super::{End, LINE_MAX};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::domain::time::show;
use crate::policy::fallback::BACKOFF;
use crate::policy::health::{Access, Why};
use crate::policy::permit::{NO_PERMIT, Stock};

/// Most characters of a message.
const MESSAGE_MAX: usize = 500;

/// Why nothing is sent to `model` of the provider `name` with this access; `None` where it is.
pub(super) fn of(name: &str, model: &str, access: &Access, now: Duration) -> Option<Failure> {
    let (why, retry_after, message) = match access {
        Access::Open | Access::First | Access::Probed(_) => return None,
        Access::Closed(until, why) => {
            let wait = until.saturating_sub(now).max(Duration::from_millis(1));
            let for_ = show(wait);
            let message = format!("not sent: {name}/{model} is closed for {for_}: {}", why.said);
            (why, Some(wait), message)
        }
        Access::Out(why) => (why, None, format!("not sent: {}", out(name, model, why))),
    };
    let event = &why.event;
    Some(Failure {
        class: event.class,
        scope: event.scope.max(Scope::Path),
        retry_after,
        evidence: format!("closed by an earlier attempt: {}", event.evidence),
        message: message.chars().take(MESSAGE_MAX).collect(),
        about: None,
        hopeless: false,
    })
}

/// The limits let nothing more through before the run's end.
pub(super) fn by_limits(name: &str, wait: Duration) -> Failure {
    let for_ = show(wait);
    let message =
        format!("not sent: the limits of provider '{name}' let nothing through for {for_}");
    Failure {
        scope: Scope::Quota,
        retry_after: Some(wait),
        ..Failure::of_attempt(FailureClass::RateLimited, "local limits", message)
    }
}

/// There is no permit for an extra attempt. Nothing is closed by it: a first attempt may be sent.
pub(super) fn no_permit(name: &str, stock: &Stock) -> Failure {
    let message = format!("not sent: provider '{name}' bears no extra attempt: {stock}");
    Failure::of_attempt(FailureClass::Budget, NO_PERMIT, message)
}

/// The line is full.
pub(super) fn full(name: &str) -> Failure {
    let message = format!("not sent: {LINE_MAX} attempts wait for provider '{name}' already");
    Failure {
        scope: Scope::Quota,
        retry_after: Some(BACKOFF),
        ..Failure::of_attempt(FailureClass::Overloaded, "line full", message)
    }
}

/// The one message on what is out for good.
pub(super) fn out(name: &str, model: &str, why: &Why) -> String {
    let class = why.event.class;
    let what = if why.event.scope == Scope::Path && class != FailureClass::Auth {
        format!("{name}/{model}")
    } else {
        format!("provider '{name}'")
    };
    format!(
        "{what} is out ({class}): {}. Nothing is sent there until the settings or the key of '{name}' change, or the \
         server is started anew",
        why.said.trim_end_matches('.')
    )
}

/// Tokens of a usage.
pub(super) fn sum(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.output)
}

/// Tokens that an attempt took; `None` where all that were reserved must be reckoned with.
pub(super) fn used(end: End<'_>) -> Option<u64> {
    use FailureClass as F;
    match end {
        End::Answered(usage) | End::Failed(_, Some(usage)) => Some(sum(usage)),
        End::Closed => None,
        End::Failed(failure, None) => match failure.class {
            // Refused at the door: nothing was computed.
            F::RateLimited
            | F::Overloaded
            | F::ContextOverflow
            | F::QuotaExhausted
            | F::Auth
            | F::Permission
            | F::ModelNotFound
            | F::BadRequest
            | F::UnsupportedParameter => Some(0),
            F::ContentFiltered
            | F::Refusal
            | F::ServerError
            | F::Timeout
            | F::StreamInterrupted
            | F::EmptyOutput
            | F::TruncatedOutput
            | F::UnparseableOutput
            | F::SchemaViolation
            | F::CheckFailed
            | F::Rejected
            | F::Deadline
            | F::Budget
            | F::InvalidInput
            | F::Cancelled => None,
        },
    }
}
