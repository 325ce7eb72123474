use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::domain::failure::FailureClass;
use crate::domain::message::Usage;
use crate::domain::model::{Efforts, Structured, Subset};
use crate::provider::fixture::{self, Heard, with_profile};
use crate::provider::sse::Event;
use crate::provider::{Broken, Reply};

fn exchange(structured: Structured, schema: Option<Value>) -> Exchange {
    with_profile(fixture::exchange(structured, schema), |profile| {
        profile.id = "claude-x".to_owned();
        profile.fallback = Structured::Tool;
        profile.subset = Subset::Anthropic;
        profile.temperature = false;
        profile.effort = Efforts::of(["low", "high"]);
    })
}

#[test]
fn turns_alternate_and_the_system_prompt_stands_above_them() {
    let request = Anthropic.encode(&exchange(Structured::Instruct, None));
    assert_eq!(
        (request.path, request.headers),
        ("/v1/messages".into(), vec![("anthropic-version", "2023-06-01")])
    );
    assert_eq!(
        request.body,
        json!({
            "model": "claude-x",
            "max_tokens": 32,
            "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "Which city?\n\nQuick."},
                {"role": "assistant", "content": "Rome"},
                {"role": "user", "content": "No."},
            ],
            "stream": true,
        })
    );
}

#[test]
fn a_schema_that_cannot_be_compiled_becomes_a_tools_parameters() {
    let closed = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": [], "additionalProperties": false});
    let mut bounded = closed.clone();
    bounded["properties"]["n"]["minimum"] = json!(1);
    let body = Anthropic.encode(&exchange(Structured::Schema, Some(bounded))).body;
    let mut said = closed.clone();
    said["properties"]["n"]["description"] = json!("At least 1.");
    assert_eq!(body["output_config"], json!({"format": {"type": "json_schema", "schema": said}}));
    assert_eq!(body.get("tools"), None);
    let mut open = closed;
    open["additionalProperties"] = json!(true);
    let body = Anthropic.encode(&exchange(Structured::Schema, Some(open.clone()))).body;
    assert_eq!(body["tools"][0]["input_schema"], open);
    assert_eq!(body.get("output_config"), None);
}

#[test]
fn a_temperature_stays_within_this_vendors_range() {
    let mut asked = exchange(Structured::Instruct, None);
    Arc::make_mut(&mut asked.profile).temperature = true;
    assert_eq!(Anthropic.encode(&asked).body["temperature"], 0.5);
    asked.temperature = Some(1.7);
    assert_eq!(Anthropic.encode(&asked).body["temperature"], 1.0);
}

#[test]
fn effort_is_sent_beside_the_format() {
    let asked =
        Exchange { effort: Some("none".to_owned()), ..exchange(Structured::Instruct, None) };
    assert_eq!(Anthropic.encode(&asked).body["output_config"], json!({"effort": "low"}));
}

fn events(list: &[Value]) -> (Result<Reply, Broken>, Heard) {
    let mut decoder = Anthropic.decoder(&exchange(Structured::Instruct, None));
    let mut heard = Heard::default();
    for data in list {
        let event = Event { data: data.to_string(), ..Event::default() };
        if let Err(failure) = decoder.event(&event, &mut heard) {
            return (Err(decoder.abort(failure)), heard);
        }
    }
    (decoder.finish(), heard)
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"usage": {
        "input_tokens": 20, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1,
    }}})
}

fn delta(delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": 0, "delta": delta})
}

fn ends(why: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 12}})
}

#[test]
fn thinking_counts_and_stays_out_of_the_answer() {
    let list = [
        start(),
        json!({"type": "ping"}),
        delta(&json!({"type": "thinking_delta", "thinking": "Hm."})),
        delta(&json!({"type": "signature_delta", "signature": "abc"})),
        delta(&json!({"type": "text_delta", "text": "Paris"})),
        ends("end_turn"),
    ];
    let (reply, heard) = events(&list);
    let usage = Usage { input: 27, cached_input: 5, output: 12, estimated: false, cost: None };
    assert_eq!(
        reply,
        Ok(Reply { text: "Paris".to_owned(), usage, invented: false, remaining: None })
    );
    assert_eq!((heard.text.as_str(), heard.tokens), ("Paris", 3));
    assert_eq!(heard.usage, [Usage { output: 1, estimated: true, ..usage }, usage]);
}

#[test]
fn a_cut_stream_counts_what_had_arrived() {
    let long = "word ".repeat(30);
    let broken =
        events(&[start(), delta(&json!({"type": "text_delta", "text": long}))]).0.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::StreamInterrupted);
    assert_eq!(
        broken.usage,
        Some(Usage { input: 27, cached_input: 5, output: 50, estimated: true, cost: None })
    );
}

#[test]
fn every_end_has_its_class() {
    use FailureClass::*;
    let text = || delta(&json!({"type": "text_delta", "text": "Pa"}));
    for (why, class) in [
        ("max_tokens", TruncatedOutput),
        ("model_context_window_exceeded", TruncatedOutput),
        ("refusal", Refusal),
        ("pause_turn", ServerError),
        ("a_new_reason", ServerError),
    ] {
        let broken = events(&[start(), text(), ends(why)]).0.unwrap_err();
        assert_eq!((broken.failure.class, broken.partial.as_str()), (class, "Pa"), "{why}");
    }
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(events(&[start(), text(), error]).0.unwrap_err().failure.class, Overloaded);
    assert_eq!(events(&[start(), ends("end_turn")]).0.unwrap_err().failure.class, EmptyOutput);
}
