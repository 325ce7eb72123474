//! One run: the engine's machine, the values it must not see, and the record of what happened.
//!
//! Pure. Carries out by itself every action that needs no I/O (conditions, prompts, verdicts, results) and
//! hands the rest up as [`Effect`]s; the tokio driver and the virtual world both drive this one type.

mod examine;
#[cfg(test)]
pub(crate) mod fixture;
pub mod journal;
mod look;
mod prepare;
mod prompt;
mod record;
pub mod replay;
mod report;
mod reuse;
mod shrink;
mod signal;
mod words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::domain::failure::Failure;
use crate::domain::id::{AttemptId, RunId, StepIx};
use crate::domain::message::{Prompt, Usage};
use crate::domain::money::Usd;
use crate::domain::outcome::Outcome;
use crate::domain::time::Timestamp;
use crate::engine::decision::Decision;
use crate::engine::{Action, AttemptSpec, Event, Machine, Signals};
use crate::planner::SharedPilot;
use crate::policy::permit;
use crate::policy::queue::Party;
use crate::provider::{Broken, Exchange, Reply};
use crate::workflow::Workflow;
use crate::workflow::case::digest;
use crate::workflow::content::Content;

use journal::Journal;

pub use prompt::instruction_tokens;
pub use report::Progress;

/// Something only the outside can do.
#[derive(Debug)]
pub enum Effect {
    /// Send a request, and report its signs of life and its end.
    Launch(Box<Launch>),
    /// Close an attempt's connection; nothing more is expected of it.
    Cancel(AttemptId),
    /// The run has ended; its report is final.
    Finish,
}

/// A request to send.
#[derive(Debug)]
pub struct Launch {
    /// The attempt.
    pub attempt: AttemptId,
    /// The provider's name.
    pub provider: String,
    /// What is sent.
    pub exchange: Exchange,
    /// Tokens the prompt is expected to be.
    pub prompt_tokens: u64,
    /// What it is expected to cost at most; nothing where the price is unknown.
    pub most: Usd,
    /// Who sends it, before its provider's door.
    pub party: Party,
    /// How long it is of use: until the run's end.
    pub ends_in: Duration,
    /// What it counts as among the attempts of ten minutes, and of which provider.
    pub counts: Option<(String, permit::Kind)>,
    /// What it is to the permits of its provider.
    pub claim: permit::Claim,
    /// The providers whose permits it earns a part of.
    pub earns: Vec<String>,
}

/// One run, under way or ended.
#[derive(Debug)]
pub struct Run {
    id: RunId,
    workflow: Arc<Workflow>,
    machine: Machine,
    content: Content,
    answers: BTreeMap<AttemptId, Answered>,
    decisions: Vec<Decision>,
    /// Requests that were refused for a part of them and sent once more, and how they were changed.
    corrections: Vec<(Timestamp, AttemptId, String)>,
    /// Names this run's draws.
    seed: u64,
    /// Tells its input apart, where a simulator may know it; else 0.
    input: u64,
    output: Option<Value>,
    simulated: bool,
    /// Steps whose `check` was not asked of an answer that was made up by shape.
    unchecked: BTreeSet<StepIx>,
    ticks: u64,
    /// What was sent, where it is kept.
    sent: Option<BTreeMap<AttemptId, Sent>>,
    /// What all runs together know of the paths, as far as this run was told.
    signals: Signals,
    /// What it was told and has decided, where that is kept.
    journal: Option<Journal>,
}

/// What an attempt's model was sent.
#[derive(Debug)]
struct Sent {
    prompt: Prompt,
    schema: Option<Arc<Value>>,
}

/// What an attempt's reply came to.
#[derive(Debug, Default)]
struct Answered {
    /// The reply's text, or what had arrived of it.
    text: String,
    /// The value, where it is valid.
    value: Option<Value>,
    /// What was wrong with it.
    problems: Vec<String>,
    /// Whether it was made up by shape and its step's `check` would have refused it.
    doubtful: bool,
}

