//! Says what a failed response means: its cause, its reach, and how long to wait. Pure.
//!
//! Status alone misleads: billing comes as 400, 403 and 429, bad keys as 400, model failures as 400, and
//! any of them inside a 200. So the body is unwrapped first ([`body`]), then causes are looked for in the
//! one order in which their words do not mask each other ([`cause`]).

mod body;
mod cause;
mod lost;
mod size;
#[cfg(test)]
mod tests;

pub use lost::{Lost, lost};

use serde_json::Value;

use crate::domain::failure::{About, Failure, FailureClass, Scope};

use super::retry_window;

/// Most characters of a provider's words that are passed on.
const MAX_WORDS: usize = 400;

/// A response's headers, by lower-case name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

/// What stands before a response's body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
}

impl Headers {
    /// The first value of the header of that lower-case name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

impl<N: AsRef<str>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(n, v)| (n.as_ref().to_ascii_lowercase(), v.into())).collect())
    }
}

impl Head {
    /// The media type, lower case, without parameters; empty where there is none.
    #[must_use]
    pub fn content_type(&self) -> String {
        let value = self.headers.get("content-type").unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// What the body is compressed with; `None` where it is as it is.
    #[must_use]
    pub fn coding(&self) -> Option<&str> {
        let value = self.headers.get("content-encoding")?.trim();
        (!value.is_empty() && !value.eq_ignore_ascii_case("identity")).then_some(value)
    }
}

/// What a response that is no reply means.
#[must_use]
pub fn response(head: &Head, body: &[u8]) -> Failure {
    let said = body::unwrap(head, body);
    let mut found = cause::of(&said);
    // What the vendors' own libraries obey, for whether the same request is sent again to the same place.
    let again = head.headers.get("x-should-retry").map(|word| word.trim().to_ascii_lowercase());
    let again = again.as_deref().and_then(|word| word.parse::<bool>().ok());
    let passes = again == Some(true)
        && (found.class, found.scope) == (FailureClass::BadRequest, Scope::Path);
    if passes {
        found.class = FailureClass::ServerError;
    }
    let hopeless = again == Some(false);
    let wait = match found.class {
        FailureClass::RateLimited
        | FailureClass::Overloaded
        | FailureClass::ServerError
        | FailureClass::Timeout => {
            let limited = found.class == FailureClass::RateLimited;
            retry_window::wait(&head.headers, &said.hints, limited)
        }
        _ => None,
    };
    let inside =
        if said.status == head.status { String::new() } else { format!(" inside {}", head.status) };
    let hint = if wait.is_some() { " + retry hint" } else { "" };
    let asked = match (passes, hopeless) {
        (true, _) => " + x-should-retry: true",
        (_, true) => " + x-should-retry: false",
        (false, false) => "",
    };
    let evidence = format!("{} {}{inside}{hint}{asked}", said.status, found.evidence);
    let failure = Failure::of_attempt(found.class, evidence, words(head, &said, &found));
    let about = about(&said, found.class);
    Failure { scope: found.scope, retry_after: wait, hopeless, about, ..failure }
}

/// What precisely a refused request is refused for.
fn about(said: &body::Said, class: FailureClass) -> Option<About> {
    if matches!(class, FailureClass::UnsupportedParameter | FailureClass::BadRequest) {
        return said.parameter.clone().map(About::Parameter);
    }
    if class != FailureClass::ContextOverflow {
        return None;
    }
    let counted = said.counted.filter(|(prompt, most)| prompt > most);
    let counted = counted.map(|(prompt, most)| About::Size { prompt, most });
    counted.or_else(|| size::of(&said.text))
}

/// What an error inside a stream means. The stream's own headers say nothing about it.
#[must_use]
pub fn in_stream(error: &Value) -> Failure {
    let head = Head { status: 200, headers: Headers::default() };
    response(&head, error.to_string().as_bytes())
}

/// What an exception of that name inside a stream means: Bedrock's frames carry it beside their payload.
#[must_use]
pub fn exception(name: &str, payload: &[u8]) -> Failure {
    let headers = [("x-amzn-errortype", name), ("content-type", "application/json")];
    let head = Head { status: 200, headers: headers.into_iter().collect() };
    // The name alone tells much, so that a payload that is none takes nothing from it.
    let shaped = serde_json::from_slice::<Value>(payload).is_ok_and(|value| value.is_object());
    response(&head, if shaped { payload } else { b"{}" })
}

/// What lines of unknown fields mean: an error framed as `error: {..}`, or a JSON error in place of events.
#[must_use]
pub fn in_unknown(lines: &[String]) -> Option<Failure> {
    if lines.is_empty() {
        return None;
    }
    if let Some(error) = lines.iter().find_map(|line| line.strip_prefix("error:")) {
        let error = error.trim();
        let value = serde_json::from_str(error).unwrap_or_else(|_| Value::String(error.to_owned()));
        let wrapped = if is_error(&value) { value } else { serde_json::json!({"error": value}) };
        return Some(in_stream(&wrapped));
    }
    let whole: Value = serde_json::from_str(&lines.join("\n")).ok()?;
    is_error(&whole).then(|| in_stream(&whole))
}

/// Whether a JSON document is an error and not a reply.
#[must_use]
pub fn is_error(value: &Value) -> bool {
    let value = match value.as_array().map(Vec::as_slice) {
        Some([only]) => only,
        _ => value,
    };
    let kind = |key: &str| value.get(key).and_then(Value::as_str) == Some("error");
    value.get("error").is_some_and(|e| !e.is_null() && e != "") || kind("type") || kind("object")
}

/// The failure of a JSON document that is neither a reply nor an error as such.
#[must_use]
pub fn no_reply(value: &Value, wanted: &str) -> Failure {
    let spoken = ["message", "detail", "error_code"].iter().any(|key| value.get(key).is_some());
    if spoken {
        return in_stream(&serde_json::json!({"error": value}));
    }
    // Names of fields are no answer, and tell what it is that answers.
    let fields = value.as_object().map(|object| {
        let names: Vec<&str> = object.keys().map(String::as_str).take(8).collect();
        brief(&names.join(", ")).chars().take(100).collect::<String>()
    });
    let holds = match fields.filter(|names| !names.is_empty()) {
        Some(names) => format!(" (its fields: {names})"),
        None => String::new(),
    };
    let message = format!(
        "the server answered with JSON that is not {wanted}{holds}: check `base_url` and `kind`"
    );
    let failure = Failure::of_attempt(FailureClass::ServerError, "200 of another kind", message);
    Failure { scope: Scope::Path, ..failure }
}

/// The failure of a body that is compressed although nothing of the kind was asked for. It is not inflated: a small
/// one may be large, and what it says is not known.
#[must_use]
pub fn compressed(head: &Head, coding: &str) -> Failure {
    let coding = brief(coding);
    if !(200..300).contains(&head.status) {
        let failure = response(head, b"");
        let message = format!("HTTP {} with a body in {coding} that is not read", head.status);
        return Failure { message, ..failure };
    }
    let message = format!(
        "the server sends its answer in {coding}, which was not asked for: a proxy on the way to \
         `base_url` may do it"
    );
    let failure = Failure::of_attempt(FailureClass::ServerError, "compressed answer", message);
    Failure { scope: Scope::Path, ..failure }
}

/// The failure of a stream with an event in it that cannot be read.
#[must_use]
pub fn unreadable_event() -> Failure {
    let message = "the stream holds an event that is not JSON or not UTF-8";
    Failure::of_attempt(FailureClass::StreamInterrupted, "unreadable event", message)
}

/// The failure of a stream that ended before it said how the answer ends.
#[must_use]
pub fn broken_off(events: u64) -> Failure {
    let message = if events == 0 {
        "the stream ended without a single event"
    } else {
        "the stream broke off before the answer was complete"
    };
    let evidence = format!("end of stream after {events} events");
    Failure::of_attempt(FailureClass::StreamInterrupted, evidence, message)
}

/// What a person should read: the provider's own words where it has some.
fn words(head: &Head, said: &body::Said, found: &cause::Found) -> String {
    let kind = head.content_type();
    let own = brief(&said.message);
    if (200..300).contains(&head.status) && !said.shaped {
        let shown = if kind.is_empty() { "something unreadable" } else { &kind };
        let tail = if own.is_empty() { String::new() } else { format!(" ({own})") };
        return format!(
            "the server answered {shown} to a request for events{tail}: check `base_url`"
        );
    }
    let status = said.status;
    match (own.is_empty(), found.class) {
        (true, _) => format!("HTTP {status} without an explanation"),
        (false, FailureClass::BadRequest) if status == 404 => {
            format!("HTTP 404: {own} (nothing is served there: check `base_url`)")
        }
        (false, FailureClass::Auth) if found.evidence == cause::SIGNATURE => {
            format!(
                "HTTP {status}: {own} (check the access keys, the region and this machine's clock)"
            )
        }
        (false, FailureClass::Auth) => format!("HTTP {status}: {own} (check `api_key`)"),
        (false, _) => format!("HTTP {status}: {own}"),
    }
}

/// Words on one line, without control characters, at most 400 characters.
#[must_use]
pub fn brief(text: &str) -> String {
    let mut line = String::new();
    for (count, word) in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|w| !w.is_empty())
        .enumerate()
    {
        if count > 0 {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > MAX_WORDS * 4 {
            break;
        }
    }
    match line.char_indices().nth(MAX_WORDS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
