//! The statements of templates: loops, conditions, names.
use std::sync::LazyLock;

use minijinja::machinery::Span;
use minijinja::machinery::ast::{Expr, ForLoop, IfCond, Stmt};

use crate::domain::shape::{Object, Range, Shape};
use crate::expression::code;
use crate::expression::unify::{describe, union};

use super::check::{Checker, Seen};
use super::guard::{either, facts};

/// What to do without macros and inheritance.
const ONE_TEXT: &str = "take a text in with `{% include \"prompts/rules.md\" %}`";

impl Checker<'_> {
    /// Checks a list of statements.
    pub fn body(&mut self, body: &[Stmt<'_>]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(s) => self.body(&s.children),
            Stmt::EmitExpr(s) => {
                self.need(&s.expr);
            }
            Stmt::EmitRaw(_) => {}
            Stmt::ForLoop(s) => self.for_loop(s, s.span()),
            Stmt::IfCond(s) => self.condition(s),
            Stmt::WithBlock(s) => {
                let (bound, proofs) = (self.bound(), self.proofs.clone());
                for (target, value) in &s.assignments {
                    let shape = self.need(value);
                    self.assign(target, &Seen::of(shape));
                }
                self.body(&s.body);
                self.unbind(bound);
                self.proofs = proofs;
            }
            Stmt::Set(s) => {
                let shape = self.need(&s.expr);
                self.assign(&s.target, &Seen::of(shape));
            }
            Stmt::SetBlock(s) => {
                if let Some(filter) = &s.filter {
                    self.refuse(
                        "a filter on `set`",
                        "filter the value where it is used",
                        filter.span(),
                    );
                }
                let bound = self.bound();
                self.body(&s.body);
                self.unbind(bound);
                self.assign(&s.target, &Seen::of(Shape::text()));
            }
            Stmt::AutoEscape(s) => {
                self.refuse(
                    "`autoescape`",
                    "nothing is escaped; use `| tojson` for JSON",
                    s.span(),
                );
                self.body(&s.body);
            }
            Stmt::FilterBlock(s) => {
                self.refuse(
                    "`filter` blocks",
                    "filter the values where they are used",
                    s.filter_span,
                );
                self.body(&s.body);
            }
            Stmt::Do(s) => self.refuse("`do`", "nothing can be called in a prompt", s.span()),
            Stmt::Include(s) => {
                let tag = self.range(s.span());
                self.include(s, tag);
            }
            Stmt::Import(s) => self.refuse("`import`", ONE_TEXT, s.span()),
            Stmt::FromImport(s) => self.refuse("`from`", ONE_TEXT, s.span()),
            Stmt::Extends(s) => self.refuse("`extends`", ONE_TEXT, s.span()),
            Stmt::Block(s) => {
                self.refuse("`block`", "write the text in place", s.span());
                self.body(&s.body);
            }
        }
    }

    /// Refuses a statement; its first word is where.
    fn refuse(&mut self, what: &str, help: &str, span: Span) {
        let range = self.first_word(span);
        let message = format!("prompts have no {what}");
        self.add(code::REFUSED, range, message, Some(help.to_owned()));
    }

    /// Binds the names of a target: `x`, or `a, b` over a list.
    fn assign(&mut self, target: &Expr<'_>, seen: &Seen) {
        match target {
            Expr::Var(var) => self.bind(var.id, seen.clone()),
            Expr::List(list) => {
                let item = match &seen.shape {
                    Shape::List(item, _) => Seen::of((**item).clone()),
                    Shape::Any => Seen::any(),
                    other => {
                        let message = format!("{} cannot be taken apart", describe(other));
                        self.add(code::NOT_A_LIST, self.range_of(target), message, None);
                        Seen::any()
                    }
                };
                for target in &list.items {
                    self.assign(target, &item);
                }
            }
            other => self.refuse("assignment to a field", "set a name of its own", other.span()),
        }
    }

    fn condition(&mut self, condition: &IfCond<'_>) {
        self.test(&condition.expr);
        let (bound, proofs) = (self.bound(), self.proofs.clone());
        facts(&condition.expr, true, &mut self.proofs);
        self.body(&condition.true_body);
        let yes = self.unbind(bound);
        self.proofs.clone_from(&proofs);
        facts(&condition.expr, false, &mut self.proofs);
        self.body(&condition.false_body);
        let no = self.unbind(bound);
        self.proofs = proofs;
        self.merge(&yes, &no);
    }

    /// Names set in the branches of a condition are visible after it, and may be missing where one branch sets none.
    fn merge(&mut self, yes: &[(String, Seen)], no: &[(String, Seen)]) {
        let last = |branch: &[(String, Seen)], name: &str| {
            branch.iter().rev().find(|(n, _)| n == name).map(|(_, seen)| seen.clone())
        };
        let mut names: Vec<&String> = yes.iter().chain(no).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let outer = self.local(name).cloned().unwrap_or_else(|| Seen {
                shape: Shape::Any,
                missing: Some(format!("'{name}' is set in one branch only")),
            });
            let set = |branch| last(branch, name);
            let merged = match (set(yes), set(no)) {
                (Some(a), Some(b)) => either(a, b),
                (Some(one), None) | (None, Some(one)) => {
                    let shape = match self.local(name) {
                        Some(outer) => union(&one.shape, &outer.shape).unwrap_or(Shape::Any),
                        None => one.shape,
                    };
                    Seen { shape, missing: one.missing.or(outer.missing) }
                }
                (None, None) => continue,
            };
            self.bind(name, merged);
        }
    }

    fn for_loop(&mut self, each: &ForLoop<'_>, span: Span) {
        if each.recursive {
            self.refuse("recursive loops", "write one loop inside the other", span);
        }
        let shape = self.need(&each.iter);
        let item = self.item(each, &shape);
        let (bound, proofs) = (self.bound(), self.proofs.clone());
        match (pairs(&each.iter), &each.target) {
            (true, Expr::List(names)) if names.items.len() == 2 => {
                for (at, target) in names.items.iter().enumerate() {
                    let seen =
                        if at == 0 { Seen::of(Shape::text()) } else { Seen::of(value(&shape)) };
                    self.assign(target, &seen);
                }
            }
            (true, target) => self.assign(target, &Seen::any()),
            (false, target) => self.assign(target, &item),
        }
        self.bind("loop", Seen::of(LOOP.clone()));
        if let Some(filter) = &each.filter_expr {
            self.test(filter);
            facts(filter, true, &mut self.proofs);
        }
        self.body(&each.body);
        self.unbind(bound);
        self.proofs.clone_from(&proofs);
        self.body(&each.else_body);
        self.unbind(bound);
        self.proofs = proofs;
    }

    fn item(&mut self, each: &ForLoop<'_>, shape: &Shape) -> Seen {
        match shape {
            Shape::List(item, _) => Seen::of((**item).clone()),
            Shape::Object(_) => Seen::of(Shape::text()),
            Shape::Any => Seen::any(),
            other => {
                let message =
                    format!("'{}' is no list: it is {}", self.text(&each.iter), describe(other));
                self.add(code::NOT_A_LIST, self.range_of(&each.iter), message, None);
                Seen::any()
            }
        }
    }
}

