//! A case's input: written in place, in a file, or a file with fields laid over it.

use std::hash::Hash;
use std::ops::Range;

use serde_json::{Map, Value};

use super::{INPUT_LIMIT, INPUT_UNFIT, Lowering, TOO_MANY_CASES};
use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::lower::NOT_JSON;
use crate::definition::page::{WRONG_TYPE, to_json};
use crate::definition::source::Source;
use crate::definition::yaml::{Key, Kind, Node};
use crate::workflow::Workflow;

/// Names a file whose content stands here.
const FILE: &str = "$file";
/// Most violations that one input is told.
const TOLD: usize = 8;

impl Lowering<'_> {
    /// The input as a run sees it. `top` is where the case begins.
    pub(super) fn input(
        &mut self,
        node: Option<&Node>,
        top: &Range<usize>,
        workflow: &Workflow,
        what: &str,
    ) -> Option<Value> {
        let value = match node {
            Some(node) => self.resolve(node, what)?,
            None => Value::Object(Map::new()),
        };
        let violations = match workflow.fitting(value) {
            Ok(input) => return Some(input),
            Err(violations) => violations,
        };
        let Some(node) = node else {
            let message = format!("{what} has no `input`, and '{}' needs one", workflow.name);
            self.reader
                .error(INPUT_UNFIT, top, message)
                .help(format!("input: {}", workflow.input.describe()));
            return None;
        };
        for violation in violations.iter().take(TOLD) {
            let (place, exact) = nearest(node, &violation.pointer);
            let at = if violation.pointer.is_empty() { "" } else { &violation.pointer };
            // Inside a file the pointer alone says where.
            let message = if exact && !at.is_empty() {
                format!("{what}: input{at}: {}", violation.message)
            } else {
                format!("{what}: the input does not fit: {violation}")
            };
            self.reader.error(INPUT_UNFIT, &place.span, message).help(format!(
                "input of '{}': {}",
                workflow.name,
                workflow.input.describe()
            ));
        }
        None
    }

    /// The value, with files in place of their names.
    fn resolve(&mut self, node: &Node, what: &str) -> Option<Value> {
        match &node.kind {
            Kind::Scalar(_) => Some(to_json(node)),
            Kind::List(items) => {
                // Every item is looked at, so that every problem is told.
                let items: Vec<Option<Value>> =
                    items.iter().map(|item| self.resolve(item, what)).collect();
                items.into_iter().collect::<Option<Vec<Value>>>().map(Value::Array)
            }
            Kind::Map(entries) => {
                let named = entries.iter().find(|(key, _)| key.name == FILE);
                let base = match named {
                    Some((_, name)) => Some(self.included(name, what)?),
                    None => None,
                };
                let rest: Vec<&(Key, Node)> =
                    entries.iter().filter(|(key, _)| key.name != FILE).collect();
                let fields: Vec<Option<(String, Value)>> = rest
                    .iter()
                    .map(|(key, value)| Some((key.name.clone(), self.resolve(value, what)?)))
                    .collect();
                let fields = fields.into_iter().collect::<Option<Map<String, Value>>>()?;
                match base {
                    None => Some(Value::Object(fields)),
                    Some(base) if rest.is_empty() => Some(base),
                    Some(Value::Object(mut base)) => {
                        base.extend(fields);
                        Some(Value::Object(base))
                    }
                    Some(_) => {
                        let message = format!(
                            "{what}: fields stand beside `{FILE}`, and its file is no object"
                        );
                        self.reader
                            .error(WRONG_TYPE, &rest[0].0.span, message)
                            .help("remove them, or name a .json file that holds an object");
                        None
                    }
                }
            }
        }
    }

    /// The content of a file: the value of a `.json`, the text of any other.
    fn included(&mut self, node: &Node, what: &str) -> Option<Value> {
        let name = self.reader.text(node, format!("{what}: `{FILE}`"))?.value;
        self.files.push(self.context.shelf.path(&name));
        let source = match self.context.shelf.read(&name) {
            Ok(source) => source,
            Err(problem) => {
                self.reader
                    .error(problem.code, &node.span, format!("{what}: {}", problem.message))
                    .help(if problem.help.starts_with("pass large") {
                        "a case's file has at most 1 MiB; cut the document to what the case needs"
                            .to_owned()
                    } else {
                        problem.help.replace("the workflow file", "the cases file")
                    });
                return None;
            }
        };
        (&name, &source.text).hash(&mut self.hasher);
        self.bytes += source.text.len();
        if self.bytes > INPUT_LIMIT {
            let message = "the files that the cases name hold more than 16 MiB";
            self.reader
                .error(TOO_MANY_CASES, &node.span, message)
                .help("lay fields over one file, or cut the documents to what the cases need");
            return None;
        }
        let json = name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("json"));
        if !json {
            return Some(Value::String(source.text));
        }
        match serde_json::from_str(&source.text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.not_json(&source, &error, what);
                None
            }
        }
    }

    fn not_json(&mut self, source: &Source, error: &serde_json::Error, what: &str) {
        let lines = source.text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let at = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        let text = error.to_string();
        let reason = text.split(" at line").next().unwrap_or(&text);
        let message = format!("{what}: '{}' is not JSON: {reason}", source.label);
        if !self.reader.is_full() {
            let found = Diagnostic::at(Severity::Error, NOT_JSON, source, &(at..at + 1), message);
            self.reader.found.push(found);
        }
    }
}

/// The node a pointer names, or the innermost one around it; and whether it is the one.
pub(super) fn nearest<'n>(node: &'n Node, pointer: &str) -> (&'n Node, bool) {
    let mut named = pointer;
    loop {
        if let Some(found) = node.at_pointer(named) {
            return (found, named == pointer);
        }
        named = named.rsplit_once('/').map_or("", |(outer, _)| outer);
    }
}
