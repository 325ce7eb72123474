//! Our entry in a client's JSON file, put in and taken out as text: comments, order, white space, line ends and
//! unknown keys stay as they are.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast, parse_to_serde_value};
use serde_json::{Map, Value, json};

use super::edit::{Change, Merged, Problem, spliced};
use super::style::{Container, Form, Style};

/// What is to stand in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The object of servers, at the root.
    pub servers: &'static str,
    /// Our name in it.
    pub name: String,
    /// The entry. Of one that is there already, `command`, `args` and `type` are replaced, other keys are added
    /// where missing.
    pub entry: Map<String, Value>,
    /// Objects that the root's `inputs` must have, by their `id`.
    pub inputs: Vec<Value>,
}

impl Wanted {
    /// Whether an input is referred to by a variable that the entry does not have with a value of its own.
    fn asks(&self, input: &Value, there: Option<&Value>) -> bool {
        let Some(id) = input.get("id").and_then(Value::as_str) else { return false };
        let reference = Value::from(format!("${{input:{id}}}"));
        let variables = self.entry.get("env").and_then(Value::as_object);
        let old = |key: &String| there.and_then(|entry| entry.get("env")?.get(key));
        let mut named = variables.into_iter().flatten().filter(|(_, value)| **value == reference);
        named.any(|(key, _)| old(key).is_none_or(|old| *old == reference))
    }
}

/// Keys of an entry whose values are ours, whatever stands there.
const OURS: [&str; 3] = ["type", "command", "args"];

/// JSON with comments and trailing commas, and nothing looser.
const fn lenient() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The text with the wanted entry in it.
///
/// # Errors
/// It is no JSON, of another form, or holds an entry of another program under our name.
pub fn put(text: &str, wanted: &Wanted) -> Result<Merged, Problem> {
    let mut file = File::new(text)?;
    let mut change = Change::Nothing;
    let path = [wanted.servers, wanted.name.as_str()];
    let there = file.entry(&path)?;
    for input in wanted.inputs.iter().filter(|input| wanted.asks(input, there.as_ref())) {
        if !file.has_input(input)? {
            file.insert_input(input)?;
            change = Change::Updated;
        }
    }
    let Some(there) = there else {
        match file.entry(&path[..1])? {
            Some(_) => file.insert(&path[..1], path[1], &Value::Object(wanted.entry.clone()))?,
            None => file.insert(&[], path[0], &json!({path[1]: wanted.entry}))?,
        }
        return file.checked(text, wanted, Change::Added);
    };
    let Value::Object(there) = there else {
        return Err(file.problem(&path, "is not an object: correct or remove it"));
    };
    for (key, value) in &wanted.entry {
        let at = [path[0], path[1], key.as_str()];
        match (there.get(key), value) {
            (None, _) => file.insert(&path, key, value)?,
            (Some(Value::Object(old)), Value::Object(new)) => {
                let missing: Vec<_> =
                    new.iter().filter(|(key, _)| !old.contains_key(*key)).collect();
                for (key, value) in &missing {
                    file.insert(&at, key, value)?;
                }
                if missing.is_empty() {
                    continue;
                }
            }
            (Some(old), _) if old == value || !OURS.contains(&key.as_str()) => continue,
            (Some(_), _) => file.replace(&at, value)?,
        }
        change = Change::Updated;
    }
    file.checked(text, wanted, change)
}

/// The text without the entry, and without the inputs that were made for it.
///
/// # Errors
/// It is no JSON or of another form.
pub fn take(text: &str, wanted: &Wanted) -> Result<Merged, Problem> {
    let mut file = File::new(text)?;
    if file.entry(&[wanted.servers, &wanted.name])?.is_none() {
        return Ok(Merged { text: text.to_owned(), change: Change::Nothing });
    }
    let named = |prop: &ObjectProp| prop.name.as_str() == wanted.name;
    let index = file.with(|root| match find(root, &[wanted.servers]) {
        Ok(Some(Node::Object(servers))) => servers.properties.iter().position(named),
        _ => None,
    })?;
    if let Some(index) = index {
        file.remove(&[wanted.servers], index)?;
    }
    file.remove_inputs(&prefix(wanted))?;
    file.checked(text, wanted, Change::Removed)
}

/// The command of the entry, where there is one.
///
/// # Errors
/// It is no JSON or of another form.
pub fn command(text: &str, servers: &str, name: &str) -> Result<Option<(usize, String)>, Problem> {
    let file = File::new(text)?;
    let Some(entry) = file.entry(&[servers, name])? else { return Ok(None) };
    let at = file.offset(&[servers, name]);
    let command = entry.get("command").and_then(Value::as_str).unwrap_or_default();
    Ok(Some((at, command.to_owned())))
}

