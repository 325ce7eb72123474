//! Values of a shape, its gaps and edges among them: absent fields, nulls, empty lists, odd texts.

use punctual::domain::shape::Shape;
use serde_json::{Map, Value, json};

use super::luck::Luck;

const TEXTS: [&str; 8] = [
    "",
    "a",
    "high",
    "Two words. And more!\n\nThird.",
    "{{ input.text }}",
    "\u{1F600} é",
    "\"'",
    "0",
];

pub fn value(shape: &Shape, luck: &mut Luck) -> Value {
    match shape {
        Shape::Any => luck.pick(&[json!(null), json!(1), json!("x"), json!([]), json!({})]).clone(),
        Shape::Boolean => Value::from(luck.percent(50)),
        Shape::Integer(_) => Value::from(luck.below(5)),
        Shape::Number(_) => luck.pick(&[json!(0), json!(0.1), json!(-2.5), json!(1e9)]).clone(),
        Shape::Text(_) => Value::from(*luck.pick(&TEXTS)),
        Shape::Enum(words) => Value::from(luck.pick(words).as_str()),
        Shape::List(item, _) => (0..luck.below(4)).map(|_| value(item, luck)).collect(),
        Shape::Nullable(_) if luck.percent(50) => Value::Null,
        Shape::Nullable(inner) => value(inner, luck),
        Shape::Object(object) => {
            let mut map = Map::new();
            for field in &object.fields {
                if !field.optional || luck.percent(50) {
                    map.insert(field.name.clone(), value(&field.shape, luck));
                }
            }
            Value::Object(map)
        }
    }
}
