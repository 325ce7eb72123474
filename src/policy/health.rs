//! Whether a provider and its paths are worth sending to, as all runs together have found.
//!
//! A failure that concerns others ([`ThrottleEvent`]) opens a circuit: of its path, or of everything behind the
//! provider's key. It rests for exactly the window that was stated, or for a pause that doubles from one second to a
//! minute and shrinks by a second with each success; of two windows the longer one counts. After it exactly one real
//! attempt goes first, and the others wait until it shows a sign of life, fails, or has had ten seconds. A dead key or
//! an empty account has no window: the provider is out until its settings or its key change.
//!
//! Nothing is ever sent to find out: what goes first is an attempt that some run needs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fallback::BACKOFF;
use super::queue::Ticket;
use crate::domain::failure::{Failure, FailureClass, Scope, ThrottleEvent};

/// Longest pause without a stated window.
pub const PAUSE_MOST: Duration = Duration::from_secs(60);
/// The same after a 429: a quota that refuses fills up meanwhile, and a rest beyond what it can hold, ten seconds of it
/// here, leaves it idle while runs wait. Measured (`cargo bench --bench feedback`, no window stated, a limit passed by an
/// eighth for two minutes): with a minute one server of a hundred sent a quarter of what it might for as long as it ran,
/// because all who had waited came at once after each rest, and were refused.
pub const THROTTLED_MOST: Duration = Duration::from_secs(8);
/// By how much a success shortens the next pause.
pub const PAUSE_STEP: Duration = Duration::from_secs(1);
/// Rest of a path that is not there, or not for this key: cheap to ask again, and seldom worth it sooner.
pub const MISSING_PAUSE: Duration = Duration::from_secs(60);
/// How long the others wait for a sign of life from the one that went first: the cold-start cutoff for a first token.
pub const PROBE_BOUND: Duration = Duration::from_secs(10);
/// Without a failure for so long, the next pause is the first again.
const FORGET: Duration = Duration::from_secs(600);
/// Paths that are remembered; they come from the configuration, so this is out of reach of any sane one.
const PATHS_MAX: usize = 1_000;

/// Why something is closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// What was told of it.
    pub event: ThrottleEvent,
    /// In the words of the failure, for a person. Not written down with an event.
    #[serde(skip)]
    pub said: String,
}

/// Whether a path may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may.
    Open,
    /// The first attempt after a rest may; the others wait for it.
    First,
    /// Another one went first, and the others wait for it until then at most.
    Probed(Duration),
    /// Not before then.
    Closed(Duration, Arc<Why>),
    /// Not until its settings or its key change.
    Out(Arc<Why>),
}

/// The health of one provider. Times count from the server's start and never go back.
#[derive(Clone, Debug, Default)]
pub struct Health {
    whole: Circuit,
    /// By model.
    paths: BTreeMap<String, Circuit>,
}

#[derive(Clone, Debug, Default)]
struct Circuit {
    state: State,
    /// The next rest where no window is stated.
    pause: Option<Duration>,
    /// When it was last closed. What was sent before says nothing about the time after.
    closed_at: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Open,
    Closed(Duration, Arc<Why>),
    Probed(Ticket, Duration, Arc<Why>),
    Out(Arc<Why>),
}

/// How long a failure closes what it speaks of.
#[derive(Clone, Copy)]
enum Rest {
    For(Duration),
    Pause,
    Out,
}

/// How far an event reaches here and for how long; `None` where it closes nothing.
fn closes(event: &ThrottleEvent) -> Option<(Scope, Rest)> {
    use FailureClass as F;
    let path = event.scope.max(Scope::Path);
    let stated = event.retry_after.map_or(Rest::Pause, Rest::For);
    Some(match event.class {
        F::RateLimited | F::Overloaded | F::ServerError | F::Timeout | F::StreamInterrupted => {
            (path, stated)
        }
        F::Auth => (event.scope.max(Scope::Quota), Rest::Out),
        // A daily allowance comes back when it says; a model outside the plan takes nothing else with it.
        F::QuotaExhausted => match (event.scope, event.retry_after) {
            (Scope::Path, _) => (Scope::Path, Rest::Out),
            (Scope::Quota, Some(window)) => (Scope::Quota, Rest::For(window)),
            (scope, _) => (scope.max(Scope::Quota), Rest::Out),
        },
        F::Permission | F::ModelNotFound => {
            (path, Rest::For(event.retry_after.unwrap_or(MISSING_PAUSE)))
        }
        F::ContextOverflow
        | F::BadRequest
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
        | F::Cancelled => return None,
    })
}

/// Whether a failure that closes nothing shows that the provider answers.
fn answered(class: FailureClass) -> bool {
    use FailureClass as F;
    match class {
        F::ContextOverflow
        | F::BadRequest
        | F::UnsupportedParameter
        | F::ContentFiltered
        | F::Refusal
        | F::EmptyOutput
        | F::TruncatedOutput
        | F::UnparseableOutput
        | F::SchemaViolation
        | F::CheckFailed
        | F::Rejected => true,
        F::RateLimited
        | F::Overloaded
        | F::QuotaExhausted
        | F::Auth
        | F::Permission
        | F::ModelNotFound
        | F::ServerError
        | F::Timeout
        | F::StreamInterrupted
        | F::Deadline
        | F::Budget
        | F::InvalidInput
        | F::Cancelled => false,
    }
}

