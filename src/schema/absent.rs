//! Absence: an explicit null for an optional field counts as absent (models that must name every key send
//! it), and an absent field with a default holds the default.

use serde_json::{Map, Value};

use crate::domain::shape::{Field, Shape};

pub(super) fn drop_absent(shape: &Shape, value: Value) -> Value {
    match (shape, value) {
        (Shape::Nullable(inner), value) => drop_absent(inner, value),
        (Shape::List(item, _), Value::Array(items)) => {
            items.into_iter().map(|value| drop_absent(item, value)).collect()
        }
        (Shape::Object(object), Value::Object(map)) => {
            let mut kept = Map::new();
            for (key, value) in map {
                match object.field(&key) {
                    Some(field) if value.is_null() && may_be_dropped(field) => {}
                    Some(field) => {
                        kept.insert(key, drop_absent(&field.shape, value));
                    }
                    None => {
                        kept.insert(key, value);
                    }
                }
            }
            Value::Object(kept)
        }
        (_, value) => value,
    }
}

/// Null is a value of its own where the shape holds it.
fn may_be_dropped(field: &Field) -> bool {
    let holds_null = matches!(field.shape, Shape::Nullable(_) | Shape::Any);
    (field.optional || field.default.is_some()) && !holds_null
}

pub(super) fn fill_defaults(shape: &Shape, value: Value) -> Value {
    match (shape, value) {
        (Shape::Nullable(inner), value) => fill_defaults(inner, value),
        (Shape::List(item, _), Value::Array(items)) => {
            items.into_iter().map(|value| fill_defaults(item, value)).collect()
        }
        (Shape::Object(object), Value::Object(mut map)) => {
            for field in &object.fields {
                let present = map.get_mut(&field.name).map(Value::take);
                if let Some(value) = present.or_else(|| field.default.clone()) {
                    map.insert(field.name.clone(), fill_defaults(&field.shape, value));
                }
            }
            Value::Object(map)
        }
        (_, value) => value,
    }
}
