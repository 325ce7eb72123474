//! What a schema must keep to before it is compiled: a size, a depth, references inside the document that
//! lead somewhere and never back to the same place without going deeper into the value.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{SchemaError, place};

/// Levels of a schema document, its data included.
pub(super) const MAX_DEPTH: usize = 64;
/// JSON values in a schema document, also after its references are inlined.
pub(super) const MAX_NODES: usize = 20_000;

/// The one draft read here.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

pub(super) fn check(source: &Value) -> Result<(), SchemaError> {
    size(source)?;
    if let Some(draft) = source.get("$schema")
        && draft.as_str().map(|d| d.trim_end_matches('#')) != Some(DRAFT)
    {
        return Err(SchemaError::at(
            "/$schema",
            format!(
                "only JSON Schema 2020-12 is read, not {draft}; use \"{DRAFT}\" or leave it out"
            ),
        ));
    }
    references(source)
}

fn size(source: &Value) -> Result<(), SchemaError> {
    let mut open = vec![(source, 1_usize)];
    let mut nodes = 0_usize;
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        if nodes > MAX_NODES {
            return Err(SchemaError::at(
                "",
                format!("the schema holds more than {MAX_NODES} values"),
            ));
        }
        if depth > MAX_DEPTH {
            return Err(SchemaError::at(
                "",
                format!("the schema is more than {MAX_DEPTH} levels deep"),
            ));
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// Every reference is local and found; none leads back to itself at the same value.
fn references(root: &Value) -> Result<(), SchemaError> {
    let mut edges: HashMap<String, Vec<String>> = HashMap::new();
    let mut open = vec![(String::new(), root)];
    let mut seen = HashSet::new();
    while let Some((pointer, schema)) = open.pop() {
        let Value::Object(map) = schema else { continue };
        // A reference may point into a place that is no schema by its keyword.
        if !seen.insert(pointer.clone()) {
            continue;
        }
        // Inside a part with an id of its own, `#` would mean that part.
        if !pointer.is_empty() && map.contains_key("$id") {
            return Err(SchemaError::at(
                place::join(&pointer, "$id"),
                "only the root of a schema may have an '$id'; leave this one out",
            ));
        }
        let mut same = Vec::new();
        for keyword in ["$ref", "$dynamicRef"] {
            let Some(reference) = map.get(keyword) else { continue };
            let (target, found) = follow(root, &place::join(&pointer, keyword), reference)?;
            same.push(target.clone());
            open.push((target, found));
        }
        place::each(map, &pointer, &mut |keyword, child, schema| {
            if place::same_value(keyword) {
                same.push(child.clone());
            }
            open.push((child, schema));
        });
        edges.insert(pointer, same);
    }
    acyclic(&edges)
}

fn follow<'a>(
    root: &'a Value,
    pointer: &str,
    reference: &Value,
) -> Result<(String, &'a Value), SchemaError> {
    let Some(reference) = reference.as_str() else {
        return Err(SchemaError::at(pointer, format!("a reference is a string, not {reference}")));
    };
    if !reference.starts_with('#') {
        return Err(SchemaError::at(
            pointer,
            format!(
                "'{reference}' leads outside the document; nothing is fetched: copy it under $defs \
                 and refer to '#/$defs/…'"
            ),
        ));
    }
    place::resolve(root, reference)
        .ok_or_else(|| SchemaError::at(pointer, format!("'{reference}' is not in the document")))
}

/// Depth-first over edges that stay at the same value; a way back to an open node would never end.
fn acyclic(edges: &HashMap<String, Vec<String>>) -> Result<(), SchemaError> {
    let mut starts: Vec<&String> = edges.keys().collect();
    starts.sort();
    let mut done: HashSet<&str> = HashSet::new();
    for start in starts {
        let mut way: Vec<(&str, usize)> = vec![(start, 0)];
        let mut open: HashSet<&str> = HashSet::from([start.as_str()]);
        if done.contains(start.as_str()) {
            continue;
        }
        while let Some((node, next)) = way.last_mut() {
            let node = *node;
            let Some(target) = edges.get(node).and_then(|targets| targets.get(*next)) else {
                done.insert(node);
                open.remove(node);
                way.pop();
                continue;
            };
            *next += 1;
            if open.contains(target.as_str()) {
                return Err(SchemaError::at(
                    node,
                    "the reference leads back to itself without going into the value",
                ));
            }
            if !done.contains(target.as_str()) {
                open.insert(target);
                way.push((target, 0));
            }
        }
    }
    Ok(())
}
