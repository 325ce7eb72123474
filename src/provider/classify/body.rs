//! What an error's body says, out of whatever it is wrapped in.

use serde_json::Value;

use crate::provider::retry_window::Hints;

use super::Head;

/// Wrappings undone at most: gateways wrap errors of gateways.
const MAX_DEPTH: u8 = 10;
/// Most characters of a parameter's name.
const MAX_NAME: usize = 64;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The status, or, inside a 2xx, the one the body stands for.
    pub status: u16,
    /// The innermost words.
    pub message: String,
    /// All words, lower case.
    pub text: String,
    /// Every code, type, status and reason, lower case.
    pub codes: Vec<String>,
    /// About waiting.
    pub hints: Hints,
    /// Whether the response carries a `retry-after`.
    pub asked_to_wait: bool,
    /// Whether the body is JSON that reads as an error.
    pub shaped: bool,
    /// The parameter that the body names (`param`, or the last of `loc`), other than the model.
    pub parameter: Option<String>,
    /// The prompt's tokens and the window's, as fields of the body (llama.cpp).
    pub counted: Option<(u64, u64)>,
    /// Whether the status is known.
    pub standing: Standing,
    /// A status inside the body.
    code: Option<u16>,
    /// The status of a model behind the provider.
    original: Option<u16>,
}

/// Where a status comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// The response or its body says it.
    #[default]
    Stated,
    /// An error inside a 2xx has a name that nobody knows.
    Guessed,
}

impl Said {
    /// Whether one of the codes is among `names`.
    pub fn has_code(&self, names: &[&str]) -> bool {
        self.codes.iter().any(|code| names.contains(&code.as_str()))
    }

    /// The first of `markers` that the words contain.
    pub fn has_text(&self, markers: &[&'static str]) -> Option<&'static str> {
        markers.iter().copied().find(|marker| self.text.contains(marker))
    }

    fn say(&mut self, words: &str) {
        words.trim().clone_into(&mut self.message);
        self.text.push_str(&words.to_lowercase().replace('\u{2019}', "'"));
        self.text.push('\n');
    }

    fn code(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                if let Ok(status) = text.trim().parse() {
                    self.status_code(status);
                }
                self.codes.push(text.trim().to_lowercase());
            }
            Value::Number(number) => {
                if let Some(status) = number.as_u64().and_then(|n| u16::try_from(n).ok()) {
                    self.status_code(status);
                }
            }
            _ => {}
        }
    }

    fn status_code(&mut self, status: u16) {
        if (400..600).contains(&status) {
            self.code = Some(status);
        }
    }

    fn walk(&mut self, value: &Value, depth: u8) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match value {
            Value::Array(items) => items.iter().take(4).for_each(|item| self.walk(item, depth)),
            Value::String(text) => self.walk_text(text, depth),
            Value::Object(_) => self.walk_object(value, depth),
            _ => {}
        }
    }

    /// Words, or JSON inside a string.
    fn walk_text(&mut self, text: &str, depth: u8) {
        let inner = text.trim_start().starts_with(['{', '[']);
        match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) if inner => self.walk(&value, depth),
            _ => self.say(text),
        }
    }

    fn walk_object(&mut self, object: &Value, depth: u8) {
        // `com.amazon.coral.service#InvalidSignatureException`
        if let Some(kind) = object.get("__type").and_then(Value::as_str) {
            self.codes.push(kind.rsplit('#').next().unwrap_or_default().to_lowercase());
        }
        for key in ["code", "type", "status", "error_code", "reason", "error_type", "limit_source"]
        {
            if let Some(value) = object.get(key) {
                self.code(value);
            }
        }
        let place = object.get("loc").and_then(Value::as_array).and_then(|place| place.last());
        let named = object.get("param").or(place).and_then(Value::as_str);
        if let Some(name) = named.filter(|name| !matches!(*name, "" | "model")) {
            self.parameter = Some(super::brief(name).chars().take(MAX_NAME).collect());
        }
        let count = |key: &str| object.get(key).and_then(Value::as_u64);
        self.counted = count("n_prompt_tokens").zip(count("n_ctx")).or(self.counted);
        if let Some(status) = object.get("originalStatusCode").and_then(Value::as_u64) {
            self.original = u16::try_from(status).ok();
        }
        if let Some(delay) = object.get("retryDelay").and_then(Value::as_str) {
            self.hints.delay = Some(delay.to_owned());
        }
        let reset = object.pointer("/headers/X-RateLimit-Reset").and_then(Value::as_str);
        if let Some(at) = reset.and_then(|at| at.parse().ok()) {
            self.hints.reset_at_ms = Some(at);
        }
        if object.get("reasons").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
            self.codes.push("moderation".to_owned());
        }
        for key in [
            "message",
            // AWS's gates write it so, and a model's own words stand beside those of the service.
            "Message",
            "originalMessage",
            "msg",
            "detail",
            "error",
            "details",
            "innererror",
            "inner_error",
            "metadata",
            "raw",
            "response",
        ] {
            if let Some(value) = object.get(key) {
                self.walk(value, depth);
            }
        }
    }
}

