//! The request body of a message.

use serde_json::{Map, Value, json};

use crate::domain::message::{Message, Speaker};
use crate::provider::Exchange;
use crate::provider::constraint::{self, ANSWER, Constraint};
use crate::provider::turns::alternating;

/// The body for `exchange`.
pub(super) fn body(exchange: &Exchange) -> Value {
    let profile = &exchange.profile;
    let (system, turns) = constraint::prompt(exchange);
    let mut body = Map::new();
    body.insert("model".into(), profile.id.clone().into());
    let bound = profile.max_output.unwrap_or(u32::MAX).min(exchange.max_tokens).max(1);
    body.insert("max_tokens".into(), bound.into());
    if let Some(system) = system {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), messages(turns));
    if let Some(temperature) = exchange.temperature.filter(|t| profile.temperature && t.is_finite())
    {
        body.insert("temperature".into(), temperature.into());
    }
    let mut output = Map::new();
    match asked(exchange) {
        Constraint::None | Constraint::Object => {}
        Constraint::Schema(schema) => {
            output.insert("format".into(), json!({"type": "json_schema", "schema": schema}));
        }
        Constraint::Tool(schema) => {
            let tool =
                json!({"name": ANSWER, "description": "Gives the answer.", "input_schema": schema});
            body.insert("tools".into(), json!([tool]));
            body.insert("tool_choice".into(), json!({"type": "tool", "name": ANSWER}));
        }
    }
    if let Some(effort) = &exchange.effort {
        output.insert("effort".into(), effort.clone().into());
    }
    if !output.is_empty() {
        body.insert("output_config".into(), output.into());
    }
    body.insert("stream".into(), true.into());
    Value::Object(body)
}

/// What is asked here: a schema that constrained decoding would refuse becomes a tool's parameters, which
/// are not compiled.
pub(super) fn asked(exchange: &Exchange) -> Constraint<'_> {
    match constraint::of(exchange) {
        Constraint::Schema(schema) if !constraint::anthropic_ready(schema) => {
            Constraint::Tool(schema)
        }
        other => other,
    }
}

fn messages(turns: Vec<Message>) -> Value {
    let turn = |turn: Message| {
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({"role": role, "content": turn.text})
    };
    alternating(turns).into_iter().map(turn).collect()
}