/// The variables that the entry sets by itself.
pub fn variables(text: &str, servers: &str, name: &str) -> Vec<String> {
    let entry = File::new(text).and_then(|file| file.entry(&[servers, name]));
    let env = entry.ok().flatten().and_then(|entry| entry.get("env")?.as_object().cloned());
    env.into_iter().flatten().map(|(key, _)| key).collect()
}

/// Where the text is not what a strict reader of JSON takes, though we do.
pub fn not_strict(text: &str) -> Option<Problem> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = ParseOptions { allow_comments: false, allow_trailing_commas: false, ..lenient() };
    let shift = text.len() - body.len();
    let error = parse_to_ast(body, &CollectOptions::default(), &options).err()?;
    Some(Problem::at(error.range().start + shift, lower(&error.kind().to_string())))
}

/// What the ids of our inputs begin with.
fn prefix(wanted: &Wanted) -> String {
    format!("{}-", wanted.name)
}

/// A file's text between edits. Each edit reads the text anew.
struct File {
    text: String,
    /// Bytes before the JSON: a byte order mark.
    shift: usize,
}

impl File {
    fn new(text: &str) -> Result<Self, Problem> {
        let shift = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let file = Self { text: text.to_owned(), shift };
        file.with(|root| match root {
            None | Some(Node::Object(_)) => Ok(()),
            Some(other) => {
                Err(Problem::at(other.start() + shift, "the file is no JSON object".to_owned()))
            }
        })??;
        Ok(file)
    }

    fn body(&self) -> &str {
        &self.text[self.shift..]
    }

    fn with<T>(&self, look: impl FnOnce(Option<&Node>) -> T) -> Result<T, Problem> {
        match parse_to_ast(self.body(), &CollectOptions::default(), &lenient()) {
            Ok(parsed) => Ok(look(parsed.value.as_ref())),
            Err(error) => {
                let what = format!("this is no JSON: {}", lower(&error.kind().to_string()));
                Err(Problem::at(error.range().start + self.shift, what))
            }
        }
    }

    /// The value at a path of keys.
    fn entry(&self, path: &[&str]) -> Result<Option<Value>, Problem> {
        let range =
            self.with(|root| found(root, path).map(|found| found.map(|prop| prop.value.range())))?;
        let range = range.map_err(|problem| self.shifted(problem))?;
        let Some(range) = range else { return Ok(None) };
        let slice = &self.body()[range.start..range.end];
        parse_to_serde_value(slice, &lenient()).map(Some).map_err(|error| {
            Problem::at(range.start + self.shift, format!("this is no JSON: {}", error.kind()))
        })
    }

    fn shifted(&self, problem: Problem) -> Problem {
        Problem { at: problem.at.map(|at| at + self.shift), ..problem }
    }

    fn offset(&self, path: &[&str]) -> usize {
        let start = self.with(|root| Some(found(root, path).ok()??.start()));
        start.ok().flatten().unwrap_or(0) + self.shift
    }

    fn problem(&self, path: &[&str], what: &str) -> Problem {
        let name = path.last().unwrap_or(&"");
        Problem::at(self.offset(path), format!("'{name}' {what}"))
    }

    /// The object or list at a path.
    fn container(&self, path: &[&str]) -> Result<Container, Problem> {
        self.with(|root| container(root, path))?.map_err(|problem| self.shifted(problem))
    }

    /// Replaces ranges of the body, which are in order.
    fn apply(&mut self, edits: Vec<(Range<usize>, String)>) {
        for (range, new) in edits.into_iter().rev() {
            let range = range.start + self.shift..range.end + self.shift;
            self.text = spliced(&self.text, range, &new);
        }
    }

    fn add(&mut self, path: &[&str], write: impl FnOnce(&Form) -> String) -> Result<(), Problem> {
        let container = self.container(path)?;
        let added = Style::of(self.body()).added(self.body(), &container, write);
        self.apply(added.into_iter().map(|(at, new)| (at..at, new)).collect());
        Ok(())
    }

    fn insert(&mut self, path: &[&str], key: &str, value: &Value) -> Result<(), Problem> {
        if path.is_empty() && self.with(|root| root.is_none())? {
            self.text.push_str(&Style::of(&self.text).whole(&self.text, key, value));
            return Ok(());
        }
        self.add(path, |form| form.property(key, value))
    }

    fn replace(&mut self, path: &[&str], value: &Value) -> Result<(), Problem> {
        let range =
            self.with(|root| found(root, path).map(|p| p.map(|prop| prop.value.range())))?;
        let Some(range) = range.map_err(|problem| self.shifted(problem))? else { return Ok(()) };
        let range = range.start..range.end;
        let new = Style::of(self.body()).replaced(self.body(), &range, value);
        self.apply(vec![(range, new)]);
        Ok(())
    }

