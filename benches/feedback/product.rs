//! The product: every call is a run of one step by the real machine, before the real doors, which know permits, health and
//! what 429s teach. Time passes in the experiment's ticks; a 429 takes one to come back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use punctual::domain::failure::{Failure, FailureClass, Scope};
use punctual::domain::id::{AttemptId, ModelIx, PathIx, ProviderIx, RunId};
use punctual::domain::message::Usage;
use punctual::domain::model::ModelProfile;
use punctual::domain::outcome::Outcome;
use punctual::domain::plan::{
    Budget, Cutoff, ModelPlan, OnSlow, PathPlan, Plan, Policy, ProviderPlan, Role, StepPlan, Work,
};
use punctual::domain::provider::Limits;
use punctual::domain::time::Timestamp;
use punctual::engine::{Action, AttemptSpec, Event, Machine, Prepared, Signals, Verdict};
use punctual::policy::door::{Ask, Door, End, Next};
use punctual::policy::permit::{self, Claim, Guard, Kind, Shortage};
use punctual::policy::queue::{Party, Ticket};
use punctual::policy::rate::{Left, Told};

use super::world::{Count, News, TICKS, Tally, Upstream, again, arrivals, made_again, seconds};

/// How the product is set up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Whether the second path is of another provider, not another model of the same quota.
    pub other: bool,
    /// Whether replies say what is left, as `x-ratelimit-remaining-*` do.
    pub told: bool,
    /// Whether an attempt is joined by another at 20 s.
    pub hedges: bool,
}

/// Tokens of a prompt; the rest of what an attempt takes is its answer.
const PROMPT: u64 = 3_660;
const ANSWER: u32 = 1_000;
const USAGE: Usage =
    Usage { input: PROMPT, cached_input: 0, output: 1_000, estimated: false, cost: None };

struct Run {
    id: u64,
    arrived: f64,
    machine: Machine,
    answered: Option<f64>,
    again: bool,
    /// What is sent or waits, by its attempt.
    places: BTreeMap<AttemptId, Place>,
}

struct Place {
    door: usize,
    ticket: Ticket,
    sent: bool,
}

struct Play {
    setting: Setting,
    plan: Arc<Plan>,
    upstream: Upstream,
    doors: Vec<Door>,
    guard: Guard,
    runs: Vec<Run>,
    open: Vec<usize>,
    /// Whose a ticket is, by door.
    whose: BTreeMap<(usize, Ticket), (usize, AttemptId)>,
    events: VecDeque<(usize, Event)>,
    /// Attempts that were answered with a 429 in this tick: it comes back in the next.
    refused: Vec<(usize, AttemptId)>,
    tally: Tally,
    at: f64,
}

pub fn play(setting: Setting, seed: u64) -> Tally {
    let plan = Arc::new(plan(setting));
    let doors = plan.providers.iter().map(|p| Door::new(&p.name, Limits::default())).collect();
    let mut play = Play {
        setting,
        plan,
        upstream: Upstream::new(),
        doors,
        guard: Guard::default(),
        runs: Vec::new(),
        open: Vec::new(),
        whose: BTreeMap::new(),
        events: VecDeque::new(),
        refused: Vec::new(),
        tally: Tally::default(),
        at: 0.0,
    };
    let mut later: VecDeque<(u64, u64)> = VecDeque::new();
    for tick in 0..TICKS {
        play.at = seconds(tick);
        play.refuse();
        while later.front().is_some_and(|(due, _)| *due <= tick) {
            let Some((_, id)) = later.pop_front() else { break };
            play.arrive(id, true);
        }
        for id in arrivals(seed, tick) {
            play.arrive(id, false);
        }
        for news in play.upstream.pass() {
            play.hear(news);
        }
        play.pump();
        play.wake();
        for ix in play.ended() {
            let run = &play.runs[ix];
            if run.answered.is_none() && !run.again && made_again(run.id) {
                later.push_back((tick + 4, again(run.id)));
            }
        }
    }
    for run in play.runs.iter().filter(|run| !run.again) {
        play.tally.call(run.arrived, run.answered);
    }
    play.tally
}

