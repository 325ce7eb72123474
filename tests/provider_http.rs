//! Providers against a real socket: what leaves, what comes back, and when the connection closes.

#![allow(clippy::unwrap_used, reason = "a broken fixture fails its test")]

mod loopback;

use std::sync::Arc;
use std::time::Duration;

use punctual::domain::failure::{FailureClass, Scope};
use punctual::domain::message::{Message, Prompt, Usage};
use punctual::domain::model::{ModelProfile, Structured};
use punctual::domain::provider::{
    Capacity, ChatQuirks, Dialect, KeyPlace, Limits, OnCancel, ProviderSettings, SecretRef,
};
use punctual::driver::clock::system_time;
use punctual::policy::rate::{Left, Told};
use punctual::provider::registry::{Providers, connect};
use punctual::provider::{Broken, Exchange, Provider, Reply, Sink};
use serde_json::json;
use tokio::sync::Notify;

use loopback::{
    Loopback, Script, Step, chunk, last_chunk, plain, stream, stream_head, with_headers,
};

#[derive(Default)]
struct Heard {
    first_tokens: u32,
    text: String,
    tokens: u64,
    usage: Option<Usage>,
    on_piece: Option<Arc<Notify>>,
    corrected: Vec<String>,
    told: Vec<Told>,
}

impl Sink for Heard {
    fn first_token(&mut self) {
        self.first_tokens += 1;
    }
    fn piece(&mut self, text: &str, tokens: u64) {
        self.text.push_str(text);
        self.tokens += tokens;
        if let Some(gate) = &self.on_piece {
            gate.notify_one();
        }
    }
    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }
    fn corrected(&mut self, how: &str) {
        self.corrected.push(how.to_owned());
    }
    fn told(&mut self, told: &Told) {
        self.told.push(*told);
    }
}

fn settings(dialect: Dialect, base_url: String) -> ProviderSettings {
    ProviderSettings {
        name: "local".to_owned(),
        dialect,
        base_url,
        api_key: None,
        headers: Vec::new(),
        limits: Limits::default(),
        on_cancel: OnCancel::Free,
        capacity: Capacity::Own,
    }
}

fn connected(settings: ProviderSettings) -> Providers {
    connect(&[settings], &|_, _| unreachable!("no simulator is configured"), system_time).unwrap()
}

fn chat(server: &Loopback) -> Arc<dyn Provider> {
    let dialect = Dialect::OpenAiChat(ChatQuirks::NONE);
    connected(settings(dialect, server.url() + "/v1")).get("local").unwrap()
}

fn anthropic(server: &Loopback) -> Arc<dyn Provider> {
    connected(settings(Dialect::Anthropic, server.url())).get("local").unwrap()
}

fn exchange(structured: Structured) -> Exchange {
    Exchange {
        prompt: Prompt {
            system: Some("Be brief.".to_owned()),
            messages: vec![Message::user("Which city?")],
        },
        schema: None,
        max_tokens: 64,
        temperature: None,
        effort: None,
        profile: Arc::new(ModelProfile { structured, ..ModelProfile::plain("small") }),
        draw: punctual::provider::Draw::default(),
    }
}

async fn ask(provider: &dyn Provider) -> (Result<Reply, Broken>, Heard) {
    let mut heard = Heard::default();
    let reply = provider.exchange(&exchange(Structured::Instruct), &mut heard).await;
    (reply, heard)
}

async fn chat_fails(script: Script) -> Broken {
    let server = Loopback::start([script]).await;
    ask(&*chat(&server)).await.0.unwrap_err()
}

