//! YAML events → a tree that knows where everything stands.
//!
//! An own tree, because diagnostics need the style of scalars, the place of every key and value, and all
//! problems of a file in one pass; deserializers stop at the first and lose places in maps and alternatives.

use std::ops::Range;

use granit_parser::{Options, Parser};

use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::source::Source;
use crate::domain::finding::Code;

pub mod advice;
mod build;
mod content;
#[cfg(test)]
mod tests;

use build::Builder;
pub use content::ContentMap;

/// Deepest nesting of a file.
pub const NESTING_LIMIT: usize = 64;
/// Most nodes of a file, with aliases expanded.
pub const NODE_LIMIT: usize = 200_000;

/// Most problems that are reported of one file: who made more has made one many times.
pub const PROBLEM_LIMIT: usize = 100;

/// Not YAML.
pub const SYNTAX: Code = Code("P0101");
/// A key that stands twice.
pub const DUPLICATE_KEY: Code = Code("P0102");
/// YAML that this format does without: tags, merges, several documents, keys that are no text.
pub const REFUSED_YAML: Code = Code("P0103");
/// A file that nests deeper than [`NESTING_LIMIT`].
pub const TOO_DEEP: Code = Code("P0610");
/// A file of more than [`NODE_LIMIT`] values.
pub const TOO_MANY_VALUES: Code = Code("P0611");
/// A file of more than [`PROBLEM_LIMIT`] problems.
pub const TOO_MANY_PROBLEMS: Code = Code("P0614");

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Bytes of the file. Quotes and block headers are part of a scalar's span.
    pub span: Range<usize>,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file, every key once.
    Map(Vec<(Key, Node)>),
}

/// A single value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// The text, with quotes, escapes and indentation removed.
    pub text: String,
    /// How it was written.
    pub style: Style,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Bare.
    Plain,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The key.
    pub name: String,
    /// Bytes of the file.
    pub span: Range<usize>,
}

impl Node {
    /// The place of `byte` in the tree, as a JSON pointer: the innermost value whose key or span holds it.
    #[must_use]
    pub fn pointer_at(&self, byte: usize) -> String {
        let mut pointer = String::new();
        let mut node = self;
        for _ in 0..=NESTING_LIMIT {
            let next = match &node.kind {
                Kind::Scalar(_) => None,
                Kind::List(items) => items
                    .iter()
                    .enumerate()
                    .find(|(_, item)| covers(&item.span, byte))
                    .map(|(at, item)| (at.to_string(), item)),
                Kind::Map(entries) => entries
                    .iter()
                    .find(|(key, value)| covers(&key.span, byte) || covers(&value.span, byte))
                    .map(|(key, value)| (escape(&key.name), value)),
            };
            let Some((segment, inner)) = next else { break };
            pointer.push('/');
            pointer.push_str(&segment);
            node = inner;
        }
        pointer
    }

    /// The value a JSON pointer names.
    #[must_use]
    pub fn at_pointer(&self, pointer: &str) -> Option<&Self> {
        pointer.split('/').skip(1).try_fold(self, |node, segment| {
            let name = segment.replace("~1", "/").replace("~0", "~");
            match &node.kind {
                Kind::Scalar(_) => None,
                Kind::List(items) => items.get(name.parse::<usize>().ok()?),
                Kind::Map(entries) => {
                    entries.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
                }
            }
        })
    }
}

fn covers(span: &Range<usize>, byte: usize) -> bool {
    span.contains(&byte) || (span.is_empty() && span.start == byte)
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Reads one document. The tree is `None` where the text is not YAML; problems that leave a tree (duplicate
/// keys, tags) are collected beside it. Never panics.
#[must_use]
pub fn parse(source: &Source) -> (Option<Node>, Vec<Diagnostic>) {
    let mut builder = Builder::new(source);
    if let Some(at) = source.text.find('\0') {
        builder
            .report(SYNTAX, at..at + 1, "the file holds a NUL byte, which is not text")
            .help("a definition is UTF-8 text: check which file this is");
        return (None, builder.diagnostics);
    }
    let mut options = Options::default();
    options.emit_comments = false;
    // The parser's own limits are looser than ours; its errors would not name ours.
    options.simple_key_max_lookahead = 4096;
    for next in Parser::new_from_str_with_options(&source.text, options) {
        match next {
            Ok((event, span)) => {
                if !builder.take(event, span) {
                    break;
                }
            }
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(0);
                let at = advice::tab(source, at, &error.info()).unwrap_or(at);
                let message = format!("not valid YAML: {}", error.info());
                let found = builder.report(SYNTAX, at..at + 1, message);
                if let Some(help) = advice::on_syntax(source, at, &error.info()) {
                    found.help(help);
                }
                return (None, builder.diagnostics);
            }
        }
    }
    let Builder { root, diagnostics, failed, .. } = builder;
    (if failed { None } else { root }, diagnostics)
}

/// What stands in for the problems beyond [`PROBLEM_LIMIT`].
#[must_use]
pub fn too_many_problems(source: &Source) -> Diagnostic {
    let message = format!("the file has more than {PROBLEM_LIMIT} problems; these are the first");
    let mut found = Diagnostic::at(Severity::Error, TOO_MANY_PROBLEMS, source, &(0..0), message);
    // It is of no line in particular, but editors show nothing without a place.
    found.source_line = None;
    found.help("so many have one cause, as a rule: mend the first, and check again");
    found
}
