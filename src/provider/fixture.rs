//! What the tests of this room share: an exchange, an ear, and a response read from bytes.
#![allow(clippy::unwrap_used, reason = "a broken fixture fails its test")]

use std::sync::Arc;

use serde_json::{Value, json};

use super::classify::Head;
use super::dialect::Dialect;
use super::reader::{Reader, Wants};
use super::{Broken, Draw, Exchange, Reply, Sink};
use crate::domain::message::{Message, Prompt, Usage};
use crate::domain::model::{ModelProfile, Structured};

/// The schema of `{"city": …}`, as strict decoding wants it.
pub fn city() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false,
    })
}

/// An exchange of a few turns, two of one speaker in a row and one of them blank.
pub fn exchange(structured: Structured, schema: Option<Value>) -> Exchange {
    Exchange {
        prompt: Prompt {
            system: Some("Be brief.".to_owned()),
            messages: vec![
                Message::user("Which city?"),
                Message::user("Quick."),
                Message::assistant(" "),
                Message::assistant("Rome"),
                Message::user("No."),
            ],
        },
        schema: schema.map(Arc::new),
        max_tokens: 64,
        temperature: Some(0.5),
        effort: None,
        profile: Arc::new(ModelProfile {
            max_output: Some(32),
            structured,
            ..ModelProfile::plain("small")
        }),
        draw: Draw::default(),
    }
}

/// The same with another profile.
pub fn with_profile(mut exchange: Exchange, change: impl FnOnce(&mut ModelProfile)) -> Exchange {
    change(Arc::make_mut(&mut exchange.profile));
    exchange
}

/// What was reported while a reply was read.
#[derive(Default)]
pub struct Heard {
    pub first_tokens: u32,
    pub text: String,
    pub tokens: u64,
    pub usage: Vec<Usage>,
}

impl Sink for Heard {
    fn first_token(&mut self) {
        self.first_tokens += 1;
    }
    fn piece(&mut self, text: &str, tokens: u64) {
        self.text.push_str(text);
        self.tokens += tokens;
    }
    fn usage(&mut self, usage: Usage) {
        self.usage.push(usage);
    }
}

/// The head of a 200 of that type.
pub fn of_type(kind: &str) -> Head {
    Head { status: 200, headers: [("content-type", kind)].into_iter().collect() }
}

/// Reads a response as it comes in `parts`, to its end in good order.
pub fn read(
    dialect: &dyn Dialect,
    exchange: &Exchange,
    head: Head,
    parts: &[&[u8]],
) -> (Result<Reply, Broken>, Heard) {
    let mut reader = Reader::new(head, dialect.decoder(exchange));
    let mut ear = Heard::default();
    for part in parts {
        if reader.push(part, &mut ear) == Wants::Nothing {
            break;
        }
    }
    (reader.end(&mut ear), ear)
}

/// Reads a stream of events.
pub fn stream(
    dialect: &dyn Dialect,
    exchange: &Exchange,
    body: &str,
) -> (Result<Reply, Broken>, Heard) {
    read(dialect, exchange, of_type("text/event-stream"), &[body.as_bytes()])
}

/// Events of these data.
pub fn events(list: &[Value]) -> String {
    list.iter()
        .flat_map(|data| ["data: ".to_owned(), data.to_string(), "\n\n".to_owned()])
        .collect()
}
