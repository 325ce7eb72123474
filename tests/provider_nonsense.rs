//! What comes back from servers that are broken, hostile, or not the provider at all: each a classified failure,
//! read within bounds, and none of it an answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken fixture fails its test")]

mod loopback;

use std::sync::Arc;
use std::time::Duration;

use punctual::domain::failure::{Failure, FailureClass, Scope};
use punctual::domain::message::{Message, Prompt, Usage};
use punctual::domain::model::{ModelProfile, Structured};
use punctual::domain::provider::{
    Capacity, ChatQuirks, Dialect, Limits, OnCancel, ProviderSettings,
};
use punctual::provider::registry::connect;
use punctual::provider::{Broken, Draw, Exchange, Provider, Reply, Sink};

use loopback::{Loopback, Script, Step, chunk, plain, stream, stream_head, with_headers};

const HEL: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"},\"finish_reason\":null}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";
const DOCUMENT: &str =
    "{\"choices\":[{\"message\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}";

/// What the system's buffers of both ends may hold beside what was taken: they grow with what flows.
const BUFFERS: usize = 40 << 20;

#[derive(Default)]
struct Heard {
    text: String,
}

impl Sink for Heard {
    fn first_token(&mut self) {}
    fn piece(&mut self, text: &str, _tokens: u64) {
        self.text.push_str(text);
    }
    fn usage(&mut self, _usage: Usage) {}
}

fn chat(server: &Loopback) -> Arc<dyn Provider> {
    let settings = ProviderSettings {
        name: "local".to_owned(),
        dialect: Dialect::OpenAiChat(ChatQuirks::NONE),
        base_url: server.url() + "/v1",
        api_key: None,
        headers: Vec::new(),
        limits: Limits::default(),
        on_cancel: OnCancel::Free,
        capacity: Capacity::Own,
    };
    let providers =
        connect(&[settings], &|_, _| unreachable!("no simulator is configured"), || {
            std::time::SystemTime::UNIX_EPOCH
        });
    providers.unwrap().get("local").unwrap()
}

fn exchange() -> Exchange {
    Exchange {
        prompt: Prompt { system: None, messages: vec![Message::user("Which city?")] },
        schema: None,
        max_tokens: 64,
        temperature: None,
        effort: None,
        profile: Arc::new(ModelProfile {
            structured: Structured::Instruct,
            ..ModelProfile::plain("small")
        }),
        draw: Draw::default(),
    }
}

async fn ask(provider: &dyn Provider) -> Result<Reply, Broken> {
    provider.exchange(&exchange(), &mut Heard::default()).await
}

/// The failures of these scripts, one exchange each.
async fn failures(scripts: Vec<Script>) -> Vec<Failure> {
    let count = scripts.len();
    let server = Loopback::start(scripts).await;
    let provider = chat(&server);
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(ask(&*provider).await.unwrap_err().failure);
    }
    assert_eq!(server.requests().len(), count, "nothing is sent twice");
    found
}

async fn failure(script: Script) -> Failure {
    failures(vec![script]).await.remove(0)
}

fn raw(bytes: &[u8]) -> Script {
    vec![Step::Send(bytes.to_vec()), Step::Close]
}

fn well_told(failure: &Failure) {
    assert!(!failure.evidence.is_empty(), "{failure:?}");
    assert!(!failure.message.is_empty(), "{failure:?}");
    assert!(failure.message.chars().count() <= 500, "{failure:?}");
    assert!(!failure.message.contains(char::is_control), "{failure:?}");
}

fn chunked(status: &str, kind: &str) -> Step {
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
    Step::Send(head.into_bytes())
}

/// 100 MB of chunks that each hold `piece` so often that they are about 64 KiB.
fn flood(piece: &str) -> Step {
    let text = piece.repeat((64 << 10) / piece.len());
    let Step::Send(bytes) = chunk(&text) else { unreachable!() };
    Step::Flood(bytes, 1_600)
}

