//! The operators of templates.
use minijinja::Value;
use minijinja::machinery::ast::{BinOp, BinOpKind, CompareOpKind, Expr};

use crate::domain::shape::{Range, Shape};
use crate::expression::code;
use crate::expression::unify::{
    comparable, describe, incomparable, is_number, is_text, stranger, union,
};

use super::check::{Checker, Seen};
use super::guard::{either, facts};

impl Checker<'_> {
    /// What a value of two operands holds.
    pub fn binary(&mut self, op: &BinOp<'_>, lenient: bool) -> Seen {
        match op.op {
            BinOpKind::ScAnd | BinOpKind::ScOr => self.logic(op, lenient),
            BinOpKind::Eq | BinOpKind::Ne => {
                self.equality(&op.left, &op.right);
                Seen::of(Shape::Boolean)
            }
            BinOpKind::Lt => self.order("<", &op.left, &op.right),
            BinOpKind::Lte => self.order("<=", &op.left, &op.right),
            BinOpKind::Gt => self.order(">", &op.left, &op.right),
            BinOpKind::Gte => self.order(">=", &op.left, &op.right),
            BinOpKind::In => self.member(&op.left, &op.right),
            BinOpKind::Concat => {
                self.need(&op.left);
                self.need(&op.right);
                Seen::of(Shape::text())
            }
            BinOpKind::Add => self.sum(&op.left, &op.right),
            BinOpKind::Sub => self.arithmetic("-", op),
            BinOpKind::Mul => self.arithmetic("*", op),
            BinOpKind::Div => self.arithmetic("/", op),
            BinOpKind::FloorDiv => self.arithmetic("//", op),
            BinOpKind::Rem => self.arithmetic("%", op),
            BinOpKind::Pow => self.arithmetic("**", op),
        }
    }

    /// One pair of `a < b < c`.
    pub fn compare_chained(&mut self, op: CompareOpKind, left: &Expr<'_>, right: &Expr<'_>) {
        match op {
            CompareOpKind::Eq | CompareOpKind::Ne => self.equality(left, right),
            CompareOpKind::Lt => drop(self.order("<", left, right)),
            CompareOpKind::Lte => drop(self.order("<=", left, right)),
            CompareOpKind::Gt => drop(self.order(">", left, right)),
            CompareOpKind::Gte => drop(self.order(">=", left, right)),
            CompareOpKind::In | CompareOpKind::NotIn => drop(self.member(left, right)),
        }
    }

    /// Reports an operand that is no number.
    pub fn number(&mut self, operator: &str, expr: &Expr<'_>, shape: &Shape) {
        if is_number(shape) || *shape == Shape::Any {
            return;
        }
        let message = format!("{operator} needs numbers, not {}", describe(shape));
        let help = "nothing is coerced: a text is no number".to_owned();
        self.add(code::OPERAND, self.range_of(expr), message, Some(help));
    }

    fn logic(&mut self, op: &BinOp<'_>, lenient: bool) -> Seen {
        let and = matches!(op.op, BinOpKind::ScAnd);
        // `a or b` holds `b` where `a` is missing; `a and b` holds the missing `a` itself.
        let left = self.see(&op.left, true);
        let before = self.proofs.clone();
        facts(&op.left, and, &mut self.proofs);
        let right = self.see(&op.right, lenient);
        self.proofs = before;
        if and {
            return either(left, right);
        }
        let missing = right.missing.clone();
        Seen { missing, ..either(left, right) }
    }

    fn equality(&mut self, left: &Expr<'_>, right: &Expr<'_>) {
        for (value, other) in [(left, right), (right, left)] {
            if matches!(other, Expr::Const(c) if c.value.is_none()) {
                self.test(value);
                let help = format!("write `{} is none`, or `is defined`", self.text(value));
                let message = "nothing is equal to `none` in a prompt".to_owned();
                self.add(code::INCOMPARABLE, self.range_of(other), message, Some(help));
                return;
            }
        }
        let a = self.need(left);
        let b = self.need(right);
        if !comparable(&a, &b) {
            self.incomparable(left, right, &a, &b);
        }
    }

    fn incomparable(&mut self, left: &Expr<'_>, right: &Expr<'_>, a: &Shape, b: &Shape) {
        let range = self.range_of(left).start..self.range_of(right).end;
        let range = range.start.min(range.end)..range.end;
        let (message, help) = incomparable(a, b);
        self.add(code::INCOMPARABLE, range, message, help);
    }

    fn order(&mut self, operator: &str, left: &Expr<'_>, right: &Expr<'_>) -> Seen {
        let a = self.need(left);
        let b = self.need(right);
        let fits = a == Shape::Any
            || b == Shape::Any
            || is_number(&a) && is_number(&b)
            || is_text(&a) && is_text(&b);
        if !fits {
            let range = self.range_of(left);
            let (a, b) = (describe(&a), describe(&b));
            let message = format!("`{operator}` needs two numbers or two texts, not {a} and {b}");
            self.add(code::INCOMPARABLE, range, message, None);
        }
        Seen::of(Shape::Boolean)
    }

    fn member(&mut self, left: &Expr<'_>, right: &Expr<'_>) -> Seen {
        let a = self.need(left);
        let b = self.need(right);
        let fits = match &b {
            Shape::List(item, _) => comparable(&a, item),
            Shape::Text(_) | Shape::Enum(_) | Shape::Object(_) => is_text(&a) || a == Shape::Any,
            Shape::Any => true,
            _ => false,
        };
        let strange = match (right, &b) {
            (Expr::List(_) | Expr::Const(_), Shape::List(item, _)) => stranger(&a, item),
            _ => None,
        };
        if let Some((message, help)) = strange {
            self.add(code::INCOMPARABLE, self.range_of(right), message, help);
        } else if !fits {
            let message = format!("{} is never in {}", describe(&a), describe(&b));
            self.add(code::INCOMPARABLE, self.range_of(right), message, None);
        }
        Seen::of(Shape::Boolean)
    }

    fn sum(&mut self, left: &Expr<'_>, right: &Expr<'_>) -> Seen {
        let a = self.need(left);
        let b = self.need(right);
        let sum = match (&a, &b) {
            (Shape::Any, _) | (_, Shape::Any) => return Seen::any(),
            _ if is_text(&a) && is_text(&b) => Shape::text(),
            (Shape::List(..), Shape::List(..)) => union(&a, &b).unwrap_or(Shape::Any),
            _ if is_number(&a) && is_number(&b) => union(&a, &b).unwrap_or(Shape::Any),
            _ => {
                let (a, b) = (describe(&a), describe(&b));
                let message = format!("`+` needs two numbers, texts or lists, not {a} and {b}");
                let help = "write `~` to put values together as text".to_owned();
                self.add(code::OPERAND, self.range_of(right), message, Some(help));
                return Seen::any();
            }
        };
        Seen::of(sum)
    }

    fn arithmetic(&mut self, operator: &str, op: &BinOp<'_>) -> Seen {
        let a = self.need(&op.left);
        let b = self.need(&op.right);
        self.number(&format!("`{operator}`"), &op.left, &a);
        self.number(&format!("`{operator}`"), &op.right, &b);
        let divides = matches!(op.op, BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem);
        let zero = Value::from(0);
        if divides && !matches!(&op.right, Expr::Const(c) if c.value != zero) {
            let help =
                "divide by a number that is written here, or let a step's answer hold the quotient"
                    .to_owned();
            let message = "the divisor may be zero".to_owned();
            self.add(code::OPERAND, self.range_of(&op.right), message, Some(help));
        }
        if matches!(op.op, BinOpKind::Pow) {
            let help = "multiply instead".to_owned();
            let range = self.range_of(&op.left);
            self.add(code::REFUSED, range, "prompts have no `**`".to_owned(), Some(help));
        }
        Seen::of(Shape::Number(Range::default()))
    }
}
