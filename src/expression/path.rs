//! The types of paths: `plan.questions.text`, step by step, and what along the way can be missing.
use crate::domain::finding::Finding;
use crate::domain::shape::{Presence, Shape};

use super::Mention;
use super::ast::{Name, Node};
use super::check::Checker;
use super::reference::{self, Missing, Proof};
use super::unify::{empty_value, nullable, strip};

impl<'a> Checker<'a> {
    /// The type of a path.
    pub fn path(&mut self, node: &'a Node, names: &'a [Name], lenient: bool) -> Shape {
        let Some(first) = names.first() else {
            return Shape::Any;
        };
        let local = self.locals.iter().rev().find(|(name, _)| *name == first.text);
        let (shape, presence, used) = if let Some((_, shape)) = local {
            (shape.clone(), Presence::Always, 1)
        } else if let Some(scope) = self.scope {
            let second = names.get(1).map(|name| name.text.as_str());
            let Some((shape, presence, used)) = reference::root(scope, &first.text, second) else {
                let locals: Vec<&str> = self.locals.iter().map(|(name, _)| *name).collect();
                let range = first.range.clone();
                self.findings.push(reference::unknown_name(scope, &locals, &first.text, range));
                return Shape::Any;
            };
            (shape.clone(), presence.clone(), used)
        } else {
            self.mentions.push(Mention {
                name: first.text.clone(),
                path: names.iter().skip(1).map(|name| name.text.clone()).collect(),
                range: first.range.clone(),
                guarded: lenient || self.is_there(&first.text),
            });
            return Shape::Any;
        };
        let mut walk = Walk { names, proofs: &self.proofs, missing: None, finding: None };
        let (shape, null) = strip(shape);
        match presence {
            // `answer.items` is there where `answer` is.
            Presence::Maybe(_) if self.is_there(&first.text) => {}
            Presence::Maybe(why) => walk.miss(used, Missing::Absent(why.to_string())),
            Presence::Always if null => {
                let owner: Vec<&str> = names.iter().take(used).map(|n| n.text.as_str()).collect();
                walk.miss(used, Missing::Null(format!("'{}' may be null", owner.join("."))));
            }
            Presence::Always => {}
        }
        let shape = walk.down(shape, used, false);
        let (missing, finding) = (walk.missing.take(), walk.finding.take());
        self.findings.extend(finding);
        match missing {
            None => shape,
            Some((at, Missing::Null(_))) if at == names.len() => nullable(shape),
            Some(_) if lenient => nullable(shape),
            Some((_, missing)) => {
                let text = self.text(node);
                let help = match &shape {
                    Shape::Object(_) => {
                        format!("test it: `{text} != null and …`, or pass it on: `{text} ?? null`")
                    }
                    other => format!("write `{text} ?? {}`", empty_value(other)),
                };
                let range = node.range.clone();
                self.findings.push(reference::unguarded(text, missing.why(), range, help));
                shape
            }
        }
    }

    /// Whether a name of the scope was proved to be there.
    fn is_there(&self, name: &str) -> bool {
        let run = self.locals.iter().any(|(local, _)| *local == "run");
        reference::proved(&self.proofs, &[name]) || !run && reference::proved_ok(&self.proofs, name)
    }

    /// The type of fields below something that is no path.
    pub fn fields(&mut self, base: &'a Node, names: &'a [Name], lenient: bool) -> Shape {
        let (shape, null) = self.needed(base, lenient);
        let mut walk = Walk { names, proofs: &[], missing: None, finding: None };
        let shape = walk.down(shape, 0, false);
        let (missing, finding) = (walk.missing.take(), walk.finding.take());
        self.findings.extend(finding);
        let passes = matches!(&missing, Some((at, Missing::Null(_))) if *at == names.len());
        match missing {
            Some((_, missing)) if !lenient && !passes => {
                let range = names.first().map_or(0..0, |n| n.range.clone());
                let help = format!("write `… ?? {}`", empty_value(&shape));
                self.findings.push(reference::unguarded("it", missing.why(), range, help));
                shape
            }
            Some(_) => nullable(shape),
            None if null => nullable(shape),
            None => shape,
        }
    }
}

/// The way down a path's fields.
struct Walk<'a> {
    names: &'a [Name],
    proofs: &'a [Proof],
    /// The first place that can be missing, as the count of names up to it, and why.
    missing: Option<(usize, Missing)>,
    finding: Option<Finding>,
}

impl Walk<'_> {
    fn miss(&mut self, used: usize, missing: Missing) {
        let words: Vec<&str> = self.names.iter().take(used).map(|n| n.text.as_str()).collect();
        // A null at the end passes on; one in the middle, or an absence, is what must be named.
        if self.missing.is_none() && !reference::proved(self.proofs, &words) {
            self.missing = Some((used, missing));
        }
    }

    /// The shape below `shape` after the names from `used` on. Inside a list, a missing field makes the item null.
    fn down(&mut self, shape: Shape, used: usize, inside: bool) -> Shape {
        let Some(name) = self.names.get(used) else {
            return shape;
        };
        let (shape, null) = strip(shape);
        let below = match shape {
            Shape::List(item, range) => {
                return or_null(
                    Shape::List(self.down((*item).clone(), used, true).into(), range),
                    null,
                );
            }
            shape => {
                let names = self.names.iter().take(used).map(|n| n.text.as_str());
                let owner = || match names.clone().collect::<Vec<_>>().as_slice() {
                    [] => "it".to_owned(),
                    words => words.join("."),
                };
                match reference::field(&shape, owner, &name.text, name.range.clone()) {
                    Err(finding) => {
                        self.finding = Some(finding);
                        return Shape::Any;
                    }
                    Ok(None) => return Shape::Any,
                    Ok(Some(found)) => found,
                }
            }
        };
        let mut lost = null;
        match below.missing {
            Some(missing) if !inside => self.miss(used + 1, missing),
            Some(_) => lost = true,
            None => {}
        }
        let shape = self.down(below.shape, used + 1, inside);
        or_null(shape, lost)
    }
}

fn or_null(shape: Shape, null: bool) -> Shape {
    if null { nullable(shape) } else { shape }
}
