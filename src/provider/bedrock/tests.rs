use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::domain::failure::{FailureClass, Scope};
use crate::domain::message::Usage;
use crate::domain::model::{Efforts, ModelProfile, Structured, Subset, SystemPrompt};
use crate::provider::event_stream::{self, frames};
use crate::provider::fixture::{self, Heard, city, of_type, with_profile};
use crate::provider::{Broken, Reply};

fn exchange(structured: Structured, schema: Option<Value>) -> Exchange {
    with_profile(fixture::exchange(structured, schema), |profile| {
        profile.id = "us.anthropic.claude-x-v1:0".to_owned();
        profile.fallback = Structured::Tool;
        profile.subset = Subset::Bedrock;
        profile.effort = Efforts::of(["low"]);
    })
}

#[test]
fn a_request_is_encoded_as_converse_wants_it() {
    let request = Bedrock.encode(&exchange(Structured::Instruct, None));
    assert_eq!(request.path, "/model/us.anthropic.claude-x-v1%3A0/converse-stream");
    assert_eq!((request.query, Bedrock.key_header()), (None, KeyHeader::Bearer));
    assert_eq!(
        request.body.to_string(),
        r#"{"system":[{"text":"Be brief."}],"messages":[{"role":"user","content":[{"text":"Which city?"},{"text":"Quick."}]},{"role":"assistant","content":[{"text":"Rome"}]},{"role":"user","content":[{"text":"No."}]}],"inferenceConfig":{"maxTokens":32,"temperature":0.5}}"#
    );
}

#[test]
fn an_arn_is_one_segment_of_the_path() {
    assert_eq!(
        encode::path("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc1"),
        "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc1/converse-stream"
    );
    assert_eq!(encode::path("a b?#%é"), "/model/a%20b%3F%23%25%C3%A9/converse-stream");
}

#[test]
fn a_schema_travels_as_a_string_and_effort_beside_it() {
    let asked =
        Exchange { effort: Some("low".to_owned()), ..exchange(Structured::Schema, Some(city())) };
    let body = Bedrock.encode(&asked).body;
    let text = city().to_string();
    assert_eq!(
        body["outputConfig"],
        json!({
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"name": "answer", "schema": text}},
            },
            "effort": "low",
        })
    );
    assert_eq!(
        (body.get("toolConfig"), body["system"][0]["text"].as_str()),
        (None, Some("Be brief."))
    );
}

#[test]
fn a_schema_that_cannot_be_compiled_becomes_a_tools_parameters() {
    let mut open = city();
    open["additionalProperties"] = json!(true);
    for structured in [Structured::Schema, Structured::Tool] {
        let body = Bedrock.encode(&exchange(structured, Some(open.clone()))).body;
        assert_eq!(
            body["toolConfig"],
            json!({
                "tools": [{"toolSpec": {
                    "name": "answer", "description": "Gives the answer.",
                    "inputSchema": {"json": open},
                }}],
                "toolChoice": {"tool": {"name": "answer"}},
            })
        );
        assert_eq!(body.get("outputConfig"), None);
    }
}

#[test]
fn without_tools_and_schemas_the_model_is_told_the_shape() {
    for structured in [Structured::Instruct, Structured::Json] {
        let body = Bedrock.encode(&exchange(structured, Some(city()))).body;
        let system = body["system"][0]["text"].as_str().unwrap();
        assert!(system.starts_with("Be brief.") && system.contains(&city().to_string()));
        assert_eq!((body.get("toolConfig"), body.get("outputConfig")), (None, None));
    }
}

#[test]
fn a_model_without_a_system_prompt_is_told_in_the_first_turn() {
    let mut asked = exchange(Structured::Instruct, None);
    let profile = ModelProfile {
        system: SystemPrompt::Merged,
        temperature: false,
        ..ModelProfile::clone(&asked.profile)
    };
    asked.profile = Arc::new(profile);
    let body = Bedrock.encode(&asked).body;
    assert_eq!(body.get("system"), None);
    assert_eq!(body["messages"][0]["content"][0]["text"], "Be brief.\n\nWhich city?");
    assert_eq!(body["inferenceConfig"], json!({"maxTokens": 32}));
}

fn read(asked: &Exchange, content_type: &str, body: &[u8]) -> (Result<Reply, Broken>, Heard) {
    fixture::read(&Bedrock, asked, of_type(content_type), &[body])
}

fn events(list: &[Value]) -> (Result<Reply, Broken>, Heard) {
    read(&exchange(Structured::Instruct, None), event_stream::CONTENT_TYPE, &frames::stream(list))
}

fn start() -> Value {
    json!({"messageStart": {"role": "assistant", "p": "abcd"}})
}

fn delta(delta: &Value) -> Value {
    json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta, "p": "abcdefgh"}})
}

fn ends(why: &str) -> Value {
    json!({"messageStop": {"stopReason": why}})
}

