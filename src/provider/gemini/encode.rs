//! The request of a generated content: the model stands in its path.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::domain::message::{Message, Speaker};
use crate::provider::Exchange;
use crate::provider::constraint::{self, ANSWER, Constraint};
use crate::provider::turns::alternating;

/// Models that count their thinking in tokens and know no levels.
const BUDGETED: [&str; 2] = ["gemini-2.5-", "gemini-2.0-"];

/// Tokens of thought that a level stands for there. Source: the vendor's table of `reasoning_effort` for its
/// OpenAI-like interface.
const BUDGETS: [(&str, u32); 5] =
    [("none", 0), ("minimal", 1_024), ("low", 1_024), ("medium", 8_192), ("high", 24_576)];

/// The path for the model `id`; `models/` goes without saying.
pub(super) fn path(id: &str) -> String {
    let folder = if id.contains('/') { "" } else { "models/" };
    let mut path = format!("/v1beta/{folder}");
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                path.push(char::from(byte));
            }
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(path, "%{byte:02X}");
            }
        }
    }
    path.push_str(":streamGenerateContent");
    path
}

/// The body for `exchange`.
pub(super) fn body(exchange: &Exchange) -> Value {
    let (system, turns) = constraint::prompt(exchange);
    let mut body = Map::new();
    if let Some(system) = system {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": system}]}));
    }
    body.insert("contents".into(), contents(turns));
    let asked = constraint::of(exchange);
    if let Constraint::Tool(schema) = &asked {
        let function = json!({
            "name": ANSWER,
            "description": "Gives the answer.",
            "parametersJsonSchema": schema,
        });
        body.insert("tools".into(), json!([{"functionDeclarations": [function]}]));
        let calling = json!({"mode": "ANY", "allowedFunctionNames": [ANSWER]});
        body.insert("toolConfig".into(), json!({"functionCallingConfig": calling}));
    }
    body.insert("generationConfig".into(), generation(exchange, asked));
    Value::Object(body)
}

fn contents(turns: Vec<Message>) -> Value {
    let turn = |turn: Message| {
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "model",
        };
        json!({"role": role, "parts": [{"text": turn.text}]})
    };
    // An empty part is answered with 400.
    alternating(turns).into_iter().map(turn).collect()
}

fn generation(exchange: &Exchange, asked: Constraint<'_>) -> Value {
    let profile = &exchange.profile;
    let mut config = Map::new();
    config.insert("maxOutputTokens".into(), profile.bound(exchange.max_tokens).into());
    if let Some(temperature) = constraint::temperature(exchange) {
        config.insert("temperature".into(), temperature.into());
    }
    if let Some(thinking) = constraint::effort(exchange).and_then(|e| thinking(&profile.id, e)) {
        config.insert("thinkingConfig".into(), thinking);
    }
    match asked {
        Constraint::None | Constraint::Tool(_) => {}
        Constraint::Object => {
            config.insert("responseMimeType".into(), "application/json".into());
        }
        Constraint::Schema(schema) => {
            config.insert("responseMimeType".into(), "application/json".into());
            config.insert("responseJsonSchema".into(), schema);
        }
    }
    Value::Object(config)
}

/// How hard to think; both forms in one request are answered with 400.
fn thinking(id: &str, effort: &str) -> Option<Value> {
    let name = id.rsplit('/').next().unwrap_or_default();
    if !BUDGETED.iter().any(|family| name.starts_with(family)) {
        return Some(json!({"thinkingLevel": effort}));
    }
    let budget = BUDGETS.iter().find(|(level, _)| *level == effort).map(|(_, tokens)| *tokens);
    budget.map(|tokens| json!({"thinkingBudget": tokens}))
}
