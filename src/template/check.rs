//! The types of a template: every reference against the scope, inside loops, filters and tests too.
//!
//! A value that can be missing carries the reason along ([`Seen::missing`]); whoever needs the value reports it. A
//! condition (`{% if gaps %}`, `is defined`, `and`, `not`, the inline `if`) needs nothing and proves the references it
//! tests for the part it guards.
use std::ops::Range;
use std::sync::Arc;

use minijinja::machinery::ast::{CallArg, Expr, Filter, Stmt, Test, UnaryOpKind};
use minijinja::machinery::{Span, ast};

use crate::domain::finding::{Code, Finding};
use crate::domain::shape::{ListRange, Scope, Shape};
use crate::expression::reference::{self, Proof};
use crate::expression::unify::{describe, empty_list, empty_value, strip, union};
use crate::expression::{Mention, code};

use super::builtin::{self, Takes};
use super::guard::{either, facts};
use super::include::{Include, Library, Located};
use super::{clamp, filter};

/// What an expression holds.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its shape, without null.
    pub shape: Shape,
    /// Why it may be missing.
    pub missing: Option<String>,
}

/// A name the template binds itself.
pub(super) struct Local {
    /// The name.
    pub name: String,
    /// What it holds.
    pub seen: Seen,
}

/// The walk over one template, or over a text it includes.
pub struct Checker<'a> {
    pub(super) source: &'a str,
    /// What is visible. `None`: the mentions are looked for, and names are taken to hold anything.
    pub(super) scope: Option<&'a Scope>,
    pub(super) library: &'a Library,
    pub(super) locals: Vec<Local>,
    pub(super) proofs: Vec<Proof>,
    pub(super) findings: Vec<Located>,
    /// Root names seen so far; none where there is a scope.
    pub(super) mentions: Vec<Mention>,
    /// What the template includes by itself.
    pub(super) includes: Vec<Include>,
    /// The included text this walk is over; `None`: the template itself.
    pub(super) file: Option<Arc<str>>,
    /// Where the template itself includes that text, directly or not.
    pub(super) site: Option<Range<usize>>,
    /// How many includes this text is away from the template.
    pub(super) depth: usize,
    /// Texts included so far.
    pub(super) included: usize,
}

impl Seen {
    /// Something that is there.
    pub fn of(shape: Shape) -> Self {
        let (shape, null) = strip(shape);
        Self { shape, missing: null.then(|| "it may be null".to_owned()) }
    }

    /// Something that is not checked further.
    pub const fn any() -> Self {
        Self { shape: Shape::Any, missing: None }
    }
}

impl<'a> Checker<'a> {
    /// A walk that has seen nothing yet.
    pub fn new(source: &'a str, scope: Option<&'a Scope>, library: &'a Library) -> Self {
        Self {
            source,
            scope,
            library,
            locals: Vec::new(),
            proofs: Vec::new(),
            findings: Vec::new(),
            mentions: Vec::new(),
            includes: Vec::new(),
            file: None,
            site: None,
            depth: 0,
            included: 0,
        }
    }

    /// Walks over a whole template.
    pub fn whole(&mut self, root: &Stmt<'_>) {
        if let Stmt::Template(root) = root {
            self.body(&root.children);
        }
    }

    /// The root names and the problems, in the order of the text, those of included texts last; each problem
    /// once.
    pub fn finish(self) -> (Vec<Mention>, Vec<Located>) {
        let (mut mentions, mut findings) = (self.mentions, self.findings);
        mentions.sort_by_key(|m| m.range.start);
        findings.sort_by(|a, b| {
            let place = |f: &Located| (f.file.clone(), f.finding.range.start);
            place(a).cmp(&place(b))
        });
        findings.dedup();
        (mentions, findings)
    }

    /// The bytes of a span.
    pub fn range(&self, span: Span) -> Range<usize> {
        clamp(self.source, span.start_offset as usize..span.end_offset as usize)
    }

    /// The bytes of a span's first word.
    pub fn first_word(&self, span: Span) -> Range<usize> {
        let whole = self.range(span);
        let text = self.source.get(whole.clone()).unwrap_or_default();
        let length = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
        whole.start..whole.start + length
    }

    /// The bytes of an expression. The engine's spans begin early or late by a word: the outermost reference decides.
    pub fn range_of(&self, expr: &Expr<'_>) -> Range<usize> {
        let own = self.range(expr.span());
        let start = match expr {
            Expr::GetAttr(e) => self.range_of(&e.expr).start,
            Expr::GetItem(e) => self.range_of(&e.expr).start,
            Expr::Slice(e) => self.range_of(&e.expr).start,
            Expr::Call(e) => self.range_of(&e.expr).start,
            Expr::BinOp(e) => self.range_of(&e.left).start,
            Expr::Compare(e) => self.range_of(&e.expr).start,
            Expr::IfExpr(e) => self.range_of(&e.true_expr).start,
            Expr::Test(e) => self.range_of(&e.expr).start,
            Expr::Filter(e) => e.expr.as_ref().map_or(own.start, |e| self.range_of(e).start),
            Expr::Var(_)
            | Expr::Const(_)
            | Expr::UnaryOp(_)
            | Expr::List(_)
            | Expr::Tuple(_)
            | Expr::Map(_) => own.start,
        };
        start.min(own.end)..own.end
    }