const HEL: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"},\"finish_reason\":null}]}\n\n";
const LO: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":null}]}\n\n";
const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const COUNTS: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[tokio::test]
async fn a_streamed_answer_arrives_in_pieces_with_its_counts() {
    let server = Loopback::start([stream(&[": hello\n\n", HEL, LO, STOP, COUNTS, DONE])]).await;
    let (reply, heard) = ask(&*chat(&server)).await;
    let usage = Usage { input: 9, cached_input: 4, output: 2, estimated: false, cost: None };
    assert_eq!(
        reply,
        Ok(Reply { text: "Hello".to_owned(), usage, invented: false, remaining: None })
    );
    assert_eq!((heard.first_tokens, heard.text.as_str(), heard.usage), (1, "Hello", Some(usage)));
    let request = &server.requests()[0];
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", request.head);
    assert_eq!(request.json()["stream_options"], json!({"include_usage": true}));
    assert_eq!(request.json()["messages"][0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!(request.header("accept-encoding"), None);
}

#[tokio::test]
async fn an_answer_that_comes_as_one_document_is_read_whole() {
    let body = r#"
        {"choices":[{"index":0,"message":{"content":"Paris"},"finish_reason":"stop"}],
         "usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let server = Loopback::start([plain("200 OK", "application/json; charset=utf-8", body)]).await;
    let (reply, heard) = ask(&*chat(&server)).await;
    assert_eq!(reply.unwrap().text, "Paris");
    assert_eq!((heard.first_tokens, heard.text.as_str()), (1, "Paris"));
}

#[tokio::test]
async fn two_exchanges_share_one_connection() {
    let answer = || stream(&[HEL, LO, STOP, DONE]);
    let server = Loopback::start([answer(), answer()]).await;
    let provider = chat(&server);
    for _ in 0..2 {
        let reply = ask(&*provider).await.0.unwrap();
        assert!(reply.usage.estimated && reply.usage.input > 0, "{reply:?}");
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 2));
}

#[tokio::test]
async fn an_idle_connection_that_was_closed_meanwhile_costs_nothing() {
    let answer = || stream(&[HEL, LO, STOP, DONE]);
    let server = Loopback::start([answer(), vec![Step::Close], answer()]).await;
    let provider = chat(&server);
    for _ in 0..2 {
        assert_eq!(ask(&*provider).await.0.unwrap().text, "Hello");
    }
    assert_eq!((server.connections(), server.requests().len()), (2, 3));
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_asked_for_ever() {
    let server = Loopback::start([vec![Step::Close], vec![Step::Close], vec![Step::Close]]).await;
    let failure = ask(&*chat(&server)).await.0.unwrap_err().failure;
    assert_eq!(failure.class, FailureClass::StreamInterrupted);
    assert!(failure.message.contains("closed the connection without an answer"), "{failure:?}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_refused_key_is_the_providers_matter() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-place*****lder.","type":"invalid_request_error","code":"invalid_api_key"}}"#;
    let failure = chat_fails(plain("401 Unauthorized", "application/json", body)).await.failure;
    assert_eq!((failure.class, failure.scope), (FailureClass::Auth, Scope::Provider));
}

#[tokio::test]
async fn a_key_is_sent_but_struck_out_of_what_the_server_says_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, "sk-very-secret\n").unwrap();
    let body = r#"{"error":{"message":"no such key: sk-very-secret","code":"invalid_api_key"}}"#;
    let server = Loopback::start([plain("401 Unauthorized", "application/json", body)]).await;
    let keyed = ProviderSettings {
        api_key: Some(SecretRef::File(path)),
        ..settings(Dialect::Anthropic, server.url())
    };
    let broken = ask(&*connected(keyed).get("local").unwrap()).await.0.unwrap_err();
    assert_eq!(broken.failure.message, "HTTP 401: no such key: … (check `api_key`)");
    let request = &server.requests()[0];
    assert_eq!(request.header("x-api-key").as_deref(), Some("sk-very-secret"));
    assert_eq!(request.header("anthropic-version").as_deref(), Some("2023-06-01"));
}

