//! Plays runs of the engine in virtual time, with the luck of a scenario's draws: the machine that runs live, told of
//! its attempts what a provider would show.
//!
//! Billing, attempt numbers and what counts as on time are those of [`super::baseline`]. Attempts show their tokens
//! every half second of the run, and nothing while none come. Losers drain: their true end is observed, and paid for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::file::{PATHS, Setting};
use super::plan::{Names, Trust, plan};
use super::row::Measured;
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::id::{AttemptId, PathIx, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::{Outcome, Status};
use crate::domain::plan::Plan;
use crate::domain::time::Timestamp;
use crate::engine::{Action, AttemptSpec, Event, Machine, Prepared, Signals, Verdict};
use crate::latency::observation::{End, Observation};
use crate::planner::SharedPilot;
use crate::provider::simulated::draw::{Ending, Fate};

/// Streams are looked at so often.
const LOOK: Duration = Duration::from_millis(500);
/// A loser is watched no longer than so many seconds after it was sent.
const DRAIN_S: f64 = 180.0;
/// Points of a stream that are kept.
const POINTS: u32 = 12;
/// Most moments of one run at which something happens: a few a second are usual.
const MOMENTS_MAX: usize = 50_000;

/// Gives a machine one event.
pub trait Handle: FnMut(&mut Machine, Event, &Signals, Timestamp) -> Vec<Action> {}

impl<F: FnMut(&mut Machine, Event, &Signals, Timestamp) -> Vec<Action>> Handle for F {}

/// Plays runs of one plan in one setting, one after another.
#[derive(Debug)]
pub struct Driver<'a> {
    setting: Setting<'a>,
    plan: Arc<Plan>,
    names: Names,
    pilot: Option<SharedPilot>,
    signals: Signals,
    due: BinaryHeap<Reverse<Due>>,
    todo: VecDeque<Event>,
    flights: Vec<Flight>,
    /// Places of flights whose tokens flow.
    flowing: Vec<usize>,
    used: Vec<[u32; PATHS as usize]>,
    totals: Totals,
    events: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    tokens: f64,
    cost: f64,
    hedges: u32,
    silent: bool,
    right: f64,
    extras: u32,
}

/// When, which flight, and whether it is its end or its first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Timestamp,
    flight: usize,
    ends: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    step: usize,
    path: u8,
    sent: Timestamp,
    fate: Fate,
    /// Whether the machine still wants to hear of it.
    alive: bool,
    told: u64,
}

impl<'a> Driver<'a> {
    /// A driver of runs that end at `deadline_s`; its plan is told `trust`.
    #[must_use]
    pub fn new(setting: Setting<'a>, workflow: &str, deadline_s: u32, trust: &Trust) -> Self {
        let plan = Arc::new(plan(&setting, workflow, deadline_s, trust));
        Self {
            setting,
            names: Names::of(&plan),
            used: vec![[0; PATHS as usize]; plan.steps.len()],
            plan,
            pilot: None,
            signals: Signals::default(),
            due: BinaryHeap::new(),
            todo: VecDeque::new(),
            flights: Vec::new(),
            flowing: Vec::new(),
            totals: Totals::default(),
            events: 0,
        }
    }

    /// The plan that is played.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What runs know of times from now on.
    pub fn tell(&mut self, pilot: Option<SharedPilot>) {
        self.pilot = pilot;
    }

    /// How many events the machines of all runs so far have been given.
    #[must_use]
    pub fn events(&self) -> usize {
        self.events
    }

    /// Plays the run of that number.
    pub fn play(&mut self, run: u64) -> Measured {
        self.play_by(run, &mut Machine::handle)
    }

    /// The same, where `handle` gives the machine its events: it may look on, and take the time.
    pub fn play_by(&mut self, run: u64, handle: &mut impl Handle) -> Measured {
        self.due.clear();
        self.flights.clear();
        self.flowing.clear();
        self.used.fill([0; PATHS as usize]);
        self.totals = Totals { right: 1.0, ..Totals::default() };
        let plan = Arc::clone(&self.plan);
        let deadline = plan.deadline;
        let mut machine = Machine::new(plan, deadline).with_pilot(self.pilot.clone());
        let mut now = Timestamp::ZERO;
        self.feed(&mut machine, handle, Event::Started { reused: Vec::new() }, run, now);
        let mut looks = 1_u32;
        for _ in 0..MOMENTS_MAX {
            let Some(wake) = machine.next_wakeup() else { break };
            let look = Timestamp::after_start(LOOK * looks);
            let due = self.due.peek().map_or(Timestamp::NEVER, |Reverse(due)| due.at);
            let flow = if self.flowing.is_empty() { Timestamp::NEVER } else { look };
            now = now.max(due.min(flow).min(wake));
            if due <= now {
                let Some(Reverse(due)) = self.due.pop() else { continue };
                if let Some(event) = self.due_event(due) {
                    self.feed(&mut machine, handle, event, run, now);
                }
            } else if flow <= now {
                looks += 1;
                self.look(&mut machine, handle, run, now);
            } else {
                self.feed(&mut machine, handle, Event::Woke, run, now);
            }
            // Nothing has flowed until now: looks that are over are left out.
            if flow == Timestamp::NEVER {
                let past = now.since_start().as_micros() / LOOK.as_micros();
                looks = looks.max(u32::try_from(past).unwrap_or(u32::MAX - 1) + 1);
            }
        }
        self.measured(&machine, now)
    }

