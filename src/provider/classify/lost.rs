//! What it means that a connection failed. The library tells some of it by kind and the rest in words.

use crate::domain::failure::{Failure, FailureClass, Scope};

/// A connection that failed.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    /// Whether it never stood.
    pub connecting: bool,
    /// Whether it was given up after some time.
    pub timed_out: bool,
    /// Whether a response had begun.
    pub answered: bool,
    /// All that the library says of it.
    pub words: &'a str,
}

/// What that means for others, without the words for people.
#[must_use]
pub fn lost(of: &Lost<'_>) -> Failure {
    /// What the HTTP library says of bytes that are no response.
    const NONSENSE: [&str; 6] = [
        "invalid http",
        "invalid header",
        "invalid content-length",
        "invalid transfer-encoding",
        "message head is too large",
        "too many headers",
    ];
    let words = of.words.to_lowercase();
    let nonsense = NONSENSE.iter().any(|marker| words.contains(marker));
    let (class, scope, evidence) = if of.answered {
        (FailureClass::StreamInterrupted, Scope::Attempt, "connection lost in mid-stream")
    } else if of.timed_out && of.connecting {
        (FailureClass::Timeout, Scope::Provider, "connect timeout")
    } else if of.timed_out {
        (FailureClass::Timeout, Scope::Path, "connection timeout")
    } else if of.connecting {
        (FailureClass::ServerError, Scope::Provider, "no connection")
    } else if nonsense {
        (FailureClass::ServerError, Scope::Provider, "no HTTP")
    } else {
        (FailureClass::StreamInterrupted, Scope::Attempt, "connection lost")
    };
    Failure { scope, ..Failure::of_attempt(class, evidence, "") }
}
