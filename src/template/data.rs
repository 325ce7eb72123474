//! JSON as the template engine sees it: keys in their order, and what is missing an object of its own.
//!
//! The engine's own undefined value fails on the second step of `gaps.score.value | default(0)`. [`Absent`] stays
//! absent however far it is followed, is false, and fails wherever it is printed or looped over. A null is absent
//! too: in templates the two are the same thing.
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectExt, ObjectRepr, ValueKind};
use serde_json::Value as Json;

/// What is not there.
#[derive(Debug)]
pub struct Absent;

/// A JSON object.
#[derive(Debug)]
pub struct Record {
    keys: Vec<Value>,
    values: HashMap<String, Value>,
}

/// A JSON array; it may have a second view, as `answer.items` beside `answer`.
#[derive(Debug)]
pub struct Rows {
    items: Vec<Value>,
    views: HashMap<String, Value>,
}

/// The value of `json`.
pub fn value(json: &Json) -> Value {
    match json {
        Json::Null => absent(),
        Json::Bool(b) => Value::from(*b),
        Json::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => Value::from(n),
            (None, Some(n)) => Value::from(n),
            (None, None) => Value::from(n.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => rows(items, HashMap::new()),
        Json::Object(map) => {
            let keys = map.keys().map(|k| Value::from(k.as_str())).collect();
            let values = map.iter().map(|(k, v)| (k.clone(), value(v))).collect();
            Value::from_object(Record { keys, values })
        }
    }
}

fn rows(items: &[Json], views: HashMap<String, Value>) -> Value {
    Value::from_object(Rows { items: items.iter().map(value).collect(), views })
}

/// Bindings as templates see them: converted once, rendered from many times. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    values: HashMap<String, Value>,
}

impl Bound {
    /// `bindings` (name → value), dotted names as views of what they name.
    #[must_use]
    pub fn of(bindings: &serde_json::Map<String, Json>) -> Self {
        let mut values: HashMap<String, Value> = HashMap::new();
        for (name, bound) in bindings.iter().filter(|(name, _)| !name.contains('.')) {
            let views: HashMap<String, Value> = bindings
                .iter()
                .filter_map(|(k, v)| {
                    Some((k.strip_prefix(name)?.strip_prefix('.')?.to_owned(), value(v)))
                })
                .collect();
            let bound = match bound {
                Json::Array(items) => rows(items, views),
                other => value(other),
            };
            values.insert(name.clone(), bound);
        }
        Self { values }
    }

    /// Binds one name more, or anew.
    pub fn bind(&mut self, name: &str, bound: &Json) {
        self.values.insert(name.to_owned(), value(bound));
    }

    /// The root a template is rendered with.
    pub(super) fn root(&self) -> Value {
        Value::from_object(Record { keys: Vec::new(), values: self.values.clone() })
    }
}

/// What is not there, as a value.
pub fn absent() -> Value {
    Value::from_object(Absent)
}

/// Whether a value is missing: absent, undefined or none.
pub fn is_missing(value: &Value) -> bool {
    value.is_undefined() || value.is_none() || value.downcast_object_ref::<Absent>().is_some()
}

/// The value as JSON; what is missing is null.
pub fn json(value: &Value) -> Json {
    if is_missing(value) {
        return Json::Null;
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter().map(|items| items.map(|i| json(&i)).collect()).unwrap_or_default()
        }
        ValueKind::Map => {
            let mut map = serde_json::Map::new();
            for key in value.try_iter().into_iter().flatten() {
                let below = value.get_item(&key).map_or(Json::Null, |v| json(&v));
                map.insert(key.to_string(), below);
            }
            Json::Object(map)
        }
        _ => serde_json::to_value(value).unwrap_or_default(),
    }
}

impl Object for Absent {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, _: &Value) -> Option<Value> {
        Some(absent())
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null")
    }
}

impl Object for Record {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.values.get(key.as_str()?).cloned()
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(self.values.get(key).cloned().unwrap_or_else(absent))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.keys.clone())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", json(&Value::from_dyn_object(Arc::clone(self))))
    }
}

impl Object for Rows {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_usize() {
            Some(at) => Some(self.items.get(at).cloned().unwrap_or_else(absent)),
            None => self.views.get(key.as_str()?).cloned(),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_enumerator(|rows| Box::new(rows.items.iter().cloned()))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", json(&Value::from_dyn_object(Arc::clone(self))))
    }
}