#[tokio::test]
async fn a_hundred_megabytes_are_read_up_to_a_bound_whatever_they_are() {
    use FailureClass::*;
    // Long ones, because it is the bytes that are counted here.
    let words = "x".repeat(2_000);
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n");
    let (comment, line) = (format!(": {words}\n\n"), format!("{{\"a\":\"{words}\"}}\n"));
    let (json, sse) = ("application/json", "text/event-stream");
    let rows = [
        // An answer as a document: 8 MiB.
        ("200 OK", json, "{\"a\":\"", "x", ServerError, 8),
        ("200 OK", json, "", " ", ServerError, 8),
        ("200 OK", json, "[", "[", ServerError, 8),
        // A stream: 1 MiB an event, 32 MiB in all.
        ("200 OK", sse, "data: ", "x", ServerError, 1),
        ("200 OK", sse, "", "data: x\n", ServerError, 1),
        ("200 OK", sse, "", comment.as_str(), ServerError, 32),
        ("200 OK", sse, "", event.as_str(), ServerError, 32),
        ("200 OK", "application/x-ndjson", "", line.as_str(), ServerError, 32),
        // What is no answer: 64 KiB.
        ("200 OK", "text/html", "<title>Sign in</title>", "x", ServerError, 1),
        ("200 OK", "text/plain", "", " ", ServerError, 1),
        ("500 Oops", json, "{\"error\":\"", "x", ServerError, 1),
        ("429 Slow down", "text/plain", "", "x", RateLimited, 1),
    ];
    for (status, kind, start, piece, class, mebibytes) in rows {
        let mut script = vec![chunked(status, kind)];
        script.extend((!start.is_empty()).then(|| chunk(start)));
        script.push(flood(piece));
        let server = Loopback::start([script]).await;
        let failure = ask(&*chat(&server)).await.unwrap_err().failure;
        server.peer_closed().await;
        let most = (mebibytes << 20) + BUFFERS;
        let row = format!("{status} {kind} {start}{}", &piece[..1]);
        assert!(server.flooded() < most, "{row}: {} of {most}", server.flooded());
        assert_eq!(failure.class, class, "{row}: {failure:?}");
        well_told(&failure);
    }
}

#[tokio::test]
async fn a_tail_without_end_takes_nothing_from_a_complete_answer() {
    for (end, mebibytes) in [(format!("{HEL}{STOP}{DONE}"), 1), (format!("{HEL}{STOP}"), 32)] {
        for tail in [": comment\n\n", "data: {\"choices\":[]}\n\n", "data: nonsense\n\n"] {
            let server = Loopback::start([vec![stream_head(), chunk(&end), flood(tail)]]).await;
            let reply = ask(&*chat(&server)).await.unwrap();
            server.peer_closed().await;
            assert_eq!(reply.text, "Hello", "{tail}");
            assert!(server.flooded() < (mebibytes << 20) + BUFFERS, "{} {tail}", server.flooded());
        }
    }
}

#[tokio::test]
async fn what_is_no_http_is_told_as_such_and_not_asked_again() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(5_000));
    let heads: [&[u8]; 13] = [
        b"garbage\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx\0y: z\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
        long.as_bytes(),
        many.as_bytes(),
    ];
    for head in heads {
        let failure = failure(raw(head)).await;
        let shown = String::from_utf8_lossy(&head[..head.len().min(60)]);
        assert_eq!(failure.class, FailureClass::ServerError, "{shown}: {failure:?}");
        assert_eq!(failure.scope, Scope::Provider, "{shown}: {failure:?}");
        assert!(failure.message.contains("check `base_url`"), "{shown}: {failure:?}");
        well_told(&failure);
    }
}

#[tokio::test]
async fn headers_whose_values_are_nonsense_are_passed_over() {
    let head = b"HTTP/1.1 429 \xff\xfe\r\nretry-after: \xff\xff\r\nretry-after-ms: 12 sheep\r\n\
        x-ratelimit-reset-tokens: -99999999999999999999\r\nx-ratelimit-remaining-tokens: NaN\r\n\
        anthropic-ratelimit-tokens-reset: 0000-00-00T99:99:99Z\r\ndate: yesterday\r\n\
        content-type: \xff/\xff; charset=\xff\r\ncontent-length: 2\r\n\r\n{}";
    let server = Loopback::start([raw(head)]).await;
    let broken = ask(&*chat(&server)).await.unwrap_err();
    assert_eq!(broken.failure.class, FailureClass::RateLimited);
    assert_eq!((broken.failure.retry_after, broken.remaining), (None, None));
    well_told(&broken.failure);
}

#[tokio::test]
async fn a_wait_without_sense_is_none_and_a_long_one_a_day() {
    const DAY: u64 = 86_400_000;
    let date = ("date", "Wed, 01 Jan 2025 12:00:00 GMT");
    let rows = [
        ("31536000", Some(DAY)),
        ("99999999999999999999999999", Some(DAY)),
        ("Fri, 01 Jan 2100 00:00:00 GMT", Some(DAY)),
        ("Wed, 01 Jan 2025 12:00:09 GMT", Some(9_000)),
        ("1.5", Some(1_500)),
        ("-5", None),
        ("0", None),
        ("", None),
        ("soon", None),
        ("1e9", None),
        ("NaN", None),
        ("inf", None),
        ("0x10", None),
        ("Wed, 01 Jan 2025 11:59:59 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Wed, 99 Foo 2025 99:99:99 GMT", None),
        ("-9999-01-01T00:00:00Z", None),
    ];
    let scripts = rows.map(|(value, _)| {
        let headers = [date, ("retry-after", value)];
        with_headers("429 Too Many Requests", &headers, "{\"error\":{\"message\":\"slow\"}}")
    });
    let found = failures(scripts.into()).await;
    for ((value, wait), failure) in rows.iter().zip(found) {
        assert_eq!(failure.retry_after, wait.map(Duration::from_millis), "{value}");
        let event = failure.throttle().unwrap();
        assert_eq!(
            (event.class, event.retry_after),
            (FailureClass::RateLimited, failure.retry_after)
        );
    }
}

