//! The reply, as a stream of events or as one document.

use serde_json::{Value, json};

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::provider::answer::{Answer, End};
use crate::provider::classify::{self, brief};
use crate::provider::constraint::{self, Constraint};
use crate::provider::dialect::{Decoder, Progress};
use crate::provider::sse::Event;
use crate::provider::{Broken, Exchange, Reply, Sink};

/// Reads content blocks into an [`Answer`].
pub(super) struct ConverseDecoder {
    answer: Answer,
    events: u64,
    closed: bool,
    tool: Option<u64>,
}

impl ConverseDecoder {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let forced = matches!(constraint::of(exchange), Constraint::Tool(_));
        Self { answer: Answer::new(exchange, forced), events: 0, closed: false, tool: None }
    }

    /// A block of a whole document.
    fn block(&mut self, index: u64, block: &Value, sink: &mut dyn Sink) {
        let text = |pointer: &str| block.pointer(pointer).and_then(Value::as_str);
        if let Some(said) = text("/text") {
            self.answer.say(said, sink);
        }
        if block.get("reasoningContent").is_some() {
            self.answer.reasons();
        }
        if let Some(thought) = text("/reasoningContent/reasoningText/text") {
            self.answer.think(thought, sink);
        }
        if let Some(tool) = block.get("toolUse") {
            self.call(index);
            if self.tool == Some(index)
                && let Some(input) = tool.get("input").filter(|input| input.is_object())
            {
                self.answer.argue(&input.to_string(), sink);
            }
        }
    }

    /// The first tool that is called; further ones are not asked for.
    fn call(&mut self, index: u64) {
        if self.tool.is_none() {
            self.tool = Some(index);
            self.answer.call();
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, sink: &mut dyn Sink) {
        let text = |pointer: &str| delta.pointer(pointer).and_then(Value::as_str);
        if let Some(said) = text("/text") {
            self.answer.say(said, sink);
        }
        if delta.get("reasoningContent").is_some() {
            self.answer.reasons();
        }
        if let Some(thought) = text("/reasoningContent/text") {
            self.answer.think(thought, sink);
        }
        if let Some(input) = text("/toolUse/input").filter(|_| self.tool == Some(index)) {
            self.answer.argue(input, sink);
        }
    }

    fn ended(&mut self, of: &Value) {
        let Some(why) = of.get("stopReason").and_then(Value::as_str) else { return };
        let fails = |class, scope, message: String| {
            let evidence = format!("stopReason {}", brief(why));
            End::Bad(Failure { scope, ..Failure::of_attempt(class, evidence, message) })
        };
        self.answer.end = match why {
            "end_turn" | "stop_sequence" | "tool_use" => End::Done,
            "max_tokens" | "model_context_window_exceeded" => End::Cut(why.to_owned()),
            "guardrail_intervened" | "content_filtered" => fails(
                FailureClass::ContentFiltered,
                Scope::Attempt,
                "the provider's content filter stopped the answer".to_owned(),
            ),
            "malformed_model_output" | "malformed_tool_use" => fails(
                FailureClass::UnparseableOutput,
                Scope::Attempt,
                "the provider could not read what the model answered".to_owned(),
            ),
            _ => fails(
                FailureClass::ServerError,
                Scope::Path,
                format!("the provider broke the answer off: {}", brief(why)),
            ),
        };
    }

    /// What was read from and written to the cache is counted beside `inputTokens`, not in it.
    fn count(&mut self, of: Option<&Value>, sink: &mut dyn Sink) {
        let Some(of) = of.filter(|of| of.is_object()) else { return };
        let number = |key: &str| of.get(key).and_then(Value::as_u64).unwrap_or_default();
        let cached = number("cacheReadInputTokens");
        let input = number("inputTokens")
            .saturating_add(cached)
            .saturating_add(number("cacheWriteInputTokens"));
        let output = number("outputTokens");
        self.answer.count(
            Usage { input, cached_input: cached, output, estimated: false, cost: None },
            sink,
        );
    }
}

/// What an error in a stream means.
fn failed(error: &Value) -> Failure {
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    classify::exception(kind, error.to_string().as_bytes())
}

impl Decoder for ConverseDecoder {
    fn event(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<Progress, Failure> {
        self.events += 1;
        let data = match event.data.trim() {
            "" => json!({}),
            data => serde_json::from_str(data).map_err(|_| classify::unreadable_event())?,
        };
        if let Some(error) = data.get("error").filter(|_| classify::is_error(&data)) {
            return Err(failed(error));
        }
        let index = data.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or_default();
        match event.name.as_deref().unwrap_or_default() {
            "contentBlockStart" if data.pointer("/start/toolUse").is_some() => self.call(index),
            "contentBlockDelta" => {
                self.delta(index, data.get("delta").unwrap_or(&Value::Null), sink);
            }
            "messageStop" => self.ended(&data),
            "metadata" => {
                self.count(data.get("usage"), sink);
                self.closed = self.answer.end != End::Unsaid;
            }
            _ => {}
        }
        Ok(match self.answer.end {
            _ if self.closed => Progress::Closed,
            End::Unsaid => Progress::Open,
            End::Done | End::Cut(_) | End::Bad(_) => Progress::Finished,
        })
    }

    fn whole(&mut self, body: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        if classify::is_error(body) {
            return Err(classify::in_stream(body));
        }
        let Some(blocks) = body.pointer("/output/message/content").and_then(Value::as_array) else {
            return Err(classify::no_reply(body, "a Converse reply"));
        };
        for (index, block) in (0..).zip(blocks) {
            self.block(index, block, sink);
        }
        self.ended(body);
        if self.answer.end == End::Unsaid {
            self.answer.end = End::Done;
        }
        self.count(body.get("usage"), sink);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Reply, Broken> {
        self.answer.finish(classify::broken_off(self.events))
    }

    fn abort(self: Box<Self>, failure: Failure) -> Broken {
        self.answer.abort(failure)
    }
}
