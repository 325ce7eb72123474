//! The values of one run: what the caller passed, what steps have answered, and what follows for conditions,
//! lists, prompts and the result.
//!
//! Pure. Holds validated data only; what is rendered from it is exactly what the author wrote.

use serde_json::{Map, Value};

use super::{PromptContent, StepContent, Workflow};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::message::{Message, Prompt};
use crate::domain::outcome::Status;
use crate::schema::Schema;
use crate::template::{Bound, RenderError};

/// The values of a run so far.
#[derive(Clone, Debug)]
pub struct Content {
    /// Name → value, as templates and expressions see it.
    bindings: Map<String, Value>,
    /// The same as templates see it, until something is bound: the prompts of a list share it.
    bound: Option<Bound>,
    /// How often the bindings were converted for templates.
    conversions: u64,
    steps: Vec<StepValues>,
}

#[derive(Clone, Debug, Default)]
struct StepValues {
    /// The list an `each` step fans out over.
    list: Vec<Value>,
    /// Accepted answers, in input order.
    answers: Vec<Option<Value>>,
}

/// What evaluating a step's condition and list found.
#[derive(Clone, Debug, PartialEq)]
pub enum Expansion {
    /// The condition is false.
    Skip,
    /// So many items; one for a step without `each`.
    Items(usize),
    /// The list is no list, or too long.
    Impossible(String),
}

impl Content {
    /// Nothing answered yet.
    #[must_use]
    pub fn new(workflow: &Workflow, input: Value) -> Self {
        let statuses = workflow.steps.iter().map(|s| (s.name.clone(), Value::from("skipped")));
        let statuses = Value::Object(statuses.collect());
        let mut bindings = Map::new();
        bindings.insert("input".to_owned(), input);
        bindings.insert("run".to_owned(), serde_json::json!({ "status": statuses }));
        let steps = vec![StepValues::default(); workflow.steps.len()];
        Self { bindings, bound: None, conversions: 0, steps }
    }

    /// What the caller passed.
    #[must_use]
    pub fn input(&self) -> &Value {
        self.bindings.get("input").unwrap_or(&Value::Null)
    }

    /// How often what is bound was converted for templates: not once a prompt, or a fan-out would convert its whole
    /// input for each of its items.
    #[must_use]
    pub fn conversions(&self) -> u64 {
        self.conversions
    }

    /// Evaluates a step's `when` and `each`; a list may have at most `most` items.
    pub fn expand(&mut self, step: StepIx, of: &StepContent, most: usize) -> Expansion {
        let bindings = Value::Object(std::mem::take(&mut self.bindings));
        let skip = of.when.as_ref().is_some_and(|when| when.evaluate(&bindings) != true);
        let list = of.each.as_ref().filter(|_| !skip).map(|each| each.list.evaluate(&bindings));
        if let Value::Object(map) = bindings {
            self.bindings = map;
        }
        let values = &mut self.steps[step.at()];
        match list {
            _ if skip => Expansion::Skip,
            Some(Value::Array(items)) if items.len() > most => Expansion::Impossible(format!(
                "its list has {} items, at most {most} are allowed; split the input",
                items.len()
            )),
            Some(Value::Array(items)) => {
                values.answers = vec![None; items.len()];
                values.list = items;
                Expansion::Items(values.list.len())
            }
            Some(other) => Expansion::Impossible(format!("its list is {}", kind(&other))),
            None => {
                values.answers = vec![None];
                Expansion::Items(1)
            }
        }
    }

    /// Computes a step without a model. Like an accepted answer it is bound for the validator that may judge
    /// it.
    pub fn compute(
        &mut self,
        step: StepIx,
        of: &StepContent,
        fields: &[(String, crate::expression::Expression)],
    ) {
        let bindings = Value::Object(std::mem::take(&mut self.bindings));
        let value = fields.iter().map(|(name, expr)| (name.clone(), expr.evaluate(&bindings)));
        let value = Value::Object(value.collect());
        if let Value::Object(map) = bindings {
            self.bindings = map;
        }
        self.steps[step.at()].answers = vec![Some(value)];
        self.bind_output(step, of);
    }

