//! The orchestrator: one run of one plan as a pure state machine.
//!
//! [`Machine::handle`] takes what happened and when, and answers with what to do; [`Machine::next_wakeup`]
//! says when to come back though nothing happens. It holds no content: prompts, answers and schemas stay
//! with the caller, who reports their sizes and verdicts as events. The same machine is driven on tokio,
//! in virtual time and by tests, and the same events at the same times give the same decisions.
//!
//! | event | in a step or attempt that waits for it | in any other |
//! |---|---|---|
//! | `Started` | once, first | ignored |
//! | `Prepared` | `Preparing`, same round → `Running`, `Skipped`, `Ok` or `Failed` | ignored: the step was closed meanwhile |
//! | `Sent`, `FirstToken`, `Emitted` | in flight: its clock starts or moves | ignored: it was closed meanwhile |
//! | `Ended`, `Failed` | in flight: accepted, repaired, followed by another, or the item fails | ignored: it was closed and settled |
//! | `Shrunk` | an item that waits for it: sent again where it fits, else it fails | ignored |
//! | `TurnedAway` | in flight: decided anew, as though it had not been launched | ignored: it was closed meanwhile |
//! | `Withdrawn` | the run is cancelled | ignored after the end |
//! | `Woke` | deadlines, cutoffs and postponed launches that are due | nothing is due: no action |
//!
//! Once the run's time is up nothing counts any more but the `Prepared` of steps that take none: `conclude.rs`.

mod advance;
mod answer;
mod conclude;
pub mod decision;
pub mod foretold;
mod hedge;
mod launch;
mod measure;
mod next;
mod observe;
mod outlook;
mod path;
mod permit;
mod planned;
mod prefer;
mod race;
mod reaction;
mod shed;
mod signals;
mod state;
mod verdict;
mod window;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::failure::Failure;
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::message::Usage;
use crate::domain::outcome::{Cause, Outcome, Status};
use crate::domain::plan::Plan;
use crate::domain::time::Timestamp;
use crate::planner::Pilot;
use crate::policy::cutoff::Shares;
use crate::policy::fallback::Told;
use crate::policy::gate::Ledger;
use crate::policy::health::Why;
use crate::policy::permit::{Claim, Stock, Traffic};

use decision::Decision;
use next::Next;
use state::{AttemptState, StepState};

pub use signals::Signals;
pub use state::{AttemptView, StepView};

/// Most items of one fan-out.
pub const FAN_OUT_MAX: usize = 1_000;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run begins. Steps whose output an earlier run of the same call has validated are taken over.
    Started {
        /// These steps.
        reused: Vec<StepIx>,
    },
    /// A step's condition, list and prompts have been evaluated.
    Prepared {
        /// The step.
        step: StepIx,
        /// Its round, as in [`Action::Prepare`].
        round: u32,
        /// What came of it.
        result: Prepared,
    },
    /// The request has left; waiting for a slot is over.
    Sent {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The first piece of the answer has come.
    FirstToken {
        /// The attempt.
        attempt: AttemptId,
    },
    /// More of the answer has come.
    Emitted {
        /// The attempt.
        attempt: AttemptId,
        /// Tokens so far.
        tokens: u64,
    },
    /// The answer is complete and has been examined.
    Ended {
        /// The attempt.
        attempt: AttemptId,
        /// What it used.
        usage: Usage,
        /// Whether it can be accepted.
        verdict: Verdict,
    },
    /// There will be no answer.
    Failed {
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        failure: Failure,
        /// What it used, as far as known.
        usage: Usage,
    },
    /// An item's prompt has been made shorter, as [`Action::Shrink`] asked.
    Shrunk {
        /// The step.
        step: StepIx,
        /// The item.
        item: ItemIx,
        /// Its tokens now; `None` where nothing may be taken out of it.
        tokens: Option<u64>,
    },
    /// It was not sent: its path has been closed since it was launched, or it could not have been in time.
    TurnedAway {
        /// The attempt.
        attempt: AttemptId,
        /// What closed the path.
        failure: Failure,
    },
    /// The caller withdrew the call.
    Withdrawn,
    /// Time has passed.
    Woke,
}

