//! A loaded workflow: its plan for the engine, and the prompts, schemas and expressions that go with it.
//!
//! Immutable and shared: a run pins the `Arc<Workflow>` it started with, so a reload never changes a run in
//! flight.

pub mod case;
pub mod content;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::id::StepIx;
use crate::domain::plan::Plan;
use crate::domain::shape::Shape;
use crate::expression::Expression;
use crate::schema::{Schema, Violation};
use crate::template::Template;

/// One workflow, checked and compiled.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// The tool's name, the file's stem.
    pub name: String,
    /// The tool's title.
    pub title: Option<String>,
    /// The tool's text.
    pub description: String,
    /// Where it was read from.
    pub file: PathBuf,
    /// Hash of every byte it was made of, files it names included: 16 hex digits.
    pub version: String,
    /// What the engine needs.
    pub plan: Arc<Plan>,
    /// What the caller passes.
    pub input: Shape,
    /// The same as a JSON Schema; its root is an object, `$defs` are inlined.
    pub input_schema: Schema,
    /// Constants.
    pub vars: serde_json::Map<String, Value>,
    /// `index` = `StepIx`.
    pub steps: Vec<StepContent>,
    /// The result, field by field.
    pub output: Vec<(String, Expression)>,
    /// The result's JSON Schema; its root is an object, `$defs` are inlined.
    pub output_schema: Schema,
    /// Whether clients see it as a tool.
    pub exposed: bool,
}

/// What a step says and expects.
#[derive(Clone, Debug)]
pub struct StepContent {
    /// Its key in the file.
    pub name: String,
    /// Skipped where this is false.
    pub when: Option<Expression>,
    /// Fan-out.
    pub each: Option<EachContent>,
    /// What must hold of its answer, of each item's where it fans out; its fields stand bare in them.
    pub check: Vec<Expression>,
    /// What is sent.
    pub work: WorkContent,
}

/// The list a step fans out over.
#[derive(Clone, Debug)]
pub struct EachContent {
    /// The list.
    pub list: Expression,
    /// The item's name in prompts; `item` by default.
    pub item: String,
    /// Items for which this is false are left out.
    pub when: Option<Expression>,
}

/// What a step sends to its model, or computes.
#[derive(Clone, Debug)]
pub enum WorkContent {
    /// A prompt.
    Prompt(Box<PromptContent>),
    /// Expressions.
    Value(Vec<(String, Expression)>),
}

/// A prompt and the answer it asks for.
#[derive(Clone, Debug)]
pub struct PromptContent {
    /// Instructions above the conversation.
    pub system: Option<Template>,
    /// The user's turn.
    pub prompt: Template,
    /// The steps whose prompts and answers go before it as a conversation, in this order.
    pub history: Vec<StepIx>,
    /// Paths of lists that may lose items at their tail where the prompt exceeds every window, in this order.
    pub shrink: Vec<Vec<String>>,
    /// What the answer must be.
    pub answer: Answer,
    /// Sent where the model takes it, 0 to 2.
    pub temperature: Option<f64>,
    /// Sent where the model takes it.
    pub effort: Option<String>,
}

/// The answer a step expects of its model.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Plain text, kept as `{text: string}`.
    Text,
    /// JSON of this schema.
    Json(Schema),
}

impl Workflow {
    /// The input as a run sees it: explicit nulls of optional fields dropped, defaults filled in.
    ///
    /// # Errors
    /// Every way in which it does not fit.
    pub fn fitting(&self, input: Value) -> Result<Value, Vec<Violation>> {
        let input = Schema::drop_absent(&self.input, input);
        let violations = self.input_schema.violations(&input);
        if violations.is_empty() {
            Ok(Schema::fill_defaults(&self.input, input))
        } else {
            Err(violations)
        }
    }

    /// The place of the step of that name.
    #[must_use]
    pub fn step_named(&self, name: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.name == name)
    }
}

/// The value of a `{text: string}` answer.
#[must_use]
pub fn text_value(text: &str) -> Value {
    serde_json::json!({ "text": text })
}
