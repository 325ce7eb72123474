//! The types of a template: every reference against the scope, inside loops, filters and tests too.
//!
//! A value that can be missing carries the reason along ([`Seen::missing`]); whoever needs the value reports it. A
//! condition (`{% if gaps %}`, `is defined`, `and`, `not`, the inline `if`) needs nothing and proves the references it
//! tests for the part it guards.
use std::ops::Range;

use minijinja::machinery::ast::{Expr, Filter, Test, UnaryOpKind};
use minijinja::machinery::{Span, ast};

use crate::domain::finding::{Code, Finding};
use crate::domain::shape::{Presence, Scope, Shape};
use crate::expression::reference::{self, Proof};
use crate::expression::unify::{describe, empty_value, is_empty_list, strip, union};
use crate::expression::{Mention, code};

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
struct Local {
    name: String,
    seen: Seen,
}

/// The walk over one template.
pub struct Checker<'a> {
    source: &'a str,
    scope: &'a Scope,
    locals: Vec<Local>,
    pub(super) proofs: Vec<Proof>,
    findings: Vec<Finding>,
    mentions: Vec<Mention>,
}

/// One step of a reference.
enum Link<'e, 'a> {
    Name(&'e str, Range<usize>),
    Index(usize),
    Dynamic(&'e Expr<'a>),
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
    pub fn new(source: &'a str, scope: &'a Scope) -> Self {
        let (locals, proofs) = (Vec::new(), Vec::new());
        Self { source, scope, locals, proofs, findings: Vec::new(), mentions: Vec::new() }
    }

    /// The problems, in the order of the text, each once.
    pub fn take_findings(self) -> Vec<Finding> {
        let mut findings = self.findings;
        findings.sort_by_key(|f| f.range.start);
        findings.dedup();
        findings
    }

    /// The root names, in the order of the text.
    pub fn take_mentions(self) -> Vec<Mention> {
        let mut mentions = self.mentions;
        mentions.sort_by_key(|m| m.range.start);
        mentions
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
            Expr::Var(_) | Expr::Const(_) => own.start,
            Expr::GetAttr(e) => self.range_of(&e.expr).start,
            Expr::GetItem(e) => self.range_of(&e.expr).start,
            Expr::Slice(e) => self.range_of(&e.expr).start,
            Expr::Call(e) => self.range_of(&e.expr).start,
            Expr::BinOp(e) => self.range_of(&e.left).start,
            Expr::Compare(e) => self.range_of(&e.expr).start,
            Expr::IfExpr(e) => self.range_of(&e.true_expr).start,
            Expr::Test(e) => self.range_of(&e.expr).start,
            Expr::Filter(e) => e.expr.as_ref().map_or(own.start, |e| self.range_of(e).start),
            Expr::UnaryOp(_) | Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => own.start,
        };
        start.min(own.end)..own.end
    }

