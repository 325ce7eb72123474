//! How a JSON file is written, so that what is added looks like the rest of it.

use std::ops::Range;

use serde_json::Value;

use super::edit::{begins_line, indentation, line_end, line_start};

/// An object or a list in a text, by bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its opening bracket.
    pub open: usize,
    /// Its closing bracket.
    pub close: usize,
    /// Properties or elements, in order.
    pub children: Vec<Range<usize>>,
}

/// The habits of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    unit: String,
    end: &'static str,
    /// Whether the whole file is one line.
    flat: bool,
}

/// How one value is written at its place.
#[derive(Clone, Debug)]
pub struct Form<'a> {
    style: &'a Style,
    /// What its lines begin with; `None` where it stays on one line.
    indent: Option<String>,
    /// Whether a space follows colons and commas on one line.
    spaced: bool,
}

impl Style {
    /// What a text shows of itself: the first indented line gives the unit, two spaces where none is.
    pub fn of(text: &str) -> Self {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let flat = body.contains('"') && !body.trim().contains('\n');
        let indents = body.lines().skip(1).filter(|line| line.trim_start().starts_with(['"', '{']));
        let mut indents = indents.map(|line| indentation(line, 0)).filter(|i| !i.is_empty());
        let unit = indents.next().unwrap_or("  ").to_owned();
        Self { unit, end: line_end(text), flat }
    }

    /// A file that has no value yet, after its text: an object with one property.
    pub fn whole(&self, text: &str, key: &str, value: &Value) -> String {
        let form = Form { style: self, indent: Some(String::new()), spaced: true };
        let object = form.value(&serde_json::json!({key: value}));
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        let before = if bare.is_empty() || bare.ends_with('\n') { "" } else { self.end };
        [before, &object, self.end].concat()
    }

    /// What a further child of a container inserts and where, in the order of the text.
    pub fn added(
        &self,
        text: &str,
        container: &Container,
        write: impl FnOnce(&Form) -> String,
    ) -> Vec<(usize, String)> {
        let inside = &text[container.open..container.close];
        let last = container.children.last();
        if self.flat || (last.is_some() && !inside.contains('\n')) {
            return self.on_the_line(text, container, write);
        }
        let outer = indentation(text, container.open);
        let own_line = container.children.iter().rev().find(|one| begins_line(text, one.start));
        let indent = match own_line {
            Some(one) => indentation(text, one.start).to_owned(),
            None => [outer, &self.unit].concat(),
        };
        let form = Form { style: self, indent: Some(indent.clone()), spaced: true };
        let child = [self.end, &indent, &write(&form)].concat();
        let closing = |from: usize| {
            let closed = text[from..container.close].contains('\n');
            if closed { String::new() } else { [self.end, outer].concat() }
        };
        let Some(last) = last else {
            let at = container.open + inside.trim_end().len();
            return vec![(at, [child, closing(at)].concat())];
        };
        let comma = comma_after(text, last.end, container.close);
        // What is said on the line behind the last child stays with it.
        let at = end_of_line(text, comma.map_or(last.end, |comma| comma + 1), container.close);
        match comma {
            Some(_) => vec![(at, [&child, ",", &closing(at)].concat())],
            None if at == last.end => vec![(at, [",", &child, &closing(at)].concat())],
            None => vec![(last.end, ",".to_owned()), (at, [child, closing(at)].concat())],
        }
    }

    fn on_the_line(
        &self,
        text: &str,
        container: &Container,
        write: impl FnOnce(&Form) -> String,
    ) -> Vec<(usize, String)> {
        let spaced = !self.flat || text.contains("\": ");
        let child = write(&Form { style: self, indent: None, spaced });
        let gap = if spaced { " " } else { "" };
        let Some(last) = container.children.last() else {
            let inside = &text[container.open..container.close];
            return vec![(container.open + inside.trim_end().len(), child)];
        };
        match comma_after(text, last.end, container.close) {
            Some(comma) => vec![(comma + 1, [gap, &child, ","].concat())],
            None => vec![(last.end, [",", gap, &child].concat())],
        }
    }

