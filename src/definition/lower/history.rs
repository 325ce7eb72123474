//! `history` and `shrink`: what goes before a prompt, and what may be taken out of it.

use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::lower::text::Text;
use crate::domain::finding::{Code, Finding};
use crate::domain::shape::{Scope, Shape};
use crate::expression::{Expression, code};

/// A step whose conversation cannot precede another's.
pub const BAD_HISTORY: Code = Code("P0415");
/// Something in `shrink` that is no list of the step's prompt.
pub const BAD_SHRINK: Code = Code("P0416");

impl Lowering<'_> {
    /// The steps whose conversation precedes each step's prompt.
    pub(super) fn link_history(&mut self, drafts: &mut [Draft<'_>]) {
        for at in 0..drafts.len() {
            let raw = drafts[at].raw;
            let owner = drafts[at].owner();
            for name in &raw.history {
                let Some(step) = self.step_named(name, drafts, &owner) else { continue };
                let other = &drafts[step];
                let why = if step == at {
                    "it is this step itself"
                } else if other.raw.value.is_some() {
                    "it asks no model, so there is no conversation"
                } else if other.raw.each.is_some() {
                    "it is a fan-out, many conversations and not one"
                } else if drafts[at].history.contains(&step) {
                    "it is named twice"
                } else {
                    drafts[at].history.push(step);
                    continue;
                };
                let message = format!("{owner}: `history` cannot take '{}': {why}", name.value);
                self.reader
                    .error(BAD_HISTORY, &name.span, message)
                    .help("name plain steps, each once; what else is needed goes into the prompt");
            }
        }
    }

    /// The lists a step's prompt may lose the tail of, as paths.
    pub(super) fn check_shrink(&mut self, draft: &Draft<'_>, scope: &Scope) {
        let owner = draft.owner();
        for text in &draft.shrink {
            let Some(path) = text.body.as_path() else {
                let message = "`shrink` takes plain references".to_owned();
                self.shrink_problem(text, &owner, message, "as input.documents");
                continue;
            };
            let (shape, findings) = text.body.check(scope);
            let real = |f: &&Finding| f.code != code::UNGUARDED && f.code != code::NULLABLE;
            if let Some(finding) = findings.iter().find(real) {
                self.finding(finding, text.origin, &owner);
                continue;
            }
            let shown = path.join(".");
            let list = match &shape {
                Shape::Nullable(inner) => matches!(**inner, Shape::List(..) | Shape::Any),
                shape => matches!(shape, Shape::List(..) | Shape::Any),
            };
            if !list {
                let message = format!("`shrink` needs a list, and {shown} is {}", shape.describe());
                self.shrink_problem(text, &owner, message, "name a list, as input.documents");
            } else if !draft.prompt_mentions(&path) {
                let message = format!("`shrink` names {shown}, which its prompt does not use");
                let help = "name a list that stands in the prompt, or remove it";
                self.shrink_problem(text, &owner, message, help);
            }
        }
    }

    fn shrink_problem(
        &mut self,
        text: &Text<'_, Expression>,
        owner: &str,
        message: String,
        help: &str,
    ) {
        self.type_problem(BAD_SHRINK, text, owner, message, help);
    }
}
