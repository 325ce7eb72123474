//! The types of an expression: every reference against the scope, every operand against its operator.
//!
//! A value that is missing is null, and null passes through operators and functions up to a `??`; so there are two
//! ways to look at a part. *Leniently*, at the left of `??` and beside `== null`: what can be missing makes the
//! type nullable. *Strictly*, everywhere else: it is a finding. `a != null and …` proves `a` for what follows, and
//! `a == null or …` likewise.
use crate::domain::finding::{Code, Finding};
use crate::domain::shape::{ListRange, Range, Scope, Shape};

use super::Mention;
use super::ast::{Kind, Node, Operator, Quantifier};
use super::code;
use super::guard::facts;
use super::reference::Proof;
use super::unify::{self, describe, empty_value, nullable, strip};

/// The walk over one expression.
pub struct Checker<'a> {
    /// The text, to quote from.
    pub source: &'a str,
    /// What is visible. `None`: the mentions are looked for, and names are taken to hold anything.
    pub scope: Option<&'a Scope>,
    /// Names bound by `all` and `any`.
    pub locals: Vec<(&'a str, Shape)>,
    /// References proved present where we are.
    pub proofs: Vec<Proof>,
    /// Problems so far.
    pub findings: Vec<Finding>,
    /// Root names seen so far; none where there is a scope.
    pub mentions: Vec<Mention>,
}

impl<'a> Checker<'a> {
    /// A walk that has seen nothing yet.
    pub fn new(source: &'a str, scope: Option<&'a Scope>) -> Self {
        Self {
            source,
            scope,
            locals: Vec::new(),
            proofs: Vec::new(),
            findings: Vec::new(),
            mentions: Vec::new(),
        }
    }

    /// The type of a part.
    pub fn shape(&mut self, node: &'a Node, lenient: bool) -> Shape {
        match &node.kind {
            Kind::Literal(value) => literal(value),
            Kind::List(items) => self.list(node, items, lenient),
            Kind::Path(names) => self.path(node, names, lenient),
            Kind::Fields(base, names) => self.fields(base, names, lenient),
            Kind::Negate(inner) => {
                let (shape, null) = self.needed(inner, lenient);
                self.number("-", inner, &shape);
                let result = if shape == Shape::Any { shape } else { plain_number(&shape) };
                if null { nullable(result) } else { result }
            }
            Kind::Not(inner) => self.boolean("`not`", inner, lenient),
            Kind::Binary(operator, left, right) => {
                self.binary(*operator, node, left, right, lenient)
            }
            Kind::Default(left, right) => self.default(node, left, right, lenient),
            Kind::Quantifier(quantifier) => self.quantifier(quantifier, lenient),
            Kind::Call(function, args) => self.call(*function, node, args, lenient),
        }
    }

    /// The type of a part that must not be null, and whether it may be all the same.
    pub fn needed(&mut self, node: &'a Node, lenient: bool) -> (Shape, bool) {
        if node.is_null() {
            self.add(code::OPERAND, node, "null is no value to reckon with".to_owned(), None);
            return (Shape::Any, false);
        }
        let (shape, null) = strip(self.shape(node, lenient));
        if null && !lenient {
            let text = self.text(node);
            let help = format!("write `({text} ?? {})`", empty_value(&shape));
            self.add(code::NULLABLE, node, format!("'{text}' may be null"), Some(help));
            return (shape, false);
        }
        (shape, null)
    }