    /// An expression as it is written.
    pub fn text(&self, expr: &Expr<'_>) -> &'a str {
        self.source.get(self.range_of(expr)).unwrap_or_default()
    }

    /// Notes a problem.
    pub fn add(&mut self, code: Code, range: Range<usize>, message: String, help: Option<String>) {
        self.note(Finding { code, range, message, help });
    }

    /// Notes a problem of this text.
    pub(super) fn note(&mut self, finding: Finding) {
        self.findings.push(Located { file: self.file.clone(), finding });
    }

    /// Makes `name` visible; what was proved of an outer one of that name is forgotten.
    pub fn bind(&mut self, name: &str, seen: Seen) {
        self.proofs.retain(|p| p.first().is_none_or(|root| root != name));
        self.locals.push(Local { name: name.to_owned(), seen });
    }

    /// How many names are bound.
    pub fn bound(&self) -> usize {
        self.locals.len()
    }

    /// Forgets the names bound since, and returns them.
    pub fn unbind(&mut self, bound: usize) -> Vec<(String, Seen)> {
        self.locals.drain(bound..).map(|l| (l.name, l.seen)).collect()
    }

    /// What a name of the template holds.
    pub fn local(&self, name: &str) -> Option<&Seen> {
        self.locals.iter().rev().find(|l| l.name == name).map(|l| &l.seen)
    }

    /// The type of an expression whose value is needed; reports where it can be missing.
    pub fn need(&mut self, expr: &Expr<'_>) -> Shape {
        let seen = self.see(expr, false);
        if let Some(why) = seen.missing {
            self.unguarded(expr, &seen.shape, &why);
        }
        seen.shape
    }

    fn unguarded(&mut self, expr: &Expr<'_>, shape: &Shape, why: &str) {
        let text = self.text(expr);
        let empty = empty_value(shape);
        let empty = if empty == "null" { "\"none\"" } else { &empty };
        let help = match expr {
            Expr::Var(_) | Expr::GetAttr(_) => {
                format!("write `{text} | default({empty})`, or guard it: `{{% if {text} %}}`")
            }
            Expr::GetItem(_) | Expr::Filter(_) => format!("write `{text} | default({empty})`"),
            Expr::IfExpr(_) => format!("write `{text} else {empty}`"),
            _ => format!("write `({text}) | default({empty})`"),
        };
        let range = self.range_of(expr);
        if let Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) = expr {
            self.note(reference::unguarded(text, why, range, help));
        } else {
            self.add(code::UNGUARDED, range, why.to_owned(), Some(help));
        }
    }

    /// An expression that is asked whether it is true; it may be missing.
    pub fn test(&mut self, expr: &Expr<'_>) {
        self.see(expr, true);
    }

    /// What an expression holds. `lenient`: whoever asks can do without it.
    pub fn see(&mut self, expr: &Expr<'_>, lenient: bool) -> Seen {
        match expr {
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => self.reference(expr, lenient),
            Expr::Const(e) => filter::constant(&e.value),
            Expr::UnaryOp(e) => match e.op {
                UnaryOpKind::Not => {
                    self.test(&e.expr);
                    Seen::of(Shape::Boolean)
                }
                UnaryOpKind::Neg => {
                    let shape = self.need(&e.expr);
                    self.number("`-`", &e.expr, &shape);
                    Seen::of(shape)
                }
            },
            Expr::BinOp(e) => self.binary(e, lenient),
            Expr::Compare(e) => {
                let mut left = &e.expr;
                for op in &e.ops {
                    self.compare_chained(op.op, left, &op.expr);
                    left = &op.expr;
                }
                Seen::of(Shape::Boolean)
            }
            Expr::IfExpr(e) => self.choice(e, lenient),
            Expr::Filter(e) => self.filter(e, expr, lenient),
            Expr::Test(e) => self.tested(e),
            Expr::Slice(e) => {
                let shape = self.need(&e.expr);
                for bound in [&e.start, &e.stop, &e.step].into_iter().flatten() {
                    let bound_shape = self.need(bound);
                    self.number("a slice", bound, &bound_shape);
                }
                match shape {
                    Shape::List(item, _) => Seen::of(Shape::list((*item).clone())),
                    other => Seen::of(other),
                }
            }
            Expr::Call(e) => self.called(e),
            Expr::List(e) => self.list(&e.items),
            Expr::Tuple(e) => self.list(&e.items),
            Expr::Map(e) => self.map(e),
        }
    }