fn counts() -> Value {
    json!({"metadata": {
        "usage": {
            "inputTokens": 20, "outputTokens": 12, "totalTokens": 39,
            "cacheReadInputTokens": 5, "cacheWriteInputTokens": 2,
        },
        "metrics": {"latencyMs": 300},
    }})
}

const USAGE: Usage = Usage { input: 27, cached_input: 5, output: 12, estimated: false, cost: None };

#[test]
fn reasoning_counts_and_stays_out_of_the_answer() {
    let (reply, heard) = events(&[
        start(),
        delta(&json!({"reasoningContent": {"text": "Hm."}})),
        delta(&json!({"reasoningContent": {"signature": "abc"}})),
        delta(&json!({"reasoningContent": {"redactedContent": "YWJj"}})),
        json!({"contentBlockStop": {"contentBlockIndex": 0}}),
        delta(&json!({"text": "Par"})),
        delta(&json!({"text": "is"})),
        json!({"contentBlockStop": {"contentBlockIndex": 1}}),
        ends("end_turn"),
        counts(),
    ]);
    assert_eq!(
        reply,
        Ok(Reply { text: "Paris".to_owned(), usage: USAGE, invented: false, remaining: None })
    );
    assert_eq!((heard.text.as_str(), heard.tokens), ("Paris", 3));
    assert_eq!(heard.usage, [USAGE]);
}

#[test]
fn a_forced_tools_arguments_are_the_answer() {
    let list = [
        start(),
        delta(&json!({"text": "I will answer."})),
        json!({"contentBlockStart": {
            "contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t", "name": "answer"}},
        }}),
        json!({"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{\"city\":"}}}}),
        json!({"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "\"Paris\"}"}}}}),
        json!({"contentBlockStop": {"contentBlockIndex": 1}}),
        json!({"contentBlockStart": {
            "contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "u", "name": "answer"}},
        }}),
        json!({"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": "{}"}}}}),
        ends("tool_use"),
        counts(),
    ];
    let asked = exchange(Structured::Tool, Some(city()));
    let (reply, heard) = read(&asked, event_stream::CONTENT_TYPE, &frames::stream(&list));
    assert_eq!(reply.unwrap().text, r#"{"city":"Paris"}"#);
    assert_eq!(heard.text, r#"{"city":"Paris"}"#);
}

#[test]
fn a_reply_that_comes_as_one_document_is_read_whole() {
    let document = json!({
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "abc"}}},
            {"text": "Paris"},
        ]}},
        "stopReason": "end_turn",
        "usage": counts()["metadata"]["usage"],
        "metrics": {"latencyMs": 300},
    });
    let plain = exchange(Structured::Instruct, None);
    let (reply, heard) = read(&plain, "application/json", document.to_string().as_bytes());
    assert_eq!(
        reply,
        Ok(Reply { text: "Paris".to_owned(), usage: USAGE, invented: false, remaining: None })
    );
    assert_eq!(heard.tokens, 3);
    let mut tool = document;
    let input =
        json!({"toolUse": {"toolUseId": "t", "name": "answer", "input": {"city": "Paris"}}});
    tool["output"]["message"]["content"][1] = input;
    tool["stopReason"] = "tool_use".into();
    let forced = exchange(Structured::Tool, Some(city()));
    let (reply, _) = read(&forced, "application/json", tool.to_string().as_bytes());
    assert_eq!(reply.unwrap().text, r#"{"city":"Paris"}"#);
    let (other, _) = read(&plain, "application/json", b"{\"hello\":1}");
    assert!(other.unwrap_err().failure.message.contains("not a Converse reply"));
}

#[test]
fn every_end_has_its_class() {
    use FailureClass::*;
    let text = || delta(&json!({"text": "Pa"}));
    for (why, class) in [
        ("max_tokens", TruncatedOutput),
        ("model_context_window_exceeded", TruncatedOutput),
        ("guardrail_intervened", ContentFiltered),
        ("content_filtered", ContentFiltered),
        ("malformed_model_output", UnparseableOutput),
        ("malformed_tool_use", UnparseableOutput),
        ("a_new_reason", ServerError),
    ] {
        let broken = events(&[start(), text(), ends(why), counts()]).0.unwrap_err();
        assert_eq!((broken.failure.class, broken.partial.as_str()), (class, "Pa"), "{why}");
        assert_eq!(broken.usage, Some(USAGE), "{why}");
    }
    for why in ["end_turn", "stop_sequence", "tool_use"] {
        assert_eq!(events(&[start(), text(), ends(why)]).0.unwrap().text, "Pa");
    }
    let silent = events(&[start(), ends("end_turn"), counts()]).0.unwrap_err();
    assert_eq!(silent.failure.class, EmptyOutput);
}

