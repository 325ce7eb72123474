//! What a workflow file says, checked value by value and spanned. Nothing is inferred here: see `lower`.

use std::fmt::Display;
use std::ops::Range;
use std::time::Duration;

use schemars::JsonSchema;

use crate::definition::editor::leaf::{
    Duration as DurationSchema, Expression, Flag, Identifier, Name, Reference,
    Share as ShareSchema, SomeText, Text,
};
use crate::definition::editor::mapping::{ListOf, Mapping, Named};
use crate::definition::editor::pair::{
    AnswerKeys, Constants, PromptKeys, Steps, SystemKeys, Values, step_rules,
};
use crate::definition::editor::shape::Shape;
use crate::definition::editor::word::OneOf;
use crate::definition::keys;
use crate::definition::page::{MISSING_KEY, Page, Reader, Spanned, is_null};
use crate::definition::yaml::{Key, Kind, Node, advice};
use crate::domain::finding::Code;
use crate::domain::plan::Role;
use crate::domain::time::Share;

pub mod settings;

pub use settings::{RawBudget, RawPolicy, RawReactions, RawSettings, Setting};

/// Two keys that exclude each other.
pub const EXCLUSIVE_KEYS: Code = Code("P0110");
/// An expression that YAML reads as something else.
pub const NOT_AN_EXPRESSION: Code = Code("P0111");

/// Least and greatest deadline of a workflow.
pub const DEADLINES: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(600);

/// A workflow of punctual: one tool that answers before its deadline. The file's name is the tool's name.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(transform = Mapping::closed().extensible().required(&["description", "steps"]))]
pub struct RawWorkflow<'p> {
    /// What the caller gets, in a sentence or two: clients choose tools by it.
    #[schemars(with = "SomeText")]
    pub description: Option<Spanned<String>>,
    /// The tool's name for people. Default: the file's name.
    #[schemars(with = "Text")]
    pub title: Option<Spanned<String>>,
    /// How long a whole call may take, from 1s to 10m, from its arrival to the last byte of its answer. A caller may
    /// shorten it, never lengthen it. Default: the server's, else 45s; many clients hang up after 60s.
    #[schemars(with = "DurationSchema")]
    pub deadline: Option<Spanned<Duration>>,
    /// What one run may spend; kept before each attempt, and extra attempts count. Default: the server's, else no
    /// bound.
    pub budget: RawBudget,
    /// What a caller gives: a mapping of names to shapes, as {text: string, tone?: warm | plain}. It becomes the
    /// tool's input schema; texts use it as input.text. Default: nothing.
    #[schemars(with = "Shape")]
    pub input: Option<&'p Node>,
    /// Constants: name → any value. Texts use them like a step's output, as vars.limit. Default: none.
    #[schemars(with = "Constants")]
    pub vars: &'p [(Key, Node)],
    /// Named shapes, usable by name wherever a shape stands: name → shape.
    #[schemars(with = "Named<Shape>")]
    pub shapes: &'p [(Key, Node)],
    /// What holds for every step that does not say otherwise, key by key; over the server's defaults.
    pub defaults: RawSettings,
    /// The steps: name → step, in any order. What a step mentions it waits for; what does not wait runs in parallel.
    #[schemars(with = "Steps")]
    pub steps: Vec<RawStep<'p>>,
    /// Where `steps` stands.
    #[schemars(skip)]
    pub steps_span: Range<usize>,
    /// What the caller gets: name → expression, as {summary: draft.text}. Default: the output of the only step that
    /// no other step uses.
    #[schemars(with = "Values")]
    pub output: Option<Vec<(&'p Key, RawText<'p>)>>,
    /// Whether it is a tool. Default: true; false leaves it to punctual run and punctual test.
    #[schemars(with = "Flag")]
    pub expose: Option<bool>,
}

