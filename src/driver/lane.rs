//! One provider's lane: the connection to it, and the door that everything sent to it passes.
//!
//! Who may pass and in which order is the pure [`policy::door`](crate::policy::door)'s to say; here it is asked whenever
//! something has happened, and whoever waits is told. Of those who wait one at most watches the clock, for all. The
//! door's lock is held for no longer than its arithmetic takes, never across an await.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::clock::Clock;
use crate::domain::failure::Failure;
use crate::domain::provider::Limits;
use crate::domain::time::{Share, Timestamp};
use crate::policy::door::{self, Ask, End, Next, View};
use crate::policy::permit::{self, Claim, Guard, Kind, Shortage, Stock, Traffic};
use crate::policy::queue::{Party, Ticket};
use crate::policy::rate::Told;
use crate::provider::{Broken, Provider, Reply};
use crate::run::Launch;

/// Every provider of one configuration, by name. A run keeps the lanes it started with.
#[derive(Clone, Default)]
pub struct Lanes {
    lanes: BTreeMap<String, Arc<Lane>>,
    /// The share of extra attempts of the whole server.
    guard: Arc<Mutex<Guard>>,
}

/// One provider, shared by all runs.
pub struct Lane {
    name: String,
    provider: Arc<dyn Provider>,
    /// Tells these settings and this key from others.
    mark: u64,
    /// The door's word for them.
    epoch: u32,
    door: Arc<Door>,
}

/// The door of a provider of that name; it outlives a reload of the configuration.
struct Door {
    clock: Clock,
    /// Whether nothing is closed and no minute is limited: what most looks at a healthy door want to know.
    calm: AtomicBool,
    state: Mutex<State>,
}

struct State {
    door: door::Door,
    waiting: BTreeMap<Ticket, watch::Sender<Call>>,
    /// Who watches the clock for all, and until when.
    watching: Option<(Ticket, Duration)>,
}

/// What somebody who waits is told.
#[derive(Clone, Debug)]
enum Call {
    /// Wait.
    Wait,
    /// Wait, and ask again at that time.
    Watch(Duration),
    /// Go in.
    Send,
    /// Go away.
    TurnAway(Failure),
}

/// A place before the door. Leaving it before one is called leaves no trace.
struct Place {
    door: Arc<Door>,
    party: Party,
    ticket: Ticket,
    called: bool,
}

/// A place inside: given back when dropped, as that of an attempt that was closed.
pub struct Slot {
    door: Arc<Door>,
    provider: String,
    ticket: Ticket,
    alive: bool,
    left: bool,
}

impl Lanes {
    /// Adds a provider under its name. Its gate's minutes are counted by `clock`.
    pub fn add(&mut self, name: &str, provider: Arc<dyn Provider>, limits: Limits, clock: Clock) {
        self.add_marked(name, provider, limits, clock, 0);
    }

    /// The same; `mark` tells its settings and its key from others. What was found out about a provider is forgotten
    /// when another mark comes under its name.
    pub fn add_marked(
        &mut self,
        name: &str,
        provider: Arc<dyn Provider>,
        limits: Limits,
        clock: Clock,
        mark: u64,
    ) {
        let door = door::Door::new(name, limits);
        let calm = AtomicBool::new(door.is_calm());
        let state = Mutex::new(State { door, waiting: BTreeMap::new(), watching: None });
        let door = Arc::new(Door { clock, calm, state });
        let name = name.to_owned();
        let lane = Lane { name: name.clone(), provider, mark, epoch: 0, door };
        self.lanes.insert(name, Arc::new(lane));
    }

