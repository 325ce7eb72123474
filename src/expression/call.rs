//! The types of function calls.
use crate::domain::shape::{ListRange, Range, Shape};

use super::ast::{Kind, Node};
use super::check::Checker;
use super::code;
use super::function::Function;
use super::unify::{self, describe, nullable, strip};

/// What a function takes at one place.
#[derive(Clone, Copy)]
enum Wanted {
    Text,
    /// A text in quotes: it bounds what the result can grow to.
    Quoted,
    Integer,
    Number,
    List,
    Object,
    TextOrList,
    /// Anything, null too.
    Value,
}

impl<'a> Checker<'a> {
    /// The type of a call.
    pub fn call(
        &mut self,
        function: Function,
        node: &'a Node,
        args: &'a [Node],
        lenient: bool,
    ) -> Shape {
        let entry = function.entry();
        let (least, most) = entry.arity;
        if args.len() < least || args.len() > most {
            let count =
                if least == most { format!("{least}") } else { format!("{least} to {most}") };
            let plural = if most == 1 { "" } else { "s" };
            let message =
                format!("'{}' takes {count} argument{plural}, not {}", entry.name, args.len());
            self.add(code::ARGUMENT, node, message, Some(entry.signature.to_owned()));
            return Shape::Any;
        }
        let wanted = wanted(function, args.len());
        let mut shapes = Vec::new();
        let mut null = false;
        let mut wrong = false;
        for (arg, wanted) in args.iter().zip(wanted) {
            let (shape, may_be_null) = if matches!(wanted, Wanted::Value) {
                (self.shape(arg, lenient), false)
            } else {
                self.needed(arg, lenient)
            };
            null |= may_be_null;
            wrong |= !self.argument(function, arg, wanted, &shape);
            shapes.push(shape);
        }
        if wrong || shapes.contains(&Shape::Any) {
            return Shape::Any;
        }
        let result = self.result(function, node, args, &shapes);
        if null { nullable(result) } else { result }
    }

    fn argument(&mut self, function: Function, arg: &Node, wanted: Wanted, shape: &Shape) -> bool {
        if *shape == Shape::Any && !matches!(wanted, Wanted::Quoted) {
            return true;
        }
        let (fits, what) = match wanted {
            Wanted::Text => (unify::is_text(shape), "a text"),
            Wanted::Quoted => {
                let quoted = matches!(&arg.kind, Kind::Literal(serde_json::Value::String(_)));
                (quoted, "a text in quotes")
            }
            Wanted::Integer => (matches!(shape, Shape::Integer(_)), "a whole number"),
            Wanted::Number => (unify::is_number(shape), "a number"),
            Wanted::List => (matches!(shape, Shape::List(..)), "a list"),
            Wanted::Object => (matches!(shape, Shape::Object(_)), "an object"),
            Wanted::TextOrList => {
                (unify::is_text(shape) || matches!(shape, Shape::List(..)), "a text or a list")
            }
            Wanted::Value => (true, ""),
        };
        if !fits {
            let entry = function.entry();
            let found = match wanted {
                Wanted::Quoted => format!("`{}`", self.text(arg)),
                _ => describe(shape),
            };
            let message = format!("'{}' needs {what} here, not {found}", entry.name);
            self.add(code::ARGUMENT, arg, message, Some(entry.signature.to_owned()));
        }
        fits
    }

    fn result(
        &mut self,
        function: Function,
        node: &Node,
        args: &[Node],
        shapes: &[Shape],
    ) -> Shape {
        let first = shapes.first().unwrap_or(&Shape::Any);
        match function {
            Function::Length => Shape::Integer(Range::default()),
            Function::Sum => self.numbers(function, args, first).0,
            Function::Min | Function::Max if shapes.len() == 1 => {
                let (item, null) = self.numbers(function, args, first);
                let filled = matches!(first, Shape::List(_, range) if range.min >= Some(1));
                if filled && !null { item } else { nullable(item) }
            }
            Function::Min | Function::Max => {
                shapes.iter().skip(1).fold(unbounded(first), |a, b| {
                    unify::union(&a, &unbounded(b)).unwrap_or(Shape::Any)
                })
            }
            Function::Round if shapes.len() == 1 => Shape::Integer(Range::default()),
            Function::Round => unbounded(first),
            Function::Contains => {
                self.contains(node, shapes);
                Shape::Boolean
            }
            Function::StartsWith => Shape::Boolean,
            Function::Lower | Function::Trim => Shape::text(),
            Function::Split | Function::Chunks | Function::Keys => Shape::list(Shape::text()),
            Function::Batches => Shape::list(relist(first)),
            Function::Flatten => self.flatten(args, first),
            Function::Unique | Function::Take => relist(first),
            Function::Join => {
                self.texts(args, first);
                Shape::text()
            }
        }
    }

