//! What to write where YAML reads something else than was meant.

use crate::definition::source::Source;
use crate::definition::yaml::{Kind, Node, Style};

const INDENTATION: &str = "check the indentation: keys of one mapping start in the same column, \
                           and a block's text is indented deeper than its key";

/// What to do about a line that has left its block.
pub const BLOCK_ENDED: &str = "the text above has ended here, as this line stands no deeper than its key: indent each line of a \
                               block (`|`) deeper than its key";

/// What to do about a text that is not YAML: `info` are the parser's words, `at` its place.
pub fn on_syntax(source: &Source, at: usize, info: &str) -> Option<String> {
    let line = source.line_at(at);
    if line.trim_start_matches(' ').starts_with('\t') {
        return Some("indent with spaces; YAML allows no tabs there".to_owned());
    }
    let column = source.position(at).column.saturating_sub(1);
    let before: String = line.chars().take(column).collect();
    let here = line.chars().nth(column).unwrap_or(' ');
    let says = |words: &str| info.contains(words);
    if (says("simple key") || says("expected key") || says("not allowed in this context"))
        && has_left_block(source, at)
    {
        return Some(BLOCK_ENDED.to_owned());
    }
    let lost = says("expected key") || says("expected '-'");
    let advice = if says("unknown anchor") || says("scanning an anchor or alias") {
        format!("YAML keeps a leading `{here}` for aliases and anchors: put the text in quotes")
    } else if says("unexpected character") {
        format!(
            "a bare text cannot start with '{here}': put it in quotes, or write it as a block (`|`)"
        )
    } else if says("invalid trailing content") {
        "YAML ends the value at its second quote: write it as a block, `|` and the text on the next line".into()
    } else if says("unclosed quote") {
        "end the text with its quote, or write it as a block (`|`), which needs none".into()
    } else if says("unknown escape") {
        "in double quotes a backslash starts an escape: write `\\\\`, or use single quotes".into()
    } else if lost && before.trim_end().ends_with([']', '}']) {
        "YAML ends the value at the bracket: what starts with [ or { and goes on is written as a block (`|`)".into()
    } else if says("mapping values are not allowed") {
        return colon(source, at, line);
    } else if says("unclosed bracket") {
        "close it, or put the text in quotes: YAML takes a leading [ or { as a list or mapping"
            .into()
    } else if says("parsing a flow") {
        "inside { } and [ ] a bare text may hold no `,`, bracket, brace or `: `: put it in quotes"
            .into()
    } else if says("simple key") {
        "a line `key: value` belongs here; a block's text is indented deeper than its key".into()
    } else if says("scanning a block scalar") {
        "a block's text starts on the line below its `|`".into()
    } else if says("tab") {
        "use spaces; YAML allows no tabs there".into()
    } else if lost || says("indentation") || says("not allowed in this context") {
        INDENTATION.into()
    } else {
        return None;
    };
    Some(advice)
}

/// Where the tab is that the parser speaks of: it names the place before it, which may be in the line above.
pub fn tab(source: &Source, at: usize, info: &str) -> Option<usize> {
    if !info.contains("tab") || source.line_at(at).trim_start_matches(' ').starts_with('\t') {
        return None;
    }
    let below = source.next_line(at);
    let indented = source.text.get(below..)?.trim_start_matches([' ', '\n', '\r']);
    indented.starts_with('\t').then(|| source.text.len() - indented.len())
}

/// Whether the line of `at` stands too far left to belong to the block of text above it.
pub fn has_left_block(source: &Source, at: usize) -> bool {
    const LOOKED_AT: usize = 1_000;
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let own = indent(source.line_at(at));
    let start = source.lines_before(at, 0);
    let above = source.text.get(..start).unwrap_or_default().lines().rev().take(LOOKED_AT);
    let mut least = usize::MAX;
    for line in above.filter(|line| !line.trim().is_empty()) {
        let header = line.trim_end().trim_end_matches(|c: char| matches!(c, '+' | '-' | '1'..='9'));
        if [": |", ": >", "- |", "- >"].iter().any(|end| header.ends_with(end)) {
            return indent(line) < least && own <= indent(line);
        }
        least = least.min(indent(line));
        if least <= own {
            return false;
        }
    }
    false
}

