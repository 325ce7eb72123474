//! The expression language of `each`, `when`, `output` (and later `value`, `check`): total, typed at load.
use std::ops::Range;

use serde_json::Value;

use crate::domain::finding::Finding;
use crate::domain::shape::{Scope, Shape};

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    source: String,
}

/// A root name an expression or template mentions: `plan` in `plan.questions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The name.
    pub name: String,
    /// The static segments after it: `["questions"]` in `plan.questions`.
    pub path: Vec<String>,
    /// Where, as bytes of the text.
    pub range: Range<usize>,
    /// Whether every use of the name at this place is guarded or defaulted.
    pub guarded: bool,
}

impl Expression {
    /// Parses `source`.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn parse(source: &str) -> Result<Self, Finding> {
        Ok(Self { source: source.to_owned() })
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Every mention of a root name (not of `x` bound by `all(.. for x in ..)`).
    #[must_use]
    pub fn mentions(&self) -> Vec<Mention> {
        Vec::new()
    }

    /// The expression's type under `scope`, and every problem; `Shape::Any` where a problem hides the type.
    #[must_use]
    pub fn check(&self, _scope: &Scope) -> (Shape, Vec<Finding>) {
        (Shape::Any, Vec::new())
    }

    /// The value under `bindings` (an object: name → value; missing names are absent values).
    /// Total for a checked expression: never fails, never panics.
    #[must_use]
    pub fn evaluate(&self, _bindings: &Value) -> Value {
        Value::Null
    }
}
