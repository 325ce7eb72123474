//! What conditions prove: inside `{% if gaps %}` the reference is there.
use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, UnaryOpKind};

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
            op => compared(&e.left, op, &e.right, truth, proofs),
        },
        Expr::Filter(e) if truth => match (e.name, &e.expr) {
            // What is true is not the default.
            ("default" | "d", Some(input)) if e.args.iter().all(is_false) => {
                facts(input, true, proofs);
            }
            ("length" | "count", Some(input)) => facts(input, true, proofs),
            _ => {}
        },
        Expr::Test(e) => match (e.name, truth) {
            ("defined", true) | ("undefined" | "none", false) => proofs.extend(proof(&e.expr)),
            _ => {}
        },
        _ => {}
    }
}

/// What a comparison proves: `run.status.gaps == "ok"`, `(gaps | default([])) | length > 0`, `(kind | default("")) == "a"`.
fn compared(
    left: &Expr<'_>,
    op: BinOpKind,
    right: &Expr<'_>,
    truth: bool,
    proofs: &mut Vec<Proof>,
) {
    let Expr::Const(right) = right else { return };
    let equal = match op {
        BinOpKind::Eq => truth,
        BinOpKind::Ne => !truth,
        BinOpKind::Gt if truth && right.value.as_usize().is_some() => {
            return counted(left, proofs);
        }
        BinOpKind::Gte if truth && right.value.as_usize().is_some_and(|n| n > 0) => {
            return counted(left, proofs);
        }
        _ => return,
    };
    match left {
        Expr::GetAttr(_) | Expr::GetItem(_) if equal && right.value.as_str() == Some("ok") => {
            let status = |path: &Proof| matches!(path.as_slice(), [run, status, _] if run == "run" && status == "status");
            let path = proof(left).filter(status);
            proofs.extend(path.map(|path| [path, vec!["ok".to_owned()]].concat()));
        }
        Expr::Filter(e) if equal && matches!(e.name, "default" | "d") => {
            let other = |default: &str| right.value.as_str().is_some_and(|word| word != default);
            let differs = match e.args.as_slice() {
                [] => other(""),
                [CallArg::Pos(Expr::Const(c))] => c.value.as_str().is_some_and(other),
                _ => false,
            };
            proofs.extend(e.expr.as_ref().filter(|_| differs).and_then(proof));
        }
        _ if !equal && right.value.as_usize() == Some(0) => counted(left, proofs),
        _ => {}
    }
}

/// What has a length above nothing is there.
fn counted(expr: &Expr<'_>, proofs: &mut Vec<Proof>) {
    if matches!(expr, Expr::Filter(e) if matches!(e.name, "length" | "count")) {
        facts(expr, true, proofs);
    }
}

/// Whether a default is never true.
fn is_false(argument: &CallArg<'_>) -> bool {
    match argument {
        CallArg::Pos(Expr::Const(c)) => !c.value.is_true(),
        CallArg::Pos(Expr::List(list)) => list.items.is_empty(),
        _ => false,
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
