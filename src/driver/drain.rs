//! Attempts that have lost, read to their end all the same.
//!
//! An attempt that is closed says only that it would have taken longer. Where its provider bills it anyway, a small share
//! is kept reading, so that what is known of slow answers is not a guess alone. Nothing of it reaches the run: it is
//! charged as it was when it lost, no attempt of the run's, and sends nothing more. How many there are and how long they
//! last is bounded, and they end with the server.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::clock::Clock;
use super::learned::Times;
use crate::domain::id::{AttemptId, RunId};
use crate::domain::plan::Plan;
use crate::domain::time::Timestamp;
use crate::latency::observation::{End, Observation};

/// Most at once: each holds a connection.
const MOST: usize = 16;
/// How long one may last, as a multiple of its run's deadline, from its run's start.
const LAST: u32 = 2;

/// Where losers are read to their end.
pub(super) struct Drains {
    /// One of so many losers is.
    one_in: u64,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    closing: CancellationToken,
    times: Arc<Times>,
}

/// Holds an attempt that may be read to its end: dropping it closes the attempt.
pub(super) struct Tether {
    pub(super) leave: oneshot::Sender<Box<Draining>>,
    pub(super) closes: DropGuard,
}

/// An attempt that goes on by itself.
pub(super) struct Draining {
    /// What it had shown when it lost.
    base: Observation,
    plan: Arc<Plan>,
    times: Arc<Times>,
    until: Timestamp,
    closing: CancellationToken,
    _place: OwnedSemaphorePermit,
}

/// What has come of an attempt by its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) sent: Timestamp,
    pub(super) first_token: Option<Timestamp>,
    pub(super) tokens: u64,
    pub(super) now: Timestamp,
}

impl Drains {
    /// One of `one_in` losers is read to its end, on `tasks`.
    pub(super) fn new(one_in: u64, tasks: TaskTracker, times: Arc<Times>) -> Self {
        let (places, closing) = (Arc::new(Semaphore::new(MOST)), CancellationToken::new());
        Self { one_in: one_in.max(1), places, tasks, closing, times }
    }

    /// Ends them all.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Whose tasks they are.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Whether this attempt is read to its end should it lose: the same each time it is asked.
    pub(super) fn wants(&self, run: &RunId, attempt: AttemptId) -> bool {
        let mut hasher = DefaultHasher::new();
        (run, attempt).hash(&mut hasher);
        hasher.finish().is_multiple_of(self.one_in) && !self.closing.is_cancelled()
    }

    /// What an attempt needs to go on after its run, whose deadline is `deadline`, has let go of it; `None` where too many do
    /// already.
    pub(super) fn admit(
        &self,
        base: Observation,
        plan: Arc<Plan>,
        deadline: Duration,
    ) -> Option<Box<Draining>> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        Some(Box::new(Draining {
            base,
            plan,
            times: self.times.clone(),
            until: Timestamp::after_start(deadline.saturating_mul(LAST)),
            closing: self.closing.clone(),
            _place: place,
        }))
    }
}

impl Draining {
    /// Waits until it must end whatever comes.
    pub(super) async fn over(&self, clock: Clock) {
        tokio::select! {
            () = clock.sleep_until(self.until) => {}
            () = self.closing.cancelled() => {}
        }
    }

    /// Tells what has come of it.
    pub(super) fn tell(self, came: Came, end: End) {
        let Came { sent, first_token, tokens, now } = came;
        let mut seen = self.base;
        seen.first_token = seen.first_token.or(first_token.map(|at| at.since(sent)));
        seen.tokens = seen.tokens.max(tokens);
        seen.lasted = now.since(sent).max(seen.lasted);
        if let Some(first) = seen.first_token {
            let flowed = seen.lasted.saturating_sub(first);
            if seen.stream.last().is_none_or(|(at, had)| *at < flowed && *had < seen.tokens) {
                seen.stream.push((flowed, seen.tokens));
            }
        }
        seen.end = end;
        self.times.record(&self.plan, &seen);
    }
}
