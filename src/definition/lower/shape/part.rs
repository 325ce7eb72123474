//! Small pieces of shapes and of their schemas.

use serde_json::Value;

use crate::definition::lower::shape::Typed;
use crate::domain::shape::Shape;
use crate::schema::Schema;

/// The alternatives of `text`, not split inside brackets.
pub fn split_top(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// A list of an item.
pub fn list(item: Typed) -> Typed {
    let shape = Shape::list(item.shape);
    let embedded = item.embedded.map(|inner| {
        let mut schema = Schema::of_shape(&shape);
        if let Some(map) = schema.as_object_mut() {
            map.insert("items".to_owned(), inner);
        }
        schema
    });
    Typed { embedded, unknown: item.unknown, parts: item.parts + 1, ..Typed::of(shape) }
}

/// Puts a field's own schema in the place of what its shape says, annotations kept.
pub fn put_field(schema: &mut Value, name: &str, mut part: Value) {
    let Some(slot) = schema.get_mut("properties").and_then(|p| p.get_mut(name)) else { return };
    if let Value::Object(map) = &mut part {
        for key in ["description", "default"] {
            if let Some(said) = slot.get(key) {
                map.insert(key.to_owned(), said.clone());
            }
        }
    }
    *slot = part;
}

/// Whether a schema refers to anything.
pub fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("$ref") || map.values().any(has_reference),
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

/// What to write for a type of another language.
pub fn foreign(word: &str) -> Option<String> {
    let one = |is: &str| Some(format!("write {is}"));
    if word.contains(' ') {
        return Some(
            "a shape is a type, as string; what it is for goes into {$type: string, $about: \"…\"}"
                .to_owned(),
        );
    }
    if let Some(inner) = word.strip_suffix("[]") {
        return one(&format!("[{}]", type_of(inner).unwrap_or(inner)));
    }
    if let Some(inner) = word.strip_suffix('?') {
        let inner = type_of(inner).unwrap_or(inner);
        return Some(format!(
            "write `key?: {inner}` for one that may be left out, `{inner} | null` for null"
        ));
    }
    match word.to_ascii_lowercase().as_str() {
        "array" | "list" | "tuple" | "set" => {
            one("[string], with the shape of an item between the brackets")
        }
        "object" | "dict" | "map" | "record" | "struct" => one("{field: string}, with its fields"),
        "date" | "datetime" | "time" | "timestamp" => {
            one("string; `$pattern` or `$about` says in which form")
        }
        "optional" => one("`key?: string` for one that may be left out"),
        "enum" => one("the words: low | high"),
        _ => type_of(word).and_then(one),
    }
}

fn type_of(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "str" | "text" | "string" | "varchar" | "char" => Some("string"),
        "int" | "integer" | "long" | "int32" | "int64" => Some("integer"),
        "float" | "double" | "decimal" | "number" => Some("number"),
        "bool" | "boolean" => Some("boolean"),
        "json" | "unknown" | "mixed" => Some("any"),
        _ => None,
    }
}
