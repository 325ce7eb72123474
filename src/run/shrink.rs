//! How long a step's prompts are, and what is taken out of them where no model's window holds them, or a provider has
//! said that it does not: items at the tail of the lists that `shrink` names, in its order, and nothing else.

use std::ops::Range;

use super::{Run, prompt};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::message::{Message, Prompt};
use crate::domain::plan::Work;
use crate::template::RenderError;
use crate::workflow::content::Kept;
use crate::workflow::{PromptContent, StepContent, WorkContent};

impl Run {
    /// The tokens of each item's prompt. Lists that may shrink are shortened as far as the longest prompt needs,
    /// never below one item: what does not fit even so has no path to be sent to, and its failure is honest.
    pub(super) fn shrink_to_fit(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        count: usize,
    ) -> Result<Vec<u64>, RenderError> {
        self.content.keep(step, Vec::new());
        let items = 0..u32::try_from(count).unwrap_or(u32::MAX);
        let whole = self.measure(step, of, prompt, items.clone())?;
        match self.window(step) {
            Some(window) if whole.iter().any(|tokens| *tokens > window) => {
                Ok(self.cut_lists(step, of, prompt, items, window)?.unwrap_or(whole))
            }
            Some(_) | None => Ok(whole),
        }
    }

    /// Makes one item's prompt shorter, to `most` tokens where the lists that may shrink allow it: its tokens then;
    /// `None` where nothing more may be taken out of it.
    pub(super) fn shrink_further(&mut self, step: StepIx, item: ItemIx, most: u64) -> Option<u64> {
        let workflow = self.workflow.clone();
        let of = &workflow.steps[step.at()];
        let WorkContent::Prompt(prompt) = &of.work else { return None };
        self.set_feedback(step);
        let items = item.0..item.0.saturating_add(1);
        // It was rendered before, from the same values.
        let cut = self.cut_lists(step, of, prompt, items, most).ok()??;
        cut.first().copied()
    }

    /// Cuts the lists that may shrink, until the prompts of `items` have at most `window` tokens or each list has one
    /// item: their tokens then. `None` where no list can be cut.
    fn cut_lists(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        items: Range<u32>,
        window: u64,
    ) -> Result<Option<Vec<u64>>, RenderError> {
        let fits = |tokens: &[u64]| tokens.iter().all(|tokens| *tokens <= window);
        let mut kept: Vec<Kept> = self.content.kept(step).to_vec();
        let mut tokens = None;
        for path in &prompt.shrink {
            let whole = self.content.length(path);
            let cut = kept.iter().find(|cut| cut.path == *path).map(|cut| cut.kept);
            let Some((shown, whole)) = cut.or(whole).zip(whole).filter(|(shown, _)| *shown > 1)
            else {
                continue;
            };
            let shorter = |kept: &[Kept], items: usize| -> Vec<Kept> {
                let others = kept.iter().filter(|cut| cut.path != *path).cloned();
                let this = Kept { path: path.clone(), kept: items, of: whole };
                others.chain([this]).collect()
            };
            // The most items that fit, else one.
            let (mut fewest, mut too_many) = (1, shown);
            while too_many - fewest > 1 {
                let middle = fewest + (too_many - fewest) / 2;
                self.content.keep(step, shorter(&kept, middle));
                if fits(&self.measure(step, of, prompt, items.clone())?) {
                    fewest = middle;
                } else {
                    too_many = middle;
                }
            }
            kept = shorter(&kept, fewest);
            self.content.keep(step, kept.clone());
            let now = self.measure(step, of, prompt, items.clone())?;
            let enough = fits(&now);
            tokens = Some(now);
            if enough {
                break;
            }
        }
        Ok(tokens)
    }

    /// The tokens that a prompt may have at most to fit the largest window among the step's paths, those of linked
    /// models too where a larger one may be looked for; `None` where one of them is not known.
    fn window(&self, step: StepIx) -> Option<u64> {
        let plan = &self.workflow.plan;
        let Work::Model { model, .. } = &plan.step(step).work else { return None };
        let models = self.machine.windows_of(step, *model);
        let paths = models.iter().flat_map(|model| &plan.model(*model).paths);
        let rooms = paths.map(|path| self.machine.room(step, *path));
        rooms.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// The tokens of each item's prompt as it stands.
    fn measure(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        items: Range<u32>,
    ) -> Result<Vec<u64>, RenderError> {
        let of_messages =
            |messages: Vec<Message>| Prompt { system: None, messages }.estimated_tokens();
        let review =
            self.unrendered_feedback(step, prompt).map_or(0, |two| of_messages(two.into()));
        let before = of_messages(self.history(prompt));
        let added = prompt::instruction_tokens(&prompt.answer) + review + before;
        let shown = self.shown_later(step);
        let items = items.map(|ix| {
            let rendered = self.content.render(step, ItemIx(ix), of, prompt)?;
            let tokens = rendered.estimated_tokens() + added;
            if let Some(message) = rendered.messages.into_iter().last().filter(|_| shown) {
                self.content.note_asked(step, message);
            }
            Ok(tokens)
        });
        items.collect()
    }

    /// Whether another step's history shows this one.
    fn shown_later(&self, step: StepIx) -> bool {
        self.workflow.steps.iter().any(|other| match &other.work {
            WorkContent::Prompt(prompt) => prompt.history.contains(&step),
            WorkContent::Value(_) => false,
        })
    }
}
