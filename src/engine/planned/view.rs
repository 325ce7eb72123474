//! What the planner is shown of a step: its attempts as they look now, and what may join them.

use super::super::Machine;
use super::super::state::{ItemPhase, Phase};
use super::{ONLY, RACE_MAX};
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, PathIx, StepIx};
use crate::domain::time::Timestamp;
use crate::planner::look::{Beside, Look, View};
use crate::planner::tables::Tables;

/// A planned step under way, as it looks now.
pub(super) struct Active {
    pub(super) step: StepIx,
    pub(super) looks: Vec<Look>,
    pub(super) held: Option<AttemptId>,
}

impl Active {
    /// The same as another step's planner sees it.
    pub(super) fn beside(&self) -> Beside<'_> {
        Beside { step: self.step, attempts: &self.looks, held: self.held.is_some() }
    }
}

/// What an attempt that is asked for is to those in flight.
#[derive(Clone, Copy)]
pub(super) enum Joins<'a> {
    /// Nothing is in flight, or nothing is launched.
    Alone,
    /// One beside them, which needs a permit.
    Beside,
    /// One in place of one of these, which hang.
    Instead(&'a [AttemptId]),
}

impl Machine {
    /// An attempt as it looks now.
    pub(super) fn look(&self, attempt: AttemptId, now: Timestamp) -> Look {
        let state = &self.attempts[attempt.at()];
        let since = |at: Timestamp| now.since(at);
        let first = state.first_token.zip(state.sent).map(|(first, sent)| first.since(sent));
        #[expect(clippy::cast_precision_loss, reason = "tokens of one answer")]
        let tokens = state.emitted as f64;
        Look {
            step: state.spec.step,
            path: state.spec.path,
            age: state.sent.map_or(0.0, |sent| since(sent).as_secs_f64()),
            first_token: first.map(|first| first.as_secs_f64()),
            tokens,
            rate: state.first_token.and_then(|first| state.flow.stream.rate(since(first))),
            slow: state.flow.slow,
        }
    }

    /// Every planned step under way.
    pub(super) fn active(&mut self, tables: &Tables, now: Timestamp) -> Vec<Active> {
        let mut all = Vec::new();
        for step in self.plan.clone().step_ixs() {
            let state = &self.steps[step.at()];
            let Some(item) = state.items.first().filter(|_| state.phase == Phase::Running) else {
                continue;
            };
            if item.phase != ItemPhase::Active || !self.is_planned(step) {
                continue;
            }
            let held = item.held.map(|(attempt, _)| attempt);
            let mut looks = Vec::with_capacity(RACE_MAX);
            for attempt in item.attempts.clone() {
                if self.attempts[attempt.at()].ended.is_some() {
                    continue;
                }
                let mut look = self.look(attempt, now);
                if !look.slow && tables.is_slow(&look) {
                    look.slow = true;
                    self.attempts[attempt.at()].flow.slow = true;
                }
                looks.push(look);
            }
            all.push(Active { step, looks, held });
        }
        all
    }

    /// What a view of the step borrows, for an attempt that `joins` it.
    pub(super) fn frame(&self, step: StepIx, joins: Joins<'_>, now: Timestamp) -> Frame {
        let item = &self.steps[step.at()].items[ONLY.at()];
        let policy = self.policy(step).map(|(policy, _)| policy);
        let attempts = policy.map_or(0, |policy| policy.attempts);
        let may_swap = policy.is_some_and(|policy| item.swaps < policy.max_swaps);
        let latest = item.attempts.last().map(|a| self.attempts[a.at()].spec.path);
        let mut refusals = vec![0; self.plan.providers.len()];
        let mut counted = 0_u32;
        for state in item.attempts.iter().map(|a| &self.attempts[a.at()]).filter(|a| !a.turned_away)
        {
            counted += 1;
            let class = state.failure.as_ref().map(|failure| failure.class);
            if class == Some(FailureClass::RateLimited) {
                refusals[self.plan.path(state.spec.path).provider.at()] += 1;
            }
        }
        let unfit = self.unfit(step, ONLY);
        let opens = (0..).map(PathIx).zip(&self.plan.paths).map(|(path, _)| {
            let swaps = latest.is_some_and(|latest| latest != path);
            let ready = self.ready_at(path, now);
            let refused = match joins {
                Joins::Alone => false,
                Joins::Beside => self.permit_for(path).is_err(),
                Joins::Instead(hung) => !self.may_replace(hung, path),
            };
            if refused || unfit.contains(&path) || (swaps && !may_swap) || ready >= self.end_at {
                f64::INFINITY
            } else {
                ready.since(now).as_secs_f64()
            }
        });
        let left = self.ledger.left();
        Frame {
            step,
            left: self.end_at.since(now).as_secs_f64(),
            open_in: opens.collect(),
            refusals,
            attempts_left: attempts.saturating_sub(counted),
            dollars_left: left.0,
            tokens_left: left.1,
        }
    }
}

/// What a view of a step borrows.
pub(super) struct Frame {
    step: StepIx,
    left: f64,
    open_in: Vec<f64>,
    refusals: Vec<u32>,
    attempts_left: u32,
    dollars_left: f64,
    tokens_left: f64,
}

impl Frame {
    pub(super) fn view<'a>(&'a self, attempts: &'a [Look], beside: &'a [Beside<'a>]) -> View<'a> {
        View {
            step: self.step,
            left: self.left,
            attempts,
            beside,
            held: None,
            open_in: &self.open_in,
            refusals: &self.refusals,
            attempts_left: self.attempts_left,
            dollars_left: self.dollars_left,
            tokens_left: self.tokens_left,
        }
    }
}