#[tokio::test]
async fn a_throttled_exchange_says_how_long_to_wait() {
    let body = r#"{"error":{"message":"Rate limit reached.","code":"rate_limit_exceeded"}}"#;
    let headers = [("content-type", "application/json"), ("retry-after", "7")];
    let failure = chat_fails(with_headers("429 Too Many Requests", &headers, body)).await.failure;
    assert_eq!((failure.class, failure.scope), (FailureClass::RateLimited, Scope::Quota));
    assert_eq!(failure.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(failure.evidence, "429 status + retry hint");
}

#[tokio::test]
async fn a_full_provider_is_overloaded_and_a_gateways_page_a_server_error() {
    let body = r#"{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}"#;
    let server = Loopback::start([
        plain("529 Overloaded", "application/json", body),
        plain("502 Bad Gateway", "text/html", "<html><title>502: Bad gateway</title></html>"),
    ])
    .await;
    let provider = anthropic(&server);
    let full = ask(&*provider).await.0.unwrap_err().failure;
    assert_eq!((full.class, full.scope), (FailureClass::Overloaded, Scope::Path));
    let page = ask(&*provider).await.0.unwrap_err().failure;
    assert_eq!(page.class, FailureClass::ServerError);
    assert_eq!(page.message, "HTTP 502: 502: Bad gateway");
}

#[tokio::test]
async fn a_stream_that_is_cut_keeps_what_had_arrived() {
    let in_good_order = chat_fails(stream(&[HEL])).await;
    let by_the_peer = chat_fails(vec![stream_head(), chunk(HEL), Step::Close]).await;
    for broken in [in_good_order, by_the_peer] {
        assert_eq!(broken.failure.class, FailureClass::StreamInterrupted, "{broken:?}");
        assert_eq!(broken.partial, "Hel");
    }
}

#[tokio::test]
async fn an_answer_that_was_complete_survives_its_connection() {
    let server = Loopback::start([vec![stream_head(), chunk(HEL), chunk(STOP), Step::Close]]).await;
    assert_eq!(ask(&*chat(&server)).await.0.unwrap().text, "Hel");
}

#[tokio::test]
async fn an_error_inside_a_stream_is_classified_like_any_other() {
    let error = "data: {\"error\":{\"message\":\"try later\",\"code\":503}}\n\n";
    let broken = chat_fails(stream(&[HEL, error, DONE])).await;
    assert_eq!(broken.failure.class, FailureClass::Overloaded);
    assert_eq!(
        (broken.partial.as_str(), broken.failure.evidence.as_str()),
        ("Hel", "503 status inside 200")
    );
}

#[tokio::test]
async fn keep_alives_are_no_tokens_and_no_answer() {
    let server = Loopback::start([stream(&[": keep-alive\n\n", ": keep-alive\n\n"])]).await;
    let (reply, heard) = ask(&*chat(&server)).await;
    assert_eq!(reply.unwrap_err().failure.class, FailureClass::StreamInterrupted);
    assert_eq!((heard.first_tokens, heard.tokens), (0, 0));
}

#[tokio::test]
async fn another_content_type_is_named_with_what_to_do() {
    let broken = chat_fails(plain("200 OK", "text/html", "<title>Sign in</title>")).await;
    assert_eq!(broken.failure.class, FailureClass::ServerError);
    assert_eq!(
        broken.failure.message,
        "the server answered text/html to a request for events (Sign in): check `base_url`"
    );
}

#[tokio::test]
async fn an_error_page_without_end_is_read_up_to_its_bound() {
    let head =
        "HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
    let piece = "x".repeat(16 << 10);
    let mut script = vec![Step::Send(head.as_bytes().to_vec())];
    script.extend((0..5).map(|_| chunk(&piece)));
    script.push(Step::Hold);
    let server = Loopback::start([script]).await;
    let broken = ask(&*chat(&server)).await.0.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::ServerError);
    assert!(broken.failure.message.chars().count() <= 500, "{}", broken.failure.message);
    server.peer_closed().await;
}

