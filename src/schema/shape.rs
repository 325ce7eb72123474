//! Shapes as JSON Schema and JSON Schema as shapes.

use serde_json::{Map, Number, Value, json};

use super::place;
use crate::domain::shape::{Field, ListRange, Object, Range, Shape, TextRange};

/// References and levels followed before the rest is `any`: a recursive schema has no finite shape.
const MAX_LEVELS: usize = 32;
/// Subschemas read before the rest is `any`: references can double a document at every level.
const MAX_READ: usize = 20_000;

pub(super) fn write(shape: &Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Integer(range) => number("integer", range),
        Shape::Number(range) => number("number", range),
        Shape::Text(range) => {
            let mut schema = typed("string");
            put(&mut schema, "minLength", range.min.map(Value::from));
            put(&mut schema, "maxLength", range.max.map(Value::from));
            put(&mut schema, "pattern", range.pattern.clone().map(Value::from));
            Value::Object(schema)
        }
        Shape::Enum(words) => json!({"type": "string", "enum": **words}),
        Shape::List(item, range) => {
            let mut schema = typed("array");
            schema.insert("items".to_owned(), write(item));
            put(&mut schema, "minItems", range.min.map(Value::from));
            put(&mut schema, "maxItems", range.max.map(Value::from));
            Value::Object(schema)
        }
        Shape::Object(object) => write_object(object),
        Shape::Nullable(inner) => json!({"anyOf": [write(inner), {"type": "null"}]}),
    }
}

fn write_object(object: &Object) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &object.fields {
        let mut schema = write(&field.shape);
        if let Value::Object(map) = &mut schema {
            put(map, "description", field.about.clone().map(Value::from));
            put(map, "default", field.default.clone());
        }
        properties.insert(field.name.clone(), schema);
        if !field.optional && field.default.is_none() {
            required.push(Value::from(field.name.as_str()));
        }
    }
    let mut schema = typed("object");
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), Value::Array(required));
    schema.insert("additionalProperties".to_owned(), Value::Bool(object.open));
    Value::Object(schema)
}

fn typed(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), Value::from(name))])
}

fn number(name: &str, range: &Range) -> Value {
    let mut schema = typed(name);
    put(&mut schema, "minimum", range.min.clone().map(Value::Number));
    put(&mut schema, "maximum", range.max.clone().map(Value::Number));
    Value::Object(schema)
}

fn put(schema: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        schema.insert(key.to_owned(), value);
    }
}

pub(super) fn read(schema: &Value) -> Shape {
    Reader { root: schema, read: 0 }.read(schema, 0)
}

struct Reader<'a> {
    root: &'a Value,
    read: usize,
}

impl Reader<'_> {
    fn read(&mut self, schema: &Value, level: usize) -> Shape {
        self.read += 1;
        let Value::Object(map) = schema else { return Shape::Any };
        if level > MAX_LEVELS || self.read > MAX_READ {
            return Shape::Any;
        }
        if let Some(reference) = map.get("$ref") {
            // Siblings of a reference narrow it further; the shape stays true without them.
            let target = reference.as_str().and_then(|r| place::resolve(self.root, r));
            return target.map_or(Shape::Any, |(_, target)| self.read(target, level + 1));
        }
        let words = map.get("enum").and_then(Value::as_array).map(Vec::as_slice);
        let words = words.or_else(|| map.get("const").map(std::slice::from_ref));
        if let Some(shape) = words.and_then(words_of) {
            return shape;
        }
        match map.get("type") {
            Some(Value::String(name)) => self.read_type(name, map, level),
            Some(Value::Array(names)) => self.read_types(names, map, level),
            _ => self.read_alternatives(map, level),
        }
    }

    /// `["string", "null"]`; other unions are no shape.
    fn read_types(&mut self, names: &[Value], map: &Map<String, Value>, level: usize) -> Shape {
        let others: Vec<&str> =
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect();
        let [only] = others.as_slice() else { return Shape::Any };
        let shape = self.read_type(only, map, level);
        if names.len() > 1 { nullable(shape) } else { shape }
    }

    /// `anyOf`/`oneOf` of one schema and null; other alternatives are no shape.
    fn read_alternatives(&mut self, map: &Map<String, Value>, level: usize) -> Shape {
        let Some(list) = map.get("anyOf").or_else(|| map.get("oneOf")).and_then(Value::as_array)
        else {
            return Shape::Any;
        };
        let is_null = |schema: &&Value| schema.get("type") == Some(&Value::from("null"));
        let mut others = list.iter().filter(|schema| !is_null(schema));
        match (others.next(), others.next()) {
            (Some(only), None) => {
                let shape = self.read(only, level + 1);
                if list.len() > 1 { nullable(shape) } else { shape }
            }
            _ => Shape::Any,
        }
    }

    fn read_type(&mut self, name: &str, map: &Map<String, Value>, level: usize) -> Shape {
        let count = |key: &str| map.get(key).and_then(Value::as_u64);
        match name {
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer(range(map)),
            "number" => Shape::Number(range(map)),
            "string" => Shape::Text(TextRange {
                min: count("minLength"),
                max: count("maxLength"),
                pattern: map.get("pattern").and_then(Value::as_str).map(str::to_owned),
            }),
            "array" => {
                let item = if map.contains_key("prefixItems") {
                    Shape::Any
                } else {
                    map.get("items").map_or(Shape::Any, |items| self.read(items, level + 1))
                };
                let range = ListRange { min: count("minItems"), max: count("maxItems") };
                Shape::List(item.into(), range)
            }
            "object" => self.read_object(map, level).into(),
            _ => Shape::Any,
        }
    }

    fn read_object(&mut self, map: &Map<String, Value>, level: usize) -> Object {
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut fields = Vec::new();
        let properties = map.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            fields.push(Field {
                name: name.clone(),
                shape: self.read(schema, level + 1),
                optional: !required.contains(&name.as_str()),
                default: schema.get("default").cloned(),
                about: schema.get("description").and_then(Value::as_str).map(str::to_owned),
            });
        }
        for name in required {
            if !fields.iter().any(|field| field.name == name) {
                fields.push(Field {
                    name: name.to_owned(),
                    shape: Shape::Any,
                    optional: false,
                    default: None,
                    about: None,
                });
            }
        }
        let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
        Object { fields, open: !closed || map.contains_key("patternProperties") }
    }
}

fn nullable(shape: Shape) -> Shape {
    match shape {
        Shape::Any => Shape::Any,
        Shape::Nullable(_) => shape,
        shape => Shape::Nullable(shape.into()),
    }
}

/// An enum of strings, with or without null among them.
fn words_of(values: &[Value]) -> Option<Shape> {
    let words: Vec<String> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let nulls = values.iter().filter(|value| value.is_null()).count();
    match (words.len() + nulls == values.len(), words.is_empty(), nulls) {
        (true, false, 0) => Some(Shape::Enum(words.into())),
        (true, false, _) => Some(nullable(Shape::Enum(words.into()))),
        _ => None,
    }
}

fn range(map: &Map<String, Value>) -> Range {
    let limit = |key: &str| match map.get(key) {
        Some(Value::Number(number)) => Some::<Number>(number.clone()),
        _ => None,
    };
    Range { min: limit("minimum"), max: limit("maximum") }
}
