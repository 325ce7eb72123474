//! Steps without a model: `value`, typed by inference.

use std::fmt::Display;
use std::ops::Range;

use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::lower::scope::World;
use crate::definition::lower::shape::{BAD_KEY, Typed};
use crate::definition::lower::text::Text;
use crate::definition::lower::validator::BAD_VALIDATOR;
use crate::definition::page::MISSING_KEY;
use crate::definition::raw::{EXCLUSIVE_KEYS, RawPolicy, RawPrompt, RawStep, RawText};
use crate::definition::yaml::Key;
use crate::domain::shape::{Field, Object, Scope, Shape};
use crate::expression::Expression;

/// A field of a `value` step or of the result.
#[derive(Debug)]
pub struct ValueField<'r> {
    /// Its key.
    pub name: String,
    /// What it is computed by.
    pub text: Text<'r, Expression>,
}

impl Lowering<'_> {
    /// The expressions of a `value` step, and what has no place beside them.
    pub(super) fn value_fields<'r>(
        &mut self,
        raw: &RawStep<'r>,
        owner: &str,
    ) -> Option<Vec<ValueField<'r>>> {
        let value = raw.value.as_ref()?;
        for (key, span) in model_keys(raw) {
            let message = format!("{owner} has both `value` and `{key}`");
            let help = if key == "prompt" {
                "a step asks a model, or computes: make two of it"
            } else {
                "a step without a model has no use for it: remove it"
            };
            self.reader.error(EXCLUSIVE_KEYS, &span, message).help(help);
        }
        let known = self.reader.found.iter().any(|d| d.pointer.ends_with("/value"));
        if value.fields.is_empty() && !known {
            self.reader
                .error(MISSING_KEY, &value.span, format!("{owner}: `value` names no field"))
                .help("value: {count: length(plan.items)}, one field a line");
        }
        Some(self.named_expressions(&value.fields, format_args!("{owner}: value")))
    }

    /// Parses a mapping of expressions; `owner` begins what is said of one of them.
    pub(super) fn named_expressions<'r>(
        &mut self,
        fields: &[(&'r Key, RawText<'r>)],
        owner: impl Display,
    ) -> Vec<ValueField<'r>> {
        let mut parsed = Vec::new();
        for (key, text) in fields {
            if key.name.is_empty() || key.name.chars().count() > 64 || key.name.ends_with('?') {
                let help =
                    "1 to 64 characters; whether it may be missing follows from its expression";
                self.reader
                    .error(BAD_KEY, &key.span, format!("'{}' cannot be a field", key.name))
                    .help(help);
                continue;
            }
            let text = self.expression(text, format_args!("{owner} '{}'", key.name));
            parsed.extend(text.map(|text| ValueField { name: key.name.clone(), text }));
        }
        parsed
    }

    /// The type of a mapping of expressions.
    pub(super) fn type_fields(
        &mut self,
        fields: &[ValueField<'_>],
        scope: &Scope,
        owner: impl Display,
    ) -> Shape {
        let typed = fields.iter().map(|field| {
            let owner = format_args!("{owner} '{}'", field.name);
            let (shape, _) = self.check_expression(&field.text, scope, owner);
            Field { name: field.name.clone(), shape, optional: false, default: None, about: None }
        });
        Shape::from(Object { fields: typed.collect(), open: false })
    }

    /// Types a `value` step, now that all it refers to has its type, and makes that visible.
    pub(super) fn type_value(
        &mut self,
        at: usize,
        scope: &Scope,
        drafts: &mut [Draft<'_>],
        world: &mut World,
    ) {
        let draft = &drafts[at];
        let Some(fields) = &draft.value else { return };
        let shape = self.type_fields(fields, scope, format_args!("{}: value", draft.owner()));
        world.set_answer(at, &shape);
        if draft.raw.validates.is_some() {
            let passes = match &shape {
                Shape::Object(object) => object
                    .field("pass")
                    .is_some_and(|field| matches!(field.shape, Shape::Boolean | Shape::Any)),
                _ => false,
            };
            if !passes {
                let message = format!("{} judges, but its `pass` is no boolean", draft.owner());
                self.reader
                    .error(BAD_VALIDATOR, &draft.raw.key.span, message)
                    .help("value: {pass: length(draft.sections) > 0}");
            }
        }
        drafts[at].expected.typed = Typed::of(shape);
    }
}

/// The keys of a step that only a model has a use for, and where they stand.
fn model_keys(raw: &RawStep<'_>) -> Vec<(&'static str, Range<usize>)> {
    let of_prompt = |prompt: &RawPrompt<'_>| match prompt {
        RawPrompt::Inline(text) => text.node.span.clone(),
        RawPrompt::File(name) => name.span.clone(),
    };
    let settings = &raw.settings;
    let keys = [
        ("prompt", raw.prompt.as_ref().map(of_prompt)),
        ("system", raw.system.as_ref().map(of_prompt)),
        ("output", raw.answer.as_ref().map(super::answer::span)),
        ("model", settings.model.as_ref().map(|s| s.span.clone())),
        ("max_tokens", settings.max_tokens.as_ref().map(|s| s.span.clone())),
        ("temperature", settings.temperature.as_ref().map(|s| s.span.clone())),
        ("effort", settings.effort.as_ref().map(|s| s.span.clone())),
        ("policy", (settings.policy != RawPolicy::default()).then(|| raw.key.span.clone())),
        ("max_parallel", raw.max_parallel.as_ref().map(|s| s.span.clone())),
        ("history", raw.history.first().map(|s| s.span.clone())),
        ("shrink", raw.shrink.first().map(|s| s.node.span.clone())),
    ];
    keys.into_iter().filter_map(|(key, span)| Some((key, span?))).collect()
}
