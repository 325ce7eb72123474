//! An expected output against the shape that the workflow's output has: what can never be equal is told at load.

use serde_json::Value;

use super::{NEVER_MET, UNKNOWN_FIELD};
use crate::definition::config::{list, near};
use crate::definition::page::{Reader, is_null, shown, to_json};
use crate::definition::yaml::{Kind, Node};
use crate::domain::shape::{Object, Shape};

/// A value that is expected somewhere in the output.
#[derive(Clone, Copy)]
pub(super) struct Fitting<'a> {
    /// What can stand there.
    pub shape: &'a Shape,
    /// What it is called in messages.
    pub what: &'a str,
}

impl Fitting<'_> {
    /// The expected value; what cannot be equal goes to the reader.
    pub(super) fn read(self, reader: &mut Reader<'_>, node: &Node) -> Value {
        self.value(reader, node, false);
        to_json(node)
    }

    fn value(self, reader: &mut Reader<'_>, node: &Node, in_list: bool) {
        let value = to_json(node);
        match (self.shape, &node.kind) {
            (Shape::Any, _) => {}
            (Shape::Nullable(_), _) if is_null(node) => {}
            (Shape::Nullable(inner), _) => {
                Fitting { shape: inner, ..self }.value(reader, node, in_list);
            }
            (Shape::Object(object), Kind::Map(_)) => self.fields(reader, node, object, in_list),
            (Shape::List(item, _), Kind::List(items)) => {
                for node in items {
                    Fitting { shape: item, ..self }.value(reader, node, true);
                }
            }
            (Shape::Enum(words), Kind::Scalar(_)) if value.is_string() => {
                let text = value.as_str().unwrap_or_default();
                if !words.iter().any(|word| word == text) {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let message = format!("{}: it is never '{}'", self.what, shown(node));
                    reader.error(NEVER_MET, &node.span, message).help(format!(
                        "{}one of: {}",
                        near(text, &words),
                        words.join(", ")
                    ));
                }
            }
            (Shape::Boolean, Kind::Scalar(_)) if value.is_boolean() => {}
            (Shape::Text(_), Kind::Scalar(_)) if value.is_string() => {}
            (Shape::Number(_), Kind::Scalar(_)) if value.is_number() => {}
            (Shape::Integer(_), Kind::Scalar(_))
                if value.as_f64().is_some_and(|number| number.fract() == 0.0) => {}
            (
                Shape::Boolean
                | Shape::Integer(_)
                | Shape::Number(_)
                | Shape::Text(_)
                | Shape::Enum(_)
                | Shape::List(..)
                | Shape::Object(_),
                _,
            ) => self.other(reader, node),
        }
    }

    fn fields(self, reader: &mut Reader<'_>, node: &Node, object: &Object, in_list: bool) {
        let Kind::Map(entries) = &node.kind else { return };
        for (key, value) in entries {
            if let Some(field) = object.field(&key.name) {
                Fitting { shape: &field.shape, ..self }.value(reader, value, in_list);
            } else if !object.open {
                let names: Vec<&str> = object.fields.iter().map(|f| f.name.as_str()).collect();
                let message = format!("{}: the output has no field '{}'", self.what, key.name);
                reader.error(UNKNOWN_FIELD, &key.span, message).help(format!(
                    "{}fields: {}",
                    near(&key.name, &names),
                    list(&names)
                ));
            }
        }
        let given = |name: &str| entries.iter().any(|(key, _)| key.name == name);
        let absent = object.fields.iter().find(|field| !field.optional && !given(&field.name));
        if let (true, Some(field)) = (in_list, absent) {
            let message = format!("{}: the field '{}' is missing here", self.what, field.name);
            reader
                .error(NEVER_MET, &node.span, message)
                .help("lists are compared exactly, with the objects in them; to look at some fields alone, use `check`");
        }
    }

    fn other(self, reader: &mut Reader<'_>, node: &Node) {
        let is = match to_json(node) {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        let message =
            format!("{}: the output is {} here, and never {is}", self.what, self.shape.describe());
        let text = matches!(self.shape, Shape::Text(_) | Shape::Enum(_));
        let found = reader.error(NEVER_MET, &node.span, message);
        if text && matches!(node.kind, Kind::Scalar(_)) && !is_null(node) {
            found.help(format!("nothing is coerced: quote it, \"{}\"", shown(node)));
        }
    }
}