/// A step: one question to a model, or one for each item of a list; with value, no model but expressions.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(inline, transform = Mapping::closed().extensible())]
#[schemars(transform = step_rules)]
pub struct RawStep<'p> {
    /// Its key.
    #[schemars(skip)]
    pub key: &'p Key,
    /// `prompt` or `prompt_file`
    #[schemars(flatten, with = "PromptKeys")]
    pub prompt: Option<RawPrompt<'p>>,
    /// `system` or `system_file`
    #[schemars(flatten, with = "SystemKeys")]
    pub system: Option<RawPrompt<'p>>,
    /// Instead of a prompt: name → expression. Such a step has no model; it is instant and free.
    #[schemars(with = "Values")]
    pub value: Option<RawValue<'p>>,
    /// `output` or `output_schema`
    #[schemars(flatten, with = "AnswerKeys")]
    pub answer: Option<RawAnswer<'p>>,
    /// `model`, `max_tokens`, `temperature`, `effort`, `policy`
    #[schemars(flatten)]
    pub settings: RawSettings,
    /// Steps whose messages and accepted answers precede the prompt as a conversation, in this order. Default: none; a
    /// prompt sees what it mentions.
    #[schemars(with = "ListOf<Name>")]
    pub history: Vec<Spanned<String>>,
    /// Steps that must have ended before this one starts. It adds order only: what a step mentions it waits for
    /// anyway. Default: none.
    #[schemars(with = "ListOf<Name>")]
    pub needs: Vec<Spanned<String>>,
    /// A list: the step runs once for each of its items, in parallel, with results in the list's order. An
    /// expression, as plan.questions.
    #[schemars(with = "Expression")]
    pub each: Option<RawText<'p>>,
    /// What the item of each is called in this step's texts, as q. Its place in the list is index.
    #[schemars(rename = "as", with = "Identifier")]
    pub item: Option<Spanned<String>>,
    /// Most items of each in flight at once, from 1 to 1000. Default: 8.
    #[schemars(with = "u32", range(min = 1, max = 1000))]
    pub max_parallel: Option<Spanned<u32>>,
    /// The share of items of each that must succeed; failed ones are left out and named. Default: 100%.
    #[schemars(with = "ShareSchema")]
    pub min_ok: Option<Spanned<Share>>,
    /// A condition: where it is false the step is skipped. On an each step a condition that names the item is decided
    /// for each item. An expression, as plan.topics != [] or input.tone == 'warm'. Default: always.
    #[schemars(with = "Expression")]
    pub when: Option<RawText<'p>>,
    /// Whether the run can do without this step: others then guard what they use of it ({% if gaps %}, gaps ?? []).
    /// Default: false.
    #[schemars(with = "Flag")]
    pub optional: Option<Spanned<bool>>,
    /// The share of the deadline at which an optional step, or an each step that has `min_ok`, is closed with what it
    /// has. Default: 80% for optional steps, none otherwise.
    #[schemars(with = "ShareSchema")]
    pub cutoff_at: Option<Spanned<Share>>,
    /// The step that this one judges before others see its answer. This step's output has pass: boolean.
    #[schemars(with = "Name")]
    pub validates: Option<Spanned<String>>,
    /// How often a validator sends its step back with feedback, from 0 to 5. Default: 1.
    #[schemars(with = "u32", range(min = 0, max = 5))]
    pub revise: Option<Spanned<u32>>,
    /// Conditions that an answer must meet, each an expression over the answer's own fields, as total >= 0: a false one
    /// makes the answer invalid, and its text goes into the repair. Default: none.
    #[schemars(with = "ListOf<Expression>")]
    pub check: Vec<RawText<'p>>,
    /// Lists whose last items may be dropped, in this order, where the prompt exceeds the model's window, as
    /// input.documents. What is dropped is named. Default: none.
    #[schemars(with = "ListOf<Reference>")]
    pub shrink: Vec<RawText<'p>>,
    /// The step's part, for people and progress. Default: as its place in the graph suggests.
    #[schemars(with = "OneOf<Role>")]
    pub role: Option<Spanned<Role>>,
}

/// A step without a model: `value`.
#[derive(Clone, Debug)]
pub struct RawValue<'p> {
    /// Where the key stands.
    pub span: Range<usize>,
    /// Name → expression.
    pub fields: Vec<(&'p Key, RawText<'p>)>,
}

/// A text of another language: an expression or a template.
#[derive(Clone, Copy, Debug)]
pub struct RawText<'p> {
    /// The text.
    pub text: &'p str,
    /// The scalar it stands in.
    pub node: &'p Node,
}

/// A template, here or in a file.
#[derive(Clone, Debug)]
pub enum RawPrompt<'p> {
    /// In this file.
    Inline(RawText<'p>),
    /// In another file.
    File(Spanned<String>),
}

