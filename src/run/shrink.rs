//! How long a step's prompts are, and what is taken out of them where no model's window holds them: items at the
//! tail of the lists that `shrink` names, in its order, and nothing else.

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
    /// never below one item: what does not fit even so is sent as it is, and its failure is honest.
    pub(super) fn shrink_to_fit(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        count: usize,
    ) -> Result<Vec<u64>, Unrendered> {
        self.content.keep(step, Vec::new());
        let window = self.window(step);
        let mut sizes = self.measure(step, of, prompt, count)?;
        if prompt.shrink.is_empty() || sizes.fit(window) {
            return sizes.tokens();
        }
        let mut kept: Vec<Kept> = Vec::new();
        for path in &prompt.shrink {
            let Some(items) = self.content.length(path).filter(|items| *items > 1) else {
                continue;
            };
            // The most items that fit, else one.
            let (mut fewest, mut too_many) = (1, items);
            while too_many - fewest > 1 {
                let middle = fewest + (too_many - fewest) / 2;
                let shorter = Kept { path: path.clone(), kept: middle, of: items };
                self.content.keep(step, [kept.clone(), vec![shorter]].concat());
                if self.measure(step, of, prompt, count)?.fit(window) {
                    fewest = middle;
                } else {
                    too_many = middle;
                }
            }
            kept.push(Kept { path: path.clone(), kept: fewest, of: items });
            self.content.keep(step, kept.clone());
            sizes = self.measure(step, of, prompt, count)?;
            if sizes.fit(window) {
                break;
            }
        }
        sizes.tokens()
    }

    /// The tokens of each item's prompt as it stands.
    fn measure(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        count: usize,
    ) -> Result<Sizes, Unrendered> {
        let of_messages =
            |messages: Vec<Message>| Prompt { system: None, messages }.estimated_tokens();
        let review =
            self.unrendered_feedback(step, prompt).map_or(0, |two| of_messages(two.into()));
        let before = of_messages(self.history(prompt));
        let added = prompt::instruction_tokens(&prompt.answer) + review + before;
        let shown = self.shown_later(step);
        let mut sizes = Sizes { tokens: Vec::with_capacity(count), beyond: None };
        for item in (0..u32::try_from(count).unwrap_or(u32::MAX)).map(ItemIx) {
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
