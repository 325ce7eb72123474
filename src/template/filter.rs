//! The closed lists of filters and tests, and the types of filters.
use std::ops::Range as Bytes;

use minijinja::machinery::ast::{CallArg, Expr, Filter};
use minijinja::value::ValueKind;

use crate::domain::shape::{ListRange, Range, Shape};
use crate::expression::code;
use crate::expression::reference::candidates;
use crate::expression::unify::{describe, is_empty_list, is_number, is_text, nullable, strip};

use super::check::{Checker, Seen};
use super::statement::values;

/// What a filter takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Anything,
    Text,
    Number,
    List,
    Object,
    /// Text, list or object.
    Sized,
    /// List or object.
    Listable,
}

/// A filter: its name, what it takes, and most arguments.
const FILTERS: [(&str, Takes, usize); 30] = [
    ("abs", Takes::Number, 0),
    ("batch", Takes::List, 2),
    ("capitalize", Takes::Text, 0),
    ("count", Takes::Sized, 0),
    ("d", Takes::Anything, 1),
    ("default", Takes::Anything, 1),
    ("dictsort", Takes::Object, 3),
    ("first", Takes::List, 0),
    ("indent", Takes::Text, 3),
    ("items", Takes::Object, 0),
    ("join", Takes::List, 1),
    ("last", Takes::List, 0),
    ("length", Takes::Sized, 0),
    ("list", Takes::Listable, 0),
    ("lower", Takes::Text, 0),
    ("map", Takes::List, 1),
    ("max", Takes::List, 0),
    ("min", Takes::List, 0),
    ("rejectattr", Takes::List, 3),
    ("replace", Takes::Text, 2),
    ("reverse", Takes::List, 0),
    ("round", Takes::Number, 1),
    ("selectattr", Takes::List, 3),
    ("sort", Takes::List, 3),
    ("sum", Takes::List, 0),
    ("title", Takes::Text, 0),
    ("tojson", Takes::Anything, 1),
    ("trim", Takes::Text, 0),
    ("unique", Takes::List, 2),
    ("upper", Takes::Text, 0),
];

/// The tests of `is`.
const TESTS: [&str; 23] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "even",
    "false",
    "ge",
    "gt",
    "in",
    "integer",
    "le",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sequence",
    "startingwith",
    "string",
    "true",
    "undefined",
];

/// Whether there is a filter of that name.
pub fn is_filter(name: &str) -> bool {
    FILTERS.iter().any(|(n, ..)| *n == name)
}

/// Whether there is a test of that name.
pub fn is_test(name: &str) -> bool {
    TESTS.contains(&name)
}

/// What to say of a filter that does not exist, and what to do.
pub fn unknown_filter(name: &str) -> (String, String) {
    let message = format!("there is no filter '{name}'");
    if matches!(name, "safe" | "escape" | "e") {
        return (message, "nothing is escaped: leave it out".to_owned());
    }
    let names: Vec<&str> = FILTERS.iter().map(|(n, ..)| *n).collect();
    let listed = names.join(", ");
    let help = match crate::domain::finding::did_you_mean(name, names.iter().copied()) {
        Some(close) => format!("did you mean '{close}'? filters: {listed}"),
        None => format!("filters: {listed}"),
    };
    (message, help)
}

/// What to say of a test that does not exist, and what to do.
pub fn unknown_test(name: &str) -> (String, String) {
    (format!("there is no test '{name}'"), candidates(name, &TESTS, "tests"))
}

/// The expression of an argument.
pub fn argument<'e, 'a>(arg: &'e CallArg<'a>) -> &'e Expr<'a> {
    match arg {
        CallArg::Pos(e) | CallArg::Kwarg(_, e) | CallArg::PosSplat(e) | CallArg::KwargSplat(e) => e,
    }
}

/// The type of a constant.
pub fn constant(value: &minijinja::Value) -> Seen {
    if let Some(text) = value.as_str() {
        return Seen::of(Shape::Enum(vec![text.to_owned()]));
    }
    match value.kind() {
        ValueKind::Bool => Seen::of(Shape::Boolean),
        ValueKind::Number if value.is_integer() => Seen::of(Shape::Integer(Range::default())),
        ValueKind::Number => Seen::of(Shape::Number(Range::default())),
        ValueKind::None => {
            Seen { shape: Shape::Any, missing: Some("`none` is nothing".to_owned()) }
        }
        _ => Seen::any(),
    }
}

