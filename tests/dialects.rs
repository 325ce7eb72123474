//! One table for every dialect and every vendor that speaks it, over real HTTP: the same answer, streamed, whole,
//! constrained, refused, truncated, failed before and after its head, cut, silent, or something else altogether.
//!
//! A new preset of a known format is in the table by itself. A new format needs one arm in [`row::Row::of`] and its
//! bodies in a folder of `tests/fixtures/provider`, by the names used below. Formats that are not in this build are
//! not in the table.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken fixture fails its test"
)]

mod loopback;
#[path = "dialects/row.rs"]
mod row;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use punctual::definition::config::preset::{PRESETS, Wire};
use punctual::domain::failure::{FailureClass, Scope};
use punctual::domain::message::{Message, Prompt, Usage};
use punctual::domain::model::{ModelProfile, Structured};
use punctual::domain::money::Usd;
use punctual::provider::registry::{Providers, connect};
use punctual::provider::{Broken, Draw, Exchange, Reply, Sink};
use serde_json::{Value, json};

use loopback::{Loopback, Request, Script, Step, last_chunk, plain, with_headers};
use row::Row;

const ANSWER: &str = "The capital is Paris.";
const PARTIAL: &str = "The capital";
const COUNTED: Usage =
    Usage { input: 27, cached_input: 5, output: 12, estimated: false, cost: None };
const KEY: &str = "sk-placeholder";

/// One server that plays every row's scripts in turn, and a provider a row.
struct House {
    rows: Vec<Row>,
    server: Loopback,
    providers: Providers,
}

impl House {
    async fn open(scripts: impl Fn(&Row) -> Vec<Script>) -> Self {
        let rows: Vec<Row> = PRESETS.iter().filter_map(Row::of).collect();
        assert!(rows.len() >= 16, "{} rows", rows.len());
        let bedrock = rows.iter().any(|row| row.preset.wire == Wire::Bedrock);
        assert_eq!(bedrock, cfg!(feature = "bedrock"));
        let server = Loopback::start(rows.iter().flat_map(scripts)).await;
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        std::fs::write(&key, KEY).unwrap();
        let settings: Vec<_> =
            rows.iter().map(|row| row.settings(&server.url(), key.clone())).collect();
        let providers = connect(&settings, &|_, _| unreachable!("none is simulated"), || {
            SystemTime::UNIX_EPOCH
        })
        .unwrap();
        Self { rows, server, providers }
    }

    /// The next script's exchange, which must be this row's.
    async fn ask(&self, row: &Row, structured: Structured, schema: Option<Value>) -> Asked {
        let mut heard = Heard::default();
        let exchange = exchange(structured, schema);
        let provider = self.providers.get(row.preset.kind).unwrap();
        let reply = provider.exchange(&exchange, &mut heard).await;
        let request = self.server.requests().last().cloned().unwrap();
        Asked { reply, heard, request }
    }

    async fn plain(&self, row: &Row) -> Asked {
        self.ask(row, Structured::Instruct, None).await
    }

    async fn fails(&self, row: &Row) -> Broken {
        self.plain(row).await.reply.expect_err(row.preset.kind)
    }
}

/// What came of an exchange.
struct Asked {
    reply: Result<Reply, Broken>,
    heard: Heard,
    request: Request,
}

#[derive(Default)]
struct Heard {
    first_tokens: u32,
    text: String,
    tokens: u64,
    usage: Option<Usage>,
}

impl Sink for Heard {
    fn first_token(&mut self) {
        self.first_tokens += 1;
    }
    fn piece(&mut self, text: &str, tokens: u64) {
        self.text.push_str(text);
        self.tokens += tokens;
    }
    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }
}

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
        profile: Arc::new(ModelProfile { structured, ..ModelProfile::plain("small") }),
        draw: Draw::default(),
    }
}

fn city() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false,
    })
}

fn answered(row: &Row, asked: &Asked, cost: Option<Usd>) {
    let name = row.preset.kind;
    let reply = asked.reply.as_ref().expect(name);
    assert_eq!(reply.text, ANSWER, "{name}");
    assert_eq!(reply.usage, Usage { cost, ..COUNTED }, "{name}");
    assert_eq!(asked.heard.usage, Some(reply.usage), "{name}");
    assert_eq!((asked.heard.first_tokens, asked.heard.text.as_str()), (1, ANSWER), "{name}");
}

#[tokio::test]
async fn a_plain_answer() {
    let document = |row: &Row| plain("200 OK", "application/json", &row.body("answer.json"));
    let house = House::open(|row| vec![document(row)]).await;
    for row in &house.rows {
        answered(row, &house.plain(row).await, None);
    }
}

