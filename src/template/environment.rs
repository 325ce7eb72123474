//! The template engine as prompts use it: nothing escaped, nothing trimmed, no functions, JSON as JSON.
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest};
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value, filters,
    tests,
};
use serde_json::Value as Json;

use super::data::{absent, is_missing, json};
use super::include::{self, Library};

/// Longest text that is rendered, in bytes: beyond any model's window.
pub const MAX_OUTPUT: usize = 4 << 20;
/// Work one rendering may do, in the engine's fuel: an instruction, or 64 bytes of data made, are one.
const FUEL: u64 = 2_000_000;
/// The name the template has in its environment: none that a file can have.
pub const NAME: &str = "\0prompt";

/// The syntax of templates: the last line end stays.
pub fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default()
}

/// An environment that holds `source` and what it includes.
pub fn environment(source: &str, library: &Library) -> Result<Environment<'static>, Error> {
    let mut env = Environment::empty();
    env.set_syntax(syntax());
    env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_formatter(print);
    env.set_fuel(Some(FUEL));
    add_filters(&mut env);
    add_tests(&mut env);
    env.set_path_join_callback(|written, _| include::name(written).into());
    env.add_template_owned(NAME, source.to_owned())?;
    for (name, text) in library.iter() {
        // The engine would let the names that an included text sets out.
        let own = format!("{{% with %}}{text}{{% endwith %}}");
        env.add_template_owned(name.to_owned(), own)?;
    }
    Ok(env)
}

fn print(out: &mut Output, _: &mut State, value: &Value) -> Result<(), Error> {
    if is_missing(value) {
        return Err(missing("what is printed here"));
    }
    let written = match value.as_str() {
        Some(text) => out.write_str(text),
        None => out.write_str(&json(value).to_string()),
    };
    written.map_err(|_| Error::new(ErrorKind::WriteFailure, "the text is too long"))
}

fn missing(what: &str) -> Error {
    Error::new(ErrorKind::UndefinedError, format!("{what} is missing"))
}

/// The filters whose types stand in `filter.rs`. Those of the engine that would print, count or
/// join a missing value, or yield its own undefined one, are ours.
fn add_filters(env: &mut Environment<'static>) {
    env.add_filter("tojson", to_json);
    env.add_filter("default", default);
    env.add_filter("d", default);
    env.add_filter("upper", |v: &Value| Ok::<_, Error>(text(v)?.to_uppercase()));
    env.add_filter("lower", |v: &Value| Ok::<_, Error>(text(v)?.to_lowercase()));
    env.add_filter("trim", |v: &Value| Ok::<_, Error>(text(v)?.trim().to_owned()));
    env.add_filter("length", length);
    env.add_filter("count", length);
    env.add_filter("join", join);
    env.add_filter("title", |v: &Value| Ok::<_, Error>(filters::title(text(v)?.into())));
    env.add_filter("capitalize", |v: &Value| Ok::<_, Error>(capitalize(text(v)?)));
    env.add_filter("replace", replace);
    env.add_filter("indent", indent);
    env.add_filter("first", |v: &Value| {
        Ok::<_, Error>(v.try_iter()?.next().unwrap_or_else(absent))
    });
    env.add_filter("last", |v: &Value| Ok::<_, Error>(v.try_iter()?.last().unwrap_or_else(absent)));
    env.add_filter("sort", filters::sort);
    env.add_filter("unique", filters::unique);
    env.add_filter("reverse", filters::reverse);
    env.add_filter("list", filters::list);
    env.add_filter("items", filters::items);
    env.add_filter("dictsort", filters::dictsort);
    env.add_filter("batch", batch);
    env.add_filter("map", map);
    env.add_filter("selectattr", filters::selectattr);
    env.add_filter("rejectattr", filters::rejectattr);
    env.add_filter("round", filters::round);
    env.add_filter("abs", filters::abs);
    env.add_filter("sum", filters::sum);
    env.add_filter("min", filters::min);
    env.add_filter("max", filters::max);
}

fn add_tests(env: &mut Environment<'static>) {
    env.add_test("defined", |v: &Value| !is_missing(v));
    env.add_test("undefined", |v: &Value| is_missing(v));
    env.add_test("none", |v: &Value| is_missing(v));
    env.add_test("string", tests::is_string);
    env.add_test("number", tests::is_number);
    env.add_test("integer", tests::is_integer);
    env.add_test("boolean", tests::is_boolean);
    env.add_test("sequence", tests::is_sequence);
    env.add_test("mapping", tests::is_mapping);
    env.add_test("true", tests::is_true);
    env.add_test("false", tests::is_false);
    env.add_test("odd", tests::is_odd);
    env.add_test("even", tests::is_even);
    env.add_test("divisibleby", tests::is_divisibleby);
    env.add_test("in", tests::is_in);
    env.add_test("eq", tests::is_eq);
    env.add_test("ne", tests::is_ne);
    env.add_test("lt", tests::is_lt);
    env.add_test("le", tests::is_le);
    env.add_test("gt", tests::is_gt);
    env.add_test("ge", tests::is_ge);
    env.add_test("startingwith", tests::is_startingwith);
    env.add_test("endingwith", tests::is_endingwith);
}

