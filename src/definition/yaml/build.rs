//! Parser events → nodes, with the format's refusals and limits on the way.

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span};

use crate::definition::case::workflow_of;
use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::source::Source;
use crate::definition::yaml::advice::{BLOCK_ENDED, has_left_block};
use crate::definition::yaml::{
    DUPLICATE_KEY, Key, Kind, NESTING_LIMIT, NODE_LIMIT, Node, PROBLEM_LIMIT, REFUSED_YAML, Scalar,
    Style, TOO_DEEP, TOO_MANY_VALUES, too_many_problems,
};
use crate::domain::finding::Code;

/// What to do about too many values.
const ALIASES: &str =
    "an alias counts as all that it stands for: write shared settings once, under `defaults`";

/// So many keys of a mapping are compared one by one; those behind them are looked up.
const FEW: usize = 32;

/// Whether a mapping's next value is a key.
enum Pending {
    Nothing,
    /// A key that was refused: its value is dropped.
    Refused,
    Key(Key),
}

/// A collection under construction.
enum Frame {
    List { node: Node, anchor: usize },
    Map { node: Node, anchor: usize, key: Pending, seen: BTreeMap<String, usize> },
}

pub struct Builder<'a> {
    source: &'a Source,
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, (Node, usize)>,
    nodes: usize,
    anchored: usize,
    documents: usize,
    pub root: Option<Node>,
    pub failed: bool,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Builder<'a> {
    pub fn new(source: &'a Source) -> Self {
        Self {
            source,
            frames: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            anchored: 0,
            documents: 0,
            root: None,
            failed: false,
            diagnostics: Vec::new(),
        }
    }

    pub fn report(
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
    pub fn take(&mut self, event: Event<'_>, span: Span) -> bool {
        if self.diagnostics.len() >= PROBLEM_LIMIT {
            self.diagnostics.push(too_many_problems(self.source));
            self.failed = true;
            return false;
        }
        let range = span.byte_range().unwrap_or(0..0);
        if let Some(tag) = event.tag() {
            let start = span.tag_start().and_then(|m| m.byte_offset()).unwrap_or(range.start);
            let tag = tag.to_string();
            let tag = match tag.strip_prefix("tag:yaml.org,2002:") {
                Some(name) => format!("!!{name}"),
                None => tag,
            };
            let help = if tag.starts_with("!!") {
                "remove it; the value's own form decides its type"
            } else {
                "YAML takes a leading `!` as a tag: write `not` in an expression, and put a text in quotes"
            };
            let message = format!("the tag '{tag}' is not part of the format");
            self.report(REFUSED_YAML, start..range.start.max(start + 1), message).help(help);
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
                return self.open(Frame::Map {
                    node,
                    anchor,
                    key: Pending::Nothing,
                    seen: BTreeMap::new(),
                });
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
            self.report(TOO_DEEP, span, message).help("name inner shapes under `shapes`");
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
            self.report(REFUSED_YAML, range, "an anchor may not stand inside itself")
                .help("write the inner value out");
            self.failed = true;
            return false;
        };
        if self.frames.len() + depth(&node) > NESTING_LIMIT {
            let message = format!("nested deeper than {NESTING_LIMIT} levels, aliases included");
            self.report(TOO_DEEP, range, message).help("write the value out where it is needed");
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
            self.report(TOO_MANY_VALUES, node.span.clone(), message).help(ALIASES);
            self.failed = true;
            return false;
        }
        if anchor > 0 {
            // Anchors inside anchors are kept once each: their sum is bounded too.
            let size = count(&node);
            self.anchored += size;
            if self.anchored > NODE_LIMIT {
                let message = format!("more than {NODE_LIMIT} values under anchors");
                self.report(TOO_MANY_VALUES, node.span.clone(), message).help(ALIASES);
                self.failed = true;
                return false;
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { node: list, .. }) => {
                if let Kind::List(items) = &mut list.kind {
                    items.push(node);
                }
            }
            Some(Frame::Map { key, .. }) => match std::mem::replace(key, Pending::Nothing) {
                Pending::Nothing => {
                    let taken = self.key(node);
                    if let Some(Frame::Map { key, .. }) = self.frames.last_mut() {
                        *key = taken.map_or(Pending::Refused, Pending::Key);
                    }
                }
                Pending::Refused => {}
                Pending::Key(key) => self.entry(key, node),
            },
        }
        true
    }

    /// What a mapping's key says; `None` drops the entry, its problem reported.
    fn key(&mut self, node: Node) -> Option<Key> {
        let Kind::Scalar(scalar) = node.kind else {
            let help = if has_left_block(self.source, node.span.start) {
                BLOCK_ENDED
            } else {
                "a prompt that starts with {{ is quoted or written as a block (`|`); an expression stands bare"
            };
            self.report(REFUSED_YAML, node.span, "a key must be text").help(help);
            return None;
        };
        if scalar.text == "<<" && scalar.style == Style::Plain {
            let file = self.source.label.rsplit('/').next().unwrap_or_default();
            let help = if workflow_of(file).is_some() {
                "one alias a step: `answers: {sort: *sorted, reply: *replied}`, or an alias for all of `answers`"
            } else {
                "use `defaults`, or a plain alias for a whole value"
            };
            self.report(REFUSED_YAML, node.span, "merges (`<<`) are not part of the format")
                .help(help);
            return None;
        }
        Some(Key { name: scalar.text, span: node.span })
    }

    fn entry(&mut self, key: Key, value: Node) {
        let Some(Frame::Map { node: map, seen, .. }) = self.frames.last_mut() else { return };
        let Kind::Map(entries) = &mut map.kind else { return };
        let few = entries.iter().take(FEW).find(|(known, _)| known.name == key.name);
        let first = few.map(|(known, _)| known.span.start).or(seen.get(&key.name).copied());
        if let Some(first) = first {
            let line = self.source.position(first).line;
            let message =
                format!("the key '{}' stands twice; the first is in line {line}", key.name);
            self.report(DUPLICATE_KEY, key.span, message).help("remove one of them");
            return;
        }
        if entries.len() >= FEW {
            seen.insert(key.name.clone(), key.span.start);
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