/// Whether a loop is over the pairs of an object.
fn pairs(iter: &Expr<'_>) -> bool {
    matches!(iter, Expr::Filter(f) if matches!(f.name, "items" | "dictsort"))
}

/// What the fields of an object hold: `items` yields a list of that.
fn value(pairs: &Shape) -> Shape {
    match pairs {
        Shape::List(value, _) => (**value).clone(),
        _ => Shape::Any,
    }
}

/// The values of an object's fields, of whichever field.
pub fn values(object: &Object) -> Shape {
    let shapes = object.fields.iter().map(|f| {
        if f.optional {
            crate::expression::unify::nullable(f.shape.clone())
        } else {
            f.shape.clone()
        }
    });
    shapes.reduce(|a, b| union(&a, &b).unwrap_or(Shape::Any)).unwrap_or(Shape::Any)
}

/// What `loop` holds.
static LOOP: LazyLock<Shape> = LazyLock::new(|| {
    let whole = || Shape::Integer(Range::default());
    Shape::object([
        ("index", whole()),
        ("index0", whole()),
        ("revindex", whole()),
        ("revindex0", whole()),
        ("first", Shape::Boolean),
        ("last", Shape::Boolean),
        ("length", whole()),
        ("depth", whole()),
        ("depth0", whole()),
    ])
});
