use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::domain::message::{Message, Prompt, Usage};
use crate::domain::model::ModelProfile;
use crate::domain::provider::ChatQuirks;
use crate::provider::anthropic::Anthropic;
use crate::provider::chat::Chat;
use crate::provider::classify::Headers;
use crate::provider::dialect::Dialect;
use crate::provider::{Draw, Exchange};

#[derive(Default)]
struct Heard {
    first_tokens: u32,
    tokens: u64,
}

impl Sink for Heard {
    fn first_token(&mut self) {
        self.first_tokens += 1;
    }
    fn piece(&mut self, _text: &str, tokens: u64) {
        self.tokens += tokens;
    }
    fn usage(&mut self, _usage: Usage) {}
}

fn exchange() -> Exchange {
    Exchange {
        prompt: Prompt { system: None, messages: vec![Message::user("Which city?")] },
        schema: None,
        max_tokens: 64,
        temperature: None,
        effort: None,
        profile: Arc::new(ModelProfile { temperature: false, ..ModelProfile::plain("small") }),
        draw: Draw::default(),
    }
}

fn read(dialect: &dyn Dialect, head: Head, body: &[&[u8]]) -> Result<Reply, Broken> {
    let mut reader = Reader::new(head, dialect.decoder(&exchange()));
    let mut sink = Heard::default();
    for part in body {
        if reader.push(part, &mut sink) == Wants::Nothing {
            break;
        }
    }
    reader.end(&mut sink)
}

/// Recorded failures, with their sources, of all the providers there are.
fn corpus() -> Vec<Value> {
    let lines = include_str!("../../../tests/fixtures/provider/failures.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether a case is in a wire format spoken here. A failure's body is the same in all of them, so those
/// of every provider count; replies and streams do only where there is a decoder for them.
fn spoken(case: &Value) -> bool {
    let text = |key: &str| case[key].as_str().unwrap_or_default();
    match text("kind") {
        "http" => case["status"] != 200 || !matches!(text("provider"), "gemini" | "bedrock"),
        "stream" | "output" => {
            matches!(text("api"), "chat.completions" | "messages" | "serving-endpoints")
        }
        _ => false,
    }
}

fn head(case: &Value) -> Head {
    let headers = case["headers"].as_object().unwrap();
    let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
    let headers = headers.iter().map(|(n, v)| (n, v.as_str().unwrap_or_default())).collect();
    Head { status, headers }
}

fn dialect(case: &Value) -> Box<dyn Dialect> {
    match case["provider"].as_str() {
        Some("anthropic") => Box::new(Anthropic),
        _ => Box::new(Chat { quirks: ChatQuirks { stream_options: true } }),
    }
}

/// What is wrong with the reading of one case; `None` where it is right.
fn judge(case: &Value) -> Option<String> {
    let body = case["body"].as_str().unwrap().as_bytes();
    let read = read(&*dialect(case), head(case), &[body]);
    let (class, wait) = match &read {
        Ok(_) => ("valid_output_after_extraction", None),
        Err(broken) => (broken.failure.class.as_str(), broken.failure.retry_after),
    };
    let expected = &case["expect"];
    let also = expected["also_ok"].as_array().into_iter().flatten();
    let allowed: Vec<&str> =
        expected["class"].as_str().into_iter().chain(also.filter_map(Value::as_str)).collect();
    let asked = expected["retry_after_ms"].as_u64();
    let waits = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap());
    let right = allowed.contains(&class) && waits == asked;
    (!right).then(|| {
        format!(
            "{}: {class}, wait {waits:?}; expected {allowed:?}, {asked:?}: {read:?}",
            case["id"]
        )
    })
}

#[test]
fn recorded_failures_are_classified_as_they_were_meant() {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in corpus().iter().filter(|case| spoken(case)) {
        *counts.entry(case["kind"].as_str().unwrap().to_owned()).or_default() += 1;
        wrong.extend(judge(case));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A corpus that shrinks proves less.
    let counts: Vec<u32> = counts.into_values().collect();
    assert_eq!(counts, [156, 9, 29], "http, output, stream");
}

#[test]
fn a_recorded_stream_reads_the_same_wherever_it_is_cut() {
    for case in corpus().iter().filter(|case| spoken(case) && case["kind"] == "stream") {
        let body = case["body"].as_str().unwrap().as_bytes();
        let whole = read(&*dialect(case), head(case), &[body]);
        // Every third place is enough here: the event decoder's own test cuts at every byte.
        for at in (0..body.len()).step_by(3) {
            let (left, right) = body.split_at(at);
            assert_eq!(
                read(&*dialect(case), head(case), &[left, right]),
                whole,
                "{} at {at}",
                case["id"]
            );
        }
    }
}

fn of_type(kind: &str) -> Head {
    Head { status: 200, headers: [("content-type", kind)].into_iter().collect() }
}

fn chat() -> Chat {
    Chat { quirks: ChatQuirks { stream_options: true } }
}

#[test]
fn without_a_content_type_the_body_tells() {
    let untyped = || Head { status: 200, headers: Headers::default() };
    let document = br#" {"choices":[{"message":{"content":"Paris"},"finish_reason":"stop"}]}"#;
    assert_eq!(read(&chat(), untyped(), &[b" ", document]).unwrap().text, "Paris");
    let events =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"Paris\"},\"finish_reason\":\"stop\"}]}";
    assert_eq!(read(&chat(), untyped(), &[events]).unwrap().text, "Paris");
}

#[test]
fn plain_text_that_is_neither_is_a_failure_that_does_not_quote_it() {
    let broken = read(&chat(), of_type("text/plain"), &[b"The", b" answer is Paris."]).unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::ServerError);
    assert!(
        broken.failure.message.contains("text/plain") && !broken.failure.message.contains("Paris")
    );
    let short = read(&chat(), of_type("text/plain"), &[b"ok"]).unwrap_err();
    assert_eq!(short.failure.class, FailureClass::ServerError);
}

#[test]
fn half_a_frame_behind_a_complete_answer_takes_nothing_from_it() {
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Paris\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"usa";
    assert_eq!(read(&chat(), of_type("text/event-stream"), &[body]).unwrap().text, "Paris");
}

#[test]
fn an_error_status_with_an_event_for_a_body_is_unwrapped() {
    let head = Head { status: 400, headers: Headers::default() };
    let body = b"data: {\"error\":{\"message\":\"prompt is too long\"}}\n\ndata: [DONE]\n\n";
    let broken = read(&chat(), head, &[body]).unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::ContextOverflow);
    assert_eq!(broken.failure.message, "HTTP 400: prompt is too long");
}

