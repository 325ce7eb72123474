//! What a provider's constrained decoding takes of a schema. A provider answers 400 to a keyword beyond its
//! subset, so what it does not know is left out and said in the description instead. The full schema is
//! validated here in any case: a projection may ask for less, never for something else.

use serde_json::{Map, Value, json};

use super::portable;
use super::subset::{Rules, rules};
use crate::domain::model::Subset;

/// `schema` in a provider's subset. `None` where the subset cannot say it: an object with free keys where objects must
/// be closed, a value of any type, recursion, alternatives by `allOf` or `if`, or more of anything than it takes; the
/// caller then asks in another way.
///
/// Where the subset wants every key, an optional one may be null: [`super::Schema::drop_absent`] takes such nulls out
/// of the answer.
#[must_use]
pub fn project(schema: &Value, subset: Subset) -> Option<Value> {
    let flat = portable::inline(schema).ok()?;
    let rules = rules(subset);
    if rules.whole {
        return Some(flat);
    }
    let mut projector = Projector::new(rules);
    let projected = projector.project(&flat, 0)?;
    projector.fits().then_some(projected)
}

struct Projector {
    rules: Rules,
    properties: usize,
    optional: usize,
    unions: usize,
    words: usize,
    characters: usize,
    /// Whether an alternative of a union is looked at, whose nulls nobody takes out again.
    in_union: bool,
}

impl Projector {
    const fn new(rules: Rules) -> Self {
        let (properties, optional, unions, words, characters) = (0, 0, 0, 0, 0);
        Self { rules, properties, optional, unions, words, characters, in_union: false }
    }

    fn fits(&self) -> bool {
        let Rules { properties, optional, unions, words, characters, .. } = self.rules;
        self.properties <= properties
            && self.optional <= optional
            && self.unions <= unions
            && self.words <= words
            && self.characters <= characters
    }

    fn project(&mut self, schema: &Value, level: usize) -> Option<Value> {
        let map = schema.as_object()?;
        if level > self.rules.levels {
            return None;
        }
        let mut projected = Map::new();
        let mut said: Vec<String> = Vec::new();
        match map.get("type").and_then(Value::as_str) {
            Some("object") => self.project_object(map, level, &mut projected)?,
            Some("array") => {
                let items = self.project(map.get("items")?, level + 1)?;
                projected.insert("type".to_owned(), "array".into());
                projected.insert("items".to_owned(), items);
            }
            Some(name @ ("string" | "integer" | "number" | "boolean" | "null")) => {
                projected.insert("type".to_owned(), name.into());
            }
            Some(_) => return None,
            None => self.project_untyped(map, level, &mut projected)?,
        }
        self.project_words(map, &mut projected)?;
        for (keyword, value) in map {
            match keyword.as_str() {
                "type"
                | "properties"
                | "required"
                | "additionalProperties"
                | "items"
                | "anyOf"
                | "oneOf"
                | "enum"
                | "const"
                | "description"
                | "title"
                | "default"
                | "examples" => {}
                // These decide what keys or items there are: without them the projection misleads.
                "allOf"
                | "if"
                | "prefixItems"
                | "patternProperties"
                | "dependentSchemas"
                | "unevaluatedProperties"
                | "unevaluatedItems" => return None,
                kept if self.rules.kept.contains(&kept) => {
                    projected.insert(keyword.clone(), value.clone());
                }
                _ => said.extend(sentence(keyword, value)),
            }
        }
        let description = map.get("description").and_then(Value::as_str).unwrap_or_default();
        said.insert(0, description.to_owned());
        let description = said.join(" ").trim().to_owned();
        if !description.is_empty() {
            projected.insert("description".to_owned(), description.into());
        }
        Some(Value::Object(projected))
    }