    /// Gives the machine one event, carries out what it asks for, and gives it what follows at once.
    fn feed(
        &mut self,
        machine: &mut Machine,
        handle: &mut impl Handle,
        event: Event,
        run: u64,
        now: Timestamp,
    ) {
        self.todo.push_back(event);
        while let Some(event) = self.todo.pop_front() {
            self.events += 1;
            for action in handle(machine, event, &self.signals, now) {
                match action {
                    Action::Prepare { step, round } => self.prepare(step, round),
                    Action::Launch(spec) => self.launch(&spec, run, now),
                    Action::Cancel { attempt } => self.leave(attempt.at()),
                    Action::Accept { attempt } => self.accept(attempt.at()),
                    Action::Close { step, status } => {
                        let extra = status == Status::Ok && self.setting.is_optional(step.at());
                        self.totals.extras += u32::from(extra);
                    }
                    Action::Shrink { .. } | Action::Finish(_) => {}
                }
            }
        }
    }

    fn prepare(&mut self, step: StepIx, round: u32) {
        let prompt = whole(self.setting.classes[step.at()].in_tokens);
        let result = Prepared::Prompts(vec![prompt]);
        self.todo.push_back(Event::Prepared { step, round, result });
    }

    fn launch(&mut self, spec: &AttemptSpec, run: u64, now: Timestamp) {
        let (step, place) = (spec.step.at(), spec.path.at());
        let path = u8::try_from(place).unwrap_or(0);
        let number = self.used[step][place];
        self.used[step][place] += 1;
        let beside = self.flights.iter().any(|other| other.step == step && other.alive);
        self.totals.hedges += u32::from(beside);
        let fate = self.setting.draw(run, step, path, number);
        let (tokens, cost) = self.setting.bill(step, path, fate.ending);
        self.totals.tokens += tokens;
        self.totals.cost += cost;
        let flight = self.flights.len();
        self.flights.push(Flight { step, path, sent: now, fate, alive: true, told: 0 });
        let in_time = |seconds: f64| now + Duration::from_secs_f64(seconds.min(1e6));
        if let Some(first) = fate.first_token_s {
            self.due.push(Reverse(Due { at: in_time(first), flight, ends: false }));
        }
        if let Some(end) = fate.end_s {
            self.due.push(Reverse(Due { at: in_time(end), flight, ends: true }));
        }
        self.todo.push_back(Event::Sent { attempt: spec.attempt });
    }

    /// The machine wants to hear no more of an attempt.
    fn leave(&mut self, flight: usize) {
        self.flights[flight].alive = false;
        self.flowing.retain(|other| *other != flight);
    }

    fn accept(&mut self, flight: usize) {
        let Flight { path, fate, .. } = self.flights[flight];
        self.totals.silent |= fate.ending == Ending::Silent;
        self.totals.right *= 1.0 - self.setting.regime.paths[usize::from(path)].p_silent;
    }

    fn due_event(&mut self, due: Due) -> Option<Event> {
        let flight = self.flights[due.flight];
        if !flight.alive {
            return None;
        }
        let attempt = AttemptId(u32::try_from(due.flight).ok()?);
        if !due.ends {
            self.flowing.push(due.flight);
            self.flights[due.flight].told = 1;
            return Some(Event::FirstToken { attempt });
        }
        self.leave(due.flight);
        Some(ending(attempt, &flight, &self.setting))
    }

    /// Shows the machine what has come of every stream.
    fn look(&mut self, machine: &mut Machine, handle: &mut impl Handle, run: u64, now: Timestamp) {
        let mut place = 0;
        while let Some(flight) = self.flowing.get(place).copied() {
            place += 1;
            let Flight { sent, fate, told, .. } = self.flights[flight];
            let first = fate.first_token_s.unwrap_or_default();
            let tokens = whole(fate.emitted(now.since(sent).as_secs_f64() - first));
            if tokens <= told {
                continue;
            }
            self.flights[flight].told = tokens;
            let Ok(attempt) = u32::try_from(flight).map(AttemptId) else { continue };
            let before = self.flowing.len();
            self.feed(machine, handle, Event::Emitted { attempt, tokens }, run, now);
            // The machine may have closed some: those behind have moved up.
            place = place.saturating_sub(before.saturating_sub(self.flowing.len()));
        }
    }

