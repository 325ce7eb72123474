//! A step on its way from raw to plan: its texts parsed, its answer typed, its needs collected.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::definition::lower::Lowering;
use crate::definition::lower::answer::Expected;
use crate::definition::lower::shape::Typed;
use crate::definition::lower::text::Text;
use crate::definition::lower::value::ValueField;
use crate::definition::page::Spanned;
use crate::definition::raw::{RawSettings, RawStep, RawText};
use crate::definition::source::Source;
use crate::domain::finding::Code;
use crate::domain::plan::NeedKind;
use crate::expression::{Expression, Mention};
use crate::template::Parsed;
use crate::workflow::Answer;

/// A key that needs another one.
pub const NEEDS_KEY: Code = Code("P0409");

/// What a text of a step sees besides the inputs and other steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nothing.
    Outside,
    /// The item of its list.
    Item,
    /// The item, and the fields of its answer.
    Answer,
}

/// A step under construction.
#[derive(Debug)]
pub struct Draft<'r> {
    /// What the file says.
    pub raw: &'r RawStep<'r>,
    owner: Arc<str>,
    /// Its settings, defaults merged in.
    pub settings: RawSettings,
    /// Where the step names its model.
    pub model_span: Option<std::ops::Range<usize>>,
    /// `prompt`
    pub prompt: Option<Text<'r, Parsed<'r>>>,
    /// `system`
    pub system: Option<Text<'r, Parsed<'r>>>,
    /// `each`
    pub each: Option<Text<'r, Expression>>,
    /// `when`
    pub when: Option<Text<'r, Expression>>,
    /// `value`
    pub value: Option<Vec<ValueField<'r>>>,
    /// `check`
    pub check: Vec<Text<'r, Expression>>,
    /// `shrink`
    pub shrink: Vec<Text<'r, Expression>>,
    /// The steps whose conversation precedes the prompt, by place in the file.
    pub history: Vec<usize>,
    /// Its answer.
    pub expected: Expected,
    /// The step it judges, by place in the file.
    pub validates: Option<usize>,
    /// The step that judges it.
    pub judged_by: Option<usize>,
    /// What it waits for, by place in the file, each step once.
    pub needs: Vec<(usize, NeedKind)>,
}

impl Draft<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.raw.key.name
    }

    /// Whether it may be missing.
    pub fn is_optional(&self) -> bool {
        self.raw.optional.as_ref().is_some_and(|o| o.value)
    }

    /// Whether it may be skipped as a whole.
    pub fn is_conditional(&self) -> bool {
        self.raw.when.is_some() && !self.when_per_item()
    }

    /// Whether its condition names the item, and so is decided for each.
    pub fn when_per_item(&self) -> bool {
        let names_item = |name: &str| name == self.item() || name == "index";
        let mut mentions = self.when.iter().flat_map(|when| when.body.mentions());
        self.raw.each.is_some() && mentions.any(|mention| names_item(&mention.name))
    }

    /// Whether a prompt of it uses what stands at `path`, or something around or below it.
    pub fn prompt_mentions(&self, path: &[String]) -> bool {
        let texts = [&self.prompt, &self.system].into_iter().flatten();
        let mut mentions = texts.flat_map(|text| text.body.mentions());
        mentions.any(|m| {
            Some(&m.name) == path.first() && m.path.iter().zip(&path[1..]).all(|(a, b)| a == b)
        })
    }

    /// Every name in its texts, and whether it stands where the item of its list, or its answer, is visible.
    pub fn mentions<'d>(&'d self) -> impl Iterator<Item = (&'d Mention, Sight)> {
        let prompts = [&self.prompt, &self.system].into_iter().flatten();
        let prompts = prompts.flat_map(|text| text.body.mentions()).map(|m| (m, Sight::Item));
        let values = self.value.iter().flatten().map(|field| &field.text);
        let inner = self.when.iter().chain(values).chain(&self.shrink);
        let expressions = self.each.iter().map(|text| (text, Sight::Outside));
        let expressions = expressions.chain(inner.map(|text| (text, Sight::Item)));
        let expressions = expressions.chain(self.check.iter().map(|text| (text, Sight::Answer)));
        let of = |(text, sight): (&'d Text<'_, Expression>, Sight)| {
            text.body.mentions().iter().map(move |mention| (mention, sight))
        };
        prompts.chain(expressions.flat_map(of))
    }

    /// The name of its items.
    pub fn item(&self) -> &str {
        self.raw.item.as_ref().map_or("item", |item| item.value.as_str())
    }

    /// How findings in it begin.
    pub fn owner(&self) -> Arc<str> {
        Arc::clone(&self.owner)
    }
}