fn plan(setting: Setting) -> Plan {
    let names: &[&str] = if setting.other { &["a", "b"] } else { &["a"] };
    let provider = |name: &&str| ProviderPlan {
        name: (*name).to_owned(),
        billed_on_cancel: true,
        own_capacity: false,
        simulated: false,
    };
    let path = |ix: u16| PathPlan {
        label: format!("{}/{ix}", if ix == 1 && setting.other { "b" } else { "a" }),
        provider: ProviderIx(if setting.other { ix } else { 0 }),
        profile: ModelProfile::plain(format!("model{ix}")),
    };
    let total = setting.hedges.then_some(Duration::from_secs(20));
    let mut policy = Policy {
        cutoff: Cutoff::Fixed { first_token: None, idle: None, total },
        attempts: 8,
        max_swaps: 8,
        ..Policy::default()
    };
    policy.on.slow = OnSlow::Next;
    let work = Work::Model { model: ModelIx(0), max_tokens: ANSWER, policy };
    Plan {
        workflow: "feedback".to_owned(),
        deadline: Duration::from_secs(60),
        budget: Budget::default(),
        steps: vec![StepPlan {
            name: "only".to_owned(),
            role: Role::Executor,
            work,
            needs: Vec::new(),
            conditional: false,
            optional: false,
            each: None,
            cutoff_at: None,
            validates: None,
            judged_by: None,
            revise: 0,
            shrinks: false,
        }],
        models: vec![ModelPlan {
            name: "main".to_owned(),
            paths: vec![PathIx(0), PathIx(1)],
            faster: None,
            stronger: None,
        }],
        paths: vec![path(0), path(1)],
        providers: names.iter().map(provider).collect(),
    }
}

