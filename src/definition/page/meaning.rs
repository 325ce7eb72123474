//! What scalars mean under YAML's core schema (1.2): nothing more is ever guessed.

use serde_json::Value;

use crate::definition::yaml::{Kind, Node, Scalar, Style};

/// What a plain scalar means under YAML's core schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// Nothing, or an explicit null.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number.
    Number(serde_json::Number),
    /// Text.
    Text,
}

/// A scalar's text, cut to what fits a message.
#[must_use]
pub fn shown(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar(scalar) => scalar.text.chars().take(40).collect(),
        Kind::List(_) => "[…]".to_owned(),
        Kind::Map(_) => "{…}".to_owned(),
    }
}

/// Whether nothing was written, or an explicit null.
#[must_use]
pub fn is_null(node: &Node) -> bool {
    matches!(&node.kind, Kind::Scalar(scalar) if scalar.meaning() == Meaning::Null)
}

/// The value as JSON, by YAML's core schema.
#[must_use]
pub fn to_json(node: &Node) -> Value {
    match &node.kind {
        Kind::Scalar(scalar) => match scalar.meaning() {
            Meaning::Null => Value::Null,
            Meaning::Boolean(value) => Value::Bool(value),
            Meaning::Number(number) => Value::Number(number),
            Meaning::Text => Value::String(scalar.text.clone()),
        },
        Kind::List(items) => Value::Array(items.iter().map(to_json).collect()),
        Kind::Map(entries) => {
            Value::Object(entries.iter().map(|(k, v)| (k.name.clone(), to_json(v))).collect())
        }
    }
}

/// How a duration is written that was meant by `text`.
pub(super) fn duration_help(text: &str) -> String {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim().to_ascii_lowercase());
    let unit = match unit.as_str() {
        "" => "",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => "ms",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hour" | "hours" => "h",
        _ => return "as 250ms, 20s, 1.5s or 2m".to_owned(),
    };
    match (number.parse::<f64>(), unit) {
        (Err(_), _) => "as 250ms, 20s, 1.5s or 2m".to_owned(),
        (Ok(_), "") => format!("write {number}s for seconds, {number}ms for milliseconds"),
        (Ok(_), unit) => format!("write {number}{unit}"),
    }
}

/// How a share is written that was meant by `text`.
pub(super) fn share_help(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => {
            format!("write {}%", (share * 1000.0).round() / 10.0)
        }
        Ok(share) if (1.0..=100.0).contains(&share) => format!("write {share}%"),
        _ => "with its sign, as 80%".to_owned(),
    }
}

impl Scalar {
    /// What it means.
    pub(super) fn meaning(&self) -> Meaning {
        if self.style != Style::Plain {
            return Meaning::Text;
        }
        match self.text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
            "true" | "True" | "TRUE" => Meaning::Boolean(true),
            "false" | "False" | "FALSE" => Meaning::Boolean(false),
            text => number(text).map_or(Meaning::Text, Meaning::Number),
        }
    }
}

/// A number of YAML's core schema that JSON can hold.
fn number(text: &str) -> Option<serde_json::Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || !unsigned.contains(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(Into::into);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return u64::from_str_radix(octal, 8).ok().map(Into::into);
    }
    if !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.into());
    }
    text.parse::<f64>().ok().and_then(serde_json::Number::from_f64)
}
