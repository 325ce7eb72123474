//! Where the schemas inside a schema stand. A walk that does not know the keywords would take a property
//! named `$ref`, or a `const`, `enum` or `default` that holds one, for a reference.

use serde_json::{Map, Value};

/// What stands under a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// One schema.
    One,
    /// A list of schemas.
    List,
    /// A mapping of names to schemas.
    Named,
    /// No schema.
    Other,
}

/// What stands under `keyword` in JSON Schema 2020-12 (and `definitions`, its older spelling).
pub(super) fn of(keyword: &str) -> Place {
    match keyword {
        "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Place::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Place::List,
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            Place::Named
        }
        _ => Place::Other,
    }
}

/// Whether a schema under `keyword` judges the same value as the schema it stands in.
pub(super) fn same_value(keyword: &str) -> bool {
    matches!(
        keyword,
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
    )
}

/// Calls `visit` with the keyword, pointer and schema of each direct subschema.
pub(super) fn each<'a>(
    schema: &'a Map<String, Value>,
    pointer: &str,
    visit: &mut dyn FnMut(&'a str, String, &'a Value),
) {
    for (keyword, value) in schema {
        match (of(keyword), value) {
            (Place::One, _) => visit(keyword, join(pointer, keyword), value),
            (Place::List, Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    visit(keyword, format!("{}/{index}", join(pointer, keyword)), item);
                }
            }
            (Place::Named, Value::Object(map)) => {
                for (name, item) in map {
                    visit(keyword, join(&join(pointer, keyword), name), item);
                }
            }
            (Place::List | Place::Named | Place::Other, _) => {}
        }
    }
}

/// `pointer` with one more segment, escaped as RFC 6901 wants it.
pub(super) fn join(pointer: &str, segment: &str) -> String {
    format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"))
}

/// The schema a local reference names: `#`, `#/$defs/a` (percent-decoded) or `#anchor`.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<(String, &'a Value)> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        let pointer = percent_decoded(fragment)?;
        return root.pointer(&pointer).map(|found| (pointer, found));
    }
    let mut open = vec![(String::new(), root)];
    while let Some((pointer, schema)) = open.pop() {
        let Value::Object(map) = schema else { continue };
        if ["$anchor", "$dynamicAnchor"].iter().any(|k| map.get(*k) == Some(&Value::from(fragment)))
        {
            return Some((pointer, schema));
        }
        each(map, &pointer, &mut |_, pointer, child| open.push((pointer, child)));
    }
    None
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let hex = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
