//! Validation errors as sentences: what was expected, what was there, and where. They go to callers in error
//! texts and to models in repair turns, so they name fields and quote little.

use std::io;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ErrorIterator, ValidationError};
use serde_json::Value;

use super::{MAX_VIOLATIONS, SchemaError, Violation};

/// Characters of a value that a message quotes.
const QUOTED: usize = 80;
/// Errors looked at before they are put in order.
const LOOKED_AT: usize = 1_000;
/// Words of an enum that a message lists.
const LISTED: usize = 12;

/// Errors as violations, in the order of the value's text.
pub(super) fn of_value(errors: ErrorIterator<'_>, value: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    for error in errors.take(LOOKED_AT) {
        render(&error, &mut violations);
    }
    violations.sort_by_cached_key(|violation| place_in(value, &violation.pointer));
    violations.dedup();
    violations.truncate(MAX_VIOLATIONS);
    violations
}

/// The error of a schema that does not fit the meta-schema, or does not compile.
pub(super) fn of_schema(error: &ValidationError<'_>) -> SchemaError {
    let mut rendered = Vec::new();
    render(error, &mut rendered);
    let pointer = error.instance_path().as_str().to_owned();
    match rendered.into_iter().next() {
        Some(first) => SchemaError { pointer: first.pointer, message: first.message },
        None => SchemaError { pointer, message: clipped(&error.to_string(), 300) },
    }
}

/// Positions of the pointer's segments among their siblings: sorts as the value is written.
fn place_in(value: &Value, pointer: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut here = Some(value);
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        let (place, next) = match here {
            Some(Value::Object(map)) => {
                (map.keys().position(|key| *key == segment), map.get(&segment))
            }
            Some(Value::Array(items)) => {
                let index = segment.parse::<usize>().ok();
                (index, index.and_then(|index| items.get(index)))
            }
            _ => (None, None),
        };
        places.push(place.unwrap_or(usize::MAX));
        here = next;
    }
    places
}

fn render(error: &ValidationError<'_>, out: &mut Vec<Violation>) {
    let value: &Value = error.instance();
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            if let Some(branch) = meant(context, error) {
                for inner in branch {
                    render(inner, out);
                }
                return;
            }
            let expected = expectations(context);
            push(error, format!("expected {expected}, got {}", got(value)), out);
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_VIOLATIONS) {
                push(error, format!("field '{}' is not allowed", clipped(name, QUOTED)), out);
            }
        }
        Kind::PropertyNames { error: inner } => {
            let mut names = Vec::new();
            render(inner, &mut names);
            let reason = names.first().map_or_else(String::new, |first| first.message.clone());
            push(error, format!("a field's name does not fit: {reason}"), out);
        }
        kind => push(error, sentence(kind, value, error), out),
    }
}

fn push(error: &ValidationError<'_>, message: String, out: &mut Vec<Violation>) {
    let pointer = error.instance_path().as_str().to_owned();
    out.push(Violation { pointer, message });
}

/// The branch of an `anyOf` that the value was meant for: the only one it has the right type for.
fn meant<'a>(
    context: &'a [Vec<ValidationError<'static>>],
    error: &ValidationError<'_>,
) -> Option<&'a [ValidationError<'static>]> {
    let here = error.instance_path().as_str();
    let mut fitting = context.iter().filter(|branch| {
        !branch.is_empty()
            && !branch.iter().any(|inner| {
                inner.instance_path().as_str() == here && matches!(inner.kind(), Kind::Type { .. })
            })
    });
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first.as_slice())
}