#[tokio::test]
async fn an_event_without_end_is_read_up_to_its_bound() {
    let piece = "x".repeat(64 << 10);
    let mut script = vec![stream_head(), chunk("data: ")];
    script.extend((0..17).map(|_| chunk(&piece)));
    script.push(Step::Hold);
    let server = Loopback::start([script]).await;
    let broken = ask(&*chat(&server)).await.0.unwrap_err();
    assert!(broken.failure.message.contains("larger than 1024 KiB"), "{broken:?}");
    server.peer_closed().await;
}

#[tokio::test]
async fn dropping_an_exchange_closes_its_connection() {
    let before_the_head = vec![Step::Hold];
    let in_mid_stream = vec![stream_head(), chunk(HEL), Step::Hold];
    let server = Loopback::start([before_the_head, in_mid_stream]).await;
    let provider = chat(&server);
    let exchange = exchange(Structured::Instruct);

    let mut heard = Heard::default();
    tokio::select! {
        reply = provider.exchange(&exchange, &mut heard) => panic!("{reply:?}"),
        () = server.request_arrived() => {}
    }
    server.peer_closed().await;

    let gate = Arc::new(Notify::new());
    let mut heard = Heard { on_piece: Some(gate.clone()), ..Heard::default() };
    tokio::select! {
        reply = provider.exchange(&exchange, &mut heard) => panic!("{reply:?}"),
        () = gate.notified() => {}
    }
    server.peer_closed().await;
    assert_eq!(heard.text, "Hel");
}

#[tokio::test]
async fn pieces_are_reported_before_the_stream_ends() {
    let gate = Arc::new(Notify::new());
    let script = vec![
        stream_head(),
        chunk(HEL),
        Step::Gate(gate.clone()),
        chunk(STOP),
        chunk(DONE),
        last_chunk(),
    ];
    let server = Loopback::start([script]).await;
    // The server goes on only once the first piece has been heard.
    let mut heard = Heard { on_piece: Some(gate), ..Heard::default() };
    let provider = chat(&server);
    let reply = provider.exchange(&exchange(Structured::Instruct), &mut heard).await.unwrap();
    assert_eq!(reply.text, "Hel");
}

#[tokio::test]
async fn counts_that_do_not_come_hold_no_answer_back() {
    let script = vec![stream_head(), chunk(&format!("{HEL}{STOP}")), Step::Hold];
    let server = Loopback::start([script]).await;
    let gate = Arc::new(Notify::new());
    let mut heard = Heard { on_piece: Some(gate.clone()), ..Heard::default() };
    let (provider, exchange) = (chat(&server), exchange(Structured::Instruct));
    let mut reply = provider.exchange(&exchange, &mut heard);
    tokio::select! {
        reply = &mut reply => panic!("{reply:?}"),
        () = gate.notified() => {}
    }
    // From here on nothing comes, and time runs as fast as it is waited for.
    tokio::time::pause();
    assert_eq!(reply.await.unwrap().text, "Hel");
    server.peer_closed().await;
}

#[tokio::test]
async fn an_error_page_that_does_not_come_is_not_waited_for() {
    let busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 100\r\n\r\n".to_vec();
    let server = Loopback::start([vec![Step::Send(busy), Step::Hold]]).await;
    let (provider, exchange) = (chat(&server), exchange(Structured::Instruct));
    let mut heard = Heard::default();
    let mut reply = provider.exchange(&exchange, &mut heard);
    tokio::select! {
        reply = &mut reply => panic!("{reply:?}"),
        () = server.request_arrived() => {}
    }
    tokio::time::pause();
    assert_eq!(reply.await.unwrap_err().failure.class, FailureClass::Overloaded);
    server.peer_closed().await;
}

