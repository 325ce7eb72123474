//! A step on its way from raw to plan: its texts parsed, its answer typed, its needs collected.

use crate::definition::lower::Lowering;
use crate::definition::lower::answer::Expected;
use crate::definition::lower::text::Text;
use crate::definition::page::Spanned;
use crate::definition::raw::{RawSettings, RawStep};
use crate::domain::finding::Code;
use crate::domain::plan::NeedKind;
use crate::expression::Expression;
use crate::template::Template;

/// A key that needs another one.
pub const NEEDS_KEY: Code = Code("P0409");

/// A step under construction.
#[derive(Debug)]
pub struct Draft<'r> {
    /// What the file says.
    pub raw: &'r RawStep,
    /// Its settings, defaults merged in.
    pub settings: RawSettings,
    /// Where the step names its model.
    pub model_span: Option<std::ops::Range<usize>>,
    /// `prompt`
    pub prompt: Option<Text<Template>>,
    /// `system`
    pub system: Option<Text<Template>>,
    /// `each`
    pub each: Option<Text<Expression>>,
    /// `when`
    pub when: Option<Text<Expression>>,
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

    /// Whether it may be skipped.
    pub fn is_conditional(&self) -> bool {
        self.raw.when.is_some()
    }

    /// The name of its items.
    pub fn item(&self) -> &str {
        self.raw.item.as_ref().map_or("item", |item| item.value.as_str())
    }

    /// How findings in it begin.
    pub fn owner(&self) -> String {
        owner(self.raw)
    }
}

/// How findings in a step begin.
pub fn owner(raw: &RawStep) -> String {
    format!("step '{}'", raw.key.name)
}

impl Lowering<'_> {
    pub(super) fn draft<'r>(&mut self, raw: &'r RawStep, defaults: &RawSettings) -> Draft<'r> {
        let owner = owner(raw);
        self.check_key_pairs(raw);
        let prompt = raw.prompt.as_ref().and_then(|text| self.template(text, &owner));
        let system = raw.system.as_ref().and_then(|text| self.template(text, &owner));
        let each = raw.each.as_ref().and_then(|text| self.expression(text, &owner));
        let when = raw.when.as_ref().and_then(|text| self.expression(text, &owner));
        let expected = self.expected(raw.answer.as_ref(), &owner);
        Draft {
            raw,
            settings: raw.settings.over(defaults),
            model_span: raw.settings.model.as_ref().map(|model| model.span.clone()),
            prompt,
            system,
            each,
            when,
            expected,
            validates: None,
            judged_by: None,
            needs: Vec::new(),
        }
    }

    /// Keys that mean nothing without another one are errors: nothing is ignored.
    fn check_key_pairs(&mut self, raw: &RawStep) {
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
