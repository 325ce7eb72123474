use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::message::{Message, Prompt, Usage};
use crate::domain::model::{Efforts, ModelProfile, Structured, Subset, SystemPrompt, TokenField};
use crate::domain::money::Usd;
use crate::domain::provider::Routing;
use crate::provider::dialect::Progress;
use crate::provider::sse::Event;
use crate::provider::{Broken, Draw, Reply, Sink};

const QUIRKS: ChatQuirks = ChatQuirks::NONE;

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false,
    })
}

fn exchange(structured: Structured, schema: Option<Value>) -> Exchange {
    Exchange {
        prompt: Prompt {
            system: Some("Be brief.".to_owned()),
            messages: vec![
                Message::user("Which city?"),
                Message::assistant("Rome"),
                Message::user("No."),
            ],
        },
        schema: schema.map(Arc::new),
        max_tokens: 64,
        temperature: Some(0.5),
        effort: None,
        profile: Arc::new(ModelProfile {
            max_output: Some(32),
            structured,
            subset: Subset::OpenAi,
            token_field: TokenField::MaxCompletionTokens,
            ..ModelProfile::plain("small")
        }),
        draw: Draw::default(),
    }
}

fn with_profile(mut exchange: Exchange, change: impl FnOnce(&mut ModelProfile)) -> Exchange {
    change(Arc::make_mut(&mut exchange.profile));
    exchange
}

fn body(exchange: &Exchange) -> Value {
    Chat { quirks: QUIRKS }.encode(exchange).body
}

