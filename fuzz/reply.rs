//! Replies and failures of providers, read by every dialect as a stream, as a document and as an error.

use std::sync::Arc;

use punctual::domain::message::{Message, Prompt, Usage};
use punctual::domain::model::{ModelProfile, Structured};
use punctual::domain::provider::ChatQuirks;
use punctual::provider::anthropic::Anthropic;
use punctual::provider::chat::Chat;
use punctual::provider::classify::Head;
use punctual::provider::dialect::Dialect;
use punctual::provider::gemini::Gemini;
use punctual::provider::reader::{Reader, Wants};
use punctual::provider::responses::Responses;
use punctual::provider::{Draw, Exchange, Sink};
use serde_json::Value;

/// How a body may be announced.
const HEADS: [(u16, &str); 4] = [
    (200, "text/event-stream"),
    (200, "application/json"),
    (200, "application/x-ndjson"),
    (429, "application/json"),
];

struct Deaf;

impl Sink for Deaf {
    fn first_token(&mut self) {}
    fn piece(&mut self, _text: &str, _tokens: u64) {}
    fn usage(&mut self, _usage: Usage) {}
}

/// Recorded streams, documents and failures.
pub fn bodies() -> Vec<String> {
    let folder = &["tests/fixtures/provider"];
    let mut bodies = super::read(folder, "sse");
    bodies.extend(super::read(folder, "json"));
    for line in super::read(folder, "jsonl").iter().flat_map(|rows| rows.lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        bodies.extend(row["body"].as_str().map(str::to_owned));
    }
    bodies
}

fn exchange() -> Exchange {
    Exchange {
        prompt: Prompt { system: None, messages: vec![Message::user("Which city?")] },
        schema: None,
        max_tokens: 64,
        temperature: None,
        effort: None,
        profile: Arc::new(ModelProfile {
            structured: Structured::Instruct,
            ..ModelProfile::plain("small")
        }),
        draw: Draw::default(),
    }
}

/// Reads a body in every way. An answer is never blank, and a failure is told in few words.
pub fn reply(text: &str) -> String {
    let chat = Chat { quirks: ChatQuirks::NONE };
    let dialects: [&dyn Dialect; 4] = [&chat, &Responses, &Anthropic, &Gemini];
    let exchange = exchange();
    let mut said = Vec::new();
    for dialect in dialects {
        for (status, kind) in HEADS {
            let headers = [("content-type", kind), ("retry-after", text.get(..8).unwrap_or("1"))];
            let head = Head { status, headers: headers.into_iter().collect() };
            let mut reader = Reader::new(head, dialect.decoder(&exchange));
            let mut pieces = text.as_bytes().chunks(97);
            while pieces.next().is_some_and(|piece| reader.push(piece, &mut Deaf) != Wants::Nothing)
            {
            }
            said.push(match reader.end(&mut Deaf) {
                Ok(reply) => {
                    assert!(!reply.text.trim().is_empty());
                    "ok".to_owned()
                }
                Err(broken) => {
                    let failure = broken.failure;
                    assert!(!failure.message.is_empty() && failure.message.chars().count() <= 500);
                    format!("{} {:?}", failure.class, failure.scope)
                }
            });
        }
    }
    said.dedup();
    said.join(", ")
}
