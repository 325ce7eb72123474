//! What a provider says is left of its limits, from the headers of any response. Pure.
//!
//! Sources: the vendors' references and recorded responses. `OpenAI`, Groq and Azure name requests and tokens
//! (`x-ratelimit-remaining-tokens`), Mistral names the minute too, Anthropic counts input and output apart,
//! `OpenRouter` and Together count requests alone; Gemini, Bedrock and Databricks say nothing.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::domain::provider::Remaining;

use serde_json::Value;

use super::classify::Headers;
use super::retry_window::reset_in;

/// Headers that are looked at in an error's body.
const MAX_NAMED: usize = 32;

/// Names of one limit: what is left, the whole, and when it is whole again.
type Names = [&'static str; 3];

/// Requests, the more exact names first.
const REQUESTS: [Names; 4] = [
    ["x-ratelimit-remaining-requests", "x-ratelimit-limit-requests", "x-ratelimit-reset-requests"],
    [
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-reset",
    ],
    [
        "x-ratelimit-remaining-req-minute",
        "x-ratelimit-limit-req-minute",
        "x-ratelimit-reset-req-minute",
    ],
    ["x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset"],
];

/// Tokens, the more exact names first.
const TOKENS: [Names; 5] = [
    ["x-ratelimit-remaining-tokens", "x-ratelimit-limit-tokens", "x-ratelimit-reset-tokens"],
    [
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-limit",
        "anthropic-ratelimit-tokens-reset",
    ],
    [
        "x-ratelimit-remaining-tokens-minute",
        "x-ratelimit-limit-tokens-minute",
        "x-ratelimit-reset-tokens-minute",
    ],
    ["ratelimitbysize-remaining", "ratelimitbysize-limit", "ratelimitbysize-reset"],
    ["x-tokenlimit-remaining", "x-tokenlimit-limit", "x-tokenlimit-reset"],
];

/// Input and output where they are counted apart and no sum is given.
const APART: [Names; 2] = [
    [
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-limit",
        "anthropic-ratelimit-input-tokens-reset",
    ],
    [
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-limit",
        "anthropic-ratelimit-output-tokens-reset",
    ],
];

/// One limit, as far as it was named.
#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    left: Option<u64>,
    whole: Option<u64>,
    reset: Option<Duration>,
}

/// What `headers` say is left; `None` where they say nothing. Negative numbers (Azure sends -1) and what is no
/// whole number say nothing.
#[must_use]
pub fn read(headers: &Headers) -> Option<Remaining> {
    let first = |names: &[Names]| names.iter().find_map(|names| limit(headers, names));
    let requests = first(&REQUESTS);
    let tokens = first(&TOKENS).or_else(|| both(headers));
    if requests.is_none() && tokens.is_none() {
        return None;
    }
    let (requests, tokens) = (requests.unwrap_or_default(), tokens.unwrap_or_default());
    Some(Remaining {
        requests: requests.left,
        requests_limit: requests.whole,
        requests_reset: requests.reset,
        tokens: tokens.left,
        tokens_limit: tokens.whole,
        tokens_reset: tokens.reset,
    })
}

/// What an error's body says is left: `OpenRouter` puts the headers of its own limits there. Moments count from the
/// response's date.
#[must_use]
pub fn in_error(headers: &Headers, body: &Value) -> Option<Remaining> {
    let named = body.pointer("/error/metadata/headers")?.as_object()?;
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let date = headers.get("date").map(|date| ("date".to_owned(), date.to_owned()));
    let own = named.iter().filter_map(|(name, value)| Some((name.clone(), text(value)?)));
    read(&own.take(MAX_NAMED).chain(date).collect())
}

fn limit(headers: &Headers, [left, whole, reset]: &Names) -> Option<Limit> {
    let number = |name: &str| headers.get(name).and_then(|value| value.trim().parse().ok());
    let (left, whole) = (number(left), number(whole));
    let reset = headers.get(reset).and_then(|value| reset_in(headers, value));
    (left.is_some() || whole.is_some()).then_some(Limit { left, whole, reset })
}

/// Input and output together: a request uses of both, and what is left of one is of no use without the other.
fn both(headers: &Headers) -> Option<Limit> {
    let [input, output] = APART.map(|names| limit(headers, &names));
    let (input, output) = (input?, output?);
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Some(Limit {
        left: sum(input.left, output.left),
        whole: sum(input.whole, output.whole),
        reset: input.reset.max(output.reset),
    })
}
