//! The reply of a message, as a stream of events or as one document.

use serde_json::Value;

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::provider::answer::{Answer, End, refused};
use crate::provider::classify::{self, brief};
use crate::provider::constraint::{self, Constraint};
use crate::provider::dialect::{Decoder, Progress};
use crate::provider::sse::Event;
use crate::provider::{Broken, Exchange, Reply, Sink};

/// Reads content blocks into an [`Answer`].
pub(super) struct MessageDecoder {
    answer: Answer,
    events: u64,
    closed: bool,
    tool: Option<u64>,
}

impl MessageDecoder {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let forced = matches!(constraint::of(exchange), Constraint::Tool(_));
        Self { answer: Answer::new(exchange, forced), events: 0, closed: false, tool: None }
    }

    fn block(&mut self, index: u64, block: &Value, sink: &mut dyn Sink) {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => self.answer.say(text("text"), sink),
            // What it thinks may be left out or encrypted.
            "thinking" | "redacted_thinking" => {
                self.answer.reasons();
                self.answer.think(text("thinking"), sink);
            }
            "tool_use" if self.tool.is_none() => {
                self.tool = Some(index);
                self.answer.call();
                let input = block.get("input").and_then(Value::as_object);
                if let Some(input) = input.filter(|input| !input.is_empty()) {
                    self.answer.argue(&Value::Object(input.clone()).to_string(), sink);
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, sink: &mut dyn Sink) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => self.answer.say(text("text"), sink),
            "thinking_delta" => self.answer.think(text("thinking"), sink),
            "input_json_delta" if self.tool == Some(index) => {
                self.answer.argue(text("partial_json"), sink);
            }
            _ => {}
        }
    }

    fn ended(&mut self, of: &Value) {
        let Some(why) = of.get("stop_reason").and_then(Value::as_str) else { return };
        self.answer.end = match why {
            "end_turn" | "stop_sequence" | "tool_use" => End::Done,
            "max_tokens" | "model_context_window_exceeded" => End::Cut(why.to_owned()),
            "refusal" => {
                let category = of.pointer("/stop_details/category").and_then(Value::as_str);
                End::Bad(refused(category.unwrap_or_default()))
            }
            _ => {
                let evidence = format!("stop_reason {}", brief(why));
                let message = format!("the provider broke the answer off: {}", brief(why));
                let failure = Failure::of_attempt(FailureClass::ServerError, evidence, message);
                End::Bad(Failure { scope: Scope::Path, ..failure })
            }
        };
    }

    /// Counts are cumulative; what one event leaves out, an earlier one said.
    fn count(&mut self, of: Option<&Value>, is_final: bool, sink: &mut dyn Sink) {
        let Some(of) = of.filter(|of| of.is_object()) else { return };
        let number = |key: &str| of.get(key).and_then(Value::as_u64);
        let before = self.answer.usage().unwrap_or_default();
        let cached = number("cache_read_input_tokens");
        let input = number("input_tokens").map(|fresh| {
            let created = number("cache_creation_input_tokens").unwrap_or_default();
            fresh.saturating_add(created).saturating_add(cached.unwrap_or(before.cached_input))
        });
        let usage = Usage {
            input: input.unwrap_or(before.input),
            cached_input: cached.unwrap_or(before.cached_input),
            output: number("output_tokens").unwrap_or(before.output),
            estimated: !is_final,
            cost: None,
        };
        self.answer.count(usage, sink);
    }
}

impl Decoder for MessageDecoder {
    fn event(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<Progress, Failure> {
        self.events += 1;
        if let Some(failure) = classify::in_unknown(&event.unknown) {
            return Err(failure);
        }
        let data = match event.data.trim() {
            "" => Value::Null,
            data => serde_json::from_str(data).map_err(|_| classify::unreadable_event())?,
        };
        let kind = data.get("type").and_then(Value::as_str).or(event.name.as_deref());
        let index = data.get("index").and_then(Value::as_u64).unwrap_or_default();
        match kind.unwrap_or_default() {
            "message_start" => self.count(data.pointer("/message/usage"), false, sink),
            "content_block_start" => {
                self.block(index, data.get("content_block").unwrap_or(&Value::Null), sink);
            }
            "content_block_delta" => {
                self.delta(index, data.get("delta").unwrap_or(&Value::Null), sink);
            }
            "message_delta" => {
                self.ended(data.get("delta").unwrap_or(&Value::Null));
                self.count(data.get("usage"), true, sink);
            }
            "message_stop" => self.closed = true,
            _ if classify::is_error(&data) => return Err(classify::in_stream(&data)),
            _ => {}
        }
        Ok(match self.answer.end {
            _ if self.closed => Progress::Closed,
            End::Unsaid => Progress::Open,
            End::Done | End::Cut(_) | End::Bad(_) => Progress::Finished,
        })
    }

    fn whole(&mut self, body: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        self.closed = true;
        if classify::is_error(body) {
            return Err(classify::in_stream(body));
        }
        let Some(blocks) = body.get("content").and_then(Value::as_array) else {
            return Err(classify::no_reply(body, "a message"));
        };
        for (index, block) in (0..).zip(blocks) {
            self.block(index, block, sink);
        }
        self.ended(body);
        self.count(body.get("usage"), true, sink);
        Ok(())
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