#[tokio::test]
async fn an_anthropic_tools_arguments_are_the_answer() {
    let events = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":20,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"answer","input":{}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"Paris\"}"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":12}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let frames: Vec<String> = events
        .iter()
        .map(|data| {
            let kind = serde_json::from_str::<serde_json::Value>(data).unwrap()["type"].clone();
            format!("event: {}\r\ndata: {data}\r\n\r\n", kind.as_str().unwrap())
        })
        .collect();
    let pieces: Vec<&str> = frames.iter().map(String::as_str).collect();
    let server = Loopback::start([stream(&pieces)]).await;
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let asked = Exchange { schema: Some(Arc::new(schema.clone())), ..exchange(Structured::Tool) };
    let mut heard = Heard::default();
    let reply = anthropic(&server).exchange(&asked, &mut heard).await.unwrap();
    assert_eq!(reply.text, r#"{"city":"Paris"}"#);
    assert_eq!(
        reply.usage,
        Usage { input: 27, cached_input: 5, output: 12, estimated: false, cost: None }
    );
    assert_eq!(heard.text, reply.text);
    let request = server.requests()[0].json();
    assert_eq!(request["tools"][0]["input_schema"], schema);
    assert_eq!(request["tool_choice"], json!({"type": "tool", "name": "answer"}));
    assert_eq!(request["system"], "Be brief.");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_query() {
    let server = Loopback::start([]).await;
    let gone = server.url();
    drop(server);
    // The listener closes with the server's task, which ends once it is dropped.
    tokio::task::yield_now().await;
    let dialect = Dialect::OpenAiChat(ChatQuirks::NONE);
    let providers = connected(settings(dialect, format!("{gone}/v1?key=hidden")));
    let broken = ask(&*providers.get("local").unwrap()).await.0.unwrap_err();
    assert_eq!(
        (broken.failure.class, broken.failure.scope),
        (FailureClass::ServerError, Scope::Provider)
    );
    let message = broken.failure.message;
    assert!(
        message.starts_with(&format!("cannot reach {gone}/v1: Connection refused")),
        "{message}"
    );
    assert!(
        message.ends_with("is the server running?") && !message.contains("hidden"),
        "{message}"
    );
}

#[tokio::test]
async fn a_redirect_is_reported_and_not_followed() {
    let headers = [("location", "http://127.0.0.1:1/elsewhere")];
    let server = Loopback::start([with_headers("307 Temporary Redirect", &headers, "")]).await;
    let failure = ask(&*chat(&server)).await.0.unwrap_err().failure;
    assert_eq!((failure.class, failure.scope), (FailureClass::BadRequest, Scope::Provider));
}

#[tokio::test]
async fn both_addresses_of_azure_reach_their_place_with_the_key_in_its_header() {
    let answer = || stream(&[HEL, LO, STOP, DONE]);
    let server = Loopback::start([answer(), answer()]).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, "azure-key").unwrap();
    let places = [
        ("/openai/v1", "/openai/v1/chat/completions"),
        (
            "/openai/deployments/d?api-version=2024-10-21",
            "/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
    ];
    let quirks = ChatQuirks { key: KeyPlace::ApiKey, ..ChatQuirks::NONE };
    for (at, (base, sent)) in places.into_iter().enumerate() {
        let azure = ProviderSettings {
            api_key: Some(SecretRef::File(path.clone())),
            ..settings(Dialect::OpenAiChat(quirks), server.url() + base)
        };
        let reply = ask(&*connected(azure).get("local").unwrap()).await.0.unwrap();
        assert_eq!(reply.text, "Hello");
        let request = &server.requests()[at];
        assert!(request.head.starts_with(&format!("POST {sent} HTTP/1.1")), "{}", request.head);
        assert_eq!(request.header("api-key").as_deref(), Some("azure-key"));
        assert_eq!(request.header("authorization"), None);
    }
}

fn refusing(param: &str, message: &str) -> Script {
    let error = json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}});
    plain("400 Bad Request", "application/json", &error.to_string())
}

const BOUND: &str = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

