//! What two shapes have in common: the shape of `a ?? b`, of a list's items, and whether two can be equal.
use std::sync::Arc;

use crate::domain::finding::did_you_mean;
use crate::domain::shape::{Field, ListRange, Object, Range, Shape, TextRange};

/// The shape without its `| null`, and whether it had one.
pub fn strip(shape: Shape) -> (Shape, bool) {
    let mut shape = shape;
    let mut nullable = false;
    while let Shape::Nullable(inner) = shape {
        shape = Arc::unwrap_or_clone(inner);
        nullable = true;
    }
    (shape, nullable)
}

/// The shape, or null.
pub fn nullable(shape: Shape) -> Shape {
    match shape {
        Shape::Any | Shape::Nullable(_) => shape,
        other => Shape::Nullable(other.into()),
    }
}

/// The list that holds nothing, which agrees with every list.
pub fn empty_list() -> Shape {
    Shape::List(Shape::Any.into(), ListRange { min: None, max: Some(0) })
}

/// Whether it is the list that holds nothing.
pub fn is_empty_list(shape: &Shape) -> bool {
    matches!(shape, Shape::List(_, range) if range.max == Some(0))
}

/// The shape of a value that has one shape or the other; `None` where they have nothing in common.
pub fn union(a: &Shape, b: &Shape) -> Option<Shape> {
    if a == b {
        return Some(a.clone());
    }
    Some(match (a, b) {
        (Shape::Any, _) | (_, Shape::Any) => Shape::Any,
        (Shape::Nullable(inner), other) | (other, Shape::Nullable(inner)) => {
            nullable(union(inner, &strip(other.clone()).0)?)
        }
        (Shape::Integer(_), Shape::Integer(_)) => Shape::Integer(Range::default()),
        (Shape::Integer(_) | Shape::Number(_), Shape::Integer(_) | Shape::Number(_)) => {
            Shape::Number(Range::default())
        }
        (Shape::Enum(a), Shape::Enum(b)) => {
            let added = b.iter().filter(|word| !a.contains(word));
            Shape::Enum(a.iter().chain(added).cloned().collect())
        }
        (Shape::Text(_) | Shape::Enum(_), Shape::Text(_) | Shape::Enum(_)) => {
            Shape::Text(TextRange::default())
        }
        (Shape::List(..), list) if is_empty_list(a) => unbounded(list)?,
        (list, Shape::List(..)) if is_empty_list(b) => unbounded(list)?,
        (Shape::List(a, _), Shape::List(b, _)) => Shape::list(union(a, b)?),
        (Shape::Object(a), Shape::Object(b)) => objects(a, b)?.into(),
        _ => return None,
    })
}

/// Whether a value of one shape can equal one of the other.
pub fn comparable(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Any, _)
        | (_, Shape::Any)
        | (Shape::Object(_), Shape::Object(_))
        | (Shape::Boolean, Shape::Boolean) => true,
        (Shape::Nullable(inner), other) | (other, Shape::Nullable(inner)) => {
            comparable(inner, &strip(other.clone()).0)
        }
        (Shape::Enum(a), Shape::Enum(b)) => a.iter().any(|word| b.contains(word)),
        (Shape::List(a_item, _), Shape::List(b_item, _)) => {
            is_empty_list(a) || is_empty_list(b) || comparable(a_item, b_item)
        }
        _ => is_number(a) && is_number(b) || is_text(a) && is_text(b),
    }
}

/// Whether it holds numbers only.
pub fn is_number(shape: &Shape) -> bool {
    matches!(shape, Shape::Integer(_) | Shape::Number(_))
}

/// Whether it holds texts only.
pub fn is_text(shape: &Shape) -> bool {
    matches!(shape, Shape::Text(_) | Shape::Enum(_))
}

/// The value to write as a default for it: `[]`, `""`, `0`, `false`, else `null`.
pub fn empty_value(shape: &Shape) -> String {
    match shape {
        Shape::List(..) => "[]".to_owned(),
        Shape::Text(_) => "\"\"".to_owned(),
        Shape::Integer(_) | Shape::Number(_) => "0".to_owned(),
        Shape::Boolean => "false".to_owned(),
        Shape::Enum(words) => words.first().map_or("\"\"".to_owned(), |w| format!("{w:?}")),
        Shape::Nullable(inner) => empty_value(inner),
        Shape::Any | Shape::Object(_) => "null".to_owned(),
    }
}

/// What to say of two shapes whose values are never equal, and what was meant.
pub fn incomparable(a: &Shape, b: &Shape) -> (String, Option<String>) {
    let (a, b) = (strip(a.clone()).0, strip(b.clone()).0);
    let single = |s: &Shape| matches!(s, Shape::Enum(words) if words.len() == 1);
    let (words, word) = if single(&a) { (&b, &a) } else { (&a, &b) };
    if let (Shape::Enum(words), Shape::Enum(word)) = (words, word)
        && let [word] = &**word
    {
        let close = did_you_mean(word, words.iter().map(String::as_str));
        let message = format!("'{word}' is none of {}", words.join(" | "));
        return (message, close.map(|close| format!("did you mean '{close}'?")));
    }
    let message = format!("{} and {} are never equal", describe(&a), describe(&b));
    (message, Some("nothing is coerced: compare values of one type".to_owned()))
}

/// What is said of the first word of `item` that the enum `a` lacks: the words are a list that is written out, so
/// that each of them was meant.
pub fn stranger(a: &Shape, item: &Shape) -> Option<(String, Option<String>)> {
    let (Shape::Enum(words), Shape::Enum(said)) = (strip(a.clone()).0, strip(item.clone()).0)
    else {
        return None;
    };
    let word = said.iter().find(|word| !words.contains(word))?.clone();
    Some(incomparable(&Shape::Enum(words), &Shape::Enum([word].into())))
}

/// The shape in a message; a single word reads as a string.
pub fn describe(shape: &Shape) -> String {
    match shape {
        Shape::Enum(words) if words.len() == 1 => "string".to_owned(),
        Shape::Nullable(inner) if **inner == Shape::Any => "null".to_owned(),
        Shape::List(..) if is_empty_list(shape) => "[]".to_owned(),
        Shape::List(item, _) => format!("[{}]", describe(item)),
        other => other.describe(),
    }
}

fn unbounded(list: &Shape) -> Option<Shape> {
    match list {
        Shape::List(item, _) => Some(Shape::list((**item).clone())),
        _ => None,
    }
}

fn objects(a: &Object, b: &Object) -> Option<Object> {
    let known = |o: &Object, f: &Field| o.field(&f.name).is_some() || f.optional;
    if !a.fields.iter().all(|f| known(b, f)) || !b.fields.iter().all(|f| known(a, f)) {
        return None;
    }
    let mut fields = Vec::new();
    for field in &a.fields {
        fields.push(match b.field(&field.name) {
            Some(other) => Field {
                shape: union(&field.shape, &other.shape)?,
                optional: field.optional || other.optional,
                default: None,
                ..field.clone()
            },
            None => field.clone(),
        });
    }
    fields.extend(b.fields.iter().filter(|f| a.field(&f.name).is_none()).cloned());
    Some(Object { fields, open: a.open || b.open })
}
