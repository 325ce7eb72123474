//! A workflow's raw form → `Workflow`: everything inferred, everything checked, all problems in one pass.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::definition::config::Configuration;
use crate::definition::diagnostic::Diagnostic;
use crate::definition::page::{Page, Reader};
use crate::definition::raw::RawWorkflow;
use crate::definition::shelf::Shelf;
use crate::definition::source::Source;
use crate::domain::finding::Code;
use crate::domain::plan::{Budget, Plan};
use crate::domain::shape::{Object, Shape};
use crate::schema::{Schema, inline};
use crate::workflow::Workflow;

mod answer;
mod check;
mod draft;
mod fan_out;
mod graph;
mod history;
mod include;
mod lint;
mod models;
mod names;
mod needs;
mod output;
mod scope;
mod shape;
mod step;
#[cfg(test)]
mod tests;
mod text;
mod validator;
mod value;
mod vars;
mod version;

pub use answer::NOT_JSON;
pub(in crate::definition) use scope::STATUSES;

use draft::Draft;
use models::Models;
pub use names::{is_name, suggestion};
use shape::{Shapes, Typed};
use version::Version;

/// Most steps of one workflow.
pub const STEP_LIMIT: usize = 200;
/// More steps than that.
pub const TOO_MANY_STEPS: Code = Code("P0605");
/// A schema that clients do not take.
pub const UNPORTABLE: Code = Code("P0303");

/// What a workflow is lowered with.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The workflow's name, its file's stem.
    pub name: &'a str,
    /// The folder its files are in.
    pub shelf: &'a Shelf,
    /// Models, providers, defaults.
    pub configuration: &'a Configuration,
}

/// A file, lowered.
#[derive(Debug)]
pub struct Lowered {
    /// The workflow, where nothing is wrong with it.
    pub workflow: Option<Arc<Workflow>>,
    /// Everything found.
    pub diagnostics: Vec<Diagnostic>,
    /// The files it names, as far as they could be told; a change of one is a change of the workflow.
    pub files: Vec<PathBuf>,
}

/// Lowers one workflow file.
#[must_use]
pub fn lower(context: Context<'_>, source: Source) -> Lowered {
    let mut diagnostics = Vec::new();
    let file = context.shelf.path(source.label.rsplit('/').next().unwrap_or(&source.label));
    let mut version = Version::default();
    version.add(source.text.as_bytes());
    names::check_tool(context.name, &source, &mut diagnostics);
    let Some(page) = Page::parse(source, &mut diagnostics) else {
        return Lowered { workflow: None, diagnostics, files: Vec::new() };
    };
    let mut reader = Reader::new(&page, &mut diagnostics);
    let raw = RawWorkflow::read(&mut reader);
    let mut lowering =
        Lowering { context, reader, shapes: Shapes::default(), version, files: Vec::new() };
    let parts = lowering.run(&raw);
    lowering.drop_consequences(&raw);
    let Lowering { version, files, .. } = lowering;
    let RawWorkflow { title, description, expose, .. } = raw;
    let sound = !diagnostics.iter().any(Diagnostic::is_error);
    let workflow = parts.filter(|_| sound).map(|parts| {
        Arc::new(Workflow {
            name: context.name.to_owned(),
            title: title.map(|t| t.value),
            description: description.map(|d| d.value).unwrap_or_default(),
            file,
            version: version.hex(),
            plan: Arc::new(parts.plan),
            input: parts.input.shape,
            input_schema: parts.input_schema,
            vars: parts.vars,
            steps: parts.steps,
            output: parts.output,
            output_schema: parts.output_schema,
            exposed: expose.unwrap_or(true),
        })
    });
    Lowered { workflow, diagnostics, files }
}

/// What a sound workflow is made of.
struct Parts {
    plan: Plan,
    input: Typed,
    input_schema: Schema,
    vars: serde_json::Map<String, serde_json::Value>,
    steps: Vec<crate::workflow::StepContent>,
    output: Vec<(String, crate::expression::Expression)>,
    output_schema: Schema,
}