#[tokio::test]
async fn a_streamed_answer_with_its_counts() {
    let house = House::open(|row| vec![row.stream(&row.body("answer.sse"))]).await;
    for row in &house.rows {
        answered(row, &house.plain(row).await, row.cost);
    }
}

#[tokio::test]
async fn a_request_is_sent_where_the_vendor_listens_and_with_its_key() {
    let house = House::open(|row| vec![row.stream(&row.body("answer.sse"))]).await;
    for row in &house.rows {
        let name = row.preset.kind;
        let request = house.plain(row).await.request;
        let line = request.head.lines().next().unwrap();
        assert_eq!(line, format!("POST {} HTTP/1.1", row.path), "{name}");
        let (header, before) = row.key;
        assert_eq!(request.header(header), Some(format!("{before}{KEY}")), "{name}");
        let body = request.json().to_string();
        assert!(body.contains("Be brief.") && body.contains("Which city?"), "{name}: {body}");
        assert!(!body.contains(KEY), "{name}");
    }
}

#[tokio::test]
async fn an_answer_constrained_to_a_schema_or_forced_into_a_tool() {
    let scripts = |row: &Row| {
        let constrained = if row.preset.quirks.streamed_schema {
            row.stream(&row.body("schema.sse"))
        } else {
            plain("200 OK", "application/json", &row.body("schema.json"))
        };
        vec![constrained, row.stream(&row.body("tool.sse"))]
    };
    let house = House::open(scripts).await;
    for row in &house.rows {
        let name = row.preset.kind;
        for (structured, place) in [(Structured::Schema, row.schema), (Structured::Tool, row.tool)]
        {
            let asked = house.ask(row, structured, Some(city())).await;
            let request = asked.request.json();
            assert_eq!(row.told(&request, place), city(), "{name} {structured:?}: {request}");
            let streams = structured == Structured::Tool || row.preset.quirks.streamed_schema;
            assert!(request.get("stream").is_none_or(|s| *s == json!(streams)), "{name}");
            let text = asked.reply.expect(name).text;
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"city": "Paris"}));
            assert_eq!(asked.heard.text, text, "{name} {structured:?}");
        }
    }
}

#[tokio::test]
async fn without_constraints_the_schema_is_told() {
    let house = House::open(|row| {
        vec![row.stream(&row.body("schema.sse")), row.stream(&row.body("schema.sse"))]
    })
    .await;
    for row in &house.rows {
        for structured in [Structured::Json, Structured::Instruct] {
            let asked = house.ask(row, structured, Some(city())).await;
            let request = asked.request.json().to_string();
            assert!(request.contains("JSON Schema") && request.contains("Be brief."), "{request}");
            assert_eq!(asked.reply.unwrap().text, "{\"city\":\"Paris\"}");
        }
    }
}

#[tokio::test]
async fn a_refusal() {
    let house = House::open(|row| vec![row.stream(&row.body("refusal.sse"))]).await;
    for row in &house.rows {
        let failure = house.fails(row).await.failure;
        let name = row.preset.kind;
        assert_eq!((failure.class, failure.scope), (row.refusal, Scope::Attempt), "{name}");
        assert_eq!(failure.throttle(), None, "{name}");
    }
}

#[tokio::test]
async fn a_truncated_answer_keeps_its_text_and_its_counts() {
    let house = House::open(|row| vec![row.stream(&row.body("truncated.sse"))]).await;
    for row in &house.rows {
        let broken = house.fails(row).await;
        assert_eq!(broken.failure.class, FailureClass::TruncatedOutput, "{}", row.preset.kind);
        assert_eq!((broken.partial.as_str(), broken.usage), (PARTIAL, Some(COUNTED)));
    }
}

#[tokio::test]
async fn reasoning_that_left_nothing_of_the_bound_is_told() {
    let house = House::open(|row| vec![row.stream(&row.body("reasoned.sse"))]).await;
    for row in &house.rows {
        let broken = house.fails(row).await;
        let name = row.preset.kind;
        let told = "the model's reasoning used up its 12 tokens before an answer began; \
                    raise `max_tokens` or lower `effort`";
        let failure = &broken.failure;
        assert_eq!(
            (failure.class, failure.message.as_str()),
            (FailureClass::TruncatedOutput, told),
            "{name}"
        );
        assert_eq!((broken.partial.as_str(), broken.usage), ("", Some(COUNTED)), "{name}");
    }
}

