//! A text with the name it is reported under, and where its lines begin: turns bytes into places.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A file's text, as diagnostics quote it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name in diagnostics: relative to the folder, with `/`.
    pub label: String,
    /// The text, without a byte order mark.
    pub text: String,
    /// Where lines begin, once somebody asks: of most prompts nobody does.
    lines: OnceLock<Vec<usize>>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        (&self.label, &self.text) == (&other.label, &other.text)
    }
}

impl Eq for Source {}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// A place in a named file, as people write it: `workflows/triage.yaml:31:7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file's name in diagnostics.
    pub file: Arc<str>,
    /// Where in it.
    pub at: Position,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.at.line, self.at.column)
    }
}

impl Source {
    /// Names a text. A leading byte order mark is dropped.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text: String = text.into();
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        Self { label: label.into(), text, lines: OnceLock::new() }
    }

    fn lines(&self) -> &[usize] {
        let after = |(at, byte): (usize, u8)| (byte == b'\n').then_some(at + 1);
        self.lines.get_or_init(|| {
            let mut lines = Vec::with_capacity(self.text.len() / 32 + 1);
            lines.push(0);
            lines.extend(self.text.bytes().enumerate().filter_map(after));
            lines
        })
    }

    /// The place of a byte. Bytes beyond the end are the end; bytes inside a character are its start.
    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        let byte = self.floor(byte);
        let line = self.line_of(byte);
        let start = self.lines()[line];
        Position { line: line + 1, column: self.text[start..byte].chars().count() + 1 }
    }

    /// The text of the line that holds `byte`, without its end.
    #[must_use]
    pub fn line_at(&self, byte: usize) -> &str {
        let line = self.line_of(self.floor(byte));
        let end = self.lines().get(line + 1).copied().unwrap_or(self.text.len());
        self.text[self.lines()[line]..end].trim_end_matches(['\n', '\r'])
    }

    /// Where the line after the one that holds `byte` begins.
    #[must_use]
    pub(super) fn next_line(&self, byte: usize) -> usize {
        let line = self.line_of(self.floor(byte));
        self.lines().get(line + 1).copied().unwrap_or(self.text.len())
    }

    /// Where the line stands that is `count` lines above the one that holds `byte`.
    #[must_use]
    pub(super) fn lines_before(&self, byte: usize, count: usize) -> usize {
        self.lines()[self.line_of(self.floor(byte)).saturating_sub(count)]
    }

    /// The range, kept inside the text and on whole characters.
    #[must_use]
    pub(super) fn clamp(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.floor(range.start);
        start..self.floor(range.end).max(start)
    }

    fn line_of(&self, byte: usize) -> usize {
        self.lines().partition_point(|start| *start <= byte).saturating_sub(1)
    }

    fn floor(&self, byte: usize) -> usize {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_a_byte_order_mark_is_not_one() {
        let source = Source::new("f", "\u{feff}a: é\r\nb: c\n");
        assert_eq!(source.position(3), Position { line: 1, column: 4 });
        assert_eq!(source.position(5), Position { line: 1, column: 5 });
        assert_eq!(source.line_at(8), "b: c");
        assert_eq!(source.line_at(0), "a: é");
        assert_eq!(source.position(999), Position { line: 3, column: 1 });
    }
}
