use std::sync::Arc;

use super::*;
use crate::domain::message::{Message, Prompt, Usage};
use crate::domain::model::ModelProfile;
use crate::domain::provider::ChatQuirks;
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

fn of_type(kind: &str) -> Head {
    Head { status: 200, headers: [("content-type", kind)].into_iter().collect() }
}

fn chat() -> Chat {
    Chat { quirks: ChatQuirks::NONE }
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
    assert_eq!(reply, Err(Broken { partial: "Par".to_owned(), ..lost().into() }));
    assert_eq!((first_tokens, tokens), (1, 1));
}

#[test]
fn what_is_left_is_told_with_the_answer_and_with_the_failure() {
    let head = |status, kind| Head {
        status,
        headers: [("content-type", kind), ("x-ratelimit-remaining-tokens", "17")]
            .into_iter()
            .collect(),
    };
    let events =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"Paris\"},\"finish_reason\":\"stop\"}]}";
    let reply = read(&chat(), head(200, "text/event-stream"), &[events]).unwrap();
    assert_eq!(reply.remaining.unwrap().tokens, Some(17));
    let broken = read(&chat(), head(429, "application/json"), &[b"{}"]).unwrap_err();
    assert_eq!(broken.remaining.unwrap().tokens, Some(17));
    let silent = read(&chat(), of_type("text/event-stream"), &[events]).unwrap();
    assert_eq!(silent.remaining, None);
}

#[test]
fn bytes_that_are_no_text_make_no_answer() {
    let events = b"data: {\"choices\":[{\"delta\":{\"content\":\"Par\xff\"},\"finish_reason\":\"stop\"}]}\n\n";
    let broken = read(&chat(), of_type("text/event-stream"), &[events]).unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::StreamInterrupted);
    assert_eq!(broken.failure.evidence, "unreadable event");
    let document =
        b"{\"choices\":[{\"message\":{\"content\":\"Par\xff\"},\"finish_reason\":\"stop\"}]}";
    let broken = read(&chat(), of_type("application/json"), &[document]).unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::ServerError);
    let comment = b": \xff\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"Paris\"},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(read(&chat(), of_type("text/event-stream"), &[comment]).unwrap().text, "Paris");
}

#[test]
fn a_document_is_bounded_in_bytes_and_in_values() {
    let many = format!("{{\"choices\":[{}0]}}", "0,".repeat(200_000));
    let broken = read(&chat(), of_type("application/json"), &[many.as_bytes()]).unwrap_err();
    assert_eq!(broken.failure.message, "the answer's JSON holds more than 100000 values");
    let commas = ",".repeat(200_000);
    let text = format!(
        "{{\"choices\":[{{\"message\":{{\"content\":\"\\\"{commas}\"}},\"finish_reason\":\"stop\"}}]}}"
    );
    let reply = read(&chat(), of_type("application/json"), &[text.as_bytes()]).unwrap();
    assert_eq!(reply.text.len(), 200_001, "commas of the text are no values");
    let large = vec![b' '; 1 << 20];
    let parts: Vec<&[u8]> = std::iter::repeat_n(large.as_slice(), 9).collect();
    let broken = read(&chat(), of_type("application/json"), &parts).unwrap_err();
    assert_eq!(broken.failure.message, "the answer is larger than 8 MiB");
}

#[test]
fn a_compressed_answer_is_refused_before_any_of_it_is_read() {
    let headers = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let head = Head { status: 200, headers: headers.into_iter().collect() };
    let mut reader = Reader::new(head, chat().decoder(&exchange()));
    assert_eq!(reader.wants(), Wants::Nothing);
    let mut sink = Heard::default();
    assert_eq!(reader.push(b"\x1f\x8b", &mut sink), Wants::Nothing);
    let failure = reader.end(&mut sink).unwrap_err().failure;
    assert_eq!(
        (failure.class, failure.evidence.as_str()),
        (FailureClass::ServerError, "compressed answer")
    );
}

#[test]
fn no_more_is_taken_than_each_kind_of_body_may_have() {
    let taken = |head: Head, start: &str, piece: &str| {
        let mut reader = Reader::new(head, chat().decoder(&exchange()));
        let mut sink = Heard::default();
        reader.push(start.as_bytes(), &mut sink);
        let piece = piece.repeat((16 << 10) / piece.len());
        let mut taken = start.len();
        while reader.push(piece.as_bytes(), &mut sink) != Wants::Nothing {
            taken += piece.len();
            assert!(taken < 64 << 20);
        }
        let failure = reader.end(&mut sink).unwrap_err().failure;
        (taken + piece.len(), failure.class)
    };
    let within = |(bytes, class): (usize, FailureClass), bound: usize| {
        assert_eq!(class, FailureClass::ServerError);
        assert!(bytes >= bound && bytes <= bound + (16 << 10), "{bytes} of {bound}");
    };
    let comment = format!(": {}\n\n", "x".repeat(2_000));
    within(taken(of_type("application/json"), "{", " "), MAX_DOCUMENT);
    within(taken(of_type("text/event-stream"), "data: ", "x"), sse::MAX_EVENT);
    within(taken(of_type("text/event-stream"), "", &comment), sse::MAX_STREAM);
    within(taken(of_type("text/html"), "<html>", "x"), MAX_ERROR_BODY);
    within(taken(Head { status: 500, headers: Headers::default() }, "", "x"), MAX_ERROR_BODY);
}