struct Lowering<'a> {
    context: Context<'a>,
    reader: Reader<'a>,
    shapes: Shapes<'a>,
    version: Version,
    files: Vec<PathBuf>,
}

impl<'a> Lowering<'a> {
    fn run(&mut self, raw: &RawWorkflow<'a>) -> Option<Parts> {
        if raw.steps.len() > STEP_LIMIT {
            let message =
                format!("the workflow has {} steps; at most {STEP_LIMIT} can run", raw.steps.len());
            self.reader
                .error(TOO_MANY_STEPS, &raw.steps_span, message)
                .help("work that repeats is one step with `each`, which runs up to 1000 items");
            return None;
        }
        self.read_shapes(raw);
        let input = self.input(raw);
        self.check_step_names(raw);
        let defaults = raw.defaults.over(&self.context.configuration.settings);
        let files = vec![Default::default(); raw.steps.len()];
        let steps = raw.steps.iter().zip(&files);
        let mut drafts: Vec<Draft<'_>> =
            steps.map(|(step, files)| self.draft(step, files, &defaults)).collect();
        self.link_validators(&mut drafts);
        self.link_history(&mut drafts);
        self.infer_needs(&mut drafts);
        let order = self.order(&drafts);
        let vars = self.vars(raw);
        let mut world = scope::World::of(&input.shape, &vars.shape, &drafts);
        self.check_texts(&mut drafts, order.as_deref(), &mut world);
        let (output, output_shape) = self.output(raw, &drafts, &world);
        let output_schema = self.tool_schema(&output_shape, &raw.steps_span);
        let input_span = raw.input.map_or(raw.steps_span.clone(), |n| n.span.clone());
        let input_schema = self.tool_schema(&input, &input_span);
        let models = Models::collect(self, raw, &drafts);
        let budget = raw.budget.over(&self.context.configuration.budget);
        let plan = models.and_then(|models| {
            let order = order.as_ref()?;
            Some(Plan {
                workflow: self.context.name.to_owned(),
                deadline: self.deadline(raw),
                budget: Budget {
                    usd: budget.usd.map(|b| b.value),
                    tokens: budget.tokens.map(|b| b.value),
                    calls: budget.calls.map(|b| b.value),
                },
                steps: step::plans(&drafts, order, &models),
                models: models.logical,
                paths: models.paths,
                providers: models.providers,
            })
        })?;
        if self.reader.found.iter().any(Diagnostic::is_error) {
            return None;
        }
        let subject = lint::Subject {
            raw,
            plan: &plan,
            drafts: &drafts,
            input: &input.shape,
            output: &output,
        };
        lint::lint(&mut self.reader, &subject);
        let steps = step::contents(drafts, &order?)?;
        Some(Parts {
            plan,
            input,
            input_schema: input_schema?,
            vars: vars.values,
            steps,
            output,
            output_schema: output_schema?,
        })
    }

    fn deadline(&self, raw: &RawWorkflow<'_>) -> Duration {
        raw.deadline.as_ref().map_or(self.context.configuration.deadline, |d| d.value)
    }

    fn input(&mut self, raw: &RawWorkflow<'_>) -> Typed {
        let Some(node) = raw.input else {
            return Typed::of(Shape::from(Object::default()));
        };
        let typed = self.shape(node, "`input`");
        self.require_object(&typed, &node.span, "`input`");
        typed
    }

    /// The schema as clients see it.
    fn tool_schema(&mut self, typed: &Typed, span: &std::ops::Range<usize>) -> Option<Schema> {
        let made = match &typed.embedded {
            None => Schema::portable(typed.shape.clone()),
            Some(schema) => inline(schema).and_then(Schema::compile),
        };
        match made {
            Ok(schema) => Some(schema),
            Err(error) => {
                // What made the shape unsound has been said where it stands.
                if !self.reader.found.iter().any(Diagnostic::is_error) {
                    self.reader.error(UNPORTABLE, span, error.message).help(
                        "clients take plain objects: no recursion, names of at most 64 characters",
                    );
                }
                None
            }
        }
    }
}
