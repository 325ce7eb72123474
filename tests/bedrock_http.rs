//! Bedrock against a real socket: signed requests out, binary frames in.
#![cfg(feature = "bedrock")]
#![allow(clippy::unwrap_used, reason = "a broken fixture fails its test")]

mod loopback;

use std::sync::Arc;

use punctual::domain::failure::{FailureClass, Scope};
use punctual::domain::message::{Message, Prompt, Usage};
use punctual::domain::model::{ModelProfile, Structured};
use punctual::domain::provider::{HeaderValue, ProviderSettings};
use punctual::provider::registry::connect;
use punctual::provider::{Broken, Draw, Exchange, Provider, Reply, Sink};
use serde_json::{Value, json};

use loopback::bedrock::{Account, SECRET, SESSION, head, stream, then, verify};
use loopback::{Loopback, Script, Step, chunk_of, frames, last_chunk, plain, with_headers};

#[derive(Default)]
struct Heard {
    first_tokens: u32,
    text: String,
    usage: Option<Usage>,
}

impl Sink for Heard {
    fn first_token(&mut self) {
        self.first_tokens += 1;
    }
    fn piece(&mut self, text: &str, _tokens: u64) {
        self.text.push_str(text);
    }
    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }
}

fn connected(settings: ProviderSettings) -> Arc<dyn Provider> {
    let none = |_: &_, _: &_| unreachable!("no simulator is configured");
    connect(&[settings], &none, then).unwrap().get("local").unwrap()
}

const ARN: &str =
    "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-x-v1:0";

fn exchange(structured: Structured, schema: Option<Value>) -> Exchange {
    Exchange {
        prompt: Prompt {
            system: Some("Be brief.".to_owned()),
            messages: vec![Message::user("Which city?")],
        },
        schema: schema.map(Arc::new),
        max_tokens: 64,
        temperature: None,
        effort: None,
        profile: Arc::new(ModelProfile { structured, ..ModelProfile::plain(ARN) }),
        draw: Draw::default(),
    }
}

async fn ask(provider: &dyn Provider) -> (Result<Reply, Broken>, Heard) {
    let mut heard = Heard::default();
    let reply = provider.exchange(&exchange(Structured::Instruct, None), &mut heard).await;
    (reply, heard)
}

/// What a signed request to a server of one script comes to.
async fn asked(script: Script) -> (Result<Reply, Broken>, Heard) {
    let server = Loopback::start([script]).await;
    let account = Account::new();
    let found = ask(&*connected(account.signed(server.url()))).await;
    verify(&server.requests()[0]).unwrap();
    found
}

async fn fails(script: Script) -> Broken {
    asked(script).await.0.unwrap_err()
}

fn text(said: &str) -> Value {
    json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": said}}})
}

fn start() -> Value {
    json!({"messageStart": {"role": "assistant"}})
}

fn stop(why: &str) -> Value {
    json!({"messageStop": {"stopReason": why}})
}

fn counts() -> Value {
    json!({"metadata": {
        "usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 15, "cacheReadInputTokens": 4},
        "metrics": {"latencyMs": 10},
    }})
}

fn closed() -> Value {
    json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        "additionalProperties": false,
    })
}

const USAGE: Usage = Usage { input: 13, cached_input: 4, output: 2, estimated: false, cost: None };

#[tokio::test]
async fn a_streamed_answer_arrives_in_pieces_with_its_counts() {
    let events = [start(), text("Hel"), text("lo"), stop("end_turn"), counts()];
    let server = Loopback::start([stream(&events)]).await;
    let account = Account::new();
    let (reply, heard) = ask(&*connected(account.signed(server.url()))).await;
    assert_eq!(
        reply,
        Ok(Reply { text: "Hello".to_owned(), usage: USAGE, invented: false, remaining: None })
    );
    assert_eq!((heard.first_tokens, heard.text.as_str(), heard.usage), (1, "Hello", Some(USAGE)));
    let request = &server.requests()[0];
    verify(request).unwrap();
    let path = "/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-x-v1%3A0/converse-stream";
    assert!(request.head.starts_with(&format!("POST {path} HTTP/1.1")), "{}", request.head);
    assert_eq!(request.json()["inferenceConfig"], json!({"maxTokens": 64}));
    let accept = request.header("accept");
    assert_eq!(accept.as_deref(), Some("application/vnd.amazon.eventstream, application/json"));
    assert_eq!(request.header("x-amz-security-token"), None);
}

#[tokio::test]
async fn a_session_and_headers_of_awss_own_are_signed_behind_a_path_and_a_query() {
    let answers = [(); 2].map(|()| stream(&[text("Hi"), stop("end_turn"), counts()]));
    let server = Loopback::start(answers).await;
    let account = Account::new();
    let mut settings = account.session(server.url() + "/behind/a%20proxy?tag=1");
    settings.headers =
        vec![("x-amz-note".to_owned(), HeaderValue::Plain("for the record".to_owned()))];
    assert_eq!(ask(&*connected(settings)).await.0.unwrap().text, "Hi");
    let request = &server.requests()[0];
    verify(request).unwrap();
    assert!(request.head.starts_with("POST /behind/a%20proxy/model/arn%3A"), "{}", request.head);
    assert_eq!(request.header("x-amz-security-token").as_deref(), Some(SESSION));
    assert_eq!(request.header("x-amz-note").as_deref(), Some("for the record"));
    // The check is one: a request that was changed on its way does not pass it.
    let mut changed = request.clone();
    changed.body.push(b' ');
    assert!(verify(&changed).unwrap_err().contains("signed wrongly"));
}

