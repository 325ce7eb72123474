//! What the machine remembers of steps, items and attempts.

use std::time::Duration;

use super::AttemptSpec;
use super::decision::timing::Late;
use super::next::Next;
use crate::domain::failure::Failure;
use crate::domain::id::{AttemptId, ItemIx, ModelIx};
use crate::domain::message::Usage;
use crate::domain::money::Usd;
use crate::domain::outcome::{AttemptEnd, Status};
use crate::domain::plan::{StepPlan, Work};
use crate::domain::time::Timestamp;
use crate::latency::stream::Stream;
use crate::policy::cutoff::measured::Projection;
use crate::policy::cutoff::{Limits, Seen, Signal};
use crate::policy::gate::Reservation;

/// A step's life, in order; a revision leads from `Answered` back to `Preparing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its needs are not met yet.
    Waiting,
    /// Its condition, list and prompts are being evaluated.
    Preparing,
    /// Its items are under way.
    Running,
    /// Its items are done; its validator has not spoken.
    Answered,
    /// Nothing more will happen to it.
    Ended(Status),
}

#[derive(Clone, Debug)]
pub(super) struct StepState {
    pub(super) phase: Phase,
    pub(super) round: u32,
    pub(super) revisions: u32,
    pub(super) items: Vec<ItemState>,
    pub(super) model: Option<ModelIx>,
    pub(super) started: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    /// The answer a validator rejected, kept where the policy would rather accept it than fail.
    pub(super) rejected: Option<AttemptId>,
    /// Items whose phase is `Pending`: the first of them, so that launching need not search.
    pub(super) next_pending: usize,
    /// Items whose phase is `Active`, in input order: only these have launches to look at.
    pub(super) active: Vec<ItemIx>,
    pub(super) good: u32,
    pub(super) bad: u32,
    /// Whether its `cutoff_at` has passed.
    pub(super) past_cutoff: bool,
    /// A validator's latest word.
    pub(super) pass: Option<bool>,
    /// Whether no validator vouches for what was accepted.
    pub(super) unverified: bool,
    /// Whether its prompts show the head of some lists only.
    pub(super) shrunk: bool,
    /// Why it failed.
    pub(super) failure: Option<Failure>,
}

#[derive(Clone, Debug)]
pub(super) struct ItemState {
    pub(super) phase: ItemPhase,
    pub(super) prompt_tokens: u64,
    pub(super) started: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    /// Of this round.
    pub(super) attempts: Vec<AttemptId>,
    /// How many attempts there were in the rounds before.
    pub(super) earlier: usize,
    /// What is launched next, and when.
    pub(super) next: Option<Next>,
    pub(super) swaps: u32,
    pub(super) repaired: bool,
    pub(super) refused: bool,
    pub(super) failure: Option<Failure>,
    /// The attempt whose prompt was too long, while a shorter one is waited for.
    pub(super) shrinking: Option<AttemptId>,
    /// A valid answer that waits for a better one, and what it says as a validator.
    pub(super) held: Option<(AttemptId, Option<bool>)>,
}

/// Whether something that is said once was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    NotYet,
    Once,
}

/// Whether an attempt is joined by another before its cutoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// Not yet.
    Open,
    /// It could not be when its time came; it may later.
    Refused,
    /// It was, or is about to be.
    Launched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemPhase {
    Pending,
    Active,
    /// Its output is there: an attempt's answer, or, where it was computed, nobody's.
    Good(Option<AttemptId>),
    Bad,
}

/// How an attempt's tokens have come.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) stream: Stream,
    /// Whether it has ever been seen to be slow.
    pub(super) slow: bool,
}

/// What the stream of an attempt is held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Tokens of its answer, at the median.
    pub(super) expected: f64,
    /// The usual tokens a second.
    pub(super) usual: f64,
    /// Of 100 first tokens 99 have come by then.
    pub(super) late: Duration,
    /// Seconds that the quickest fresh attempt would take; infinite where there can be none.
    pub(super) gain: f64,
    /// Whether its total was extended, because it was about to finish.
    pub(super) extended: bool,
}