/// What a step's answer must be.
#[derive(Clone, Debug)]
pub enum RawAnswer<'p> {
    /// A shape.
    Shape(&'p Node),
    /// A JSON Schema, in place.
    Schema(&'p Node),
    /// A JSON Schema in a file.
    SchemaFile(Spanned<String>),
}

impl<'p> RawWorkflow<'p> {
    /// Reads a parsed file; problems go to the reader.
    pub fn read(reader: &mut Reader<'p>) -> Self {
        let page: &'p Page = reader.page;
        let mut raw = Self::default();
        for (key, value) in reader.map(&page.root, &keys::WORKFLOW) {
            match key.name.as_str() {
                "description" => raw.description = reader.text(value, "`description`"),
                "title" => raw.title = reader.text(value, "`title`"),
                "deadline" => raw.deadline = reader.duration(value, "`deadline`", DEADLINES),
                "budget" => raw.budget = RawBudget::read(reader, value),
                "input" if is_null(value) => {}
                "input" => raw.input = Some(value),
                "vars" => raw.vars = reader.entries(value, "`vars`"),
                "shapes" => raw.shapes = reader.entries(value, "`shapes`"),
                "defaults" => raw.defaults = RawSettings::read(reader, value, &keys::DEFAULTS),
                "steps" => {
                    raw.steps_span = key.span.clone();
                    let steps = reader.entries(value, "`steps`").iter();
                    raw.steps = steps.map(|(k, v)| RawStep::read(reader, k, v)).collect();
                }
                "output" => raw.output = Some(fields(reader, value, "`output`", "output")),
                "expose" => raw.expose = reader.boolean(value, "`expose`").map(|b| b.value),
                _ => {}
            }
        }
        raw.require(reader);
        raw
    }

    fn require(&self, reader: &mut Reader<'_>) {
        let Kind::Map(entries) = &reader.page.root.kind else { return };
        let has = |name: &str| entries.iter().any(|(key, _)| key.name == name);
        let top = reader.page.root.span.start..reader.page.root.span.start;
        if !has("description") {
            reader
                .error(MISSING_KEY, &top, "the workflow has no `description`")
                .help("clients choose tools by it: say in one sentence what the caller gets");
        }
        if !has("steps") {
            reader
                .error(MISSING_KEY, &top, "the workflow has no `steps`")
                .help("a mapping: step name → {prompt: …, output: …}");
        } else if self.steps.is_empty() && !reader.found.iter().any(|d| d.pointer == "/steps") {
            reader.error(MISSING_KEY, &self.steps_span, "`steps` holds no step");
        }
        if let Some(text) = self.description.as_ref().filter(|d| d.value.trim().is_empty()) {
            reader.error(MISSING_KEY, &text.span, "the `description` is empty");
        }
    }
}

/// Name → expression. `what` is the mapping, `owner` begins what is said of one of its fields.
fn fields<'p>(
    reader: &mut Reader<'_>,
    node: &'p Node,
    what: impl Display,
    owner: &str,
) -> Vec<(&'p Key, RawText<'p>)> {
    let mut fields = Vec::new();
    for (key, value) in reader.entries(node, what) {
        let text = expression(reader, value, format_args!("{owner} '{}'", key.name));
        fields.extend(text.map(|text| (key, text)));
    }
    fields
}

/// A list of expressions.
fn expressions<'p>(
    reader: &mut Reader<'_>,
    node: &'p Node,
    what: impl Display + Copy,
) -> Vec<RawText<'p>> {
    let items = reader.items(node, what).iter();
    items.filter_map(|item| expression(reader, item, what)).collect()
}

/// The text of an expression, which is a single value in the file.
fn expression<'p>(
    reader: &mut Reader<'_>,
    node: &'p Node,
    what: impl Display,
) -> Option<RawText<'p>> {
    match &node.kind {
        Kind::Scalar(scalar) if !scalar.text.trim().is_empty() && !is_null(node) => {
            Some(RawText { text: &scalar.text, node })
        }
        Kind::Scalar(_) => {
            reader
                .error(NOT_AN_EXPRESSION, &node.span, format!("{what}: the expression is missing"))
                .help("write a reference, as plan.questions");
            None
        }
        Kind::List(_) | Kind::Map(_) => {
            let read = if matches!(node.kind, Kind::List(_)) { "list" } else { "mapping" };
            let message = format!("{what} must be an expression; YAML reads a {read} here");
            let help = advice::on_expression(&reader.page.source, node);
            reader.error(NOT_AN_EXPRESSION, &node.span, message).help(help);
            None
        }
    }
}

impl<'p> RawStep<'p> {
    fn empty(key: &'p Key) -> Self {
        Self {
            key,
            prompt: None,
            system: None,
            value: None,
            answer: None,
            settings: RawSettings::default(),
            history: Vec::new(),
            needs: Vec::new(),
            each: None,
            item: None,
            max_parallel: None,
            min_ok: None,
            when: None,
            optional: None,
            cutoff_at: None,
            validates: None,
            revise: None,
            check: Vec::new(),
            shrink: Vec::new(),
            role: None,
        }
    }

