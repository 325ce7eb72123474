//! The same runs in virtual time: no tokio, no clock, no waiting.
//!
//! A [`World`] holds any number of runs and one queue of what happens next. It asks the simulator what each
//! attempt will do, feeds the runs in order of time, and is done when they all have ended. Everything that
//! decides is the code that runs live; only the passing of time is played.

pub mod case;
pub mod forecast;
mod gate;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use gate::{Call, Gates, Place};

use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::AttemptId;
use crate::domain::plan::Plan;
use crate::domain::provider::{Dialect, Limits, ProviderSettings};
use crate::domain::time::Timestamp;
use crate::latency::book::Book;
use crate::latency::law::Laws;
use crate::policy::door::{Ask, End};
use crate::policy::permit::{self, Claim};
use crate::provider::simulated::{Recordings, Script, Simulation, UnknownRegime, Update};
use crate::provider::{Broken, Reply};
use crate::run::{Effect, Launch, Run};

/// A run's place in its world, in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Guest(usize);

/// What happens next, ordered by time and then by when it was foreseen.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Timestamp,
    order: u64,
    what: What,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrive(Guest),
    Wake(Guest),
    Update(Guest, AttemptId, usize),
    /// A provider's door is asked again.
    Open(String),
}

struct Lodger {
    run: Run,
    arrived: Timestamp,
    wake: Option<Timestamp>,
    playing: BTreeMap<AttemptId, Playing>,
    /// Whether the run must be told what all runs send.
    watches: bool,
    ended: Option<Timestamp>,
}

/// An attempt that has been sent.
struct Playing {
    place: Place,
    script: Script,
    alive: bool,
    tokens: u64,
    seen: usize,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The run.
    pub run: Run,
    /// When it ended, counted from its arrival.
    pub at: Timestamp,
}

/// Runs in virtual time. See the module.
#[derive(Default)]
pub struct World {
    simulations: BTreeMap<String, Simulation>,
    gates: Gates,
    lodgers: Vec<Lodger>,
    waiting: BTreeMap<Place, (Guest, Launch)>,
    queue: BinaryHeap<Reverse<Due>>,
    foreseen: u64,
    /// What its attempts have shown, where that is written down.
    book: Option<(Book, Duration)>,
}

impl World {
    /// A world of the simulated providers among `settings`; the others are not part of it.
    ///
    /// # Errors
    /// A provider names a regime that there is not.
    pub fn of(
        settings: &[ProviderSettings],
        recordings: &Arc<Recordings>,
    ) -> Result<Self, UnknownRegime> {
        let mut world = Self::default();
        for one in settings {
            if let Dialect::Simulated(simulator) = &one.dialect {
                let simulation = Simulation::new(&one.name, simulator, recordings.clone())?;
                world.add(&one.name, simulation, one.limits);
            }
        }
        Ok(world)
    }

    /// A world of the providers among `settings` that `plan` uses, each faring as `laws` have its paths.
    #[must_use]
    pub fn measured(
        settings: &[ProviderSettings],
        plan: &Plan,
        laws: &Arc<Laws>,
        seed: u64,
        recordings: &Arc<Recordings>,
    ) -> Self {
        let mut world = Self::default();
        let used = |name: &str| plan.providers.iter().any(|provider| provider.name == name);
        for one in settings.iter().filter(|one| used(&one.name)) {
            let simulation = Simulation::measured(laws.clone(), seed, recordings.clone());
            world.add(&one.name, simulation, one.limits);
        }
        world
    }

    /// Adds a simulated provider under its name.
    pub fn add(&mut self, name: &str, simulation: Simulation, limits: Limits) {
        self.simulations.insert(name.to_owned(), simulation);
        self.gates.add(name, limits);
    }

    /// A run that arrives at `at` of the world's time.
    pub fn arrive(&mut self, run: Run, at: Timestamp) {
        let guest = Guest(self.lodgers.len());
        let playing = BTreeMap::new();
        let watches = run.hedges_early();
        self.lodgers.push(Lodger { run, arrived: at, wake: None, playing, watches, ended: None });
        self.foresee(at, What::Arrive(guest));
    }

    /// Plays until every run has ended, and returns them in order of arrival.
    #[must_use]
    pub fn play(mut self) -> Vec<Ended> {
        self.play_out();
        let ended =
            |lodger: Lodger| Ended { at: lodger.ended.unwrap_or_default(), run: lodger.run };
        self.lodgers.into_iter().map(ended).collect()
    }

    /// Plays until every run has ended, and writes down in `book` what their attempts have shown; by its clock the world
    /// begins at `from`.
    #[must_use]
    pub fn learn(mut self, book: Book, from: Duration) -> Book {
        self.book = Some((book, from));
        self.play_out();
        self.book.map(|(book, _)| book).unwrap_or_default()
    }

