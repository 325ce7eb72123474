//! What conditions prove: inside `{% if gaps %}` the reference is there.
use minijinja::machinery::ast::{BinOpKind, Expr, UnaryOpKind};

use crate::domain::shape::Shape;
use crate::expression::reference::Proof;
use crate::expression::unify::union;

use super::check::Seen;

/// What holds one value or the other.
pub fn either(a: Seen, b: Seen) -> Seen {
    let shape = union(&a.shape, &b.shape).unwrap_or(Shape::Any);
    Seen { shape, missing: a.missing.or(b.missing) }
}

/// What the truth (or falsehood) of a condition proves present.
pub fn facts(expr: &Expr<'_>, truth: bool, proofs: &mut Vec<Proof>) {
    match expr {
        Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) if truth => {
            proofs.extend(proof(expr));
        }
        Expr::UnaryOp(e) if matches!(e.op, UnaryOpKind::Not) => facts(&e.expr, !truth, proofs),
        Expr::BinOp(e) => match e.op {
            BinOpKind::ScAnd if truth => {
                facts(&e.left, true, proofs);
                facts(&e.right, true, proofs);
            }
            BinOpKind::ScOr if !truth => {
                facts(&e.left, false, proofs);
                facts(&e.right, false, proofs);
            }
            _ => {}
        },
        Expr::Test(e) => match (e.name, truth) {
            ("defined", true) | ("undefined" | "none", false) => proofs.extend(proof(&e.expr)),
            _ => {}
        },
        _ => {}
    }
}

/// A reference as the words of a proof.
fn proof(expr: &Expr<'_>) -> Option<Proof> {
    match expr {
        Expr::Var(e) => Some(vec![e.id.to_owned()]),
        Expr::GetAttr(e) => {
            let mut path = proof(&e.expr)?;
            path.push(e.name.to_owned());
            Some(path)
        }
        Expr::GetItem(e) => {
            let mut path = proof(&e.expr)?;
            let Expr::Const(key) = &e.subscript_expr else { return None };
            match (key.value.as_str(), key.value.as_usize()) {
                (Some(name), _) => path.push(name.to_owned()),
                (None, Some(index)) => path.push(index.to_string()),
                (None, None) => return None,
            }
            Some(path)
        }
        _ => None,
    }
}
