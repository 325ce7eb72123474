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
    body.insert("max_tokens".into(), profile.bound(exchange.max_tokens).into());
    if let Some(system) = system {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), messages(turns));
    if let Some(temperature) = constraint::temperature(exchange) {
        // Its range ends at 1, where others' ends at 2.
        body.insert("temperature".into(), temperature.min(1.0).into());
    }
    let mut output = Map::new();
    match constraint::of(exchange) {
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
    if let Some(effort) = constraint::effort(exchange) {
        output.insert("effort".into(), effort.into());
    }
    if !output.is_empty() {
        body.insert("output_config".into(), output.into());
    }
    body.insert("stream".into(), true.into());
    Value::Object(body)
}

/// The turns as this API wants them: none empty, speakers alternating.
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
