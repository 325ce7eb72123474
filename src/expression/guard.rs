//! What conditions prove: where `gaps != null and …` goes on, `gaps` is there.
use serde_json::Value;

use super::ast::{Kind, Name, Node, Operator};
use super::function::Function;
use super::reference::Proof;

/// What the truth (or falsehood) of a condition proves present. `true` and `false` are meant, not null.
pub fn facts(node: &Node, truth: bool, proofs: &mut Vec<Proof>) {
    match &node.kind {
        Kind::Not(inner) => facts(inner, !truth, proofs),
        Kind::Binary(Operator::And, left, right) if truth => {
            facts(left, truth, proofs);
            facts(right, truth, proofs);
        }
        Kind::Binary(Operator::Or, left, right) if !truth => {
            facts(left, truth, proofs);
            facts(right, truth, proofs);
        }
        Kind::Binary(operator @ (Operator::Equal | Operator::Unequal), left, right) => {
            let equal = (*operator == Operator::Equal) == truth;
            for (value, other) in [(left, right), (right, left)] {
                equality(value, other, equal, proofs);
            }
        }
        // None has no length: some have.
        Kind::Binary(Operator::Greater, left, right) if truth && is_number(right, |n| n >= 0.0) => {
            counted(left, proofs);
        }
        Kind::Binary(Operator::GreaterOrEqual, left, right)
            if truth && is_number(right, |n| n > 0.0) =>
        {
            counted(left, proofs);
        }
        // `flag ?? false` is true where `flag` is.
        Kind::Default(left, right) if truth && is_literal(right, &Value::Bool(false)) => {
            proofs.extend(path(left).map(words));
            facts(left, truth, proofs);
        }
        _ => {}
    }
}

/// What it proves that `value` and `other` are equal, or that they are not.
fn equality(value: &Node, other: &Node, equal: bool, proofs: &mut Vec<Proof>) {
    let Kind::Literal(literal) = &other.kind else { return };
    match &value.kind {
        Kind::Path(names) if equal != literal.is_null() => {
            proofs.push(words(names));
            if let [run, status, _] = names.as_slice()
                && (run.text.as_str(), status.text.as_str()) == ("run", "status")
                && literal == "ok"
            {
                proofs.push(words(names).into_iter().chain(["ok".to_owned()]).collect());
            }
        }
        // `(kind ?? '') == 'refund'`: another word than the default. Numbers have several forms.
        Kind::Default(left, default) if equal => {
            if let (Value::String(word), Kind::Literal(Value::String(default))) =
                (literal, &default.kind)
                && word != default
            {
                proofs.extend(path(left).map(words));
            }
        }
        Kind::Call(..) if !equal && is_number(other, |n| n == 0.0) => counted(value, proofs),
        _ => {}
    }
}

/// What has a length above nothing is there: `length(list ?? [])`.
fn counted(node: &Node, proofs: &mut Vec<Proof>) {
    let Kind::Call(Function::Length, arguments) = &node.kind else { return };
    let [Node { kind: Kind::Default(left, default), .. }] = arguments.as_slice() else { return };
    let empty = match &default.kind {
        Kind::List(items) => items.is_empty(),
        Kind::Literal(value) => value == "",
        _ => false,
    };
    proofs.extend(path(left).filter(|_| empty).map(words));
}

fn path(node: &Node) -> Option<&[Name]> {
    match &node.kind {
        Kind::Path(names) => Some(names),
        _ => None,
    }
}

fn words(names: &[Name]) -> Proof {
    names.iter().map(|name| name.text.clone()).collect()
}

fn is_literal(node: &Node, value: &Value) -> bool {
    matches!(&node.kind, Kind::Literal(literal) if literal == value)
}

fn is_number(node: &Node, holds: impl Fn(f64) -> bool) -> bool {
    let Kind::Literal(Value::Number(number)) = &node.kind else { return false };
    number.as_f64().is_some_and(holds)
}
