//! The request body of a chat completion.

use serde_json::{Map, Value, json};

use crate::domain::message::Speaker;
use crate::domain::model::TokenField;
use crate::domain::provider::{ChatQuirks, Routing};
use crate::provider::Exchange;
use crate::provider::constraint::{self, ANSWER, Constraint};

/// The body for `exchange`.
pub(super) fn body(quirks: ChatQuirks, exchange: &Exchange) -> Value {
    let profile = &exchange.profile;
    let mut body = Map::new();
    body.insert("model".into(), profile.id.clone().into());
    body.insert("messages".into(), messages(exchange));
    let field = match profile.token_field {
        TokenField::MaxTokens => "max_tokens",
        TokenField::MaxCompletionTokens => "max_completion_tokens",
    };
    body.insert(field.into(), profile.bound(exchange.max_tokens).into());
    if let Some(temperature) = constraint::temperature(exchange) {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(effort) = constraint::effort(exchange) {
        body.insert("reasoning_effort".into(), effort.into());
    }
    let asked = constraint::of(exchange);
    if quirks.routing == Routing::Behind {
        body.insert("usage".into(), json!({"include": true}));
        if asked != Constraint::None {
            // Else a provider may be chosen that drops the constraint without a word.
            body.insert("provider".into(), json!({"require_parameters": true}));
        }
    }
    let streamed = quirks.streamed_schema || !matches!(asked, Constraint::Schema(_));
    constrain(&mut body, exchange);
    body.insert("stream".into(), streamed.into());
    if streamed && quirks.stream_options && profile.counts {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    Value::Object(body)
}

fn messages(exchange: &Exchange) -> Value {
    let (system, turns) = constraint::prompt(exchange);
    let system = system.map(|text| json!({"role": "system", "content": text}));
    let turns = turns.into_iter().map(|turn| {
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({"role": role, "content": turn.text})
    });
    system.into_iter().chain(turns).collect()
}

fn constrain(body: &mut Map<String, Value>, exchange: &Exchange) {
    match constraint::of(exchange) {
        Constraint::None => {}
        Constraint::Object => {
            body.insert("response_format".into(), json!({"type": "json_object"}));
        }
        Constraint::Schema(schema) => {
            let strict = constraint::strict(exchange);
            let named = json!({"name": ANSWER, "strict": strict, "schema": schema});
            let format = json!({"type": "json_schema", "json_schema": named});
            body.insert("response_format".into(), format);
        }
        Constraint::Tool(schema) => {
            let function = json!({
                "name": ANSWER,
                "description": "Gives the answer.",
                "parameters": schema,
            });
            body.insert("tools".into(), json!([{"type": "function", "function": function}]));
            let choice = json!({"type": "function", "function": {"name": ANSWER}});
            body.insert("tool_choice".into(), choice);
        }
    }
}
