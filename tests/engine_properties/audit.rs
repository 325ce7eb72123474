//! What must hold of everything a machine asks for, kept from events and actions alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use punctual::domain::failure::FailureClass;
use punctual::domain::id::{AttemptId, ItemIx, StepIx};
use punctual::domain::message::Usage;
use punctual::domain::money::Usd;
use punctual::domain::outcome::{Outcome, Status};
use punctual::domain::plan::{Hedge, Need, NeedKind, OnRejected, Plan, StepPlan, Work};
use punctual::domain::time::Timestamp;
use punctual::engine::{Action, AttemptSpec, Event, Machine, Prepared, Signals, Verdict};

type Place = (StepIx, ItemIx, u32);

/// The books of one run.
pub struct Audit {
    plan: Arc<Plan>,
    round: Vec<u32>,
    /// How each step has ended; a validator that is asked again has not.
    closed: HashMap<StepIx, Status>,
    /// What each validator said last.
    pass: HashMap<StepIx, bool>,
    /// Judged value steps that are done.
    done: HashSet<StepIx>,
    /// Steps that were asked for and have not been prepared yet.
    preparing: HashSet<StepIx>,
    /// The tokens of each item's prompt.
    prompts: HashMap<(StepIx, ItemIx), u64>,
    places: HashMap<AttemptId, Place>,
    in_flight: HashSet<AttemptId>,
    launched: HashMap<Place, u32>,
    valid: HashSet<AttemptId>,
    accepted: HashMap<Place, AttemptId>,
    finished: bool,
}

impl Audit {
    pub fn new(plan: Arc<Plan>) -> Self {
        Self {
            round: vec![0; plan.steps.len()],
            plan,
            closed: HashMap::new(),
            pass: HashMap::new(),
            done: HashSet::new(),
            preparing: HashSet::new(),
            prompts: HashMap::new(),
            places: HashMap::new(),
            in_flight: HashSet::new(),
            launched: HashMap::new(),
            valid: HashSet::new(),
            accepted: HashMap::new(),
            finished: false,
        }
    }

    /// The machine is about to hear this.
    pub fn told(&mut self, event: &Event, machine: &Machine, now: Timestamp) {
        assert!(machine.outcome().is_none());
        // The machine looks at the time first: to it an attempt that ends with the run's time is in flight, and closed.
        let late = now >= machine.end_at();
        let ends =
            matches!(event, Event::Ended { .. } | Event::Failed { .. } | Event::TurnedAway { .. });
        if late && ends {
            return;
        }
        match event {
            Event::Ended { attempt, verdict, .. } => {
                let live = self.in_flight.remove(attempt);
                let Verdict::Valid { pass } = verdict else { return };
                if live {
                    self.valid.insert(*attempt);
                    self.pass.insert(self.places[attempt].0, *pass == Some(true));
                }
            }
            Event::Failed { attempt, .. } => {
                self.in_flight.remove(attempt);
            }
            Event::TurnedAway { attempt, .. } => {
                let sent = machine.attempt(*attempt).is_some_and(|a| a.sent.is_some());
                if !sent && self.in_flight.remove(attempt) {
                    *self.launched.entry(self.places[attempt]).or_default() -= 1;
                }
            }
            Event::Prepared { step, round, result } if *round == self.round[step.at()] => {
                // A drawn failure may be of any class, and stands for itself.
                if !matches!(result, Prepared::Impossible(_)) {
                    self.preparing.remove(step);
                }
                match result {
                    Prepared::Done | Prepared::Computed(_) => {
                        self.done.insert(*step);
                    }
                    Prepared::Judged { pass } => {
                        self.pass.insert(*step, *pass);
                    }
                    Prepared::Prompts(prompts) | Prepared::Shrunk(prompts) => {
                        let items = (0_u32..).map(ItemIx).zip(prompts);
                        self.prompts.extend(items.map(|(item, tokens)| ((*step, item), *tokens)));
                    }
                    Prepared::Skip | Prepared::Impossible(_) => {}
                }
            }
            Event::Shrunk { step, item, tokens: Some(tokens) } => {
                if let Some(known) = self.prompts.get_mut(&(*step, *item)) {
                    *known = (*known).min(*tokens);
                }
            }
            _ => {}
        }
    }

