use serde_json::{Value, json};

use super::*;
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::message::Usage;
use crate::domain::model::{Efforts, Structured};
use crate::domain::money::Usd;
use crate::provider::fixture::{city, events, exchange, of_type, read, stream, with_profile};

macro_rules! body_of {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/provider/openai_responses/", $name))
    };
}

const USAGE: Usage = Usage { input: 27, cached_input: 5, output: 12, estimated: false, cost: None };

fn plain() -> Exchange {
    exchange(Structured::Instruct, None)
}

#[test]
fn a_plain_request_keeps_nothing_at_the_vendors() {
    let request = Responses.encode(&plain());
    assert_eq!((request.path, request.query), ("/responses".into(), None));
    assert_eq!(
        request.body,
        json!({
            "model": "small",
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": "Which city?"},
                {"role": "user", "content": "Quick."},
                {"role": "assistant", "content": " "},
                {"role": "assistant", "content": "Rome"},
                {"role": "user", "content": "No."},
            ],
            "max_output_tokens": 32,
            "temperature": 0.5,
            "store": false,
            "stream": true,
        })
    );
}

#[test]
fn what_a_model_does_not_take_is_not_sent_and_the_least_bound_is_kept() {
    let narrow = with_profile(plain(), |profile| {
        profile.temperature = false;
        profile.max_output = Some(3);
        profile.effort = Efforts::of(["low", "high"]);
    });
    let body = Responses.encode(&Exchange { effort: Some("low".to_owned()), ..narrow }).body;
    assert_eq!(body.get("temperature"), None);
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(body["reasoning"], json!({"effort": "low"}));
}

#[test]
fn a_schema_is_asked_for_in_the_way_the_model_knows() {
    let body = |structured| Responses.encode(&exchange(structured, Some(city()))).body;
    let format = json!({"type": "json_schema", "name": "answer", "strict": true, "schema": city()});
    assert_eq!(body(Structured::Schema)["text"], json!({"format": format}));
    let object = body(Structured::Json);
    assert_eq!(object["text"], json!({"format": {"type": "json_object"}}));
    // The word JSON must stand in the input itself.
    assert_eq!(
        (object.get("instructions"), &object["input"][0]["role"]),
        (None, &json!("developer"))
    );
    assert!(object["input"][0]["content"].as_str().unwrap().contains("JSON Schema"));
    let tool = body(Structured::Tool);
    assert_eq!(tool["tools"][0]["parameters"], city());
    assert_eq!(tool["tool_choice"], json!({"type": "function", "name": "answer"}));
    assert_eq!(tool.get("text"), None);
    let told = body(Structured::Instruct);
    assert_eq!((told.get("text"), told.get("tools")), (None, None));
    assert!(told["instructions"].as_str().unwrap().contains("JSON Schema"));
}

#[test]
fn a_recorded_stream_is_the_answer_its_thoughts_and_its_counts() {
    let (reply, heard) = stream(&Responses, &plain(), body_of!("answer.sse"));
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage), ("The capital is Paris.", USAGE));
    assert_eq!((heard.text.as_str(), heard.first_tokens), ("The capital is Paris.", 1));
    assert_eq!(heard.tokens, 4 + 4 + 1 + 3, "thoughts are counted");
}

#[test]
fn a_stream_whose_deltas_a_gateway_swallowed_is_read_from_its_end() {
    let mut events = body_of!("answer.sse").split("\n\n");
    let last = events.find(|event| event.contains("response.completed")).unwrap();
    let (reply, heard) = stream(&Responses, &plain(), last);
    assert_eq!(
        (reply.unwrap().text.as_str(), heard.text.as_str()),
        ("The capital is Paris.", "The capital is Paris.")
    );
}

#[test]
fn a_document_is_read_like_its_stream() {
    let body = body_of!("answer.json").as_bytes();
    let (reply, _) = read(&Responses, &plain(), of_type("application/json"), &[body]);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage), ("The capital is Paris.", USAGE));
}

