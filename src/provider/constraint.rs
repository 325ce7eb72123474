//! How an answer is made to fit its schema, where the dialect and the model allow it.

use serde_json::{Map, Value};

use crate::domain::message::{Message, Speaker};
use crate::domain::model::{Structured, SystemPrompt};

use super::Exchange;

/// The name given to the answer's schema or tool.
pub const ANSWER: &str = "answer";

/// Levels of nesting looked at in a schema; deeper ones do not count as portable.
const MAX_DEPTH: u8 = 32;

/// What is asked of the provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constraint<'a> {
    /// Nothing.
    None,
    /// A JSON object of any fields.
    Object,
    /// An answer that fits the schema.
    Schema(&'a Value),
    /// A call of a tool whose parameters are the schema.
    Tool(&'a Value),
}

/// What `exchange` asks of the provider.
///
/// Every provider wants an object at the root, so any other schema is left to the instructions.
#[must_use]
pub fn of(exchange: &Exchange) -> Constraint<'_> {
    let Some(schema) = exchange.schema.as_deref() else { return Constraint::None };
    if !is_object_schema(schema) {
        return Constraint::None;
    }
    match exchange.profile.structured {
        Structured::Schema => Constraint::Schema(schema),
        Structured::Json => Constraint::Object,
        Structured::Tool => Constraint::Tool(schema),
        Structured::Instruct => Constraint::None,
    }
}

/// The prompt as it is sent: instructions about the schema joined to the system prompt, and that merged
/// into the first user turn where the model has no place for it.
#[must_use]
pub fn prompt(exchange: &Exchange) -> (Option<String>, Vec<Message>) {
    let asked = of(exchange);
    let told = matches!(asked, Constraint::None | Constraint::Object);
    let instruction = exchange.schema.as_deref().filter(|_| told).map(instruction);
    let parts: Vec<&str> =
        exchange.prompt.system.iter().chain(&instruction).map(String::as_str).collect();
    let system = (!parts.is_empty()).then(|| parts.join("\n\n"));
    let mut turns = exchange.prompt.messages.clone();
    if exchange.profile.system == SystemPrompt::Native {
        return (system, turns);
    }
    if let Some(system) = system {
        match turns.first_mut() {
            Some(first) if first.speaker == Speaker::User => {
                first.text = format!("{system}\n\n{}", first.text);
            }
            _ => turns.insert(0, Message::user(system)),
        }
    }
    (None, turns)
}

fn instruction(schema: &Value) -> String {
    format!(
        "Answer with one JSON value and nothing else: no prose around it, no code fence. It must be valid \
         against this JSON Schema:\n{schema}"
    )
}

fn is_object_schema(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Whether a schema keeps to what strict decoding takes everywhere: closed objects whose every field is
/// required, and none of the keywords in `refused`.
#[must_use]
pub fn strict_ready(schema: &Value) -> bool {
    is_object_schema(schema) && portable(schema, &[], true, MAX_DEPTH)
}

/// Whether a schema keeps to what Anthropic's constrained decoding takes: closed objects, no bounds, no
/// references.
#[must_use]
pub fn anthropic_ready(schema: &Value) -> bool {
    const REFUSED: &[&str] = &[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "pattern",
        "$ref",
    ];
    is_object_schema(schema) && portable(schema, REFUSED, false, MAX_DEPTH)
}

fn portable(schema: &Value, refused: &[&str], all_required: bool, depth: u8) -> bool {
    const NEVER: &[&str] = &[
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "unevaluatedProperties",
        "contains",
        "prefixItems",
        "uniqueItems",
        "default",
    ];
    let Some(object) = schema.as_object().filter(|_| depth > 0) else { return false };
    if object.keys().any(|k| NEVER.contains(&k.as_str()) || refused.contains(&k.as_str())) {
        return false;
    }
    let inner = |s: &Value| portable(s, refused, all_required, depth - 1);
    let of_map = |key: &str| match object.get(key) {
        Some(Value::Object(map)) => map.values().all(inner),
        other => other.is_none(),
    };
    let items = object.get("items").is_none_or(inner);
    let any = object.get("anyOf").is_none_or(|v| v.as_array().is_some_and(|a| a.iter().all(inner)));
    let closed = !is_object(object)
        || (object.get("additionalProperties") == Some(&Value::Bool(false))
            && (!all_required || requires_all(object)));
    closed && items && any && of_map("properties") && of_map("$defs")
}

fn is_object(schema: &Map<String, Value>) -> bool {
    let named = |v: &Value| v.as_str() == Some("object");
    let by_type = schema
        .get("type")
        .is_some_and(|t| named(t) || t.as_array().is_some_and(|types| types.iter().any(named)));
    by_type || schema.contains_key("properties")
}

fn requires_all(schema: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let names = |key: &String| {
        required.is_some_and(|list| list.iter().any(|name| name.as_str() == Some(key.as_str())))
    };
    schema
        .get("properties")
        .and_then(Value::as_object)
        .is_none_or(|fields| fields.keys().all(names))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn closed(fields: &Value, required: &Value) -> Value {
        json!({
            "type": "object",
            "properties": fields,
            "required": required,
            "additionalProperties": false,
        })
    }

    #[test]
    fn strict_decoding_wants_closed_objects_with_every_field_required() {
        let inner = closed(&json!({"n": {"type": ["integer", "null"]}}), &json!(["n"]));
        let ready = closed(&json!({"list": {"type": "array", "items": inner}}), &json!(["list"]));
        assert!(strict_ready(&ready) && anthropic_ready(&ready));
        let optional = closed(&json!({"n": {"type": "integer"}}), &json!([]));
        assert!(!strict_ready(&optional) && anthropic_ready(&optional));
        let nested = closed(&json!({"o": optional}), &json!(["o"]));
        assert!(!strict_ready(&nested));
        let open = json!({"type": "object", "properties": {}});
        assert!(!strict_ready(&open) && !anthropic_ready(&open));
        let list = json!({"type": "array", "items": {"type": "string"}});
        assert!(!strict_ready(&list));
    }

    #[test]
    fn keywords_outside_the_subset_are_found_at_any_depth() {
        for keyword in ["allOf", "oneOf", "patternProperties", "default"] {
            let field = json!({"type": "string", keyword: []});
            let schema = closed(&json!({"list": {"anyOf": [field]}}), &json!(["list"]));
            assert!(!strict_ready(&schema), "{keyword}");
        }
        let bounded = closed(&json!({"n": {"type": "integer", "minimum": 1}}), &json!(["n"]));
        assert!(strict_ready(&bounded) && !anthropic_ready(&bounded));
        let named = closed(&json!({"default": {"type": "string"}}), &json!(["default"]));
        assert!(strict_ready(&named), "a field may be called what a keyword is called");
    }

    #[test]
    fn a_schema_nested_without_end_is_not_portable() {
        let mut schema = json!({"type": "string"});
        for _ in 0..200 {
            schema = closed(&json!({"inner": schema}), &json!(["inner"]));
        }
        assert!(!strict_ready(&schema));
    }
}