    fn measured(&self, machine: &Machine, now: Timestamp) -> Measured {
        let totals = &self.totals;
        let end = machine.end_at().since_start().as_secs_f64();
        let outcome = machine.outcome();
        let answered = matches!(outcome, Some(Outcome::Delivered | Outcome::Degraded { .. }));
        let (tokens, cost) = self.setting.clean();
        #[expect(clippy::cast_precision_loss, reason = "at most 250 steps")]
        let steps = self.plan.steps.len() as f64;
        Measured {
            on_time: answered && !totals.silent,
            answered,
            right: if answered { totals.right } else { 0.0 },
            elapsed_s: if answered { now.since_start().as_secs_f64() } else { end },
            tokens: totals.tokens / tokens,
            cost: totals.cost / cost,
            hedges: f64::from(totals.hedges) / steps,
            extras: if answered { f64::from(totals.extras) } else { 0.0 },
        }
    }

    /// What the attempts of the latest run have shown, each to its true end.
    pub fn observations(&self, run: u64) -> impl Iterator<Item = (PathIx, Observation)> {
        let path = |flight: &Flight| PathIx(u16::from(flight.path));
        self.flights.iter().map(move |flight| (path(flight), self.observation(flight, run)))
    }

    /// Forgets the latest run.
    pub fn forget(&mut self) {
        self.flights.clear();
        self.used.fill([0; PATHS as usize]);
    }

    /// What an attempt would have shown that no machine asked for: a step's further one on that path.
    #[must_use]
    pub fn probe(&self, run: u64, step: usize, path: PathIx) -> Observation {
        let number = self.used[step][path.at()];
        let place = u8::try_from(path.at()).unwrap_or(0);
        let fate = self.setting.draw(run, step, place, number);
        let sent = Timestamp::ZERO;
        self.observation(&Flight { step, path: place, sent, fate, alive: false, told: 0 }, run)
    }

    fn observation(&self, flight: &Flight, run: u64) -> Observation {
        let Flight { step, path, fate, .. } = *flight;
        let class = self.setting.classes[step];
        let (provider, label) = &self.names.paths[usize::from(path)];
        let lasted = fate.end_s.unwrap_or(DRAIN_S).min(DRAIN_S);
        let first = fate.first_token_s.filter(|first| *first < lasted);
        let emitted = |at: f64| whole(fate.emitted(at).min(fate.tokens));
        let written = first.map_or(0.0, |first| lasted - first);
        let stream = (1..=POINTS).map(|point| {
            let at = written * f64::from(point) / f64::from(POINTS);
            (Duration::from_secs_f64(at), emitted(at))
        });
        let closed = fate.end_s.is_none_or(|end| end > DRAIN_S);
        Observation {
            provider: Arc::clone(provider),
            path: Arc::clone(label),
            step: Arc::clone(&self.names.steps[step]),
            run,
            prompt_tokens: whole(class.in_tokens),
            expected_tokens: class.out_tokens,
            first_token: first.map(Duration::from_secs_f64),
            tokens: first.map_or(0, |_| emitted(written).max(1)),
            lasted: Duration::from_secs_f64(lasted),
            stream: if first.is_some() { stream.collect() } else { Vec::new() },
            end: match fate.ending {
                _ if closed => End::Closed,
                Ending::Ok | Ending::Silent => End::Answered { valid: true },
                Ending::Garbage => End::Answered { valid: false },
                Ending::Error => End::Failed(FailureClass::ServerError),
                Ending::RateLimited => End::Failed(FailureClass::RateLimited),
                Ending::Hang => End::Closed,
            },
        }
    }
}

/// What the machine is told when an attempt ends.
fn ending(attempt: AttemptId, flight: &Flight, setting: &Setting<'_>) -> Event {
    let class = setting.classes[flight.step];
    let answer = whole(flight.fate.tokens);
    let used = |output| Usage { input: whole(class.in_tokens), output, ..Usage::default() };
    let failure = |class, scope| Failure { scope, ..Failure::of_attempt(class, "", "") };
    match flight.fate.ending {
        Ending::Ok | Ending::Silent => {
            Event::Ended { attempt, usage: used(answer), verdict: Verdict::Valid { pass: None } }
        }
        Ending::Garbage => {
            let failure = failure(FailureClass::SchemaViolation, Scope::Attempt);
            let verdict = Verdict::Invalid { failure, repair_tokens: 0 };
            Event::Ended { attempt, usage: used(answer), verdict }
        }
        Ending::Error | Ending::Hang => {
            let failure = failure(FailureClass::ServerError, Scope::Attempt);
            Event::Failed { attempt, failure, usage: used(0) }
        }
        Ending::RateLimited => {
            let failure = failure(FailureClass::RateLimited, Scope::Quota);
            Event::Failed { attempt, failure, usage: Usage::default() }
        }
    }
}

/// Whole tokens, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens of a checked file's classes: a few million at most"
)]
fn whole(tokens: f64) -> u64 {
    tokens.clamp(0.0, 1e12) as u64
}
