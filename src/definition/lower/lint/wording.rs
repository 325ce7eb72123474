//! Prompts that repeat what the schema says.

use std::ops::Range;

use crate::definition::lower::draft::Draft;
use crate::definition::lower::lint::{Look, warn_in};
use crate::definition::page::Reader;
use crate::domain::finding::{Code, Finding};
use crate::domain::shape::Shape;
use crate::workflow::Answer;

/// A prompt that asks for what `output` declares.
pub const REPEATED_SCHEMA: Code = Code("P0806");

/// Words that ask for an answer of a form.
const VERBS: [&str; 9] =
    ["return", "respond", "reply", "answer", "output", "produce", "write", "give", "emit"];
/// Words before such a word that leave it a verb; after others it may be a noun: "the answer as JSON".
const BEFORE: [&str; 14] = [
    "please", "only", "must", "should", "and", "then", "always", "to", "you", "just", "will",
    "also", "now", "finally",
];
/// Words between it and `JSON`.
const BETWEEN: [&str; 28] = [
    "only", "just", "in", "with", "as", "using", "a", "an", "the", "valid", "strict", "pure",
    "raw", "single", "your", "answer", "answers", "reply", "response", "result", "results", "it",
    "them", "one", "me", "back", "of", "nothing",
];
/// Most of those.
const BETWEEN_LIMIT: usize = 6;
/// Longest quote in a message, in characters.
const QUOTED: usize = 60;

pub fn lint(reader: &mut Reader<'_>, look: &Look<'_>) {
    for ix in look.asked() {
        let draft = look.draft(ix);
        if matches!(draft.expected.answer, Answer::Text) {
            continue;
        }
        let told = [&draft.prompt, &draft.system].into_iter().flatten().find_map(|text| {
            let source = text.body.source();
            let said = demand(source).map(|range| (quoted(&source[range.clone()]), range));
            Some((text, said.or_else(|| skeleton(source, draft))?))
        });
        let Some((text, (said, range))) = told else { continue };
        let message =
            format!("step '{}': the prompt {said}, which `output` says already", draft.name());
        let help = "leave it out: the schema goes along with every request, and the answer is held to it; what a field means is best said in its `$about`";
        let finding =
            Finding { code: REPEATED_SCHEMA, range, message, help: Some(help.to_owned()) };
        warn_in(reader, &finding, text.origin);
    }
}

fn quoted(text: &str) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = text.chars().take(QUOTED).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("says \"{short}{more}\"")
}

/// "Return only valid JSON" and the like.
fn demand(source: &str) -> Option<Range<usize>> {
    // Most prompts do not, and need not be taken apart.
    let named = |(at, _): (usize, &str)| {
        source.as_bytes()[at..].get(..4).is_some_and(|word| word.eq_ignore_ascii_case(b"json"))
    };
    if !source.match_indices('j').chain(source.match_indices('J')).any(named) {
        return None;
    }
    let words = words(source);
    let word = |at: usize| words.get(at).map(|range| source[range.clone()].to_ascii_lowercase());
    let gap =
        |at: usize| words.get(at).zip(words.get(at + 1)).map(|(a, b)| &source[a.end..b.start]);
    let is = |list: &[&str], at: usize| word(at).is_some_and(|word| list.contains(&word.as_str()));
    let verb = |at: usize| {
        let first =
            at == 0 || gap(at - 1).is_some_and(|gap| gap.contains(ENDS) || gap.contains('\n'));
        is(&VERBS, at) && (first || is(&BEFORE, at - 1))
    };
    let json = |verb: usize| {
        for at in verb + 1..=verb + 1 + BETWEEN_LIMIT {
            if gap(at - 1).is_none_or(|gap| gap.contains(ENDS) || gap.contains("\n\n")) {
                return None;
            }
            if word(at).as_deref() == Some("json") {
                return words.get(at).map(|range| range.end);
            }
            if !is(&BETWEEN, at) {
                return None;
            }
        }
        None
    };
    let found = (0..words.len()).filter(|at| verb(*at)).find_map(|at| Some((at, json(at)?)));
    let (at, end) = found?;
    // A heading over a value: "Reply as JSON: {{ reply | tojson }}".
    let after = source[end..].trim_start_matches([' ', '`', '*', ')']);
    let heads = after.strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with('{'));
    let tag = heads && !after[1..].trim_start().starts_with("{\"");
    (!tag).then(|| words[at].start..end)
}

/// What ends a clause, or begins a tag.
const ENDS: [char; 7] = ['.', ':', ';', '!', '?', '{', '}'];

/// The runs of letters.
fn words(source: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, c) in source.char_indices().filter(|(_, c)| c.is_alphabetic() || *c == '_') {
        let end = at + c.len_utf8();
        match words.last_mut() {
            Some(last) if last.end == at => last.end = end,
            _ => words.push(at..end),
        }
    }
    words
}

/// The answer's JSON written out: every field of it as a key.
fn skeleton(source: &str, draft: &Draft<'_>) -> Option<(String, Range<usize>)> {
    let Shape::Object(object) = &draft.expected.typed.shape else { return None };
    if object.fields.len() < 2 {
        return None;
    }
    let mut whole: Option<Range<usize>> = None;
    for field in &object.fields {
        let key = format!("\"{}\"", field.name);
        let (at, _) = source
            .match_indices(&key)
            .find(|(at, _)| source[at + key.len()..].trim_start_matches(' ').starts_with(':'))?;
        let range = at..at + key.len();
        whole =
            Some(whole.map_or(range.clone(), |w| w.start.min(range.start)..w.end.max(range.end)));
    }
    let names: Vec<&str> = object.fields.iter().map(|field| field.name.as_str()).collect();
    let said = match names.as_slice() {
        [_, _] | [_, _, _] => format!("writes out the fields {}", names.join(", ")),
        many => format!("writes out all {} fields of the answer", many.len()),
    };
    whole.map(|range| (said, range))
}