#[tokio::test]
async fn a_compressed_body_is_not_inflated() {
    use FailureClass::{RateLimited, ServerError};
    // The first bytes of a real one are enough: what follows is never looked at.
    let packed = "\u{1f}\u{8b}\u{8}\0\0\0\0\0";
    let script = |status: &str, kind, coding| {
        let headers = [("content-type", kind), ("content-encoding", coding), ("retry-after", "3")];
        with_headers(status, &headers, packed)
    };
    let found = failures(vec![
        script("200 OK", "text/event-stream", "gzip"),
        script("200 OK", "application/json", "br, zstd"),
        script("429 Too Many Requests", "application/json", "gzip"),
        script("500 Oops", "text/html", "deflate"),
    ])
    .await;
    let classes: Vec<_> = found.iter().map(|failure| failure.class).collect();
    assert_eq!(classes, [ServerError, ServerError, RateLimited, ServerError]);
    assert_eq!(found[2].retry_after, Some(Duration::from_secs(3)));
    assert!(found.iter().all(|failure| failure.message.contains(" in ")), "{found:?}");
    found.iter().for_each(well_told);

    let headers = [("content-type", "application/json"), ("content-encoding", "identity")];
    let server = Loopback::start([with_headers("200 OK", &headers, DOCUMENT)]).await;
    assert_eq!(ask(&*chat(&server)).await.unwrap().text, "Hello");
    assert_eq!(server.requests()[0].header("accept-encoding"), None);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_no_answer() {
    use FailureClass::{ServerError, StreamInterrupted};
    let bytes = |head: &str, body: &[u8]| {
        let length = body.len();
        let head = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n");
        vec![Step::Send([head.as_bytes(), body].concat())]
    };
    let event =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"H\xc3\"},\"finish_reason\":\"stop\"}]}\n\n";
    let document =
        b"{\"choices\":[{\"message\":{\"content\":\"H\xff\"},\"finish_reason\":\"stop\"}]}";
    let found = failures(vec![
        bytes("200 OK\r\ncontent-type: text/event-stream", event),
        bytes("200 OK\r\ncontent-type: application/json", document),
        bytes("200 OK", b"\xff\xfe\xfd\xfc\xfb\xfa\xf9"),
        bytes("500 Oops\r\ncontent-type: text/plain", b"out of \xff\xfe memory"),
        bytes("200 OK\r\ncontent-type: application/json", b"\x00\x00\x00\x00"),
    ])
    .await;
    let classes: Vec<_> = found.iter().map(|failure| failure.class).collect();
    assert_eq!(classes, [StreamInterrupted, ServerError, ServerError, ServerError, ServerError]);
    assert!(found[3].message.contains("out of"), "{:?}", found[3]);
    found.iter().for_each(well_told);
}

#[tokio::test]
async fn pages_for_people_are_classified_by_status_and_told_by_title() {
    use FailureClass::*;
    let rows = [
        ("200 OK", "Sign in - Corporate Proxy", ServerError),
        ("301 Moved Permanently", "301 Moved Permanently", BadRequest),
        ("403 Forbidden", "Attention Required! | Cloudflare", Permission),
        ("404 Not Found", "404 Not Found", BadRequest),
        ("407 Proxy Authentication Required", "ERROR: Cache Access Denied", BadRequest),
        ("413 Request Entity Too Large", "413 Request Entity Too Large", ContextOverflow),
        ("429 Too Many Requests", "Error 1015", RateLimited),
        ("502 Bad Gateway", "502 Bad Gateway", ServerError),
        ("503 Service Unavailable", "Just a moment...", Overloaded),
        ("504 Gateway Time-out", "504 Gateway Time-out", Timeout),
        ("520 Unknown", "Web server is returning an unknown error", ServerError),
    ];
    let page = |title: &str| {
        format!(
            "<!DOCTYPE html>\n<html><head><TITLE>{title}</TITLE><script>var a = '{{\"error\":1}}';</script></head>\
             <body onload='x()'><h1>{title}</h1></body></html>"
        )
    };
    let scripts =
        rows.map(|(status, title, _)| plain(status, "text/html; charset=UTF-8", &page(title)));
    let found = failures(scripts.into()).await;
    for ((status, title, class), failure) in rows.iter().zip(found) {
        assert_eq!(failure.class, *class, "{status}");
        assert!(failure.message.contains(title), "{failure:?}");
        assert!(!failure.message.contains(['<', '>']), "{failure:?}");
        well_told(&failure);
    }
}

#[tokio::test]
async fn an_error_that_a_proxy_sends_as_a_success_is_a_failure() {
    use FailureClass::*;
    let (json, text) = ("application/json", "text/plain");
    let rows = [
        (json, "{\"error\":\"upstream timed out\"}", ServerError),
        (json, "{\"error\":{\"code\":502,\"message\":\"Bad gateway\"}}", ServerError),
        (json, "{\"error\":{\"code\":429,\"message\":\"Slow down\"}}", RateLimited),
        (json, "{\"error\":{\"code\":\"x_y_z\",\"message\":\"Who knows\"}}", BadRequest),
        (json, "[{\"error\":{\"code\":401,\"message\":\"No\"}}]", Auth),
        (json, "{\"message\":\"no healthy upstream\"}", ServerError),
        (json, "{\"detail\":\"Not authenticated\"}", ServerError),
        (json, "{\"success\":false,\"errors\":[{\"code\":10000}]}", ServerError),
        (json, "{\"choices\":{}}", ServerError),
        (json, "{\"choices\":null}", ServerError),
        (json, "{}", ServerError),
        (json, "null", ServerError),
        (json, "\"error\"", ServerError),
        (json, "[[[[", StreamInterrupted),
        (json, "", StreamInterrupted),
        (text, "upstream connect error or disconnect/reset before headers", ServerError),
        (text, "", ServerError),
        ("application/xml", "<Error><Code>AccessDenied</Code></Error>", ServerError),
        ("text/event-stream", "event: error\ndata: {\"error\":{\"code\":503}}\n\n", Overloaded),
        ("text/event-stream", "error: {\"message\":\"out of memory\"}\n\n", ServerError),
        ("text/event-stream", "<html><title>502</title></html>", StreamInterrupted),
        ("application/x-ndjson", "{\"error\":\"model runner has stopped\"}\n", ServerError),
    ];
    let scripts = rows.map(|(kind, body, _)| plain("200 OK", kind, body));
    let found = failures(scripts.into()).await;
    for ((kind, body, class), failure) in rows.iter().zip(found) {
        assert_eq!(failure.class, *class, "{kind} {body}: {failure:?}");
        well_told(&failure);
    }
}

#[tokio::test]
async fn replies_that_hold_nothing_are_empty_and_no_answer() {
    let bodies = [
        "{\"choices\":[]}",
        "{\"choices\":[null]}",
        "{\"choices\":[{}]}",
        "{\"choices\":[{\"message\":null}]}",
        "{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"stop\"}]}",
        "{\"choices\":[{\"message\":{\"content\":{\"a\":1}},\"finish_reason\":\"stop\"}]}",
        "{\"choices\":[{\"message\":{\"content\":\" \\n\"},\"finish_reason\":\"stop\"}]}",
    ];
    let scripts = bodies.map(|body| plain("200 OK", "application/json", body));
    let found = failures(scripts.into()).await;
    for (body, failure) in bodies.iter().zip(found) {
        assert_eq!(failure.class, FailureClass::EmptyOutput, "{body}: {failure:?}");
    }
}

#[tokio::test]
async fn bodies_that_are_not_as_long_as_they_say_are_cut() {
    let short =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n{\"cho";
    let sizes = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n";
    let huge = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff1\r\n";
    for text in [short, sizes, huge] {
        let failure = failure(raw(text.as_bytes())).await;
        assert_eq!(failure.class, FailureClass::StreamInterrupted, "{text}");
        well_told(&failure);
    }
    let nothing = failures(vec![
        vec![Step::Send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())],
        plain("999 Whatever", "text/plain", "who knows"),
    ])
    .await;
    let classes: Vec<_> = nothing.iter().map(|failure| failure.class).collect();
    assert_eq!(classes, [FailureClass::ServerError, FailureClass::BadRequest]);
}

#[tokio::test]
async fn a_stream_of_comments_ends_with_its_exchange() {
    let comments = vec![stream_head(), chunk(": still here\n\n"), Step::Hold];
    let server = Loopback::start([comments]).await;
    let provider = chat(&server);
    let (exchange, mut heard) = (exchange(), Heard::default());
    tokio::select! {
        reply = provider.exchange(&exchange, &mut heard) => panic!("{reply:?}"),
        () = server.request_arrived() => {}
    }
    server.peer_closed().await;
    assert_eq!(heard.text, "");
}

#[tokio::test]
async fn a_good_answer_is_still_one() {
    let server = Loopback::start([stream(&[HEL, STOP, DONE])]).await;
    assert_eq!(ask(&*chat(&server)).await.unwrap().text, "Hello");
}
