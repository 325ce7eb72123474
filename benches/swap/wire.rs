//! The two families' dialects, as their servers speak them.
//!
//! **A** speaks Anthropic's messages: system text in `system`, the answer's schema in `output_config.format` or as
//! a forced tool's parameters. **B** is an OpenAI-compatible server such as people run themselves: its template
//! has no place for a `system` turn and drops it, it does not know `response_format`, and it ignores fields that it
//! does not know, as vLLM, llama.cpp and Ollama do.

use serde_json::{Value, json};

/// A model family with a contract of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    A,
    B,
}

/// A request as the model sees it: what its family's template lets through.
#[derive(Debug)]
pub struct Request {
    pub family: Family,
    pub model: String,
    /// The system text, where the family has a place for one.
    pub system: String,
    /// The turns' texts.
    pub turns: Vec<String>,
    /// A schema in the family's own form.
    pub schema: Option<Value>,
    /// Whether the answer must be a tool's arguments.
    tool: bool,
    stream: bool,
    count: bool,
}

impl Request {
    /// Reads a request. `Err` with a status and words where the server refuses it.
    pub fn read(family: Family, head: &str, body: &[u8]) -> Result<Self, (u16, &'static str)> {
        let path = match family {
            Family::A => "/v1/messages",
            Family::B => "/v1/chat/completions",
        };
        if !head.starts_with(&format!("POST {path} ")) {
            return Err((404, "nothing is served there"));
        }
        let body: Value =
            serde_json::from_slice(body).map_err(|_| (400, "the body is not JSON"))?;
        let turns = body.get("messages").and_then(Value::as_array);
        let turns = turns.ok_or((400, "messages: field required"))?;
        let role = |turn: &Value| turn.get("role").and_then(Value::as_str).map(str::to_owned);
        if family == Family::A && turns.iter().any(|turn| role(turn).as_deref() == Some("system")) {
            return Err((400, "messages: roles must be user or assistant"));
        }
        let seen = turns.iter().filter(|turn| role(turn).as_deref() != Some("system"));
        let turns = seen.map(|turn| text_of(turn.get("content"))).collect();
        let schema = match family {
            Family::A => body
                .pointer("/output_config/format/schema")
                .or_else(|| body.pointer("/tools/0/input_schema")),
            Family::B => None,
        };
        let system = match family {
            Family::A => text_of(body.get("system")),
            Family::B => String::new(),
        };
        Ok(Self {
            family,
            model: body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
            system,
            turns,
            schema: schema.cloned(),
            tool: family == Family::A && body.get("tool_choice").is_some(),
            stream: body.get("stream") == Some(&Value::Bool(true)),
            count: body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)),
        })
    }

    /// Everything the model reads.
    pub fn text(&self) -> String {
        let mut text = self.system.clone();
        for turn in &self.turns {
            text.push('\n');
            text.push_str(turn);
        }
        text
    }

    /// Tokens of the request, at four bytes a token; a schema counts as it does in a bill.
    pub fn tokens(&self) -> u64 {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.to_string().len());
        tokens(self.system.len() + self.turns.iter().map(String::len).sum::<usize>() + schema)
    }

    /// What stands before the answer's pieces.
    pub fn opening(&self) -> String {
        if !self.stream {
            return String::new();
        }
        match self.family {
            Family::A => {
                let usage = json!({"input_tokens": self.tokens(), "output_tokens": 1});
                let message = json!({"id": "msg_1", "type": "message", "role": "assistant",
                    "model": self.model, "content": [], "stop_reason": null, "usage": usage});
                let block = if self.tool {
                    json!({"type": "tool_use", "id": "toolu_1", "name": "answer", "input": {}})
                } else {
                    json!({"type": "text", "text": ""})
                };
                named(&json!({"type": "message_start", "message": message}))
                    + &named(
                        &json!({"type": "content_block_start", "index": 0, "content_block": block}),
                    )
            }
            Family::B => self.chunk(&json!({"role": "assistant", "content": ""}), None),
        }
    }

    /// A piece of the answer.
    pub fn piece(&self, text: &str) -> String {
        match self.family {
            Family::A => {
                let delta = if self.tool {
                    json!({"type": "input_json_delta", "partial_json": text})
                } else {
                    json!({"type": "text_delta", "text": text})
                };
                named(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
            }
            Family::B => self.chunk(&json!({"content": text}), None),
        }
    }

    /// What ends a complete answer.
    pub fn closing(&self, said: u64) -> String {
        match self.family {
            Family::A => {
                let reason = if self.tool { "tool_use" } else { "end_turn" };
                named(&json!({"type": "content_block_stop", "index": 0}))
                    + &named(&json!({"type": "message_delta", "delta": {"stop_reason": reason},
                        "usage": {"output_tokens": said}}))
                    + &named(&json!({"type": "message_stop"}))
            }
            Family::B => {
                let mut end = self.chunk(&json!({}), Some("stop"));
                if self.count {
                    let usage = json!({"prompt_tokens": self.tokens(), "completion_tokens": said});
                    end += &data(&json!({"object": "chat.completion.chunk", "model": self.model,
                        "choices": [], "usage": usage}));
                }
                end + "data: [DONE]\n\n"
            }
        }
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> String {
        data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    }
}

/// A refusal's body, in the family's words.
pub fn refusal(family: Family, status: u16, words: &str) -> String {
    let kind = match status {
        429 => "rate_limit_error",
        529 => "overloaded_error",
        404 => "not_found_error",
        _ => "invalid_request_error",
    };
    let error = json!({"type": kind, "message": words, "code": null, "param": null});
    match family {
        Family::A => json!({"type": "error", "error": error, "request_id": "req_1"}).to_string(),
        Family::B => json!({"error": error}).to_string(),
    }
}

/// The answer's text in one event of a stream, for whoever reads it without more.
pub fn heard(family: Family, data: &Value) -> &str {
    let text = match family {
        Family::A => data.pointer("/delta/text").or_else(|| data.pointer("/delta/partial_json")),
        Family::B => data.pointer("/choices/0/delta/content"),
    };
    text.and_then(Value::as_str).unwrap_or_default()
}

/// Tokens of so many bytes.
pub fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn named(event: &Value) -> String {
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {kind}\ndata: {event}\n\n")
}

fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}
