use serde_json::{Value, json};

use super::*;
use crate::domain::message::{Message, Prompt};
use crate::domain::model::Subset;
use crate::provider::Draw;
use crate::provider::classify::{Head, Headers, response};

/// A request that holds everything that can be corrected.
fn exchange(structured: Structured) -> Exchange {
    let schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        "additionalProperties": false,
    });
    Exchange {
        prompt: Prompt {
            system: Some("Be brief.".to_owned()),
            messages: vec![Message::user("Which city?")],
        },
        schema: Some(Arc::new(schema)),
        max_tokens: 100_000,
        temperature: Some(0.2),
        effort: Some("minimal".to_owned()),
        profile: Arc::new(ModelProfile {
            structured,
            fallback: Structured::Json,
            subset: Subset::OpenAi,
            effort: Efforts::of(["minimal", "low"]),
            ..ModelProfile::plain("m")
        }),
        draw: Draw::default(),
    }
}

fn refused(status: u16, body: &str) -> Failure {
    response(&Head { status, headers: Headers::default() }, body.as_bytes())
}

fn corrected(status: u16, body: &str, exchange: &Exchange) -> Option<Correction> {
    Correction::of(&refused(status, body), exchange)
}

/// Refusals as vendors have sent them, wording and wrapping unchanged, each with what it corrects.
const REFUSALS: [(Structured, u16, &str, Option<Correction>); 17] = [
    (
        Structured::Schema,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` and `top_p` cannot both be specified for this model. Please use only one."}}"#,
        Some(Correction::NoTemperature),
    ),
    (
        Structured::Schema,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools."}}"#,
        Some(Correction::OneSchema(Structured::Json)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"}}"#,
        Some(Correction::OneSchema(Structured::Json)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
        Some(Correction::TokenField(TokenField::MaxCompletionTokens)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"error":{"message":"Invalid schema for response_format 'json_schema': In context=(), 'additionalProperties' is required to be supplied and to be false.","type":"invalid_request_error","param":"response_format","code":null}}"#,
        Some(Correction::OneSchema(Structured::Json)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"error":{"code":400,"message":"The specified schema produces a constraint that has too many states for serving. Typical causes are schemas with lots of text, very long array length limits, or enums with many values.","status":"INVALID_ARGUMENT"}}"#,
        Some(Correction::OneSchema(Structured::Json)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"message":"The maximum tokens you requested exceeds the model limit of 32768. Try again with a maximum tokens value that is lower than 32768."}"#,
        Some(Correction::MaxOutput(32_768)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"message":"The model returned the following errors: `temperature` and `top_p` cannot both be specified for this model. Please use only one."}"#,
        Some(Correction::NoTemperature),
    ),
    (
        Structured::Schema,
        400,
        "Bad request: rpc error: code = InvalidArgument desc = max_tokens (10000) cannot exceed 8192. Please reduce the length of max output tokens generated.\n",
        Some(Correction::MaxOutput(8_192)),
    ),
    (
        Structured::Tool,
        404,
        r#"{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}"#,
        Some(Correction::Structured(Structured::Json)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\n  \"error\": {\n    \"message\": \"Invalid schema for response_format 'json_schema': In context=('properties', 'etymology'), 'additionalProperties' is required to be supplied and to be false.\",\n    \"type\": \"invalid_request_error\",\n    \"param\": \"response_format\",\n    \"code\": null\n  }\n}","provider_name":"Azure"}}}"#,
        Some(Correction::OneSchema(Structured::Json)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"error":{"message":"`max_completion_tokens` must be less than or equal to `16384`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model","type":"invalid_request_error","param":"max_completion_tokens"}}"#,
        Some(Correction::MaxOutput(16_384)),
    ),
    (
        Structured::Tool,
        400,
        r#"{"error":"registry.ollama.ai/library/gemma:latest does not support tools"}"#,
        Some(Correction::Structured(Structured::Json)),
    ),
    (
        Structured::Schema,
        400,
        r#"{"error":{"code":400,"message":"json-schema-to-grammar: error parsing grammar: unknown escape at \\d{4}","type":"invalid_request_error"}}"#,
        Some(Correction::OneSchema(Structured::Json)),
    ),
    (
        Structured::Json,
        400,
        r#"{"error":{"message":"'response_format' of type 'json_object' is not supported with this model.","param":"response_format","code":"unsupported_parameter"}}"#,
        Some(Correction::Structured(Structured::Instruct)),
    ),
    (
        Structured::Tool,
        400,
        r#"{"message":"This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool and try again."}"#,
        Some(Correction::Structured(Structured::Json)),
    ),
    (
        Structured::Tool,
        400,
        r#"{"message":"This model doesn't support tool use."}"#,
        Some(Correction::Structured(Structured::Json)),
    ),
];

#[test]
fn a_refusal_of_a_parameter_corrects_what_it_speaks_of() {
    for (structured, status, body, expected) in REFUSALS {
        assert_eq!(corrected(status, body, &exchange(structured)), expected, "{body}");
    }
}

#[test]
fn the_other_name_of_the_bound_is_taken_back_too() {
    let mut sent = exchange(Structured::Schema);
    Arc::make_mut(&mut sent.profile).token_field = TokenField::MaxCompletionTokens;
    let to_max_tokens = Some(Correction::TokenField(TokenField::MaxTokens));
    for (status, body) in [
        (
            422,
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":32000}]},"type":"invalid_request_error","param":null,"code":null}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 800}]","type":"BadRequestError","param":null,"code":400}"#,
        ),
    ] {
        assert_eq!(corrected(status, body, &sent), to_max_tokens, "{body}");
    }
}

#[test]
fn refusals_that_say_nothing_of_the_profile_correct_nothing() {
    for (status, body) in [
        (
            400,
            r#"{"error":{"message":"Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 81 instead.","type":"invalid_request_error","param":"user","code":"string_above_max_length"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 200 instead.","type":"invalid_request_error","param":"temperature","code":"decimal_above_max_value"}}"#,
        ),
        (
            400,
            r#"{"error_code":"BAD_REQUEST","message":"Bad request: json: unknown field \"inputs\""}"#,
        ),
        (
            501,
            r#"{"error":{"code":501,"message":"This server does not support embeddings. Start it with `--embeddings`","type":"not_supported_error"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"max_tokens must be at least 1, got -186.","type":"BadRequestError","param":null,"code":400}"#,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 16385 tokens. However, you requested 16583 tokens (16083 in the messages, 500 in the completion)."}}"#,
        ),
        (
            429,
            r#"{"error":{"message":"Too many tokens, please wait: max_tokens cannot exceed 8192 a minute"}}"#,
        ),
    ] {
        assert_eq!(corrected(status, body, &exchange(Structured::Schema)), None, "{body}");
    }
    let mut cold = exchange(Structured::Schema);
    cold.temperature = None;
    let body = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model.","param":"temperature","code":"unsupported_value"}}"#;
    assert_eq!(corrected(400, body, &cold), None, "none was sent");
    assert_eq!(
        corrected(400, body, &exchange(Structured::Schema)),
        Some(Correction::NoTemperature)
    );
}

#[test]
fn effort_counts_and_the_system_prompt_are_corrected_by_their_names() {
    let of = |message: &str, param: Value| {
        let body =
            json!({"error": {"message": message, "param": param, "code": "unsupported_value"}});
        corrected(400, &body.to_string(), &exchange(Structured::Schema))
    };
    let words = of(
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.",
        json!("reasoning_effort"),
    );
    assert_eq!(words, Some(Correction::Effort(Efforts::of(["low", "medium", "high"]))));
    let none = of("Unrecognized request argument supplied: reasoning_effort", Value::Null);
    assert_eq!(none, Some(Correction::Effort(Efforts::NONE)));
    let counts = of("Unrecognized request argument supplied: stream_options", Value::Null);
    assert_eq!(counts, Some(Correction::NoCounts));
    for words in [
        "System role not supported",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    ] {
        assert_eq!(of(words, Value::Null), Some(Correction::MergedSystem), "{words}");
    }
}

#[test]
fn a_correction_changes_what_is_sent_once_and_says_so() {
    for correction in [
        Correction::NoTemperature,
        Correction::Effort(Efforts::NONE),
        Correction::Effort(Efforts::of(["low", "high"])),
        Correction::NoCounts,
        Correction::TokenField(TokenField::MaxCompletionTokens),
        Correction::MaxOutput(8_192),
        Correction::MergedSystem,
        Correction::Structured(Structured::Json),
        Correction::OneSchema(Structured::Instruct),
    ] {
        let before = exchange(Structured::Schema);
        let mut after = before.clone();
        correction.apply(&mut after);
        assert_ne!(before.profile, after.profile, "{correction}");
        assert!(!correction.to_string().is_empty());
        let once = after.profile.clone();
        correction.apply(&mut after);
        assert_eq!(once, after.profile, "{correction}");
    }
}
