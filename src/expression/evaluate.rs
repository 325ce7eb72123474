//! The value of an expression. Total: what does not fit its operator is null, and so is what is missing.
use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::Value;

use super::ast::{Kind, Name, Node, Operator, Quantifier};
use super::number::Number;

/// Most parts one evaluation visits; an expression that needs more is null. `all` and `any` nest two deep, so this
/// bounds the product of two lists' lengths.
const MAX_VISITS: u64 = 20_000_000;

/// One evaluation.
pub struct Evaluator<'v> {
    bindings: &'v Value,
    locals: Vec<(String, Cow<'v, Value>)>,
    /// Visits left.
    left: u64,
    /// Operands that did not fit their operator: none in a checked expression over values of its scope.
    mismatches: Cell<u64>,
}

impl<'v> Evaluator<'v> {
    /// An evaluation under `bindings`.
    pub fn new(bindings: &'v Value) -> Self {
        Self::bounded(bindings, MAX_VISITS)
    }

    /// An evaluation of at most so many visits.
    pub fn bounded(bindings: &'v Value, visits: u64) -> Self {
        Self { bindings, locals: Vec::new(), left: visits, mismatches: Cell::new(0) }
    }

    /// Operands so far that did not fit.
    #[cfg(test)]
    pub fn mismatches(&self) -> u64 {
        self.mismatches.get()
    }

    /// The value of a part.
    pub fn value(&mut self, node: &'v Node) -> Cow<'v, Value> {
        let Some(left) = self.left.checked_sub(1) else {
            return Cow::Owned(Value::Null);
        };
        self.left = left;
        match &node.kind {
            Kind::Literal(value) => Cow::Borrowed(value),
            Kind::List(items) => {
                let items = items.iter().map(|n| self.value(n).into_owned()).collect();
                Cow::Owned(Value::Array(items))
            }
            Kind::Path(names) => self.path(names),
            Kind::Fields(base, names) => {
                let base = self.value(base);
                descend(base, names)
            }
            Kind::Negate(inner) => {
                let value = self.value(inner);
                Cow::Owned(self.number(&value).map_or(Value::Null, |n| n.negate().to_json()))
            }
            Kind::Not(inner) => {
                let value = self.value(inner);
                Cow::Owned(self.truth(&value).map_or(Value::Null, |b| Value::Bool(!b)))
            }
            Kind::Binary(operator, left, right) => self.binary(*operator, left, right),
            Kind::Default(left, right) => {
                let left = self.value(left);
                if left.is_null() { self.value(right) } else { left }
            }
            Kind::Quantifier(quantifier) => Cow::Owned(self.quantifier(quantifier)),
            Kind::Call(function, args) => {
                let args: Vec<Cow<'v, Value>> = args.iter().map(|n| self.value(n)).collect();
                Cow::Owned(self.call(*function, &args))
            }
        }
    }

    /// The number a value is; null and misfits are none.
    pub fn number(&self, value: &Value) -> Option<Number> {
        match value {
            Value::Number(number) => Some(Number::from_json(number)),
            other => self.misfit(other),
        }
    }

    /// Null for a value that does not fit, counted unless it is null itself.
    pub fn misfit<T>(&self, value: &Value) -> Option<T> {
        if !value.is_null() {
            self.mismatches.set(self.mismatches.get() + 1);
        }
        None
    }

    fn truth(&self, value: &Value) -> Option<bool> {
        match value {
            Value::Bool(truth) => Some(*truth),
            other => self.misfit(other),
        }
    }

    fn path(&self, names: &[Name]) -> Cow<'v, Value> {
        let Some((first, rest)) = names.split_first() else {
            return Cow::Owned(Value::Null);
        };
        if let Some((_, local)) = self.locals.iter().rev().find(|(name, _)| *name == first.text) {
            return descend(local.clone(), rest);
        }
        // A dotted binding, as `answer.items`, is a second view of the same name.
        if let Some((second, rest)) = rest.split_first()
            && let Some(view) = self.bindings.get(format!("{}.{}", first.text, second.text))
        {
            return descend(Cow::Borrowed(view), rest);
        }
        match self.bindings.get(&first.text) {
            Some(value) => descend(Cow::Borrowed(value), rest),
            None => Cow::Owned(Value::Null),
        }
    }

