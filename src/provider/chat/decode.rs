//! The reply of a chat completion, as a stream of chunks or as one document.

use serde_json::Value;

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::provider::answer::{Answer, End, cost, filtered, refused};
use crate::provider::classify::{self, brief};
use crate::provider::constraint::{self, Constraint};
use crate::provider::dialect::{Decoder, Progress};
use crate::provider::sse::Event;
use crate::provider::{Broken, Exchange, Reply, Sink};

/// Reads chunks of choice 0 into an [`Answer`].
pub(super) struct ChatDecoder {
    answer: Answer,
    events: u64,
    closed: bool,
}

impl ChatDecoder {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let forced = matches!(constraint::of(exchange), Constraint::Tool(_));
        Self { answer: Answer::new(exchange, forced), events: 0, closed: false }
    }

    fn chunk(&mut self, chunk: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        if classify::is_error(chunk) {
            return Err(classify::in_stream(chunk));
        }
        if let Some(error) = chunk.pointer("/x_groq/error").filter(|e| !e.is_null()) {
            return Err(classify::in_stream(&serde_json::json!({"error": error})));
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        let first = choices
            .into_iter()
            .flatten()
            .find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or_default() == 0);
        if let Some(choice) = first {
            if let Some(error) = choice.get("error").filter(|e| !e.is_null()) {
                return Err(classify::in_stream(&serde_json::json!({"error": error})));
            }
            for part in ["delta", "message"] {
                if let Some(part) = choice.get(part) {
                    self.part(part, sink);
                }
            }
            self.ended(choice);
        }
        if let Some(usage) = usage(chunk) {
            self.answer.count(usage, sink);
            let reasoning = "/completion_tokens_details/reasoning_tokens";
            let places = ["/usage", "/x_groq/usage"].into_iter();
            let mut counts =
                places.filter_map(|at| chunk.pointer(at)?.pointer(reasoning)?.as_u64());
            self.answer.count_reasoning(counts.next());
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, sink: &mut dyn Sink) {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
            self.answer.think(thought, sink);
        }
        match part.get("content") {
            Some(Value::String(said)) => self.answer.say(said, sink),
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| self.block(block, sink)),
            _ => {}
        }
        if let Some(words) = text("refusal") {
            self.answer.refuse(words, sink);
        }
        let calls = part.get("tool_calls").and_then(Value::as_array);
        let first = calls
            .into_iter()
            .flatten()
            .find(|call| call.get("index").and_then(Value::as_u64).unwrap_or_default() == 0);
        if let Some(function) = first.and_then(|call| call.get("function")) {
            self.answer.call();
            match function.get("arguments") {
                Some(Value::String(piece)) => self.answer.argue(piece, sink),
                Some(object @ Value::Object(_)) => self.answer.argue(&object.to_string(), sink),
                _ => {}
            }
        }
    }

    /// A block of a list-shaped `content`: text, or reasoning with its text a level further down.
    fn block(&mut self, block: &Value, sink: &mut dyn Sink) {
        if block.get("type").and_then(Value::as_str) == Some("text") {
            let said = block.get("text").and_then(Value::as_str).unwrap_or_default();
            self.answer.say(said, sink);
            return;
        }
        for key in ["summary", "thinking"] {
            let parts = block.get(key).and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                let thought = part.get("text").and_then(Value::as_str).unwrap_or_default();
                self.answer.think(thought, sink);
            }
        }
    }

    fn ended(&mut self, choice: &Value) {
        let reason = |key: &str| choice.get(key).and_then(Value::as_str);
        let Some(why) = reason("finish_reason") else { return };
        let native = reason("native_finish_reason").unwrap_or_default();
        let fails = |class, scope| {
            let evidence = format!("finish_reason {}", brief(why));
            let message = format!("the provider broke the answer off: {}", brief(why));
            End::Bad(Failure { scope, ..Failure::of_attempt(class, evidence, message) })
        };
        self.answer.end = match why {
            _ if matches!(native, "network_error" | "error") => {
                fails(FailureClass::ServerError, Scope::Path)
            }
            "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "tool_calls"
            | "function_call" => End::Done,
            "length" | "max_tokens" | "model_length" => End::Cut(why.to_owned()),
            "content_filter" => End::Bad(filtered(why)),
            "refusal" => End::Bad(refused("")),
            "insufficient_system_resource" => fails(FailureClass::Overloaded, Scope::Path),
            _ => fails(FailureClass::ServerError, Scope::Path),
        };
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<Progress, Failure> {
        self.events += 1;
        if let Some(failure) = classify::in_unknown(&event.unknown) {
            return Err(failure);
        }
        let data = event.data.trim();
        if data == "[DONE]" {
            self.closed = true;
        } else if !data.is_empty() {
            let chunk = serde_json::from_str(data).map_err(|_| classify::unreadable_event())?;
            self.chunk(&chunk, sink)?;
        }
        Ok(match self.answer.end {
            _ if self.closed => Progress::Closed,
            End::Unsaid => Progress::Open,
            End::Done | End::Cut(_) | End::Bad(_) => Progress::Finished,
        })
    }

    fn whole(&mut self, body: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        self.closed = true;
        if !classify::is_error(body) && body.get("choices").is_none_or(|c| !c.is_array()) {
            return Err(classify::no_reply(body, "a chat completion"));
        }
        self.chunk(body, sink)
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, Broken> {
        if self.closed && self.answer.end == End::Unsaid {
            self.answer.end = End::Done;
        }
        self.answer.finish(classify::broken_off(self.events))
    }

    fn abort(self: Box<Self>, failure: Failure) -> Broken {
        self.answer.abort(failure)
    }
}

/// Counts in a chunk: OpenAI's, Groq's, DeepSeek's, or llama.cpp's timings.
fn usage(chunk: &Value) -> Option<Usage> {
    let counted = ["/usage", "/x_groq/usage"]
        .into_iter()
        .filter_map(|at| chunk.pointer(at))
        .find(|usage| usage.get("prompt_tokens").is_some_and(Value::is_u64));
    let number = |of: &Value, at: &str| of.pointer(at).and_then(Value::as_u64);
    if let Some(of) = counted {
        let cached = number(of, "/prompt_tokens_details/cached_tokens")
            .or_else(|| number(of, "/prompt_cache_hit_tokens"));
        return Some(Usage {
            input: number(of, "/prompt_tokens").unwrap_or_default(),
            cached_input: cached.unwrap_or_default(),
            output: number(of, "/completion_tokens").unwrap_or_default(),
            estimated: false,
            cost: cost(of),
        });
    }
    let timings = chunk.get("timings")?;
    let cached = number(timings, "/cache_n").unwrap_or_default();
    Some(Usage {
        input: number(timings, "/prompt_n")?.saturating_add(cached),
        cached_input: cached,
        output: number(timings, "/predicted_n")?,
        estimated: false,
        cost: None,
    })
}
