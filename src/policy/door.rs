//! One provider's door: what everything sent to it passes, live and in virtual time.
//!
//! It joins the line ([`super::queue`]), the gate ([`super::rate`]) and the provider's health ([`super::health`]). Who
//! drives it lines up, asks [`Door::next`] until it says to wait, and tells it how each attempt fared. Nobody waits for
//! a path that is closed: whoever stands in line for one is turned away, and so is who cannot be sent before its run's
//! end. A workflow that holds its share of slots or of the minute waits while another one that does not wants to send.

mod extra;
mod refusal;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::health::{Access, Health, Why};
use super::learned::Recent;
use super::permit::{Bucket, Claim, Window};
use super::queue::{Line, Party, Spot, Ticket};
use super::rate::{Entered, Gate, Pass, Told};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::domain::provider::Limits;

/// Most attempts in one line: 2,000 runs of a few parallel steps each. Whoever comes later is turned away.
pub const LINE_MAX: usize = 10_000;
/// Workflows whose sending is remembered though nothing of theirs is inside; those of the last minute stay.
const HELD_MAX: usize = 64;
/// What a path counts as being away that another attempt is trying out: others are preferred to it.
const PROBED_FOR: Duration = Duration::from_secs(1);

/// What wants to be sent.
#[derive(Clone, Debug)]
pub struct Ask {
    /// For whom.
    pub party: Party,
    /// To which model.
    pub model: String,
    /// The prompt's estimate and the answer's bound.
    pub tokens: u64,
    /// After this it is of no use.
    pub until: Duration,
    /// What it is to the permits here.
    pub claim: Claim,
    /// The provider's settings and key it is sent with: [`Door::epoch`] when they were made.
    pub epoch: u32,
}

/// What is to be done for those who wait.
#[derive(Debug)]
pub enum Next {
    /// Send it. To be ended with [`Door::leave`].
    Send(Ticket),
    /// It cannot be sent.
    TurnAway(Ticket, Failure),
    /// Nothing now. Ask again at that time, or when something has left.
    Wait(Option<Duration>),
}

/// How an attempt that was sent has ended.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// With an answer.
    Answered(&'a Usage),
    /// Without, having used so much where that is known.
    Failed(&'a Failure, Option<&'a Usage>),
    /// It was closed before its end.
    Closed,
}

/// What everybody may know of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// How long nothing is sent there; [`Duration::MAX`] where it is out for good.
    pub closed_for: Duration,
    /// Why, where it is closed.
    pub why: Option<Arc<Why>>,
    /// How long the line stands still at least.
    pub line_for: Duration,
}

/// See the module. Times count from the server's start and never go back.
#[derive(Debug)]
pub struct Door {
    name: String,
    gate: Gate,
    health: Health,
    line: Line<Ask>,
    /// Turned away, and not told so yet.
    turned: VecDeque<(Ticket, Failure)>,
    inside: BTreeMap<Ticket, Inside>,
    /// Per workflow: what it has inside, and what it sent in the last minute.
    held: BTreeMap<String, Held>,
    window: Window,
    bucket: Bucket,
    /// What those in line have paid for their permits.
    paid: BTreeMap<Ticket, u64>,
    tickets: u64,
    epoch: u32,
}

#[derive(Debug)]
struct Inside {
    ask: Ask,
    entered: Entered,
    alive: bool,
}

#[derive(Debug, Default)]
struct Held {
    inside: u32,
    recent: Recent,
}

impl Door {
    /// The door of the provider of that name. Nothing sent yet.
    #[must_use]
    pub fn new(name: &str, limits: Limits) -> Self {
        Self {
            name: name.to_owned(),
            gate: Gate::new(limits),
            health: Health::default(),
            line: Line::default(),
            turned: VecDeque::new(),
            inside: BTreeMap::new(),
            held: BTreeMap::new(),
            window: Window::default(),
            bucket: Bucket::default(),
            paid: BTreeMap::new(),
            tickets: 0,
            epoch: 0,
        }
    }

