//! How an answer is made to fit its schema, where the dialect and the model allow it.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::message::{Message, Speaker};
use crate::domain::model::{Structured, SystemPrompt};
use crate::schema::{inline, project, subset};

use super::Exchange;

/// The name given to the answer's schema or tool.
pub const ANSWER: &str = "answer";

/// What is asked of the provider.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint<'a> {
    /// Nothing.
    None,
    /// A JSON object of any fields.
    Object,
    /// An answer that fits the schema: what of it the model's subset can say.
    Schema(Value),
    /// A call of a tool whose parameters are the schema: in full, as tools' parameters are not compiled.
    Tool(Cow<'a, Value>),
}

/// What `exchange` asks of the provider.
///
/// Every provider wants an object at the root, so any other schema is left to the instructions. A schema that the
/// model's subset cannot say is asked for in the profile's other way.
#[must_use]
pub fn of(exchange: &Exchange) -> Constraint<'_> {
    let profile = &exchange.profile;
    let Some(schema) = exchange.schema.as_deref() else { return Constraint::None };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Constraint::None;
    }
    match profile.structured {
        Structured::Schema => match project(schema, profile.subset) {
            Some(projected) => Constraint::Schema(projected),
            None => beside(profile.fallback, schema),
        },
        other => beside(other, schema),
    }
}

/// What is asked where the provider does not keep to a schema.
fn beside(structured: Structured, schema: &Value) -> Constraint<'_> {
    match structured {
        Structured::Json => Constraint::Object,
        Structured::Tool => {
            Constraint::Tool(inline(schema).map_or(Cow::Borrowed(schema), Cow::Owned))
        }
        Structured::Schema | Structured::Instruct => Constraint::None,
    }
}

/// Whether a request of a schema says that it is to be kept to strictly, in dialects that ask.
#[must_use]
pub fn strict(exchange: &Exchange) -> bool {
    subset::rules(exchange.profile.subset).strict
}

/// The word for how hard to think that is sent: the nearest one to what is wanted that the model takes.
#[must_use]
pub fn effort(exchange: &Exchange) -> Option<&'static str> {
    exchange.profile.effort.nearest(exchange.effort.as_deref()?)
}

/// The temperature that is sent, where the model takes one.
#[must_use]
pub fn temperature(exchange: &Exchange) -> Option<f64> {
    exchange.temperature.filter(|t| exchange.profile.temperature && t.is_finite())
}

/// The prompt as it is sent: instructions about the schema joined to the system prompt, and that merged
/// into the first user turn where the model has no place for it.
#[must_use]
pub fn prompt(exchange: &Exchange) -> (Option<String>, Vec<Message>) {
    let told = matches!(of(exchange), Constraint::None | Constraint::Object);
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

/// Some servers refuse JSON mode unless the word json stands in the prompt, in small letters at that.
fn instruction(schema: &Value) -> String {
    format!(
        "Answer with one JSON value and nothing else: no prose around it, no code fence, plain json. It must be \
         valid against this JSON Schema:\n{schema}"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::domain::message::Prompt;
    use crate::domain::model::{Efforts, ModelProfile, Subset};
    use crate::provider::Draw;

    fn exchange(schema: Value, profile: ModelProfile) -> Exchange {
        Exchange {
            prompt: Prompt { system: None, messages: vec![Message::user("Which city?")] },
            schema: Some(Arc::new(schema)),
            max_tokens: 64,
            temperature: Some(0.5),
            effort: Some("max".to_owned()),
            profile: Arc::new(profile),
            draw: Draw::default(),
        }
    }

    fn closed(fields: &Value) -> Value {
        json!({"type": "object", "properties": fields, "required": [], "additionalProperties": false})
    }

    fn asking(structured: Structured, fallback: Structured) -> ModelProfile {
        ModelProfile { structured, fallback, subset: Subset::OpenAi, ..ModelProfile::plain("m") }
    }

    #[test]
    fn a_schema_that_the_subset_cannot_say_is_asked_for_in_the_other_way() {
        let free = closed(&json!({"a": {"type": "object"}}));
        for (fallback, expected) in [
            (Structured::Json, Constraint::Object),
            (Structured::Tool, Constraint::Tool(Cow::Borrowed(&free))),
            (Structured::Instruct, Constraint::None),
            (Structured::Schema, Constraint::None),
        ] {
            let exchange = exchange(free.clone(), asking(Structured::Schema, fallback));
            assert_eq!(of(&exchange), expected);
            let told = matches!(expected, Constraint::None | Constraint::Object);
            let (system, _) = prompt(&exchange);
            assert_eq!(
                system.is_some_and(|text| text.contains("json") && text.contains("\"a\"")),
                told
            );
        }
        let plain = closed(&json!({"a": {"type": "string"}}));
        let exchange = exchange(plain, asking(Structured::Schema, Structured::Json));
        let Constraint::Schema(asked) = of(&exchange) else { panic!("{:?}", of(&exchange)) };
        assert_eq!(asked["required"], json!(["a"]), "every key is required, and may be null");
        assert_eq!(prompt(&exchange).0, None);
    }

    #[test]
    fn a_tools_parameters_hold_the_whole_schema_without_references() {
        let mut source = closed(&json!({"a": {"$ref": "#/$defs/a"}}));
        source["$defs"] = json!({"a": {"type": "integer", "minimum": 1}});
        let exchange = exchange(source, asking(Structured::Tool, Structured::Instruct));
        let Constraint::Tool(asked) = of(&exchange) else { panic!("{:?}", of(&exchange)) };
        assert_eq!(*asked, closed(&json!({"a": {"type": "integer", "minimum": 1}})));
    }

    #[test]
    fn temperature_and_effort_are_sent_where_they_are_taken() {
        let takes = |temperature, words: &[&str]| ModelProfile {
            temperature,
            effort: Efforts::of(words.iter().copied()),
            ..ModelProfile::plain("m")
        };
        let of = |profile| {
            let exchange = exchange(json!({}), profile);
            (temperature(&exchange), effort(&exchange))
        };
        assert_eq!(of(takes(true, &["low", "high"])), (Some(0.5), Some("high")));
        assert_eq!(of(takes(false, &[])), (None, None));
    }
}