    /// The number type of a list's items, and whether some may be null.
    fn numbers(&mut self, function: Function, args: &[Node], list: &Shape) -> (Shape, bool) {
        if let Shape::List(item, _) = list {
            let (item, null) = strip((**item).clone());
            if unify::is_number(&item) {
                return (unbounded(&item), null);
            }
            if item == Shape::Any && !unify::is_empty_list(list) {
                return (Shape::Any, null);
            }
        }
        if !unify::is_empty_list(list) {
            self.items(function, args, "numbers", list);
        }
        (Shape::Integer(Range::default()), false)
    }

    fn texts(&mut self, args: &[Node], list: &Shape) {
        let Shape::List(item, _) = list else { return };
        let (item, _) = strip((**item).clone());
        if item != Shape::Any && !unify::is_text(&item) {
            self.items(Function::Join, args, "texts", list);
        }
    }

    fn items(&mut self, function: Function, args: &[Node], what: &str, found: &Shape) {
        let Some(arg) = args.first() else { return };
        let entry = function.entry();
        let message = format!("'{}' needs a list of {what}, not {}", entry.name, describe(found));
        self.add(code::ARGUMENT, arg, message, Some(entry.signature.to_owned()));
    }

    fn flatten(&mut self, args: &[Node], list: &Shape) -> Shape {
        let Shape::List(item, _) = list else { return Shape::Any };
        let (item, _) = strip((**item).clone());
        match item {
            Shape::List(..) => relist(&item),
            Shape::Any => Shape::list(Shape::Any),
            _ => {
                self.items(Function::Flatten, args, "lists", list);
                Shape::Any
            }
        }
    }

    fn contains(&mut self, node: &Node, shapes: &[Shape]) {
        let [whole, part] = shapes else { return };
        let (fits, help) = match whole {
            Shape::List(item, _) => (
                unify::is_empty_list(whole) || unify::comparable(item, part),
                "nothing is coerced: an item of the list's own type can be in it",
            ),
            _ => (unify::is_text(part), "a text contains texts"),
        };
        if !fits {
            let message = format!("{} never contains {}", describe(whole), describe(part));
            self.add(code::INCOMPARABLE, node, message, Some(help.to_owned()));
        }
    }
}

fn wanted(function: Function, count: usize) -> Vec<Wanted> {
    match function {
        Function::Length => vec![Wanted::TextOrList],
        Function::Sum | Function::Flatten | Function::Unique => vec![Wanted::List],
        Function::Min | Function::Max if count == 1 => vec![Wanted::List],
        Function::Min | Function::Max => vec![Wanted::Number; count],
        Function::Round => vec![Wanted::Number, Wanted::Integer],
        Function::Contains => vec![Wanted::TextOrList, Wanted::Value],
        Function::StartsWith => vec![Wanted::Text, Wanted::Text],
        Function::Lower | Function::Trim => vec![Wanted::Text],
        Function::Split => vec![Wanted::Text, Wanted::Quoted],
        Function::Chunks => vec![Wanted::Text, Wanted::Integer],
        Function::Batches | Function::Take => vec![Wanted::List, Wanted::Integer],
        Function::Join => vec![Wanted::List, Wanted::Quoted],
        Function::Keys => vec![Wanted::Object],
    }
}

/// The shape with its bounds forgotten, which arithmetic does not keep.
fn unbounded(shape: &Shape) -> Shape {
    match shape {
        Shape::Integer(_) => Shape::Integer(Range::default()),
        Shape::Number(_) => Shape::Number(Range::default()),
        other => other.clone(),
    }
}

fn relist(list: &Shape) -> Shape {
    match list {
        Shape::List(item, range) => {
            Shape::List(item.clone(), ListRange { min: None, max: range.max })
        }
        other => other.clone(),
    }
}
