//! `vars`: constants with the type of what is written.

use serde_json::{Map, Value};

use crate::definition::lower::Lowering;
use crate::definition::lower::names::{is_name, suggestion};
use crate::definition::page::to_json;
use crate::definition::raw::RawWorkflow;
use crate::definition::yaml::{Kind, Node};
use crate::domain::finding::Code;
use crate::domain::shape::{Field, ListRange, Object, Range, Shape};
use crate::expression::unify;

use super::names::BAD_NAME;

/// A constant that no text could use.
pub const BAD_CONSTANT: Code = Code("P0412");

/// The constants of a workflow.
#[derive(Clone, Debug)]
pub struct Vars {
    /// Name → value.
    pub values: Map<String, Value>,
    /// The type of `vars`.
    pub shape: Shape,
}

impl Lowering<'_> {
    pub(super) fn vars(&mut self, raw: &RawWorkflow<'_>) -> Vars {
        let mut values = Map::new();
        let mut object = Object::default();
        for (key, node) in raw.vars {
            if !is_name(&key.name) {
                self.reader
                    .error(BAD_NAME, &key.span, format!("'{}' cannot name a constant", key.name))
                    .help(format!(
                        "as '{}': lower-case letters, digits and _, at most 48",
                        suggestion(&key.name)
                    ));
                continue;
            }
            let shape = self.constant(node, &format!("`vars`: '{}'", key.name));
            object.fields.push(field(&key.name, shape));
            values.insert(key.name.clone(), to_json(node));
        }
        Vars { values, shape: object.into() }
    }

    /// The type of a constant; problems are reported where they stand.
    fn constant(&mut self, node: &Node, owner: &str) -> Shape {
        match &node.kind {
            Kind::Scalar(_) => match to_json(node) {
                Value::Bool(_) => Shape::Boolean,
                Value::Number(number) if number.is_f64() => Shape::Number(Range::default()),
                Value::Number(_) => Shape::Integer(Range::default()),
                Value::String(_) => Shape::text(),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    self.reader
                        .error(BAD_CONSTANT, &node.span, format!("{owner} has no value"))
                        .help("write a text, a number, true or false, a list or a mapping");
                    Shape::Any
                }
            },
            Kind::List(items) => {
                let mut common: Option<Shape> = None;
                for item in items {
                    let shape = self.constant(item, owner);
                    let both = common.as_ref().map(|known| unify::union(known, &shape));
                    common = Some(match (common, both) {
                        (None, _) => shape,
                        (Some(_), Some(Some(both))) => both,
                        (Some(known), _) => {
                            let message = format!(
                                "{owner}: a list's items must be of one type, and these are {} and {}",
                                known.describe(),
                                shape.describe()
                            );
                            self.reader
                                .error(BAD_CONSTANT, &item.span, message)
                                .help("make them alike, or give them names in a mapping");
                            Shape::Any
                        }
                    });
                }
                let count = Some(items.len() as u64);
                let range = ListRange { min: count, max: count };
                common.map_or_else(unify::empty_list, |item| Shape::List(item.into(), range))
            }
            Kind::Map(entries) => {
                let fields = entries.iter().map(|(key, value)| {
                    let owner = format!("{owner}, '{}'", key.name);
                    field(&key.name, self.constant(value, &owner))
                });
                Shape::from(Object { fields: fields.collect(), open: false })
            }
        }
    }
}

fn field(name: &str, shape: Shape) -> Field {
    Field { name: name.to_owned(), shape, optional: false, default: None, about: None }
}