    /// Lines up. What becomes of it is told by [`Door::next`].
    pub fn line_up(&mut self, ask: Ask, now: Duration) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        if let Some(failure) = self.refusal(&ask, now) {
            self.turned.push_back((ticket, failure));
        } else if self.line.len() >= LINE_MAX {
            self.turned.push_back((ticket, refusal::full(&self.name)));
        } else if let Some(failure) = self.charge(&ask, ticket, now) {
            self.turned.push_back((ticket, failure));
        } else {
            let party = ask.party.clone();
            self.line.join(&party, ticket, ask);
        }
        ticket
    }

    /// What is to be done next. To be asked until it says to wait, after everything that happens here.
    pub fn next(&mut self, now: Duration) -> Next {
        loop {
            if let Some((ticket, failure)) = self.turned.pop_front() {
                return Next::TurnAway(ticket, failure);
            }
            let Some((spot, tokens)) = self.turn(now) else {
                return Next::Wait(self.tried_until(now));
            };
            let at = match self.gate.enter(now, tokens) {
                Pass::Slot => return Next::Wait(None),
                Pass::Until(at) => at,
                Pass::Open(entered) => {
                    // The spot is of this very line.
                    let Some((ticket, ask)) = self.line.take(spot) else { continue };
                    self.let_in(ticket, ask, entered, now);
                    return Next::Send(ticket);
                }
            };
            if !self.shed(now) {
                let tried = self.tried_until(now);
                return Next::Wait(Some(tried.map_or(at, |tried| tried.min(at))));
            }
        }
    }

    /// Somebody no longer wants to send.
    pub fn withdraw(&mut self, party: &Party, ticket: Ticket) {
        self.refund(ticket);
        if !self.line.leave(party, ticket) {
            self.turned.retain(|(other, _)| *other != ticket);
        }
    }

    /// The first piece of an answer has come.
    pub fn alive(&mut self, ticket: Ticket) {
        let Some(inside) = self.inside.get_mut(&ticket) else { return };
        let first = !std::mem::replace(&mut inside.alive, true);
        if first && inside.ask.epoch == self.epoch {
            self.health.alive(&inside.ask.model, ticket, inside.entered.at);
        }
    }

    /// A reply to an attempt that is still inside said what is left of the provider's limits.
    pub fn told(&mut self, ticket: Ticket, told: &Told, now: Duration) {
        let inside = self.inside.get(&ticket);
        if inside.is_some_and(|inside| inside.ask.epoch == self.epoch) {
            self.gate.told(told, now);
        }
    }

    /// An attempt that was sent has ended. What is to be told once, where it has taken something out for good.
    pub fn leave(&mut self, ticket: Ticket, end: End<'_>, now: Duration) -> Option<String> {
        let Inside { ask, entered, alive } = self.inside.remove(&ticket)?;
        let sent = entered.at;
        let mut out = None;
        if ask.epoch == self.epoch {
            match end {
                End::Answered(_) | End::Closed if alive => {}
                End::Answered(_) => self.health.alive(&ask.model, ticket, sent),
                End::Closed => self.health.gave_up(&ask.model, ticket, now),
                End::Failed(failure, _) => {
                    out = self.health.failed(&ask.model, ticket, sent, failure, now);
                    let limited = failure.class == FailureClass::RateLimited;
                    if limited && failure.scope >= Scope::Quota {
                        self.gate.throttled(now, &entered, self.health.rests_until(now));
                    }
                    if limited || failure.class == FailureClass::Overloaded {
                        self.refused(now);
                    }
                }
            }
        }
        let used = refusal::used(end);
        if let Some(held) = self.held.get_mut(&ask.party.flow) {
            held.inside = held.inside.saturating_sub(1);
            let unused = entered.tokens.saturating_sub(used.unwrap_or(entered.tokens));
            held.recent.give_back(now, sent, 0, unused);
        }
        self.gate.leave(entered, used, now);
        self.sweep(now);
        out.map(|why| refusal::out(&self.name, &ask.model, &why))
    }

    /// What everybody may know of a model here.
    #[must_use]
    pub fn view(&self, model: &str, now: Duration) -> View {
        let access = self.health.access(model, now);
        let tried = if matches!(access, Access::Probed(_)) { PROBED_FOR } else { Duration::ZERO };
        let line_for = self.gate.waits_for(now, 1).max(tried);
        match access {
            Access::Open | Access::First | Access::Probed(_) => {
                View { line_for, ..View::default() }
            }
            Access::Closed(until, why) => {
                View { closed_for: until.saturating_sub(now), why: Some(why), line_for }
            }
            Access::Out(why) => View { closed_for: Duration::MAX, why: Some(why), line_for },
        }
    }

    /// Whether every view is that of an open path without a line.
    #[must_use]
    pub fn is_calm(&self) -> bool {
        self.health.is_clear() && self.gate.is_unbounded()
    }

    /// What is out until settings or key change, in words.
    #[must_use]
    pub fn out(&self) -> Vec<String> {
        let out = self.health.out();
        out.map(|(model, why)| refusal::out(&self.name, model.unwrap_or(""), why)).collect()
    }

    /// Which settings and key are in force, for [`Ask::epoch`].
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// What is written of its limits.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.gate.limits()
    }

    /// Holds to other limits from now on; what was sent still counts.
    pub fn relimit(&mut self, limits: Limits) {
        self.gate.relimit(limits);
    }

    /// The provider's settings or its key have changed: what was known of its health and of its own limits is
    /// forgotten, and what was sent with the old ones says nothing any more.
    pub fn renew(&mut self) {
        self.epoch += 1;
        self.health.renew();
        self.gate.renew();
        (self.bucket, self.paid) = (Bucket::default(), BTreeMap::new());
    }

    /// How many wait, and how many are inside.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        (self.line.len() + self.turned.len(), self.inside.len())
    }

    /// Whose turn it is, and with how many tokens.
    fn turn(&mut self, now: Duration) -> Option<(Spot, u64)> {
        if self.line.is_empty() {
            return None;
        }
        let over = self.over(now);
        let shut = self.health.shut(now)?;
        let may = |ask: &Ask| !shut.contains(&ask.model.as_str());
        let spot = self.line.next(may, |flow| over.iter().any(|o| o == flow))?;
        Some((spot, self.line.at(spot)?.tokens))
    }

    /// The waiting workflows that hold their share of the slots or of the minute. Nobody does that waits alone.
    fn over(&mut self, now: Duration) -> Vec<String> {
        if self.line.flows().nth(1).is_none() {
            return Vec::new();
        }
        let waiting: Vec<String> = self.line.flows().map(str::to_owned).collect();
        let idle = |flow: &String| !waiting.contains(flow);
        let others = self.held.iter().filter(|(flow, held)| held.inside > 0 && idle(flow)).count();
        let parties = u32::try_from(waiting.len() + others).unwrap_or(u32::MAX);
        let limits = self.gate.limits();
        let slots = self.gate.slots(now).map(|most| most.div_ceil(parties));
        let rpm = limits.rpm.map(|most| u64::from(most.div_ceil(parties)));
        let tpm = limits.tpm.map(|most| most.div_ceil(u64::from(parties)));
        let held = &mut self.held;
        let mut is_over = |flow: &String| {
            let Some(held) = held.get_mut(flow) else { return false };
            let (requests, tokens) = held.recent.sum(now);
            slots.is_some_and(|share| held.inside >= share)
                || rpm.is_some_and(|share| requests >= share)
                || tpm.is_some_and(|share| tokens >= share)
        };
        waiting.iter().filter(|flow| is_over(flow)).cloned().collect()
    }

    fn let_in(&mut self, ticket: Ticket, ask: Ask, entered: Entered, now: Duration) {
        self.paid.remove(&ticket);
        self.health.sent(&ask.model, ticket, now);
        if self.held.len() >= HELD_MAX {
            self.held.retain(|_, held| held.inside > 0 || held.recent.sum(now).0 > 0);
        }
        let held = self.held.entry(ask.party.flow.clone()).or_default();
        held.inside += 1;
        held.recent.count(now, entered.tokens);
        self.inside.insert(ticket, Inside { ask, entered, alive: false });
    }

    /// Turns away who waits for a path that has been closed.
    fn sweep(&mut self, now: Duration) {
        if self.health.is_clear() {
            return;
        }
        let health = &self.health;
        let closed = |ask: &Ask| {
            matches!(health.access(&ask.model, now), Access::Closed(..) | Access::Out(_))
        };
        for (ticket, ask) in self.line.sweep(closed) {
            self.refund(ticket);
            if let Some(failure) = self.refusal(&ask, now) {
                self.turned.push_back((ticket, failure));
            }
        }
    }

    /// Turns away who cannot be sent before its run's end, whatever is given back until then.
    fn shed(&mut self, now: Duration) -> bool {
        let wait = self.gate.waits_for(now, 1);
        let at = now.saturating_add(wait);
        if wait.is_zero() || self.line.iter().all(|ask| ask.until > at) {
            return false;
        }
        let shed = self.line.sweep(|ask| ask.until <= at);
        for (ticket, _) in &shed {
            self.refund(*ticket);
            self.turned.push_back((*ticket, refusal::by_limits(&self.name, wait)));
        }
        !shed.is_empty()
    }

    /// Until when those wait at most for whom another one went first.
    fn tried_until(&self, now: Duration) -> Option<Duration> {
        if self.line.is_empty() { None } else { self.health.tried_until(now) }
    }

    /// Why it cannot be sent.
    fn refusal(&self, ask: &Ask, now: Duration) -> Option<Failure> {
        refusal::of(&self.name, &ask.model, &self.health.access(&ask.model, now), now)
    }
}

#[cfg(test)]
mod tests;