#[tokio::test]
async fn a_refused_parameter_is_left_out_at_once_and_from_then_on() {
    let answer = || stream(&[HEL, LO, STOP, DONE]);
    let server = Loopback::start([refusing("max_tokens", BOUND), answer(), answer()]).await;
    let provider = chat(&server);
    let (reply, heard) = ask(&*provider).await;
    assert_eq!(reply.unwrap().text, "Hello");
    assert_eq!(heard.corrected, ["the bound is `max_completion_tokens` (400 parameter refused)"]);
    let (reply, heard) = ask(&*provider).await;
    assert_eq!((reply.unwrap().text.as_str(), heard.corrected.len()), ("Hello", 0));
    let sent: Vec<_> = server.requests().iter().map(loopback::Request::json).collect();
    assert_eq!((&sent[0]["max_tokens"], sent.len()), (&json!(64), 3));
    for corrected in &sent[1..] {
        assert_eq!(corrected["max_completion_tokens"], 64);
        assert_eq!(corrected.get("max_tokens"), None);
    }
}

#[tokio::test]
async fn a_request_is_corrected_once_and_the_next_one_begins_with_what_was_learned() {
    let server = Loopback::start([
        refusing("max_tokens", BOUND),
        refusing("stream_options", "Unrecognized request argument supplied: stream_options"),
        stream(&[HEL, LO, STOP, DONE]),
    ])
    .await;
    let provider = chat(&server);
    let failure = ask(&*provider).await.0.unwrap_err().failure;
    assert_eq!(failure.class, FailureClass::UnsupportedParameter);
    assert_eq!(
        failure.evidence,
        "400 parameter refused; before it 400 parameter refused, then the bound is `max_completion_tokens`"
    );
    assert_eq!(server.requests().len(), 2);
    assert_eq!(ask(&*provider).await.0.unwrap().text, "Hello");
    let last = server.requests()[2].json();
    assert_eq!((last.get("stream_options"), &last["max_completion_tokens"]), (None, &json!(64)));
}

#[tokio::test]
async fn a_refusal_of_what_was_never_sent_is_not_sent_again() {
    let server = Loopback::start([refusing("top_k", "Unsupported parameter: 'top_k'")]).await;
    let (reply, heard) = ask(&*chat(&server)).await;
    assert_eq!(reply.unwrap_err().failure.evidence, "400 parameter refused");
    assert_eq!((server.requests().len(), heard.corrected.len()), (1, 0));
}

#[tokio::test]
async fn what_a_provider_has_taught_outlives_a_reload() {
    let server = Loopback::start([
        refusing("max_tokens", BOUND),
        stream(&[HEL, STOP, DONE]),
        stream(&[HEL, STOP, DONE]),
    ])
    .await;
    let before = chat(&server);
    ask(&*before).await.0.unwrap();
    let after = chat(&server);
    after.inherit(&*before);
    assert_eq!(ask(&*after).await.0.unwrap().text, "Hel");
    assert_eq!(server.requests()[2].json()["max_completion_tokens"], 64);
}

/// What is left of ten requests, the whole of them in seven seconds.
const LEFT: Told = Told {
    requests: Some(Left { left: 0, limit: Some(10), full_in: Duration::from_secs(7) }),
    tokens: None,
};

#[tokio::test]
async fn what_is_left_of_a_limit_is_told_once_by_the_head_or_else_by_an_errors_body() {
    let date = "Mon, 30 Nov 2026 10:00:00 GMT";
    let body = |limits| {
        let error = json!({"code": 429, "message": "slow down", "metadata": {"headers": limits}});
        json!({"error": error}).to_string()
    };
    let inside = body(json!({
        "X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1796032807000",
    }));
    let head = [
        ("content-type", "application/json"),
        ("date", date),
        ("x-ratelimit-limit-requests", "10"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "7s"),
    ];
    let status = "429 Too Many Requests";
    let server = Loopback::start([
        with_headers(status, &head[..2], &inside),
        with_headers(status, &head, &inside),
        with_headers(status, &head[..2], &body(json!({}))),
    ])
    .await;
    let provider = chat(&server);
    for expected in [vec![LEFT], vec![LEFT], Vec::new()] {
        let (answer, noted) = ask(&*provider).await;
        assert_eq!(answer.unwrap_err().failure.class, FailureClass::RateLimited);
        assert_eq!(noted.told, expected);
    }
}
