//! Hedges before the cutoff: `hedge: {after: 4s}` launches another attempt beside one that has not answered by then.
//!
//! The first attempt stays in the race and its cutoffs stay as they are. In a fan-out only items that block the join are
//! hedged: while another waits for a slot, time is better spent on that one. How many extra attempts a quota bears is
//! asked of what all runs have sent ([`Signals::traffic`](super::Signals::traffic)); a refusal means waiting on.

use super::Machine;
use super::decision::{Kind, Reason};
use super::next::Next;
use super::state::{Early, ItemPhase, Phase};
use crate::domain::id::{AttemptId, ItemIx, PathIx, StepIx};
use crate::domain::plan::{After, Hedge};
use crate::domain::time::{Share, Timestamp};
use crate::policy::fallback::Trouble;
use crate::policy::permit::{self, Traffic};

impl Machine {
    /// When an attempt is given another beside it, unless its answer comes first. `None` where nothing waits for
    /// that moment.
    fn early_due(&self, attempt: AttemptId) -> Option<Timestamp> {
        let state = &self.attempts[attempt.at()];
        let sent = state.sent.filter(|_| !state.cut && state.ended.is_none())?;
        let (step, item) = self.place(attempt);
        let after = state.early_after.filter(|_| self.steps[step.at()].phase == Phase::Running)?;
        let alone = self.racing(step, item) == 1
            && self.steps[step.at()].items[item.at()].next.is_none()
            && state.early != Early::Launched
            && !self.items_wait(step);
        alone.then(|| sent + after)
    }

    fn items_wait(&self, step: StepIx) -> bool {
        let state = &self.steps[step.at()];
        let rest = state.items.get(state.next_pending..).unwrap_or_default();
        rest.iter().any(|item| item.phase == ItemPhase::Pending)
    }

    /// The moment to wake for; a hedge that was refused is asked for again when something happens.
    pub(super) fn early_wakeup(&self, attempt: AttemptId) -> Option<Timestamp> {
        self.early_due(attempt).filter(|_| self.attempts[attempt.at()].early == Early::Open)
    }

    /// Plans another attempt beside each that has not answered when its `after` has passed.
    pub(super) fn hedge_early(&mut self, now: Timestamp) -> bool {
        if self.in_flight.is_empty() {
            return false;
        }
        let mut moved = false;
        for attempt in self.in_flight.clone() {
            if self.early_due(attempt).is_some_and(|due| due <= now) {
                moved |= self.plan_early(attempt, now);
            }
        }
        moved
    }

    fn plan_early(&mut self, attempt: AttemptId, now: Timestamp) -> bool {
        let (step, item) = self.place(attempt);
        let Some((policy, _)) = self.policy(step) else { return false };
        let delay = policy.swap_delay;
        let state = &self.attempts[attempt.at()];
        let Some(after) = state.early_after else { return false };
        let trouble = Trouble::Unanswered { after, flowing: state.first_token.is_some() };
        let planned = match self.early_refusal(attempt) {
            Some(reason) => Err(reason),
            None => self.follow_up(attempt, trouble, now),
        };
        // A path that opens later is for the cutoff to wait for.
        let planned = planned.and_then(|choice| {
            let refused = || self.permit_for(choice.path).err().unwrap_or(Reason::NoPath);
            if choice.at <= now + delay { Ok(choice) } else { Err(refused()) }
        });
        match planned {
            Ok(choice) => {
                self.attempts[attempt.at()].early = Early::Launched;
                let after = Some((attempt, trouble));
                let next = Next::of(choice, after);
                self.steps[step.at()].item(item).next = Some(next);
                true
            }
            Err(reason) => {
                self.early_refused(attempt, reason, now);
                false
            }
        }
    }

    /// Says once that an attempt stays alone.
    pub(super) fn early_refused(&mut self, attempt: AttemptId, reason: Reason, now: Timestamp) {
        let (step, item) = self.place(attempt);
        if std::mem::replace(&mut self.attempts[attempt.at()].early, Early::Refused)
            != Early::Refused
        {
            self.decide(now, Some(step), Some(item), Kind::Wait, reason);
        }
    }

    /// The attempt that `next` would be launched beside, before its cutoff.
    pub(super) fn beside(&self, next: &Next) -> Option<AttemptId> {
        let (attempt, Trouble::Unanswered { .. }) = next.after? else { return None };
        let state = &self.attempts[attempt.at()];
        (!state.cut && state.ended.is_none()).then_some(attempt)
    }

    /// Why no attempt may be launched beside this one: its quota bears no more.
    pub(super) fn early_refusal(&self, attempt: AttemptId) -> Option<Reason> {
        if let Some(reason) = self.shock_refusal() {
            return Some(reason);
        }
        let path = self.attempts[attempt.at()].spec.path;
        let share = self.max_extra(attempt)?;
        let traffic = self.traffic_of(path);
        let refusal = Reason::NoPermit { path, traffic, max_extra: share };
        (!traffic.permits(share)).then_some(refusal)
    }

    fn max_extra(&self, attempt: AttemptId) -> Option<Share> {
        match self.policy(self.place(attempt).0)?.0.hedge {
            Hedge::After { max_extra, .. } => Some(max_extra),
            Hedge::Off | Hedge::Auto => None,
        }
    }

    fn traffic_of(&self, path: PathIx) -> Traffic {
        self.traffic.get(path.at()).copied().unwrap_or_default()
    }

    /// An attempt beside another is launched: the quota of that other has one extra more, until the next event
    /// brings what all runs have sent.
    pub(super) fn note_extra(&mut self, of: Option<PathIx>) {
        let Some(of) = of else { return };
        let provider = self.plan.path(of).provider;
        self.traffic.resize(self.plan.paths.len(), Traffic::default());
        for (path, traffic) in self.plan.paths.iter().zip(&mut self.traffic) {
            if path.provider == provider {
                traffic.count(permit::Kind::Extra);
            }
        }
    }

    /// A percentile has no measurement yet: says once per step that the cutoff is waited for.
    pub(super) fn note_unmeasured(&mut self, step: StepIx, item: ItemIx, now: Timestamp) {
        let Some((policy, _)) = self.policy(step) else { return };
        let Hedge::After { after: After::Percentile(percent), .. } = policy.hedge else { return };
        if self.attempts.last().is_some_and(|attempt| attempt.early_after.is_some()) {
            return;
        }
        let before = self.attempts.split_last().map_or(&[][..], |(_, before)| before);
        if !before.iter().any(|attempt| attempt.spec.step == step) {
            let reason = Reason::Unmeasured { percent };
            self.decide(now, Some(step), Some(item), Kind::Wait, reason);
        }
    }
}
