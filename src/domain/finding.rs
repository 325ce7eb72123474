//! What a check found in a piece of text: a code, a place inside that text, words, and what to try.
//!
//! Rooms that check expressions, templates and shapes return findings about the text they were given; the
//! definition room maps them into the file and prints them. Codes are stable: P01 YAML and keys, P02
//! references, P03 shapes and schemas, P04 the graph, P05 configuration and models, P06 files and limits,
//! P08 advice on structure, P09 not yet supported.

use std::fmt;
use std::ops::Range;

/// A stable diagnostic code, `P0207`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One problem in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its stable code.
    pub code: Code,
    /// Where, as bytes of the text that was checked. Never splits a character; may be empty.
    pub range: Range<usize>,
    /// What is wrong: one sentence, lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// The closest of `candidates` to `word`, where one is close enough to be what was meant.
///
/// Jaro–Winkler similarity of at least 0.8, or the same letters in another case.
#[must_use]
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| {
            let score =
                if c.eq_ignore_ascii_case(word) { 1.0 } else { strsim::jaro_winkler(word, c) };
            (score, c)
        })
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}
