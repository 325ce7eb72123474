//! The request body of a response.

use serde_json::{Map, Value, json};

use crate::domain::message::Speaker;
use crate::provider::Exchange;
use crate::provider::constraint::{self, ANSWER, Constraint};

/// Least bound the API takes; a smaller one is answered with 400.
const LEAST_BOUND: u32 = 16;

/// The body for `exchange`.
pub(super) fn body(exchange: &Exchange) -> Value {
    let profile = &exchange.profile;
    let asked = constraint::of(exchange);
    let mut body = Map::new();
    body.insert("model".into(), profile.id.clone().into());
    say(&mut body, exchange, asked == Constraint::Object);
    let bound = profile.bound(exchange.max_tokens).max(LEAST_BOUND);
    body.insert("max_output_tokens".into(), bound.into());
    if let Some(temperature) = constraint::temperature(exchange) {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(effort) = constraint::effort(exchange) {
        body.insert("reasoning".into(), json!({"effort": effort}));
    }
    constrain(&mut body, asked, constraint::strict(exchange));
    // What is asked and answered is kept for 30 days by default; nothing here comes back for it.
    body.insert("store".into(), false.into());
    body.insert("stream".into(), true.into());
    Value::Object(body)
}

/// The system prompt as `instructions` and the turns as `input`. In JSON mode the word must stand in the input, so
/// that there the system prompt, which holds it, is the first item.
fn say(body: &mut Map<String, Value>, exchange: &Exchange, json_mode: bool) {
    let (mut system, turns) = constraint::prompt(exchange);
    let mut items = Vec::new();
    if json_mode && let Some(system) = system.take() {
        items.push(json!({"role": "developer", "content": system}));
    }
    if let Some(system) = system {
        body.insert("instructions".into(), system.into());
    }
    items.extend(turns.into_iter().map(|turn| {
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({"role": role, "content": turn.text})
    }));
    body.insert("input".into(), items.into());
}

fn constrain(body: &mut Map<String, Value>, constraint: Constraint<'_>, strict: bool) {
    let format = match constraint {
        Constraint::None => return,
        Constraint::Object => json!({"type": "json_object"}),
        Constraint::Schema(schema) => {
            json!({"type": "json_schema", "name": ANSWER, "strict": strict, "schema": schema})
        }
        Constraint::Tool(schema) => {
            let tool = json!({
                "type": "function",
                "name": ANSWER,
                "description": "Gives the answer.",
                "parameters": schema,
                "strict": false,
            });
            body.insert("tools".into(), json!([tool]));
            body.insert("tool_choice".into(), json!({"type": "function", "name": ANSWER}));
            return;
        }
    };
    body.insert("text".into(), json!({"format": format}));
}
