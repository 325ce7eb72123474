//! The path and the body of a request.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::domain::message::{Message, Speaker};
use crate::provider::Exchange;
use crate::provider::constraint::{self, ANSWER, Constraint};

/// The path to the model `id`: every byte but unreserved ones is encoded, as ids hold colons, and ARNs slashes.
pub(super) fn path(id: &str) -> String {
    let mut path = "/model/".to_owned();
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path + "/converse-stream"
}

/// The body for `exchange`.
pub(super) fn body(exchange: &Exchange) -> Value {
    let (system, turns) = constraint::prompt(exchange);
    let mut body = Map::new();
    if let Some(system) = system.filter(|system| !system.trim().is_empty()) {
        body.insert("system".into(), json!([{"text": system}]));
    }
    body.insert("messages".into(), messages(turns));
    let bound = exchange.profile.bound(exchange.max_tokens);
    let mut inference = Map::from_iter([("maxTokens".to_owned(), Value::from(bound))]);
    if let Some(temperature) = constraint::temperature(exchange) {
        inference.insert("temperature".into(), temperature.into());
    }
    body.insert("inferenceConfig".into(), inference.into());
    let mut output = Map::new();
    match constraint::of(exchange) {
        Constraint::None | Constraint::Object => {}
        Constraint::Schema(schema) => {
            // The schema travels as a string.
            let named = json!({"name": ANSWER, "schema": schema.to_string()});
            output.insert(
                "textFormat".into(),
                json!({"type": "json_schema", "structure": {"jsonSchema": named}}),
            );
        }
        Constraint::Tool(schema) => {
            let tool = json!({
                "name": ANSWER,
                "description": "Gives the answer.",
                "inputSchema": {"json": schema},
            });
            body.insert(
                "toolConfig".into(),
                json!({"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": ANSWER}}}),
            );
        }
    }
    if let Some(effort) = constraint::effort(exchange) {
        output.insert("effort".into(), effort.into());
    }
    if !output.is_empty() {
        body.insert("outputConfig".into(), output.into());
    }
    Value::Object(body)
}

/// The turns as this API wants them: none blank, speakers alternating; neighbours of one speaker share a turn.
fn messages(turns: Vec<Message>) -> Value {
    let mut merged: Vec<(Speaker, Vec<Value>)> = Vec::new();
    for turn in turns.into_iter().filter(|turn| !turn.text.trim().is_empty()) {
        let block = json!({"text": turn.text});
        match merged.last_mut() {
            Some((speaker, blocks)) if *speaker == turn.speaker => blocks.push(block),
            _ => merged.push((turn.speaker, vec![block])),
        }
    }
    let turn = |(speaker, content): (Speaker, Vec<Value>)| {
        let role = match speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({"role": role, "content": content})
    };
    merged.into_iter().map(turn).collect()
}
