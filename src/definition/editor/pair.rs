//! Keys of which a step takes one: read into one field, and so two keys of one type.

use std::borrow::Cow;

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::definition::editor::leaf::{Anything, Expression, File, Identifier, Template};
use crate::definition::editor::mapping::{Mapping, Named};
use crate::definition::editor::shape::Shape;
use crate::definition::raw::RawStep;

/// `prompt` or `prompt_file`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
pub struct PromptKeys {
    /// What the model is asked, as a template: {{ input.text }}, {{ plan.questions }}, {% if gaps %}, {% for %}. What
    /// is inserted is never changed; single braces are plain text.
    #[schemars(with = "Template")]
    prompt: Template,
    /// A file with the prompt, relative to this file and inside its folder, as prompts/plan.md. It is watched like
    /// this file.
    #[schemars(with = "File")]
    prompt_file: File,
}

/// `system` or `system_file`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
pub struct SystemKeys {
    /// The model's standing instructions, as a template. Default: none.
    #[schemars(with = "Template")]
    system: Template,
    /// A file with the standing instructions, relative to this file and inside its folder. Default: none.
    #[schemars(with = "File")]
    system_file: File,
}

/// `output` or `output_schema`.
#[derive(JsonSchema)]
#[schemars(inline, transform = Mapping::closed())]
#[expect(dead_code, reason = "only its schema is used")]
pub struct AnswerKeys {
    /// The shape of the answer, usually a mapping of fields: {summary: string, topics: [string]}. An answer that does
    /// not fit is repaired or asked for anew. Default: {text: string}, the answer as it comes.
    #[schemars(with = "Shape")]
    output: Shape,
    /// The answer's JSON Schema (2020-12): here, or a file in the workflow's folder, as schemas/draft.json.
    #[schemars(schema_with = "schema_or_file")]
    output_schema: Value,
}

fn schema_or_file(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "object"], "pattern": r"\S"})
}

/// `steps`.
pub struct Steps;

/// `vars`.
pub struct Constants;

/// `value`.
pub struct Values;

/// What of a step excludes what.
const STEP_RULES: [(&str, &[&str], &str); 4] = [
    ("prompt", &["prompt_file"], "A step has prompt or prompt_file, not both."),
    ("system", &["system_file"], "A step has system or system_file, not both."),
    ("output", &["output_schema"], "A step has output or output_schema, not both."),
    ("value", &MODEL_KEYS, "A step with value has no model, and so none of its keys."),
];
/// What only a step with a model has.
const MODEL_KEYS: [&str; 14] = [
    "prompt",
    "prompt_file",
    "system",
    "system_file",
    "output",
    "output_schema",
    "model",
    "max_tokens",
    "temperature",
    "effort",
    "policy",
    "max_parallel",
    "history",
    "shrink",
];
/// What makes a step.
const STEP_WORK: [&str; 3] = ["prompt", "prompt_file", "value"];
const NO_WORK: &str = "A step needs a prompt, a prompt_file, or a value.";

/// The rules among a step's keys.
pub fn step_rules(schema: &mut Schema) {
    Exclusive(&STEP_RULES).transform(schema);
    OneMust(&STEP_WORK, NO_WORK).transform(schema);
}

impl JsonSchema for Steps {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Steps".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Named::<RawStep>::json_schema(generator);
        schema.insert("minProperties".to_owned(), 1.into());
        schema.insert("propertyNames".to_owned(), Identifier::json_schema(generator).into());
        schema
    }
}

impl JsonSchema for Constants {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Constants".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Named::<Anything>::json_schema(generator);
        schema.insert("propertyNames".to_owned(), Identifier::json_schema(generator).into());
        schema
    }
}

impl JsonSchema for Values {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Values".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Named::<Expression>::json_schema(generator);
        schema.insert("minProperties".to_owned(), 1.into());
        schema
    }
}

/// Says what of a step excludes what, in words of its own: a plain `not` would only say that it does not fit.
#[derive(Clone, Copy, Debug)]
pub struct Exclusive(pub &'static [(&'static str, &'static [&'static str], &'static str)]);

/// Says that one of some keys must be there.
#[derive(Clone, Copy, Debug)]
pub struct OneMust(pub &'static [&'static str], pub &'static str);

impl Transform for Exclusive {
    fn transform(&mut self, schema: &mut Schema) {
        let rules = self.0.iter().map(|(key, others, message)| {
            let none = others.iter().map(|other| ((*other).to_owned(), Value::Bool(false)));
            let none: serde_json::Map<String, Value> = none.collect();
            ((*key).to_owned(), json!({"properties": none, "errorMessage": message}))
        });
        schema.insert("dependencies".to_owned(), Value::Object(rules.collect()));
    }
}

impl Transform for OneMust {
    fn transform(&mut self, schema: &mut Schema) {
        let any: Vec<Value> = self.0.iter().map(|key| json!({"required": [key]})).collect();
        schema.insert("if".to_owned(), json!({"anyOf": any}));
        // Draft-07 takes no `else` without `then` seriously in every tool.
        schema.insert("then".to_owned(), json!({}));
        schema.insert("else".to_owned(), json!({"required": [self.0[0]], "errorMessage": self.1}));
    }
}
