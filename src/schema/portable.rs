//! The form of a schema that every MCP client takes. Clients reject whole tool sets over one schema with a
//! root `anyOf`, drop tools over a `$ref`, or refuse names beyond 64 characters (the reports are listed in
//! the reference notes on client realities); MCP Inspector's strict lint reports bare `true`, empty schemas
//! and lists of types. So references are inlined, unions of types become `anyOf`, and "anything" is spelt out.
//!
//! The rewritten schema accepts the same values as the original; nothing is validated against it here.

use serde_json::{Map, Value, json};

use super::SchemaError;
use super::bound::{MAX_DEPTH, MAX_NODES};
use super::place::{self, Place};
use crate::domain::shape::Shape;

/// Characters of a property's name: one Anthropic surface rejects longer ones.
pub const MAX_NAME: usize = 64;

/// Keywords that only a whole document needs, or that only people read.
const DROPPED: [&str; 8] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "definitions",
];
/// Keywords that say nothing about the value.
const ANNOTATIONS: [&str; 7] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];
/// Keywords that hold a bare `true` or `false` in every client.
const BOOLEAN: [&str; 3] = ["additionalProperties", "unevaluatedItems", "unevaluatedProperties"];
/// Keywords at the root that make clients drop the tool.
const NOT_AT_ROOT: [&str; 4] = ["oneOf", "anyOf", "allOf", "if"];

/// `schema` for a tool's `inputSchema` or `outputSchema`: an object at the root, references inlined.
///
/// # Errors
/// A root that is no plain object, a recursive reference, a reference outside the document, a name beyond
/// [`MAX_NAME`], or a document that grows past 20,000 nodes or 64 levels when inlined.
pub fn inline(schema: &Value) -> Result<Value, SchemaError> {
    let inlined = flatten(schema)?;
    let kind = inlined.get("type");
    if kind != Some(&Value::from("object")) {
        return Err(SchemaError::at(
            "/type",
            "a tool's schema must say 'type: object' at its root; clients reject anything else",
        ));
    }
    match NOT_AT_ROOT.iter().find(|keyword| inlined.get(**keyword).is_some()) {
        None => Ok(inlined),
        Some(keyword) => Err(SchemaError::at(
            format!("/{keyword}"),
            format!(
                "clients reject '{keyword}' at the root of a tool's schema; move it into a field, \
                 or list the fields as optional"
            ),
        )),
    }
}

/// Whether the schema of a shape is portable without a look at each of its parts.
pub(super) fn is_plain(shape: &Shape) -> bool {
    matches!(shape, Shape::Object(_))
        && plain_parts(shape, 1).is_some_and(|parts| parts < MAX_NODES)
}

/// Parts of the schema of a shape, at most; `None` where it is deep, or a name too long.
fn plain_parts(shape: &Shape, depth: usize) -> Option<usize> {
    if depth >= MAX_DEPTH {
        return None;
    }
    Some(match shape {
        Shape::Object(object) => {
            let mut parts = 1;
            for field in &object.fields {
                // Characters are counted elsewhere, and are not more than bytes.
                parts += plain_parts(&field.shape, depth + 1)
                    .filter(|_| field.name.len() <= MAX_NAME)?;
            }
            parts
        }
        Shape::List(inner, _) | Shape::Nullable(inner) => 2 + plain_parts(inner, depth + 1)?,
        _ => 1,
    })
}

/// The same without conditions on the root.
pub(super) fn flatten(schema: &Value) -> Result<Value, SchemaError> {
    let mut flat = schema.clone();
    let mut inliner = Inliner { root: schema, open: Vec::new(), nodes: 0 };
    inliner.inline("", Way::From(""), &mut flat, 0)?;
    Ok(flat)
}

