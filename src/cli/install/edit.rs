//! What a merge into a client's file comes to, and why one is refused.

use std::ops::Range;

/// A file's text with our entry put in or taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The whole text.
    pub text: String,
    /// What is different.
    pub change: Change,
}

/// What a merge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The entry is new; nothing of the former text is gone.
    Added,
    /// The entry was there with other values.
    Updated,
    /// The entry is taken out.
    Removed,
    /// All is as wanted already.
    Nothing,
}

/// Why a file is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where in the text, in bytes; `None` for the whole of it.
    pub at: Option<usize>,
    /// What is wrong and what to do.
    pub what: String,
}

impl Problem {
    /// A problem at a byte of the text.
    pub fn at(at: usize, what: impl Into<String>) -> Self {
        Self { at: Some(at), what: what.into() }
    }

    /// A problem of the whole text.
    pub fn whole(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into() }
    }

    /// `:LINE:COL` in `text`, both from 1, columns in characters; empty for the whole.
    pub fn place(&self, text: &str) -> String {
        let Some(at) = self.at else { return String::new() };
        let before = text.get(..at.min(text.len())).unwrap_or(text);
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        format!(":{line}:{column}")
    }
}

/// `text` with `range` replaced.
pub fn spliced(text: &str, range: Range<usize>, new: &str) -> String {
    let (before, after) = (text.get(..range.start), text.get(range.end..));
    [before.unwrap_or(text), new, after.unwrap_or("")].concat()
}

/// Whether all bytes of the former text are in the new one, in their order.
pub fn keeps_all(former: &str, new: &str) -> bool {
    let mut bytes = new.bytes();
    former.bytes().all(|byte| bytes.any(|other| other == byte))
}

/// The line end that a text uses; `\n` where it has none.
pub fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

/// Where the line that holds `at` begins.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The white space that the line of `at` begins with.
pub fn indentation(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether the line of `at` holds nothing but white space before it.
pub fn begins_line(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].chars().all(|c| matches!(c, ' ' | '\t' | '\u{feff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let place = |text: &str, at| Problem::at(at, "").place(text);
        assert_eq!(place("a\r\né x", 6), ":2:3");
        assert_eq!(place("\u{feff}x", 3), ":1:1");
        assert_eq!(place("", 9), ":1:1");
        assert_eq!(Problem::whole("").place("x"), "");
    }
}
