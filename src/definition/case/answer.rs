//! `answers` of a case: what the models of each step say, by item and attempt.

use super::{ANSWER_UNFIT, ATTEMPT_LIMIT, Lowering, NOT_AN_ANSWER, UNKNOWN_STEP};
use crate::definition::config::{list, near};
use crate::definition::keys;
use crate::definition::page::{is_null, to_json};
use crate::definition::yaml::{Key, Kind, Node};
use crate::schema::Schema;
use crate::workflow::case::{Ending, Expect, Said, StepAnswers, Told};
use crate::workflow::{Answer, StepContent, WorkContent, Workflow};

/// Most violations that one answer is told.
const TOLD: usize = 3;

/// The step whose answers are read.
struct Asked<'a> {
    what: String,
    answer: &'a Answer,
    /// Whether the case expects the step to do without a valid answer.
    may_fail: bool,
}

impl Lowering<'_> {
    pub(super) fn answers(
        &mut self,
        node: &Node,
        workflow: &Workflow,
        expect: &Expect,
        what: &str,
    ) -> Vec<StepAnswers> {
        let mut answers = Vec::new();
        for (key, value) in self.reader.entries(node, format!("{what}: `answers`")) {
            let Some(step) = self.asked(key, workflow, what) else { continue };
            let WorkContent::Prompt(prompt) = &step.work else { continue };
            let asked = Asked {
                what: format!("{what}: step '{}'", step.name),
                answer: &prompt.answer,
                may_fail: may_fail(&step.name, expect),
            };
            let items = if step.each.is_some() {
                self.by_item(value, &asked)
            } else {
                vec![self.attempts(value, &asked, false)]
            };
            answers.push(StepAnswers { step: step.name.clone(), items });
        }
        answers
    }

    /// The step that `key` names, if a model is asked there.
    fn asked<'w>(
        &mut self,
        key: &Key,
        workflow: &'w Workflow,
        what: &str,
    ) -> Option<&'w StepContent> {
        let models = |step: &&StepContent| matches!(step.work, WorkContent::Prompt(_));
        let step = workflow.step_named(&key.name).map(|at| &workflow.steps[at]);
        if let Some(step) = step.filter(models) {
            return Some(step);
        }
        let (message, help) = if step.is_some() {
            let message =
                format!("{what}: step '{}' is computed; no model answers there", key.name);
            (message, "remove it: what a `value` step yields follows from the others".to_owned())
        } else {
            let names: Vec<&str> =
                workflow.steps.iter().filter(models).map(|step| step.name.as_str()).collect();
            let message = format!("{what}: '{}' has no step '{}'", workflow.name, key.name);
            (message, format!("{}steps: {}", near(&key.name, &names), list(&names)))
        };
        self.reader.error(UNKNOWN_STEP, &key.span, message).help(help);
        None
    }

    /// One entry an item.
    fn by_item(&mut self, node: &Node, asked: &Asked<'_>) -> Vec<Vec<Said>> {
        let Kind::List(items) = &node.kind else {
            let message = format!("{} answers once for each item", asked.what);
            self.reader
                .error(NOT_AN_ANSWER, &node.span, message)
                .help("write a list: one answer an item, in the order of the input; `null` leaves one to the simulator");
            return Vec::new();
        };
        items.iter().map(|item| self.attempts(item, asked, true)).collect()
    }

    /// The attempts of one step or item.
    fn attempts(&mut self, node: &Node, asked: &Asked<'_>, of_item: bool) -> Vec<Said> {
        if of_item && is_null(node) {
            return Vec::new();
        }
        let has = |name: &str| {
            let Kind::Map(entries) = &node.kind else { return false };
            entries.iter().any(|(key, _)| key.name == name)
        };
        if !has("$attempts") {
            return self.said(node, asked, true).into_iter().collect();
        }
        let entries = self.reader.map(node, &keys::ATTEMPTS);
        let Some((_, list)) = entries.first() else { return Vec::new() };
        let items = self.reader.items(list, format!("{}: `$attempts`", asked.what));
        if items.is_empty() && matches!(list.kind, Kind::List(_)) {
            self.reader
                .error(NOT_AN_ANSWER, &list.span, format!("{}: `$attempts` is empty", asked.what))
                .help("give at least one answer; the last one repeats");
        }
        if let Some(beyond) = items.get(ATTEMPT_LIMIT) {
            let message = format!("{}: more than {ATTEMPT_LIMIT} attempts", asked.what);
            self.reader
                .error(NOT_AN_ANSWER, &beyond.span, message)
                .help("a step makes at most 8 attempts a round; the last answer repeats");
        }
        let end = items.len().saturating_sub(1);
        let items = items.iter().take(ATTEMPT_LIMIT).enumerate();
        items.filter_map(|(at, item)| self.said(item, asked, at == end)).collect()
    }

    /// One attempt. The `last` one repeats: nothing comes after it to make good what it says.
    fn said(&mut self, node: &Node, asked: &Asked<'_>, last: bool) -> Option<Said> {
        let Kind::Map(entries) = &node.kind else {
            return self
                .answer(node, asked, last)
                .map(|text| Said { text: Some(text), told: None });
        };
        let ours = |key: &Key| keys::FATE.keys.contains(&key.name.as_str());
        let marked =
            !entries.is_empty() && entries.iter().all(|(key, _)| key.name.starts_with('$'));
        if !marked && !entries.iter().any(|(key, _)| ours(key)) {
            return self
                .answer(node, asked, last)
                .map(|text| Said { text: Some(text), told: None });
        }
        let (mut told, mut answer) = (None, None);
        for (key, value) in self.reader.map(node, &keys::FATE) {
            let what = format!("{}: `{}`", asked.what, key.name);
            match key.name.as_str() {
                "$fate" => told = self.reader.word(value, &what, &Told::ALL),
                _ => answer = Some(value),
            }
        }
        let told = told.map(|told| told.value);
        if let (Some(told), Some(answer)) = (told.filter(|told| !told.answers()), answer) {
            let word = Told::ALL.iter().find(|(_, one)| *one == told).map_or("", |(word, _)| word);
            let message = format!("{}: an attempt with `$fate: {word}` has no answer", asked.what);
            self.reader
                .error(NOT_AN_ANSWER, &answer.span, message)
                .help("remove `$answer`, or give the answer to a later attempt");
            return None;
        }
        let spoilt = told == Some(Told::Garbage);
        let text = match answer {
            Some(node) => Some(self.answer(node, asked, last && !spoilt)?),
            None => None,
        };
        Some(Said { text, told })
    }

    /// An answer's text: a mapping as JSON, text as the model sends it.
    fn answer(&mut self, node: &Node, asked: &Asked<'_>, last: bool) -> Option<String> {
        if let (Kind::Scalar(scalar), false) = (&node.kind, is_null(node))
            && to_json(node).is_string()
        {
            return Some(scalar.text.clone());
        }
        let Kind::Map(_) = &node.kind else {
            let is = match &node.kind {
                Kind::List(_) => "a list",
                _ if is_null(node) => "nothing",
                _ => "a number or a truth value",
            };
            let message = format!("{}: {is} is no answer", asked.what);
            let help = match (&asked.answer, &node.kind) {
                (Answer::Text, _) => {
                    "the step answers in text: write it as text, quoted where YAML would read a number"
                }
                (Answer::Json(_), Kind::List(_)) => {
                    "a step without `each` answers once: write an object; several attempts are {$attempts: […]}"
                }
                (Answer::Json(_), _) => {
                    "write an object for JSON, or text for what the model sends word for word"
                }
            };
            self.reader.error(NOT_AN_ANSWER, &node.span, message).help(help);
            return None;
        };
        match asked.answer {
            Answer::Text => {
                let message = format!("{} answers in text, and this is an object", asked.what);
                self.reader
                    .error(NOT_AN_ANSWER, &node.span, message)
                    .help("write the text itself: `draft: Dear Marta, …`, or a block (`|`)");
                None
            }
            Answer::Json(schema) => {
                let value = to_json(node);
                let text = value.to_string();
                if last && !asked.may_fail {
                    self.warn_of_unfit(node, schema, value, asked);
                }
                Some(text)
            }
        }
    }

    fn warn_of_unfit(
        &mut self,
        node: &Node,
        schema: &Schema,
        value: serde_json::Value,
        asked: &Asked<'_>,
    ) {
        let shape = Schema::to_shape(schema.source());
        let violations = schema.violations(&Schema::drop_absent(&shape, value));
        for violation in violations.iter().take(TOLD) {
            let (place, _) = super::input::nearest(node, &violation.pointer);
            let message = format!("{}: the answer does not fit: {violation}", asked.what);
            self.reader
                .warn(ANSWER_UNFIT, &place.span, message)
                .help("the step will refuse it each time; to test its repair, add the answer that follows: {$attempts: [this, then that]}");
        }
    }
}

/// Whether a case that expects this may do without a valid answer of the step.
pub(super) fn may_fail(step: &str, expect: &Expect) -> bool {
    let gone = |part: &String| {
        part == step || part.strip_prefix(step).is_some_and(|rest| rest.starts_with('['))
    };
    expect.outcome.contains(&Ending::Failed)
        || expect.missing.iter().chain(&expect.unverified).flatten().any(gone)
}