#[tokio::test]
async fn a_key_is_sent_in_place_of_a_signature_and_struck_out_of_what_is_said_of_it() {
    let body = r#"{"message":"The key bedrock-api-key-hidden has expired."}"#;
    let headers = [
        ("content-type", "application/json"),
        ("x-amzn-errortype", "AccessDeniedException:http://x/"),
    ];
    let server = Loopback::start([with_headers("403 Forbidden", &headers, body)]).await;
    let account = Account::new();
    let broken = ask(&*connected(account.bearer(server.url()))).await.0.unwrap_err();
    assert_eq!(broken.failure.message, "HTTP 403: The key … has expired.");
    assert_eq!(broken.failure.class, FailureClass::Permission);
    let request = &server.requests()[0];
    assert_eq!(request.header("authorization").as_deref(), Some("Bearer bedrock-api-key-hidden"));
    assert_eq!(request.header("x-amz-date"), None);
}

#[tokio::test]
async fn what_requests_are_signed_with_is_struck_out_even_where_it_is_cut() {
    let kinds = ["InvalidSignatureException", "UnrecognizedClientException"];
    for (before, kind) in [10, 200, 380, 390].into_iter().flat_map(|n| kinds.map(|kind| (n, kind)))
    {
        let said = format!("{} x-amz-security-token:{SESSION} {SECRET}", "x".repeat(before));
        let body = json!({"message": said}).to_string();
        let headers = [("content-type", "application/json"), ("x-amzn-errortype", kind)];
        let server = Loopback::start([with_headers("403 Forbidden", &headers, &body)]).await;
        let account = Account::new();
        let broken = ask(&*connected(account.session(server.url()))).await.0.unwrap_err();
        let message = broken.failure.message;
        assert!(!message.contains(&SESSION[..6]) && !message.contains(&SECRET[..6]), "{message}");
        assert!(message.starts_with("HTTP 403: xxxxxxxxxx") && message.contains('…'), "{message}");
    }
}

#[tokio::test]
async fn an_answer_that_comes_as_one_document_is_read_whole() {
    let document = json!({
        "output": {"message": {"role": "assistant", "content": [{"text": "Paris"}]}},
        "stopReason": "end_turn",
        "usage": counts()["metadata"]["usage"],
    });
    let (reply, heard) = asked(plain("200 OK", "application/json", &document.to_string())).await;
    assert_eq!(
        reply,
        Ok(Reply { text: "Paris".to_owned(), usage: USAGE, invented: false, remaining: None })
    );
    assert_eq!((heard.first_tokens, heard.text.as_str()), (1, "Paris"));
}

#[tokio::test]
async fn a_forced_tools_arguments_are_the_answer() {
    let input = |piece: &str| json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": piece}}}});
    let events = [
        start(),
        json!({"contentBlockStart": {
            "contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "answer"}},
        }}),
        input("{\"city\":"),
        input("\"Paris\"}"),
        json!({"contentBlockStop": {"contentBlockIndex": 0}}),
        stop("tool_use"),
        counts(),
    ];
    let server = Loopback::start([stream(&events)]).await;
    let account = Account::new();
    let mut heard = Heard::default();
    let asked = exchange(Structured::Tool, Some(closed()));
    let reply = connected(account.signed(server.url())).exchange(&asked, &mut heard).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), heard.text.as_str()),
        (r#"{"city":"Paris"}"#, r#"{"city":"Paris"}"#)
    );
    let request = &server.requests()[0];
    verify(request).unwrap();
    let tools = &request.json()["toolConfig"];
    assert_eq!(tools["toolChoice"], json!({"tool": {"name": "answer"}}));
    assert_eq!(tools["tools"][0]["toolSpec"]["inputSchema"]["json"], closed());
}