/// The way to a part of a schema. It becomes a pointer where one is needed, which is almost nowhere.
#[derive(Clone, Copy)]
enum Way<'a> {
    From(&'a str),
    Named(&'a Way<'a>, &'a str),
    Item(&'a Way<'a>, usize),
}

impl Way<'_> {
    fn pointer(self) -> String {
        match self {
            Self::From(pointer) => pointer.to_owned(),
            Self::Named(way, name) => place::join(&way.pointer(), name),
            Self::Item(way, index) => format!("{}/{index}", way.pointer()),
        }
    }

    const fn is_root(self) -> bool {
        matches!(self, Self::From(pointer) if pointer.is_empty())
    }
}

/// Rewrites a copy of `root` in place.
struct Inliner<'a> {
    root: &'a Value,
    /// Pointers of the references being inlined.
    open: Vec<String>,
    nodes: usize,
}

impl Inliner<'_> {
    fn inline(
        &mut self,
        keyword: &str,
        way: Way<'_>,
        schema: &mut Value,
        depth: usize,
    ) -> Result<(), SchemaError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || depth > MAX_DEPTH {
            let message = format!(
                "with its references inlined the schema has more than {MAX_NODES} parts or {MAX_DEPTH} levels"
            );
            return Err(SchemaError::at(way.pointer(), message));
        }
        let map = match schema {
            Value::Bool(_) if BOOLEAN.contains(&keyword) => return Ok(()),
            Value::Bool(accepts) => {
                *schema = if *accepts { anything(Map::new()).into() } else { json!({"not": {}}) };
                return Ok(());
            }
            Value::Object(map) => map,
            _ => return Err(SchemaError::at(way.pointer(), "a schema is an object or a boolean")),
        };
        if map.contains_key("$dynamicRef") {
            let message = "'$dynamicRef' cannot be inlined; use '$ref'";
            return Err(SchemaError::at(Way::Named(&way, "$dynamicRef").pointer(), message));
        }
        let Some(reference) = map.get("$ref") else {
            return self.inline_parts(keyword, way, map, depth);
        };
        let target = self.inline_target(way, reference, depth)?;
        let mut rest = std::mem::take(map);
        rest.shift_remove("$ref");
        rest.retain(|key, _| !DROPPED.contains(&key.as_str()));
        let annotations = taken(&mut rest, |key| ANNOTATIONS.contains(&key));
        *schema = if rest.is_empty() {
            target
        } else {
            self.inline_parts(keyword, way, &mut rest, depth)?;
            json!({"allOf": [target, rest]})
        };
        if let Value::Object(schema) = schema {
            schema.extend(annotations);
        }
        Ok(())
    }

    fn inline_target(
        &mut self,
        way: Way<'_>,
        reference: &Value,
        depth: usize,
    ) -> Result<Value, SchemaError> {
        let pointer = way.pointer();
        let here = place::join(&pointer, "$ref");
        let name = reference.as_str().unwrap_or_default();
        let root = self.root;
        let Some((target, found)) = place::resolve(root, name) else {
            return Err(SchemaError::at(here, format!("{reference} is not in the document")));
        };
        if pointer.starts_with(&format!("{target}/")) || self.open.contains(&target) {
            return Err(SchemaError::at(
                here,
                format!(
                    "'{name}' is recursive; clients do not follow references, so it cannot be inlined"
                ),
            ));
        }
        self.open.push(target.clone());
        let mut inlined = found.clone();
        self.inline("", Way::From(&target), &mut inlined, depth + 1)?;
        self.open.pop();
        Ok(inlined)
    }

    fn inline_parts(
        &mut self,
        keyword: &str,
        way: Way<'_>,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), SchemaError> {
        let long = map
            .get("properties")
            .and_then(Value::as_object)
            .and_then(|properties| properties.keys().find(|name| name.chars().count() > MAX_NAME));
        if let Some(name) = long {
            return Err(SchemaError::at(
                Way::Named(&way, "properties").pointer(),
                format!(
                    "the field's name '{name}' is longer than {MAX_NAME} characters; clients reject it"
                ),
            ));
        }
        map.retain(|key, _| !DROPPED.contains(&key.as_str()));
        for (keyword, value) in map.iter_mut() {
            let way = Way::Named(&way, keyword);
            match (place::of(keyword), value) {
                (Place::One, value) => self.inline(keyword, way, value, depth + 1)?,
                (Place::List, Value::Array(list)) => {
                    for (index, item) in list.iter_mut().enumerate() {
                        self.inline(keyword, Way::Item(&way, index), item, depth + 1)?;
                    }
                }
                (Place::Named, Value::Object(named)) => {
                    for (name, item) in named.iter_mut() {
                        self.inline(keyword, Way::Named(&way, name), item, depth + 1)?;
                    }
                }
                (Place::List | Place::Named | Place::Other, _) => {}
            }
        }
        if map.keys().next().is_some_and(|first| first != "type" || map["type"].is_array())
            && let Some(kind) = map.shift_remove("type")
        {
            let rest = std::mem::take(map);
            *map = match kind {
                Value::Array(types) => one_type_each(types, rest),
                // Back at its place in front, where people look for it.
                kind => [("type".to_owned(), kind)].into_iter().chain(rest).collect(),
            };
        }
        let says_nothing = map.keys().all(|key| ANNOTATIONS.contains(&key.as_str()));
        let as_it_is = keyword == "not" || way.is_root();
        if says_nothing && !as_it_is {
            *map = anything(std::mem::take(map));
        }
        Ok(())
    }
}

