//! The types of filters and tests, which `builtin.rs` lists.
use std::ops::Range as Bytes;

use minijinja::machinery::ast::{CallArg, Expr, Filter};
use minijinja::value::ValueKind;

use crate::domain::shape::{ListRange, Range, Shape};
use crate::expression::code;
use crate::expression::unify::{describe, is_empty_list, is_number, nullable, strip};

use super::builtin::{self, Takes};
use super::check::{Checker, Seen};
use super::statement::values;

/// The expression of an argument.
pub fn argument<'e, 'a>(arg: &'e CallArg<'a>) -> &'e Expr<'a> {
    match arg {
        CallArg::Pos(e) | CallArg::Kwarg(_, e) | CallArg::PosSplat(e) | CallArg::KwargSplat(e) => e,
    }
}

/// The type of a constant.
pub fn constant(value: &minijinja::Value) -> Seen {
    if let Some(text) = value.as_str() {
        return Seen::of(Shape::Enum([text.to_owned()].into()));
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
        let Some(entry) = builtin::filter(filter.name) else {
            return Seen::any();
        };
        let (name, takes) = (entry.name, entry.takes);
        self.arguments(name, entry.least, entry.args, entry.named, &filter.args, &range);
        if *shape == Shape::Any && takes != Takes::Text && takes != Takes::Anything {
            return Seen::any();
        }
        let (fits, what) = (takes.fits(shape), takes.what());
        if !fits {
            let message = format!("'{name}' needs {what}, not {}", describe(shape));
            let help = (takes == Takes::Text)
                .then(|| format!("write `{} | tojson | {name}` for its JSON", self.text(input)));
            self.add(code::ARGUMENT, range, message, help);
            return Seen::any();
        }
        self.yielded(filter, input, shape, range, text)
    }

    /// Checks the arguments of a filter or a test: `least` of `args` at least, and named ones.
    pub fn arguments(
        &mut self,
        name: &str,
        least: usize,
        args: &[Takes],
        named: &[&str],
        given: &[CallArg<'_>],
        range: &Bytes<usize>,
    ) {
        let mut count = 0;
        for arg in given {
            let shape = self.need(argument(arg));
            let problem = match arg {
                CallArg::Pos(_) => {
                    let takes = args.get(count);
                    count += 1;
                    match takes {
                        Some(takes) if takes.fits(&shape) => continue,
                        Some(takes) => {
                            format!("needs {} here, not {}", takes.what(), describe(&shape))
                        }
                        None => continue,
                    }
                }
                CallArg::Kwarg(word, _) if named.contains(word) => continue,
                CallArg::Kwarg(word, _) => format!("has no argument '{word}'"),
                CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
                    "takes its arguments one by one".to_owned()
                }
            };
            let place = self.range_of(argument(arg));
            self.add(code::ARGUMENT, place, format!("'{name}' {problem}"), None);
        }
        if count < least || count > args.len() {
            let most = args.len();
            let number =
                if least == most { most.to_string() } else { format!("{least} to {most}") };
            let plural = if most == 1 { "" } else { "s" };
            let message = format!("'{name}' takes {number} argument{plural}, not {count}");
            let help = matches!(name, "default" | "d")
                .then(|| "for an empty text as well write `value or \"…\"`".to_owned());
            self.add(code::ARGUMENT, range.clone(), message, help);
        }
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
                self.attribute(filter, 0, shape, range.clone());
                self.selected(filter);
                Seen::of(relist(shape))
            }
            "sort" | "unique" => {
                let by = |arg: &CallArg<'_>| matches!(arg, CallArg::Kwarg("attribute", _));
                if let Some(at) = filter.args.iter().position(by) {
                    self.attribute(filter, at, shape, range);
                }
                Seen::of(relist(shape))
            }
            "reverse" => Seen::of(relist(shape)),
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

    /// The test that `selectattr` names.
    fn selected(&mut self, filter: &Filter<'_>) {
        let Some(arg) = filter.args.get(1) else { return };
        let range = self.range_of(argument(arg));
        let Some(name) = quoted(arg) else {
            let message = format!("'{}' takes the name of a test, in quotes", filter.name);
            self.add(code::ARGUMENT, range, message, None);
            return;
        };
        match builtin::test(name) {
            Some(test) if test.args.len() + 2 == filter.args.len() => {}
            Some(test) => {
                let message = format!("the test '{name}' takes {} more", test.args.len());
                self.add(code::ARGUMENT, range, message, None);
            }
            None => {
                let (message, help) = builtin::unknown_test(name);
                self.add(code::UNKNOWN_FUNCTION, range, message, Some(help));
            }
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
        if let [CallArg::Kwarg("attribute", _)] = filter.args.as_slice() {
            return Seen::of(Shape::list(self.attribute(filter, 0, shape, range)));
        }
        let message = "'map' takes the name of a field".to_owned();
        let help = "write `list | map(attribute=\"name\")`".to_owned();
        self.add(code::ARGUMENT, range, message, Some(help));
        Seen::any()
    }

    /// The field of a list's items that a filter names.
    fn attribute(
        &mut self,
        filter: &Filter<'_>,
        at: usize,
        shape: &Shape,
        range: Bytes<usize>,
    ) -> Shape {
        let name = filter.args.get(at).and_then(quoted);
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
            match crate::expression::reference::field(&field, || owner.clone(), word, range.clone())
            {
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

/// A text in quotes.
fn quoted<'e>(arg: &'e CallArg<'_>) -> Option<&'e str> {
    match argument(arg) {
        Expr::Const(text) => text.value.as_str(),
        _ => None,
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