    /// Renders an item's prompt.
    ///
    /// # Errors
    /// What the template room refuses: a value that is missing after all, or more than 4 MiB of text.
    pub fn render(
        &mut self,
        step: StepIx,
        item: ItemIx,
        of: &StepContent,
        prompt: &PromptContent,
    ) -> Result<Prompt, RenderError> {
        let shared = self.bound.get_or_insert_with(|| {
            self.conversions += 1;
            Bound::of(&self.bindings)
        });
        let of_item = of.each.as_ref().map(|each| {
            let list = &self.steps[step.at()].list;
            let mut bound = shared.clone();
            bound.bind(&each.item, list.get(item.at()).unwrap_or(&Value::Null));
            bound.bind("index", &Value::from(item.0));
            bound
        });
        let bound = of_item.as_ref().unwrap_or(shared);
        let system = prompt.system.as_ref().map(|t| t.render_bound(bound)).transpose();
        let user = prompt.prompt.render_bound(bound);
        Ok(Prompt { system: system?, messages: vec![Message::user(user?)] })
    }

    /// An answer becomes an item's output. The step's name is bound for the validator that may judge it;
    /// nobody else looks before [`Content::close`].
    pub fn accept(&mut self, step: StepIx, item: ItemIx, of: &StepContent, answer: Value) {
        let values = &mut self.steps[step.at()];
        if values.answers.len() <= item.at() {
            values.answers.resize(item.at() + 1, None);
        }
        values.answers[item.at()] = Some(answer);
        if of.each.is_none() {
            self.bind_output(step, of);
        }
    }

    /// Makes `review` what the step's prompt knows as `feedback`; `None` unbinds it.
    pub fn give_feedback(&mut self, review: Option<Value>) {
        if self.bindings.get("feedback") == review.as_ref() {
            return;
        }
        self.bound = None;
        match review {
            Some(review) => self.bindings.insert("feedback".to_owned(), review),
            None => self.bindings.shift_remove("feedback"),
        };
    }

    /// A step has ended: its output is what its consumers see, or it is absent.
    pub fn close(&mut self, step: StepIx, of: &StepContent, status: Status) {
        self.bound = None;
        if let Some(statuses) = self.bindings.get_mut("run").and_then(|run| run.get_mut("status")) {
            let shown = if status == Status::Reused { Status::Ok } else { status };
            statuses[&of.name] = Value::from(shown.as_str());
        }
        if status.accepted() {
            self.bind_output(step, of);
        } else {
            self.unbind_output(of);
        }
    }

    /// A step's output as its consumers see it; `None` where it has none.
    #[must_use]
    pub fn output(&self, of: &StepContent) -> Option<&Value> {
        self.bindings.get(&of.name)
    }

    /// The result of the run. Fields of an optional part that is not there are absent, not null.
    #[must_use]
    pub fn result(&self, workflow: &Workflow) -> Value {
        let bindings = Value::Object(self.bindings.clone());
        let fields = workflow.output.iter();
        let fields = fields.map(|(name, expr)| (name.clone(), expr.evaluate(&bindings)));
        let shape = Schema::to_shape(workflow.output_schema.source());
        Schema::drop_absent(&shape, Value::Object(fields.collect()))
    }

    /// Binds a step's output; for a fan-out the list of outputs, and under `NAME.items` each with its item.
    fn bind_output(&mut self, step: StepIx, of: &StepContent) {
        self.bound = None;
        let values = &self.steps[step.at()];
        let output = if of.each.is_some() {
            let good = (0_u32..).zip(&values.answers).filter_map(|(ix, a)| Some((ix, a.as_ref()?)));
            let items = good.map(|(ix, output)| {
                let item = values.list.get(ix as usize).unwrap_or(&Value::Null);
                serde_json::json!({ "item": item, "index": ix, "output": output })
            });
            self.bindings.insert(items_name(of), items.collect());
            values.answers.iter().flatten().cloned().collect()
        } else {
            values.answers.iter().flatten().next().cloned().unwrap_or(Value::Null)
        };
        self.bindings.insert(of.name.clone(), output);
    }

    fn unbind_output(&mut self, of: &StepContent) {
        self.bound = None;
        self.bindings.shift_remove(&of.name);
        self.bindings.shift_remove(&items_name(of));
    }
}

fn items_name(of: &StepContent) -> String {
    format!("{}.items", of.name)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "missing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
