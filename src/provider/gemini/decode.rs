//! The reply of a generated content, as a stream of chunks, as one document, or as a list of chunks.

use serde_json::Value;

use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::provider::answer::{Answer, End, filtered};
use crate::provider::classify::{self, brief};
use crate::provider::constraint::{self, Constraint};
use crate::provider::dialect::{Decoder, Progress};
use crate::provider::sse::Event;
use crate::provider::{Broken, Exchange, Reply, Sink};

/// Reads parts of candidate 0 into an [`Answer`].
pub(super) struct ContentDecoder {
    answer: Answer,
    events: u64,
    /// Whether a tool was called; a second call is no part of the answer.
    called: bool,
}

impl ContentDecoder {
    pub(super) fn new(exchange: &Exchange) -> Self {
        let forced = matches!(constraint::of(exchange), Constraint::Tool(_));
        Self { answer: Answer::new(exchange, forced), events: 0, called: false }
    }

    fn chunk(&mut self, chunk: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        if classify::is_error(chunk) {
            return Err(classify::in_stream(chunk));
        }
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        let first = candidates
            .into_iter()
            .flatten()
            .find(|one| one.get("index").and_then(Value::as_u64).unwrap_or_default() == 0);
        if let Some(candidate) = first {
            let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
            parts.into_iter().flatten().for_each(|part| self.part(part, sink));
            self.ended(candidate);
        }
        if let Some(why) = chunk.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            self.answer.end = End::Bad(blocked(why));
        }
        if let Some(counts) = chunk.get("usageMetadata") {
            self.count(counts, sink);
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, sink: &mut dyn Sink) {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            if part.get("thought") == Some(&Value::Bool(true)) {
                self.answer.think(text, sink);
            } else {
                self.answer.say(text, sink);
            }
        }
        if let Some(call) = part.get("functionCall")
            && !std::mem::replace(&mut self.called, true)
        {
            self.answer.call();
            if let Some(arguments) = call.get("args").filter(|args| args.is_object()) {
                self.answer.argue(&arguments.to_string(), sink);
            }
        }
    }

    fn ended(&mut self, candidate: &Value) {
        let Some(why) = candidate.get("finishReason").and_then(Value::as_str) else { return };
        let said = candidate.get("finishMessage").and_then(Value::as_str).unwrap_or_default();
        let fails = |class, scope| {
            let evidence = format!("finishReason {}", brief(why));
            let message = match brief(said) {
                words if words.is_empty() => {
                    format!("the provider broke the answer off: {}", brief(why))
                }
                words => format!("the provider broke the answer off: {}: {words}", brief(why)),
            };
            End::Bad(Failure { scope, ..Failure::of_attempt(class, evidence, message) })
        };
        self.answer.end = match why {
            "STOP" => End::Done,
            "MAX_TOKENS" => End::Cut(why.to_owned()),
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
            | "OTHER" => End::Bad(filtered(why)),
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
                fails(FailureClass::UnparseableOutput, Scope::Attempt)
            }
            _ => fails(FailureClass::ServerError, Scope::Path),
        };
    }

    /// Counts come with most chunks, the last ones are final. Thinking stands beside the answer, and is output too.
    fn count(&mut self, of: &Value, sink: &mut dyn Sink) {
        let number = |key: &str| of.get(key).and_then(Value::as_u64).unwrap_or_default();
        let usage = Usage {
            input: number("promptTokenCount").saturating_add(number("toolUsePromptTokenCount")),
            cached_input: number("cachedContentTokenCount"),
            output: number("candidatesTokenCount").saturating_add(number("thoughtsTokenCount")),
            estimated: self.answer.end == End::Unsaid,
            cost: None,
        };
        self.answer.count(usage, sink);
        self.answer.count_reasoning(of.get("thoughtsTokenCount").and_then(Value::as_u64));
    }
}

impl Decoder for ContentDecoder {
    fn event(&mut self, event: &Event, sink: &mut dyn Sink) -> Result<Progress, Failure> {
        self.events += 1;
        if let Some(failure) = classify::in_unknown(&event.unknown) {
            return Err(failure);
        }
        let data = event.data.trim();
        // Not of this dialect, but some gateways end every stream so.
        if !data.is_empty() && data != "[DONE]" {
            let chunk = serde_json::from_str(data).map_err(|_| classify::unreadable_event())?;
            self.chunk(&chunk, sink)?;
        }
        Ok(match self.answer.end {
            End::Unsaid => Progress::Open,
            End::Done | End::Cut(_) | End::Bad(_) => Progress::Finished,
        })
    }

    fn whole(&mut self, body: &Value, sink: &mut dyn Sink) -> Result<(), Failure> {
        let chunks = body.as_array().map_or(std::slice::from_ref(body), Vec::as_slice);
        let answers =
            |chunk: &Value| ["candidates", "promptFeedback"].iter().any(|k| chunk.get(k).is_some());
        if !classify::is_error(body) && !chunks.iter().any(answers) {
            return Err(classify::no_reply(body, "generated content"));
        }
        self.events += 1;
        chunks.iter().try_for_each(|chunk| self.chunk(chunk, sink))
    }

    fn finish(self: Box<Self>) -> Result<Reply, Broken> {
        self.answer.finish(classify::broken_off(self.events))
    }

    fn abort(self: Box<Self>, failure: Failure) -> Broken {
        self.answer.abort(failure)
    }
}

/// The failure of a prompt that was not let through.
fn blocked(why: &str) -> Failure {
    let message = format!("the provider's content filter refused the prompt: {}", brief(why));
    Failure::of_attempt(FailureClass::ContentFiltered, "prompt blocked", message)
}