#[tokio::test]
async fn a_schema_is_asked_for_as_a_string() {
    let answer = [start(), text("{\"city\":\"Paris\"}"), stop("end_turn"), counts()];
    let server = Loopback::start([stream(&answer)]).await;
    let account = Account::new();
    let asked = exchange(Structured::Schema, Some(closed()));
    let mut heard = Heard::default();
    let reply = connected(account.signed(server.url())).exchange(&asked, &mut heard).await.unwrap();
    assert_eq!(reply.text, r#"{"city":"Paris"}"#);
    let format = &server.requests()[0].json()["outputConfig"]["textFormat"];
    let schema = format["structure"]["jsonSchema"]["schema"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(schema).unwrap(), closed());
}

#[tokio::test]
async fn frames_may_be_cut_anywhere() {
    let bytes = frames::stream(&[start(), text("Grüße"), stop("end_turn"), counts()]);
    let chunks = bytes.chunks(1).map(chunk_of);
    let script = [head()].into_iter().chain(chunks).chain([last_chunk()]).collect();
    assert_eq!(asked(script).await.0.unwrap().text, "Grüße");
}

#[tokio::test]
async fn an_exception_in_mid_stream_is_classified_and_keeps_what_had_arrived() {
    let throttled = json!({"throttlingException": {"message": "Too many tokens, please wait before trying again."}});
    let broken = fails(stream(&[start(), text("Hel"), throttled])).await;
    assert_eq!(
        (broken.failure.class, broken.failure.scope),
        (FailureClass::RateLimited, Scope::Quota)
    );
    assert_eq!(broken.partial, "Hel");
    let upstream = json!({"modelStreamErrorException": {
        "message": "The model failed.", "originalStatusCode": 529, "originalMessage": "Overloaded",
    }});
    let broken = fails(stream(&[start(), upstream])).await;
    assert_eq!(broken.failure.class, FailureClass::Overloaded);
    assert_eq!(broken.failure.message, "HTTP 529: Overloaded");
}

#[tokio::test]
async fn a_stream_that_is_cut_or_damaged_is_interrupted_and_keeps_what_had_arrived() {
    let whole = frames::stream(&[start(), text("Hel")]);
    let next = frames::stream(&[text("lo")]);
    let mut damaged = next.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x10;
    let mut wrong_length = next.clone();
    wrong_length[2] ^= 0x40;
    let half = next[..middle].to_vec();
    let begun = || vec![head(), chunk_of(&whole)];
    let with = |steps: Vec<Step>| begun().into_iter().chain(steps).collect::<Script>();
    for (script, words) in [
        (with(vec![last_chunk()]), "broke off before the answer was complete"),
        (with(vec![Step::Close]), "the connection to"),
        (with(vec![chunk_of(&half), last_chunk()]), "ended within a frame"),
        (with(vec![chunk_of(&half), Step::Close]), "the connection to"),
        (with(vec![chunk_of(&damaged), Step::Hold]), "checksum"),
        // Nothing is waited for that a damaged length promises.
        (with(vec![chunk_of(&wrong_length), Step::Hold]), "checksum of its prelude"),
    ] {
        let broken = fails(script).await;
        let failure = &broken.failure;
        assert_eq!(failure.class, FailureClass::StreamInterrupted, "{words}: {failure:?}");
        assert!(failure.message.contains(words), "{words}: {failure:?}");
        assert_eq!(broken.partial, "Hel", "{words}");
    }
}

#[tokio::test]
async fn an_answer_that_was_complete_survives_its_connection() {
    let complete = frames::stream(&[start(), text("Hello"), stop("end_turn")]);
    let reply = asked(vec![head(), chunk_of(&complete), Step::Close]).await.0.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.estimated), ("Hello", true));
}

#[tokio::test]
async fn a_frame_beyond_its_bound_is_refused_by_its_length() {
    let large = frames::frame(&[(":event-type", "contentBlockDelta")], &vec![b'x'; 1 << 20]);
    let server = Loopback::start([vec![head(), chunk_of(&large[..64]), Step::Hold]]).await;
    let account = Account::new();
    let broken = ask(&*connected(account.signed(server.url()))).await.0.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::ServerError);
    assert!(broken.failure.message.contains("larger than 1024 KiB"), "{broken:?}");
    server.peer_closed().await;
}

#[tokio::test]
async fn an_error_before_the_stream_is_known_by_its_type() {
    use FailureClass::{Auth, ContextOverflow, ModelNotFound, Overloaded, RateLimited};
    let refuse = |status: &str, kind: &str, message: &str| {
        let headers = [("content-type", "application/json"), ("x-amzn-errortype", kind)];
        with_headers(status, &headers, &json!({"message": message}).to_string())
    };
    for (script, class) in [
        (refuse("429 Too Many", "ThrottlingException:http://internal/", "Slow."), RateLimited),
        (refuse("429 Too Many", "ModelNotReadyException", "Wait."), Overloaded),
        (refuse("403 Forbidden", "UnrecognizedClientException", "The token is bad."), Auth),
        (
            refuse("400 Bad", "ValidationException", "Input is too long for requested model."),
            ContextOverflow,
        ),
        (
            refuse("400 Bad", "ValidationException", "The provided model identifier is invalid."),
            ModelNotFound,
        ),
    ] {
        assert_eq!(fails(script).await.failure.class, class);
    }
}

#[tokio::test]
async fn another_content_type_and_silence_are_no_answers() {
    let page = fails(plain("200 OK", "text/html", "<title>Sign in</title>")).await.failure;
    assert_eq!(page.class, FailureClass::ServerError);
    let silence = fails(vec![head(), last_chunk()]).await.failure;
    assert_eq!(silence.class, FailureClass::StreamInterrupted);
    assert_eq!(silence.message, "the stream ended without a single event");
    // Events that say nothing keep a connection alive, and are no answer.
    let idle = fails(stream(&[start(), json!({"ping": {}}), json!({"ping": {}})])).await.failure;
    assert_eq!(idle.class, FailureClass::StreamInterrupted);
}