#[tokio::test]
async fn a_prompt_beyond_the_window_is_refused_and_the_window_remembered() {
    let body = r#"{"error":{"message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#;
    let house = House::open(|_| vec![plain("400 Bad Request", "application/json", body)]).await;
    for row in &house.rows {
        let name = row.preset.kind;
        assert_eq!(house.fails(row).await.failure.class, FailureClass::ContextOverflow, "{name}");
        let provider = house.providers.get(name).unwrap();
        // The answer's bound of 64 has its place beside the prompt.
        assert_eq!(provider.lessons().unwrap().window("small"), Some(200_064), "{name}");
    }
}

#[tokio::test]
async fn an_error_before_the_head_concerns_others_for_its_window() {
    let headers = [
        ("content-type", "application/json"),
        ("retry-after", "7"),
        ("x-ratelimit-remaining-tokens", "17"),
    ];
    let throttled =
        |row: &Row| with_headers("429 Too Many Requests", &headers, &row.body("throttled.json"));
    let house = House::open(|row| vec![throttled(row)]).await;
    for row in &house.rows {
        let name = row.preset.kind;
        let broken = house.fails(row).await;
        let event = broken.failure.throttle().expect(name);
        assert_eq!((event.class, event.scope), (FailureClass::RateLimited, Scope::Quota), "{name}");
        assert_eq!(event.retry_after, Some(Duration::from_secs(7)), "{name}");
        assert_eq!(broken.remaining.unwrap().tokens, Some(17), "{name}");
        assert_eq!((broken.partial.as_str(), broken.usage), ("", None), "{name}");
    }
}

#[tokio::test]
async fn an_error_after_the_head_keeps_what_had_arrived() {
    let house = House::open(|row| vec![row.stream(&row.body("failed.sse"))]).await;
    for row in &house.rows {
        let broken = house.fails(row).await;
        let name = row.preset.kind;
        assert_eq!(broken.failure.class, FailureClass::Overloaded, "{name}: {broken:?}");
        assert_eq!(broken.failure.throttle().map(|event| event.scope), Some(Scope::Path), "{name}");
        assert_eq!(broken.partial, PARTIAL, "{name}");
    }
}

#[tokio::test]
async fn a_cut_stream_keeps_what_had_arrived() {
    let cut = |row: &Row| {
        let whole = row.body("answer.sse");
        let said = whole.find(PARTIAL).unwrap();
        let end = said + whole[said..].find("\n\n").unwrap() + 2;
        let (whole, end) = ((row.framed)(&whole), (row.framed)(&whole[..end]).len());
        // Up to an event's end, and into the next one; in good order, and by the peer.
        let scripts = [end, end + 9].map(|end| {
            let [mut in_order, mut by_peer] = [(); 2].map(|()| row.unended(&whole[..end]));
            in_order.push(last_chunk());
            by_peer.push(Step::Close);
            [in_order, by_peer]
        });
        scripts.into_iter().flatten().collect()
    };
    let house = House::open(cut).await;
    for row in &house.rows {
        for _ in 0..4 {
            let broken = house.fails(row).await;
            let name = row.preset.kind;
            assert_eq!(broken.failure.class, FailureClass::StreamInterrupted, "{name}");
            assert_eq!((broken.partial.as_str(), broken.failure.throttle()), (PARTIAL, None));
        }
    }
}

#[tokio::test]
async fn keep_alives_alone_or_nothing_at_all_are_no_answer() {
    let house =
        House::open(|row| vec![row.stream(&row.body("keep_alive.sse")), row.stream("")]).await;
    for row in &house.rows {
        for _ in 0..2 {
            let asked = house.plain(row).await;
            let broken = asked.reply.expect_err(row.preset.kind);
            assert_eq!(broken.failure.class, FailureClass::StreamInterrupted, "{broken:?}");
            assert_eq!((asked.heard.first_tokens, asked.heard.tokens), (0, 0));
        }
    }
}

#[tokio::test]
async fn another_content_type_or_another_document_is_a_failure_that_says_what_to_check() {
    let others = [
        ("text/html", "<html><title>Sign in</title></html>"),
        ("application/json", "{\"hello\": \"world\"}"),
        ("application/json", "[]"),
        ("text/plain", "It works!"),
        ("image/png", "\u{1}\u{2}"),
    ];
    let house =
        House::open(|_| others.map(|(kind, body)| plain("200 OK", kind, body)).into()).await;
    for row in &house.rows {
        for (kind, body) in others {
            let failure = house.fails(row).await.failure;
            let name = row.preset.kind;
            assert_eq!(failure.class, FailureClass::ServerError, "{name} {kind} {body}");
            assert_eq!(failure.scope, Scope::Path, "{name} {kind} {body}");
            assert!(failure.message.contains("check `base_url`"), "{name} {kind}: {failure:?}");
        }
    }
}