    /// An expression as it is written.
    pub fn text(&self, expr: &Expr<'_>) -> &'a str {
        self.source.get(self.range_of(expr)).unwrap_or_default()
    }

    /// Notes a problem.
    pub fn add(&mut self, code: Code, range: Range<usize>, message: String, help: Option<String>) {
        self.findings.push(Finding { code, range, message, help });
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
            self.findings.push(reference::unguarded(text, why, range, help));
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
                    Shape::List(item, _) => Seen::of(Shape::list(*item)),
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
        let help = if filter::is_filter(name) {
            format!("`{name}` is a filter: write `value | {name}`")
        } else {
            "use a filter, as `value | join(\", \")`, or a `value` step".to_owned()
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
        if lenient {
            self.test(&test.expr);
        } else {
            self.need(&test.expr);
        }
        for arg in &test.args {
            self.need(filter::argument(arg));
        }
        if !filter::is_test(test.name) {
            let range = self.name_range(&test.expr, test.name);
            let (message, help) = filter::unknown_test(test.name);
            self.add(code::UNKNOWN_FUNCTION, range, message, Some(help));
        }
        Seen::of(Shape::Boolean)
    }

    fn filter(&mut self, filter: &Filter<'_>, whole: &Expr<'_>, lenient: bool) -> Seen {
        let Some(input) = &filter.expr else {
            return Seen::any();
        };
        if !filter::is_filter(filter.name) {
            self.see(input, true);
            let range = self.name_range(input, filter.name);
            let (message, help) = filter::unknown_filter(filter.name);
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
        for arg in &filter.args {
            self.need(filter::argument(arg));
        }
        let range = self.name_range(input, filter.name);
        self.filtered(filter, input, &shape, range, self.text(whole))
    }

    fn defaulted(&mut self, filter: &Filter<'_>, input: &Expr<'_>, lenient: bool) -> Seen {
        let seen = self.see(input, true);
        let fallback = match filter.args.first() {
            Some(arg) => self.see(filter::argument(arg), lenient),
            None => Seen::of(Shape::text()),
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
        Seen::of(common.map_or_else(crate::expression::unify::empty_list, Shape::list))
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

    /// A reference: a name, and the fields and items below it.
    fn reference(&mut self, expr: &Expr<'_>, lenient: bool) -> Seen {
        let (root, links) = self.links(expr);
        let (mut seen, mut path, used) = match root {
            Expr::Var(var) => {
                let range = self.range(var.span());
                let (seen, used) = self.root(var.id, &links, range, lenient);
                (seen, vec![var.id.to_owned()], used)
            }
            other => (self.see(other, lenient), Vec::new(), 0),
        };
        for (at, link) in links.iter().enumerate() {
            if at < used {
                if let Link::Name(name, _) = link {
                    path.push((*name).to_owned());
                }
                continue;
            }
            let below = self.step(&seen, &path, link, root);
            match link {
                Link::Name(name, _) if path.len() == at + 1 => path.push((*name).to_owned()),
                Link::Index(index) if path.len() == at + 1 => path.push(index.to_string()),
                _ => {}
            }
            let whole = path.len() == at + 2;
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            let proved = whole && reference::proved(&self.proofs, &words);
            let missing = seen.missing.or(below.missing).filter(|_| !proved);
            seen = Seen { shape: below.shape, missing };
        }
        seen
    }

    /// The root of a reference, and its steps in order.
    fn links<'e, 'x>(&self, expr: &'e Expr<'x>) -> (&'e Expr<'x>, Vec<Link<'e, 'x>>) {
        let mut links = Vec::new();
        let mut root = expr;
        loop {
            match root {
                Expr::GetAttr(e) => {
                    let end = self.range(e.span()).end;
                    let range = clamp(self.source, end.saturating_sub(e.name.len())..end);
                    links.push(Link::Name(e.name, range));
                    root = &e.expr;
                }
                Expr::GetItem(e) => {
                    let range = self.range_of(&e.subscript_expr);
                    links.push(match &e.subscript_expr {
                        Expr::Const(c) if c.value.as_str().is_some() => {
                            Link::Name(c.value.as_str().unwrap_or_default(), range)
                        }
                        Expr::Const(c) if c.value.as_usize().is_some() => {
                            Link::Index(c.value.as_usize().unwrap_or_default())
                        }
                        other => Link::Dynamic(other),
                    });
                    root = &e.expr;
                }
                other => {
                    links.reverse();
                    return (other, links);
                }
            }
        }
    }

    /// What a root name holds, and how many links its binding takes: one for `answer.items`.
    fn root(
        &mut self,
        name: &str,
        links: &[Link<'_, '_>],
        range: Range<usize>,
        lenient: bool,
    ) -> (Seen, usize) {
        if let Some(local) = self.local(name) {
            let mut seen = local.clone();
            seen.missing = seen.missing.filter(|_| !reference::proved(&self.proofs, &[name]));
            return (seen, 0);
        }
        let mut words = vec![name];
        words.extend(links.iter().map_while(|l| match l {
            Link::Name(name, _) => Some(*name),
            Link::Index(_) | Link::Dynamic(_) => None,
        }));
        self.mentions.push(Mention {
            name: name.to_owned(),
            path: words.iter().skip(1).map(|w| (*w).to_owned()).collect(),
            range: range.clone(),
            guarded: lenient || reference::proved(&self.proofs, &[name]),
        });
        let Some((shape, presence, used)) = reference::root(self.scope, &words) else {
            let locals: Vec<&str> = self.locals.iter().map(|l| l.name.as_str()).collect();
            let finding = reference::unknown_name(self.scope, &locals, name, range);
            self.findings.push(finding);
            return (Seen::any(), 0);
        };
        let (shape, null) = strip(shape.clone());
        let missing = match presence {
            Presence::Maybe(why) => Some(why.clone()),
            Presence::Always => null.then(|| format!("'{name}' may be null")),
        };
        let words = words.get(..used).unwrap_or_default();
        let missing = missing.filter(|_| !reference::proved(&self.proofs, words));
        (Seen { shape, missing }, used - 1)
    }

    fn step(&mut self, seen: &Seen, path: &[String], link: &Link<'_, '_>, root: &Expr<'_>) -> Seen {
        let owner = if path.is_empty() { self.text(root).to_owned() } else { path.join(".") };
        match link {
            Link::Name(name, range) => self.field(&seen.shape, &owner, name, range.clone()),
            Link::Index(index) => match &seen.shape {
                Shape::List(item, bounds) => {
                    let mut item = Seen::of((**item).clone());
                    if bounds.min.is_none_or(|min| *index as u64 >= min) {
                        item.missing = Some(format!("'{owner}' may have fewer items"));
                    }
                    item
                }
                Shape::Any => Seen::any(),
                other => {
                    let range = self.range_of(root);
                    let message = format!("'{owner}' has no items: it is {}", describe(other));
                    self.add(code::NOT_A_LIST, range, message, None);
                    Seen::any()
                }
            },
            Link::Dynamic(subscript) => {
                self.need(subscript);
                match &seen.shape {
                    Shape::List(item, _) => Seen {
                        missing: Some(format!("'{owner}' may have fewer items")),
                        ..Seen::of((**item).clone())
                    },
                    _ => Seen::any(),
                }
            }
        }
    }

    fn field(&mut self, shape: &Shape, owner: &str, name: &str, range: Range<usize>) -> Seen {
        if let Shape::List(item, _) = shape
            && !is_empty_list(shape)
        {
            let message = format!("'{owner}' is a list and has no field '{name}'");
            let known = matches!(&**item, Shape::Object(o) if o.field(name).is_some());
            let help = if known {
                format!(
                    "write `{owner} | map(attribute=\"{name}\")`, or loop: `{{% for x in {owner} %}}`"
                )
            } else {
                format!("loop over it: `{{% for x in {owner} %}}`")
            };
            self.add(code::UNKNOWN_FIELD, range, message, Some(help));
            return Seen::any();
        }
        match reference::field(shape, owner, name, range) {
            Ok(Some(found)) => {
                Seen { shape: found.shape, missing: found.missing.map(|m| m.why().to_owned()) }
            }
            Ok(None) => Seen::any(),
            Err(finding) => {
                self.findings.push(finding);
                Seen::any()
            }
        }
    }
}

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
            ast::BinOpKind::ScAnd if truth => {
                facts(&e.left, true, proofs);
                facts(&e.right, true, proofs);
            }
            ast::BinOpKind::ScOr if !truth => {
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