    /// The machine asks for this.
    pub fn asked(&mut self, action: &Action) {
        assert!(!self.finished, "after the finish: {action:?}");
        match action {
            Action::Prepare { step, round } => self.prepare(*step, *round),
            Action::Launch(spec) => self.launch(spec),
            Action::Shrink { step, item, .. } => {
                let place = (*step, *item, self.round[step.at()]);
                assert!(!self.accepted.contains_key(&place), "{place:?} has its answer");
                let racing = self.in_flight.iter().any(|a| self.places[a] == place);
                assert!(!racing, "{place:?} may still win");
            }
            Action::Cancel { attempt } => {
                assert!(self.in_flight.remove(attempt), "{attempt:?} is not in flight");
            }
            Action::Accept { attempt } => self.accept(*attempt),
            Action::Close { step, status } => {
                let before = self.closed.insert(*step, *status);
                assert_eq!(before, None, "{step:?} has ended already");
                assert!(status.ended());
            }
            Action::Finish(_) => self.finished = true,
        }
    }

    fn prepare(&mut self, step: StepIx, round: u32) {
        let plan = self.plan.step(step);
        assert!(!self.closed.contains_key(&step), "{step:?} is prepared after its end");
        self.round[step.at()] = round;
        self.preparing.insert(step);
        if round > 0
            && let Some(judge) = plan.judged_by
        {
            assert_eq!(self.pass.get(&judge), Some(&false), "only a rejection sends back");
            assert!(round <= self.plan.step(judge).revise, "round {round} of {step:?}");
            self.closed.remove(&judge);
        }
        for need in &self.plan.step(step).needs {
            let status = self.closed.get(&need.step).copied();
            let met = match need.kind {
                NeedKind::Output => status.is_some_and(Status::accepted),
                NeedKind::Guarded | NeedKind::Order => status.is_some(),
                NeedKind::Judges => status.is_none() && self.has_answer(need.step),
            };
            assert!(met, "{step:?} starts while {:?} is {status:?}", need.step);
        }
    }

    /// Whether a step without a model has been asked for and is not there yet.
    pub fn computing(&self) -> bool {
        let open = self.preparing.iter().filter(|step| !self.closed.contains_key(*step));
        open.into_iter().any(|step| self.plan.step(*step).work == Work::Value)
    }

    /// Time alone never keeps a step without a model from being computed.
    fn not_for_want_of_time(&self, step: StepIx) {
        let plan = self.plan.step(step);
        if plan.work != Work::Value || self.preparing.contains(&step) || self.done.contains(&step) {
            return;
        }
        let there = |need: &Need| {
            let status = self.closed.get(&need.step).copied();
            match need.kind {
                NeedKind::Output => status.is_some_and(Status::accepted),
                NeedKind::Guarded | NeedKind::Order => status.is_some(),
                NeedKind::Judges => self.has_answer(need.step),
            }
        };
        assert!(!plan.needs.iter().all(there), "{step:?} could have been computed");
    }

    fn has_answer(&self, step: StepIx) -> bool {
        let place = (step, ItemIx(0), self.round[step.at()]);
        self.accepted.contains_key(&place) || self.done.contains(&step)
    }

    fn launch(&mut self, spec: &AttemptSpec) {
        let place = (spec.step, spec.item, self.round[spec.step.at()]);
        assert!(!self.closed.contains_key(&spec.step), "{spec:?} after its step's end");
        assert!(!self.accepted.contains_key(&place), "{spec:?} after its item's answer");
        assert_eq!(self.places.len(), spec.attempt.at(), "attempts are numbered in order");
        let Work::Model { policy, .. } = &self.plan.step(spec.step).work else {
            panic!("{spec:?} for a step without a model");
        };
        let launched = self.launched.entry(place).or_default();
        *launched += 1;
        assert!(*launched <= policy.attempts, "{spec:?} is one too many");
        if spec.extra_of.is_some() {
            let after = matches!(policy.hedge, Hedge::After { .. });
            assert!(after, "{spec:?} is before a cutoff without a policy that says so");
            let beside = self.in_flight.iter().any(|a| self.places[a] == place);
            assert!(beside, "{spec:?} is beside nothing");
        }
        let prompt = self.prompts.get(&(spec.step, spec.item)).copied().unwrap_or(0);
        let room = self.plan.path(spec.path).profile.room(spec.max_tokens);
        assert!(room.is_none_or(|room| prompt <= room), "{spec:?} of {prompt} tokens");
        self.places.insert(spec.attempt, place);
        self.in_flight.insert(spec.attempt);
        let racing = self.in_flight.iter().filter(|a| self.places[a] == place).count();
        assert!(racing <= 2, "{racing} in flight for {place:?}");
    }