#[test]
fn a_plain_request_holds_what_the_profile_takes_and_nothing_else() {
    assert_eq!(
        body(&exchange(Structured::Schema, None)),
        json!({
            "model": "small",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Which city?"},
                {"role": "assistant", "content": "Rome"},
                {"role": "user", "content": "No."},
            ],
            "max_completion_tokens": 32,
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn what_a_server_or_model_does_not_take_is_not_sent() {
    let plain = with_profile(exchange(Structured::Instruct, None), |profile| {
        profile.temperature = false;
        profile.max_output = None;
        profile.token_field = TokenField::MaxTokens;
        profile.system = SystemPrompt::Merged;
        profile.counts = false;
        profile.effort = Efforts::of(["low", "medium", "high"]);
    });
    let thinking = Exchange { effort: Some("minimal".to_owned()), ..plain };
    let body = body(&thinking);
    let without = with_profile(thinking.clone(), |profile| profile.effort = Efforts::NONE);
    assert_eq!(Chat { quirks: QUIRKS }.encode(&without).body.get("reasoning_effort"), None);
    let quirks = ChatQuirks { stream_options: false, ..ChatQuirks::NONE };
    let counted = with_profile(thinking, |profile| profile.counts = true);
    assert_eq!(
        Chat { quirks }.encode(&counted).body,
        body,
        "the server's word stands above the model's"
    );
    assert_eq!(
        body,
        json!({
            "model": "small",
            "messages": [
                {"role": "user", "content": "Be brief.\n\nWhich city?"},
                {"role": "assistant", "content": "Rome"},
                {"role": "user", "content": "No."},
            ],
            "max_tokens": 64,
            "reasoning_effort": "low",
            "stream": true,
        })
    );
}

#[test]
fn a_schema_is_asked_for_in_the_way_the_model_knows() {
    let strict = body(&exchange(Structured::Schema, Some(schema())));
    let asked = &strict["response_format"];
    assert_eq!(
        (&asked["type"], &asked["json_schema"]["strict"]),
        (&json!("json_schema"), &json!(true))
    );
    assert_eq!(asked["json_schema"]["schema"], schema());

    let mut optional = schema();
    optional["required"] = json!([]);
    let asked =
        &body(&exchange(Structured::Schema, Some(optional)))["response_format"]["json_schema"];
    assert_eq!((&asked["strict"], &asked["schema"]["required"]), (&json!(true), &json!(["city"])));
    assert_eq!(asked["schema"]["properties"]["city"]["anyOf"][1], json!({"type": "null"}));
    let grammar = with_profile(exchange(Structured::Schema, Some(schema())), |profile| {
        profile.subset = Subset::Grammar;
    });
    assert_eq!(body(&grammar)["response_format"]["json_schema"]["schema"], schema());

    let object = body(&exchange(Structured::Json, Some(schema())));
    assert_eq!(object["response_format"], json!({"type": "json_object"}));
    let told = object["messages"][0]["content"].as_str().unwrap();
    assert!(told.starts_with("Be brief.\n\nAnswer with one JSON value"), "{told}");
    assert!(told.ends_with(&schema().to_string()), "{told}");

    let tool = body(&exchange(Structured::Tool, Some(schema())));
    assert_eq!(tool["tools"][0]["function"]["parameters"], schema());
    assert_eq!(tool["tool_choice"], json!({"type": "function", "function": {"name": "answer"}}));
    assert_eq!(tool["messages"][0]["content"], "Be brief.");

    let instruct = body(&exchange(Structured::Instruct, Some(schema())));
    assert_eq!(instruct.get("response_format"), None);
    assert!(instruct["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));
}

#[test]
fn a_schema_without_an_object_at_its_root_is_left_to_the_instructions() {
    for structured in [Structured::Schema, Structured::Json, Structured::Tool] {
        let list = json!({"type": "array", "items": {"type": "string"}});
        let body = body(&exchange(structured, Some(list)));
        assert_eq!((body.get("response_format"), body.get("tools")), (None, None));
        assert!(body["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));
    }
}

#[derive(Default)]
struct Heard(String, u64, u32);

impl Sink for Heard {
    fn first_token(&mut self) {
        self.2 += 1;
    }
    fn piece(&mut self, text: &str, tokens: u64) {
        self.0.push_str(text);
        self.1 += tokens;
    }
    fn usage(&mut self, _usage: Usage) {}
}

fn chunks(exchange: &Exchange, chunks: &[Value]) -> (Result<Reply, Broken>, Heard) {
    let mut decoder = Chat { quirks: QUIRKS }.decoder(exchange);
    let mut heard = Heard::default();
    for chunk in chunks {
        let event = Event { data: chunk.to_string(), ..Event::default() };
        if let Err(failure) = decoder.event(&event, &mut heard) {
            return (Err(decoder.abort(failure)), heard);
        }
    }
    (decoder.finish(), heard)
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn ends(why: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": why}]})
}

fn plain() -> Exchange {
    exchange(Structured::Instruct, None)
}

fn failed(list: &[Value]) -> Failure {
    chunks(&plain(), list).0.unwrap_err().failure
}

#[test]
fn reasoning_counts_as_tokens_and_stays_out_of_the_answer() {
    let list = [
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"reasoning_content": "Hm, let me see."})),
        delta(&json!({"reasoning": "Paris?"})),
        delta(
            &json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Yes"}]}]}),
        ),
        delta(&json!({"content": [{"type": "text", "text": "Pa"}]})),
        delta(&json!({"content": "ris"})),
        ends("stop"),
    ];
    let (reply, heard) = chunks(&plain(), &list);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), heard.0.as_str(), heard.2), ("Paris", "Paris", 1));
    assert_eq!((heard.1, reply.usage.estimated), (5 + 2 + 1 + 1 + 1, true));
    assert_eq!(reply.usage.output, 5 + 2 + 1 + 2);
}

#[test]
fn empty_deltas_are_no_tokens() {
    let list = [
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": null})),
        delta(&json!({})),
    ];
    let (reply, heard) = chunks(&plain(), &list);
    assert_eq!((heard.1, heard.2), (0, 0));
    assert_eq!(reply.unwrap_err().failure.class, FailureClass::StreamInterrupted);
}

#[test]
fn a_forced_tools_arguments_are_the_answer_and_words_beside_it_are_not() {
    let call = |arguments: &str| {
        delta(
            &json!({"tool_calls": [{"index": 0, "function": {"name": "answer", "arguments": arguments}}]}),
        )
    };
    let forced = exchange(Structured::Tool, Some(schema()));
    let list = [
        delta(&json!({"content": "Here:"})),
        call("{\"city\":"),
        call("\"Paris\"}"),
        ends("tool_calls"),
    ];
    let (reply, heard) = chunks(&forced, &list);
    assert_eq!(reply.unwrap().text, "{\"city\":\"Paris\"}");
    assert_eq!(heard.0, "{\"city\":\"Paris\"}");
    let (in_words, _) =
        chunks(&forced, &[delta(&json!({"content": "{\"city\":\"Rome\"}"})), ends("stop")]);
    assert_eq!(
        in_words.unwrap().text,
        "{\"city\":\"Rome\"}",
        "a server without tools answers in words"
    );
}

#[test]
fn every_end_has_its_class_and_keeps_the_text() {
    use FailureClass::*;
    let ends_as = [
        ("length", TruncatedOutput),
        ("model_length", TruncatedOutput),
        ("content_filter", ContentFiltered),
        ("error", ServerError),
        ("insufficient_system_resource", Overloaded),
        ("a_new_reason", ServerError),
    ];
    for (why, class) in ends_as {
        let broken =
            chunks(&plain(), &[delta(&json!({"content": "Pa"})), ends(why)]).0.unwrap_err();
        assert_eq!((broken.failure.class, broken.partial.as_str()), (class, "Pa"), "{why}");
    }
    assert!(failed(&[ends("a_new_reason")]).message.contains("a_new_reason"));
    assert!(failed(&[ends("length")]).message.contains("raise `max_tokens`"));
    assert_eq!(failed(&[ends("stop")]).class, EmptyOutput);
    assert_eq!(failed(&[delta(&json!({"refusal": "I can't"})), ends("stop")]).class, Refusal);
}

#[test]
fn an_error_inside_a_choice_or_a_vendors_corner_is_found() {
    let inside = json!({"choices": [{"index": 0, "finish_reason": "error", "error": {"code": 429, "message": "slow"}}]});
    assert_eq!(failed(&[inside]).class, FailureClass::RateLimited);
    let corner = json!({"choices": [], "x_groq": {"error": "over capacity"}});
    assert_eq!(failed(&[corner]).class, FailureClass::ServerError);
}

#[test]
fn done_alone_completes_an_answer_and_only_with_words() {
    let done = Event { data: "[DONE]".to_owned(), ..Event::default() };
    let mut heard = Heard::default();
    let mut decoder = Chat { quirks: QUIRKS }.decoder(&plain());
    let piece = Event { data: delta(&json!({"content": "Paris"})).to_string(), ..Event::default() };
    assert_eq!(decoder.event(&piece, &mut heard), Ok(Progress::Open));
    assert_eq!(decoder.event(&done, &mut heard), Ok(Progress::Closed));
    assert_eq!(decoder.finish().unwrap().text, "Paris");
    let mut decoder = Chat { quirks: QUIRKS }.decoder(&plain());
    decoder.event(&done, &mut heard).unwrap();
    assert_eq!(decoder.finish().unwrap_err().failure.class, FailureClass::EmptyOutput);
}

#[test]
fn counts_are_read_in_every_servers_form() {
    let counted = |extra: &Value| {
        let mut last = ends("stop");
        last.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        chunks(&plain(), &[delta(&json!({"content": "Paris"})), last]).0.unwrap().usage
    };
    let usage = |input, cached_input, output| Usage {
        input,
        cached_input,
        output,
        estimated: false,
        cost: None,
    };
    let openai = json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}});
    assert_eq!(counted(&json!({"usage": openai})), usage(9, 4, 2));
    let deepseek =
        json!({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 8});
    assert_eq!(counted(&json!({"usage": deepseek})), usage(9, 8, 2));
    let groq = json!({"usage": {"prompt_tokens": 9, "completion_tokens": 2}});
    assert_eq!(counted(&json!({"x_groq": groq, "usage": null})), usage(9, 0, 2));
    let timings = json!({"cache_n": 3, "prompt_n": 6, "predicted_n": 2});
    assert_eq!(counted(&json!({"timings": timings})), usage(9, 3, 2));
    assert!(counted(&json!({"usage": {"prompt_tokens": -1}})).estimated);
}