#[derive(Clone, Debug)]
pub(super) struct AttemptState {
    pub(super) spec: AttemptSpec,
    pub(super) model: ModelIx,
    pub(super) launched: Timestamp,
    pub(super) sent: Option<Timestamp>,
    pub(super) first_token: Option<Timestamp>,
    pub(super) latest_token: Option<Timestamp>,
    pub(super) emitted: u64,
    pub(super) flow: Flow,
    pub(super) prompt_tokens: u64,
    pub(super) limits: Limits,
    /// What its stream is held against, where its limits were measured.
    pub(super) pace: Option<Pace>,
    /// When it was seen that it will not be done in time, and how.
    pub(super) projected: Option<(Timestamp, Signal, Projection)>,
    /// How it was late by what is measured, once it was cut.
    pub(super) late: Option<Late>,
    /// When it is joined by another before its cutoff, counted from sending.
    pub(super) early_after: Option<Duration>,
    /// Whether the step has stopped relying on it.
    pub(super) cut: bool,
    pub(super) early: Early,
    /// Whether it was said that no other attempt joins it for want of a permit.
    pub(super) unpermitted: Said,
    /// What it was launched for.
    pub(super) planned: Next,
    /// Whether its item was repaired and refused, and its changes of path, before it was launched.
    pub(super) before: (bool, bool, u32),
    /// Whether it was turned away before it was sent, and does not count.
    pub(super) turned_away: bool,
    pub(super) ended: Option<(Timestamp, AttemptEnd)>,
    pub(super) failure: Option<Failure>,
    pub(super) reserved: Reservation,
    pub(super) usage: Usage,
    pub(super) cost: Usd,
    pub(super) cost_estimated: bool,
}

/// A step as the outside sees it.
#[derive(Clone, Debug)]
pub struct StepView<'a> {
    /// How it stands.
    pub status: Status,
    /// Which time it is being done, from 0.
    pub round: u32,
    /// When it was first prepared.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Whether it was accepted though no validator vouches for it: not to be reused by a later run.
    pub unverified: bool,
    /// Whether its prompts show the head of some lists only.
    pub shrunk: bool,
    /// Why it failed, where it has.
    pub failure: Option<&'a Failure>,
    items: &'a [ItemState],
}

/// An item as the outside sees it.
#[derive(Clone, Debug)]
pub struct ItemView<'a> {
    /// How it stands.
    pub status: Status,
    /// When its first attempt was launched.
    pub started: Option<Timestamp>,
    /// When it was decided.
    pub ended: Option<Timestamp>,
    /// Its last failure.
    pub failure: Option<&'a Failure>,
}

/// An attempt as the outside sees it.
#[derive(Clone, Debug)]
pub struct AttemptView<'a> {
    /// What was launched.
    pub spec: &'a AttemptSpec,
    /// A path of this model.
    pub model: ModelIx,
    /// When.
    pub launched: Timestamp,
    /// When its request left.
    pub sent: Option<Timestamp>,
    /// When its first token came.
    pub first_token: Option<Timestamp>,
    /// When and how it ended.
    pub ended: Option<(Timestamp, AttemptEnd)>,
    /// Whether the step has stopped relying on it.
    pub cut: bool,
    /// Why it failed.
    pub failure: Option<&'a Failure>,
    /// What it used.
    pub usage: Usage,
    /// What was reserved for it.
    pub reserved: Usd,
    /// What it cost.
    pub cost: Usd,
    /// Whether the cost is our estimate.
    pub cost_estimated: bool,
}

impl StepView<'_> {
    /// Its items, in input order; one for a step without `each`, none before it is prepared.
    pub fn items(&self) -> impl Iterator<Item = ItemView<'_>> {
        self.items.iter().map(|item| ItemView {
            status: match item.phase {
                _ if self.status == Status::Reused => Status::Reused,
                ItemPhase::Good(_) => Status::Ok,
                ItemPhase::Bad => Status::Failed,
                ItemPhase::Pending | ItemPhase::Active if self.status.ended() => {
                    match self.status {
                        Status::Ok => Status::Cut,
                        other => other,
                    }
                }
                ItemPhase::Pending => Status::Waiting,
                ItemPhase::Active => Status::Running,
            },
            started: item.started,
            ended: item.ended,
            failure: item.failure.as_ref(),
        })
    }
}