impl Health {
    /// Whether `model` may be sent to at `now`.
    #[must_use]
    pub fn access(&self, model: &str, now: Duration) -> Access {
        let whole = self.whole.access(now);
        match self.paths.get(model) {
            Some(path) => narrower(whole, path.access(now)),
            None => whole,
        }
    }

    /// The models that nothing may be sent to at `now`; `None` where that is all of them.
    #[must_use]
    pub fn shut(&self, now: Duration) -> Option<Vec<&str>> {
        let is_shut = |circuit: &Circuit| match circuit.access(now) {
            Access::Open | Access::First => false,
            Access::Probed(_) | Access::Closed(..) | Access::Out(_) => true,
        };
        if is_shut(&self.whole) {
            return None;
        }
        let shut = self.paths.iter().filter(|(_, circuit)| is_shut(circuit));
        Some(shut.map(|(model, _)| model.as_str()).collect())
    }

    /// Whether nothing is closed, resting or being tried.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        let open = |circuit: &Circuit| matches!(circuit.state, State::Open);
        open(&self.whole) && self.paths.values().all(open)
    }

    /// An attempt is sent: it is the one that goes first where one must.
    pub fn sent(&mut self, model: &str, ticket: Ticket, now: Duration) {
        for circuit in self.circuits(model) {
            circuit.sent(ticket, now);
        }
    }

    /// An attempt sent at `sent` shows a sign of life.
    pub fn alive(&mut self, model: &str, ticket: Ticket, sent: Duration) {
        for circuit in self.circuits(model) {
            circuit.alive(ticket, sent);
        }
        self.paths.retain(|_, circuit| !circuit.is_forgettable());
    }

    /// An attempt was closed before it said anything: where it went first, another may.
    pub fn gave_up(&mut self, model: &str, ticket: Ticket, now: Duration) {
        for circuit in self.circuits(model) {
            circuit.gave_up(ticket, now);
        }
    }

    /// An attempt sent at `sent` has failed. Why, where that has just taken something out for good: to be told once.
    pub fn failed(
        &mut self,
        model: &str,
        ticket: Ticket,
        sent: Duration,
        failure: &Failure,
        now: Duration,
    ) -> Option<Arc<Why>> {
        let event = failure.throttle();
        let Some((event, (scope, rest))) = event.and_then(|e| closes(&e).map(|c| (e, c))) else {
            if answered(failure.class) {
                self.alive(model, ticket, sent);
            } else {
                self.gave_up(model, ticket, now);
            }
            return None;
        };
        let why = Arc::new(Why { event, said: failure.message.clone() });
        let circuit = match scope {
            Scope::Attempt | Scope::Path => self.path(model),
            Scope::Quota | Scope::Provider => &mut self.whole,
        };
        let is_new = circuit.fail(rest, &why, sent, now);
        // The other circuit has learned nothing from it.
        self.gave_up(model, ticket, now);
        is_new.then_some(why)
    }

    /// When the whole provider may be sent to again after a window; `now` where it may.
    #[must_use]
    pub fn rests_until(&self, now: Duration) -> Duration {
        match &self.whole.state {
            State::Closed(until, _) => (*until).max(now),
            State::Open | State::Probed(..) | State::Out(_) => now,
        }
    }

    /// Until when somebody at least waits for one that went first.
    #[must_use]
    pub fn tried_until(&self, now: Duration) -> Option<Duration> {
        let circuits = [&self.whole].into_iter().chain(self.paths.values());
        let bounds = circuits.filter_map(|circuit| match &circuit.state {
            State::Probed(_, until, _) => Some(*until),
            State::Open | State::Closed(..) | State::Out(_) => None,
        });
        bounds.filter(|until| *until > now).min()
    }

    /// What is out for good: the model, or `None` for all of it, and why.
    pub fn out(&self) -> impl Iterator<Item = (Option<&str>, &Why)> {
        let paths = self.paths.iter().map(|(model, circuit)| (Some(model.as_str()), circuit));
        [(None, &self.whole)].into_iter().chain(paths).filter_map(|(model, circuit)| match &circuit
            .state
        {
            State::Out(why) => Some((model, &**why)),
            State::Open | State::Closed(..) | State::Probed(..) => None,
        })
    }

    /// The provider has become another, by its settings or its key: nothing of what was known holds.
    pub fn renew(&mut self) {
        *self = Self::default();
    }

    fn path(&mut self, model: &str) -> &mut Circuit {
        if self.paths.len() >= PATHS_MAX && !self.paths.contains_key(model) {
            self.paths.pop_first();
        }
        self.paths.entry(model.to_owned()).or_default()
    }

    fn circuits(&mut self, model: &str) -> impl Iterator<Item = &mut Circuit> {
        [&mut self.whole].into_iter().chain(self.paths.get_mut(model))
    }
}

