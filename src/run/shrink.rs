//! How long a step's prompts are, and what is taken out of them where no model's window holds them, or a provider has
//! said that it does not: items at the tail of the lists that `shrink` names, in its order, and nothing else.

use std::ops::Range;

use super::{Run, prompt};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::message::{Message, Prompt};
use crate::template::RenderError;
use crate::workflow::content::Kept;
use crate::workflow::{PromptContent, StepContent, WorkContent};

/// A prompt that cannot be rendered: of which item, where it was asked item by item, and why.
pub(super) type Unrendered = (Option<ItemIx>, RenderError);

/// How long the prompts of a step are.
struct Sizes {
    tokens: Vec<u64>,
    /// The first one of which not even so much can be said: it is longer than any prompt may be.
    beyond: Option<Unrendered>,
}

impl Sizes {
    fn fit(&self, window: Option<u64>) -> bool {
        let held = |tokens: &u64| window.is_none_or(|window| *tokens <= window);
        self.beyond.is_none() && self.tokens.iter().all(held)
    }

    fn tokens(self) -> Result<Vec<u64>, Unrendered> {
        self.beyond.map_or(Ok(self.tokens), Err)
    }
}

/// Why a step has no prompt to send, and what to do; `place` is the item's.
pub(super) fn unrendered(place: Option<u32>, error: &RenderError) -> Failure {
    let which = place.map_or_else(String::new, |place| format!(" of item {place}"));
    let help = if error.too_much {
        "; bound the input with `$max`, name its lists in `shrink`, or take it in parts, as \
         each: chunks(input.text, 2000)"
    } else {
        ""
    };
    let message = format!("its prompt{which} cannot be rendered: {error}{help}");
    Failure::of_attempt(FailureClass::InvalidInput, "template", message)
}

impl Run {
    /// The tokens of each item's prompt. Lists that may shrink are shortened as far as the longest prompt needs,
    /// never below one item: what does not fit even so has no path to be sent to, and its failure is honest.
    pub(super) fn shrink_to_fit(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        count: usize,
    ) -> Result<Vec<u64>, Unrendered> {
        self.content.keep(step, Vec::new());
        let items = 0..u32::try_from(count).unwrap_or(u32::MAX);
        let whole = self.measure(step, of, prompt, items.clone())?;
        let window = self.window(step);
        if whole.fit(window) {
            return whole.tokens();
        }
        self.cut_lists(step, of, prompt, items, window)?.unwrap_or(whole).tokens()
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
        let cut = self.cut_lists(step, of, prompt, items, Some(most)).ok()??;
        cut.tokens.first().copied()
    }

    /// Cuts the lists that may shrink, until the prompts of `items` fit the window or each list has one item: how long
    /// they are then. `None` where no list can be cut.
    fn cut_lists(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        items: Range<u32>,
        window: Option<u64>,
    ) -> Result<Option<Sizes>, Unrendered> {
        let mut kept: Vec<Kept> = self.content.kept(step).to_vec();
        let mut sizes = None;
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
                if self.measure(step, of, prompt, items.clone())?.fit(window) {
                    fewest = middle;
                } else {
                    too_many = middle;
                }
            }
            kept = shorter(&kept, fewest);
            self.content.keep(step, kept.clone());
            let now = self.measure(step, of, prompt, items.clone())?;
            let enough = now.fit(window);
            sizes = Some(now);
            if enough {
                break;
            }
        }
        Ok(sizes)
    }

    /// How long the prompts of these items are as they stand.
    fn measure(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        items: Range<u32>,
    ) -> Result<Sizes, Unrendered> {
        let of_messages =
            |messages: Vec<Message>| Prompt { system: None, messages }.estimated_tokens();
        let review =
            self.unrendered_feedback(step, prompt).map_or(0, |two| of_messages(two.into()));
        let before = of_messages(self.history(prompt));
        let added = prompt::instruction_tokens(&prompt.answer) + review + before;
        let shown = self.shown_later(step);
        let mut sizes = Sizes { tokens: Vec::with_capacity(items.len()), beyond: None };
        for item in items.map(ItemIx) {
            let rendered = match self.content.render(step, item, of, prompt) {
                Ok(rendered) => rendered,
                Err(error) if error.too_much => {
                    sizes.beyond = Some((Some(item), error));
                    break;
                }
                Err(error) => return Err((Some(item), error)),
            };
            sizes.tokens.push(rendered.estimated_tokens() + added);
            if let Some(message) = rendered.messages.into_iter().last().filter(|_| shown) {
                self.content.note_asked(step, message);
            }
        }
        Ok(sizes)
    }

    /// Whether another step's history shows this one.
    fn shown_later(&self, step: StepIx) -> bool {
        self.workflow.steps.iter().any(|other| match &other.work {
            WorkContent::Prompt(prompt) => prompt.history.contains(&step),
            WorkContent::Value(_) => false,
        })
    }
}