    fn project_object(
        &mut self,
        map: &Map<String, Value>,
        level: usize,
        projected: &mut Map<String, Value>,
    ) -> Option<()> {
        let more = map.get("additionalProperties");
        let closed = more == Some(&Value::Bool(false));
        // An object that may hold further keys would be closed to them.
        if self.rules.closed && !closed {
            return None;
        }
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut properties = Map::new();
        let mut names = Vec::new();
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let mut property = self.project(schema, level + 1)?;
            self.properties += 1;
            self.characters += name.chars().count();
            let is_required = required.contains(&name.as_str());
            if !is_required {
                self.optional += 1;
                if self.rules.all_required {
                    property = self.nullable(property)?;
                }
            }
            if is_required || self.rules.all_required {
                names.push(Value::from(name.as_str()));
            }
            properties.insert(name.clone(), property);
        }
        // A required key without a schema cannot be asked for in a closed object.
        if closed && required.iter().any(|name| !properties.contains_key(*name)) {
            return None;
        }
        projected.insert("type".to_owned(), "object".into());
        projected.insert("properties".to_owned(), properties.into());
        if closed {
            projected.insert("required".to_owned(), names.into());
            projected.insert("additionalProperties".to_owned(), false.into());
            return Some(());
        }
        projected.insert("required".to_owned(), json!(required));
        if let Some(more) = more {
            let more = if more.is_object() { self.project(more, level + 1)? } else { more.clone() };
            projected.insert("additionalProperties".to_owned(), more);
        }
        Some(())
    }

    /// Alternatives; every subset knows `anyOf` only. What `oneOf` excludes is left to validation.
    fn project_untyped(
        &mut self,
        map: &Map<String, Value>,
        level: usize,
        projected: &mut Map<String, Value>,
    ) -> Option<()> {
        if map.contains_key("enum") || map.contains_key("const") {
            return Some(());
        }
        let alternatives = map.get("anyOf").or_else(|| map.get("oneOf"))?.as_array()?;
        if !self.rules.alternatives {
            return None;
        }
        self.unions += 1;
        let null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
        let real = alternatives.len() - alternatives.iter().filter(null).count();
        let outer = self.in_union;
        self.in_union |= real > 1;
        let alternatives: Option<Vec<Value>> =
            alternatives.iter().map(|schema| self.project(schema, level)).collect();
        self.in_union = outer;
        projected.insert("anyOf".to_owned(), alternatives?.into());
        Some(())
    }

    /// An enum or constant of plain values, as an enum.
    fn project_words(
        &mut self,
        map: &Map<String, Value>,
        projected: &mut Map<String, Value>,
    ) -> Option<()> {
        let words = match (map.get("enum"), map.get("const")) {
            (Some(words), _) => words.as_array()?.clone(),
            (None, Some(word)) => vec![word.clone()],
            (None, None) => return Some(()),
        };
        if words.iter().any(|word| word.is_object() || word.is_array()) {
            return None;
        }
        self.words += words.len();
        let texts = words.iter().filter_map(Value::as_str);
        self.characters += texts.map(|text| text.chars().count()).sum::<usize>();
        if !projected.contains_key("type") && words.iter().all(Value::is_string) {
            projected.insert("type".to_owned(), "string".into());
        }
        projected.insert("enum".to_owned(), words.into());
        Some(())
    }

    /// The property, or null. Its description stays on top, where the model reads it.
    fn nullable(&mut self, property: Value) -> Option<Value> {
        if self.in_union || !self.rules.alternatives {
            return None;
        }
        let Value::Object(mut map) = property else { return Some(property) };
        let or_null = json!({"type": "null"});
        if let Some(Value::Array(alternatives)) = map.get_mut("anyOf") {
            if !alternatives.contains(&or_null) {
                alternatives.push(or_null);
            }
            return Some(Value::Object(map));
        }
        let description = map.shift_remove("description");
        let mut result = Map::from_iter([("anyOf".to_owned(), json!([map, or_null]))]);
        if let Some(description) = description {
            result.insert("description".to_owned(), description);
        }
        Some(Value::Object(result))
    }
}

/// A bound in words, for the description.
fn sentence(keyword: &str, value: &Value) -> Option<String> {
    Some(match keyword {
        "minimum" => format!("At least {value}."),
        "maximum" => format!("At most {value}."),
        "exclusiveMinimum" => format!("More than {value}."),
        "exclusiveMaximum" => format!("Less than {value}."),
        "multipleOf" => format!("A multiple of {value}."),
        "minLength" => format!("At least {value} characters."),
        "maxLength" => format!("At most {value} characters."),
        "pattern" => format!("Matches the regular expression {}", value.as_str()?),
        "format" => format!("Format: {}.", value.as_str()?),
        "minItems" => format!("At least {value} items."),
        "maxItems" => format!("At most {value} items."),
        "uniqueItems" if *value == Value::Bool(true) => "No item twice.".to_owned(),
        "minProperties" => format!("At least {value} fields."),
        "maxProperties" => format!("At most {value} fields."),
        _ => return None,
    })
}
