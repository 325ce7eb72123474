//! The expression language of `each`, `when`, `output`, `value` and `check`: total, typed at load.
//!
//! An [`Expression`] is parsed once, checked against the shapes of what it references, and then has a value under any
//! bindings: it never fails, never panics, and does a bounded amount of work. Missing values are null and pass
//! through operators and functions up to a `??`; the check makes sure that there is one.
//! Not for prompts: those are templates. The grammar stands in `parse.rs`, the functions in `function.rs`.
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::finding::Finding;
use crate::domain::shape::{Scope, Shape};

pub use function::{Entry, Function, TABLE};
pub use parse::NO_OPERATOR;

mod ast;
mod braces;
mod builtin;
mod call;
mod check;
mod chunk;
pub mod code;
mod evaluate;
mod function;
mod guard;
mod lexer;
mod number;
mod operand;
mod parse;
mod path;
pub mod reference;
pub mod unify;

#[cfg(test)]
pub(crate) mod tests;

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    source: String,
    root: ast::Node,
    mentions: Vec<Mention>,
}

/// A root name an expression or template mentions: `plan` in `plan.questions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The name.
    pub name: String,
    /// The static segments after it: `["questions"]` in `plan.questions`.
    pub path: Vec<String>,
    /// Where the name stands, as bytes of the text.
    pub range: Range<usize>,
    /// Whether every use of the name at this place is guarded or defaulted.
    pub guarded: bool,
}

/// Why a condition is false.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counterexample<'e> {
    /// For `all(… for x in list)`: the list as written, and its first item that breaks the condition, with its place.
    pub item: Option<(&'e str, usize, Value)>,
    /// For a comparison of numbers (of that item), the values of its two sides: `71.5 == 72`.
    pub compared: Option<String>,
}

impl Expression {
    /// Parses `source`.
    ///
    /// # Errors
    /// The first syntax error, or a text of more than 4 KiB or 64 levels.
    pub fn parse(source: &str) -> Result<Self, Finding> {
        let root = parse::parse(source).map_err(|why| braces::braces(source).unwrap_or(why))?;
        let mut checker = check::Checker::new(source, None);
        checker.shape(&root, false);
        let mut mentions = checker.mentions;
        mentions.sort_by_key(|m| m.range.start);
        Ok(Self(Arc::new(Parsed { source: source.to_owned(), root, mentions })))
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The words of `a.b.c`; `None` where it is more than a plain reference.
    #[must_use]
    pub fn as_path(&self) -> Option<Vec<String>> {
        match &self.0.root.kind {
            ast::Kind::Path(names) => Some(names.iter().map(|name| name.text.clone()).collect()),
            _ => None,
        }
    }

    /// The references that are there wherever this is true: `[["gaps", "score"]]` for `gaps.score != null and …`.
    #[must_use]
    pub fn proves(&self) -> Vec<Vec<String>> {
        let mut proofs = Vec::new();
        guard::facts(&self.0.root, true, &mut proofs);
        proofs
    }

    /// Every mention of a root name (not of `x` bound by `all(.. for x in ..)`), in the order of the text.
    #[must_use]
    pub fn mentions(&self) -> &[Mention] {
        &self.0.mentions
    }

    /// The expression's type under `scope`, and every problem; `Shape::Any` where a problem hides the type.
    ///
    /// A type with `| null` means that the value may be null without being a problem here: a field of that type, or
    /// a division that is not defaulted. A name with a dot in the scope (`answer.items`) is a second view of
    /// that path and wins over the field.
    #[must_use]
    pub fn check(&self, scope: &Scope) -> (Shape, Vec<Finding>) {
        let mut checker = check::Checker::new(&self.0.source, Some(scope));
        let shape = checker.shape(&self.0.root, false);
        let mut findings = checker.findings;
        findings.sort_by_key(|f| f.range.start);
        (shape, findings)
    }

    /// What can be said of this condition where it is false: nothing for any but comparisons of numbers and `all(…)`.
    #[must_use]
    pub fn counterexample(&self, bindings: &Value) -> Counterexample<'_> {
        let mut evaluator = evaluate::Evaluator::new(bindings);
        let ast::Kind::Quantifier(quantifier) = &self.0.root.kind else {
            return Counterexample { item: None, compared: evaluator.compared(&self.0.root) };
        };
        if !quantifier.all {
            return Counterexample::default();
        }
        let Some((place, item)) = evaluator.breaking(quantifier) else {
            return Counterexample::default();
        };
        let list = self.0.source.get(quantifier.list.range.clone()).unwrap_or("the list");
        let compared = evaluator.compared_for(quantifier, &item);
        Counterexample { item: Some((list, place, item)), compared }
    }

    /// The value under `bindings` (an object: name → value; missing names are absent values).
    /// Total for a checked expression: never fails, never panics.
    #[must_use]
    pub fn evaluate(&self, bindings: &Value) -> Value {
        evaluate::Evaluator::new(bindings).value(&self.0.root).into_owned()
    }
}
