//! Prompts against windows: which paths can take an item's prompt beside its answer, what an overflow has taught, and
//! what follows where no path can. Estimates alone; no prompt is seen here.

use super::decision::{Kind, Reason};
use super::next::Next;
use super::state::Phase;
use super::{Action, Machine};
use crate::domain::failure::{About, Failure, FailureClass};
use crate::domain::id::{AttemptId, ItemIx, ModelIx, PathIx, StepIx};
use crate::domain::outcome::Cause;
use crate::domain::plan::OnTooLong;
use crate::domain::time::Timestamp;
use crate::policy::fallback::{Choice, Told, Trouble};

/// Where the refusal says no numbers: the share of the prompt that is tried next.
const SHORTER_PERCENT: u64 = 75;
/// Where it does: the share of the room, because another text estimates otherwise.
const MARGIN_PERCENT: u64 = 95;

impl Machine {
    /// Most tokens of a prompt, as estimated, that `path` takes beside an answer of `step`; `None` where its window is
    /// not known. What an overflow has taught in this run counts, and the windows that earlier runs were told of.
    #[must_use]
    pub fn room(&self, step: StepIx, path: PathIx) -> Option<u64> {
        let answer = self.policy(step).map_or(0, |(_, max_tokens)| max_tokens);
        let profile = &self.plan.path(path).profile;
        let learned = self.windows.get(path.at()).copied().flatten();
        let learned = learned.map(|all| all.saturating_sub(profile.bound(answer).into()));
        let known = profile.room(answer).into_iter().chain(self.overflows[path.at()]);
        known.chain(learned).min()
    }

    /// Whether the path can take the item's prompt and `more` tokens.
    pub(super) fn takes(&self, step: StepIx, item: ItemIx, path: PathIx, more: u64) -> bool {
        let prompt = self.steps[step.at()].items[item.at()].prompt_tokens.saturating_add(more);
        self.room(step, path).is_none_or(|room| prompt <= room)
    }

    /// The models whose windows count for a step of `model`: itself, and what it links where a larger window may be
    /// looked for.
    #[must_use]
    pub fn windows_of(&self, step: StepIx, model: ModelIx) -> Vec<ModelIx> {
        let plan = self.plan.model(model);
        let larger =
            self.policy(step).is_some_and(|(policy, _)| policy.on.too_long == OnTooLong::Larger);
        let links = [plan.stronger, plan.faster].into_iter().flatten().filter(|_| larger);
        [model].into_iter().chain(links).collect()
    }

    /// Gives an item its first attempt: on the first path that can take its prompt, of its model, else of a linked one.
    pub(super) fn first_attempt(&mut self, step: StepIx, item: ItemIx, now: Timestamp) {
        let state = &mut self.steps[step.at()];
        state.item(item).started.get_or_insert(now);
        let cause = if state.revisions > 0 { Cause::Revision } else { Cause::Primary };
        let Some(model) = state.model else { return };
        self.note_too_small(step, item, model, now);
        if let Some(next) = self.planned_start(step, item, now) {
            self.steps[step.at()].item(item).next = Some(next);
            return;
        }
        match self.roomy(step, item, self.windows_of(step, model), now) {
            None => self.too_long(step, item, model, now),
            Some((of, path)) if self.ready_at(path, now) < self.end_at => {
                let (of, path) = self.hurried(step, item, (of, path), now).unwrap_or((of, path));
                let at = self.open_at[path.at()].max(now);
                if at > now
                    && let Some(first) = self.first_to_open(of, now)
                {
                    let reason = Reason::AllAway { first };
                    self.decide(now, Some(step), Some(item), Kind::Wait, reason);
                }
                let choice = Choice { path, model: of, cause, at, told: Told::Nothing };
                let next = Next::of(choice, None);
                self.steps[step.at()].item(item).next = Some(next);
            }
            Some(_) => {
                let failure = self.no_open_path(model, now);
                let first = self.first_to_open(model, now);
                let reason = first.map_or(Reason::NoPath, |first| Reason::AllAway { first });
                self.fail_item(step, item, failure, reason, now);
            }
        }
    }

    /// Of the first of these models that has any, the path that can take the prompt and opens first.
    fn roomy(
        &self,
        step: StepIx,
        item: ItemIx,
        models: Vec<ModelIx>,
        now: Timestamp,
    ) -> Option<(ModelIx, PathIx)> {
        models.into_iter().find_map(|model| {
            let paths = self.plan.model(model).paths.iter().copied();
            let taking = paths.filter(|path| self.takes(step, item, *path, 0));
            let rank = |path| (self.ready_at(path, now), self.rank(step, model, path));
            let path = taking.min_by_key(|path| rank(*path))?;
            Some((model, path))
        })
    }

    /// Says of each path of the item's own model that its prompt does not fit.
    fn note_too_small(&mut self, step: StepIx, item: ItemIx, model: ModelIx, now: Timestamp) {
        for path in self.plan.clone().model(model).paths.iter().copied() {
            if !self.takes(step, item, path, 0) {
                let reason = self.too_small(step, item, path);
                self.decide(now, Some(step), Some(item), Kind::Skip, reason);
            }
        }
    }

    fn too_small(&self, step: StepIx, item: ItemIx, path: PathIx) -> Reason {
        let prompt_tokens = self.steps[step.at()].items[item.at()].prompt_tokens;
        Reason::TooLong { path, prompt_tokens, room: self.room(step, path).unwrap_or(u64::MAX) }
    }

