//! `expect` of a case: what must come of it, checked against what can.

use super::{CHECK_NEEDS_BOOLEAN, Lowering, NEVER_MET, UNKNOWN_STEP};
use crate::definition::config::{list, near};
use crate::definition::keys;
use crate::definition::lower::STATUSES;
use crate::definition::page::WRONG_WORD;
use crate::definition::yaml::{Kind, Node};
use crate::domain::failure::FailureClass;
use crate::domain::finding::Finding;
use crate::domain::shape::{Field, Object, Presence, Range, Scope, Shape};
use crate::expression::Expression;
use crate::schema::Schema;
use crate::workflow::Workflow;
use crate::workflow::case::{Ending, Expect, ExpectedFailure, ExpectedStep};

impl Lowering<'_> {
    pub(super) fn expect(&mut self, node: &Node, workflow: &Workflow, what: &str) -> Expect {
        let mut expect = Expect::default();
        let mut outcome = None;
        let entries = self.reader.map(node, &keys::EXPECT);
        for (key, value) in &entries {
            let what = format!("{what}: `expect.{}`", key.name);
            match key.name.as_str() {
                "outcome" => outcome = Some(self.outcome(value, &what)),
                "missing" => expect.missing = Some(self.parts(value, workflow, &what)),
                "unverified" => expect.unverified = Some(self.parts(value, workflow, &what)),
                "failure" => expect.failure = Some(self.failure(value, workflow, &what)),
                "output" => {
                    let shape = Schema::to_shape(workflow.output_schema.source());
                    let fitting = super::fit::Fitting { shape: &shape, what: &what };
                    expect.output = Some(fitting.read(&mut self.reader, value));
                }
                "steps" => expect.steps = self.steps(value, workflow, &what),
                _ => {}
            }
        }
        match outcome {
            Some(outcome) => expect.outcome = outcome,
            None if expect.failure.is_some() => expect.outcome = vec![Ending::Failed],
            None => {}
        }
        for (key, value) in &entries {
            match key.name.as_str() {
                "check" => {
                    let what = format!("{what}: `expect.check`");
                    expect.checks = self.checks(value, workflow, &expect.outcome, &what);
                }
                "failure" if !expect.outcome.contains(&Ending::Failed) => {
                    self.never(
                        value,
                        what,
                        "`failure` stands beside an outcome that is none",
                        "add failed to `outcome`, or remove `failure`",
                    );
                }
                "missing" | "unverified" | "output" if expect.outcome == [Ending::Failed] => {
                    let why = format!("a failed run has no `{}`", key.name);
                    self.never(value, what, &why, "remove it, or expect another `outcome`");
                }
                _ => {}
            }
        }
        expect
    }

    fn never(&mut self, node: &Node, what: &str, why: &str, help: &str) {
        self.reader.error(NEVER_MET, &node.span, format!("{what}: {why}")).help(help);
    }

    fn outcome(&mut self, node: &Node, what: &str) -> Vec<Ending> {
        let words = Ending::ALL.map(|ending| (ending.as_str(), ending));
        let nodes = match &node.kind {
            Kind::List(items) => items.as_slice(),
            Kind::Scalar(_) | Kind::Map(_) => std::slice::from_ref(node),
        };
        let read = nodes.iter().filter_map(|node| self.reader.word(node, what, &words));
        read.map(|word| word.value).collect()
    }

    /// Names of steps and items, as reports name missing parts.
    fn parts(&mut self, node: &Node, workflow: &Workflow, what: &str) -> Vec<String> {
        let mut parts = Vec::new();
        for item in self.reader.items(node, what) {
            let Some(text) = self.reader.text(item, what) else { continue };
            // What was left off a prompt that did not fit: `input.documents[3..5] in draft`.
            let named =
                text.value.rsplit_once(" in ").map_or(text.value.as_str(), |(_, step)| step);
            if self.part(named, item, workflow, what).is_some() {
                parts.push(text.value);
            }
        }
        parts
    }

    /// A step and perhaps an item of it: `gaps`, `answer[3]`.
    fn part(
        &mut self,
        text: &str,
        node: &Node,
        workflow: &Workflow,
        what: &str,
    ) -> Option<(String, Option<u32>)> {
        let (step, item) = match text.strip_suffix(']').and_then(|part| part.split_once('[')) {
            Some((step, item)) => (step, item.parse::<u32>().ok()),
            None => (text, None),
        };
        let Some(at) = workflow.step_named(step) else {
            let names: Vec<&str> = workflow.steps.iter().map(|step| step.name.as_str()).collect();
            let message = format!("{what}: '{}' has no step '{step}'", workflow.name);
            self.reader.error(UNKNOWN_STEP, &node.span, message).help(format!(
                "{}steps: {}",
                near(step, &names),
                list(&names)
            ));
            return None;
        };
        if text != step && (item.is_none() || workflow.steps[at].each.is_none()) {
            let message = format!("{what}: '{text}' names no item");
            let help = if workflow.steps[at].each.is_none() {
                format!("'{step}' has no `each`: name the step alone")
            } else {
                format!("items are numbered from 0: {step}[0]")
            };
            self.reader.error(UNKNOWN_STEP, &node.span, message).help(help);
            return None;
        }
        Some((step.to_owned(), item))
    }

    fn failure(&mut self, node: &Node, workflow: &Workflow, what: &str) -> ExpectedFailure {
        let mut failure = ExpectedFailure::default();
        for (key, value) in self.reader.map(node, &keys::EXPECT_FAILURE) {
            let what = format!("{}.{}`", what.trim_end_matches('`'), key.name);
            let Some(text) = self.reader.text(value, &what) else { continue };
            match key.name.as_str() {
                "class" => {
                    let names: Vec<&str> =
                        FailureClass::ALL.iter().map(|class| class.as_str()).collect();
                    failure.class =
                        FailureClass::ALL.into_iter().find(|class| class.as_str() == text.value);
                    if failure.class.is_none() {
                        let message = format!("{what}: '{}' is no failure class", text.value);
                        self.reader.error(WRONG_WORD, &value.span, message).help(format!(
                            "{}one of: {}",
                            near(&text.value, &names),
                            names.join(", ")
                        ));
                    }
                }
                "step" => {
                    failure.step = self.part(&text.value, value, workflow, &what).map(|p| p.0);
                }
                _ => failure.message = Some(text.value),
            }
        }
        failure
    }

    fn steps(&mut self, node: &Node, workflow: &Workflow, what: &str) -> Vec<ExpectedStep> {
        let mut steps = Vec::new();
        for (key, value) in self.reader.entries(node, what) {
            let named = Node { span: key.span.clone(), kind: value.kind.clone() };
            let Some((step, item)) = self.part(&key.name, &named, workflow, what) else { continue };
            let mut expected = ExpectedStep { step, item, ..ExpectedStep::default() };
            for (field, value) in self.reader.map(value, &keys::EXPECT_STEP) {
                let what = format!("{}.{}.{}`", what.trim_end_matches('`'), key.name, field.name);
                if field.name == "status" {
                    let words = STATUSES.map(|word| (word, word));
                    let word = self.reader.word(value, &what, &words);
                    expected.status = word.map(|word| word.value.to_owned());
                } else {
                    let count = self.reader.small(value, &what, 0..=100_000);
                    expected.attempts = count.map(|count| count.value);
                }
            }
            steps.push(expected);
        }
        steps
    }

    /// Conditions over `output`, `input` and `run`.
    fn checks(
        &mut self,
        node: &Node,
        workflow: &Workflow,
        outcome: &[Ending],
        what: &str,
    ) -> Vec<Expression> {
        let scope = scope(workflow, outcome);
        let mut checks = Vec::new();
        for item in self.reader.items(node, what) {
            let Some(check) = self.expression(item, what) else { continue };
            let (shape, findings) = check.check(&scope);
            for finding in &findings {
                self.finding(finding, item, what);
            }
            if findings.is_empty() && !matches!(shape, Shape::Boolean | Shape::Any) {
                let finding = Finding {
                    code: CHECK_NEEDS_BOOLEAN,
                    range: 0..check.source().trim_end().len(),
                    message: format!("must be true or false, and is {}", shape.describe()),
                    help: Some("compare it, as length(output.bullets) <= 5".to_owned()),
                };
                self.finding(&finding, item, what);
            }
            checks.push(check);
        }
        checks
    }
}