impl StepState {
    pub(super) fn new(plan: &StepPlan) -> Self {
        let model = match &plan.work {
            Work::Model { model, .. } => Some(*model),
            Work::Value => None,
        };
        Self {
            phase: Phase::Waiting,
            round: 0,
            revisions: 0,
            items: Vec::new(),
            model,
            started: None,
            ended: None,
            rejected: None,
            next_pending: 0,
            active: Vec::new(),
            good: 0,
            bad: 0,
            past_cutoff: false,
            pass: None,
            unverified: false,
            shrunk: false,
            failure: None,
        }
    }

    pub(super) fn status(&self) -> Status {
        match self.phase {
            Phase::Waiting => Status::Waiting,
            Phase::Preparing | Phase::Running | Phase::Answered => Status::Running,
            Phase::Ended(status) => status,
        }
    }

    pub(super) fn view(&self) -> StepView<'_> {
        StepView {
            status: self.status(),
            round: self.round,
            started: self.started,
            ended: self.ended,
            unverified: self.unverified,
            shrunk: self.shrunk,
            failure: self.failure.as_ref(),
            items: &self.items,
        }
    }

    pub(super) fn item(&mut self, item: ItemIx) -> &mut ItemState {
        &mut self.items[item.at()]
    }

    /// Forgets the items of the round before and takes those of this one.
    pub(super) fn reset(&mut self, prompts: Vec<u64>) {
        let before = std::mem::take(&mut self.items);
        self.items = prompts.into_iter().map(ItemState::new).collect();
        for (item, before) in self.items.iter_mut().zip(before) {
            item.earlier = before.earlier + before.attempts.len();
        }
        self.active.clear();
        (self.next_pending, self.good, self.bad) = (0, 0, 0);
    }
}

impl ItemState {
    fn new(prompt_tokens: u64) -> Self {
        Self {
            phase: ItemPhase::Pending,
            prompt_tokens,
            started: None,
            ended: None,
            attempts: Vec::new(),
            earlier: 0,
            next: None,
            swaps: 0,
            repaired: false,
            refused: false,
            failure: None,
            shrinking: None,
            held: None,
        }
    }
}

impl AttemptState {
    /// One that is launched now, of which nothing has been seen.
    pub(super) fn of(
        spec: AttemptSpec,
        planned: Next,
        before: (bool, bool, u32),
        now: Timestamp,
    ) -> Self {
        Self {
            spec,
            model: planned.choice.model,
            launched: now,
            sent: None,
            first_token: None,
            latest_token: None,
            emitted: 0,
            flow: Flow::default(),
            prompt_tokens: 0,
            limits: Limits::default(),
            pace: None,
            projected: None,
            late: None,
            early_after: None,
            cut: false,
            early: Early::Open,
            unpermitted: Said::NotYet,
            planned,
            before,
            turned_away: false,
            ended: None,
            failure: None,
            reserved: Reservation::default(),
            usage: Usage::default(),
            cost: Usd::ZERO,
            cost_estimated: false,
        }
    }

    pub(super) fn view(&self) -> AttemptView<'_> {
        AttemptView {
            spec: &self.spec,
            model: self.model,
            launched: self.launched,
            sent: self.sent,
            first_token: self.first_token,
            ended: self.ended,
            cut: self.cut,
            failure: self.failure.as_ref(),
            usage: self.usage,
            reserved: self.reserved.usd,
            cost: self.cost,
            cost_estimated: self.cost_estimated,
        }
    }

    /// When it is cut unless more is seen of it; `None` before its request has left and once it was cut.
    pub(super) fn cut_due(&self) -> Option<(Timestamp, Signal)> {
        let sent = self.sent.filter(|_| !self.cut && self.ended.is_none())?;
        let (first_token, latest_token) = (self.first_token, self.latest_token);
        let limit = self.limits.due(&Seen { sent, first_token, latest_token });
        let projected = self.projected.map(|(at, signal, _)| (at, signal));
        [projected, limit].into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}
