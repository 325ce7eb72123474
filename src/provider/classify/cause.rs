//! The causes, in the order in which their words do not mask each other.

use crate::domain::failure::{FailureClass, Scope};

use super::body::{Said, Standing};

/// A cause, its reach, and what it was read from.
pub(super) struct Found {
    pub class: FailureClass,
    pub scope: Scope,
    pub evidence: &'static str,
}

/// What a failure is read from where a signature was refused.
pub(super) const SIGNATURE: &str = "signature refused";

type Rule = fn(&Said) -> Option<Found>;

/// Specific causes first. Quota before throttling: both say 429. Parameters before overflow: both speak of
/// `max_tokens`. Throttling before overflow: both speak of too many tokens.
const ORDER: [Rule; 9] =
    [output, filter, quota, parameter, throttle, overflow, key, model, capacity];

/// What the body and status say.
pub(super) fn of(said: &Said) -> Found {
    ORDER.iter().find_map(|rule| rule(said)).unwrap_or_else(|| by_status(said))
}

fn found(class: FailureClass, scope: Scope, evidence: &'static str) -> Found {
    Found { class, scope, evidence }
}

/// The request's own fault, as far as its status goes: 4xx but not throttling, or 501.
fn faulted(said: &Said) -> bool {
    matches!(said.status, 400..=428 | 430..=499 | 501)
}

/// A model's output that the provider itself found malformed.
fn output(said: &Said) -> Option<Found> {
    said.has_code(&["json_validate_failed", "tool_use_failed"]).then(|| {
        found(FailureClass::UnparseableOutput, Scope::Attempt, "output refused by provider")
    })
}

fn filter(said: &Said) -> Option<Found> {
    const CODES: &[&str] = &[
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "invalid_prompt",
        "moderation",
    ];
    const WORDS: &[&str] = &["content management policy", "potentially violating our usage policy"];
    let hit = said.has_code(CODES) || said.has_text(WORDS).is_some();
    hit.then(|| found(FailureClass::ContentFiltered, Scope::Attempt, "content filter"))
}

fn quota(said: &Said) -> Option<Found> {
    const CODES: &[&str] = &[
        "insufficient_quota",
        "billing_error",
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
    ];
    const WORDS: &[&str] = &[
        "credit balance",
        "specified api usage limits",
        "insufficient balance",
        "used all available credits",
        "have any credits",
    ];
    let class = FailureClass::QuotaExhausted;
    if said.has_code(CODES) || said.has_text(WORDS).is_some() {
        return Some(found(class, Scope::Provider, "account exhausted"));
    }
    if said.has_text(&["extra usage is required"]).is_some() || says_limit_zero(&said.text) {
        return Some(found(class, Scope::Path, "outside the plan"));
    }
    if said.has_text(&["free-models-per-day"]).is_some() {
        return Some(found(class, Scope::Quota, "daily allowance used up"));
    }
    match said.status {
        402 if said.asked_to_wait => {
            Some(found(FailureClass::RateLimited, Scope::Quota, "payment, to be retried"))
        }
        402 => Some(found(class, Scope::Provider, "payment required")),
        _ => None,
    }
}

/// `limit: 0`: not a limit that was reached but one that lets nothing through.
fn says_limit_zero(text: &str) -> bool {
    text.match_indices("limit: 0").any(|(at, marker)| {
        let rest = &text.as_bytes()[at + marker.len()..];
        !matches!(rest, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..])
    })
}

fn parameter(said: &Said) -> Option<Found> {
    const CODES: &[&str] = &[
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
        "extra_forbidden",
        "not_supported_error",
    ];
    const WORDS: &[&str] = &[
        "extra_forbidden",
        "extra inputs are not permitted",
        "is not supported with this model",
        "unsupported parameter",
        "unrecognized request argument",
        "unknown field",
        "cannot both be specified",
        "deprecated for this model",
        "invalid schema for response_format",
        "output_config.format",
        "compiled grammar",
        "json-schema-to-grammar",
        "failed to parse grammar",
        "too many states for serving",
        "does not support tool",
        "does not support thinking",
        "no endpoints found that support",
        "doesn't support tool",
    ];
    let named =
        said.parameter.is_some() && said.has_text(&["not support", "unsupported"]).is_some();
    let hit = said.has_code(CODES)
        || said.has_text(WORDS).is_some()
        || named
        || refuses_a_field(&said.text);
    (hit && faulted(said))
        .then(|| found(FailureClass::UnsupportedParameter, Scope::Path, "parameter refused"))
}