/// What came of preparing a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepared {
    /// Its condition is false.
    Skip,
    /// Its prompts are ready: the tokens of each item's, in input order. One for a step without `each`.
    Prompts(Vec<u64>),
    /// The same, after items at the tail of lists were taken out to fit the largest window.
    Shrunk(Vec<u64>),
    /// It needs no model, and its output is there.
    Done,
    /// The same for a step with `each`: item by item, in input order, what is wrong with those that cannot be had.
    Computed(Vec<Option<Failure>>),
    /// The same for a validator: whether it passes what it judged.
    Judged {
        /// Its word.
        pass: bool,
    },
    /// It cannot be prepared.
    Impossible(Failure),
}

/// What examining a complete answer found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It fits. A validator's answer also says whether it passes what it judged.
    Valid {
        /// The validator's word.
        pass: Option<bool>,
    },
    /// It does not.
    Invalid {
        /// Why.
        failure: Failure,
        /// Tokens a repair turn adds to the prompt: the answer and what was wrong with it.
        repair_tokens: u64,
    },
}

/// Something to do. Carried out in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Evaluate a step's condition and list, render its prompts, and report [`Event::Prepared`].
    Prepare {
        /// The step.
        step: StepIx,
        /// 0, and one more each time its validator sends it back.
        round: u32,
    },
    /// Take items off the lists that may lose some, until an item's prompt has at most so many tokens, and report
    /// [`Event::Shrunk`].
    Shrink {
        /// The step.
        step: StepIx,
        /// The item.
        item: ItemIx,
        /// Tokens.
        most: u64,
    },
    /// Send a request.
    Launch(AttemptSpec),
    /// Close an attempt's connection. It has ended; nothing more is expected of it.
    Cancel {
        /// The attempt.
        attempt: AttemptId,
    },
    /// An attempt's answer becomes its item's output.
    Accept {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A step has ended; what it has is what its consumers see.
    Close {
        /// The step.
        step: StepIx,
        /// How.
        status: Status,
    },
    /// The run has ended. Comes once, last.
    Finish(Outcome),
}

/// An attempt to launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptSpec {
    /// Its number in the run.
    pub attempt: AttemptId,
    /// For this step.
    pub step: StepIx,
    /// For this item of it.
    pub item: ItemIx,
    /// Its number within the step or item, from 1.
    pub n: u32,
    /// On this path.
    pub path: PathIx,
    /// For this reason.
    pub cause: Cause,
    /// The answer's bound.
    pub max_tokens: u32,
    /// The attempt it follows, and what the model is told of it.
    pub after: Option<(AttemptId, Told)>,
    /// The path of the attempt it is launched beside before that one's cutoff: it counts as an extra attempt of that
    /// path's quota.
    pub extra_of: Option<PathIx>,
    /// What it is to the permits of the quota it is sent to.
    pub claim: Claim,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Machine {
    plan: Arc<Plan>,
    /// What was known of times when the run began; `None` where nothing was.
    pilot: Option<Arc<Pilot>>,
    /// What the run makes of it.
    measure: Option<measure::Measure>,
    shares: Shares,
    deadline: Duration,
    end_at: Timestamp,
    steps: Vec<StepState>,
    attempts: Vec<AttemptState>,
    in_flight: Vec<AttemptId>,
    ledger: Ledger,
    open_at: Vec<Timestamp>,
    /// Per path: most tokens of a prompt, by our estimate, as a refusal has taught.
    overflows: Vec<Option<u64>>,
    /// Per path: what closed it, where that was not of this run.
    why: Vec<Option<Arc<Why>>>,
    line_for: Vec<Duration>,
    traffic: Vec<Traffic>,
    permits: Vec<Stock>,
    windows: Vec<Option<u64>>,
    /// What the planner has come to think, where the pilot has tables.
    mind: Option<planned::Mind>,
    started: bool,
    /// When it was first seen that the run's time is up.
    concluding: Option<Timestamp>,
    /// Attempts that were heard of since, before it was ended for that.
    heard_last: usize,
    outcome: Option<Outcome>,
    out: Vec<Action>,
    decisions: Vec<Decision>,
}

impl Machine {
    /// A run of `plan` that must have ended before `deadline` (counted from the call's arrival), or before
    /// the plan's own where that is shorter.
    #[must_use]
    pub fn new(plan: Arc<Plan>, deadline: Duration) -> Self {
        let deadline = deadline.min(plan.deadline);
        let steps = plan.steps.iter().map(StepState::new).collect();
        Self {
            shares: Shares::of(&plan),
            deadline,
            end_at: Plan::end_at(deadline),
            steps,
            attempts: Vec::new(),
            in_flight: Vec::new(),
            ledger: Ledger::new(plan.budget),
            open_at: vec![Timestamp::ZERO; plan.paths.len()],
            overflows: vec![None; plan.paths.len()],
            why: vec![None; plan.paths.len()],
            line_for: Vec::new(),
            traffic: Vec::new(),
            permits: Vec::new(),
            windows: Vec::new(),
            started: false,
            concluding: None,
            heard_last: 0,
            outcome: None,
            out: Vec::new(),
            decisions: Vec::new(),
            pilot: None,
            mind: None,
            measure: None,
            plan,
        }
    }