/// `string or null`, from what each branch expected at the value itself.
fn expectations(context: &[Vec<ValidationError<'static>>]) -> String {
    let mut types: Vec<String> = Vec::new();
    for inner in context.iter().filter_map(|branch| branch.first()) {
        let expected = match inner.kind() {
            Kind::Type { kind } => type_name(kind),
            Kind::Enum { options } => listed(options),
            Kind::Constant { expected_value } => quoted(expected_value),
            _ => continue,
        };
        if !types.contains(&expected) {
            types.push(expected);
        }
    }
    match types.split_last() {
        None => "a value that fits one of the alternatives".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

fn sentence(kind: &Kind, value: &Value, error: &ValidationError<'_>) -> String {
    let got = got(value);
    match kind {
        Kind::Type { kind } => format!("expected {}, got {got}", type_name(kind)),
        Kind::Required { property } => {
            let name = property.as_str().map_or_else(|| quoted(property), str::to_owned);
            format!("missing field '{name}'")
        }
        Kind::Enum { options } => format!("expected {}, got {got}", listed(options)),
        Kind::Constant { expected_value } => {
            format!("expected {}, got {got}", quoted(expected_value))
        }
        Kind::Minimum { limit } => format!("expected at least {limit}, got {got}"),
        Kind::Maximum { limit } => format!("expected at most {limit}, got {got}"),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}, got {got}"),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}, got {got}"),
        Kind::MultipleOf { multiple_of } => {
            format!("expected a multiple of {multiple_of}, got {got}")
        }
        Kind::MinLength { limit } => {
            format!("expected at least {limit} characters, got {}: {got}", length(value))
        }
        Kind::MaxLength { limit } => {
            format!("expected at most {limit} characters, got {}: {got}", length(value))
        }
        Kind::Pattern { pattern } => {
            format!("expected text matching {}, got {got}", clipped(pattern, QUOTED))
        }
        Kind::MinItems { limit } => {
            format!("expected at least {limit} items, got {}", length(value))
        }
        Kind::MaxItems { limit } => {
            format!("expected at most {limit} items, got {}", length(value))
        }
        Kind::AdditionalItems { limit } => {
            format!("expected at most {limit} items, got {}", length(value))
        }
        Kind::MinProperties { limit } => {
            format!("expected at least {limit} fields, got {}", length(value))
        }
        Kind::MaxProperties { limit } => {
            format!("expected at most {limit} fields, got {}", length(value))
        }
        Kind::UniqueItems => "expected different items, got the same one twice".to_owned(),
        Kind::Contains => "expected an item that fits 'contains', got none".to_owned(),
        Kind::FalseSchema => format!("nothing is allowed here, got {got}"),
        Kind::Not { .. } => format!("this is excluded by 'not': {got}"),
        Kind::OneOfMultipleValid { .. } => {
            format!("fits more than one of the alternatives, which exclude each other: {got}")
        }
        _ => clipped(&error.to_string(), 300),
    }
}

fn type_name(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(single) => single.to_string(),
        TypeKind::Multiple(several) => {
            several.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn listed(options: &Value) -> String {
    let Value::Array(words) = options else { return quoted(options) };
    let mut listed: Vec<String> = words
        .iter()
        .take(LISTED)
        .map(|word| word.as_str().map_or_else(|| quoted(word), |word| format!("'{word}'")))
        .collect();
    if words.len() > LISTED {
        listed.push(format!("… ({} in all)", words.len()));
    }
    if let [only] = listed.as_slice() {
        return only.clone();
    }
    format!("one of {}", listed.join(", "))
}

fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    }
}

/// The value with its type: `string "12"`, `null`, `array [1,2]`.
fn got(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("{kind} {}", quoted(value))
}

/// The value's JSON, cut after [`QUOTED`] characters without writing out the rest.
fn quoted(value: &Value) -> String {
    let mut head = Head(Vec::new());
    // Fails exactly when the head is full.
    let _ = serde_json::to_writer(&mut head, value);
    clipped(&String::from_utf8_lossy(&head.0), QUOTED)
}

fn clipped(text: &str, most: usize) -> String {
    let text = text.trim_end_matches('\u{FFFD}');
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Keeps the first bytes written, enough for [`QUOTED`] characters and to see that there are more.
struct Head(Vec<u8>);

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (4 * (QUOTED + 1)).saturating_sub(self.0.len());
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(room);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
