//! Which step judges which.

use crate::definition::config::near;
use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::page::Spanned;
use crate::domain::finding::Code;
use crate::domain::shape::Shape;

/// A step that is not there.
pub const UNKNOWN_STEP: Code = Code("P0404");
/// A validator that cannot judge.
pub const BAD_VALIDATOR: Code = Code("P0406");

impl Lowering<'_> {
    pub(super) fn link_validators(&mut self, drafts: &mut [Draft<'_>]) {
        for at in 0..drafts.len() {
            let Some(name) = drafts[at].raw.validates.clone() else { continue };
            let Some(judged) = self.step_named(&name, drafts, &drafts[at].owner()) else {
                continue;
            };
            let before = self.reader.found.len();
            self.check_pair(at, judged, &name, drafts);
            if self.reader.found.len() == before {
                drafts[at].validates = Some(judged);
                drafts[judged].judged_by = Some(at);
            }
        }
    }

    /// The place of a step that is named outside the two languages.
    pub(super) fn step_named(
        &mut self,
        name: &Spanned<String>,
        drafts: &[Draft<'_>],
        owner: &str,
    ) -> Option<usize> {
        let found = drafts.iter().position(|draft| draft.name() == name.value);
        if found.is_none() {
            let names: Vec<&str> = drafts.iter().map(Draft::name).collect();
            let help = format!("{}steps: {}", near(&name.value, &names), names.join(", "));
            self.reader
                .error(UNKNOWN_STEP, &name.span, format!("{owner}: no step '{}'", name.value))
                .help(help);
        }
        found
    }

    fn check_pair(
        &mut self,
        at: usize,
        judged: usize,
        name: &Spanned<String>,
        drafts: &[Draft<'_>],
    ) {
        let (validator, target) = (&drafts[at], &drafts[judged]);
        let owner = validator.owner();
        if at == judged {
            self.reader.error(BAD_VALIDATOR, &name.span, format!("{owner} cannot judge itself"));
            return;
        }
        if validator.raw.each.is_some() {
            self.reader.not_yet(
                &name.span,
                format!("{owner}: a validator with `each`"),
                "judge a step that puts the items together",
            );
        }
        if let Some(when) = &validator.raw.when {
            self.reader.not_yet(
                &when.node.span,
                format!("{owner}: a validator with `when`"),
                "let the validator's prompt decide, and pass",
            );
        }
        if target.raw.each.is_some() {
            self.reader.not_yet(
                &name.span,
                format!("{owner}: judging the items of '{}'", name.value),
                "judge a step that puts the items together",
            );
        }
        if target.raw.validates.is_some() {
            let message = format!("{owner} cannot judge '{}', which is a validator", name.value);
            self.reader.error(BAD_VALIDATOR, &name.span, message);
        }
        if target.raw.value.is_some() {
            let message = format!(
                "{owner} cannot judge '{}': it computes, and would compute the same again",
                name.value
            );
            self.reader
                .error(BAD_VALIDATOR, &name.span, message)
                .help("give the step a `check`, or judge a step that asks a model");
        }
        if let Some(other) = target.judged_by {
            let message = format!(
                "{owner}: '{}' is already judged by '{}'",
                name.value,
                drafts[other].name()
            );
            self.reader
                .error(BAD_VALIDATOR, &name.span, message)
                .help("put both judgements into one validator");
        }
        let typed = &validator.expected.typed;
        let passes = match &typed.shape {
            Shape::Object(object) => {
                object.field("pass").is_some_and(|f| f.shape == Shape::Boolean && !f.optional)
            }
            _ => false,
        };
        if !passes && !typed.unknown {
            let message = format!("{owner} judges '{}' but has no `pass: boolean`", name.value);
            self.reader
                .error(BAD_VALIDATOR, &validator.raw.key.span, message)
                .help("output: {pass: boolean, problems: [string]}");
        }
    }
}