/// `This model doesn't support the toolConfig.toolChoice.tool field.` (Bedrock)
fn refuses_a_field(text: &str) -> bool {
    let field = |word: &str| word.trim_end_matches(['.', ',', ':', ';']) == "field";
    ["doesn't support the ", "does not support the "]
        .iter()
        .flat_map(|marker| text.split(marker).skip(1))
        .any(|rest| rest.split_whitespace().take(3).any(field))
}

fn throttle(said: &Said) -> Option<Found> {
    const WORDS: &[&str] = &["too many tokens, please wait", "too many requests"];
    const LOOSE: &[&str] = &["rate limit", "throttl", "too many"];
    let stated = matches!(said.status, 400 | 429) && said.has_text(WORDS).is_some();
    let guessed = said.standing == Standing::Guessed && said.has_text(LOOSE).is_some();
    (stated || guessed).then(|| found(FailureClass::RateLimited, Scope::Quota, "throttled"))
}

fn overflow(said: &Said) -> Option<Found> {
    const CODES: &[&str] =
        &["context_length_exceeded", "exceed_context_size_error", "request_too_large"];
    const WORDS: &[&str] = &[
        "prompt is too long",
        "maximum context length",
        "exceed context limit",
        "exceeds the context window",
        "exceeds the available context size",
        "context size has been exceeded",
        "longer than the context length",
        "longer than the model's context length",
        "exceeds the context length",
        "too large for model with",
        "`inputs` tokens + `max_new_tokens`",
        "input is too long",
        "exceeds the maximum number of tokens",
        "maximum prompt length is",
        "must be at least 1, got -",
        "reduce the length of the messages",
    ];
    let hit = |evidence| Some(found(FailureClass::ContextOverflow, Scope::Path, evidence));
    if exceeds_own_limit(&said.text) {
        return hit("request beyond the limit itself");
    }
    if said.status == 429 {
        return None;
    }
    if said.has_code(CODES) || said.has_text(WORDS).is_some() {
        return hit("prompt beyond the window");
    }
    if said.status == 413 { hit("request too large") } else { None }
}