/// A colon too many in this line, or one without its space in the line above.
fn colon(source: &Source, at: usize, line: &str) -> Option<String> {
    let value = line.split_once(": ").map_or("", |(_, value)| value);
    if value.contains(": ") || value.ends_with(':') {
        return Some("quote the value, or write it as a block (`|`): it contains ': '".to_owned());
    }
    let above = source.line_at(source.lines_before(at, 1)).trim();
    let (key, value) = above.split_once(':')?;
    let glued = !value.is_empty() && !value.starts_with(' ') && !key.contains(' ');
    Some(if glued {
        format!("a colon needs a space behind it: `{key}: {}` in the line above", value.trim())
    } else {
        INDENTATION.to_owned()
    })
}

/// What to do about a key without a value.
pub fn on_empty(source: &Source, node: &Node) -> &'static str {
    let line = source.line_at(node.span.start);
    let column = source.position(node.span.start).column.saturating_sub(1);
    let before: String = line.chars().take(column).collect();
    let rest: String = line.chars().skip(column).collect();
    let word = before.split_whitespace().last().unwrap_or_default();
    if rest.trim_start_matches([':', ' ']).starts_with('#') {
        "YAML takes ' #' as the start of a comment: put the text in quotes"
    } else if word.starts_with('&') {
        "YAML takes a leading `&` as the name of an anchor: put the text in quotes"
    } else {
        "write a value, or remove the key"
    }
}

/// What to do where YAML ended a plain value that has an open quote or bracket: a comment or a comma cut it.
pub fn on_cut(source: &Source, node: &Node) -> Option<&'static str> {
    let Kind::Scalar(scalar) = &node.kind else { return None };
    let more = |a: char, b: char| scalar.text.matches(a).count() > scalar.text.matches(b).count();
    let odd = |quote: char| scalar.text.matches(quote).count() % 2 == 1;
    let unclosed = odd('"') || odd('\'') || more('(', ')') || more('[', ']');
    let unopened = odd('"') || odd('\'') || more(')', '(') || more(']', '[');
    if scalar.style != Style::Plain || !(unclosed || unopened) {
        return None;
    }
    let rest = source.text.get(node.span.end..).unwrap_or_default();
    let rest = rest.lines().next().unwrap_or_default().trim_start();
    let before = source.text.get(..node.span.start).unwrap_or_default().trim_end();
    if unclosed && rest.starts_with('#') {
        Some("YAML takes ' #' as the start of a comment: write the value as a block (`|`)")
    } else if unclosed && rest.starts_with(',') || unopened && before.ends_with(',') {
        Some(
            "inside { } and [ ] YAML ends a value at its comma: write it on a line of its own, or in quotes",
        )
    } else {
        None
    }
}

/// What to do where YAML reads a list or mapping in the place of an expression.
pub fn on_expression(source: &Source, node: &Node) -> String {
    let written = source.text.get(node.span.clone()).unwrap_or_default();
    let inner = written.strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}"));
    if let Some(inner) = inner.map(str::trim).filter(|i| !i.is_empty() && i.len() <= 80) {
        return format!("braces belong to prompts; an expression stands bare: {inner}");
    }
    if let Kind::List(items) = &node.kind
        && let [Node { kind: Kind::Scalar(item), .. }] = items.as_slice()
        && item.style == Style::Plain
    {
        return format!("write it without the brackets: {}", item.text);
    }
    if matches!(node.kind, Kind::Map(_)) && !written.starts_with('{') {
        return "YAML takes `: ` as the end of a key: put the expression in quotes, or write it as a block (`|`)"
            .to_owned();
    }
    "an expression is one bare value, as plan.questions; where it starts with [ or {, or holds `: `, write it as a block (`|`)"
        .to_owned()
}