/// What the checks of a case see.
fn scope(workflow: &Workflow, outcome: &[Ending]) -> Scope {
    let mut scope = Scope::default();
    let output = Schema::to_shape(workflow.output_schema.source());
    let presence = if outcome.contains(&Ending::Failed) {
        Presence::Maybe("the run may fail".into())
    } else {
        Presence::Always
    };
    scope.bind("output", output, presence);
    scope.bind("input", workflow.input.clone(), Presence::Always);
    let number = || Shape::Integer(Range::default());
    let words = |words: &[&str]| Shape::Enum(words.iter().map(|word| (*word).to_owned()).collect());
    let statuses = workflow.steps.iter().map(|step| (step.name.as_str(), words(&STATUSES)));
    let attempts = workflow.steps.iter().map(|step| (step.name.as_str(), number()));
    let mut run = Object::default();
    let field = |name: &str, shape| Field {
        name: name.to_owned(),
        shape,
        optional: false,
        default: None,
        about: None,
    };
    let failure = Shape::object([
        ("class", words(&FailureClass::ALL.map(FailureClass::as_str))),
        ("step", Shape::text()),
        ("message", Shape::text()),
    ]);
    run.fields = vec![
        field("outcome", words(&Ending::ALL.map(Ending::as_str))),
        field("missing", Shape::list(Shape::text())),
        field("unverified", Shape::list(Shape::text())),
        Field { optional: true, ..field("failure", failure) },
        field("elapsed_ms", number()),
        field("deadline_ms", number()),
        field("cost_usd", Shape::Number(Range::default())),
        field("status", Shape::object(statuses)),
        field("attempts", Shape::object(attempts)),
    ];
    scope.bind("run", run.into(), Presence::Always);
    scope
}