    /// A new value over an old one.
    pub fn replaced(&self, text: &str, old: &Range<usize>, value: &Value) -> String {
        let lines = text[old.clone()].contains('\n');
        let indent = lines.then(|| indentation(text, old.start).to_owned());
        Form { style: self, indent, spaced: !self.flat || text.contains("\": ") }.value(value)
    }
}

impl Container {
    /// What goes with a child: its comma, or the one before it where it is the last, and its line where that
    /// holds nothing else.
    pub fn without(&self, text: &str, index: usize) -> Vec<Range<usize>> {
        let Some(child) = self.children.get(index) else { return Vec::new() };
        let comma = comma_after(text, child.end, self.close);
        let own = child.start..comma.map_or(child.end, |comma| comma + 1);
        let mut own = whole_lines(text, own, self.close);
        let before = index.checked_sub(1).and_then(|before| self.children.get(before));
        let comma_before = before.and_then(|one| comma_after(text, one.end, child.start));
        let Some(at) = comma_before.filter(|_| comma.is_none()) else { return vec![own] };
        if text[at + 1..child.start].trim_matches([' ', '\t']).is_empty() {
            own.start = at + 1;
        }
        vec![at..at + 1, own]
    }
}

impl Form<'_> {
    /// A property.
    pub fn property(&self, key: &str, value: &Value) -> String {
        [&Value::from(key).to_string(), self.colon(), &self.value(value)].concat()
    }

    /// What stands between key and value.
    const fn colon(&self) -> &'static str {
        if self.spaced { ": " } else { ":" }
    }

    /// A value; its first line is not indented.
    pub fn value(&self, value: &Value) -> String {
        let deeper = Form {
            style: self.style,
            indent: self.indent.as_ref().map(|indent| [indent, self.style.unit.as_str()].concat()),
            spaced: self.spaced,
        };
        let (brackets, children): (_, Vec<String>) = match value {
            Value::Array(list) => (["[", "]"], list.iter().map(|one| deeper.value(one)).collect()),
            Value::Object(map) => {
                let property = |(key, value): (&String, &Value)| deeper.property(key, value);
                (["{", "}"], map.iter().map(property).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return value.to_string();
            }
        };
        let [open, close] = brackets;
        match (&self.indent, &deeper.indent) {
            (Some(outer), Some(inner)) if !children.is_empty() => {
                let end = self.style.end;
                let between = [",", end, inner].concat();
                let children = children.join(&between);
                [open, end, inner, &children, end, outer, close].concat()
            }
            _ => [open, &children.join(if self.spaced { ", " } else { "," }), close].concat(),
        }
    }
}

/// The comma that follows `from`, before anything else but white space and comments.
fn comma_after(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        at += match rest.as_bytes() {
            [b',', ..] => return Some(at),
            [b'/', ..] => comment(rest)?,
            [b' ' | b'\t' | b'\r' | b'\n', ..] => 1,
            _ => return None,
        };
    }
    None
}

/// Where the line ends that `from` is on, `from` itself where something else than white space and comments stands
/// between, or all up to `to` is on the line.
fn end_of_line(text: &str, from: usize, to: usize) -> usize {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        at += match rest.as_bytes() {
            [b'\n', ..] | [b'\r', b'\n', ..] => {
                return from + text[from..at].trim_end_matches([' ', '\t']).len();
            }
            [b'/', ..] => match comment(rest) {
                Some(length) => length,
                None => return from,
            },
            [b' ' | b'\t' | b'\r', ..] => 1,
            _ => return from,
        };
    }
    from
}

/// The length of the comment that a text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.find('\n').map_or(text, |end| &text[..end]);
        return Some(line.trim_end_matches('\r').len());
    }
    let body = text.strip_prefix("/*")?;
    body.find("*/").map(|end| end + 4)
}

/// The range with its whole lines where they hold nothing else, or with the gap before what follows on its line.
fn whole_lines(text: &str, range: Range<usize>, to: usize) -> Range<usize> {
    let after = &text[range.end..to];
    let blank = after.len() - after.trim_start_matches([' ', '\t']).len();
    let rest = &after[blank..];
    let line_end = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    if begins_line(text, range.start) && line_end > 0 {
        return line_start(text, range.start)..range.end + blank + line_end;
    }
    if rest.starts_with(['"', '{']) { range.start..range.end + blank } else { range }
}