impl Play {
    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.at)
    }

    fn arrive(&mut self, id: u64, again: bool) {
        let machine = Machine::new(self.plan.clone(), self.plan.deadline);
        let arrived = self.at;
        self.open.push(self.runs.len());
        self.events.push_back((self.runs.len(), Event::Started { reused: Vec::new() }));
        let places = BTreeMap::new();
        self.runs.push(Run { id, arrived, machine, answered: None, again, places });
        self.pump();
    }

    fn hear(&mut self, news: News) {
        let (run, name, done) = match news {
            News::Begun(run, name) => (run, name, false),
            News::Done(run, name) => (run, name, true),
        };
        let attempt = AttemptId(name);
        let Some(place) = self.runs[run].places.get(&attempt) else { return };
        let (door, ticket, now) = (place.door, place.ticket, self.now());
        if done {
            self.runs[run].places.remove(&attempt);
            self.whose.remove(&(door, ticket));
            self.doors[door].leave(ticket, End::Answered(&USAGE), now);
            let verdict = Verdict::Valid { pass: None };
            self.events.push_back((run, Event::Ended { attempt, usage: USAGE, verdict }));
        } else {
            self.doors[door].alive(ticket);
            self.events.push_back((run, Event::FirstToken { attempt }));
        }
        self.pump();
    }

    fn wake(&mut self) {
        for ix in self.open.clone() {
            let run = &self.runs[ix];
            let local = self.local(ix);
            if run.machine.next_wakeup().is_some_and(|at| at <= local) {
                self.events.push_back((ix, Event::Woke));
                self.pump();
            }
        }
    }

    /// The runs that have ended since the last time.
    fn ended(&mut self) -> Vec<usize> {
        let has_ended = |ix: &usize| self.runs[*ix].machine.outcome().is_some();
        let (ended, open) = self.open.iter().partition(|ix| has_ended(ix));
        self.open = open;
        ended
    }

    fn local(&self, ix: usize) -> Timestamp {
        Timestamp::after_start(Duration::from_secs_f64(self.at - self.runs[ix].arrived))
    }

    /// Tells what has happened, and lets in whose turn it is, until nothing more follows.
    fn pump(&mut self) {
        loop {
            while let Some((ix, event)) = self.events.pop_front() {
                self.tell(ix, event);
            }
            let called = (0..self.doors.len()).any(|door| self.call(door));
            if !called && self.events.is_empty() {
                return;
            }
        }
    }

    fn tell(&mut self, ix: usize, event: Event) {
        let (signals, local) = (self.signals(), self.local(ix));
        for action in self.runs[ix].machine.handle(event, &signals, local) {
            match action {
                Action::Prepare { step, round } => {
                    let result = Prepared::Prompts(vec![PROMPT]);
                    self.events.push_back((ix, Event::Prepared { step, round, result }));
                }
                Action::Launch(spec) => self.line_up(ix, &spec),
                Action::Cancel { attempt } => self.cancel(ix, attempt),
                Action::Finish(Outcome::Delivered) => self.runs[ix].answered = Some(self.at),
                Action::Shrink { .. }
                | Action::Accept { .. }
                | Action::Close { .. }
                | Action::Finish(_) => {}
            }
        }
        self.runs[ix].machine.take_decisions();
    }

    fn signals(&mut self) -> Signals {
        let mut signals = Signals::default();
        let now = self.now();
        let share = self.guard.admits(now);
        for path in &self.plan.paths {
            let door = &mut self.doors[path.provider.at()];
            let view = door.view(&path.profile.id, now);
            signals.closed_for.push(view.closed_for);
            signals.why.push(view.why);
            signals.line_for.push(view.line_for);
            let stock = door.stock(now);
            signals.permits.push(if share { stock } else { stock.short_of(Shortage::Share) });
        }
        signals
    }

    fn line_up(&mut self, ix: usize, spec: &AttemptSpec) {
        let now = self.now();
        let path = self.plan.path(spec.path);
        match spec.claim {
            Claim::Earns => {
                self.guard.count(Kind::Primary, now);
                self.doors.iter_mut().for_each(|door| door.earn(now));
            }
            Claim::Needs if !self.guard.take(now) => {
                let failure = permit::beyond_share();
                let attempt = spec.attempt;
                self.events.push_back((ix, Event::TurnedAway { attempt, failure }));
                return;
            }
            Claim::Nothing | Claim::Takes | Claim::Needs => {}
        }
        let door = path.provider.at();
        let ends_in = self.runs[ix].machine.end_at().since(self.local(ix));
        let ask = Ask {
            party: Party { flow: "feedback".to_owned(), run: RunId::new(self.runs[ix].id) },
            model: path.profile.id.clone(),
            tokens: PROMPT + u64::from(ANSWER),
            until: now + ends_in,
            claim: spec.claim,
            epoch: 0,
        };
        let ticket = self.doors[door].line_up(ask, now);
        self.whose.insert((door, ticket), (ix, spec.attempt));
        self.runs[ix].places.insert(spec.attempt, Place { door, ticket, sent: false });
    }

    fn cancel(&mut self, ix: usize, attempt: AttemptId) {
        let Some(place) = self.runs[ix].places.remove(&attempt) else { return };
        self.whose.remove(&(place.door, place.ticket));
        let now = self.now();
        if place.sent {
            self.doors[place.door].leave(place.ticket, End::Closed, now);
        } else {
            let run = RunId::new(self.runs[ix].id);
            let party = Party { flow: "feedback".to_owned(), run };
            self.doors[place.door].withdraw(&party, place.ticket);
        }
    }

    /// Does what a door says; whether it said anything but to wait.
    fn call(&mut self, door: usize) -> bool {
        let now = self.now();
        match self.doors[door].next(now) {
            Next::Wait(_) => false,
            Next::TurnAway(ticket, failure) => {
                if let Some((ix, attempt)) = self.whose.remove(&(door, ticket)) {
                    self.runs[ix].places.remove(&attempt);
                    self.events.push_back((ix, Event::TurnedAway { attempt, failure }));
                }
                true
            }
            Next::Send(ticket) => {
                match self.whose.get(&(door, ticket)).copied() {
                    Some((ix, attempt)) => self.send(door, ticket, ix, attempt),
                    None => drop(self.doors[door].leave(ticket, End::Closed, now)),
                }
                true
            }
        }
    }

    fn send(&mut self, door: usize, ticket: Ticket, ix: usize, attempt: AttemptId) {
        let now = self.now();
        self.events.push_back((ix, Event::Sent { attempt }));
        let taken = self.upstream.send(door, ix, self.runs[ix].id, attempt.0);
        if self.setting.told {
            let told = self.told(door);
            self.doors[door].told(ticket, &told, now);
        }
        let extra = self.runs[ix].machine.attempt(attempt);
        if extra.is_some_and(|view| view.spec.claim == Claim::Needs) {
            self.tally.count(self.at, Count::Extra);
        }
        if let Some(place) = self.runs[ix].places.get_mut(&attempt) {
            place.sent = true;
        }
        if taken {
            self.tally.count(self.at, Count::Taken);
            return;
        }
        self.tally.count(self.at, Count::Refused);
        self.refused.push((ix, attempt));
    }

    /// The 429s of the tick before have come back.
    fn refuse(&mut self) {
        for (ix, attempt) in std::mem::take(&mut self.refused) {
            self.refuse_one(ix, attempt);
            self.pump();
        }
    }

    fn refuse_one(&mut self, ix: usize, attempt: AttemptId) {
        let Some(Place { door, ticket, .. }) = self.runs[ix].places.remove(&attempt) else {
            return;
        };
        let now = self.now();
        self.whose.remove(&(door, ticket));
        let class = FailureClass::RateLimited;
        let failure = Failure::of_attempt(class, "429", "HTTP 429: tokens per minute");
        let failure = Failure { scope: Scope::Quota, ..failure };
        self.doors[door].leave(ticket, End::Failed(&failure, None), now);
        let usage = Usage::default();
        self.events.push_back((ix, Event::Failed { attempt, failure, usage }));
    }

    /// What is left of a quota, as its replies say it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens of a minute, never below zero"
    )]
    fn told(&self, door: usize) -> Told {
        let quota = &self.upstream.quotas[door];
        let full_in = Duration::from_secs_f64((quota.burst - quota.tokens) / quota.per_second);
        let left = Left { left: quota.tokens as u64, limit: Some(quota.burst as u64), full_in };
        Told { requests: None, tokens: Some(left) }
    }
}
