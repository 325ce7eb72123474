//! What the functions do.
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::chunk;
use super::evaluate::{Evaluator, equal};
use super::function::Function;
use super::number::Number;

impl Evaluator<'_> {
    /// The value of a call; null where an argument is null or does not fit.
    pub fn call(&self, function: Function, args: &[Cow<'_, Value>]) -> Value {
        let null = Value::Null;
        let first = args.first().map_or(&null, |v| &**v);
        let second = args.get(1).map_or(&null, |v| &**v);
        self.result(function, first, second, args).unwrap_or(Value::Null)
    }

    fn result(
        &self,
        function: Function,
        first: &Value,
        second: &Value,
        args: &[Cow<'_, Value>],
    ) -> Option<Value> {
        Some(match function {
            Function::Length => match first {
                Value::String(text) => Value::from(text.chars().count()),
                other => Value::from(self.list(other)?.len()),
            },
            Function::Sum => {
                let zero = Number::Exact(0.into());
                let numbers = self.numbers(self.list(first)?);
                numbers.into_iter().fold(zero, Number::add).to_json()
            }
            Function::Min => self.extreme(args, |a, b| a.compare(b).is_lt())?,
            Function::Max => self.extreme(args, |a, b| a.compare(b).is_gt())?,
            Function::Round => {
                let digits = if args.len() == 1 { 0 } else { self.count(second)? };
                self.number(first)?.round(u32::try_from(digits).unwrap_or(28)).to_json()
            }
            Function::Contains => Value::Bool(match first {
                Value::String(text) => text.contains(self.text(second)?),
                other => self.list(other)?.iter().any(|item| equal(item, second)),
            }),
            Function::StartsWith => Value::Bool(self.text(first)?.starts_with(self.text(second)?)),
            Function::Lower => Value::String(self.text(first)?.to_lowercase()),
            Function::Trim => Value::String(self.text(first)?.trim().to_owned()),
            Function::Split => {
                let (text, separator) = (self.text(first)?, self.text(second)?);
                if separator.is_empty() { texts([text]) } else { texts(text.split(separator)) }
            }
            Function::Chunks => {
                let (text, tokens) = (self.text(first)?, self.count(second)?);
                texts(chunk::chunks(text, tokens as u64))
            }
            Function::Batches => {
                let (list, size) = (self.list(first)?, self.count(second)?.max(1));
                list.chunks(size).map(<[Value]>::to_vec).collect()
            }
            Function::Flatten => self.flatten(self.list(first)?),
            Function::Unique => unique(self.list(first)?),
            Function::Take => {
                let (list, count) = (self.list(first)?, self.count(second)?);
                list.iter().take(count).cloned().collect()
            }
            Function::Join => {
                let (list, separator) = (self.list(first)?, self.text(second)?);
                let parts: Vec<&str> = list.iter().filter_map(|item| self.text(item)).collect();
                Value::String(parts.join(separator))
            }
            Function::Keys => match first {
                Value::Object(map) => texts(map.keys().map(String::as_str)),
                other => return self.misfit(other),
            },
        })
    }

    fn text<'t>(&self, value: &'t Value) -> Option<&'t str> {
        value.as_str().or_else(|| self.misfit(value))
    }

    fn list<'t>(&self, value: &'t Value) -> Option<&'t [Value]> {
        value.as_array().map(Vec::as_slice).or_else(|| self.misfit(value))
    }

    /// A count; below zero it is zero.
    fn count(&self, value: &Value) -> Option<usize> {
        let number = self.number(value)?;
        if number.compare(Number::Exact(0.into())).is_lt() {
            return Some(0);
        }
        Some(number.as_integer().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX))
    }

    /// The numbers of a list, nulls passed over.
    fn numbers(&self, list: &[Value]) -> Vec<Number> {
        list.iter().filter_map(|item| self.number(item)).collect()
    }

    fn extreme(
        &self,
        args: &[Cow<'_, Value>],
        better: fn(Number, Number) -> bool,
    ) -> Option<Value> {
        let numbers = match args {
            [list] => self.numbers(self.list(list)?),
            many => {
                let all: Option<Vec<Number>> = many.iter().map(|a| self.number(a)).collect();
                all?
            }
        };
        let best = numbers.into_iter().reduce(|best, n| if better(n, best) { n } else { best })?;
        Some(best.to_json())
    }

    fn flatten(&self, list: &[Value]) -> Value {
        let mut flat = Vec::new();
        for item in list {
            if let Some(items) = self.list(item) {
                flat.extend_from_slice(items);
            }
        }
        Value::Array(flat)
    }
}

fn texts<'t>(parts: impl IntoIterator<Item = &'t str>) -> Value {
    parts.into_iter().map(|part| Value::String(part.to_owned())).collect()
}

fn unique(list: &[Value]) -> Value {
    let mut seen = HashSet::new();
    list.iter().filter(|item| seen.insert(canonical(item))).cloned().collect()
}

/// A text that two values share where they are [`equal`].
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => Number::from_json(number).to_json().to_string(),
        Value::Array(items) => {
            let mut text = String::from("[");
            for item in items {
                let _ = write!(text, "{},", canonical(item));
            }
            text + "]"
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            let mut text = String::from("{");
            for key in keys {
                let below = map.get(key).map(canonical).unwrap_or_default();
                let _ = write!(text, "{}:{below},", Value::String(key.clone()));
            }
            text + "}"
        }
        other => other.to_string(),
    }
}