/// `Request too large … Limit 30000, Requested 36278`: no wait helps.
fn exceeds_own_limit(text: &str) -> bool {
    let number = |marker: &str| -> Option<u64> {
        let rest = &text[text.find(marker)? + marker.len()..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    text.contains("request too large")
        && number("limit ").zip(number("requested ")).is_some_and(|(limit, asked)| asked > limit)
}

fn key(said: &Said) -> Option<Found> {
    const CODES: &[&str] = &[
        "invalid_api_key",
        "api_key_invalid",
        "authentication_error",
        "unrecognizedclientexception",
        "expiredtokenexception",
    ];
    const WORDS: &[&str] = &[
        "incorrect api key",
        "invalid api key",
        "api key not valid",
        "invalid x-api-key",
        "invalid access token",
        "security token included in the request",
    ];
    const SIGNED: &[&str] = &[
        "invalidsignatureexception",
        "invalidsignature",
        "signaturedoesnotmatch",
        "signaturedoesnotmatchexception",
        "incompletesignature",
        "incompletesignatureexception",
        "missingauthenticationtoken",
        "missingauthenticationtokenexception",
    ];
    const UNSIGNED: &[&str] = &[
        "request signature we calculated does not match",
        "signature expired",
        "signature not yet current",
        "missing authentication token",
    ];
    const PLACES: &[&str] = &["location is not supported", "country, region, or territory"];
    if !faulted(said) {
        return None;
    }
    if said.has_code(CODES) || said.has_text(WORDS).is_some() {
        return Some(found(FailureClass::Auth, Scope::Provider, "key refused"));
    }
    if said.has_code(SIGNED) || said.has_text(UNSIGNED).is_some() {
        return Some(found(FailureClass::Auth, Scope::Provider, SIGNATURE));
    }
    if said.has_text(PLACES).is_some() {
        return Some(found(FailureClass::Permission, Scope::Provider, "place refused"));
    }
    said.has_text(&["data policy"])
        .filter(|_| said.status == 404)
        .map(|_| found(FailureClass::Permission, Scope::Path, "data policy"))
}

fn model(said: &Said) -> Option<Found> {
    const CODES: &[&str] = &[
        "model_not_found",
        "model_decommissioned",
        "model_not_available",
        "invalid_model",
        "deploymentnotfound",
        "resource_does_not_exist",
        "resourcenotfoundexception",
    ];
    const WORDS: &[&str] = &[
        "is not a valid model id",
        "model identifier is invalid",
        "end of its life",
        "marked by provider as legacy",
        "no endpoints found for",
        "has been decommissioned",
        "no longer available",
        "invalid model",
        "is not found for api version",
        "on-demand throughput isn't supported",
    ];
    if !matches!(said.status, 400 | 403 | 404 | 410 | 422) {
        return None;
    }
    let missing = || {
        let gone = said.has_text(&["not found", "does not exist", "has been deprecated"]).is_some();
        let named = said.text.contains("model") || said.text.contains("endpoint with name");
        (gone && named) || (said.status == 404 && said.text.starts_with("model:"))
    };
    let hit = said.has_code(CODES) || said.has_text(WORDS).is_some() || missing();
    hit.then(|| found(FailureClass::ModelNotFound, Scope::Path, "model unknown"))
}

fn capacity(said: &Said) -> Option<Found> {
    const CODES: &[&str] = &[
        "overloaded_error",
        "provider_unavailable",
        "modelnotreadyexception",
        "service_tier_capacity_exceeded",
    ];
    const WORDS: &[&str] = &["service tier capacity exceeded", "overloaded", "server busy"];
    let fits = matches!(said.status, 429 | 498 | 500..=599);
    let hit = fits && (said.has_code(CODES) || said.has_text(WORDS).is_some());
    hit.then(|| found(FailureClass::Overloaded, Scope::Path, "no capacity"))
}

fn by_status(said: &Said) -> Found {
    let upstream = said.has_code(&["upstream_provider_shared_pool"]);
    match said.status {
        // Whether it would help to ask again nobody knows, so that it is not assumed.
        _ if said.standing == Standing::Guessed => {
            found(FailureClass::BadRequest, Scope::Path, "unknown error")
        }
        401 => found(FailureClass::Auth, Scope::Provider, "status"),
        403 => found(FailureClass::Permission, Scope::Path, "status"),
        // A model that is not there is told as one, above: nothing at all is served at this address.
        404 => found(FailureClass::BadRequest, Scope::Provider, "nothing served there"),
        408 | 504 | 524 => found(FailureClass::Timeout, Scope::Path, "status"),
        429 if upstream => found(FailureClass::RateLimited, Scope::Path, "upstream throttled"),
        429 => found(FailureClass::RateLimited, Scope::Quota, "status"),
        498 | 503 | 529 => found(FailureClass::Overloaded, Scope::Path, "status"),
        300..=399 => found(FailureClass::BadRequest, Scope::Provider, "redirect, not followed"),
        424 | 499 | 500..=599 => found(FailureClass::ServerError, Scope::Path, "status"),
        400..=498 => found(FailureClass::BadRequest, Scope::Path, "status"),
        // A 2xx that is no reply comes from something that stands in the provider's place.
        200..=299 => found(FailureClass::ServerError, Scope::Path, "no reply"),
        _ => found(FailureClass::BadRequest, Scope::Path, "unknown status"),
    }
}
