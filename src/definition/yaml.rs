//! YAML events → a tree that knows where everything stands.
//!
//! An own tree, because diagnostics need the style of scalars, the place of every key and value, and all
//! problems of a file in one pass; deserializers stop at the first and lose places in maps and alternatives.

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span};

use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::source::Source;
use crate::domain::finding::Code;

mod content;
#[cfg(test)]
mod tests;

pub use content::ContentMap;

/// Deepest nesting of a file.
pub const NESTING_LIMIT: usize = 64;
/// Most nodes of a file, with aliases expanded.
pub const NODE_LIMIT: usize = 200_000;

/// Not YAML.
pub const SYNTAX: Code = Code("P0101");
/// A key that stands twice.
pub const DUPLICATE_KEY: Code = Code("P0102");
/// YAML that this format does without: tags, merges, several documents, keys that are no text.
pub const REFUSED_YAML: Code = Code("P0103");
/// A file beyond the limits of nesting or size.
pub const TOO_LARGE: Code = Code("P0602");

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
        builder.report(SYNTAX, at..at + 1, "the file holds a NUL byte, which is not text");
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
                let message = format!("not valid YAML: {}", error.info());
                let found = builder.report(SYNTAX, at..at + 1, message);
                if let Some(help) = syntax_help(source, at) {
                    found.help(help);
                }
                return (None, builder.diagnostics);
            }
        }
    }
    let Builder { root, diagnostics, failed, .. } = builder;
    (if failed { None } else { root }, diagnostics)
}

fn syntax_help(source: &Source, at: usize) -> Option<String> {
    let line = source.line_at(at);
    if line.trim_start_matches(' ').starts_with('\t') {
        return Some("indent with spaces; YAML allows no tabs there".to_owned());
    }
    line.split_once(": ")
        .is_some_and(|(_, value)| value.contains(": "))
        .then(|| "quote the value, or write it as a block (`|`): it contains ': '".to_owned())
}

/// A collection under construction.
enum Frame {
    List { node: Node, anchor: usize },
    Map { node: Node, anchor: usize, key: Option<Option<Key>> },
}