    fn remove(&mut self, path: &[&str], index: usize) -> Result<(), Problem> {
        let gone = self.container(path)?.without(self.body(), index);
        self.apply(gone.into_iter().map(|range| (range, String::new())).collect());
        Ok(())
    }

    fn inputs(&self) -> Result<Vec<Value>, Problem> {
        match self.entry(&["inputs"])? {
            None => Ok(Vec::new()),
            Some(Value::Array(inputs)) => Ok(inputs),
            Some(_) => Err(self.problem(&["inputs"], "is not a list: correct or remove it")),
        }
    }

    fn has_input(&self, wanted: &Value) -> Result<bool, Problem> {
        Ok(self.inputs()?.iter().any(|input| input.get("id") == wanted.get("id")))
    }

    fn insert_input(&mut self, input: &Value) -> Result<(), Problem> {
        if self.entry(&["inputs"])?.is_none() {
            return self.insert(&[], "inputs", &json!([input]));
        }
        self.add(&["inputs"], |form| form.value(input))
    }

    fn remove_inputs(&mut self, prefix: &str) -> Result<(), Problem> {
        let ours = |input: &Value| {
            input.get("id").and_then(Value::as_str).is_some_and(|id| id.starts_with(prefix))
        };
        while let Some(index) = self.inputs()?.iter().position(ours) {
            self.remove(&["inputs"], index)?;
        }
        Ok(())
    }

    /// The result, once it is certain that nothing but our own part of the file means anything else.
    fn checked(self, former: &str, wanted: &Wanted, change: Change) -> Result<Merged, Problem> {
        if others(former, wanted)? != others(&self.text, wanted)? {
            return Err(Problem::whole(
                "merging would have changed more than its own entry; use --print and add it by hand",
            ));
        }
        Ok(Merged { text: self.text, change })
    }
}

/// What a text means without our part of it; containers that are empty without it count as absent.
pub(super) fn others(text: &str, wanted: &Wanted) -> Result<Value, Problem> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed: Value = parse_to_serde_value(body, &lenient())
        .map_err(|error| Problem::whole(format!("this is no JSON: {}", error.kind())))?;
    let Value::Object(mut root) = parsed else { return Ok(json!({})) };
    if let Some(Value::Object(servers)) = root.get_mut(wanted.servers) {
        servers.shift_remove(&wanted.name);
        if servers.is_empty() {
            root.shift_remove(wanted.servers);
        }
    }
    let prefix = prefix(wanted);
    if let Some(Value::Array(inputs)) = root.get_mut("inputs") {
        inputs.retain(|input| {
            !input.get("id").and_then(Value::as_str).is_some_and(|id| id.starts_with(&prefix))
        });
        if inputs.is_empty() {
            root.shift_remove("inputs");
        }
    }
    Ok(Value::Object(root))
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// The one property of that name.
fn property<'a, 'b>(
    object: &'b Object<'a>,
    name: &str,
) -> Result<Option<&'b ObjectProp<'a>>, Problem> {
    let mut named = object.properties.iter().filter(|prop| prop.name.as_str() == name);
    let first = named.next();
    match named.next() {
        Some(second) => {
            let what = format!("'{name}' stands here a second time: remove one of the two");
            Err(Problem::at(second.start(), what))
        }
        None => Ok(first),
    }
}

fn found<'a, 'b>(
    root: Option<&'b Node<'a>>,
    path: &[&str],
) -> Result<Option<&'b ObjectProp<'a>>, Problem> {
    let Some((last, path)) = path.split_last() else { return Ok(None) };
    match find(root, path)? {
        Some(Node::Object(object)) => property(object, last),
        Some(other) => {
            let what = match path.last() {
                Some(name) => format!("'{name}' is not an object: correct or remove it"),
                None => "the file is no JSON object".to_owned(),
            };
            Err(Problem::at(other.start(), what))
        }
        None => Ok(None),
    }
}

fn find<'a, 'b>(
    root: Option<&'b Node<'a>>,
    path: &[&str],
) -> Result<Option<&'b Node<'a>>, Problem> {
    if path.is_empty() {
        return Ok(root);
    }
    Ok(found(root, path)?.map(|prop| &prop.value))
}

fn container(root: Option<&Node>, path: &[&str]) -> Result<Container, Problem> {
    let node = find(root, path)?;
    let (range, children) = match node {
        Some(Node::Object(object)) => {
            let ranges = object.properties.iter().map(|prop| prop.start()..prop.end()).collect();
            (object.range, ranges)
        }
        Some(Node::Array(array)) => {
            let ranges = array.elements.iter().map(|one| one.start()..one.end()).collect();
            (array.range, ranges)
        }
        Some(_) | None => return Err(Problem::whole("the file has no place for the entry")),
    };
    Ok(Container { open: range.start, close: range.end - 1, children })
}

#[cfg(test)]
mod tests;
