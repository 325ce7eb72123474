//! What a workflow file says, checked value by value and spanned. Nothing is inferred here: see `lower`.

use std::ops::Range;
use std::time::Duration;

use crate::definition::keys;
use crate::definition::page::{MISSING_KEY, Page, Reader, Spanned, is_null};
use crate::definition::yaml::{Key, Kind, Node};
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

/// A workflow file.
#[derive(Clone, Debug, Default)]
pub struct RawWorkflow {
    /// `description`
    pub description: Option<Spanned<String>>,
    /// `title`
    pub title: Option<Spanned<String>>,
    /// `deadline`
    pub deadline: Option<Spanned<Duration>>,
    /// `budget`
    pub budget: RawBudget,
    /// `input`
    pub input: Option<Node>,
    /// `shapes`
    pub shapes: Vec<(Key, Node)>,
    /// `defaults`
    pub defaults: RawSettings,
    /// `steps`, in the order of the file.
    pub steps: Vec<RawStep>,
    /// Where `steps` stands.
    pub steps_span: Range<usize>,
    /// `output`; `None` where it is left to inference.
    pub output: Option<Vec<(Key, RawText)>>,
    /// `expose`
    pub expose: Option<bool>,
}

/// A step.
#[derive(Clone, Debug)]
pub struct RawStep {
    /// Its key.
    pub key: Key,
    /// `prompt` or `prompt_file`
    pub prompt: Option<RawPrompt>,
    /// `system` or `system_file`
    pub system: Option<RawPrompt>,
    /// `output` or `output_schema`
    pub answer: Option<RawAnswer>,
    /// `model`, `max_tokens`, `temperature`, `effort`, `policy`
    pub settings: RawSettings,
    /// `needs`
    pub needs: Vec<Spanned<String>>,
    /// `each`
    pub each: Option<RawText>,
    /// `as`
    pub item: Option<Spanned<String>>,
    /// `max_parallel`
    pub max_parallel: Option<Spanned<u32>>,
    /// `min_ok`
    pub min_ok: Option<Spanned<Share>>,
    /// `when`
    pub when: Option<RawText>,
    /// `optional`
    pub optional: Option<Spanned<bool>>,
    /// `cutoff_at`
    pub cutoff_at: Option<Spanned<Share>>,
    /// `validates`
    pub validates: Option<Spanned<String>>,
    /// `revise`
    pub revise: Option<Spanned<u32>>,
    /// `role`
    pub role: Option<Spanned<Role>>,
}

/// A text of another language: an expression or a template.
#[derive(Clone, Debug)]
pub struct RawText {
    /// The text.
    pub text: String,
    /// The scalar it stands in.
    pub node: Node,
}

/// A template, here or in a file.
#[derive(Clone, Debug)]
pub enum RawPrompt {
    /// In this file.
    Inline(RawText),
    /// In another file.
    File(Spanned<String>),
}

/// What a step's answer must be.
#[derive(Clone, Debug)]
pub enum RawAnswer {
    /// A shape.
    Shape(Node),
    /// A JSON Schema, in place.
    Schema(Node),
    /// A JSON Schema in a file.
    SchemaFile(Spanned<String>),
}