    /// No path can take the prompt: an honest failure, and nothing is sent.
    fn too_long(&mut self, step: StepIx, item: ItemIx, model: ModelIx, now: Timestamp) {
        let models = self.windows_of(step, model);
        let paths = models.iter().flat_map(|model| &self.plan.model(*model).paths).copied();
        let Some(widest) = paths.max_by_key(|path| self.room(step, *path)) else { return };
        let answer = self.policy(step).map_or(0, |(_, max_tokens)| max_tokens);
        let state = &self.steps[step.at()];
        let prompt = state.items[item.at()].prompt_tokens;
        let room = self.room(step, widest).unwrap_or_default();
        let path = self.plan.path(widest);
        let answer = path.profile.bound(answer);
        let tried = if state.shrunk { ", even with its lists cut down" } else { "" };
        let cut = if self.plan.step(step).shrinks {
            ""
        } else {
            "name lists that may be cut under `shrink`, "
        };
        let (label, model) = (&path.label, &self.plan.model(model).name);
        let text = format!(
            "its prompt is about {prompt} tokens{tried}, and beside an answer of {answer} the largest window of model \
             '{model}' takes {room} ({label}): give it less, {cut}lower `max_tokens`, or add a path with a larger window"
        );
        let failure =
            Failure::of_attempt(FailureClass::ContextOverflow, "estimate against window", text);
        let reason = self.too_small(step, item, widest);
        self.fail_item(step, item, failure, reason, now);
    }

    /// Remembers what a refused prompt says about its path, in tokens as we estimate them: its numbers say how many of
    /// ours fit. Without numbers nothing is known but that this prompt does not.
    pub(super) fn note_overflow(&mut self, attempt: AttemptId, failure: &Failure) {
        let (FailureClass::ContextOverflow, Some(About::Size { prompt, most })) =
            (failure.class, &failure.about)
        else {
            return;
        };
        let state = &self.attempts[attempt.at()];
        let room = part(part(state.prompt_tokens, *most, *prompt), MARGIN_PERCENT, 100);
        let known = &mut self.overflows[state.spec.path.at()];
        *known = Some(known.map_or(room, |known| known.min(room)));
    }

    /// After an overflow that no path can take: asks for a shorter prompt. Whether one can be had comes as an event.
    pub(super) fn ask_to_shrink(
        &mut self,
        from: AttemptId,
        trouble: Trouble,
        now: Timestamp,
    ) -> bool {
        let (step, item) = self.place(from);
        let larger =
            self.policy(step).is_some_and(|(policy, _)| policy.on.too_long == OnTooLong::Larger);
        let overflowed = trouble == Trouble::Failed(FailureClass::ContextOverflow);
        let may = larger && self.plan.step(step).shrinks;
        if !may || !overflowed || self.racing(step, item) > 0 {
            return false;
        }
        let prompt_tokens = self.steps[step.at()].items[item.at()].prompt_tokens;
        let refused = &self.attempts[from.at()];
        let paths = &self.plan.model(refused.model).paths;
        let open = paths.iter().filter(|path| self.open_at[path.at()] < self.end_at);
        // A room that the prompt has already is no aim: the refusal says that it is not one.
        let aims = open.filter_map(|path| {
            let unsaid = *path == refused.spec.path && self.overflows[path.at()].is_none();
            let shorter = unsaid.then(|| part(refused.prompt_tokens, SHORTER_PERCENT, 100));
            let aim = self.room(step, *path).into_iter().chain(shorter).min();
            aim.filter(|tokens| *tokens < prompt_tokens)
        });
        let Some(most) = aims.max() else { return false };
        self.steps[step.at()].item(item).shrinking = Some(from);
        let reason = Reason::Shrinks { prompt_tokens, most };
        self.decide(now, Some(step), Some(item), Kind::Prepare, reason);
        self.out.push(Action::Shrink { step, item, most });
        true
    }

    /// An item's prompt is shorter now, or cannot be made so.
    pub(super) fn shrunk(
        &mut self,
        step: StepIx,
        item: ItemIx,
        tokens: Option<u64>,
        now: Timestamp,
    ) {
        let Some(state) = self.steps.get_mut(step.at()) else { return };
        if state.phase != Phase::Running {
            return;
        }
        let Some(from) = state.items.get_mut(item.at()).and_then(|item| item.shrinking.take())
        else {
            return;
        };
        let trouble = Trouble::Failed(FailureClass::ContextOverflow);
        let before = state.items[item.at()].prompt_tokens;
        if let Some(tokens) = tokens.filter(|tokens| *tokens < before) {
            state.shrunk = true;
            state.item(item).prompt_tokens = tokens;
            let model = self.attempts[from.at()].model;
            let roomy = self.roomy(step, item, vec![model], now);
            if let Some((model, path)) = roomy.filter(|(_, p)| self.open_at[p.at()] < self.end_at) {
                let at = self.open_at[path.at()].max(now);
                let choice = Choice { path, model, cause: Cause::Next, at, told: Told::Nothing };
                let after = Some((from, trouble));
                let next = Next::of(choice, after);
                self.steps[step.at()].item(item).next = Some(next);
                return;
            }
        }
        self.nothing_follows(step, item, trouble, Reason::NoPath, now);
    }
}

/// So many of `tokens` as `of` are of `whole`.
fn part(tokens: u64, of: u64, whole: u64) -> u64 {
    let part = u128::from(tokens) * u128::from(of) / u128::from(whole.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}
