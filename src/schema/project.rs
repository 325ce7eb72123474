//! What a provider's constrained decoding takes of a schema. A provider answers 400 to a keyword beyond its
//! subset, so what it does not know is left out and said in the description instead. The full schema is
//! validated here in any case: a projection may ask for less, never for something else.

use serde_json::{Map, Value, json};

use super::portable;

/// A provider's subset of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// Standard schemas, references inlined: vLLM, llama.cpp, Mistral, Gemini's `responseJsonSchema`.
    Full,
    /// `OpenAI`'s strict mode (also Azure, Groq): every key required, an optional one nullable, objects closed,
    /// no bounds. An explicit null for an optional key comes back: see [`super::Schema::drop_absent`].
    OpenAiStrict,
    /// Anthropic's `output_config` (also Bedrock): objects closed, no bounds, few optional keys and unions.
    Anthropic,
}

/// Levels of objects and lists in `OpenAI`'s strict mode.
const OPENAI_DEPTH: usize = 10;
/// Properties of all objects together in `OpenAI`'s strict mode.
const OPENAI_PROPERTIES: usize = 5_000;
/// Optional properties of all objects together that Anthropic's grammar takes.
const ANTHROPIC_OPTIONAL: usize = 24;
/// Unions of all levels together that Anthropic's grammar takes.
const ANTHROPIC_UNIONS: usize = 16;

/// `schema` in a provider's subset. `None` where the subset cannot say it: an object with free keys, a value
/// of any type, recursion, alternatives by `allOf` or `if`; the caller then falls back to instructions.
#[must_use]
pub fn project(schema: &Value, subset: Subset) -> Option<Value> {
    let flat = portable::inline(schema).ok()?;
    let mut projector = Projector { subset, properties: 0, optional: 0, unions: 0 };
    match subset {
        Subset::Full => Some(flat),
        Subset::OpenAiStrict => {
            let projected = projector.project(&flat, 0)?;
            (projector.properties <= OPENAI_PROPERTIES).then_some(projected)
        }
        Subset::Anthropic => {
            let projected = projector.project(&flat, 0)?;
            let fits =
                projector.optional <= ANTHROPIC_OPTIONAL && projector.unions <= ANTHROPIC_UNIONS;
            fits.then_some(projected)
        }
    }
}

struct Projector {
    subset: Subset,
    properties: usize,
    optional: usize,
    unions: usize,
}

impl Projector {
    fn project(&mut self, schema: &Value, level: usize) -> Option<Value> {
        let map = schema.as_object()?;
        if self.subset == Subset::OpenAiStrict && level > OPENAI_DEPTH {
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
        project_words(map, &mut projected)?;
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
        // An object that may hold further keys would be closed to them.
        if map.get("additionalProperties") != Some(&Value::Bool(false)) {
            return None;
        }
        let required: Vec<&Value> = map
            .get("required")
            .and_then(Value::as_array)
            .map(|r| r.iter().collect())
            .unwrap_or_default();
        let mut properties = Map::new();
        let mut names = Vec::new();
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let mut property = self.project(schema, level + 1)?;
            let name = Value::from(name.as_str());
            self.properties += 1;
            let is_required = required.contains(&&name);
            if !is_required {
                self.optional += 1;
            }
            if !is_required && self.subset == Subset::OpenAiStrict {
                property = nullable(property);
            }
            if is_required || self.subset == Subset::OpenAiStrict {
                names.push(name.clone());
            }
            properties.insert(name.as_str().unwrap_or_default().to_owned(), property);
        }
        // A required key without a schema cannot be asked for in a closed object.
        if required.iter().any(|name| !names.contains(name)) {
            return None;
        }
        projected.insert("type".to_owned(), "object".into());
        projected.insert("properties".to_owned(), properties.into());
        projected.insert("required".to_owned(), names.into());
        projected.insert("additionalProperties".to_owned(), false.into());
        Some(())
    }

    /// Alternatives; both subsets know `anyOf` only. What `oneOf` excludes is left to validation.
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
        self.unions += 1;
        let alternatives: Option<Vec<Value>> =
            alternatives.iter().map(|schema| self.project(schema, level)).collect();
        projected.insert("anyOf".to_owned(), alternatives?.into());
        Some(())
    }
}

/// An enum or constant of plain values, as an enum.
fn project_words(map: &Map<String, Value>, projected: &mut Map<String, Value>) -> Option<()> {
    let words = match (map.get("enum"), map.get("const")) {
        (Some(words), _) => words.as_array()?.clone(),
        (None, Some(word)) => vec![word.clone()],
        (None, None) => return Some(()),
    };
    if words.iter().any(|word| word.is_object() || word.is_array()) {
        return None;
    }
    if !projected.contains_key("type") && words.iter().all(Value::is_string) {
        projected.insert("type".to_owned(), "string".into());
    }
    projected.insert("enum".to_owned(), words.into());
    Some(())
}

/// The property, or null. Its description stays on top, where the model reads it.
fn nullable(property: Value) -> Value {
    let Value::Object(mut map) = property else { return property };
    let or_null = json!({"type": "null"});
    if let Some(Value::Array(alternatives)) = map.get_mut("anyOf") {
        if !alternatives.contains(&or_null) {
            alternatives.push(or_null);
        }
        return Value::Object(map);
    }
    let description = map.shift_remove("description");
    let mut result = Map::from_iter([("anyOf".to_owned(), json!([map, or_null]))]);
    if let Some(description) = description {
        result.insert("description".to_owned(), description);
    }
    Value::Object(result)
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
