//! `$min`, `$max` and `$pattern`.

use std::fmt::Display;
use std::sync::Arc;

use serde_json::Value;

use crate::definition::lower::answer::BAD_SCHEMA;
use crate::definition::lower::shape::ANNOTATION;
use crate::definition::page::{Reader, WRONG_VALUE, shown, to_json};
use crate::definition::yaml::{Key, Node};
use crate::domain::shape::{ListRange, Shape, TextRange};
use crate::schema::Schema;

/// Applies `$min`, `$max` or `$pattern`.
pub fn bound(reader: &mut Reader<'_>, shape: &mut Shape, key: &Key, value: &Node, owner: &str) {
    let what = format_args!("{owner}: `{}`", key.name);
    let least = key.name == "$min";
    match (shape, key.name.as_str()) {
        (Shape::Nullable(inner), _) => bound(reader, Arc::make_mut(inner), key, value, owner),
        (Shape::Text(range), "$pattern") => pattern(reader, range, value, what),
        (Shape::Integer(range) | Shape::Number(range), "$min" | "$max") => {
            let Value::Number(number) = to_json(value) else {
                reader.number(value, what, f64::MIN..=f64::MAX);
                return;
            };
            *(if least { &mut range.min } else { &mut range.max }) = Some(number);
            let pair = range.min.as_ref().zip(range.max.as_ref());
            let crossed = pair.is_some_and(|(min, max)| min.as_f64() > max.as_f64());
            crossed_bounds(reader, value, crossed);
        }
        (
            Shape::Text(TextRange { min, max, .. }) | Shape::List(_, ListRange { min, max }),
            "$min" | "$max",
        ) => {
            let read = reader.integer(value, what, 0..=u64::MAX).map(|n| n.value);
            *(if least { &mut *min } else { &mut *max }) = read;
            let crossed = (*min).zip(*max).is_some_and(|(min, max)| min > max);
            crossed_bounds(reader, value, crossed);
        }
        (other, _) => {
            let message = format!("{what} means nothing for {}", other.describe());
            reader.error(ANNOTATION, &key.span, message).help(
                "`$min` and `$max` bound numbers and lengths of text and lists; `$pattern` text",
            );
        }
    }
}

fn crossed_bounds(reader: &mut Reader<'_>, value: &Node, crossed: bool) {
    if crossed {
        reader.error(WRONG_VALUE, &value.span, "`$min` is greater than `$max`");
    }
}

fn pattern(
    reader: &mut Reader<'_>,
    range: &mut TextRange,
    value: &Node,
    what: impl Display + Copy,
) {
    let Some(text) = reader.text(value, what) else { return };
    let schema = serde_json::json!({"type": "string", "pattern": text.value});
    match Schema::compile(schema) {
        Ok(_) => range.pattern = Some(text.value),
        Err(error) => {
            let reason = if error.message.contains("is not a \"regex\"") {
                "it is no regular expression".to_owned()
            } else {
                error.message
            };
            let message = format!("{what}: '{}' cannot be used: {reason}", shown(value));
            reader
                .error(BAD_SCHEMA, &value.span, message)
                .help("patterns run in linear time: no look-around, no back-references; `\\(` is a plain bracket");
        }
    }
}
