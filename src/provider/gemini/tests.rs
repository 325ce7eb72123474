use serde_json::{Value, json};

use super::*;
use crate::domain::failure::{FailureClass, Scope};
use crate::domain::message::Usage;
use crate::domain::model::{Efforts, Structured, SystemPrompt};
use crate::provider::fixture::{city, events, exchange, of_type, read, stream, with_profile};

macro_rules! body_of {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/provider/gemini/", $name))
    };
}

const USAGE: Usage = Usage { input: 27, cached_input: 5, output: 12, estimated: false, cost: None };

fn plain() -> Exchange {
    exchange(Structured::Instruct, None)
}

#[test]
fn a_plain_request_has_its_own_names_and_no_empty_part() {
    let request = Gemini.encode(&plain());
    assert_eq!(request.path, "/v1beta/models/small:streamGenerateContent");
    assert_eq!(request.query.as_deref(), Some("alt=sse"));
    assert_eq!(
        request.body,
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Which city?\n\nQuick."}]},
                {"role": "model", "parts": [{"text": "Rome"}]},
                {"role": "user", "parts": [{"text": "No."}]},
            ],
            "generationConfig": {"maxOutputTokens": 32, "temperature": 0.5},
        })
    );
    let merged = with_profile(plain(), |profile| profile.system = SystemPrompt::Merged);
    let body = Gemini.encode(&merged).body;
    assert_eq!(body.get("systemInstruction"), None);
    let first = body["contents"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("Be brief.\n\nWhich city?"), "{first}");
}

#[test]
fn a_models_id_is_a_path_of_its_own() {
    let path =
        |id: &str| Gemini.encode(&with_profile(plain(), |profile| profile.id = id.to_owned())).path;
    assert_eq!(path("gemini-2.5-flash"), "/v1beta/models/gemini-2.5-flash:streamGenerateContent");
    assert_eq!(path("tunedModels/mine"), "/v1beta/tunedModels/mine:streamGenerateContent");
    assert_eq!(path("a?b#c"), "/v1beta/models/a%3Fb%23c:streamGenerateContent");
}

#[test]
fn effort_is_a_level_or_in_older_models_a_budget() {
    let thinking = |id: &str, effort: &str| {
        let asked = Exchange { effort: Some(effort.to_owned()), ..plain() };
        let asked = with_profile(asked, |profile| {
            profile.id = id.to_owned();
            profile.effort = Efforts::of(["none", "low", "medium", "high"]);
        });
        Gemini.encode(&asked).body["generationConfig"].get("thinkingConfig").cloned()
    };
    assert_eq!(thinking("gemini-3-pro", "low"), Some(json!({"thinkingLevel": "low"})));
    assert_eq!(thinking("gemini-2.5-flash", "medium"), Some(json!({"thinkingBudget": 8_192})));
    assert_eq!(thinking("models/gemini-2.5-flash", "none"), Some(json!({"thinkingBudget": 0})));
    assert_eq!(thinking("gemini-2.5-flash", "enormous"), None);
}

#[test]
fn a_schema_is_asked_for_in_the_way_the_model_knows() {
    let body = |structured| Gemini.encode(&exchange(structured, Some(city()))).body;
    let config = body(Structured::Schema)["generationConfig"].clone();
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config["responseJsonSchema"], city());
    let object = body(Structured::Json);
    assert_eq!(object["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(object["generationConfig"].get("responseJsonSchema"), None);
    assert!(
        object["systemInstruction"]["parts"][0]["text"].as_str().unwrap().contains("JSON Schema")
    );
    let tool = body(Structured::Tool);
    assert_eq!(tool["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"], city());
    let calling = json!({"mode": "ANY", "allowedFunctionNames": ["answer"]});
    assert_eq!(tool["toolConfig"], json!({"functionCallingConfig": calling}));
    assert_eq!(
        tool["generationConfig"].get("responseMimeType"),
        None,
        "the two exclude each other"
    );
}

#[test]
fn a_recorded_stream_is_the_answer_its_thoughts_and_its_last_counts() {
    let (reply, heard) = stream(&Gemini, &plain(), body_of!("answer.sse"));
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage), ("The capital is Paris.", USAGE));
    assert_eq!((heard.text.as_str(), heard.first_tokens), ("The capital is Paris.", 1));
    assert_eq!(heard.tokens, 4 + 4 + 4, "thoughts are counted");
    assert_eq!(heard.usage.len(), 4);
}

