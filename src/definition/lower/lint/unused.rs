//! What is declared and never read, and what is left open: inputs, vars, shapes, `any`.

use crate::definition::lower::lint::Look;
use crate::definition::page::Reader;
use crate::definition::raw::{RawAnswer, RawWorkflow};
use crate::definition::yaml::{Key, Kind, Node};
use crate::domain::finding::Code;

/// The first `any`.
pub const FIRST_ANY: Code = Code("P0807");
/// A constant that nothing reads.
pub const UNUSED_VAR: Code = Code("P0808");
/// A named shape that nothing is of.
pub const UNUSED_SHAPE: Code = Code("P0809");
/// An argument that nothing reads.
pub const UNUSED_INPUT: Code = Code("P0810");

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    let raw = look.subject.raw;
    for key in input_keys(raw) {
        let name = key.name.strip_suffix('?').unwrap_or(&key.name);
        if !is_read(look, "input", name) {
            let message = format!("no step and no output reads `input.{name}`");
            reader
                .warn(UNUSED_INPUT, &key.span, message)
                .help("remove it, or put it where it matters: callers will fill it in for nothing");
        }
    }
    for (key, _) in raw.vars {
        if !is_read(look, "vars", &key.name) {
            let message = format!("nothing reads `vars.{}`", key.name);
            reader.warn(UNUSED_VAR, &key.span, message).help("remove it");
        }
    }
    for (key, _) in raw.shapes {
        let others = raw.shapes.iter().filter(|(other, _)| other.name != key.name);
        let used = others.map(|(_, node)| node).chain(shaped(raw)).any(|n| names(n, &key.name));
        if !used {
            let message = format!("nothing is of the shape '{}'", key.name);
            reader.warn(UNUSED_SHAPE, &key.span, message).help(format!(
                "name it where a shape stands, as output: {}, or remove it",
                key.name
            ));
        }
    }
    let nodes = raw.shapes.iter().map(|(_, node)| node).chain(shaped(raw));
    if let Some(node) = nodes.filter_map(first_any).min_by_key(|node| node.span.start) {
        reader
            .warn(FIRST_ANY, &node.span, "nothing is known of an `any`: no reference below it is checked, and no answer")
            .help("name the fields, as {id: string, text: string}; one that may be missing is `key?:`");
    }
}

fn input_keys<'p>(raw: &RawWorkflow<'p>) -> Vec<&'p Key> {
    match raw.input.map(|node| &node.kind) {
        Some(Kind::Map(entries)) if entries.iter().all(|(key, _)| !key.name.starts_with('$')) => {
            entries.iter().map(|(key, _)| key).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a text reads `root.name`, or all of `root`.
fn is_read(look: &Look<'_>, root: &str, name: &str) -> bool {
    let everything = look.mentions.iter().flatten().chain(&look.output);
    everything
        .into_iter()
        .any(|m| m.name == root && m.path.first().is_none_or(|field| field == name))
}

/// Where shapes stand, beside `shapes`.
fn shaped<'p>(raw: &RawWorkflow<'p>) -> impl Iterator<Item = &'p Node> {
    let answers = raw.steps.iter().filter_map(|step| match &step.answer {
        Some(RawAnswer::Shape(node)) => Some(*node),
        Some(RawAnswer::Schema(_) | RawAnswer::SchemaFile(_)) | None => None,
    });
    raw.input.into_iter().chain(answers)
}

/// Whether a value of the node holds the word.
fn names(node: &Node, word: &str) -> bool {
    match &node.kind {
        Kind::Scalar(scalar) => scalar
            .text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|part| part == word),
        Kind::List(items) => items.iter().any(|item| names(item, word)),
        Kind::Map(entries) => entries.iter().any(|(_, value)| names(value, word)),
    }
}

/// The first shape below the node that leaves it open what it is.
fn first_any(node: &Node) -> Option<&Node> {
    match &node.kind {
        Kind::Scalar(scalar) => {
            let mut parts = scalar.text.split(['|', '[', ']']).map(str::trim);
            parts.any(|part| part == "any").then_some(node)
        }
        Kind::List(items) => items.iter().find_map(first_any),
        Kind::Map(entries) => {
            let mut shapes =
                entries.iter().filter(|(key, _)| !key.name.starts_with('$') || key.name == "$type");
            shapes.find_map(|(_, value)| first_any(value))
        }
    }
}