    fn read(reader: &mut Reader<'_>, name: &'p Key, node: &'p Node) -> Self {
        let mut step = Self::empty(name);
        for (key, value) in reader.map(node, &keys::STEP) {
            let what = format_args!("step '{}': `{}`", name.name, key.name);
            match key.name.as_str() {
                "prompt" | "system" => {
                    let text = template(reader, value, what);
                    step.set_prompt(reader, key, text);
                }
                "prompt_file" | "system_file" => {
                    let file = reader.text(value, what).map(RawPrompt::File);
                    step.set_prompt(reader, key, file);
                }
                "output" | "output_schema" => step.set_answer(reader, key, value, what),
                "value" => {
                    let owner = format!("step '{}': value", name.name);
                    let fields = fields(reader, value, what, &owner);
                    step.value = Some(RawValue { span: key.span.clone(), fields });
                }
                "history" => step.history = names(reader, value, what),
                "needs" => step.needs = names(reader, value, what),
                "check" => step.check = expressions(reader, value, what),
                "shrink" => step.shrink = expressions(reader, value, what),
                "each" => step.each = expression(reader, value, what),
                "when" => step.when = expression(reader, value, what),
                "as" => step.item = reader.text(value, what),
                "max_parallel" => step.max_parallel = reader.small(value, what, 1..=1000),
                "min_ok" => step.min_ok = reader.share(value, what),
                "optional" => step.optional = reader.boolean(value, what),
                "cutoff_at" => step.cutoff_at = reader.share(value, what),
                "validates" => step.validates = reader.text(value, what),
                "revise" => step.revise = reader.small(value, what, 0..=5),
                "role" => step.role = reader.word(value, what, &ROLES),
                _ => step.settings.read_key(reader, key, value, what),
            }
        }
        let later = |key: &str| match &node.kind {
            Kind::Map(entries) => {
                entries.iter().any(|(k, _)| k.name == key || keys::STEP.misspells(&k.name, key))
            }
            Kind::Scalar(_) | Kind::List(_) => true,
        };
        let said = || ["prompt", "prompt_file", "value", "use"].into_iter().any(later);
        if step.prompt.is_none() && step.value.is_none() && !said() {
            reader
                .error(MISSING_KEY, &name.span, format!("step '{}' has no `prompt`", name.name))
                .help("write `prompt: |` and the text, or `prompt_file: prompts/name.md`; a step without a model has `value`");
        }
        step
    }

    fn set_prompt(&mut self, reader: &mut Reader<'_>, key: &Key, prompt: Option<RawPrompt<'p>>) {
        let system = key.name.starts_with("system");
        let slot = if system { &mut self.system } else { &mut self.prompt };
        if slot.is_some() {
            let base = if system { "system" } else { "prompt" };
            exclusive(reader, &self.key.name, key, base, &format!("{base}_file"));
            return;
        }
        *slot = prompt;
    }

    fn set_answer(
        &mut self,
        reader: &mut Reader<'_>,
        key: &Key,
        value: &'p Node,
        what: impl Display,
    ) {
        if self.answer.is_some() {
            exclusive(reader, &self.key.name, key, "output", "output_schema");
            return;
        }
        self.answer = if key.name == "output" {
            Some(RawAnswer::Shape(value))
        } else if matches!(value.kind, Kind::Map(_)) {
            Some(RawAnswer::Schema(value))
        } else {
            reader.text(value, what).map(RawAnswer::SchemaFile)
        };
    }
}

/// A list of names.
fn names(reader: &mut Reader<'_>, node: &Node, what: impl Display + Copy) -> Vec<Spanned<String>> {
    reader.items(node, what).iter().filter_map(|item| reader.text(item, what)).collect()
}

const ROLES: [(&str, Role); 3] =
    [("planner", Role::Planner), ("executor", Role::Executor), ("validator", Role::Validator)];

fn exclusive(reader: &mut Reader<'_>, step: &str, key: &Key, one: &str, other: &str) {
    let message = format!("step '{step}' has both `{one}` and `{other}`");
    reader.error(EXCLUSIVE_KEYS, &key.span, message).help("keep one of them");
}

fn template<'p>(
    reader: &mut Reader<'_>,
    node: &'p Node,
    what: impl Display + Copy,
) -> Option<RawPrompt<'p>> {
    let braces = matches!(&node.kind, Kind::Map(_));
    let Some(text) = reader.words(node, what) else {
        if braces && let Some(last) = reader.found.last_mut() {
            last.help("quote the text, or write it as a block (`|`): YAML reads { as a mapping");
        }
        return None;
    };
    if text.trim().is_empty() {
        reader.error(MISSING_KEY, &node.span, format!("{what} is empty"));
        return None;
    }
    Some(RawPrompt::Inline(RawText { text, node }))
}