#[test]
fn a_document_that_is_no_reply_is_a_failure_that_says_so() {
    let broken = read(&chat(), of_type("application/json"), &[b"{\"hello\":1}"]).unwrap_err();
    assert!(broken.failure.message.contains("not a chat completion"), "{broken:?}");
    let cut = read(&chat(), of_type("application/json"), &[b"{\"choices\":[{\"mess"]).unwrap_err();
    assert_eq!(cut.failure.class, FailureClass::StreamInterrupted);
    let other = read(&chat(), of_type("application/json"), &[b"<html>"]).unwrap_err();
    assert_eq!(other.failure.class, FailureClass::ServerError);
    assert!(!format!("{cut:?} {other:?}").contains("mess\""), "half an answer is not quoted");
}

#[test]
fn a_connection_that_breaks_behind_a_complete_answer_breaks_nothing() {
    let lost = || Failure::of_attempt(FailureClass::StreamInterrupted, "lost", "lost");
    let complete =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"Paris\"},\"finish_reason\":\"stop\"}]}\n\n";
    let half = b"data: {\"choices\":[{\"delta\":{\"content\":\"Par\"}}]}\n\ndata: {\"cho";
    let broken = |body: &[u8]| {
        let mut reader = Reader::new(of_type("text/event-stream"), chat().decoder(&exchange()));
        let mut sink = Heard::default();
        reader.push(body, &mut sink);
        (reader.broken(lost(), &mut sink), sink.first_tokens, sink.tokens)
    };
    assert_eq!(broken(complete).0.unwrap().text, "Paris");
    let (reply, first_tokens, tokens) = broken(half);
    assert_eq!(reply, Err(Broken { failure: lost(), partial: "Par".to_owned(), usage: None }));
    assert_eq!((first_tokens, tokens), (1, 1));
}
