//! The values of one run: what the caller passed, what steps have answered, and what follows for conditions,
//! lists, prompts and the result.
//!
//! Pure. Holds validated data only; what is rendered from it is exactly what the author wrote.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Answer, PromptContent, StepContent, WorkContent, Workflow};
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::message::{Message, Prompt};
use crate::domain::outcome::Status;
use crate::expression::Expression;
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
    /// The items an `each` step fans out over, each with its place in the list.
    list: Vec<(u32, Value)>,
    /// The places of the items that its condition left out.
    left_out: Vec<u32>,
    /// How many items of which lists its prompts may show.
    kept: Vec<Kept>,
    /// The prompt that was asked, where another step's history shows it.
    asked: Option<Message>,
    /// Accepted answers, in input order.
    answers: Vec<Option<Value>>,
}

/// A list that a step's prompts show the head of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where it stands: `["input", "documents"]`.
    pub path: Vec<String>,
    /// Items that are shown.
    pub kept: usize,
    /// Items there are.
    pub of: usize,
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
        bindings.insert("vars".to_owned(), Value::Object(workflow.vars.clone()));
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
        let (skip, list) = self.with_bindings(|bindings| {
            let skip = of.when.as_ref().is_some_and(|when| when.evaluate(bindings) != true);
            let list = of.each.as_ref().filter(|_| !skip).map(|each| each.list.evaluate(bindings));
            (skip, list)
        });
        match list {
            _ if skip => Expansion::Skip,
            Some(Value::Array(items)) if items.len() > most => Expansion::Impossible(format!(
                "its list, `{}`, has {} items, and a step runs at most {most}; put several into one item, as \
                 batches(list, 20), or bound the list with `$max`",
                of.each.as_ref().map_or_else(String::new, |each| flat(each.list.source())),
                items.len()
            )),
            Some(Value::Array(items)) => {
                let list: Vec<(u32, Value)> = (0_u32..).zip(items).collect();
                let (list, left_out) = self.sift(of, list);
                let values = &mut self.steps[step.at()];
                values.answers = vec![None; list.len()];
                (values.list, values.left_out) = (list, left_out);
                Expansion::Items(values.list.len())
            }
            Some(other) => Expansion::Impossible(format!("its list is {}", kind(&other))),
            None => {
                self.steps[step.at()].answers = vec![None];
                Expansion::Items(1)
            }
        }
    }

    /// The items that the step's condition keeps, and the places of the others.
    fn sift(&mut self, of: &StepContent, list: Vec<(u32, Value)>) -> (Vec<(u32, Value)>, Vec<u32>) {
        let Some(when) = of.each.as_ref().and_then(|each| each.when.as_ref()) else {
            return (list, Vec::new());
        };
        let mut left_out = Vec::new();
        let mut kept = Vec::new();
        for (place, item) in list {
            let locals = item_locals(of, place, &item);
            if self.with_locals(locals, |bindings| when.evaluate(bindings) == true) {
                kept.push((place, item));
            } else {
                left_out.push(place);
            }
        }
        (kept, left_out)
    }

    /// Computes an item of a step without a model, or the whole of it where it does not fan out. Nothing is bound
    /// yet: see [`Content::accept`].
    #[must_use]
    pub fn compute(
        &mut self,
        step: StepIx,
        item: ItemIx,
        of: &StepContent,
        fields: &[(String, Expression)],
    ) -> Value {
        let locals = self.locals(step, item, of);
        self.with_locals(locals, |bindings| {
            let fields = fields.iter();
            fields.map(|(name, expr)| (name.clone(), expr.evaluate(bindings))).collect()
        })
    }

    /// The conditions of `check` that an answer does not meet, in the words of a repair turn.
    #[must_use]
    pub fn unmet(
        &mut self,
        step: StepIx,
        item: ItemIx,
        of: &StepContent,
        answer: &Value,
    ) -> Vec<String> {
        if of.check.is_empty() {
            return Vec::new();
        }
        let mut locals = self.locals(step, item, of);
        let mentioned: BTreeSet<&str> =
            of.check.iter().flat_map(Expression::mentions).map(|m| m.name.as_str()).collect();
        let own = answer.as_object().into_iter().flatten();
        let own = own.filter(|(name, _)| mentioned.contains(name.as_str()));
        locals.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        self.with_locals(locals, |bindings| {
            let unmet = of.check.iter().filter(|check| check.evaluate(bindings) != true);
            unmet.map(|check| unmet_text(check, bindings)).collect()
        })
    }

    /// The item of a fan-out and its place, under their names.
    fn locals(&self, step: StepIx, item: ItemIx, of: &StepContent) -> Vec<(String, Value)> {
        let entry = self.steps[step.at()].list.get(item.at());
        entry.map_or_else(Vec::new, |(place, value)| item_locals(of, *place, value))
    }

    fn with_bindings<T>(&mut self, look: impl FnOnce(&Value) -> T) -> T {
        let bindings = Value::Object(std::mem::take(&mut self.bindings));
        let seen = look(&bindings);
        if let Value::Object(map) = bindings {
            self.bindings = map;
        }
        seen
    }

    /// The same with more names, which may hide others for as long.
    fn with_locals<T>(
        &mut self,
        locals: Vec<(String, Value)>,
        look: impl FnOnce(&Value) -> T,
    ) -> T {
        let mut hidden = Vec::with_capacity(locals.len());
        for (name, value) in locals {
            let before = self.bindings.insert(name.clone(), value);
            hidden.push((name, before));
        }
        let seen = self.with_bindings(look);
        for (name, before) in hidden.into_iter().rev() {
            match before {
                Some(value) => self.bindings.insert(name, value),
                None => self.bindings.shift_remove(&name),
            };
        }
        seen
    }

    /// An item's place in its list.
    #[must_use]
    pub fn place(&self, step: StepIx, item: ItemIx) -> u32 {
        self.steps[step.at()].list.get(item.at()).map_or(item.0, |(place, _)| *place)
    }

    /// The places of the items that the step's condition left out.
    #[must_use]
    pub fn left_out(&self, step: StepIx) -> &[u32] {
        &self.steps[step.at()].left_out
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
        let values = &self.steps[step.at()];
        let special = of.each.is_some() || !values.kept.is_empty();
        let own = special.then(|| {
            let mut bound = shared.clone();
            for (name, value) in shortened(&self.bindings, &values.kept) {
                bound.bind(&name, &value);
            }
            if let (Some(each), Some((place, value))) = (&of.each, values.list.get(item.at())) {
                bound.bind(&each.item, value);
                bound.bind("index", &Value::from(*place));
            }
            bound
        });
        let bound = own.as_ref().unwrap_or(shared);
        let system = prompt.system.as_ref().map(|t| t.render_bound(bound)).transpose();
        let user = prompt.prompt.render_bound(bound);
        Ok(Prompt { system: system?, messages: vec![Message::user(user?)] })
    }

    /// Notes what a step was asked, for the steps whose history shows it.
    pub fn note_asked(&mut self, step: StepIx, message: Message) {
        self.steps[step.at()].asked = Some(message);
    }

    /// What a step was asked and has answered, as a conversation; `None` where it has no answer.
    #[must_use]
    pub fn exchange_of(&self, step: StepIx, of: &StepContent) -> Option<[Message; 2]> {
        let answer = self.output(of)?;
        let asked = self.steps[step.at()].asked.clone()?;
        let plain = matches!(&of.work, WorkContent::Prompt(p) if matches!(p.answer, Answer::Text));
        let said = match answer.get("text") {
            Some(Value::String(text)) if plain => text.clone(),
            _ => answer.to_string(),
        };
        Some([asked, Message::assistant(said)])
    }

    /// Makes the step's prompts show the head of some lists only.
    pub fn keep(&mut self, step: StepIx, kept: Vec<Kept>) {
        self.steps[step.at()].kept = kept;
    }

    /// The lists that the step's prompts show the head of.
    #[must_use]
    pub fn kept(&self, step: StepIx) -> &[Kept] {
        &self.steps[step.at()].kept
    }

    /// Items in the list at `path`; `None` where there is none.
    #[must_use]
    pub fn length(&self, path: &[String]) -> Option<usize> {
        let (name, rest) = path.split_first()?;
        let value = rest.iter().try_fold(self.bindings.get(name)?, |value, word| value.get(word));
        value?.as_array().map(Vec::len)
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
            let items = good.filter_map(|(ix, output)| {
                let (place, item) = values.list.get(ix as usize)?;
                Some(serde_json::json!({ "item": item, "index": place, "output": output }))
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

/// The item of a fan-out and its place, under their names.
fn item_locals(of: &StepContent, place: u32, item: &Value) -> Vec<(String, Value)> {
    let Some(each) = &of.each else { return Vec::new() };
    vec![(each.item.clone(), item.clone()), ("index".to_owned(), Value::from(place))]
}

/// What an unmet condition says, with the numbers it compared and the first item of a list that breaks it.
fn unmet_text(check: &Expression, bindings: &Value) -> String {
    let text = flat(check.source());
    let why = check.counterexample(bindings);
    let item = why.item.map(|(list, place, item)| {
        format!("by {list}[{place}]: {}", shortened_text(&item.to_string()))
    });
    let why: Vec<String> = why.compared.into_iter().chain(item).collect();
    if why.is_empty() {
        return format!("not met: {text}");
    }
    format!("not met: {text} ({})", why.join(" "))
}

/// An expression on one line.
fn flat(source: &str) -> String {
    source.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Most characters of an item that breaks a condition.
const SHOWN: usize = 200;

fn shortened_text(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The bound values whose lists are shown in part, shortened.
fn shortened(bindings: &Map<String, Value>, kept: &[Kept]) -> BTreeMap<String, Value> {
    let mut changed: BTreeMap<String, Value> = BTreeMap::new();
    for Kept { path, kept, .. } in kept {
        let Some((name, rest)) = path.split_first() else { continue };
        let Some(value) = changed.remove(name).or_else(|| bindings.get(name).cloned()) else {
            continue;
        };
        let root = changed.entry(name.clone()).or_insert(value);
        let list = rest.iter().try_fold(root, |value, word| value.get_mut(word));
        if let Some(Value::Array(items)) = list {
            items.truncate(*kept);
        }
    }
    changed
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
