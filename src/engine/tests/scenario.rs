//! A fluent script for one machine: events in, actions out as short lines.
//!
//! Time moves with [`Scenario::at`], which wakes the machine whenever it asked to be woken. Steps are
//! prepared with one prompt of 100 tokens and requests leave at once, unless [`Scenario::by_hand`] is used.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::id::{AttemptId, ItemIx, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::{Outcome, Part, RunFailure};
use crate::domain::plan::{Plan, Work};
use crate::domain::time::Timestamp;
use crate::engine::decision::Words;
use crate::engine::{Action, Event, Machine, Prepared, Signals, Verdict};
use crate::planner::Pilot;
use crate::policy::fallback::Told;

/// Most wakeups between two events of a script; more would be a busy loop.
const WAKEUPS_MAX: usize = 200;

/// A failure that reaches its path.
pub(super) fn failure(class: FailureClass) -> Failure {
    let text = format!("{class} it was");
    Failure { scope: Scope::Path, ..Failure::of_attempt(class, "test", text) }
}

pub(super) fn throttled(seconds: u64) -> Failure {
    let retry_after = Some(Duration::from_secs(seconds));
    Failure { scope: Scope::Quota, retry_after, ..failure(FailureClass::RateLimited) }
}

pub(super) fn used(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// A machine, the time it has come to, and what it has asked for since the last expectation.
pub(super) struct Scenario {
    pub(super) machine: Machine,
    pub(super) now: Timestamp,
    pub(super) signals: Signals,
    plan: Arc<Plan>,
    by_hand: bool,
    log: Vec<String>,
    words: Vec<String>,
}

impl Scenario {
    pub(super) fn new(plan: Plan) -> Self {
        let plan = Arc::new(plan);
        Self {
            machine: Machine::new(plan.clone(), plan.deadline),
            now: Timestamp::ZERO,
            signals: Signals::default(),
            plan,
            by_hand: false,
            log: Vec::new(),
            words: Vec::new(),
        }
    }

    /// What is measured when the run begins.
    pub(super) fn knows_times(mut self, pilot: Pilot) -> Self {
        self.machine = self.machine.with_pilot(Some(Arc::new(pilot)));
        self
    }

    /// Started, with steps prepared and requests sent by themselves.
    pub(super) fn start_at_once(self) -> Self {
        self.start(&[])
    }

    /// The same, when all runs know this.
    pub(super) fn start_knowing(self, signals: Signals) -> Self {
        self.knows(signals).start(&[])
    }

    /// From here on nothing is prepared and nothing sent by itself.
    pub(super) fn by_hand(mut self) -> Self {
        self.by_hand = true;
        self
    }

    pub(super) fn start(self, reused: &[u16]) -> Self {
        let reused = reused.iter().map(|ix| StepIx(*ix)).collect();
        self.event(Event::Started { reused })
    }

    /// Lets time pass, waking the machine whenever it asked for it.
    pub(super) fn at(mut self, millis: u64) -> Self {
        let until = Timestamp::from_millis(millis);
        for _ in 0..WAKEUPS_MAX {
            let Some(due) = self.machine.next_wakeup().filter(|due| *due <= until) else {
                self.now = until;
                return self;
            };
            assert!(due >= self.now, "a wakeup in the past: {due:?}, now {:?}", self.now);
            self.now = due;
            self = self.event(Event::Woke);
            let next = self.machine.next_wakeup();
            assert!(next.is_none_or(|next| next > due), "woken at {due:?} for nothing");
        }
        panic!("more than {WAKEUPS_MAX} wakeups before {millis} ms: {:?}", self.log);
    }

    /// Lets time pass without waking the machine: the next event comes as late as the timer would.
    pub(super) fn at_exactly(mut self, millis: u64) -> Self {
        self.now = Timestamp::from_millis(millis);
        self
    }

    /// The end of a run of 60 s has come.
    pub(super) fn time_up(self) -> Self {
        self.at(59_499).at_exactly(59_500).event(Event::Woke)
    }

    pub(super) fn event(mut self, event: Event) -> Self {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.machine.handle(event, &self.signals, self.now) {
                self.note(&action);
                if self.by_hand {
                    continue;
                }
                match action {
                    Action::Prepare { step, round } => {
                        let result = match self.plan.step(step).work {
                            Work::Model { .. } => Prepared::Prompts(vec![100]),
                            Work::Value => Prepared::Done,
                        };
                        events.push_back(Event::Prepared { step, round, result });
                    }
                    Action::Launch(spec) => events.push_back(Event::Sent { attempt: spec.attempt }),
                    _ => {}
                }
            }
            let plan = self.plan.clone();
            let decisions = self.machine.take_decisions();
            let words = decisions.iter().map(|decision| {
                format!("{} {}", decision.kind.as_str(), Words { decision, plan: &plan })
            });
            self.words.extend(words);
        }
        self
    }

    /// What all runs know from now on.
    pub(super) fn knows(mut self, signals: Signals) -> Self {
        self.signals = signals;
        self
    }

    /// An attempt is not sent: its path was closed after it was launched.
    pub(super) fn turned_away(self, attempt: u32, failure: Failure) -> Self {
        self.event(Event::TurnedAway { attempt: AttemptId(attempt), failure })
    }

    /// The shared view of each path from now on: for how many more milliseconds it is closed.
    pub(super) fn signal(mut self, closed_for: &[u64]) -> Self {
        self.signals.closed_for = closed_for.iter().map(|ms| Duration::from_millis(*ms)).collect();
        self = self.event(Event::Woke);
        self.signals = Signals::default();
        self
    }

    fn note(&mut self, action: &Action) {
        let line = match action {
            Action::Prepare { round: 0, .. } if !self.by_hand => return,
            Action::Prepare { step, round } => format!("prepare {} {round}", self.name(*step)),
            Action::Launch(spec) => {
                let mut line = format!(
                    "launch {} {} {} {}",
                    spec.attempt.0,
                    self.part(spec.step, Some(spec.item)),
                    self.plan.path(spec.path).label,
                    spec.cause.as_str()
                );
                if let Some((after, told)) = spec.after {
                    let told = match told {
                        Told::Nothing => "nothing",
                        Told::Violations => "violations",
                        Told::Resume => "resume",
                    };
                    write!(line, " after {} told {told}", after.0).unwrap();
                }
                line
            }
            Action::Shrink { step, item, most } => {
                format!("shrink {} to {most}", self.part(*step, Some(*item)))
            }
            Action::Cancel { attempt } => format!("cancel {}", attempt.0),
            Action::Accept { attempt } => format!("accept {}", attempt.0),
            Action::Close { step, status } => {
                format!("close {} {}", self.name(*step), status.as_str())
            }
            Action::Finish(outcome) => format!("finish {}", self.outcome_text(outcome)),
        };
        self.log.push(line);
    }

    fn name(&self, step: StepIx) -> &str {
        &self.plan.step(step).name
    }

    fn part(&self, step: StepIx, item: Option<ItemIx>) -> String {
        let name = self.name(step);
        match item.filter(|_| self.plan.step(step).each.is_some()) {
            Some(item) => format!("{name}[{}]", item.0),
            None => name.to_owned(),
        }
    }

    fn outcome_text(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Delivered => "delivered".to_owned(),
            Outcome::Cancelled => "cancelled".to_owned(),
            Outcome::Failed(RunFailure { class, step, .. }) => {
                let step = step.map_or("run", |step| self.name(step));
                format!("failed {class} {step}")
            }
            Outcome::Degraded { missing, unverified, shrunk } => {
                let missing: Vec<String> =
                    missing.iter().map(|Part { step, item }| self.part(*step, *item)).collect();
                let unverified: Vec<&str> = unverified.iter().map(|s| self.name(*s)).collect();
                let shrunk: Vec<&str> = shrunk.iter().map(|s| self.name(*s)).collect();
                let shrunk = match shrunk.as_slice() {
                    [] => String::new(),
                    steps => format!(" shrunk [{}]", steps.join(" ")),
                };
                format!(
                    "degraded missing [{}] unverified [{}]{shrunk}",
                    missing.join(" "),
                    unverified.join(" ")
                )
            }
        }
    }

    pub(super) fn prepared(self, step: u16, round: u32, prompts: &[u64]) -> Self {
        let result = Prepared::Prompts(prompts.to_vec());
        self.event(Event::Prepared { step: StepIx(step), round, result })
    }

    /// A prompt was made shorter, or could not be.
    pub(super) fn shrunk(self, step: u16, item: u32, tokens: Option<u64>) -> Self {
        self.event(Event::Shrunk { step: StepIx(step), item: ItemIx(item), tokens })
    }

    pub(super) fn sent(self, attempt: u32) -> Self {
        self.event(Event::Sent { attempt: AttemptId(attempt) })
    }

    pub(super) fn emitted(self, attempt: u32, tokens: u64) -> Self {
        self.event(Event::Emitted { attempt: AttemptId(attempt), tokens })
    }

    pub(super) fn valid(self, attempt: u32) -> Self {
        self.valid_using(attempt, used(100, 20))
    }

    pub(super) fn valid_using(self, attempt: u32, usage: Usage) -> Self {
        let verdict = Verdict::Valid { pass: None };
        self.event(Event::Ended { attempt: AttemptId(attempt), usage, verdict })
    }

    /// A validator's answer.
    pub(super) fn says(self, attempt: u32, pass: bool) -> Self {
        let verdict = Verdict::Valid { pass: Some(pass) };
        self.event(Event::Ended { attempt: AttemptId(attempt), usage: used(100, 20), verdict })
    }

    pub(super) fn invalid(self, attempt: u32) -> Self {
        let failure = Failure::of_attempt(FailureClass::SchemaViolation, "schema", "no 'bullets'");
        let verdict = Verdict::Invalid { failure, repair_tokens: 50 };
        self.event(Event::Ended { attempt: AttemptId(attempt), usage: used(100, 20), verdict })
    }

    pub(super) fn fails(self, attempt: u32, failure: Failure) -> Self {
        let usage = Usage::default();
        self.event(Event::Failed { attempt: AttemptId(attempt), failure, usage })
    }

    /// Exactly these actions, in this order, have been asked for since the last expectation.
    #[track_caller]
    pub(super) fn expect(mut self, lines: &[&str]) -> Self {
        assert_eq!(self.log, lines, "at {:?}; decisions: {:#?}", self.now, self.words);
        self.log.clear();
        self
    }

    /// Forgets what has been asked for so far.
    pub(super) fn skip(mut self) -> Self {
        self.log.clear();
        self
    }

    /// Some decision so far was explained in these words.
    #[track_caller]
    pub(super) fn because(self, words: &str) -> Self {
        let said = self.words.iter().any(|said| said.contains(words));
        assert!(said, "nothing was decided because '{words}': {:#?}", self.words);
        self
    }

    /// Every decision so far in words.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    pub(super) fn log(&self) -> &[String] {
        &self.log
    }

    #[track_caller]
    pub(super) fn failure(&self) -> &RunFailure {
        match self.machine.outcome() {
            Some(Outcome::Failed(failure)) => failure,
            other => panic!("the run has not failed: {other:?}"),
        }
    }
}