    fn play_out(&mut self) {
        while let Some(Reverse(due)) = self.queue.pop() {
            let now = due.at;
            match due.what {
                What::Arrive(guest) => self.feed(guest, now, |run, at| run.start(Vec::new(), at)),
                What::Wake(guest) => {
                    if self.lodgers[guest.0].wake == Some(now) {
                        self.lodgers[guest.0].wake = None;
                        self.feed(guest, now, Run::wake);
                    }
                }
                What::Update(guest, attempt, index) => self.update(guest, attempt, index, now),
                What::Open(provider) => self.admit(&provider, now),
            }
        }
    }

    /// Writes down what an attempt that has ended has shown.
    fn observe(&mut self, guest: Guest, attempt: AttemptId, now: Timestamp) {
        if let Some((book, from)) = &mut self.book
            && let Some(seen) = self.lodgers[guest.0].run.observe(attempt)
        {
            book.record(&seen, *from + now.since_start());
        }
    }

    fn foresee(&mut self, at: Timestamp, what: What) {
        self.foreseen += 1;
        self.queue.push(Reverse(Due { at, order: self.foreseen, what }));
    }

    fn feed(
        &mut self,
        guest: Guest,
        now: Timestamp,
        event: impl FnOnce(&mut Run, Timestamp) -> Vec<Effect>,
    ) {
        let lodger = &mut self.lodgers[guest.0];
        let local = Timestamp::after_start(now.since(lodger.arrived));
        if lodger.watches {
            let traffic = self.gates.traffic(now.since_start());
            lodger.run.see_traffic(|name| traffic.get(name).copied().unwrap_or_default());
        }
        let (gates, at) = (&mut self.gates, now.since_start());
        lodger.run.see_permits(|name| gates.stock(name, at));
        if self.gates.is_calm() {
            lodger.run.see_no_path();
        } else {
            let (gates, at) = (&self.gates, now.since_start());
            lodger.run.see_paths(|provider, model| gates.view(provider, model, at));
        }
        for effect in event(&mut lodger.run, local) {
            match effect {
                Effect::Launch(launch) => self.launch(guest, *launch, now),
                Effect::Cancel(attempt) => self.forget(guest, attempt, now),
                Effect::Finish => self.lodgers[guest.0].ended = Some(local),
            }
        }
        let lodger = &mut self.lodgers[guest.0];
        let wake = lodger.run.next_wakeup().map(|at| lodger.arrived + at.since_start());
        if let Some(at) = wake.filter(|at| lodger.wake != Some(*at)) {
            lodger.wake = Some(at.max(now));
            self.foresee(at.max(now), What::Wake(guest));
        }
    }

    fn launch(&mut self, guest: Guest, launch: Launch, now: Timestamp) {
        if !self.simulations.contains_key(&launch.provider) {
            let message = format!("provider '{}' is not simulated here", launch.provider);
            let failure =
                Failure::of_attempt(FailureClass::ModelNotFound, "no such provider", message);
            let broken = Broken::from(failure);
            let attempt = launch.attempt;
            self.feed(guest, now, |run, at| run.replied(attempt, Err(broken), at));
            return;
        }
        if let Some((provider, kind)) = &launch.counts {
            self.gates.count(provider, *kind, now.since_start());
        }
        self.gates.earn(&launch.earns, now.since_start());
        if launch.claim == Claim::Needs && !self.gates.guard(now.since_start()) {
            let attempt = launch.attempt;
            self.feed(guest, now, |run, at| run.turned_away(attempt, permit::beyond_share(), at));
            return;
        }
        let provider = launch.provider.clone();
        let ask = Ask {
            party: launch.party.clone(),
            model: launch.exchange.profile.id.clone(),
            tokens: launch.prompt_tokens + u64::from(launch.exchange.max_tokens),
            until: now.since_start() + launch.ends_in,
            claim: launch.claim,
            epoch: 0,
        };
        let place = self.gates.line_up(&provider, ask, now.since_start());
        self.waiting.extend(place.map(|place| (place, (guest, launch))));
        self.admit(&provider, now);
    }

    /// Does for those who wait before a provider's door what it says.
    fn admit(&mut self, provider: &str, now: Timestamp) {
        loop {
            match self.gates.next(provider, now.since_start()) {
                Call::Send(place) => match self.waiting.remove(&place) {
                    Some((guest, launch)) => self.send(guest, launch, place, now),
                    None => self.gates.leave(&place, End::Closed, now.since_start()),
                },
                Call::TurnAway(place, failure) => {
                    let Some((guest, launch)) = self.waiting.remove(&place) else { continue };
                    let attempt = launch.attempt;
                    self.feed(guest, now, |run, at| run.turned_away(attempt, failure, at));
                }
                Call::Wait(at) => {
                    if let Some(at) = at.map(Timestamp::after_start) {
                        self.foresee(at, What::Open(provider.to_owned()));
                    }
                    return;
                }
            }
        }
    }