impl Run {
    /// A run of `workflow` on validated `input`, to end before `deadline` (from the call's arrival).
    #[must_use]
    pub fn new(
        id: RunId,
        workflow: Arc<Workflow>,
        input: Value,
        deadline: Duration,
        seed: u64,
    ) -> Self {
        let simulated = workflow.plan.providers.iter().any(|provider| provider.simulated);
        Self {
            machine: Machine::new(workflow.plan.clone(), deadline),
            input: if simulated { digest(&input) } else { 0 },
            content: Content::new(&workflow, input),
            id,
            workflow,
            answers: BTreeMap::new(),
            decisions: Vec::new(),
            corrections: Vec::new(),
            seed,
            output: None,
            simulated: false,
            unchecked: BTreeSet::new(),
            ticks: 0,
            sent: None,
            signals: Signals::default(),
            journal: None,
        }
    }

    /// The same run, knowing what is known of times. To be told before it begins.
    #[must_use]
    pub fn knowing(mut self, pilot: Option<SharedPilot>) -> Self {
        self.machine = self.machine.with_pilot(pilot);
        self
    }

    /// Keeps what models are sent, so that the report shows it beside what they said. Off unless asked for: prompts
    /// and answers are their owner's.
    pub fn keep_content(&mut self) {
        self.sent.get_or_insert_default();
    }

    /// Keeps what decides the run, for [`Run::record`].
    pub fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// What decided the run, as lines: see [`Journal::lines`]. Nothing where that is not kept.
    #[must_use]
    pub fn record(&self, known: impl Fn(&str) -> bool) -> Vec<String> {
        let journal = self.journal.as_ref();
        journal.map(|journal| journal.lines(&self.id, &self.machine, known)).unwrap_or_default()
    }

    /// Begins. `reused` are outputs that an earlier run of the same call has validated.
    pub fn start(&mut self, reused: Vec<(StepIx, Value)>, now: Timestamp) -> Vec<Effect> {
        let mut steps = Vec::new();
        for (step, output) in reused {
            if self.take_over(step, output) {
                steps.push(step);
            }
        }
        self.feed(Event::Started { reused: steps }, now)
    }

    /// An attempt's request has left.
    pub fn sent(&mut self, attempt: AttemptId, now: Timestamp) -> Vec<Effect> {
        self.feed(Event::Sent { attempt }, now)
    }

    /// An attempt's answer has grown by `text`, to `tokens` in all.
    pub fn emitted(
        &mut self,
        attempt: AttemptId,
        tokens: u64,
        text: &str,
        now: Timestamp,
    ) -> Vec<Effect> {
        if self.machine.attempt(attempt).is_some_and(|a| a.ended.is_none()) {
            self.answers.entry(attempt).or_default().text.push_str(text);
        }
        self.feed(Event::Emitted { attempt, tokens }, now)
    }

    /// An attempt's request was refused for a part of it, and is sent once more, changed in this way. One attempt
    /// all the same: nothing follows from it but a line in the report.
    pub fn corrected(&mut self, attempt: AttemptId, how: String, now: Timestamp) {
        self.corrections.push((now, attempt, how));
    }

    /// An attempt has ended.
    pub fn replied(
        &mut self,
        attempt: AttemptId,
        reply: Result<Reply, Broken>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let step = self.machine.attempt(attempt).map(|a| a.spec.step);
        let Some(step) = step else { return Vec::new() };
        let event = match reply {
            Ok(reply) => self.examine(step, attempt, reply),
            Err(broken) => {
                let Broken { failure, partial, usage, remaining: _ } = broken;
                let usage = usage.unwrap_or_else(|| Self::sent_usage(&failure, &partial));
                self.answers.insert(attempt, Answered { text: partial, ..Answered::default() });
                Event::Failed { attempt, failure, usage }
            }
        };
        self.feed(event, now)
    }

    /// An attempt was not sent: its path has been closed since, or it could not have been in time.
    pub fn turned_away(
        &mut self,
        attempt: AttemptId,
        failure: Failure,
        now: Timestamp,
    ) -> Vec<Effect> {
        self.feed(Event::TurnedAway { attempt, failure }, now)
    }

    /// The caller withdraws the call.
    pub fn withdraw(&mut self, now: Timestamp) -> Vec<Effect> {
        self.feed(Event::Withdrawn, now)
    }

    /// The time of [`Run::next_wakeup`] has come.
    pub fn wake(&mut self, now: Timestamp) -> Vec<Effect> {
        self.feed(Event::Woke, now)
    }

