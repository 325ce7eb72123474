//! Providers against a real socket: what leaves, what comes back, and when the connection closes.

mod loopback;

use std::sync::Arc;
use std::time::Duration;

use punctual::domain::failure::{FailureClass, Scope};
use punctual::domain::message::{Message, Prompt, Usage};
use punctual::domain::model::{ModelProfile, Structured, SystemPrompt, TokenField};
use punctual::domain::provider::{
    Capacity, ChatQuirks, Dialect, Limits, OnCancel, ProviderSettings, SecretRef,
};
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
    connect(&[settings], &|_, _| unreachable!("no simulator is configured")).unwrap()
}

fn chat(server: &Loopback) -> Arc<dyn Provider> {
    let dialect = Dialect::OpenAiChat(ChatQuirks { stream_options: true });
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
        profile: Arc::new(ModelProfile {
            id: "small".to_owned(),
            context: None,
            max_output: None,
            structured,
            system: SystemPrompt::Native,
            token_field: TokenField::MaxTokens,
            temperature: true,
            price: None,
            trust: 0.5,
        }),
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
    let usage = Usage { input: 9, cached_input: 4, output: 2, estimated: false };
    assert_eq!(reply, Ok(Reply { text: "Hello".to_owned(), usage }));
    assert_eq!((heard.first_tokens, heard.text.as_str(), heard.usage), (1, "Hello", Some(usage)));
    let request = &server.requests()[0];
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", request.head);
    assert_eq!(request.json()["stream_options"], json!({"include_usage": true}));
    assert_eq!(request.json()["messages"][0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!(request.header("accept-encoding"), None);
}