    /// The lane of the provider of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Lane>> {
        self.lanes.get(name).cloned()
    }

    /// Bounds the server's share of extra attempts.
    pub fn bound(&self, share: Share) {
        self.guard().bound(share);
    }

    /// What a lane has for extra attempts, and the server with it.
    pub(super) fn stock(&self, lane: &Lane) -> Stock {
        let now = lane.door.now();
        let stock = lane.door.state().door.stock(now);
        if self.guard().admits(now) { stock } else { stock.short_of(Shortage::Share) }
    }

    /// Settles with the server's share and with those who earn by it what is about to be launched on `lane`.
    ///
    /// # Errors
    /// It is beyond the server's share: to be turned away.
    pub(super) fn settle(&self, lane: &Lane, launch: &Launch) -> Result<(), Failure> {
        let now = lane.door.now();
        match launch.claim {
            Claim::Earns => {
                self.guard().count(Kind::Primary, now);
                launch.earns.iter().filter_map(|name| self.lanes.get(name)).for_each(|l| l.earn());
                Ok(())
            }
            Claim::Needs if !self.guard().take(now) => Err(permit::beyond_share()),
            Claim::Nothing | Claim::Takes | Claim::Needs => Ok(()),
        }
    }

    fn guard(&self) -> MutexGuard<'_, Guard> {
        // Counting cannot panic half-way: a poisoned lock still holds a whole value.
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is out until settings or keys change, in words.
    #[must_use]
    pub fn out(&self) -> Vec<String> {
        self.lanes.values().flat_map(|lane| lane.door.state().door.out()).collect()
    }

    /// Takes over the doors of `before`, each under the limits given here: what was sent within the last minute and
    /// what is in flight still counts. What is out stays out, and what refusals have taught holds, where neither settings
    /// nor key have changed.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.guard = before.guard.clone();
        for (name, lane) in &mut self.lanes {
            let Some(old) = before.lanes.get(name) else { continue };
            let limits = lane.door.state().door.limits();
            let mut state = old.door.state();
            state.door.relimit(limits);
            let same = lane.mark == old.mark;
            if !same {
                state.door.renew();
            }
            let epoch = state.door.epoch();
            old.door.call(&mut state);
            drop(state);
            let (provider, mark) = (lane.provider.clone(), lane.mark);
            if same {
                provider.inherit(old.provider());
            }
            let (name, door) = (name.clone(), old.door.clone());
            *lane = Arc::new(Lane { name, provider, mark, epoch, door });
        }
        self
    }
}

impl Lane {
    /// Where requests go.
    #[must_use]
    pub fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    /// The window of a model as a refusal has told it.
    #[must_use]
    pub fn window(&self, model: &str) -> Option<u64> {
        self.provider.lessons()?.window(model)
    }

    /// Counts an attempt among those of ten minutes.
    pub fn count(&self, kind: Kind) {
        let now = self.door.now();
        self.door.state().door.count(kind, now);
    }

    /// A first attempt was launched that may turn here.
    fn earn(&self) {
        let now = self.door.now();
        self.door.state().door.earn(now);
    }

    /// What was counted in the last ten minutes.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let now = self.door.now();
        self.door.state().door.traffic(now)
    }

    /// Whether every path here is open and has no line.
    #[must_use]
    pub fn is_calm(&self) -> bool {
        self.door.calm.load(Ordering::Relaxed)
    }

    /// What everybody may know of a model here.
    #[must_use]
    pub fn view(&self, model: &str) -> View {
        let now = self.door.now();
        self.door.state().door.view(model, now)
    }

    /// Waits until the attempt may be sent.
    ///
    /// # Errors
    /// It cannot be: its path is closed, or it could not be sent before its run's end.
    pub async fn enter(&self, launch: &Launch) -> Result<Slot, Failure> {
        let now = self.door.now();
        let ask = Ask {
            party: launch.party.clone(),
            model: launch.exchange.profile.id.clone(),
            tokens: launch.prompt_tokens.saturating_add(u64::from(launch.exchange.max_tokens)),
            until: now.saturating_add(launch.ends_in),
            claim: launch.claim,
            epoch: self.epoch,
        };
        let (mut place, mut calls) = self.door.line_up(ask, now);
        loop {
            let call = calls.borrow_and_update().clone();
            match call {
                Call::Send => {
                    place.called = true;
                    let (door, provider) = (self.door.clone(), self.name.clone());
                    let ticket = place.ticket;
                    return Ok(Slot { door, provider, ticket, alive: false, left: false });
                }
                Call::TurnAway(failure) => {
                    place.called = true;
                    return Err(failure);
                }
                Call::Watch(at) => {
                    tokio::select! {
                        // The sender stands in the door's list for as long as this place does.
                        _ = calls.changed() => {}
                        () = self.door.wait_until(at) => self.door.call(&mut self.door.state()),
                    }
                }
                Call::Wait => {
                    let _ = calls.changed().await;
                }
            }
        }
    }
}

