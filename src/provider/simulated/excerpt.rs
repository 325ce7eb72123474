//! What a prompt offers to answer with: its sentences and its ids. Made-up answers quote the caller's own
//! document, so that a reader sees at once what they are made of.

use crate::domain::message::{Prompt, Speaker};
use crate::resume::OPENING;

/// Characters of a prompt that are looked at.
const MAX_CHARS: usize = 40_000;
/// Sentences and ids kept.
const MAX_KEPT: usize = 64;
/// A line that is shorter is a heading or a field's name.
const SHORTEST: usize = 25;

/// The quotable parts of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// Sentences of the document, in order; never empty.
    pub sentences: Vec<String>,
    /// Words that look like ids, in order, each once.
    pub ids: Vec<String>,
    /// The text they were taken from.
    pub text: String,
    /// Differs where the text differs.
    pub hash: u64,
}

impl Excerpt {
    /// Reads the longest of the workflow's turns: repairs and resumptions are short, the document is long.
    pub fn of(prompt: &Prompt) -> Self {
        let turns = prompt.messages.iter().filter(|message| message.speaker == Speaker::User);
        let asked = |text| str::split(text, OPENING).next().unwrap_or_default().trim_end();
        let text = turns.map(|message| asked(&message.text)).max_by_key(|text| text.len());
        let text: String = text.unwrap_or_default().chars().take(MAX_CHARS).collect();
        let mut sentences = sentences(document(&text));
        if sentences.is_empty() {
            sentences = self::sentences(&text);
        }
        if sentences.is_empty() {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            sentences.push(line.unwrap_or("The prompt is empty.").to_owned());
        }
        let hash = hash(text.as_bytes());
        Self { sentences, ids: ids(&text), text, hash }
    }

    /// A sentence for the `nth` text of an answer.
    pub fn sentence(&self, nth: usize) -> &str {
        self.sentences.get(nth % self.sentences.len().max(1)).map_or("", String::as_str)
    }
}

/// FNV-1a.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// The last character boundary at or before byte `at`.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What follows the instructions: the text behind the first paragraph that ends in a colon, or behind the
/// first paragraph.
fn document(text: &str) -> &str {
    let mut from = 0;
    for paragraph in text.split_inclusive("\n\n") {
        from += paragraph.len();
        if paragraph.trim_end().ends_with(':') {
            return text.get(from..).unwrap_or_default();
        }
    }
    text.split_once("\n\n").map_or(text, |(_, rest)| rest)
}

fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in text.split("\n\n") {
        // Hard-wrapped prose flows; list items and fields stand alone.
        let mut flow = String::new();
        for line in paragraph.lines().map(str::trim) {
            // JSON and YAML data: its strings.
            if line.starts_with(['{', '[', '"']) || line.contains("\": \"") {
                cut(&std::mem::take(&mut flow), &mut found);
                line.split('"')
                    .filter(|part| part.contains(' '))
                    .for_each(|part| cut(part, &mut found));
                continue;
            }
            let starts_anew = line.starts_with(['-', '*', '#', '>', '|']);
            if starts_anew || flow.is_empty() || flow.ends_with(['.', ':', '?', '!']) {
                cut(&flow, &mut found);
                flow.clear();
            } else {
                flow.push(' ');
            }
            flow.push_str(line);
        }
        cut(&flow, &mut found);
        if found.len() >= MAX_KEPT {
            found.truncate(MAX_KEPT);
            break;
        }
    }
    found
}

/// Adds the sentences of running text.
fn cut(text: &str, found: &mut Vec<String>) {
    let mut start = 0;
    let mut ends: Vec<usize> = text
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '?' | '!'))
        .map(|(at, _)| at + 1)
        .filter(|end| text[*end..].starts_with(' '))
        .collect();
    ends.push(text.len());
    for end in ends {
        let sentence = text[start..end].trim().trim_start_matches(['-', '*', '#', '>', ' ']);
        let readable = !sentence.contains(['{', '}', '`', '<']) && !sentence.ends_with(':');
        if sentence.chars().count() >= SHORTEST && readable {
            found.push(sentence.to_owned());
        }
        start = end;
    }
}

/// Words such as `T-1042`, `q1`, `KB_7`: letters and digits together.
fn ids(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    for word in words.map(|word| word.trim_matches(['-', '_'])) {
        let is_id = (2..=40).contains(&word.len())
            && word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.contains(|c: char| c.is_ascii_digit());
        if is_id && !found.iter().any(|id| id == word) {
            found.push(word.to_owned());
            if found.len() == MAX_KEPT {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::Message;

    #[test]
    fn the_document_is_quoted_and_the_instructions_are_not() {
        let text = "Summarise this in at most five bullets for a busy reader:\n\n\
                    Order T-1042 was sent on Monday. It came back on\nFriday, unopened and damaged!\n\n\
                    - The customer asks for a refund. See KB_7.\n{\"id\": \"KB-9\", \"text\": \"Refunds are paid within 30 days.\"}";
        let prompt = Prompt {
            system: None,
            messages: vec![Message::user(text), Message::user("Repair it.")],
        };
        let excerpt = Excerpt::of(&prompt);
        assert_eq!(
            excerpt.sentences,
            [
                "Order T-1042 was sent on Monday.",
                "It came back on Friday, unopened and damaged!",
                "The customer asks for a refund.",
                "Refunds are paid within 30 days.",
            ]
        );
        assert_eq!(excerpt.ids, ["T-1042", "KB_7", "KB-9"]);
    }

    #[test]
    fn a_prompt_without_prose_still_offers_something() {
        for (text, expected) in [("", "The prompt is empty."), ("hi", "hi"), ("\n\n a\nb", "a")] {
            let prompt = Prompt { system: None, messages: vec![Message::user(text)] };
            assert_eq!(Excerpt::of(&prompt).sentences, [expected], "{text:?}");
        }
    }
}
