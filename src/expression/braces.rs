//! Braces of prompts around an expression: what to write instead.
use crate::domain::finding::Finding;

use super::code;

/// The finding for a text in the braces of another language; `None` where it has none.
pub fn braces(source: &str) -> Option<Finding> {
    let text = source.trim();
    let (open, close) = [("${{", "}}"), ("{{", "}}"), ("${", "}"), ("{%", "%}")]
        .into_iter()
        .find(|(open, _)| text.starts_with(open))?;
    let start = source.find(open)?;
    let inner = text.strip_prefix(open)?.trim_end_matches(close).trim();
    let help = if inner.is_empty() || inner.len() > 80 || inner.contains(['{', '}']) {
        "an expression stands bare, as plan.questions".to_owned()
    } else {
        format!("an expression stands bare: {inner}")
    };
    Some(Finding {
        code: code::SYNTAX,
        range: start..start + open.len(),
        message: format!("`{open}` belongs to prompts, and this is an expression"),
        help: Some(help),
    })
}