    fn called(&mut self, call: &ast::Call<'_>) -> Seen {
        let range = self.range_of(&call.expr);
        let what = self.source.get(range.clone()).unwrap_or_default();
        let message = format!("nothing can be called in a prompt, and so not `{what}`");
        let name = what.rsplit('.').next().unwrap_or(what);
        let help = if builtin::filter(name).is_some() {
            format!("`{name}` is a filter: write `value | {name}`")
        } else {
            "use a filter, as `value | join(\", \")`".to_owned()
        };
        self.add(code::REFUSED, range, message, Some(help));
        for arg in &call.args {
            self.see(filter::argument(arg), true);
        }
        Seen::any()
    }

    fn choice(&mut self, choice: &ast::IfExpr<'_>, lenient: bool) -> Seen {
        self.test(&choice.test_expr);
        let before = self.proofs.clone();
        facts(&choice.test_expr, true, &mut self.proofs);
        let yes = self.see(&choice.true_expr, lenient);
        self.proofs.clone_from(&before);
        let Some(no) = &choice.false_expr else {
            let missing = "an `if` without `else` may hold nothing".to_owned();
            return Seen { shape: yes.shape, missing: Some(missing) };
        };
        facts(&choice.test_expr, false, &mut self.proofs);
        let no = self.see(no, lenient);
        self.proofs = before;
        either(yes, no)
    }

    fn tested(&mut self, test: &Test<'_>) -> Seen {
        let lenient = matches!(test.name, "defined" | "undefined" | "none");
        let shape = if lenient {
            self.test(&test.expr);
            Shape::Any
        } else {
            self.need(&test.expr)
        };
        let range = self.name_range(&test.expr, test.name);
        let Some(entry) = builtin::test(test.name) else {
            let (message, help) = builtin::unknown_test(test.name);
            self.add(code::UNKNOWN_FUNCTION, range, message, Some(help));
            return Seen::of(Shape::Boolean);
        };
        self.arguments(entry.name, entry.least, entry.args, entry.named, &test.args, &range);
        if !entry.takes.fits(&shape) {
            let message =
                format!("'{}' needs {}, not {}", entry.name, entry.takes.what(), describe(&shape));
            self.add(code::ARGUMENT, range, message, None);
        }
        Seen::of(Shape::Boolean)
    }

    fn filter(&mut self, filter: &Filter<'_>, whole: &Expr<'_>, lenient: bool) -> Seen {
        let Some(input) = &filter.expr else {
            return Seen::any();
        };
        if builtin::filter(filter.name).is_none() {
            self.see(input, true);
            let range = self.name_range(input, filter.name);
            let (message, help) = builtin::unknown_filter(filter.name);
            self.add(code::UNKNOWN_FUNCTION, range, message, Some(help));
            for arg in &filter.args {
                self.see(filter::argument(arg), true);
            }
            return Seen::any();
        }
        if matches!(filter.name, "default" | "d") {
            return self.defaulted(filter, input, lenient);
        }
        let shape = self.need(input);
        let range = self.name_range(input, filter.name);
        self.filtered(filter, input, &shape, range, self.text(whole))
    }

    fn defaulted(&mut self, filter: &Filter<'_>, input: &Expr<'_>, lenient: bool) -> Seen {
        let seen = self.see(input, true);
        let fallback = match filter.args.as_slice() {
            [] => Seen::of(Shape::text()),
            [CallArg::Pos(fallback)] => self.see(fallback, lenient),
            args => {
                let range = self.name_range(input, filter.name);
                self.arguments(filter.name, 0, &[Takes::Anything], &[], args, &range);
                return Seen::any();
            }
        };
        let shape = union(&seen.shape, &fallback.shape).unwrap_or(Shape::Any);
        Seen { shape, missing: fallback.missing }
    }

    /// The place of a filter's or a test's name, after what it is applied to.
    fn name_range(&self, input: &Expr<'_>, name: &str) -> Range<usize> {
        let after = self.range_of(input).end;
        let rest = self.source.get(after..).unwrap_or_default();
        let start = after + rest.find(name).unwrap_or(0);
        clamp(self.source, start..start + name.len())
    }

    fn list(&mut self, items: &[Expr<'_>]) -> Seen {
        let mut common: Option<Shape> = None;
        for item in items {
            let shape = self.need(item);
            common = Some(match common {
                None => shape,
                Some(common) => union(&common, &shape).unwrap_or(Shape::Any),
            });
        }
        let count = Some(items.len() as u64);
        Seen::of(common.map_or_else(empty_list, |item| {
            Shape::List(item.into(), ListRange { min: count, max: count })
        }))
    }

    fn map(&mut self, map: &ast::Map<'_>) -> Seen {
        let mut fields = Vec::new();
        for (key, value) in map.keys.iter().zip(&map.values) {
            self.need(key);
            let shape = self.need(value);
            if let Expr::Const(key) = key
                && let Some(key) = key.value.as_str()
            {
                fields.push((key.to_owned(), shape));
            }
        }
        if fields.len() < map.keys.len() {
            return Seen::any();
        }
        Seen::of(Shape::object(fields.iter().map(|(k, s)| (k.as_str(), s.clone()))))
    }
}