/// A schema that every value fits, as no client's lint objects to it: each type is named, and a list names
/// its items without bounding them.
fn anything(annotations: Map<String, Value>) -> Map<String, Value> {
    let mut schema = annotations;
    schema.insert(
        "anyOf".to_owned(),
        json!([
            {"type": "string"},
            {"type": "number"},
            {"type": "boolean"},
            {"type": "null"},
            {"type": "object", "additionalProperties": true},
            {"type": "array", "items": {"description": "Any JSON value.", "minProperties": 0}},
        ]),
    );
    schema
}

/// A list of types as alternatives of one type, each with the keywords that mean something for it.
fn one_type_each(types: Vec<Value>, mut schema: Map<String, Value>) -> Map<String, Value> {
    let annotations = taken(&mut schema, |key| ANNOTATIONS.contains(&key));
    let mut branches = Vec::new();
    for kind in types {
        let name = kind.as_str().unwrap_or_default();
        let mut branch = Map::from_iter([("type".to_owned(), kind.clone())]);
        for (keyword, value) in schema.iter().filter(|(keyword, _)| concerns(keyword, name)) {
            branch.insert(keyword.clone(), value.clone());
        }
        if let Some(Value::Array(words)) = branch.get_mut("enum") {
            words.retain(|word| is_of_type(word, name));
            if words.is_empty() {
                continue;
            }
        }
        branches.push(branch);
    }
    let mut result = match <[_; 1]>::try_from(branches) {
        Ok([only]) => only,
        Err(branches) => Map::from_iter([("anyOf".to_owned(), Value::from_iter(branches))]),
    };
    result.extend(annotations);
    result
}

/// Whether `keyword` constrains values of a type; those that constrain any do.
fn concerns(keyword: &str, kind: &str) -> bool {
    match keyword {
        "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
        | "contentMediaType" | "contentSchema" => kind == "string",
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            matches!(kind, "number" | "integer")
        }
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains"
        | "minContains" | "maxContains" | "unevaluatedItems" => kind == "array",
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "required"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties" => kind == "object",
        _ => true,
    }
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number"
                || (kind == "integer" && number.as_f64().is_some_and(|n| n.fract() == 0.0))
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// Takes the entries whose key is `wanted` out of `map`.
fn taken(map: &mut Map<String, Value>, wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
    let (taken, kept) = std::mem::take(map).into_iter().partition(|(key, _)| wanted(key));
    *map = kept;
    taken
}
