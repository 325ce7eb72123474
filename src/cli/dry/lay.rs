//! Lays a run out: played as it would be, as far as its input, and the answers that a case has for it, decide it.
//!
//! It is the run itself that is asked, so that conditions, lists, histories and what is left out are those of a real
//! one. Attempts that nothing is recorded for stay without an answer. What would hold it back is taken out of the
//! plan: its budget, how many items run at once, and that one step's failure ends the whole.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::mentions;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{AttemptId, RunId, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::Status;
use crate::domain::plan::{Budget, NeedKind, Plan};
use crate::domain::time::Timestamp;
use crate::engine::FAN_OUT_MAX;
use crate::provider::{Broken, Exchange, Reply};
use crate::run::{Effect, Launch, Run};
use crate::workflow::Workflow;
use crate::workflow::case::{Case, Said, Told};

/// Most times that time moves on.
const WAKES_MAX: usize = 10_000;
/// How long it may move on while an answer is awaited that will never come: a change of path takes a moment.
const MOMENT: Duration = Duration::from_millis(200);

/// A run, laid out.
pub(super) struct Laid {
    /// As far as it goes.
    pub run: Run,
    /// First prompts by step and item, and the tokens they are expected to be.
    pub prompts: BTreeMap<(StepIx, u32), (Exchange, u64)>,
    /// Whether attempts are without an answer.
    awaits: bool,
    now: Timestamp,
}

impl Laid {
    /// A run of `workflow` on `input`, its models answering as in `case`.
    pub(super) fn of(workflow: &Workflow, input: Value, case: Option<&Case>) -> Self {
        let plan = Arc::new(unheld(workflow));
        let deadline = plan.deadline;
        let free = Arc::new(Workflow { plan, ..workflow.clone() });
        let run = Run::new(RunId::new(0), free, input, deadline, 0);
        let mut laid = Self { run, prompts: BTreeMap::new(), awaits: false, now: Timestamp::ZERO };
        laid.play(case);
        laid
    }

    fn play(&mut self, case: Option<&Case>) {
        let mut effects: VecDeque<Effect> = self.run.start(Vec::new(), self.now).into();
        for _ in 0..WAKES_MAX {
            while let Some(effect) = effects.pop_front() {
                if let Effect::Launch(launch) = effect {
                    effects.extend(self.launched(*launch, case));
                }
            }
            let due = self.run.next_wakeup();
            let Some(due) = due.filter(|due| !self.awaits || due.since_start() < MOMENT) else {
                return;
            };
            self.now = due;
            effects.extend(self.run.wake(due));
        }
    }

    fn launched(&mut self, launch: Launch, case: Option<&Case>) -> Vec<Effect> {
        let Launch { attempt, exchange, prompt_tokens, .. } = launch;
        let draw = exchange.draw.clone();
        self.run.sent(attempt, self.now);
        if draw.attempt == 0 {
            let place = (StepIx(draw.step), draw.place);
            self.prompts.insert(place, (exchange, prompt_tokens));
        }
        let said = case.and_then(|case| case.said(&draw.step_name, draw.place, draw.attempt));
        if let Some(said) = said {
            return self.say(attempt, said);
        }
        self.awaits = true;
        Vec::new()
    }

    fn say(&mut self, attempt: AttemptId, said: &Said) -> Vec<Effect> {
        let told = said.told.unwrap_or(Told::Ok);
        let broken = |class: FailureClass| {
            let failure = Failure::of_attempt(class, "case", "the case says so");
            Err(Broken::from(failure))
        };
        let text = match (told, &said.text) {
            (Told::Hang, _) => return Vec::new(),
            (Told::Error, _) => Err(FailureClass::ServerError),
            (Told::RateLimited, _) => Err(FailureClass::RateLimited),
            (Told::Garbage, _) => Ok("{".to_owned()),
            (Told::Ok | Told::Slow, Some(text)) => Ok(text.clone()),
            // Made up by shape.
            (Told::Ok | Told::Slow, None) => {
                self.awaits = true;
                return Vec::new();
            }
        };
        let reply = text.map_or_else(broken, |text| {
            Ok(Reply { text, usage: Usage::default(), invented: false, remaining: None })
        });
        self.run.replied(attempt, reply, self.now)
    }

    /// Whether a step that asks no model waits for its validator alone.
    pub(super) fn is_computed(&self, step: StepIx) -> bool {
        self.status(step) == Status::Running && self.run.output_of(step).is_some()
    }

    /// Why a step is not needed.
    pub(super) fn why_skipped(&self, step: StepIx) -> String {
        let report = self.run.report("", self.now);
        let name = &self.run.workflow().steps[step.at()].name;
        let mut skips = report.decisions.into_iter().filter(|one| one.action == "skip");
        let skip = skips.find(|one| one.step.as_ref() == Some(name));
        skip.map_or_else(String::new, |one| one.reason)
    }

    /// Whether a step's output is there, or never will be.
    pub(super) fn is_decided(&self, step: StepIx) -> bool {
        self.run.step(step).is_some_and(|step| step.status.ended())
    }

    /// How a step stands.
    pub(super) fn status(&self, step: StepIx) -> Status {
        self.run.step(step).map_or(Status::Waiting, |step| step.status)
    }
}

/// The plan with nothing that holds a step back, or takes it away.
fn unheld(workflow: &Workflow) -> Plan {
    let mut plan = Plan::clone(&workflow.plan);
    plan.budget = Budget::default();
    for (step, content) in plan.steps.iter_mut().zip(&workflow.steps) {
        step.optional = true;
        step.cutoff_at = None;
        if let Some(each) = &mut step.each {
            each.max_parallel = u32::try_from(FAN_OUT_MAX).unwrap_or(u32::MAX);
        }
        // The order alone of other steps shows in `run.status`.
        if !mentions(content).contains(&"run") {
            step.needs.retain(|need| need.kind != NeedKind::Order);
        }
    }
    plan
}