    /// When to call [`Run::wake`] though nothing happens; `None` once the run has ended.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        self.machine.next_wakeup()
    }

    /// How it ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.machine.outcome()
    }

    /// Its deadline, from the call's arrival.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.machine.deadline()
    }

    #[cfg(test)]
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its public name.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The workflow it runs.
    #[must_use]
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    /// Lets go of everything a report has been made of: an ended run is kept for its report alone.
    pub fn forget(&mut self) {
        self.content = Content::new(&self.workflow, Value::Null);
        self.answers = BTreeMap::new();
        self.sent = None;
        self.decisions = Vec::new();
        self.corrections = Vec::new();
        self.journal = None;
        self.output = None;
    }

    fn feed(&mut self, event: Event, now: Timestamp) -> Vec<Effect> {
        self.ticks += 1;
        let mut effects = Vec::new();
        let mut events = VecDeque::from([event]);
        // Each round answers the preparations the round before has asked for; the machine bounds them.
        while let Some(event) = events.pop_front() {
            for action in self.tell(event, now) {
                match action {
                    Action::Prepare { step, round } => {
                        let result = self.prepare(step);
                        events.push_back(Event::Prepared { step, round, result });
                    }
                    Action::Shrink { step, item, most } => {
                        let tokens = self.shrink_further(step, item, most);
                        events.push_back(Event::Shrunk { step, item, tokens });
                    }
                    Action::Launch(spec) => self.launch(&spec, now, &mut effects, &mut events),
                    Action::Cancel { attempt } => effects.push(Effect::Cancel(attempt)),
                    Action::Accept { attempt } => self.accept(attempt),
                    Action::Close { step, status } => {
                        self.content.close(step, &self.workflow.steps[step.at()], status);
                    }
                    Action::Finish(outcome) => {
                        self.finish(&outcome);
                        effects.push(Effect::Finish);
                    }
                }
            }
        }
        effects
    }

    /// Tells the machine; what it is told is recorded first, and what it answers before anyone acts on it.
    fn tell(&mut self, event: Event, now: Timestamp) -> Vec<Action> {
        if let Some(journal) = &mut self.journal {
            journal.told(&event, &self.signals, now);
        }
        let actions = self.machine.handle(event, &self.signals, now);
        let decisions = self.machine.take_decisions();
        if let Some(journal) = &mut self.journal {
            journal.answered(&actions, &decisions);
        }
        self.decisions.extend(decisions);
        actions
    }

    fn launch(
        &mut self,
        spec: &AttemptSpec,
        now: Timestamp,
        effects: &mut Vec<Effect>,
        events: &mut VecDeque<Event>,
    ) {
        let path = self.workflow.plan.path(spec.path);
        self.simulated |= self.workflow.plan.provider_of(spec.path).simulated;
        let provider = self.workflow.plan.provider_of(spec.path).name.clone();
        let profile = Arc::new(path.profile.clone());
        match self.exchange(spec, profile, now) {
            Ok((exchange, prompt_tokens)) => {
                let attempt = spec.attempt;
                if let Some(sent) = &mut self.sent {
                    let (prompt, schema) = (exchange.prompt.clone(), exchange.schema.clone());
                    sent.insert(attempt, Sent { prompt, schema });
                }
                let (counts, earns) = (self.count(spec), self.earners(spec));
                let party = Party { flow: self.workflow.name.clone(), run: self.id.clone() };
                effects.push(Effect::Launch(Box::new(Launch {
                    attempt,
                    provider,
                    exchange,
                    prompt_tokens,
                    most: self.machine.attempt(attempt).map_or(Usd::ZERO, |a| a.reserved),
                    party,
                    ends_in: self.machine.end_at().since(now),
                    counts,
                    claim: spec.claim,
                    earns,
                })));
            }
            Err(error) => events.push_back(Event::Failed {
                attempt: spec.attempt,
                failure: shrink::unrendered(None, &error),
                usage: Usage::default(),
            }),
        }
    }

    fn accept(&mut self, attempt: AttemptId) {
        let Some(view) = self.machine.attempt(attempt) else { return };
        let (step, item) = (view.spec.step, view.spec.item);
        let value = self.answers.get(&attempt).and_then(|a| a.value.clone());
        let of = &self.workflow.steps[step.at()];
        self.content.accept(step, item, of, value.unwrap_or(Value::Null));
    }

    fn finish(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Delivered | Outcome::Degraded { .. } => {
                self.output = Some(self.content.result(&self.workflow));
            }
            Outcome::Failed(_) | Outcome::Cancelled => {}
        }
    }
}

#[cfg(test)]
mod tests;