/// Reads an error's body.
pub(super) fn unwrap(head: &Head, body: &[u8]) -> Said {
    let mut said = Said { status: head.status, ..Said::default() };
    said.asked_to_wait = head.headers.get("retry-after").is_some();
    if let Some(kind) = head.headers.get("x-amzn-errortype") {
        said.codes.push(kind.split(':').next().unwrap_or_default().to_lowercase());
    }
    let text = String::from_utf8_lossy(body);
    let text = framed(&text).unwrap_or_else(|| text.into_owned());
    match serde_json::from_str::<Value>(&text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            said.shaped = true;
            said.walk(&value, MAX_DEPTH);
        }
        Ok(Value::String(words)) => said.say(&words),
        _ => match title(&text) {
            Some(title) => said.say(title),
            // What came with a 2xx may be the model's answer, which is nobody's business here.
            None if (200..300).contains(&head.status) => {}
            None => said.say(&text),
        },
    }
    said.hints.text.clone_from(&said.text);
    (said.status, said.standing) = effective(&said);
    if said.shaped && said.message.is_empty() && text.trim().len() > 2 {
        // Without words of its own an error is told as it came.
        said.message = text;
    }
    said
}

/// The data of an error that is framed as an event although it is the whole body.
fn framed(text: &str) -> Option<String> {
    let text = text.trim_start();
    if !text.starts_with("data:") && !text.starts_with("event:") {
        return None;
    }
    text.lines().find_map(|line| line.strip_prefix("data:")).map(|data| data.trim().to_owned())
}

/// The title of an HTML page.
fn title(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let end = start + lower[start..].find("</title>")?;
    Some(&text[start..end])
}

/// Names of errors and the status each is sent with, where there is one: those of an error inside a 2xx, and the
/// exceptions of Bedrock's streams.
const BY_NAME: [(&[&str], u16); 12] = [
    (
        &[
            "overloaded_error",
            "provider_unavailable",
            "service_unavailable_error",
            "server_is_overloaded",
            "unavailable",
            "unavailable_error",
            "serviceunavailableexception",
            "modelnotreadyexception",
        ],
        503,
    ),
    (
        &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "rate_limited",
            "insufficient_quota",
            "resource_exhausted",
            "throttlingexception",
            "servicequotaexceededexception",
        ],
        429,
    ),
    (
        &[
            "authentication_error",
            "invalid_api_key",
            "unauthenticated",
            "unrecognizedclientexception",
            "expiredtokenexception",
        ],
        401,
    ),
    (&["permission_error", "permission_denied", "accessdeniedexception"], 403),
    (&["not_found_error", "model_not_found", "notfounderror", "resourcenotfoundexception"], 404),
    (&["billing_error"], 402),
    (&["request_too_large"], 413),
    (&["timeout_error", "deadline_exceeded"], 504),
    (&["modeltimeoutexception"], 408),
    (&["modelstreamerrorexception", "modelerrorexception"], 424),
    (
        &[
            "server_error",
            "api_error",
            "internal",
            "internalservererror",
            "internalserverexception",
        ],
        500,
    ),
    (
        &[
            "invalid_request_error",
            "badrequesterror",
            "exceed_context_size_error",
            "validationexception",
            "invalid_argument",
        ],
        400,
    ),
];

/// The status that counts: that of a model behind the provider, or inside a 2xx that of the body.
fn effective(said: &Said) -> (u16, Standing) {
    if let Some(original) = said.original {
        return (original, Standing::Stated);
    }
    if !(200..300).contains(&said.status) || !said.shaped {
        return (said.status, Standing::Stated);
    }
    let named = BY_NAME.iter().find(|(names, _)| said.has_code(names)).map(|(_, status)| *status);
    match said.code.or(named) {
        Some(status) => (status, Standing::Stated),
        // Words alone are how small servers say that something broke in them.
        None if said.codes.iter().all(|name| name == "error") => (500, Standing::Stated),
        None => (500, Standing::Guessed),
    }
}
