//! The JSON gate: the value a model's text holds, or a refusal. Wrappings that models put around an answer
//! are taken off (reasoning blocks, code fences, prose, one level of string encoding, a textual tool call);
//! the value itself is never touched. A missing quote, a missing bracket, an unquoted word: each is refused, because
//! a repairer that guesses right nine times invents data the tenth, and the repair turn that follows costs one
//! attempt. What is only misspelt (see [`super::relaxed`]) is read where the whole of it fits.
//!
//! An object that names a key twice is refused too, and so are two different values that both fit: asking
//! again beats choosing.

use serde_json::Value;
use serde_json::error::Category;

use super::relaxed::spelt_right;
use super::strict::Strict;
use crate::domain::failure::FailureClass;

/// Bytes of an answer that is looked at.
pub const MAX_BYTES: usize = 8 << 20;
/// JSON values in one answer before it is taken for a listing and refused.
const MAX_CANDIDATES: usize = 32;
/// Brackets in prose that may turn out to open nothing.
const MAX_FALSE_STARTS: usize = 64;
/// Reasoning blocks in front of an answer.
const MAX_BLOCKS: usize = 16;

/// Why a text holds no answer.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ExtractError {
    /// `EmptyOutput` or `UnparseableOutput`.
    pub class: FailureClass,
    /// What is wrong, for the trace and for the model's repair turn.
    pub message: String,
}

impl ExtractError {
    fn empty(message: &str) -> Self {
        Self { class: FailureClass::EmptyOutput, message: message.to_owned() }
    }

    fn unparseable(message: impl Into<String>) -> Self {
        Self { class: FailureClass::UnparseableOutput, message: message.into() }
    }
}

/// The one JSON value that `text` holds. `fits` tells which of several is meant, and is asked at most twice
/// for each of [`MAX_CANDIDATES`]; a single value is returned whether it fits or not, so that its violations
/// can be named.
///
/// ```
/// use punctual::schema::extract;
/// let text = "<think>{\"a\": 0}?</think>Sure:\n```json\n{\"a\": 1}\n```";
/// assert_eq!(extract(text, |_| true).unwrap(), serde_json::json!({"a": 1}));
/// assert_eq!(extract("{\"a\": 1,}", |_| true).unwrap(), serde_json::json!({"a": 1}));
/// assert!(extract("{\"a\": 1", |_| true).is_err());
/// ```
///
/// # Errors
/// An empty text, no JSON, broken or cut JSON, several values that fit, or more than 8 MiB.
pub fn extract(text: &str, fits: impl Fn(&Value) -> bool) -> Result<Value, ExtractError> {
    if text.len() > MAX_BYTES {
        return Err(ExtractError::unparseable(format!(
            "the answer is {} bytes long; at most {MAX_BYTES} are read",
            text.len()
        )));
    }
    let text = text.trim_start_matches('\u{FEFF}').trim();
    let text = without_reasoning(text)?;
    let whole = match parse(text) {
        Ok(value) => return Ok(unwrapped(value, &fits)),
        Err(error) => error,
    };
    // Some servers swallow the opening tag with the prompt's template and leave the closing one.
    let text = match text.rsplit_once("</think>") {
        Some((_, answer)) if answer.trim().is_empty() => {
            return Err(ExtractError::empty("the answer ends with its reasoning"));
        }
        Some((_, answer)) => answer.trim(),
        None => text,
    };
    let read = |text: &str| choose(scan(text)?, text.contains("<tool_call>"), &fits, &whole);
    let refused = match read(text) {
        Ok(value) if fits(&value) => return Ok(value),
        other => other,
    };
    let spelt = spelt_right(text).and_then(|spelt| read(&spelt).ok());
    spelt.filter(|value| fits(value)).map_or(refused, Ok)
}

/// The text after its leading reasoning blocks.
fn without_reasoning(mut text: &str) -> Result<&str, ExtractError> {
    for _ in 0..MAX_BLOCKS {
        let Some((_, tag)) = [("<think>", "</think>"), ("<thinking>", "</thinking>")]
            .into_iter()
            .find(|(open, _)| text.starts_with(open))
        else {
            break;
        };
        let Some((_, answer)) = text.split_once(tag) else {
            return Err(ExtractError::empty("the answer breaks off inside its reasoning"));
        };
        text = answer.trim_start();
    }
    if text.is_empty() { Err(ExtractError::empty("the answer is empty")) } else { Ok(text) }
}

fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

/// A string that is itself the JSON of an object or array, one level down.
fn unwrapped(value: Value, fits: &impl Fn(&Value) -> bool) -> Value {
    if let Value::String(inner) = &value
        && !fits(&value)
        && let Ok(decoded @ (Value::Object(_) | Value::Array(_))) = parse(inner.trim())
    {
        return decoded;
    }
    value
}

