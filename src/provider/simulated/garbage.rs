//! Invalid answers of the kinds models give: JSON that breaks off, prose without any, JSON of another shape.
//! What the gates behind a provider refuse is produced here for real, not marked as refused.

use serde_json::{Value, json};

use super::excerpt::boundary;
use crate::schema::{Schema, extract};

const PROSE: &str = "I have read the text carefully. There are several points to consider, and the answer \
                     depends on which of them matters most to you. Please let me know how to proceed.";

/// An answer that does not fit, made from one that would. `share`, 0 to 1, chooses the kind and the place.
pub(super) fn garbage(text: &str, schema: Option<&Value>, share: f64) -> String {
    // Text without a schema fails only by being empty.
    let Some(schema) = schema else { return String::new() };
    match share {
        share if share < 0.5 => truncated(text, 0.3 + share),
        share if share < 0.7 => PROSE.to_owned(),
        _ => misshapen(text, schema).unwrap_or_else(|| truncated(text, 0.5)),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a text's length, clamped to it"
)]
fn truncated(text: &str, share: f64) -> String {
    let last = text.len().saturating_sub(1);
    let end = ((text.len() as f64 * share) as usize).clamp(1.min(last), last);
    text[..boundary(text, end)].to_owned()
}

/// The answer under one key more, or with one field less, where the schema refuses that.
fn misshapen(text: &str, schema: &Value) -> Option<String> {
    let value = extract(text, |_| true).ok()?;
    let compiled = Schema::compile(schema.clone()).ok()?;
    let mut shorter = value.clone();
    if let Value::Object(map) = &mut shorter
        && let Some(last) = map.keys().next_back().cloned()
    {
        map.shift_remove(&last);
    }
    [json!({ "result": value }), shorter]
        .into_iter()
        .find(|value| !compiled.accepts(value))
        .map(|value| value.to_string())
}