impl RawWorkflow {
    /// Reads a parsed file; problems go to the reader.
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let page: &Page = reader.page;
        let mut raw = Self::default();
        for (key, value) in reader.map(&page.root, &keys::WORKFLOW) {
            match key.name.as_str() {
                "description" => raw.description = reader.text(value, "`description`"),
                "title" => raw.title = reader.text(value, "`title`"),
                "deadline" => raw.deadline = reader.duration(value, "`deadline`", DEADLINES),
                "budget" => raw.budget = RawBudget::read(reader, value),
                "input" if is_null(value) => {}
                "input" => raw.input = Some(value.clone()),
                "shapes" => {
                    let shapes = reader.entries(value, "`shapes`");
                    raw.shapes = shapes.into_iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                }
                "defaults" => raw.defaults = RawSettings::read(reader, value, &keys::DEFAULTS),
                "steps" => {
                    raw.steps_span = key.span.clone();
                    let steps = reader.entries(value, "`steps`");
                    raw.steps =
                        steps.into_iter().map(|(k, v)| RawStep::read(reader, k, v)).collect();
                }
                "output" => raw.output = Some(read_output(reader, value)),
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

fn read_output(reader: &mut Reader<'_>, node: &Node) -> Vec<(Key, RawText)> {
    let mut output = Vec::new();
    for (key, value) in reader.entries(node, "`output`") {
        if let Some(text) = expression(reader, value, &format!("output '{}'", key.name)) {
            output.push((key.clone(), text));
        }
    }
    output
}

/// The text of an expression, which is a single value in the file.
fn expression(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<RawText> {
    match &node.kind {
        Kind::Scalar(scalar) if !scalar.text.trim().is_empty() && !is_null(node) => {
            Some(RawText { text: scalar.text.clone(), node: node.clone() })
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
            reader
                .error(NOT_AN_EXPRESSION, &node.span, message)
                .help("an expression is one bare value, as plan.questions; where it starts with [ or {, write it as a block (`|`)");
            None
        }
    }
}

impl RawStep {
    fn empty(key: &Key) -> Self {
        Self {
            key: key.clone(),
            prompt: None,
            system: None,
            answer: None,
            settings: RawSettings::default(),
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
            role: None,
        }
    }

    fn read(reader: &mut Reader<'_>, name: &Key, node: &Node) -> Self {
        let mut step = Self::empty(name);
        let what = |key: &str| format!("step '{}': `{key}`", name.name);
        for (key, value) in reader.map(node, &keys::STEP) {
            let what = what(&key.name);
            match key.name.as_str() {
                "prompt" | "system" => {
                    let text = template(reader, value, &what);
                    step.set_prompt(reader, key, text);
                }
                "prompt_file" | "system_file" => {
                    let file = reader.text(value, &what).map(RawPrompt::File);
                    step.set_prompt(reader, key, file);
                }
                "output" | "output_schema" => step.set_answer(reader, key, value, &what),
                "needs" => {
                    let items = reader.items(value, &what).iter();
                    step.needs = items.filter_map(|item| reader.text(item, &what)).collect();
                }
                "each" => step.each = expression(reader, value, &what),
                "when" => step.when = expression(reader, value, &what),
                "as" => step.item = reader.text(value, &what),
                "max_parallel" => step.max_parallel = reader.small(value, &what, 1..=1000),
                "min_ok" => step.min_ok = reader.share(value, &what),
                "optional" => step.optional = reader.boolean(value, &what),
                "cutoff_at" => step.cutoff_at = reader.share(value, &what),
                "validates" => step.validates = reader.text(value, &what),
                "revise" => step.revise = reader.small(value, &what, 0..=5),
                "role" => step.role = reader.word(value, &what, &ROLES),
                _ => step.settings.read_key(reader, key, value, &what),
            }
        }
        let later = |key: &str| match &node.kind {
            Kind::Map(entries) => {
                entries.iter().any(|(k, _)| k.name == key || keys::STEP.misspells(&k.name, key))
            }
            Kind::Scalar(_) | Kind::List(_) => true,
        };
        let said = ["prompt", "prompt_file", "value", "use"].into_iter().any(later);
        if step.prompt.is_none() && !said {
            reader
                .error(MISSING_KEY, &name.span, format!("step '{}' has no `prompt`", name.name))
                .help("write `prompt: |` and the text, or `prompt_file: prompts/name.md`");
        }
        step
    }

    fn set_prompt(&mut self, reader: &mut Reader<'_>, key: &Key, prompt: Option<RawPrompt>) {
        let system = key.name.starts_with("system");
        let slot = if system { &mut self.system } else { &mut self.prompt };
        if slot.is_some() {
            let base = if system { "system" } else { "prompt" };
            exclusive(reader, &self.key.name, key, base, &format!("{base}_file"));
            return;
        }
        *slot = prompt;
    }

    fn set_answer(&mut self, reader: &mut Reader<'_>, key: &Key, value: &Node, what: &str) {
        if self.answer.is_some() {
            exclusive(reader, &self.key.name, key, "output", "output_schema");
            return;
        }
        self.answer = if key.name == "output" {
            Some(RawAnswer::Shape(value.clone()))
        } else if matches!(value.kind, Kind::Map(_)) {
            Some(RawAnswer::Schema(value.clone()))
        } else {
            reader.text(value, what).map(RawAnswer::SchemaFile)
        };
    }
}

const ROLES: [(&str, Role); 3] =
    [("planner", Role::Planner), ("executor", Role::Executor), ("validator", Role::Validator)];

fn exclusive(reader: &mut Reader<'_>, step: &str, key: &Key, one: &str, other: &str) {
    let message = format!("step '{step}' has both `{one}` and `{other}`");
    reader.error(EXCLUSIVE_KEYS, &key.span, message).help("keep one of them");
}

fn template(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<RawPrompt> {
    let braces = matches!(&node.kind, Kind::Map(_));
    let Some(text) = reader.text(node, what) else {
        if braces && let Some(last) = reader.found.last_mut() {
            last.help("quote the text, or write it as a block (`|`): YAML reads { as a mapping");
        }
        return None;
    };
    if text.value.trim().is_empty() {
        reader.error(MISSING_KEY, &text.span, format!("{what} is empty"));
        return None;
    }
    Some(RawPrompt::Inline(RawText { text: text.value, node: node.clone() }))
}