#[test]
fn every_exception_in_mid_stream_has_its_class_and_keeps_the_text() {
    use FailureClass::*;
    let plain = |message: &str| json!({"message": message});
    let original = |status: u16| json!({"message": "The model failed.", "originalStatusCode": status, "originalMessage": "Oh."});
    for (kind, said, class, evidence) in [
        ("throttlingException", plain("Slow."), RateLimited, "429 status inside 200"),
        ("serviceUnavailableException", plain("Full."), Overloaded, "503 status inside 200"),
        ("internalServerException", plain("Oops."), ServerError, "500 status inside 200"),
        ("validationException", plain("Wrong."), BadRequest, "400 status inside 200"),
        ("modelStreamErrorException", plain("Broke."), ServerError, "424 status inside 200"),
        ("modelStreamErrorException", original(529), Overloaded, "529 status inside 200"),
        ("modelStreamErrorException", original(429), RateLimited, "429 status inside 200"),
        ("modelTimeoutException", plain("Late."), Timeout, "408 status inside 200"),
        ("modelNotReadyException", plain("Wait."), Overloaded, "503 no capacity inside 200"),
        ("aNewException", plain("What?"), BadRequest, "500 unknown error inside 200"),
    ] {
        let exception = Value::from_iter([(kind, said)]);
        let text = delta(&json!({"text": "Pa"}));
        let broken = events(&[start(), text, exception]).0.unwrap_err();
        let found = (broken.failure.class, broken.failure.evidence.as_str());
        assert_eq!((found, broken.partial.as_str()), ((class, evidence), "Pa"), "{kind}");
    }
    let said = json!({"modelStreamErrorException": original(529)});
    assert_eq!(events(&[start(), said]).0.unwrap_err().failure.message, "HTTP 529: Oh.");
}

#[test]
fn what_cannot_be_read_behind_a_complete_answer_takes_nothing_from_it() {
    let asked = exchange(Structured::Instruct, None);
    let complete = frames::stream(&[start(), delta(&json!({"text": "Paris"})), ends("end_turn")]);
    let read = |bytes: &[u8]| read(&asked, event_stream::CONTENT_TYPE, bytes).0;
    let mut damaged = frames::stream(&[counts()]);
    let middle = damaged.len() / 2;
    let cut = [&complete[..], &damaged[..middle]].concat();
    assert_eq!(read(&cut).unwrap().text, "Paris");
    damaged[middle] ^= 1;
    let reply = read(&[&complete[..], &damaged].concat()).unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.estimated), ("Paris", true));
}

#[test]
fn a_stream_that_breaks_off_is_interrupted_and_keeps_what_had_arrived() {
    let asked = exchange(Structured::Instruct, None);
    let read = |bytes: &[u8]| read(&asked, event_stream::CONTENT_TYPE, bytes).0.unwrap_err();
    let bytes =
        frames::stream(&[start(), delta(&json!({"text": "Pa"})), delta(&json!({"text": "ris"}))]);
    let cut = read(&bytes[..bytes.len() - 1]);
    let in_order = read(&bytes);
    let mut damaged = bytes.clone();
    damaged[bytes.len() - 9] ^= 1;
    let damaged = read(&damaged);
    for (broken, partial) in [(&cut, "Pa"), (&in_order, "Paris"), (&damaged, "Pa")] {
        assert_eq!(broken.failure.class, FailureClass::StreamInterrupted, "{broken:?}");
        assert_eq!((broken.failure.scope, broken.partial.as_str()), (Scope::Attempt, partial));
    }
    assert_eq!(cut.failure.message, "the event stream ended within a frame");
    assert!(damaged.failure.message.contains("checksum"), "{damaged:?}");
    let nothing = read(b"");
    assert_eq!(nothing.failure.message, "the stream ended without a single event");
}

#[test]
fn recorded_replies_and_streams_are_classified_as_they_were_meant() {
    let lines = include_str!("../../../tests/fixtures/provider/failures.jsonl").lines();
    let cases = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let replies = cases.filter(|case| case["provider"] == "bedrock" && case["status"] == 200);
    let mut seen = 0;
    for case in replies {
        let header = |name: &str| case["headers"][name].as_str().unwrap_or_default();
        let body = case["body"].as_str().unwrap();
        let kind = header("content-type");
        let bytes = match header(":exception-type") {
            "" => body.as_bytes().to_vec(),
            kind => frames::exception(kind, &serde_json::from_str(body).unwrap()),
        };
        let found =
            read(&exchange(Structured::Instruct, None), kind, &bytes).0.unwrap_err().failure;
        let also = case["expect"]["also_ok"].as_array().into_iter().flatten();
        let mut allowed = [&case["expect"]["class"]].into_iter().chain(also);
        assert!(allowed.any(|class| class == found.class.as_str()), "{}: {found:?}", case["id"]);
        assert_eq!(found.retry_after, None);
        seen += 1;
    }
    // A corpus that shrinks proves less.
    assert_eq!(seen, 4);
}