    /// A part as it is written.
    pub fn text(&self, node: &Node) -> &'a str {
        self.source.get(node.range.clone()).unwrap_or_default()
    }

    /// Notes a problem of a part.
    pub fn add(&mut self, code: Code, node: &Node, message: String, help: Option<String>) {
        self.findings.push(Finding { code, range: node.range.clone(), message, help });
    }

    fn list(&mut self, node: &Node, items: &'a [Node], lenient: bool) -> Shape {
        let mut common: Option<Shape> = None;
        let mut null = false;
        for item in items {
            if item.is_null() {
                null = true;
                continue;
            }
            let shape = self.shape(item, lenient);
            common = Some(match common {
                None => shape,
                Some(common) => unify::union(&common, &shape).unwrap_or_else(|| {
                    let (a, b) = (describe(&common), describe(&shape));
                    let message = format!("a list's items must be of one type: {a} and {b}");
                    self.add(code::DISAGREE, node, message, None);
                    Shape::Any
                }),
            });
        }
        let Some(item) = common else {
            let item = if null { nullable_any() } else { return unify::empty_list() };
            return Shape::list(item);
        };
        let count = Some(items.len() as u64);
        let item = if null { nullable(item) } else { item };
        Shape::List(item.into(), ListRange { min: count, max: count })
    }

    fn number(&mut self, operator: &str, node: &Node, shape: &Shape) {
        if unify::is_number(shape) || *shape == Shape::Any {
            return;
        }
        let help = match (operator, shape) {
            ("+", s) if unify::is_text(s) => "texts are joined with `join([a, b], \"\")`",
            ("+", Shape::List(..)) => "lists are joined with `flatten([a, b])`",
            (_, s) if unify::is_text(s) => "nothing is coerced: a text is no number",
            _ => "only numbers can be reckoned with",
        };
        let message = format!("`{operator}` needs numbers, not {}", describe(shape));
        self.add(code::OPERAND, node, message, Some(help.to_owned()));
    }

    /// An operand of `and`, `or`, `not` or a quantifier's condition.
    fn boolean(&mut self, operator: &str, node: &'a Node, lenient: bool) -> Shape {
        let known = self.findings.len();
        let (shape, null) = self.needed(node, lenient);
        let missing = self.findings.len() > known;
        if let (Kind::Path(names), Shape::Object(_) | Shape::List(..) | Shape::Text(_)) =
            (&node.kind, &shape)
        {
            // Meant as a question whether it is there: that it may be missing, and what follows from it, goes without saying.
            self.findings.truncate(known);
            self.proofs.push(names.iter().map(|name| name.text.clone()).collect());
        }
        match &shape {
            Shape::Boolean if null => nullable(Shape::Boolean),
            Shape::Boolean => Shape::Boolean,
            Shape::Any => Shape::Any,
            other => {
                let text = self.text(node);
                let help = match other {
                    _ if missing => format!("write `{text} != null`"),
                    Shape::List(..) | Shape::Text(_) => format!("write `length({text}) > 0`"),
                    Shape::Integer(_) | Shape::Number(_) => format!("write `{text} != 0`"),
                    _ => format!("write `{text} != null`"),
                };
                let message = format!("{operator} needs true or false, not {}", describe(other));
                self.add(code::OPERAND, node, message, Some(help));
                Shape::Boolean
            }
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        node: &Node,
        left: &'a Node,
        right: &'a Node,
        lenient: bool,
    ) -> Shape {
        match operator {
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide => {
                self.arithmetic(operator, left, right, lenient)
            }
            Operator::Equal | Operator::Unequal => {
                self.equality(node, left, right, lenient);
                Shape::Boolean
            }
            Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => self.order(operator, node, left, right, lenient),
            Operator::In | Operator::NotIn => self.member(node, left, right, lenient),
            Operator::And | Operator::Or => {
                let name = format!("`{}`", operator.as_str());
                let before = self.proofs.len();
                let a = self.boolean(&name, left, lenient);
                facts(left, operator == Operator::And, &mut self.proofs);
                let b = self.boolean(&name, right, lenient);
                self.proofs.truncate(before);
                unify::union(&a, &b).unwrap_or(Shape::Any)
            }
        }
    }

    fn arithmetic(
        &mut self,
        op: Operator,
        left: &'a Node,
        right: &'a Node,
        lenient: bool,
    ) -> Shape {
        let (a, a_null) = self.needed(left, lenient);
        let (b, b_null) = self.needed(right, lenient);
        self.number(op.as_str(), left, &a);
        self.number(op.as_str(), right, &b);
        let result = match (&a, &b) {
            (Shape::Any, _) | (_, Shape::Any) => return Shape::Any,
            (Shape::Integer(_), Shape::Integer(_)) if op != Operator::Divide => {
                Shape::Integer(Range::default())
            }
            _ => Shape::Number(Range::default()),
        };
        let divisor = match &right.kind {
            Kind::Literal(serde_json::Value::Number(n)) => n.as_f64() != Some(0.0),
            _ => false,
        };
        if a_null || b_null || op == Operator::Divide && !divisor {
            return nullable(result);
        }
        result
    }

    fn equality(&mut self, node: &Node, left: &'a Node, right: &'a Node, lenient: bool) {
        let tests_null = left.is_null() || right.is_null();
        let a = self.shape(left, lenient || tests_null);
        let b = self.shape(right, lenient || tests_null);
        if !tests_null && !unify::comparable(&a, &b) {
            self.incomparable(node, &a, &b);
        }
    }

    fn incomparable(&mut self, node: &Node, a: &Shape, b: &Shape) {
        let (message, help) = unify::incomparable(a, b);
        self.add(code::INCOMPARABLE, node, message, help);
    }

    fn order(
        &mut self,
        op: Operator,
        node: &Node,
        left: &'a Node,
        right: &'a Node,
        lenient: bool,
    ) -> Shape {
        let (a, a_null) = self.needed(left, lenient);
        let (b, b_null) = self.needed(right, lenient);
        if a == Shape::Any || b == Shape::Any {
            return Shape::Any;
        }
        let fits = unify::is_number(&a) && unify::is_number(&b)
            || unify::is_text(&a) && unify::is_text(&b);
        if !fits {
            let (a, b) = (describe(&a), describe(&b));
            let message =
                format!("`{}` needs two numbers or two texts, not {a} and {b}", op.as_str());
            self.add(code::INCOMPARABLE, node, message, None);
        }
        if a_null || b_null { nullable(Shape::Boolean) } else { Shape::Boolean }
    }

    fn member(&mut self, node: &Node, left: &'a Node, right: &'a Node, lenient: bool) -> Shape {
        let a = self.shape(left, lenient);
        let (b, null) = self.needed(right, lenient);
        match &b {
            Shape::Any => return Shape::Any,
            Shape::List(item, _) => {
                if !unify::is_empty_list(&b) && !left.is_null() && !unify::comparable(&a, item) {
                    self.incomparable(node, &a, item);
                } else if matches!((&left.kind, &right.kind), (Kind::Path(_), Kind::List(_)))
                    && let Some((message, help)) = unify::stranger(&a, item)
                {
                    self.add(code::INCOMPARABLE, right, message, help);
                }
            }
            other => {
                let help = unify::is_text(other).then(|| {
                    format!("write `contains({}, {})`", self.text(right), self.text(left))
                });
                let message = format!("`in` needs a list at its right, not {}", describe(other));
                self.add(code::OPERAND, right, message, help);
            }
        }
        if null { nullable(Shape::Boolean) } else { Shape::Boolean }
    }

    fn default(&mut self, node: &Node, left: &'a Node, right: &'a Node, lenient: bool) -> Shape {
        let (a, _) = strip(self.shape(left, true));
        if right.is_null() {
            return nullable(a);
        }
        let b = self.shape(right, lenient);
        if left.is_null() {
            return b;
        }
        unify::union(&a, &b).unwrap_or_else(|| {
            let message = format!(
                "both sides of ?? must be of one type: {} and {}",
                describe(&a),
                describe(&b)
            );
            let help = format!("a default for {} is `{}`", describe(&a), empty_value(&a));
            self.add(code::DISAGREE, node, message, Some(help));
            Shape::Any
        })
    }

    fn quantifier(&mut self, quantifier: &'a Quantifier, lenient: bool) -> Shape {
        let (list, null) = self.needed(&quantifier.list, lenient);
        let item = match &list {
            Shape::List(item, _) => (**item).clone(),
            Shape::Any => Shape::Any,
            other => {
                let message = format!("`for … in` needs a list, not {}", describe(other));
                self.add(code::NOT_A_LIST, &quantifier.list, message, None);
                Shape::Any
            }
        };
        let name = quantifier.name.text.as_str();
        let proofs = self.proofs.clone();
        self.proofs.retain(|p| p.first().is_none_or(|root| root != name));
        self.locals.push((name, item));
        let condition = self.boolean("a condition", &quantifier.condition, false);
        self.locals.pop();
        self.proofs = proofs;
        match (list, condition) {
            (Shape::Any, _) | (_, Shape::Any) => Shape::Any,
            _ if null => nullable(Shape::Boolean),
            _ => Shape::Boolean,
        }
    }
}

fn nullable_any() -> Shape {
    Shape::Nullable(Shape::Any.into())
}

fn plain_number(shape: &Shape) -> Shape {
    match shape {
        Shape::Integer(_) => Shape::Integer(Range::default()),
        _ => Shape::Number(Range::default()),
    }
}

fn literal(value: &serde_json::Value) -> Shape {
    match value {
        serde_json::Value::Bool(_) => Shape::Boolean,
        serde_json::Value::Number(n) if n.is_f64() => Shape::Number(Range::default()),
        serde_json::Value::Number(_) => Shape::Integer(Range::default()),
        serde_json::Value::String(text) => Shape::Enum([text.clone()].into()),
        _ => nullable_any(),
    }
}
