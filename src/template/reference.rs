//! References: `plan.questions[0].id`, step by step, and what along the way can be missing.
use std::borrow::Cow;
use std::ops::Range;

use minijinja::machinery::ast::Expr;

use crate::domain::shape::{Presence, Shape};
use crate::expression::unify::{describe, is_empty_list, strip};
use crate::expression::{Mention, code, reference};

use super::check::{Checker, Seen};
use super::clamp;

/// One step of a reference.
enum Link<'e, 'a> {
    Name(&'e str, Range<usize>),
    Index(usize),
    Dynamic(&'e Expr<'a>),
}

impl Checker<'_> {
    /// A reference: a name, and the fields and items below it.
    pub fn reference(&mut self, expr: &Expr<'_>, lenient: bool) -> Seen {
        let (root, links) = self.links(expr);
        let mut path: Vec<Cow<'_, str>> = Vec::with_capacity(links.len() + 1);
        let (mut seen, used) = match root {
            Expr::Var(var) => {
                path.push(var.id.into());
                self.root(var.id, &links, self.range(var.span()), lenient)
            }
            other => (self.see(other, lenient), 0),
        };
        if self.scope.is_none() {
            for link in links {
                if let Link::Dynamic(subscript) = link {
                    self.need(subscript);
                }
            }
            return Seen::any();
        }
        for (at, link) in links.iter().enumerate() {
            if at < used {
                if let Link::Name(name, _) = link {
                    path.push((*name).into());
                }
                continue;
            }
            if let (Link::Index(_), Some(Link::Name(..)), false) =
                (link, links.get(at + 1), matches!(root, Expr::Var(_)))
            {
                // Only what comes from the bindings stays absent however far it is followed.
                let help = "set the item to a name, and test that".to_owned();
                let message = "the item may not be there".to_owned();
                self.add(code::UNGUARDED, self.range_of(expr), message, Some(help));
            }
            let below = self.step(&seen, &path, link, root);
            match link {
                Link::Name(name, _) if path.len() == at + 1 => path.push((*name).into()),
                Link::Index(index) if path.len() == at + 1 => path.push(index.to_string().into()),
                _ => {}
            }
            let whole = path.len() == at + 2;
            let proved = whole && reference::proved(&self.proofs, &path);
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
        let mut names = links.iter().map_while(|link| match link {
            Link::Name(name, _) => Some(*name),
            Link::Index(_) | Link::Dynamic(_) => None,
        });
        let Some(scope) = self.scope else {
            self.mentions.push(Mention {
                name: name.to_owned(),
                path: names.map(str::to_owned).collect(),
                range: self.site.clone().unwrap_or(range),
                guarded: lenient || self.is_there(name),
            });
            return (Seen::any(), 0);
        };
        let second = names.next();
        let Some((shape, presence, used)) = reference::root(scope, name, second) else {
            let locals: Vec<&str> = self.locals.iter().map(|l| l.name.as_str()).collect();
            let finding = reference::unknown_name(scope, &locals, name, range);
            self.note(finding);
            return (Seen::any(), 0);
        };
        let (shape, null) = strip(shape.clone());
        let missing = match presence {
            Presence::Maybe(why) => Some(why.to_string()),
            Presence::Always => null.then(|| format!("'{name}' may be null")),
        };
        // `answer.items` is there where `answer` is.
        let proved = match second.filter(|_| used == 2) {
            Some(second) => reference::proved(&self.proofs, &[name, second]),
            None => reference::proved(&self.proofs, &[name]),
        };
        let missing = missing.filter(|_| !self.is_there(name) && !proved);
        (Seen { shape, missing }, used - 1)
    }

    /// Whether a name of the scope was proved to be there.
    fn is_there(&self, name: &str) -> bool {
        reference::proved(&self.proofs, &[name])
            || self.local("run").is_none() && reference::proved_ok(&self.proofs, name)
    }

    fn step(
        &mut self,
        seen: &Seen,
        path: &[Cow<'_, str>],
        link: &Link<'_, '_>,
        root: &Expr<'_>,
    ) -> Seen {
        let text = if path.is_empty() { self.text(root) } else { "" };
        let owner = || if path.is_empty() { text.to_owned() } else { path.join(".") };
        match link {
            Link::Name(name, range) => self.field(&seen.shape, owner, name, range.clone()),
            Link::Index(index) => match &seen.shape {
                Shape::List(item, bounds) => {
                    let mut item = Seen::of((**item).clone());
                    if bounds.min.is_none_or(|min| *index as u64 >= min) {
                        item.missing = Some(format!("'{}' may have fewer items", owner()));
                    }
                    item
                }
                Shape::Any => Seen::any(),
                other => {
                    let range = self.range_of(root);
                    let message = format!("'{}' has no items: it is {}", owner(), describe(other));
                    self.add(code::NOT_A_LIST, range, message, None);
                    Seen::any()
                }
            },
            Link::Dynamic(subscript) => {
                self.need(subscript);
                match &seen.shape {
                    Shape::List(item, _) => Seen {
                        missing: Some(format!("'{}' may have fewer items", owner())),
                        ..Seen::of((**item).clone())
                    },
                    _ => Seen::any(),
                }
            }
        }
    }

    fn field(
        &mut self,
        shape: &Shape,
        owner: impl Fn() -> String,
        name: &str,
        range: Range<usize>,
    ) -> Seen {
        if let Shape::List(item, _) = shape
            && !is_empty_list(shape)
        {
            let owner = owner();
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
                self.note(finding);
                Seen::any()
            }
        }
    }
}