/// Of two accesses the one that lets through less.
fn narrower(one: Access, other: Access) -> Access {
    match (one, other) {
        (Access::Out(why), _) | (_, Access::Out(why)) => Access::Out(why),
        (Access::Closed(a, why), Access::Closed(b, _)) if a >= b => Access::Closed(a, why),
        (_, Access::Closed(until, why)) | (Access::Closed(until, why), _) => {
            Access::Closed(until, why)
        }
        (Access::Probed(a), Access::Probed(b)) => Access::Probed(a.max(b)),
        (Access::Probed(until), _) | (_, Access::Probed(until)) => Access::Probed(until),
        (Access::First, _) | (_, Access::First) => Access::First,
        (Access::Open, Access::Open) => Access::Open,
    }
}

impl Circuit {
    fn access(&self, now: Duration) -> Access {
        match &self.state {
            State::Closed(until, why) if *until > now => Access::Closed(*until, why.clone()),
            State::Closed(..) => Access::First,
            State::Probed(_, until, _) if *until > now => Access::Probed(*until),
            State::Open | State::Probed(..) => Access::Open,
            State::Out(why) => Access::Out(why.clone()),
        }
    }

    /// Open, with nothing to remember.
    fn is_forgettable(&self) -> bool {
        matches!(self.state, State::Open) && self.pause.is_none_or(|pause| pause <= BACKOFF)
    }

    fn sent(&mut self, ticket: Ticket, now: Duration) {
        match &self.state {
            State::Closed(until, why) if *until <= now => {
                self.state = State::Probed(ticket, now + PROBE_BOUND, why.clone());
            }
            State::Probed(_, until, _) if *until <= now => self.state = State::Open,
            State::Open | State::Closed(..) | State::Probed(..) | State::Out(_) => {}
        }
    }

    fn alive(&mut self, ticket: Ticket, sent: Duration) {
        let is_first = matches!(&self.state, State::Probed(first, ..) if *first == ticket);
        // What left before the circuit was closed is no news of the time after.
        if !is_first && self.closed_at.is_some_and(|at| sent <= at) {
            return;
        }
        match &self.state {
            State::Open => {}
            State::Probed(..) => self.state = State::Open,
            State::Closed(..) | State::Out(_) => return,
        }
        self.pause = self.pause.map(|pause| pause.saturating_sub(PAUSE_STEP).max(BACKOFF));
    }

    fn gave_up(&mut self, ticket: Ticket, now: Duration) {
        match &self.state {
            State::Probed(first, _, why) if *first == ticket => {
                self.state = State::Closed(now, why.clone());
            }
            State::Open | State::Closed(..) | State::Probed(..) | State::Out(_) => {}
        }
    }

    /// Whether it is out from now on and was not before.
    fn fail(&mut self, rest: Rest, why: &Arc<Why>, sent: Duration, now: Duration) -> bool {
        if matches!(self.state, State::Out(_)) {
            return false;
        }
        let same_burst = self.closed_at.is_some_and(|at| sent <= at);
        let until = match rest {
            Rest::Out => {
                self.state = State::Out(why.clone());
                return true;
            }
            Rest::For(window) => now.saturating_add(window),
            // One burst of failures is one failure: the pause doubles by what was sent after it.
            Rest::Pause if same_burst => return false,
            Rest::Pause => {
                let quiet = self.closed_at.is_none_or(|at| at + FORGET < now);
                let pause = self.pause.filter(|_| !quiet).unwrap_or(BACKOFF);
                let throttled = why.event.class == FailureClass::RateLimited;
                let most = if throttled { THROTTLED_MOST } else { PAUSE_MOST };
                self.pause = Some((pause * 2).min(most));
                now.saturating_add(pause.min(most))
            }
        };
        self.closed_at = Some(now);
        let longer = match &self.state {
            State::Closed(before, _) => until >= *before,
            State::Open | State::Probed(..) | State::Out(_) => true,
        };
        if longer {
            self.state = State::Closed(until, why.clone());
        }
        false
    }
}

/// The wire form of reasons that runs share: each by its value.
pub mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Why;

    /// Writes each reason out.
    ///
    /// # Errors
    /// The writer's own.
    pub fn serialize<S: Serializer>(whys: &[Option<Arc<Why>>], to: S) -> Result<S::Ok, S::Error> {
        let whys: Vec<Option<&Why>> = whys.iter().map(Option::as_deref).collect();
        whys.serialize(to)
    }

    /// Reads them back.
    ///
    /// # Errors
    /// The reader's own, and what is no list of reasons.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Option<Arc<Why>>>, D::Error> {
        let whys = Vec::<Option<Why>>::deserialize(from)?;
        Ok(whys.into_iter().map(|why| why.map(Arc::new)).collect())
    }
}

#[cfg(test)]
mod tests;
