//! What each text may refer to, and the check of every text against it.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use crate::definition::lower::Lowering;
use crate::definition::lower::draft::Draft;
use crate::definition::lower::text::Text;
use crate::domain::finding::{Code, Finding};
use crate::domain::shape::{Presence, Range, Scope, Shape};
use crate::expression::Expression;
use crate::template::Parsed;

/// `each` over something that is no list.
pub const EACH_NEEDS_LIST: Code = Code("P0407");
/// `when` that is neither true nor false.
pub const WHEN_NEEDS_BOOLEAN: Code = Code("P0408");

/// The statuses that a text can see, and a case can expect.
pub const STATUSES: [&str; 5] = ["ok", "skipped", "failed", "timed_out", "cut"];

/// Everything that can be referred to.
#[derive(Debug)]
pub struct World {
    input: Shape,
    vars: Shape,
    steps: Vec<Visible>,
    /// How a step can have ended.
    status: Shape,
}

/// A step as others see it.
#[derive(Debug)]
struct Visible {
    name: Arc<str>,
    shape: Shape,
    /// Its answer, of one item.
    answer: Shape,
    /// An item of the list it fans out over.
    item: Shape,
    fan_out: bool,
    presence: Presence,
}

impl World {
    /// What the steps make visible; a step without a model has no type yet, nor has the item of a list.
    pub fn of(input: &Shape, vars: &Shape, drafts: &[Draft<'_>]) -> Self {
        let steps = drafts.iter().map(|draft| {
            let answer = draft.expected.typed.shape.clone();
            let fan_out = draft.raw.each.is_some();
            let shape = if fan_out { Shape::list(answer.clone()) } else { answer.clone() };
            let name = Arc::from(draft.name());
            let presence = if draft.is_optional() {
                Presence::Maybe(format!("'{name}' is optional").into())
            } else if draft.is_conditional() {
                Presence::Maybe(format!("'{name}' may be skipped").into())
            } else {
                Presence::Always
            };
            Visible { name, shape, answer, item: Shape::Any, fan_out, presence }
        });
        let status = Shape::Enum(STATUSES.map(str::to_owned).into());
        Self { input: input.clone(), vars: vars.clone(), steps: steps.collect(), status }
    }

    /// The answer of the step at a place of the file, now that it is typed.
    pub fn set_answer(&mut self, at: usize, answer: &Shape) {
        let step = &mut self.steps[at];
        step.answer = answer.clone();
        step.shape = if step.fan_out { Shape::list(answer.clone()) } else { answer.clone() };
    }

    /// What texts of steps and of the output see. A step's own name is among them: that it may not be used
    /// has been said by then, and better.
    ///
    /// Only what is `mentioned` has its shape: the rest is there for its name.
    pub fn scope(&self, mentioned: &BTreeSet<&str>) -> Scope {
        let mut scope = Scope::default();
        scope.bind("input", self.input.clone(), Presence::Always);
        if !matches!(&self.vars, Shape::Object(vars) if vars.fields.is_empty()) {
            scope.bind("vars", self.vars.clone(), Presence::Always);
        }
        let mut run = Shape::Any;
        if mentioned.contains("run") {
            let statuses = self.steps.iter().map(|step| (&*step.name, self.status.clone()));
            run = Shape::object([("status", Shape::object(statuses))]);
        }
        for step in &self.steps {
            if !mentioned.contains(&*step.name) {
                scope.bind(step.name.clone(), Shape::Any, step.presence.clone());
                continue;
            }
            scope.bind(step.name.clone(), step.shape.clone(), step.presence.clone());
            if step.fan_out {
                let entry = Shape::object([
                    ("item", step.item.clone()),
                    ("index", Shape::Integer(Range::default())),
                    ("output", step.answer.clone()),
                ]);
                let items = format!("{}.items", step.name);
                scope.bind(items, Shape::list(entry), step.presence.clone());
            }
        }
        scope.bind("run", run, Presence::Always);
        scope
    }
}

impl Lowering<'_> {
    /// Checks every text of the steps, in topological `order` where there is one: what a step without a model
    /// yields has a type only once what it is computed from has one.
    pub(super) fn check_texts(
        &mut self,
        drafts: &mut [Draft<'_>],
        order: Option<&[usize]>,
        world: &mut World,
    ) {
        let in_file: Vec<usize> = (0..drafts.len()).collect();
        for at in order.unwrap_or(&in_file).iter().copied() {
            let draft = &drafts[at];
            let owner = draft.owner();
            let mentioned = draft.mentions().map(|(mention, _)| mention.name.as_str()).collect();
            let mut scope = world.scope(&mentioned);
            let per_item = draft.when_per_item();
            if let Some(when) = draft.when.as_ref().filter(|_| !per_item) {
                self.check_when(when, &scope, &owner);
            }
            if let Some(raw) = &draft.raw.each {
                let item = draft
                    .each
                    .as_ref()
                    .map_or(Shape::Any, |each| self.check_each(each, &scope, &owner, raw.text));
                world.steps[at].item = item.clone();
                scope.bind(draft.item(), item, Presence::Always);
                scope.bind("index", Shape::Integer(Range::default()), Presence::Always);
            } else if self.says_each(draft) {
                scope.bind(draft.item(), Shape::Any, Presence::Always);
                scope.bind("index", Shape::Integer(Range::default()), Presence::Always);
            }
            if let Some(when) = draft.when.as_ref().filter(|_| per_item) {
                self.check_when(when, &scope, &owner);
            }
            // The step does not run where its condition is false.
            for path in draft.when.iter().flat_map(|when| when.body.proves()) {
                scope.prove(&path);
            }
            self.type_value(at, &scope, drafts, world);
            let draft = &drafts[at];
            self.check_checks(draft, &scope);
            if let Some(judge) = draft.judged_by {
                let why = "there is no `feedback` before the first verdict".into();
                // A validator that computes is typed after what it judges: its verdict is not looked into.
                let shape = drafts[judge].expected.typed.shape.clone();
                scope.bind("feedback", shape, Presence::Maybe(why));
            }
            for text in [&draft.prompt, &draft.system].into_iter().flatten() {
                self.check_template(text, &scope, &owner);
            }
            self.check_shrink(draft, &scope);
        }
    }

    fn check_template(&mut self, text: &Text<'_, Parsed<'_>>, scope: &Scope, owner: &str) {
        for found in text.body.check(scope) {
            self.located(&found, text, owner);
        }
    }

    /// The type of an expression, its problems reported.
    pub(super) fn check_expression(
        &mut self,
        text: &Text<'_, Expression>,
        scope: &Scope,
        owner: impl Display + Copy,
    ) -> (Shape, bool) {
        let (shape, findings) = text.body.check(scope);
        for finding in &findings {
            self.finding(finding, text.origin, owner);
        }
        (shape, findings.is_empty())
    }

    fn check_when(&mut self, when: &Text<'_, Expression>, scope: &Scope, owner: &str) {
        let (shape, sound) = self.check_expression(when, scope, owner);
        if sound && !matches!(shape, Shape::Boolean | Shape::Any) {
            let message = format!("`when` must be true or false, and is {}", shape.describe());
            let help = "compare it, as plan.kind == \"refund\", or length(plan.items) > 0";
            self.type_problem(WHEN_NEEDS_BOOLEAN, when, owner, message, help);
        }
    }

    fn check_each(
        &mut self,
        each: &Text<'_, Expression>,
        scope: &Scope,
        owner: &str,
        source: &str,
    ) -> Shape {
        match self.check_expression(each, scope, owner) {
            (Shape::List(item, length), _) => {
                self.check_fan_out(&length, each, owner);
                (*item).clone()
            }
            (Shape::Any, _) | (_, false) => Shape::Any,
            (shape, true) => {
                let message =
                    format!("`each` needs a list, and {} is {}", source.trim(), shape.describe());
                let help = "name a list, as plan.questions; one that may be null needs `?? []`";
                self.type_problem(EACH_NEEDS_LIST, each, owner, message, help);
                Shape::Any
            }
        }
    }

    pub(super) fn type_problem(
        &mut self,
        code: Code,
        text: &Text<'_, Expression>,
        owner: &str,
        message: String,
        help: &str,
    ) {
        let range = 0..text.body.source().trim_end().len();
        let finding = Finding { code, range, message, help: Some(help.to_owned()) };
        self.finding(&finding, text.origin, owner);
    }
}
