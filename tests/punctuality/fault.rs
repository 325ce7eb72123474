//! What can be wrong with a provider, as its server plays it, and what a call of its workflow asks for.

use std::time::Duration;

use serde_json::{Value, json};

use crate::loopback::{Request, Script, Step, chunk, last_chunk, stream_head, with_headers};

/// A cause of trouble. Each has a workflow, a model and, most of them, a provider of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// Says nothing at all.
    Silent,
    /// Sends the head of its response, and no more.
    Mute,
    /// Begins its answer, and stops.
    Stuck,
    /// Sends a token now and then, for ever.
    Slow,
    /// 429, with a window.
    Limited,
    /// 503.
    Sick,
    /// Begins its answer, and closes the connection.
    Cut,
    /// The same, but the connection breaks.
    Reset,
    /// Nobody listens there.
    Gone,
    /// The account is empty, which it says with a 429.
    Bust,
    /// The key is refused.
    Locked,
    /// Answers in the wrong shape, until it is told.
    Wrong,
    /// Answers in the wrong shape whatever it is told.
    Stubborn,
    /// Its minute holds two requests.
    Full,
    /// Says nothing, and may be given few attempts beside its own.
    Meek,
    /// Says nothing, and the run can do without its step.
    Aside,
    /// Neither path says anything, and the deadline is near.
    Hopeless,
    /// Says nothing, and the caller leaves.
    Left,
}

/// Which is which, and how many of the two hundred calls meet it.
pub const CALLS: [(Fault, usize); 18] = [
    (Fault::Slow, 12),
    (Fault::Silent, 16),
    (Fault::Mute, 12),
    (Fault::Stuck, 12),
    (Fault::Limited, 16),
    (Fault::Sick, 10),
    (Fault::Cut, 10),
    (Fault::Reset, 10),
    (Fault::Gone, 10),
    (Fault::Bust, 10),
    (Fault::Locked, 10),
    (Fault::Wrong, 12),
    (Fault::Stubborn, 8),
    (Fault::Full, 8),
    (Fault::Meek, 12),
    (Fault::Aside, 8),
    (Fault::Hopeless, 14),
    (Fault::Left, 10),
];

impl Fault {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Mute => "mute",
            Self::Stuck => "stuck",
            Self::Slow => "slow",
            Self::Limited => "limited",
            Self::Sick => "sick",
            Self::Cut => "cut",
            Self::Reset => "reset",
            Self::Gone => "gone",
            Self::Bust => "bust",
            Self::Locked => "locked",
            Self::Wrong => "wrong",
            Self::Stubborn => "stubborn",
            Self::Full => "full",
            Self::Meek => "meek",
            Self::Aside => "aside",
            Self::Hopeless => "hopeless",
            Self::Left => "left",
        }
    }

    /// What its server does with a request.
    pub fn answer(self, request: &Request) -> Script {
        match self {
            Self::Silent | Self::Meek | Self::Aside | Self::Hopeless | Self::Left => {
                vec![Step::Hold]
            }
            Self::Mute => vec![stream_head(), Step::Hold],
            Self::Stuck => vec![stream_head(), chunk(&piece(HALF)), Step::Hold],
            Self::Slow => {
                // The first one goes out at once, so that it is slow and not silent.
                let drop = format!("{:x}\r\n{}\r\n", piece("x").len(), piece("x"));
                vec![stream_head(), Step::Drip(drop.into_bytes(), Duration::from_millis(100))]
            }
            Self::Limited => refusal("429 Too Many Requests", "rate_limit_exceeded", Some("600")),
            Self::Sick => refusal("503 Service Unavailable", "service_unavailable", None),
            Self::Cut => vec![stream_head(), chunk(&piece(HALF)), Step::Close],
            Self::Reset => vec![stream_head(), chunk(&piece(HALF)), Step::Reset],
            Self::Bust => refusal("429 Too Many Requests", "insufficient_quota", None),
            Self::Locked => refusal("401 Unauthorized", "invalid_api_key", None),
            Self::Wrong if turns(request, "assistant").is_empty() => said(r#"{"note": 5}"#),
            Self::Stubborn => said("I would rather not say."),
            Self::Wrong | Self::Full | Self::Gone => healthy(request),
        }
    }
}

/// What comes of an answer that breaks off.
pub const HALF: &str = "{\"note\": \"half";

/// A well provider's answer: the call's tag, which stands between two `@` in its prompt.
pub fn healthy(request: &Request) -> Script {
    said(&json!({ "note": tag(request) }).to_string())
}

/// The call that a request belongs to.
pub fn tag(request: &Request) -> String {
    let prompt = turns(request, "user").into_iter().next().unwrap_or_default();
    prompt.split('@').nth(1).unwrap_or_default().to_owned()
}

/// The texts of one role, oldest first.
pub fn turns(request: &Request, role: &str) -> Vec<String> {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let of_role = messages.iter().filter(|message| message["role"] == role);
    of_role.filter_map(|message| message["content"].as_str()).map(str::to_owned).collect()
}

/// A whole answer, streamed, with its counts.
fn said(text: &str) -> Script {
    let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let counts = json!({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 10}});
    vec![
        stream_head(),
        chunk(&piece(text)),
        chunk(&(data(&stop) + &data(&counts) + "data: [DONE]\n\n")),
        last_chunk(),
    ]
}

fn piece(text: &str) -> String {
    data(&json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}))
}

fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

fn refusal(status: &str, code: &str, wait: Option<&str>) -> Script {
    let body = json!({"error": {"message": "No.", "code": code}}).to_string();
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(wait.map(|wait| ("retry-after", wait)));
    with_headers(status, &headers, &body)
}
