//! How long a step's prompts are, and what is taken out of them where no model's window holds them: items at the
//! tail of the lists that `shrink` names, in its order, and nothing else.

use super::{Run, prompt};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::message::{Message, Prompt};
use crate::domain::plan::Work;
use crate::template::RenderError;
use crate::workflow::content::Kept;
use crate::workflow::{PromptContent, StepContent, WorkContent};

impl Run {
    /// The tokens of each item's prompt. Lists that may shrink are shortened as far as the longest prompt needs,
    /// never below one item: what does not fit even so is sent as it is, and its failure is honest.
    pub(super) fn shrink_to_fit(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        count: usize,
    ) -> Result<Vec<u64>, RenderError> {
        self.content.keep(step, Vec::new());
        let whole = self.measure(step, of, prompt, count)?;
        let Some(window) = self.window(step).filter(|_| !prompt.shrink.is_empty()) else {
            return Ok(whole);
        };
        let fits = |tokens: &[u64]| tokens.iter().all(|tokens| *tokens <= window);
        if fits(&whole) {
            return Ok(whole);
        }
        let mut kept: Vec<Kept> = Vec::new();
        let mut tokens = whole;
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
                if fits(&self.measure(step, of, prompt, count)?) {
                    fewest = middle;
                } else {
                    too_many = middle;
                }
            }
            kept.push(Kept { path: path.clone(), kept: fewest, of: items });
            self.content.keep(step, kept.clone());
            tokens = self.measure(step, of, prompt, count)?;
            if fits(&tokens) {
                break;
            }
        }
        Ok(tokens)
    }

    /// The tokens that a prompt may have at most to fit the largest window among the step's paths; `None` where one
    /// of them is not known.
    fn window(&self, step: StepIx) -> Option<u64> {
        let plan = &self.workflow.plan;
        let Work::Model { model, max_tokens, .. } = &plan.step(step).work else { return None };
        let windows = plan.model(*model).paths.iter().map(|path| {
            let profile = &plan.path(*path).profile;
            let answer = profile.max_output.map_or(*max_tokens, |most| (*max_tokens).min(most));
            Some(profile.context?.saturating_sub(u64::from(answer)))
        });
        windows.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// The tokens of each item's prompt as it stands.
    fn measure(
        &mut self,
        step: StepIx,
        of: &StepContent,
        prompt: &PromptContent,
        count: usize,
    ) -> Result<Vec<u64>, RenderError> {
        let of_messages =
            |messages: Vec<Message>| Prompt { system: None, messages }.estimated_tokens();
        let review =
            self.unrendered_feedback(step, prompt).map_or(0, |two| of_messages(two.into()));
        let before = of_messages(self.history(prompt));
        let added = prompt::instruction_tokens(&prompt.answer) + review + before;
        let shown = self.shown_later(step);
        let items = (0..u32::try_from(count).unwrap_or(u32::MAX)).map(|ix| {
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