    /// The same run, knowing what is known of times.
    #[must_use]
    pub fn with_pilot(self, pilot: Option<Arc<Pilot>>) -> Self {
        let tables = pilot.as_ref().and_then(|pilot| pilot.tables.clone());
        let measure = pilot.as_ref().map(|pilot| measure::Measure::of(&self.plan, pilot));
        Self { mind: tables.map(planned::Mind::new), pilot, measure, ..self }
    }

    /// Takes in `event`, which happened at `now`, and says what to do. Times never go back.
    pub fn handle(&mut self, event: Event, signals: &Signals, now: Timestamp) -> Vec<Action> {
        if self.outcome.is_some() {
            return Vec::new();
        }
        if now >= self.end_at {
            if self.hear_last(&event, now) {
                return Vec::new();
            }
            self.accept_all_held(now);
            self.handle_last(event, now);
            return std::mem::take(&mut self.out);
        }
        self.note_signals(signals, now);
        match event {
            Event::Started { reused } => self.begin(&reused, now),
            Event::Prepared { step, round, result } => self.prepared(step, round, result, now),
            Event::Sent { attempt } => self.sent(attempt, now),
            Event::FirstToken { attempt } => self.emitted(attempt, 1, now),
            Event::Emitted { attempt, tokens } => self.emitted(attempt, tokens, now),
            Event::Ended { attempt, usage, verdict } => self.ended(attempt, usage, verdict, now),
            Event::Failed { attempt, failure, usage } => self.failed(attempt, failure, usage, now),
            Event::Shrunk { step, item, tokens } => self.shrunk(step, item, tokens, now),
            Event::TurnedAway { attempt, failure } => self.turned_away(attempt, failure, now),
            Event::Withdrawn => self.finish(Outcome::Cancelled, now),
            Event::Woke => {}
        }
        self.advance(now);
        std::mem::take(&mut self.out)
    }

    /// When to call [`Machine::handle`] with [`Event::Woke`] if nothing else happens before; `None` once the
    /// run has ended.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        if self.outcome.is_some() {
            return None;
        }
        if !self.started || self.concluding.is_some() || self.heard_last > 0 {
            return Some(self.end_at);
        }
        let cuts = self.in_flight.iter().filter_map(|id| self.attempts[id.at()].cut_due());
        let steps = self.steps.iter().enumerate();
        let wakes = steps.filter_map(|(ix, step)| self.step_wakeup(ix, step));
        let hedges = self.in_flight.iter().filter_map(|id| self.early_wakeup(*id));
        let looks = self.tick_at();
        cuts.map(|(at, _)| at).chain(hedges).chain(wakes).chain(looks).chain([self.end_at]).min()
    }

    /// How the run ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The call's deadline, counted from its arrival.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The moment at which the run ends at the latest: the reserve before its deadline.
    #[must_use]
    pub fn end_at(&self) -> Timestamp {
        self.end_at
    }

    /// The decisions since the last time they were taken.
    pub fn take_decisions(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.decisions)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What was known of times when the run began.
    #[must_use]
    pub fn pilot(&self) -> Option<&Arc<Pilot>> {
        self.pilot.as_ref()
    }

    /// Every step's state, in the plan's order.
    pub fn steps(&self) -> impl Iterator<Item = StepView<'_>> {
        self.steps.iter().map(StepState::view)
    }

    /// Every attempt, in launch order.
    pub fn attempts(&self) -> impl Iterator<Item = AttemptView<'_>> {
        self.attempts.iter().map(AttemptState::view)
    }

    /// The attempt of that number.
    #[must_use]
    pub fn attempt(&self, attempt: AttemptId) -> Option<AttemptView<'_>> {
        self.attempts.get(attempt.at()).map(AttemptState::view)
    }

    /// The step at that place.
    #[must_use]
    pub fn step(&self, step: StepIx) -> Option<StepView<'_>> {
        self.steps.get(step.at()).map(StepState::view)
    }
}

#[cfg(test)]
mod tests;