#[test]
fn a_document_and_a_list_of_chunks_are_read_like_a_stream() {
    let document = body_of!("answer.json");
    let chunks: Vec<&str> =
        body_of!("answer.sse").lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let list = format!("[{}]", chunks.join(",\n"));
    for body in [document, &list] {
        let (reply, _) = read(&Gemini, &plain(), of_type("application/json"), &[body.as_bytes()]);
        let reply = reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.usage), ("The capital is Paris.", USAGE));
    }
    let error = br#"[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}]"#;
    let (reply, _) = read(&Gemini, &plain(), of_type("application/json"), &[error]);
    assert_eq!(reply.unwrap_err().failure.class, FailureClass::RateLimited);
}

#[test]
fn a_forced_tools_arguments_are_the_answer() {
    let forced = exchange(Structured::Tool, Some(city()));
    let (reply, heard) = stream(&Gemini, &forced, body_of!("tool.sse"));
    assert_eq!(
        (reply.unwrap().text.as_str(), heard.text.as_str()),
        ("{\"city\":\"Paris\"}", "{\"city\":\"Paris\"}")
    );
}

fn ends(why: &str) -> Value {
    json!({"candidates": [{"content": {"parts": [{"text": "Pa"}]}, "finishReason": why, "finishMessage": "so it is"}]})
}

#[test]
fn every_end_has_its_class_and_keeps_the_text() {
    use FailureClass::*;
    let classes = [
        ("MAX_TOKENS", TruncatedOutput, Scope::Attempt),
        ("SAFETY", ContentFiltered, Scope::Attempt),
        ("RECITATION", ContentFiltered, Scope::Attempt),
        ("BLOCKLIST", ContentFiltered, Scope::Attempt),
        ("PROHIBITED_CONTENT", ContentFiltered, Scope::Attempt),
        ("SPII", ContentFiltered, Scope::Attempt),
        ("LANGUAGE", ContentFiltered, Scope::Attempt),
        ("OTHER", ContentFiltered, Scope::Attempt),
        ("MALFORMED_FUNCTION_CALL", UnparseableOutput, Scope::Attempt),
        ("UNEXPECTED_TOOL_CALL", UnparseableOutput, Scope::Attempt),
        ("TOO_MANY_TOOL_CALLS", UnparseableOutput, Scope::Attempt),
        ("MALFORMED_RESPONSE", ServerError, Scope::Path),
        ("A_NEW_REASON", ServerError, Scope::Path),
    ];
    for (why, class, scope) in classes {
        let broken = stream(&Gemini, &plain(), &events(&[ends(why)])).0.unwrap_err();
        assert_eq!((broken.failure.class, broken.failure.scope), (class, scope), "{why}");
        assert_eq!(broken.partial, "Pa", "{why}");
    }
    let unknown = stream(&Gemini, &plain(), &events(&[ends("A_NEW_REASON")])).0.unwrap_err();
    assert!(unknown.failure.message.ends_with("A_NEW_REASON: so it is"), "{unknown:?}");
}

#[test]
fn a_blocked_prompt_is_told_from_an_answer_that_was_stopped() {
    let broken = stream(&Gemini, &plain(), body_of!("refusal.sse")).0.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::ContentFiltered);
    assert_eq!(broken.failure.evidence, "prompt blocked");
    assert!(broken.failure.message.ends_with("PROHIBITED_CONTENT"), "{broken:?}");
    assert_eq!(broken.usage.unwrap().input, 27);
}

#[test]
fn thoughts_that_used_up_the_bound_are_told() {
    let chunk = json!({
        "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}],
        "usageMetadata": {"promptTokenCount": 30, "thoughtsTokenCount": 64},
    });
    let broken = stream(&Gemini, &plain(), &events(&[chunk])).0.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::TruncatedOutput);
    assert!(broken.failure.message.contains("reasoning used up its 64 tokens"), "{broken:?}");
    assert_eq!(broken.usage.unwrap().output, 64);
}

#[test]
fn without_a_reason_the_stream_was_cut_and_its_counts_are_estimates() {
    let chunk = json!({
        "candidates": [{"content": {"parts": [{"text": "The capital is"}]}}],
        "usageMetadata": {"promptTokenCount": 9},
    });
    let broken = stream(&Gemini, &plain(), &events(&[chunk])).0.unwrap_err();
    assert_eq!(
        (broken.failure.class, broken.partial.as_str()),
        (FailureClass::StreamInterrupted, "The capital is")
    );
    let usage = broken.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.estimated), (9, 5, true));
    let other = read(&Gemini, &plain(), of_type("application/json"), &[b"{\"hello\":1}"]).0;
    assert!(other.unwrap_err().failure.message.contains("not generated content"));
}