/// How findings in a step begin.
pub fn owner(raw: &RawStep<'_>) -> Arc<str> {
    format!("step '{}'", raw.key.name).into()
}

impl Lowering<'_> {
    /// `files` hold what its prompt and its system prompt are read from, where that is not this file.
    pub(super) fn draft<'r>(
        &mut self,
        raw: &'r RawStep<'r>,
        files: &'r [OnceCell<Source>; 2],
        defaults: &RawSettings,
    ) -> Draft<'r> {
        let owner = owner(raw);
        self.check_key_pairs(raw);
        let [of_prompt, of_system] = files;
        let prompt = raw.prompt.as_ref().and_then(|text| self.template(text, of_prompt, &owner));
        let system = raw.system.as_ref().and_then(|text| self.template(text, of_system, &owner));
        let each = raw.each.as_ref().and_then(|text| self.expression(text, &owner));
        let when = raw.when.as_ref().and_then(|text| self.expression(text, &owner));
        let value = self.value_fields(raw, &owner);
        let mut texts = |list: &[RawText<'r>]| {
            list.iter().filter_map(|text| self.expression(text, &owner)).collect::<Vec<_>>()
        };
        let (check, shrink) = (texts(&raw.check), texts(&raw.shrink));
        let expected = if raw.value.is_some() {
            Expected { answer: Answer::Text, typed: Typed::unknown() }
        } else {
            self.expected(raw.answer.as_ref(), &owner)
        };
        Draft {
            raw,
            owner,
            settings: raw.settings.over(defaults),
            model_span: raw.settings.model.as_ref().map(|model| model.span.clone()),
            prompt,
            system,
            each,
            when,
            value,
            check,
            shrink,
            history: Vec::new(),
            expected,
            validates: None,
            judged_by: None,
            needs: Vec::new(),
        }
    }

    /// Keys that mean nothing without another one are errors: nothing is ignored.
    fn check_key_pairs(&mut self, raw: &RawStep<'_>) {
        fn place<T>(value: Option<&Spanned<T>>) -> Option<std::ops::Range<usize>> {
            value.map(|v| v.span.clone())
        }
        let optional = raw.optional.as_ref().is_some_and(|o| o.value);
        let fan = raw.each.is_some();
        let judge = raw.validates.is_some();
        let pairs = [
            ("as", place(raw.item.as_ref()), fan, "`each`"),
            ("max_parallel", place(raw.max_parallel.as_ref()), fan, "`each`"),
            ("min_ok", place(raw.min_ok.as_ref()), fan, "`each`"),
            ("revise", place(raw.revise.as_ref()), judge, "`validates`"),
            (
                "cutoff_at",
                place(raw.cutoff_at.as_ref()),
                optional || fan,
                "`optional: true` or `each`",
            ),
        ];
        for (key, span, good, needed) in pairs {
            if let (Some(span), false) = (span, good) {
                let message = format!("{}: `{key}` means nothing without {needed}", owner(raw));
                self.reader
                    .error(NEEDS_KEY, &span, message)
                    .help(format!("add {needed}, or remove it"));
            }
        }
    }
}
