//! A recorded case as YAML, in block style: so written that `PyYAML`, npm's `yaml` and this program's loader read the same.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value, json};

use crate::definition::keys;
use crate::workflow::case::{Case, Said, StepAnswers, Told};

/// The first line of a new cases file, for editors.
pub const MODELINE: &str = "# yaml-language-server: $schema=../schemas/cases.schema.json\n";
/// Longest text that is written without quotes.
const PLAIN_MAX: usize = 80;
/// Words that some reader takes for something else than text.
const WORDS: [&str; 12] =
    ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "none"];

/// The entry of a case in its list, its dash `indent` columns in. `each` tells of a step whether it fans out;
/// `expect` is what must come of it, as it is to be written.
#[must_use]
pub fn entry(case: &Case, each: impl Fn(&str) -> bool, expect: &Value, indent: usize) -> String {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(case.name));
    fields.insert("input".to_owned(), case.input.clone());
    if let Some(deadline) = case.deadline {
        fields.insert("deadline".to_owned(), json!(format!("{}ms", deadline.as_millis())));
    }
    let answers = case.answers.iter();
    let answers: Map<String, Value> =
        answers.map(|of| (of.step.clone(), step(of, each(&of.step)))).collect();
    fields.insert("answers".to_owned(), Value::Object(answers));
    fields.insert("expect".to_owned(), expect.clone());
    let mut text = String::new();
    list(&[Value::Object(fields)], indent, &mut text);
    text
}

/// Whether an input can be written in place: a mapping with a key `$file` would be read as a file's name.
#[must_use]
pub fn is_writable(input: &Value) -> bool {
    match input {
        Value::Array(items) => items.iter().all(is_writable),
        Value::Object(map) => !map.contains_key("$file") && map.values().all(is_writable),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn step(answers: &StepAnswers, each: bool) -> Value {
    let items = answers.items.iter().map(|item| attempts(item));
    let items: Vec<Value> = items.collect();
    match (each, <[Value; 1]>::try_from(items)) {
        (false, Ok([one])) => one,
        (_, Ok(one)) => json!(one),
        (_, Err(items)) => Value::Array(items),
    }
}

fn attempts(item: &[Said]) -> Value {
    match item {
        [] => Value::Null,
        [one] => said(one),
        several => json!({ "$attempts": several.iter().map(said).collect::<Vec<_>>() }),
    }
}

fn said(said: &Said) -> Value {
    let answer = said.text.as_ref().map(|text| answer(text));
    let Some(told) = said.told else { return answer.unwrap_or_else(|| json!({ "$fate": "ok" })) };
    let word = Told::ALL.iter().find(|(_, one)| *one == told).map_or("ok", |(word, _)| word);
    match answer {
        Some(answer) => json!({ "$fate": word, "$answer": answer }),
        None => json!({ "$fate": word }),
    }
}

/// An object where the text is exactly what an object is sent as; else the text.
fn answer(text: &str) -> Value {
    let ours = |map: &Map<String, Value>| {
        let marks = |key: &String| {
            keys::FATE.keys.contains(&key.as_str()) || keys::ATTEMPTS.keys.contains(&key.as_str())
        };
        map.keys().any(marks) || (!map.is_empty() && map.keys().all(|key| key.starts_with('$')))
    };
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) if !ours(&map) => {
            let value = Value::Object(map);
            let same = value.to_string();
            if same == text { value } else { json!(text) }
        }
        _ => json!(text),
    }
}

/// What stands behind a key or a dash: on its line, or below it.
enum Placed {
    Inline(String),
    /// A header on the line, lines below.
    Block(String, Vec<String>),
    Below,
}

fn placed(value: &Value) -> Placed {
    match value {
        Value::Null => Placed::Inline("null".to_owned()),
        Value::Bool(value) => Placed::Inline(value.to_string()),
        Value::Number(value) => Placed::Inline(number(value)),
        Value::String(text) => block(text).unwrap_or_else(|| Placed::Inline(scalar(text))),
        Value::Array(items) if items.is_empty() => Placed::Inline("[]".to_owned()),
        Value::Object(map) if map.is_empty() => Placed::Inline("{}".to_owned()),
        Value::Array(_) | Value::Object(_) => Placed::Below,
    }
}

fn list(items: &[Value], indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    for item in items {
        let _ = match placed(item) {
            Placed::Inline(text) => writeln!(out, "{margin}- {text}"),
            Placed::Block(head, lines) => {
                let _ = writeln!(out, "{margin}- {head}");
                below(&lines, indent + 2, out);
                Ok(())
            }
            Placed::Below => {
                let mut inner = String::new();
                nested(item, indent + 2, &mut inner);
                // The first entry stands behind the dash.
                writeln!(out, "{margin}- {}", inner.trim_start_matches(' ').trim_end_matches('\n'))
            }
        };
    }
}