impl Checker<'_> {
    /// What a filter yields of `shape`.
    pub fn filtered(
        &mut self,
        filter: &Filter<'_>,
        input: &Expr<'_>,
        shape: &Shape,
        range: Bytes<usize>,
        text: &str,
    ) -> Seen {
        let Some((name, takes, most)) = FILTERS.iter().find(|(n, ..)| *n == filter.name) else {
            return Seen::any();
        };
        if filter.args.len() > *most {
            let plural = if *most == 1 { "" } else { "s" };
            let message = format!("'{name}' takes at most {most} argument{plural}");
            self.add(code::ARGUMENT, range.clone(), message, None);
        }
        if *shape == Shape::Any && *takes != Takes::Text && *takes != Takes::Anything {
            return Seen::any();
        }
        let (fits, what) = match takes {
            Takes::Anything => (true, ""),
            Takes::Text => (is_text(shape) || *shape == Shape::Any, "a text"),
            Takes::Number => (is_number(shape), "a number"),
            Takes::List => (matches!(shape, Shape::List(..)), "a list"),
            Takes::Object => (matches!(shape, Shape::Object(_)), "an object"),
            Takes::Sized => (
                is_text(shape) || matches!(shape, Shape::List(..) | Shape::Object(_)),
                "a text, a list or an object",
            ),
            Takes::Listable => {
                (matches!(shape, Shape::List(..) | Shape::Object(_)), "a list or an object")
            }
        };
        if !fits {
            let message = format!("'{name}' needs {what}, not {}", describe(shape));
            let help = (*takes == Takes::Text)
                .then(|| format!("write `{} | tojson | {name}` for its JSON", self.text(input)));
            self.add(code::ARGUMENT, range, message, help);
            return Seen::any();
        }
        self.yielded(filter, input, shape, range, text)
    }

    fn yielded(
        &mut self,
        filter: &Filter<'_>,
        input: &Expr<'_>,
        shape: &Shape,
        range: Bytes<usize>,
        text: &str,
    ) -> Seen {
        match filter.name {
            "count" | "length" => Seen::of(Shape::Integer(Range::default())),
            "abs" | "round" => Seen::of(shape.clone()),
            "first" | "last" | "min" | "max" => self.one(input, shape),
            "sum" => self.sum_of(shape, range),
            "join" => self.joined(shape, range, text),
            "map" => self.mapped(filter, shape, range),
            "selectattr" | "rejectattr" => {
                self.attribute(filter, shape, range);
                Seen::of(relist(shape))
            }
            "sort" | "unique" | "reverse" => Seen::of(relist(shape)),
            "batch" => Seen::of(Shape::list(relist(shape))),
            "list" => match shape {
                Shape::Object(_) => Seen::of(Shape::list(Shape::text())),
                list => Seen::of(list.clone()),
            },
            // A list of pairs, which only a loop of two names takes apart: see `statement.rs`.
            "items" | "dictsort" => match shape {
                Shape::Object(object) => Seen::of(Shape::list(values(object))),
                _ => Seen::any(),
            },
            _ => Seen::of(Shape::text()),
        }
    }

    fn one(&mut self, input: &Expr<'_>, shape: &Shape) -> Seen {
        let Shape::List(item, bounds) = shape else { return Seen::any() };
        let mut seen = Seen::of((**item).clone());
        if bounds.min.is_none_or(|min| min == 0) {
            seen.missing = Some(format!("'{}' may be empty", self.text(input)));
        }
        seen
    }

    fn sum_of(&mut self, shape: &Shape, range: Bytes<usize>) -> Seen {
        let Shape::List(item, _) = shape else { return Seen::any() };
        if **item != Shape::Any && !is_number(item) {
            let message = format!("'sum' needs a list of numbers, not {}", describe(shape));
            self.add(code::ARGUMENT, range, message, None);
        }
        Seen::of(Shape::Number(Range::default()))
    }

    fn joined(&mut self, shape: &Shape, range: Bytes<usize>, text: &str) -> Seen {
        if let Shape::List(item, _) = shape
            && matches!(**item, Shape::Nullable(_))
        {
            let message = "'join' needs items that are there, and some may be null".to_owned();
            let help = format!("loop over them instead of `{text}`, with `{{% if x %}}`");
            self.add(code::UNGUARDED, range, message, Some(help));
        }
        Seen::of(Shape::text())
    }

    fn mapped(&mut self, filter: &Filter<'_>, shape: &Shape, range: Bytes<usize>) -> Seen {
        match filter.args.as_slice() {
            [CallArg::Kwarg("attribute", _)] => {
                let field = self.attribute(filter, shape, range);
                Seen::of(Shape::list(field))
            }
            _ => {
                let message = "'map' takes the name of a field".to_owned();
                let help = "write `list | map(attribute=\"name\")`".to_owned();
                self.add(code::ARGUMENT, range, message, Some(help));
                Seen::any()
            }
        }
    }

    /// The field of a list's items that a filter names.
    fn attribute(&mut self, filter: &Filter<'_>, shape: &Shape, range: Bytes<usize>) -> Shape {
        let name = match filter.args.first().map(argument) {
            Some(Expr::Const(name)) => name.value.as_str(),
            _ => None,
        };
        let Some(name) = name else {
            let message = format!("'{}' takes the name of a field, in quotes", filter.name);
            self.add(code::ARGUMENT, range, message, None);
            return Shape::Any;
        };
        let Shape::List(item, _) = shape else { return Shape::Any };
        let (mut field, _) = strip((**item).clone());
        let mut null = false;
        let mut owner = filter.expr.as_ref().map_or_else(String::new, |e| self.text(e).to_owned());
        for word in name.split('.') {
            match crate::expression::reference::field(&field, &owner, word, range.clone()) {
                Ok(Some(found)) => {
                    null |= found.missing.is_some();
                    field = found.shape;
                    word.clone_into(&mut owner);
                }
                Ok(None) => return Shape::Any,
                Err(finding) => {
                    self.add(finding.code, finding.range, finding.message, finding.help);
                    return Shape::Any;
                }
            }
        }
        if null { nullable(field) } else { field }
    }
}

fn relist(list: &Shape) -> Shape {
    match list {
        Shape::List(item, range) if !is_empty_list(list) => {
            Shape::List(item.clone(), ListRange { min: None, max: range.max })
        }
        other => other.clone(),
    }
}