    fn send(&mut self, guest: Guest, launch: Launch, place: Place, now: Timestamp) {
        let Launch { attempt, exchange, .. } = launch;
        let Some(simulation) = self.simulations.get(&place.provider) else { return };
        let script = simulation.plan_exchange(&exchange);
        let first = script.updates.first().map(|(at, _)| now + *at);
        let playing = Playing { place, script, alive: false, tokens: 0, seen: 0 };
        self.lodgers[guest.0].playing.insert(attempt, playing);
        if let Some(at) = first {
            self.foresee(at, What::Update(guest, attempt, 0));
        }
        self.feed(guest, now, |run, at| run.sent(attempt, at));
    }

    fn update(&mut self, guest: Guest, attempt: AttemptId, index: usize, now: Timestamp) {
        let Some(playing) = self.lodgers[guest.0].playing.get_mut(&attempt) else { return };
        let Some((at, update)) = playing.script.updates.get(index).cloned() else { return };
        if let Some((next, _)) = playing.script.updates.get(index + 1) {
            let next = now + next.saturating_sub(at);
            self.foresee(next, What::Update(guest, attempt, index + 1));
        }
        let Some(playing) = self.lodgers[guest.0].playing.get_mut(&attempt) else { return };
        let alive = matches!(update, Update::FirstToken | Update::Piece { .. });
        if alive && !std::mem::replace(&mut playing.alive, true) {
            let place = playing.place.clone();
            self.gates.alive(&place);
            self.admit(&place.provider, now);
        }
        let Some(playing) = self.lodgers[guest.0].playing.get_mut(&attempt) else { return };
        match update {
            Update::FirstToken => self.feed(guest, now, |run, at| run.emitted(attempt, 1, "", at)),
            Update::Piece { from, to, tokens } => {
                playing.tokens += tokens;
                playing.seen = to;
                let (text, tokens) = (playing.script.text[from..to].to_owned(), playing.tokens);
                self.feed(guest, now, |run, at| run.emitted(attempt, tokens, &text, at));
            }
            Update::End(usage) => {
                let Script { text, invented, .. } = &playing.script;
                let reply =
                    Reply { text: text.clone(), usage, invented: *invented, remaining: None };
                self.conclude(guest, attempt, Ok(reply), now);
            }
            Update::Fail(failure, usage) => {
                let partial = playing.script.text[..playing.seen].to_owned();
                self.conclude(
                    guest,
                    attempt,
                    Err(Broken { partial, usage, ..failure.into() }),
                    now,
                );
            }
            Update::Stall => {}
        }
    }

    fn conclude(
        &mut self,
        guest: Guest,
        attempt: AttemptId,
        reply: Result<Reply, Broken>,
        now: Timestamp,
    ) {
        let end = match &reply {
            Ok(reply) => End::Answered(&reply.usage),
            Err(broken) => End::Failed(&broken.failure, broken.usage.as_ref()),
        };
        let place = self.leave(guest, attempt, end, now);
        self.feed(guest, now, |run, at| run.replied(attempt, reply, at));
        if place.is_some() {
            self.observe(guest, attempt, now);
        }
        // After the run has heard of it, as it is where each lives by itself.
        if let Some(place) = place {
            self.admit(&place.provider, now);
        }
    }

    /// An attempt was cancelled: its place is given to the next in line.
    fn forget(&mut self, guest: Guest, attempt: AttemptId, now: Timestamp) {
        let of = |(g, launch): &(Guest, Launch)| (*g, launch.attempt) == (guest, attempt);
        let waiting = self.waiting.iter().find(|(_, waits)| of(waits));
        let waiting = waiting.map(|(place, (_, launch))| (place.clone(), launch.party.clone()));
        if let Some((place, party)) = waiting {
            self.waiting.remove(&place);
            self.gates.withdraw(&place, &party);
        }
        if let Some(place) = self.leave(guest, attempt, End::Closed, now) {
            self.observe(guest, attempt, now);
            self.admit(&place.provider, now);
        }
    }

    fn leave(
        &mut self,
        guest: Guest,
        attempt: AttemptId,
        end: End<'_>,
        now: Timestamp,
    ) -> Option<Place> {
        let place = self.lodgers[guest.0].playing.remove(&attempt)?.place;
        self.gates.leave(&place, end, now.since_start());
        Some(place)
    }
}

/// Plays one run from its arrival to its end.
#[must_use]
pub fn play_one(mut world: World, run: Run) -> Option<Ended> {
    world.arrive(run, Timestamp::ZERO);
    world.play().pop()
}

#[cfg(test)]
mod tests;