fn nested(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Array(items) => list(items, indent, out),
        Value::Object(map) => mapping(map, indent, out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn mapping(map: &Map<String, Value>, indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    for (key, value) in map {
        let key = scalar(key);
        let _ = match placed(value) {
            Placed::Inline(text) => writeln!(out, "{margin}{key}: {text}"),
            Placed::Block(head, lines) => {
                let _ = writeln!(out, "{margin}{key}: {head}");
                below(&lines, indent + 2, out);
                Ok(())
            }
            Placed::Below => {
                let _ = writeln!(out, "{margin}{key}:");
                nested(value, indent + 2, out);
                Ok(())
            }
        };
    }
}

fn below(lines: &[String], indent: usize, out: &mut String) {
    for line in lines {
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// A text of several lines as a literal block, where that says exactly the same to every reader.
fn block(text: &str) -> Option<Placed> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let first = body.split('\n').next().unwrap_or_default();
    let odd = |line: &str| line.ends_with([' ', '\t']) || line.starts_with('\t');
    let exact = text.contains('\n')
        && !first.is_empty()
        && !first.starts_with(' ')
        && !body.ends_with('\n')
        && !body.split('\n').any(odd)
        && text.chars().all(|c| c == '\n' || c == '\t' || !is_special(c));
    let head = if text.ends_with('\n') { "|" } else { "|-" };
    exact.then(|| Placed::Block(head.to_owned(), body.split('\n').map(str::to_owned).collect()))
}

/// A text on one line: bare where no reader can take it for anything else, quoted otherwise.
fn scalar(text: &str) -> String {
    let mut chars = text.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    let harmless = |c: char| c.is_ascii_alphanumeric() || " _-./()".contains(c);
    let bare = letter
        && text.len() <= PLAIN_MAX
        && text.chars().all(harmless)
        && !text.ends_with(' ')
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if bare { text.to_owned() } else { quoted(text) }
}

/// A double-quoted scalar; what any reader would fold, refuse or not show is escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_special(c) => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Controls, line separators, marks of byte order and non-characters.
fn is_special(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// A number that YAML 1.1 and 1.2 read alike: an exponent has its point and its sign.
fn number(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let mantissa =
        if mantissa.contains('.') { mantissa.to_owned() } else { format!("{mantissa}.0") };
    let exponent =
        if exponent.starts_with(['-', '+']) { exponent.to_owned() } else { format!("+{exponent}") };
    format!("{mantissa}e{exponent}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::definition::page::{Page, to_json};
    use crate::definition::source::Source;

    fn read(text: &str) -> Value {
        let mut found = Vec::new();
        let page = Page::parse(Source::new("f", text), &mut found);
        assert!(found.is_empty(), "{found:#?}\n{text}");
        to_json(&page.unwrap().root)
    }

    fn written(value: &Value) -> String {
        let mut text = String::new();
        list(std::slice::from_ref(value), 0, &mut text);
        text
    }

    /// Texts on which readers of YAML differ, or used to.
    fn hard() -> Value {
        json!({
            "words": ["yes", "No", "on", "null", "~", "true", "y", "", "NaN", ".inf", "=", "<<"],
            "numbers as text": ["1", "1.0", "0x1f", "0o17", "1e3", "12:30:45", "2026-11-30", "1_000", "+1", "."],
            "numbers": [0, -1, 1.5, 1e21, 1e-7, 12_345_678_901_234_567_890_u64, -0.5],
            "marks": ["- a", "? a", "a: b", "a #b", "#a", "&a", "*a", "!a", "%a", "@a", "`a", "[a", "{a", "|", ">", "'a", "\"a\"", "\\a", "a:", "---", "..."],
            "lines": ["a\nb", "a\nb\n", "a\n\nb", "\na", "a\n\n", " a\nb", "a\n b", "a \nb", "a\n\tb", "a\r\nb", "\n", "a\n#b\n", "a\n---\nb", "a\n  \nb"],
            "controls": ["\u{0}", "a\u{7}", "\u{1b}[2J", "\u{85}", "a\u{2028}b", "\u{feff}a", "\u{7f}", "\u{ffff}", "\u{a0}a", " a", "a ", "\ta"],
            "letters": ["é", "日本語", "🦀", "a’b", "a — b"],
            "empty": [[], {}, null],
            "nested": [[["a"], []], {"a": [{"b": {"c: d": 1}}]}, [{"x": "a\nb\n"}]],
            "yes": {"on": 1, "a b": 2, "": 3, "1": 4, "a:b": 5, "null": 6, "#": 7},
        })
    }

    #[test]
    fn what_other_readers_trip_over_is_read_as_it_was() {
        let text = written(&hard());
        assert_eq!(read(&text), json!([hard()]), "{text}");
        // Read by PyYAML and npm's yaml too: see tests/yaml/run.sh.
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/yaml/written.yaml");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        let kept = std::fs::read_to_string(file).unwrap();
        assert_eq!(text, kept, "the text changed: have the other readers look at it again");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
            "[ -~é\n\t]{0,24}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map("[ -~\n]{0,12}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_is_read_back_as_it_was(value in values()) {
            let text = written(&value);
            let read = read(&text);
            prop_assert!(crate::workflow::case::same(&read, &json!([value])), "{}\n{}", text, read);
        }
    }

    #[test]
    fn an_answer_is_an_object_only_where_that_sends_the_same() {
        assert_eq!(answer("{\"a\":1}"), json!({"a": 1}));
        for text in ["{\"a\": 1}", "no JSON", "[1]", "{\"$fate\":\"hang\"}", "{\"$attempts\":[]}"] {
            assert_eq!(answer(text), json!(text));
        }
    }
}