impl Door {
    fn now(&self) -> Duration {
        self.clock.now().since_start()
    }

    async fn wait_until(&self, at: Duration) {
        self.clock.sleep_until(Timestamp::after_start(at)).await;
        // A clock that runs faster than the machine's may be a rounding short of it.
        while self.now() < at {
            self.clock.sleep(Duration::from_millis(1)).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The door's arithmetic cannot panic half-way: a poisoned lock still holds a whole value.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line_up(self: &Arc<Self>, ask: Ask, now: Duration) -> (Place, watch::Receiver<Call>) {
        let mut state = self.state();
        let party = ask.party.clone();
        let ticket = state.door.line_up(ask, now);
        let (caller, calls) = watch::channel(Call::Wait);
        state.waiting.insert(ticket, caller);
        self.call(&mut state);
        drop(state);
        (Place { door: self.clone(), party, ticket, called: false }, calls)
    }

    /// Calls whose turn it is, and has one of the others watch the clock.
    fn call(&self, state: &mut State) {
        let now = self.now();
        let opens = loop {
            let (ticket, call) = match state.door.next(now) {
                Next::Send(ticket) => (ticket, Call::Send),
                Next::TurnAway(ticket, failure) => (ticket, Call::TurnAway(failure)),
                Next::Wait(opens) => break opens,
            };
            match state.waiting.remove(&ticket) {
                Some(caller) => drop(caller.send_replace(call)),
                None if matches!(call, Call::Send) => {
                    state.door.leave(ticket, End::Closed, now);
                }
                None => {}
            }
        };
        self.calm.store(state.door.is_calm(), Ordering::Relaxed);
        let first = state.waiting.first_key_value().map(|(ticket, _)| *ticket);
        let watching = opens.and_then(|at| Some((first?, at)));
        if watching == state.watching {
            return;
        }
        let tell = |ticket: Ticket, call: Call| {
            if let Some(caller) = state.waiting.get(&ticket) {
                caller.send_replace(call);
            }
        };
        if let Some((ticket, _)) = state.watching {
            tell(ticket, Call::Wait);
        }
        if let Some((ticket, at)) = watching {
            tell(ticket, Call::Watch(at));
        }
        state.watching = watching;
    }
}

impl Slot {
    /// The first piece of the answer has come.
    pub fn alive(&mut self) {
        if !std::mem::replace(&mut self.alive, true) {
            let mut state = self.door.state();
            state.door.alive(self.ticket);
            self.door.call(&mut state);
        }
    }

    /// The reply said what is left of the provider's limits.
    pub fn told(&self, told: &Told) {
        let now = self.door.now();
        let mut state = self.door.state();
        state.door.told(self.ticket, told, now);
        self.door.call(&mut state);
    }

    /// The attempt has ended with this.
    pub fn settle(mut self, reply: &Result<Reply, Broken>) {
        let end = match reply {
            Ok(reply) => End::Answered(&reply.usage),
            Err(broken) => End::Failed(&broken.failure, broken.usage.as_ref()),
        };
        self.leave(end);
    }

    fn leave(&mut self, end: End<'_>) {
        if std::mem::replace(&mut self.left, true) {
            return;
        }
        let now = self.door.now();
        let mut state = self.door.state();
        let out = state.door.leave(self.ticket, end, now);
        self.door.call(&mut state);
        drop(state);
        if let Some(text) = out {
            tracing::error!(target: "punctual::out", provider = %self.provider, "{text}");
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.leave(End::Closed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.called {
            return;
        }
        let now = self.door.now();
        let mut state = self.door.state();
        if state.waiting.remove(&self.ticket).is_some() {
            state.door.withdraw(&self.party, self.ticket);
        } else {
            // It was called and did not hear it any more.
            state.door.leave(self.ticket, End::Closed, now);
        }
        self.door.call(&mut state);
    }
}

#[cfg(test)]
mod tests;