struct Builder<'a> {
    source: &'a Source,
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, (Node, usize)>,
    nodes: usize,
    documents: usize,
    root: Option<Node>,
    failed: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Builder<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            source,
            frames: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            documents: 0,
            root: None,
            failed: false,
            diagnostics: Vec::new(),
        }
    }

    fn report(
        &mut self,
        code: Code,
        range: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let found = Diagnostic::at(Severity::Error, code, self.source, &range, message);
        self.diagnostics.push(found);
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// Takes one event in. `false` ends the reading.
    fn take(&mut self, event: Event<'_>, span: Span) -> bool {
        let range = span.byte_range().unwrap_or(0..0);
        if let Some(tag) = event.tag() {
            let start = span.tag_start().and_then(|m| m.byte_offset()).unwrap_or(range.start);
            let message = format!("the tag '{tag}' is not part of the format");
            self.report(REFUSED_YAML, start..range.start.max(start + 1), message)
                .help("remove it; the value's own form decides its type");
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.report(REFUSED_YAML, range, "the file holds more than one document")
                        .help("one file is one definition: remove the `---`, or split the file");
                    return false;
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                let scalar = Scalar { text: text.into_owned(), style: Style::of(style) };
                return self.complete(Node { span: range, kind: Kind::Scalar(scalar) }, anchor, 1);
            }
            Event::SequenceStart(_, anchor, _) => {
                let node = Node { span: range, kind: Kind::List(Vec::new()) };
                return self.open(Frame::List { node, anchor });
            }
            Event::MappingStart(_, anchor, _) => {
                let node = Node { span: range, kind: Kind::Map(Vec::new()) };
                return self.open(Frame::Map { node, anchor, key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(&range),
            Event::Alias(anchor) => return self.alias(anchor, range),
            _ => {}
        }
        true
    }

    fn open(&mut self, frame: Frame) -> bool {
        if self.frames.len() >= NESTING_LIMIT {
            let span = match &frame {
                Frame::List { node, .. } | Frame::Map { node, .. } => node.span.clone(),
            };
            let message = format!("nested deeper than {NESTING_LIMIT} levels");
            self.report(TOO_LARGE, span, message).help("name inner shapes under `shapes`");
            self.failed = true;
            return false;
        }
        self.frames.push(frame);
        true
    }

    fn close(&mut self, end: &Range<usize>) -> bool {
        let Some(frame) = self.frames.pop() else { return true };
        let (mut node, anchor) = match frame {
            Frame::List { node, anchor } | Frame::Map { node, anchor, .. } => (node, anchor),
        };
        node.span.end = end.end.max(node.span.end);
        // A block collection ends where its last value does, not at the next token.
        let last = match &node.kind {
            Kind::List(items) => items.last().map(|n| n.span.end),
            Kind::Map(entries) => entries.last().map(|(_, n)| n.span.end),
            Kind::Scalar(_) => None,
        };
        let flow = self.source.text.as_bytes().get(node.span.start);
        if let (Some(last), false) = (last, matches!(flow, Some(b'{' | b'['))) {
            node.span.end = last.max(node.span.start);
        }
        let size = 1;
        self.complete(node, anchor, size)
    }

    fn alias(&mut self, anchor: usize, range: Range<usize>) -> bool {
        let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
            self.report(REFUSED_YAML, range, "an anchor may not stand inside itself");
            self.failed = true;
            return false;
        };
        if self.frames.len() + depth(&node) > NESTING_LIMIT {
            let message = format!("nested deeper than {NESTING_LIMIT} levels, aliases included");
            self.report(TOO_LARGE, range, message);
            self.failed = true;
            return false;
        }
        self.complete(node, 0, size)
    }

    /// Puts a complete value in its place. `size` is how many nodes it adds.
    fn complete(&mut self, node: Node, anchor: usize, size: usize) -> bool {
        self.nodes += size;
        if self.nodes > NODE_LIMIT {
            let message = format!("more than {NODE_LIMIT} values, aliases included");
            self.report(TOO_LARGE, node.span.clone(), message);
            self.failed = true;
            return false;
        }
        if anchor > 0 {
            let size = count(&node);
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { node: list, .. }) => {
                if let Kind::List(items) = &mut list.kind {
                    items.push(node);
                }
            }
            Some(Frame::Map { key, .. }) => match key.take() {
                None => {
                    let taken = self.key(&node);
                    if let Some(Frame::Map { key, .. }) = self.frames.last_mut() {
                        *key = Some(taken);
                    }
                }
                Some(None) => {}
                Some(Some(key)) => self.entry(key, node),
            },
        }
        true
    }

    /// What a mapping's key says; `None` drops the entry, its problem reported.
    fn key(&mut self, node: &Node) -> Option<Key> {
        let Kind::Scalar(scalar) = &node.kind else {
            self.report(REFUSED_YAML, node.span.clone(), "a key must be text")
                .help("a template in a value must be quoted or written as a block (`|`)");
            return None;
        };
        if scalar.text == "<<" && scalar.style == Style::Plain {
            self.report(
                REFUSED_YAML,
                node.span.clone(),
                "merges (`<<`) are not part of the format",
            )
            .help("use `defaults`, or a plain alias for a whole value");
            return None;
        }
        Some(Key { name: scalar.text.clone(), span: node.span.clone() })
    }

    fn entry(&mut self, key: Key, value: Node) {
        let Some(Frame::Map { node: map, .. }) = self.frames.last_mut() else { return };
        let Kind::Map(entries) = &mut map.kind else { return };
        if let Some((first, _)) = entries.iter().find(|(k, _)| k.name == key.name) {
            let line = self.source.position(first.span.start).line;
            let message =
                format!("the key '{}' stands twice; the first is in line {line}", key.name);
            self.report(DUPLICATE_KEY, key.span, message).help("remove one of them");
            return;
        }
        entries.push((key, value));
    }
}

impl Style {
    const fn of(style: ScalarStyle) -> Self {
        match style {
            ScalarStyle::Plain => Self::Plain,
            ScalarStyle::SingleQuoted => Self::Single,
            ScalarStyle::DoubleQuoted => Self::Double,
            ScalarStyle::Literal => Self::Literal,
            ScalarStyle::Folded => Self::Folded,
        }
    }
}

fn depth(node: &Node) -> usize {
    match &node.kind {
        Kind::Scalar(_) => 0,
        Kind::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Kind::Map(entries) => 1 + entries.iter().map(|(_, n)| depth(n)).max().unwrap_or(0),
    }
}

fn count(node: &Node) -> usize {
    match &node.kind {
        Kind::Scalar(_) => 1,
        Kind::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Kind::Map(entries) => 1 + entries.iter().map(|(_, n)| count(n)).sum::<usize>(),
    }
}