    fn binary(&mut self, operator: Operator, left: &'v Node, right: &'v Node) -> Cow<'v, Value> {
        let a = self.value(left);
        // The second operand is not asked where the first one decides.
        match (operator, &*a) {
            (Operator::And, Value::Bool(false)) | (Operator::Or, Value::Bool(true)) => return a,
            _ => {}
        }
        let b = self.value(right);
        let result = match operator {
            Operator::Add => self.reckon(&a, &b, |a, b| Some(a.add(b))),
            Operator::Subtract => self.reckon(&a, &b, |a, b| Some(a.subtract(b))),
            Operator::Multiply => self.reckon(&a, &b, |a, b| Some(a.multiply(b))),
            Operator::Divide => self.reckon(&a, &b, Number::divide),
            Operator::Equal => Some(Value::Bool(equal(&a, &b))),
            Operator::Unequal => Some(Value::Bool(!equal(&a, &b))),
            Operator::Less => self.order(&a, &b, Ordering::is_lt),
            Operator::LessOrEqual => self.order(&a, &b, Ordering::is_le),
            Operator::Greater => self.order(&a, &b, Ordering::is_gt),
            Operator::GreaterOrEqual => self.order(&a, &b, Ordering::is_ge),
            Operator::In => self.member(&a, &b).map(Value::Bool),
            Operator::NotIn => self.member(&a, &b).map(|found| Value::Bool(!found)),
            Operator::And | Operator::Or => {
                self.truth(&a).and_then(|_| self.truth(&b)).map(Value::Bool)
            }
        };
        Cow::Owned(result.unwrap_or(Value::Null))
    }

    fn reckon(
        &self,
        a: &Value,
        b: &Value,
        operation: fn(Number, Number) -> Option<Number>,
    ) -> Option<Value> {
        operation(self.number(a)?, self.number(b)?).map(Number::to_json)
    }

    fn order(&self, a: &Value, b: &Value, holds: fn(Ordering) -> bool) -> Option<Value> {
        let order = match (a, b) {
            (Value::String(a), Value::String(b)) => a.cmp(b),
            _ => self.number(a)?.compare(self.number(b)?),
        };
        Some(Value::Bool(holds(order)))
    }

    fn member(&self, item: &Value, list: &Value) -> Option<bool> {
        match list {
            Value::Array(items) => Some(items.iter().any(|i| equal(i, item))),
            other => self.misfit(other),
        }
    }

    fn quantifier(&mut self, quantifier: &'v Quantifier) -> Value {
        match self.decider(quantifier) {
            None => Value::Null,
            Some(Decider::Item(_)) => Value::Bool(!quantifier.all),
            Some(Decider::None) => Value::Bool(quantifier.all),
        }
    }

    /// What decides an `all` or `any`; `None` where there is no list, or no work left.
    fn decider(&mut self, quantifier: &'v Quantifier) -> Option<Decider> {
        let list = self.value(&quantifier.list);
        let Value::Array(items) = &*list else {
            self.misfit::<()>(&list);
            return None;
        };
        for at in 0..items.len() {
            let item = match &list {
                Cow::Borrowed(Value::Array(items)) => items.get(at).map(Cow::Borrowed),
                _ => items.get(at).cloned().map(Cow::Owned),
            };
            let item = item.unwrap_or(Cow::Owned(Value::Null));
            self.locals.push((quantifier.name.text.clone(), item));
            let condition = self.value(&quantifier.condition);
            self.locals.pop();
            let holds = self.truth(&condition).unwrap_or(false);
            if self.left == 0 {
                return None;
            }
            if holds != quantifier.all {
                return Some(Decider::Item(at));
            }
        }
        Some(Decider::None)
    }

    /// The first item that makes an `all` false, and its place.
    pub fn breaking(&mut self, quantifier: &'v Quantifier) -> Option<(usize, Value)> {
        let Some(Decider::Item(place)) = self.decider(quantifier) else { return None };
        let list = self.value(&quantifier.list);
        Some((place, list.get(place)?.clone()))
    }

    /// The two numbers that a comparison compares, as `71.5 == 72`; `None` for anything else.
    pub fn compared(&mut self, node: &'v Node) -> Option<String> {
        let Kind::Binary(operator, left, right) = &node.kind else { return None };
        let (left, right) = match operator {
            Operator::Equal
            | Operator::Unequal
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => (self.value(left), self.value(right)),
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::In
            | Operator::NotIn
            | Operator::And
            | Operator::Or => return None,
        };
        let both = left.is_number() && right.is_number();
        both.then(|| format!("{left} {} {right}", operator.as_str()))
    }

    /// The same for the condition of `quantifier` on one item of its list.
    pub fn compared_for(&mut self, quantifier: &'v Quantifier, item: &Value) -> Option<String> {
        self.locals.push((quantifier.name.text.clone(), Cow::Owned(item.clone())));
        let compared = self.compared(&quantifier.condition);
        self.locals.pop();
        compared
    }
}

/// What decides an `all` or `any`.
enum Decider {
    /// The first item that settles it by itself.
    Item(usize),
    /// No item does.
    None,
}

/// Whether two values are equal: numbers by value (`1` is `1.0`), objects in any order of keys.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || Number::from_json(a).compare(Number::from_json(b)).is_eq()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// The value below `value` at `names`; over a list, the list of what is below its items.
fn descend<'v>(value: Cow<'v, Value>, names: &[Name]) -> Cow<'v, Value> {
    let mut value = value;
    for (at, name) in names.iter().enumerate() {
        value = match value {
            Cow::Borrowed(Value::Object(map)) => match map.get(&name.text) {
                Some(below) => Cow::Borrowed(below),
                None => return Cow::Owned(Value::Null),
            },
            Cow::Owned(Value::Object(mut map)) => match map.swap_remove(&name.text) {
                Some(below) => Cow::Owned(below),
                None => return Cow::Owned(Value::Null),
            },
            Cow::Borrowed(Value::Array(items)) => {
                let rest = &names[at..];
                let below = items.iter().map(|i| descend(Cow::Borrowed(i), rest).into_owned());
                return Cow::Owned(Value::Array(below.collect()));
            }
            Cow::Owned(Value::Array(items)) => {
                let rest = &names[at..];
                let below = items.into_iter().map(|i| descend(Cow::Owned(i), rest).into_owned());
                return Cow::Owned(Value::Array(below.collect()));
            }
            _ => return Cow::Owned(Value::Null),
        };
    }
    value
}
