//! The reply of a response, as a stream of typed events or as one document.

use serde_json::{Value, json};

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::provider::answer::{Answer, End, cost, filtered};
use crate::provider::classify::{self, brief};
use crate::provider::constraint::{self, Constraint};
use crate::provider::dialect::{Decoder, Progress};
use crate::provider::sse::Event;
use crate::provider::{Broken, Exchange, Reply, Sink};

/// Reads output items into an [`Answer`].
pub(super) struct ResponseDecoder {
    answer: Answer,
    events: u64,
    closed: bool,
    /// The place of the called tool among the output items.
    tool: Option<u64>,
}

impl ResponseDecoder {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let forced = matches!(constraint::of(exchange), Constraint::Tool(_));
        Self { answer: Answer::new(exchange, forced), events: 0, closed: false, tool: None }
    }

    fn told(&mut self, kind: &str, event: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        let delta = event.get("delta").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "response.output_text.delta" => self.answer.say(delta, sink),
            "response.refusal.delta" => self.answer.refuse(delta, sink),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.answer.think(delta, sink);
            }
            "response.output_item.added" => self.added(event),
            "response.function_call_arguments.delta" if self.tool == Some(place(event)) => {
                self.answer.argue(delta, sink);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.ended(event.get("response").unwrap_or(&Value::Null), sink)?;
            }
            _ if classify::is_error(event) => return Err(classify::in_stream(event)),
            _ => {}
        }
        Ok(())
    }

    fn added(&mut self, event: &Value) {
        let calls = event.pointer("/item/type").and_then(Value::as_str) == Some("function_call");
        if calls && self.tool.is_none() {
            self.tool = Some(place(event));
            self.answer.call();
        }
    }

    /// Takes the whole response, which says how it ended, and what it holds where no part of it has come before.
    fn ended(&mut self, response: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        self.closed = true;
        if let Some(usage) = response.get("usage").and_then(usage) {
            self.answer.count(usage, sink);
            let reasoning = response.pointer("/usage/output_tokens_details/reasoning_tokens");
            self.answer.count_reasoning(reasoning.and_then(Value::as_u64));
        }
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return Err(classify::in_stream(&json!({"error": error})));
        }
        if self.answer.is_empty() {
            let items = response.get("output").and_then(Value::as_array);
            items.into_iter().flatten().for_each(|item| self.item(item, sink));
        }
        let status = response.get("status").and_then(Value::as_str).unwrap_or_default();
        let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.answer.end = match (status, reason.unwrap_or_default()) {
            ("completed", _) => End::Done,
            (_, why @ "max_output_tokens") => End::Cut(why.to_owned()),
            (_, why @ "content_filter") => End::Bad(filtered(why)),
            (status, why) => {
                let why = brief(if why.is_empty() { status } else { why });
                let evidence = format!("status {why}");
                let message = format!("the provider broke the answer off: {why}");
                let failure = Failure::of_attempt(FailureClass::ServerError, evidence, message);
                End::Bad(Failure { scope: Scope::Path, ..failure })
            }
        };
        Ok(())
    }

    fn item(&mut self, item: &Value, sink: &mut dyn Sink) {
        let text = |of: &Value, key: &str| {
            of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let parts = |key: &str| item.get(key).and_then(Value::as_array).into_iter().flatten();
        match text(item, "type").as_str() {
            "message" => parts("content").for_each(|part| match text(part, "type").as_str() {
                "output_text" => self.answer.say(&text(part, "text"), sink),
                "refusal" => self.answer.refuse(&text(part, "refusal"), sink),
                _ => {}
            }),
            "reasoning" => parts("summary")
                .chain(parts("content"))
                .for_each(|part| self.answer.think(&text(part, "text"), sink)),
            "function_call" if self.tool.is_none() => {
                self.tool = Some(0);
                self.answer.call();
                self.answer.argue(&text(item, "arguments"), sink);
            }
            _ => {}
        }
    }
}

impl Decoder for ResponseDecoder {
    fn event(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<Progress, Failure> {
        self.events += 1;
        if let Some(failure) = classify::in_unknown(&event.unknown) {
            return Err(failure);
        }
        let data = event.data.trim();
        // The second is not of this dialect, but some gateways end every stream so.
        if !matches!(data, "" | "[DONE]") {
            let data: Value =
                serde_json::from_str(data).map_err(|_| classify::unreadable_event())?;
            let kind = data.get("type").and_then(Value::as_str).or(event.name.as_deref());
            self.told(kind.unwrap_or_default(), &data, sink)?;
        }
        Ok(if self.closed { Progress::Closed } else { Progress::Open })
    }

    fn whole(&mut self, body: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        if classify::is_error(body) {
            return Err(classify::in_stream(body));
        }
        if body.get("output").is_none_or(|output| !output.is_array()) {
            return Err(classify::no_reply(body, "a response"));
        }
        self.ended(body, sink)
    }

    fn finish(self: Box<Self>) -> Result<Reply, Broken> {
        self.answer.finish(classify::broken_off(self.events))
    }

    fn abort(self: Box<Self>, failure: Failure) -> Broken {
        self.answer.abort(failure)
    }
}

/// Its item's place among the output items.
fn place(event: &Value) -> u64 {
    event.get("output_index").and_then(Value::as_u64).unwrap_or_default()
}

/// Counts; reasoning is inside the output, cached input inside the input.
fn usage(of: &Value) -> Option<Usage> {
    let number = |at: &str| of.pointer(at).and_then(Value::as_u64);
    Some(Usage {
        input: number("/input_tokens")?,
        cached_input: number("/input_tokens_details/cached_tokens").unwrap_or_default(),
        output: number("/output_tokens").unwrap_or_default(),
        estimated: false,
        cost: cost(of),
    })
}
