//! What a wire format must be able to do: encode an exchange, decode the reply. Pure; no I/O.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::failure::Failure;

use super::sse::Event;
use super::{Broken, Exchange, Reply, Sink};

/// A request's parts that depend on the dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Appended to the base URL's path, percent-encoded already.
    pub path: Cow<'static, str>,
    /// The query, without its question mark; takes the place of the base URL's where it is given.
    pub query: Option<Cow<'static, str>>,
    /// Headers of the dialect's own.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The JSON body.
    pub body: Value,
}

/// The header a key is sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`
    Bearer,
    /// `NAME: KEY`
    Named(&'static str),
}

/// A wire format.
pub trait Dialect: Send + Sync {
    /// The request for `exchange`, streaming.
    fn encode(&self, exchange: &Exchange) -> Request;
    /// A decoder for the reply to `exchange`.
    fn decoder(&self, exchange: &Exchange) -> Box<dyn Decoder>;
    /// Where the key goes.
    fn key_header(&self) -> KeyHeader;
}

/// How far a reply has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More of the answer may follow.
    Open,
    /// The answer is complete; counts may follow.
    Finished,
    /// Nothing more will follow.
    Closed,
}

/// A reply being read. An error ends it.
pub trait Decoder: Send {
    /// Takes one event of a stream.
    ///
    /// # Errors
    /// A failure that the event reports, or an event that cannot be read.
    fn event(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<Progress, Failure>;

    /// Takes a reply that came as one JSON document.
    ///
    /// # Errors
    /// A failure that the document reports, or a document that is no reply.
    fn whole(&mut self, body: &Value, sink: &mut dyn Sink) -> Result<(), Failure>;

    /// Ends a reply after which the connection ended in good order.
    ///
    /// # Errors
    /// An answer that is incomplete, refused, filtered or empty.
    fn finish(self: Box<Self>) -> Result<Reply, Broken>;

    /// Ends a reply that failed, keeping what had arrived.
    fn abort(self: Box<Self>, failure: Failure) -> Broken;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::domain::message::{Message, Prompt};
    use crate::domain::model::{Efforts, ModelProfile, Structured, Subset};
    use crate::domain::provider::ChatQuirks;
    use crate::provider::anthropic::Anthropic;
    use crate::provider::chat::Chat;
    use crate::provider::gemini::Gemini;
    use crate::provider::responses::Responses;
    use crate::provider::{Draw, Exchange};

    /// Everything that may stand in a request: what the neutral form holds, in each dialect's words. Neither
    /// reasoning nor a cache hint nor an id of another vendor's conversation has a name here.
    const KNOWN: [&str; 48] = [
        "model",
        "messages",
        "role",
        "content",
        "system",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "reasoning_effort",
        "stream",
        "stream_options",
        "include_usage",
        "response_format",
        "type",
        "json_schema",
        "name",
        "strict",
        "schema",
        "tools",
        "function",
        "description",
        "parameters",
        "tool_choice",
        "input_schema",
        "output_config",
        "format",
        "effort",
        // Responses.
        "input",
        "instructions",
        "max_output_tokens",
        "reasoning",
        "store",
        "text",
        // Gemini.
        "systemInstruction",
        "contents",
        "parts",
        "generationConfig",
        "maxOutputTokens",
        "thinkingConfig",
        "thinkingLevel",
        "responseMimeType",
        "responseJsonSchema",
        "functionDeclarations",
        "parametersJsonSchema",
        "toolConfig",
        "functionCallingConfig",
        "mode",
        "allowedFunctionNames",
    ];

    /// The keys of a body, those of the answer's schema apart.
    fn keys(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    found.push(key.clone());
                    if ![
                        "schema",
                        "parameters",
                        "input_schema",
                        "responseJsonSchema",
                        "parametersJsonSchema",
                    ]
                    .contains(&key.as_str())
                    {
                        keys(value, found);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
            _ => {}
        }
    }

    #[test]
    fn no_dialect_sends_anything_but_what_the_neutral_form_holds() {
        let quirks = ChatQuirks::NONE;
        let dialects: [Box<dyn Dialect>; 4] =
            [Box::new(Chat { quirks }), Box::new(Responses), Box::new(Anthropic), Box::new(Gemini)];
        let schema = json!({
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
            "additionalProperties": false,
        });
        for dialect in &dialects {
            for structured in
                [Structured::Schema, Structured::Json, Structured::Tool, Structured::Instruct]
            {
                let exchange = Exchange {
                    prompt: Prompt {
                        system: Some("Be brief.".to_owned()),
                        messages: vec![
                            Message::user("Which city?"),
                            Message::assistant("<think>Hm</think> Rome"),
                            Message::user("No."),
                        ],
                    },
                    schema: Some(Arc::new(schema.clone())),
                    max_tokens: 64,
                    temperature: Some(0.5),
                    effort: Some("low".to_owned()),
                    profile: Arc::new(ModelProfile {
                        structured,
                        subset: Subset::OpenAi,
                        effort: Efforts::of(["low"]),
                        ..ModelProfile::plain("m")
                    }),
                    draw: Draw { run: 7, workflow: "flow".to_owned(), ..Draw::default() },
                };
                let body = dialect.encode(&exchange).body;
                let mut found = Vec::new();
                keys(&body, &mut found);
                for key in found {
                    assert!(KNOWN.contains(&key.as_str()), "{key} in {body}");
                }
                let places = ["messages", "input", "contents"];
                let turns = places.iter().find_map(|place| body[*place].as_array()).unwrap();
                for turn in turns {
                    let turn = turn.as_object().unwrap();
                    let said = turn.get("content").or_else(|| turn["parts"][0].get("text"));
                    assert!(turn.len() == 2 && said.is_some_and(Value::is_string), "{turn:?}");
                }
            }
        }
    }
}
