//! What a step's answer must be: text, a shape, or a JSON Schema.

use serde_json::Value;

use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::lower::Lowering;
use crate::definition::lower::shape::Typed;
use crate::definition::page::{Page, Spanned, to_json};
use crate::definition::raw::RawAnswer;
use crate::definition::source::Source;
use crate::definition::yaml::Node;
use crate::domain::finding::Code;
use crate::domain::shape::Shape;
use crate::schema::Schema;
use crate::workflow::Answer;

/// A JSON Schema that cannot be used.
pub const BAD_SCHEMA: Code = Code("P0301");
/// A file that is not JSON.
pub const NOT_JSON: Code = Code("P0302");
/// A root that is no object.
pub const NOT_AN_OBJECT: Code = Code("P0304");

/// The answer a step expects.
#[derive(Clone, Debug)]
pub struct Expected {
    /// For the gate.
    pub answer: Answer,
    /// For references.
    pub typed: Typed,
}

/// Where the file says what the answer must be.
pub fn span(raw: &RawAnswer<'_>) -> std::ops::Range<usize> {
    match raw {
        RawAnswer::Shape(node) | RawAnswer::Schema(node) => node.span.clone(),
        RawAnswer::SchemaFile(name) => name.span.clone(),
    }
}

impl Lowering<'_> {
    pub(super) fn expected(&mut self, raw: Option<&RawAnswer<'_>>, owner: &str) -> Expected {
        let text = Typed::of(Shape::object([("text", Shape::text())]));
        let (typed, span) = match raw {
            None => return Expected { answer: Answer::Text, typed: text },
            Some(RawAnswer::Shape(node)) => (self.shape(node, owner), node.span.clone()),
            Some(RawAnswer::Schema(node)) => {
                let typed = self.inline_schema(node, owner);
                (typed.unwrap_or_else(Typed::unknown), node.span.clone())
            }
            Some(RawAnswer::SchemaFile(name)) => {
                let typed = self.schema_file(name, owner);
                (typed.unwrap_or_else(Typed::unknown), name.span.clone())
            }
        };
        self.require_object(&typed, &span, owner);
        let before = self.reader.found.iter().filter(|d| d.is_error()).count();
        let answer = match typed.compiled() {
            Ok(schema) => Answer::Json(schema),
            Err(error) => {
                if before == 0 {
                    self.reader.error(BAD_SCHEMA, &span, format!("{owner}: {error}"));
                }
                Answer::Text
            }
        };
        Expected { answer, typed }
    }

    /// Models and clients are asked for objects alone.
    pub(super) fn require_object(
        &mut self,
        typed: &Typed,
        span: &std::ops::Range<usize>,
        owner: &str,
    ) {
        let object = match (&typed.shape, &typed.embedded) {
            (Shape::Object(_), _) => true,
            (Shape::Any, Some(schema)) => schema.get("type").is_none_or(|kind| kind == "object"),
            (Shape::Any, None) => typed.unknown,
            _ => false,
        };
        if !object {
            let message = format!("{owner} must be an object, and is {}", typed.shape.describe());
            self.reader
                .error(NOT_AN_OBJECT, span, message)
                .help("give it a field: {items: [string]}");
        }
    }

    /// A JSON Schema that stands in the workflow file.
    pub(super) fn inline_schema(&mut self, node: &Node, owner: &str) -> Option<Typed> {
        let schema = to_json(node);
        match Schema::compile(schema.clone()) {
            Ok(ready) => Some(Typed::embedded(schema, ready)),
            Err(error) => {
                let place = node.at_pointer(&error.pointer).unwrap_or(node);
                let message = format!("{owner}: {}", error.message);
                self.reader
                    .error(BAD_SCHEMA, &place.span, message)
                    .help("see json-schema.org, draft 2020-12");
                None
            }
        }
    }

    /// A JSON Schema in a file.
    pub(super) fn schema_file(&mut self, name: &Spanned<String>, owner: &str) -> Option<Typed> {
        let source = self.file(name, owner)?;
        let schema: Value = match serde_json::from_str(&source.text) {
            Ok(schema) => schema,
            Err(error) => {
                self.reader.found.push(not_json(&source, &error, owner));
                return None;
            }
        };
        match Schema::compile(schema.clone()) {
            Ok(ready) => Some(Typed::embedded(schema, ready)),
            Err(error) => {
                // JSON is YAML but for rare escapes; where the tree cannot be had the file's start must do.
                let page = Page::parse(source.clone(), &mut Vec::new());
                let span = page
                    .as_ref()
                    .and_then(|page| page.root.at_pointer(&error.pointer))
                    .map_or(0..0, |node| node.span.clone());
                let message = format!("{owner}: {}", error.message);
                let mut found =
                    Diagnostic::at(Severity::Error, BAD_SCHEMA, &source, &span, message);
                found.pointer.clone_from(&error.pointer);
                self.reader.found.push(found);
                None
            }
        }
    }
}

fn not_json(source: &Source, error: &serde_json::Error, owner: &str) -> Diagnostic {
    let before: usize =
        source.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = before + error.column().saturating_sub(1);
    let text = error.to_string();
    let reason = text.split(" at line").next().unwrap_or(&text);
    let message = format!("{owner}: '{}' is not JSON: {reason}", source.label);
    Diagnostic::at(Severity::Error, NOT_JSON, source, &(at..at + 1), message)
}