    fn accept(&mut self, attempt: AttemptId) {
        let place = self.places[&attempt];
        assert!(self.valid.contains(&attempt), "{attempt:?} was not valid");
        let before = self.accepted.insert(place, attempt);
        let restored = before == Some(attempt) && place.2 < self.round[place.0.at()];
        assert!(before.is_none() || restored, "{place:?} is accepted twice");
    }

    /// The run has ended: its books are closed.
    pub fn ended(&self, machine: &Machine) {
        assert!(self.finished, "the outcome is announced");
        assert!(self.in_flight.is_empty(), "left in flight: {:?}", self.in_flight);
        for attempt in machine.attempts() {
            assert!(attempt.ended.is_some(), "{:?} has no end", attempt.spec.attempt);
        }
        for (ix, step) in machine.steps().enumerate() {
            assert!(step.status.ended(), "step {ix} has not ended");
        }
        self.within_budget(machine);
        match machine.outcome() {
            Some(Outcome::Delivered) => self.complete(machine, &[]),
            Some(Outcome::Degraded { missing, unverified, shrunk }) => {
                let nothing = missing.is_empty() && unverified.is_empty() && shrunk.is_empty();
                assert!(!nothing, "degraded by nothing");
                self.complete(machine, unverified);
            }
            Some(Outcome::Failed(failure)) => {
                assert!(!failure.message.is_empty());
                assert!(failure.step.is_some());
                if let Some(step) = failure.step.filter(|_| failure.class == FailureClass::Deadline)
                {
                    self.not_for_want_of_time(step);
                }
            }
            Some(Outcome::Cancelled) => {}
            None => panic!("no outcome"),
        }
    }

    fn within_budget(&self, machine: &Machine) {
        let (mut usd, mut tokens, mut calls) = (Usd::ZERO, 0, 0_u32);
        for attempt in machine.attempts() {
            usd = usd.plus(attempt.cost);
            tokens += attempt.usage.input + attempt.usage.output;
            calls += u32::from(attempt.sent.is_some() || attempt.usage != Usage::default());
        }
        let budget = &self.plan.budget;
        assert!(budget.usd.is_none_or(|most| usd <= most), "{usd} of {:?}", budget.usd);
        assert!(budget.tokens.is_none_or(|most| tokens <= most), "{tokens} of {:?}", budget.tokens);
        assert!(budget.calls.is_none_or(|most| calls <= most), "{calls} of {:?}", budget.calls);
    }

    /// Every essential step is there, and every judged one has passed or is named as unverified.
    fn complete(&self, machine: &Machine, unverified: &[StepIx]) {
        for (ix, (plan, state)) in self.plan.steps.iter().zip(machine.steps()).enumerate() {
            let there = state.status.accepted() || state.status == Status::Skipped;
            assert!(there || plan.optional, "step {ix} is essential and {:?}", state.status);
            let named = unverified.iter().any(|step| step.at() == ix);
            if state.status == Status::Ok && !named {
                self.verified(ix, plan);
            }
            if named {
                assert!(state.status == Status::Ok && self.may_go_unverified(plan), "step {ix}");
            }
        }
    }

    fn verified(&self, ix: usize, plan: &StepPlan) {
        let Some(judge) = plan.judged_by else { return };
        match self.closed.get(&judge) {
            Some(Status::Ok) => assert_eq!(self.pass.get(&judge), Some(&true), "step {ix}"),
            Some(Status::Skipped) => {
                assert!(self.plan.step(judge).conditional, "step {ix} was not judged");
            }
            other => panic!("step {ix} goes out verified though its validator is {other:?}"),
        }
    }

    fn may_go_unverified(&self, plan: &StepPlan) -> bool {
        let accepts = |plan: &StepPlan| match &plan.work {
            Work::Model { policy, .. } => policy.on.rejected == OnRejected::Accept,
            Work::Value => false,
        };
        plan.judged_by.is_some_and(|judge| {
            let judge = self.plan.step(judge);
            judge.optional || accepts(judge) || accepts(plan)
        })
    }

    /// Each wakeup cuts, launches, closes or ends something; signals may put a launch off once each.
    pub fn wakeups_most(&self, machine: &Machine, told: &[(Event, Signals, Timestamp)]) -> usize {
        let items: usize = machine.steps().map(|step| step.items().count()).sum();
        let closings = told.iter().filter(|(_, signals, _)| !signals.closed_for.is_empty()).count();
        let failures = told
            .iter()
            .filter(|(event, ..)| matches!(event, Event::Failed { .. } | Event::TurnedAway { .. }));
        let attempts = machine.attempts().count();
        10 + self.plan.steps.len() + 3 * attempts + items * (1 + closings + failures.count())
    }
}
