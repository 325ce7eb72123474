//! Our entry in Codex's `config.toml`, put in and taken out as text.

use std::ops::Range;

use serde_json::{Map, Value as Json};
use toml_edit::{Document, Item, Table, TableLike, Value};

use super::edit::{Change, Merged, Problem, line_end, line_start, spliced};

/// The table of servers.
const SERVERS: &str = "mcp_servers";
/// Keys of an entry whose values are ours, whatever stands there.
const OURS: [&str; 2] = ["command", "args"];

type File<'a> = Document<&'a str>;

/// The text with an entry in it. Of one that is there already, `command` and `args` are replaced, other keys are
/// added where missing, and lists get the members that they lack.
///
/// # Errors
/// It is no TOML, or of another form.
pub fn put(text: &str, name: &str, entry: &Map<String, Json>) -> Result<Merged, Problem> {
    let file = parsed(text)?;
    let Some(item) = server(&file, name)? else {
        let new = appended(text, &table(name, entry, line_end(text)));
        return checked(text, new, name, Change::Added);
    };
    let Some(there) = item.as_table_like() else {
        return Err(problem(item, name, "is not a table: correct or remove it"));
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut missing = Vec::new();
    for (key, wanted) in entry {
        let Some(old) = there.get(key) else {
            missing.push((key.as_str(), wanted.clone()));
            continue;
        };
        let wanted = if OURS.contains(&key.as_str()) { wanted.clone() } else { union(old, wanted) };
        if !same(old, &wanted) {
            let span = old.span().ok_or_else(|| problem(item, key, "cannot be replaced here"))?;
            edits.push((span, value(&wanted)));
        }
    }
    if !missing.is_empty() {
        edits.push(more(text, item, there, name, &missing)?);
    }
    if edits.is_empty() {
        return Ok(Merged { text: text.to_owned(), change: Change::Nothing });
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut new = text.to_owned();
    for (range, with) in edits.into_iter().rev() {
        new = spliced(&new, range, &with);
    }
    checked(text, new, name, Change::Updated)
}

/// The text without the entry.
///
/// # Errors
/// It is no TOML, or the entry is not a table of its own.
pub fn take(text: &str, name: &str) -> Result<Merged, Problem> {
    let file = parsed(text)?;
    let Some(item) = server(&file, name)? else {
        return Ok(Merged { text: text.to_owned(), change: Change::Nothing });
    };
    let mut ranges = Vec::new();
    match item {
        Item::Table(table) if !table.is_dotted() => tables(text, table, &mut ranges),
        Item::Value(one) => ranges.extend(one.span().map(|span| lines(text, span))),
        Item::Table(_) | Item::ArrayOfTables(_) | Item::None => {}
    }
    if ranges.is_empty() || text[ranges[0].start..].trim_start().starts_with('{') {
        return Err(problem(item, name, "is not a table of its own: remove it by hand"));
    }
    ranges.sort_by_key(|range| range.start);
    let mut new = text.to_owned();
    for range in ranges.into_iter().rev() {
        // The empty line that parted the table from what stands before it goes along at the end of the file.
        let before = &new[..range.start];
        let blank = before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n'));
        let blank = blank.filter(|rest| rest.ends_with('\n') && range.end == new.len());
        let start = blank.map_or(range.start, str::len);
        new = spliced(&new, start..range.end, "");
    }
    checked(text, new, name, Change::Removed)
}

/// The command of the entry, and where the entry stands.
///
/// # Errors
/// It is no TOML.
pub fn command(text: &str, name: &str) -> Result<Option<(usize, String)>, Problem> {
    let file = parsed(text)?;
    let Some(item) = server(&file, name)? else { return Ok(None) };
    let command = item.get("command").and_then(Item::as_str).unwrap_or_default().to_owned();
    Ok(Some((start(item), command)))
}

/// An entry as a table of its own.
pub fn table(name: &str, entry: &Map<String, Json>, end: &str) -> String {
    let pairs = entry.iter().map(|(key, one)| format!("{key} = {}{end}", value(one)));
    [format!("[{SERVERS}.{name}]{end}")].into_iter().chain(pairs).collect()
}

fn parsed(text: &str) -> Result<File<'_>, Problem> {
    Document::parse(text).map_err(|error| {
        let what = format!("this is no TOML: {}", error.message());
        Problem { at: Some(error.span().map_or(text.len(), |span| span.start)), what }
    })
}

fn start(item: &Item) -> usize {
    item.span().map_or(0, |span| span.start)
}

fn problem(item: &Item, name: &str, what: &str) -> Problem {
    let at = item.span().map(|span| span.start);
    Problem { at, what: format!("'{name}' {what}") }
}

fn server<'a>(file: &'a File<'_>, name: &str) -> Result<Option<&'a Item>, Problem> {
    let Some(servers) = file.as_table().get(SERVERS) else { return Ok(None) };
    match servers {
        Item::Table(table) => Ok(table.get(name)),
        Item::Value(_) | Item::ArrayOfTables(_) | Item::None => {
            let what = format!("is not written as tables: write [{SERVERS}.NAME] for each server");
            Err(problem(servers, SERVERS, &what))
        }
    }
}

/// The text with a table behind everything else.
fn appended(text: &str, table: &str) -> String {
    let end = line_end(text);
    let bare = text.trim_start_matches('\u{feff}');
    let before = match bare {
        "" => String::new(),
        _ if bare.ends_with("\n\n") || bare.ends_with("\r\n\r\n") => String::new(),
        _ if bare.ends_with('\n') => end.to_owned(),
        _ => [end, end].concat(),
    };
    [text, &before, table].concat()
}

/// Where further keys of an entry go, and their text.
fn more(
    text: &str,
    item: &Item,
    there: &dyn TableLike,
    name: &str,
    missing: &[(&str, Json)],
) -> Result<(Range<usize>, String), Problem> {
    let end = line_end(text);
    let pairs = missing.iter().map(|(key, one)| format!("{key} = {}", value(one)));
    let spans = there.iter().filter_map(|(_, one)| one.as_value()?.span());
    let last = spans.map(|span| span.end).max();
    match item {
        Item::Value(Value::InlineTable(_)) => {
            let last = last.ok_or_else(|| problem(item, name, "is empty: remove it"))?;
            let pairs: String = pairs.flat_map(|pair| [", ".to_owned(), pair]).collect();
            Ok((last..last, pairs))
        }
        Item::Table(table) if !table.is_dotted() && !table.is_implicit() => {
            let from = last.unwrap_or_else(|| item.span().map_or(0, |span| span.end));
            let at = text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
            let before = if text[..at].ends_with('\n') { "" } else { end };
            let pairs: String = pairs.map(|pair| [&pair, end].concat()).collect();
            Ok((at..at, [before, &pairs].concat()))
        }
        _ => Err(problem(item, name, "is not a table of its own: remove it, then run this again")),
    }
}

/// The lines of a table and of the tables in it.
fn tables(text: &str, table: &Table, into: &mut Vec<Range<usize>>) {
    let spans = table.iter().filter_map(|(_, one)| values_end(one));
    let header = table.span().filter(|_| !table.is_implicit());
    if let Some(header) = header {
        let last = spans.max().unwrap_or(header.end).max(header.end);
        into.push(lines(text, header.start..last));
    }
    for (_, one) in table {
        if let Item::Table(inner) = one
            && !inner.is_dotted()
        {
            tables(text, inner, into);
        }
        for inner in one.as_array_of_tables().into_iter().flatten() {
            tables(text, inner, into);
        }
    }
}

/// Where a value ends, or the last of those under a dotted key.
fn values_end(item: &Item) -> Option<usize> {
    match item {
        Item::Value(one) => one.span().map(|span| span.end),
        Item::Table(table) if table.is_dotted() => {
            table.iter().filter_map(|(_, one)| values_end(one)).max()
        }
        Item::Table(_) | Item::ArrayOfTables(_) | Item::None => None,
    }
}

/// The whole lines of a range.
fn lines(text: &str, range: Range<usize>) -> Range<usize> {
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
    line_start(text, range.start)..end
}

fn value(json: &Json) -> String {
    match json {
        Json::String(text) => Value::from(text.as_str()).to_string(),
        Json::Array(list) => {
            let list: Vec<String> = list.iter().map(value).collect();
            format!("[{}]", list.join(", "))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => json.to_string(),
    }
}

/// The old value, and what a wanted list has beyond it.
fn union(old: &Item, wanted: &Json) -> Json {
    let mut union = json(old);
    if let (Json::Array(old), Json::Array(wanted)) = (&mut union, wanted) {
        let missing: Vec<Json> = wanted.iter().filter(|one| !old.contains(one)).cloned().collect();
        old.extend(missing);
    }
    union
}

fn same(old: &Item, wanted: &Json) -> bool {
    json(old) == *wanted
}

/// A TOML value as JSON, for comparing; dates as text.
fn json(item: &Item) -> Json {
    if let Some(table) = item.as_table_like() {
        return table.iter().map(|(key, one)| (key.to_owned(), json(one))).collect();
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|one| json(&Item::Table(one.clone()))).collect();
    }
    match item.as_value() {
        Some(Value::String(text)) => Json::from(text.value().as_str()),
        Some(Value::Integer(number)) => Json::from(*number.value()),
        Some(Value::Float(number)) => Json::from(*number.value()),
        Some(Value::Boolean(one)) => Json::from(*one.value()),
        Some(Value::Datetime(date)) => Json::from(date.value().to_string()),
        Some(Value::Array(list)) => {
            list.iter().map(|one| json(&Item::Value(one.clone()))).collect()
        }
        Some(Value::InlineTable(_)) | None => Json::Null,
    }
}

/// What a text means without our entry; a table of servers that is empty without it counts as absent.
pub(super) fn others(text: &str, name: &str) -> Result<Json, Problem> {
    let file = parsed(text)?;
    let mut all = json(file.as_item());
    if let Some(Json::Object(servers)) = all.get_mut(SERVERS) {
        servers.shift_remove(name);
        if servers.is_empty()
            && let Json::Object(all) = &mut all
        {
            all.shift_remove(SERVERS);
        }
    }
    Ok(all)
}

/// The result, once it is certain that nothing but our own entry means anything else.
fn checked(former: &str, text: String, name: &str, change: Change) -> Result<Merged, Problem> {
    // What does not parse any more was written in a way that tables cannot be added to.
    let same = others(&text, name).is_ok_and(|new| others(former, name) == Ok(new));
    if !same {
        return Err(Problem::whole(
            "merging would have changed more than its own entry; use --print and add it by hand",
        ));
    }
    Ok(Merged { text, change })
}

#[cfg(test)]
mod tests;