#[test]
fn a_forced_tools_arguments_are_the_answer() {
    let forced = exchange(Structured::Tool, Some(city()));
    let (reply, heard) = stream(&Responses, &forced, body_of!("tool.sse"));
    assert_eq!(
        (reply.unwrap().text.as_str(), heard.text.as_str()),
        ("{\"city\":\"Paris\"}", "{\"city\":\"Paris\"}")
    );
}

fn failed(response: &Value) -> Failure {
    let delta = json!({"type": "response.output_text.delta", "delta": "Pa"});
    let kind = format!("response.{}", response["status"].as_str().unwrap());
    let last = json!({"type": kind, "response": response});
    let (reply, _) = stream(&Responses, &plain(), &events(&[delta, last]));
    let broken = reply.unwrap_err();
    assert_eq!(broken.partial, "Pa");
    broken.failure
}

#[test]
fn every_end_has_its_class_and_keeps_the_text() {
    use FailureClass::*;
    let incomplete =
        |why: &str| failed(&json!({"status": "incomplete", "incomplete_details": {"reason": why}}));
    assert_eq!(incomplete("max_output_tokens").class, TruncatedOutput);
    assert_eq!(incomplete("content_filter").class, ContentFiltered);
    let unknown = incomplete("a_new_reason");
    assert_eq!((unknown.class, unknown.scope), (ServerError, Scope::Path));
    assert!(unknown.message.contains("a_new_reason"), "{unknown:?}");
    let error = |code: &str| {
        failed(&json!({"status": "failed", "error": {"code": code, "message": "Sorry."}}))
    };
    assert_eq!(error("server_error").class, ServerError);
    assert_eq!(error("rate_limit_exceeded").class, RateLimited);
    assert_eq!(error("insufficient_quota").class, QuotaExhausted);
}

#[test]
fn both_forms_of_an_error_event_are_read() {
    let nested = json!({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "Please try again in 2s."}});
    let flat = json!({"type": "error", "code": "rate_limit_exceeded", "message": "Please try again in 2s.", "param": null});
    for event in [nested, flat] {
        let failure = stream(&Responses, &plain(), &events(&[event])).0.unwrap_err().failure;
        assert_eq!(failure.class, FailureClass::RateLimited);
        assert_eq!(failure.retry_after, Some(std::time::Duration::from_secs(2)));
    }
}

#[test]
fn a_stream_without_its_last_event_is_cut_and_unknown_events_say_nothing() {
    let cut = [
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        json!({"type": "response.a_new_event", "delta": "x"}),
        json!({"type": "response.output_text.delta", "delta": "Pa"}),
    ];
    let broken = stream(&Responses, &plain(), &events(&cut)).0.unwrap_err();
    assert_eq!(
        (broken.failure.class, broken.partial.as_str()),
        (FailureClass::StreamInterrupted, "Pa")
    );
    let running = json!({"status": "in_progress", "output": []}).to_string();
    let (reply, _) = read(&Responses, &plain(), of_type("application/json"), &[running.as_bytes()]);
    assert_eq!(reply.unwrap_err().failure.class, FailureClass::ServerError);
    let other = read(&Responses, &plain(), of_type("application/json"), &[b"{\"hello\":1}"]).0;
    assert!(other.unwrap_err().failure.message.contains("not a response"));
}

#[test]
fn a_charge_that_is_stated_is_passed_on() {
    let response = json!({
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Paris"}]}],
        "usage": {"input_tokens": 10, "output_tokens": 20, "cost_in_usd_ticks": 123_456},
    });
    let completed = json!({"type": "response.completed", "response": response});
    let usage = stream(&Responses, &plain(), &events(&[completed])).0.unwrap().usage;
    assert_eq!(usage.cost.map(Usd::picos), Some(12_345_600));
}
