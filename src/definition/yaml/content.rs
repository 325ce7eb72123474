//! Where in the file each byte of a scalar's text stands: through quotes, escapes, folds and indentation.

use std::ops::Range;

use crate::definition::source::Source;
use crate::definition::yaml::{Kind, Node, Scalar, Style};

/// Maps bytes of a scalar's text to bytes of the file.
#[derive(Clone, Debug)]
pub struct ContentMap {
    /// Runs of text bytes that stand as they are: `(text, file)`, ascending.
    runs: Vec<(usize, usize)>,
    text_len: usize,
    end: usize,
}

impl ContentMap {
    /// The map of a scalar; of anything else, the place where it starts.
    #[must_use]
    pub fn of(source: &Source, node: &Node) -> Self {
        let Kind::Scalar(scalar) = &node.kind else {
            return Self { runs: vec![(0, node.span.start)], text_len: 0, end: node.span.start };
        };
        let span = source.clamp(&node.span);
        let runs = match scalar.style {
            Style::Literal => literal(source, &span, scalar),
            Style::Folded | Style::Plain => walk(&source.text, span.clone(), scalar),
            Style::Single | Style::Double => {
                let inner = (span.start + 1).min(span.end)..span.end.max(span.start + 1) - 1;
                walk(&source.text, inner, scalar)
            }
        };
        Self { runs, text_len: scalar.text.len(), end: span.end }
    }

    /// The file's bytes for a range of the text. May be empty; never beyond the scalar.
    #[must_use]
    pub fn locate(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.byte(range.start);
        if range.end <= range.start {
            return start..start;
        }
        // The end follows from the last byte, so that it does not jump over an indentation.
        let end = self.byte(range.end - 1) + 1;
        start..end.max(start)
    }

    fn byte(&self, at: usize) -> usize {
        let run = self.runs.partition_point(|(text, _)| *text <= at).checked_sub(1);
        match run.map(|run| self.runs[run]) {
            Some((text, file)) => (file + (at.min(self.text_len) - text)).min(self.end),
            None => self.runs.first().map_or(self.end, |(_, file)| *file),
        }
    }
}

/// A literal block: its lines are the file's lines behind their indentation.
fn literal(source: &Source, span: &Range<usize>, scalar: &Scalar) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    // The parser's span starts at the first line with text; blank lines above it are content too.
    let blank = scalar.text.len() - scalar.text.trim_start_matches('\n').len();
    let mut file = source.lines_before(span.start, blank);
    let mut text = 0;
    for line in scalar.text.split('\n') {
        let written = source.line_at(file);
        let indent = written.len().saturating_sub(line.len());
        runs.push((text, file + indent));
        text += line.len() + 1;
        file = source.next_line(file);
    }
    runs
}

/// Everything else: both texts side by side, a white-space run of the file standing for its fold.
fn walk(file: &str, range: Range<usize>, scalar: &Scalar) -> Vec<(usize, usize)> {
    let written = &file[range.clone()];
    let text = &scalar.text;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    // A block's span starts at its first line with text; its text may start with blank lines.
    let mut at = if written.starts_with(['\n', '\r']) {
        0
    } else {
        text.len() - text.trim_start_matches('\n').len()
    };
    let mut raw = 0;
    while let (Some(c), Some(w)) = (text[at..].chars().next(), written[raw..].chars().next()) {
        let broken = matches!(w, '\n' | '\r');
        if w == '\\' && scalar.style == Style::Double {
            push(&mut runs, at, range.start + raw);
            let (used, made) = escape(&written[raw..]);
            raw += used;
            at += if made { c.len_utf8() } else { 0 };
        } else if c == w && !broken && !fold_ahead(&written[raw..]) {
            push(&mut runs, at, range.start + raw);
            at += c.len_utf8();
            raw += w.len_utf8();
            if w == '\'' && scalar.style == Style::Single && written[raw..].starts_with('\'') {
                raw += 1;
            }
        } else if w.is_whitespace() {
            push(&mut runs, at, range.start + raw);
            raw += blank(&written[raw..]);
            at += blank(&text[at..]);
        } else {
            break;
        }
    }
    if runs.is_empty() {
        runs.push((0, range.start));
    }
    runs
}

fn push(runs: &mut Vec<(usize, usize)>, text: usize, file: usize) {
    match runs.last() {
        Some((t, f)) if text - t == file - f => {}
        _ => runs.push((text, file)),
    }
}

/// Whether only blanks stand before the next line end.
fn fold_ahead(written: &str) -> bool {
    written.trim_start_matches([' ', '\t']).starts_with(['\n', '\r'])
        && written.starts_with([' ', '\t'])
}

fn blank(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\n', '\r']).len()
}

/// Bytes of the escape at the start of `written`, and whether it makes a character.
fn escape(written: &str) -> (usize, bool) {
    let mut chars = written.chars().skip(1);
    match chars.next() {
        Some('x') => (4.min(written.len()), true),
        Some('u') => (6.min(written.len()), true),
        Some('U') => (10.min(written.len()), true),
        Some('\n' | '\r') => (1 + blank(&written[1..]), false),
        Some(c) => (1 + c.len_utf8(), true),
        None => (1, true),
    }
}