fn text(value: &Value) -> Result<&str, Error> {
    value.as_str().ok_or_else(|| {
        let found = if is_missing(value) { "nothing".to_owned() } else { value.kind().to_string() };
        Error::new(ErrorKind::InvalidOperation, format!("a text is needed here, not {found}"))
    })
}

/// JSON as it is: the engine's own filter escapes for HTML. `indent` is a number of spaces.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments over so")]
fn to_json(value: &Value, indent: Option<usize>, kwargs: Kwargs) -> Result<String, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => kwargs.get::<Option<usize>>("indent")?,
    };
    kwargs.assert_all_used()?;
    if value.is_undefined() {
        return Err(missing("what `tojson` is given"));
    }
    let json = json(value);
    match indent {
        None | Some(0) => Ok(json.to_string()),
        Some(width) => pretty(&json, width.min(8)),
    }
}

fn pretty(json: &Json, width: usize) -> Result<String, Error> {
    let spaces = " ".repeat(width);
    let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
    let mut out = Limited::default();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    serde::Serialize::serialize(json, &mut serializer).map_err(|_| too_long())?;
    String::from_utf8(out.bytes).map_err(|_| too_long())
}

fn too_long() -> Error {
    let text = "the text a filter makes is too long, more than 4 MiB";
    Error::new(ErrorKind::InvalidOperation, text).with_source(TooLong)
}

/// Marks an error that less data would not be.
#[derive(Debug, thiserror::Error)]
#[error("too long")]
pub struct TooLong;

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    first + &chars.as_str().to_lowercase()
}

fn replace(value: &Value, from: &str, to: &str) -> Result<String, Error> {
    let text = text(value)?;
    if from.is_empty() {
        return Ok(text.to_owned());
    }
    let added = text.matches(from).count().saturating_mul(to.len());
    if added.saturating_add(text.len()) > MAX_OUTPUT.saturating_mul(2) {
        return Err(too_long());
    }
    Ok(text.replace(from, to))
}

/// Indents the lines but the first (with `first`, it too) and empty ones.
fn indent(value: &Value, width: Option<usize>, first: Option<bool>) -> Result<String, Error> {
    let width = width.unwrap_or(4);
    let mut indented = String::new();
    for (at, line) in text(value)?.split_inclusive('\n').enumerate() {
        let blank = line.trim_end().is_empty();
        let width = if blank || at == 0 && first != Some(true) { 0 } else { width };
        if indented.len().saturating_add(width).saturating_add(line.len()) > MAX_OUTPUT {
            return Err(too_long());
        }
        indented.push_str(&" ".repeat(width));
        indented.push_str(line);
    }
    Ok(indented)
}

/// Lists of at most `size` items, one at least.
fn batch(value: &Value, size: usize) -> Result<Vec<Vec<Value>>, Error> {
    let items: Vec<Value> = value.try_iter()?.collect();
    Ok(items.chunks(size.max(1)).map(<[Value]>::to_vec).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments over so")]
fn default(value: &Value, fallback: Rest<Value>) -> Value {
    if is_missing(value) {
        return fallback.first().cloned().unwrap_or_else(|| Value::from(""));
    }
    value.clone()
}

fn length(value: &Value) -> Result<usize, Error> {
    value.len().ok_or_else(|| {
        let found = if is_missing(value) { "nothing".to_owned() } else { value.kind().to_string() };
        Error::new(ErrorKind::InvalidOperation, format!("{found} has no length"))
    })
}

/// The items' fields of one name; the engine's own filter would call other filters as well.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments over so")]
fn map(value: &Value, kwargs: Kwargs) -> Result<Vec<Value>, Error> {
    let attribute: &str = kwargs.get("attribute")?;
    kwargs.assert_all_used()?;
    let below = |item: Value| {
        attribute.split('.').try_fold(item, |value, name| {
            if is_missing(&value) { Ok(absent()) } else { value.get_attr(name) }
        })
    };
    value.try_iter()?.map(below).collect()
}

/// Joins as `{{ }}` prints: texts bare, all else as JSON.
fn join(value: &Value, separator: Option<&str>) -> Result<String, Error> {
    let separator = separator.unwrap_or_default();
    let mut joined = String::new();
    for (at, item) in value.try_iter()?.enumerate() {
        if is_missing(&item) {
            return Err(missing("an item that `join` is given"));
        }
        if at > 0 {
            joined.push_str(separator);
        }
        match item.as_str() {
            Some(text) => joined.push_str(text),
            None => joined.push_str(&json(&item).to_string()),
        }
        if joined.len() > MAX_OUTPUT {
            return Err(too_long());
        }
    }
    Ok(joined)
}

/// Collects a text up to [`MAX_OUTPUT`] bytes, and fails beyond.
#[derive(Default)]
pub struct Limited {
    /// What was written.
    pub bytes: Vec<u8>,
    /// Whether more came.
    pub full: bool,
}

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_OUTPUT {
            self.full = true;
            return Err(io::Error::other("the text is too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
