//! Random values of a shape, and whether a value has one.
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::domain::shape::{Presence, Scope, Shape};

/// Any JSON.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text(),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,6}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn text() -> BoxedStrategy<Value> {
    prop_oneof!["[a-c \n.ü]{0,8}", any::<String>()].prop_map(Value::from).boxed()
}

fn number() -> BoxedStrategy<Value> {
    prop_oneof![
        (-3..4_i64).prop_map(Value::from),
        (-9..9_i32).prop_map(|n| json!(f64::from(n) / 4.0)),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no infinities", |f| f.is_finite()).prop_map(Value::from),
    ]
    .boxed()
}

/// A value of `shape`.
pub fn value_of(shape: &Shape) -> BoxedStrategy<Value> {
    match shape {
        Shape::Any => any_json().boxed(),
        Shape::Boolean => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Integer(_) => prop_oneof![-3..4_i64, any::<i64>()].prop_map(Value::from).boxed(),
        Shape::Number(_) => number(),
        Shape::Text(_) => text(),
        Shape::Enum(words) => prop::sample::select(words.to_vec()).prop_map(Value::from).boxed(),
        Shape::List(item, range) => {
            let least = usize::try_from(range.min.unwrap_or(0)).expect("a small bound");
            prop::collection::vec(value_of(item), least..least + 4).prop_map(Value::from).boxed()
        }
        Shape::Nullable(inner) => prop_oneof![Just(Value::Null), value_of(inner)].boxed(),
        Shape::Object(object) => {
            let mut fields = Just(Map::new()).boxed();
            for field in &object.fields {
                let value = if field.optional && field.default.is_none() {
                    prop::option::of(value_of(&field.shape)).boxed()
                } else {
                    value_of(&field.shape).prop_map(Some).boxed()
                };
                let name = field.name.clone();
                fields = (fields, value)
                    .prop_map(move |(mut map, value)| {
                        map.extend(value.map(|v| (name.clone(), v)));
                        map
                    })
                    .boxed();
            }
            fields.prop_map(Value::Object).boxed()
        }
    }
}

/// Bindings of a scope.
pub fn bindings_of(scope: &Scope) -> BoxedStrategy<Value> {
    let mut all = Just(Map::new()).boxed();
    for name in scope.names().map(str::to_owned).collect::<Vec<_>>() {
        let Some(binding) = scope.get(&name) else { continue };
        let value = match binding.presence {
            Presence::Always => value_of(&binding.shape).prop_map(Some).boxed(),
            Presence::Maybe(_) => prop::option::of(value_of(&binding.shape)).boxed(),
        };
        all = (all, value)
            .prop_map(move |(mut map, value)| {
                map.extend(value.map(|v| (name.clone(), v)));
                map
            })
            .boxed();
    }
    all.prop_map(Value::Object).boxed()
}

/// Whether `value` is one of `shape`.
pub fn conforms(value: &Value, shape: &Shape) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Nullable(inner) => value.is_null() || conforms(value, inner),
        Shape::Boolean => value.is_boolean(),
        Shape::Integer(_) => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0)
        }
        Shape::Number(_) => value.is_number(),
        Shape::Text(_) => value.is_string(),
        Shape::Enum(words) => value.as_str().is_some_and(|text| words.iter().any(|w| w == text)),
        Shape::List(item, range) => value.as_array().is_some_and(|items| {
            items.iter().all(|i| conforms(i, item))
                && range.min.is_none_or(|min| items.len() as u64 >= min)
                && range.max.is_none_or(|max| items.len() as u64 <= max)
        }),
        Shape::Object(object) => value.as_object().is_some_and(|map| {
            object.fields.iter().all(|f| match map.get(&f.name) {
                None => f.optional,
                Some(Value::Null) if f.optional => true,
                Some(value) => conforms(value, &f.shape),
            })
        }),
    }
}