/// Every complete object or array that stands in `text`, outside the others.
fn scan(text: &str) -> Result<Vec<Value>, ExtractError> {
    let mut found = Vec::new();
    let mut false_starts = 0;
    let mut at = 0;
    while let Some(offset) = text[at..].find(['{', '[']) {
        let start = at + offset;
        let rest = &text[start..];
        at = start + 1;
        if !may_open(rest) {
            continue;
        }
        match complete(rest) {
            Start::Value(value, length) => {
                found.push(value);
                at = start + length;
            }
            Start::Broken(Some(length)) => at = start + length,
            Start::Broken(None) if opens_prose(rest) => {}
            Start::Broken(None) | Start::Cut => break,
        }
        false_starts += 1;
        if found.len() > MAX_CANDIDATES || false_starts > MAX_FALSE_STARTS + MAX_CANDIDATES {
            return Err(ExtractError::unparseable("the answer holds too many brackets to tell it"));
        }
    }
    Ok(found)
}

/// What begins at a bracket.
enum Start {
    /// A value of that many bytes.
    Value(Value, usize),
    /// No JSON; where the bracket closes, the bytes up to there.
    Broken(Option<usize>),
    /// JSON that breaks off at the end of the text. Nothing in it is an answer.
    Cut,
}

fn complete(text: &str) -> Start {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Strict>();
    match values.next() {
        Some(Ok(strict)) => Start::Value(strict.0, values.byte_offset()),
        Some(Err(error)) if error.classify() != Category::Eof => Start::Broken(closed(text)),
        Some(Err(_)) | None => Start::Cut,
    }
}

/// Bytes from an opening bracket to the one that closes it, strings left out.
fn closed(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a bracket can open JSON, by what follows it.
fn may_open(text: &str) -> bool {
    let mut bytes = text.bytes();
    let bracket = bytes.next();
    let next = bytes.find(|byte| !byte.is_ascii_whitespace());
    match (bracket, next) {
        (Some(b'{'), Some(next)) => matches!(next, b'"' | b'}'),
        (_, Some(next)) => {
            matches!(next, b'{' | b'[' | b'"' | b']' | b'-' | b't' | b'f' | b'n' | b'0'..=b'9')
        }
        (_, None) => true,
    }
}

/// Whether a bracket that never closes is more likely prose, `[0, 1)`, than a broken answer.
fn opens_prose(text: &str) -> bool {
    let next = text.bytes().skip(1).find(|byte| !byte.is_ascii_whitespace());
    text.starts_with('[') && !matches!(next, Some(b'{' | b'[' | b'"') | None)
}

fn choose(
    found: Vec<Value>,
    is_tool_call: bool,
    fits: &impl Fn(&Value) -> bool,
    whole: &serde_json::Error,
) -> Result<Value, ExtractError> {
    let mut fitting: Vec<Value> = Vec::new();
    let mut others: Vec<Value> = Vec::new();
    for value in found {
        let value = if is_tool_call { arguments(value, fits) } else { value };
        let kept = if fits(&value) { &mut fitting } else { &mut others };
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    match fitting.len() {
        1 => return Ok(fitting.swap_remove(0)),
        0 => {}
        several => {
            return Err(ExtractError::unparseable(format!(
                "the answer holds {several} different JSON values that fit; answer with one"
            )));
        }
    }
    // Citations and examples in prose are rarely objects: a lone object is the answer, to be named wrong.
    let objects = others.iter().filter(|value| value.is_object()).count();
    match others.len() {
        0 => Err(ExtractError::unparseable(not_json(whole))),
        1 => Ok(others.swap_remove(0)),
        _ if objects == 1 => {
            let object = others.into_iter().find(Value::is_object);
            object.ok_or_else(|| ExtractError::unparseable(not_json(whole)))
        }
        several => Err(ExtractError::unparseable(format!(
            "the answer holds {several} JSON values and none of them fits; answer with one"
        ))),
    }
}

/// The payload of a textual tool call, `{"name": …, "arguments": {…}}`, where the call itself does not fit.
fn arguments(value: Value, fits: &impl Fn(&Value) -> bool) -> Value {
    if fits(&value) || value.get("name").is_none() {
        return value;
    }
    match value.get("arguments") {
        Some(object @ Value::Object(_)) => object.clone(),
        Some(Value::String(text)) => parse(text).unwrap_or(value),
        _ => value,
    }
}

fn not_json(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => format!("the answer's JSON breaks off at line {}", error.line()),
        Category::Io | Category::Syntax | Category::Data => {
            format!("the answer is not JSON: {error}")
        }
    }
}