#[test]
fn what_a_vendor_charged_is_passed_on() {
    let charged = |extra: &Value| {
        let mut usage = json!({"prompt_tokens": 9, "completion_tokens": 2});
        usage.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let chunk = json!({"choices": [], "usage": usage});
        let list = [delta(&json!({"content": "Paris"})), ends("stop"), chunk];
        chunks(&plain(), &list).0.unwrap().usage.cost.map(Usd::picos)
    };
    assert_eq!(charged(&json!({"cost": 0.000_014})), Some(14_000_000));
    assert_eq!(charged(&json!({"cost_in_usd_ticks": 318_319_000})), Some(31_831_900_000));
    assert_eq!(charged(&json!({"cost": -1})), None);
    assert_eq!(charged(&json!({})), None);
}

fn quirky(quirks: ChatQuirks, exchange: &Exchange) -> Value {
    Chat { quirks }.encode(exchange).body
}

#[test]
fn a_server_that_cannot_stream_a_schema_is_asked_for_a_document() {
    let quirks = ChatQuirks { streamed_schema: false, ..ChatQuirks::NONE };
    let asked = quirky(quirks, &exchange(Structured::Schema, Some(schema())));
    assert_eq!((&asked["stream"], asked.get("stream_options")), (&json!(false), None));
    for structured in [Structured::Json, Structured::Tool, Structured::Instruct] {
        let body = quirky(quirks, &exchange(structured, Some(schema())));
        assert_eq!(body["stream"], true, "{structured:?}");
    }
}

#[test]
fn a_router_is_asked_for_a_provider_that_keeps_the_constraint_and_for_its_charge() {
    let quirks = ChatQuirks { routing: Routing::Behind, ..ChatQuirks::NONE };
    let body = quirky(quirks, &exchange(Structured::Schema, Some(schema())));
    assert_eq!(body["provider"], json!({"require_parameters": true}));
    assert_eq!(body["usage"], json!({"include": true}));
    assert_eq!(quirky(quirks, &plain()).get("provider"), None);
    let direct = quirky(ChatQuirks::NONE, &exchange(Structured::Schema, Some(schema())));
    assert_eq!((direct.get("provider"), direct.get("usage")), (None, None));
}

#[test]
fn the_key_goes_where_the_server_looks_for_it() {
    let place = |key| Chat { quirks: ChatQuirks { key, ..ChatQuirks::NONE } }.key_header();
    assert_eq!(place(KeyPlace::Bearer), KeyHeader::Bearer);
    assert_eq!(place(KeyPlace::ApiKey), KeyHeader::Named("api-key"));
}

#[test]
fn the_word_json_stands_in_every_prompt_that_asks_for_it() {
    for system in [None, Some("Be brief.".to_owned())] {
        let mut asked = exchange(Structured::Json, Some(schema()));
        asked.prompt.system = system;
        let body = body(&asked);
        let said =
            body["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap());
        assert!(said.into_iter().any(|text| text.to_lowercase().contains("json")), "{body}");
        assert_eq!(body["response_format"]["type"], "json_object");
    }
}
