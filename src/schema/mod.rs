//! JSON Schema 2020-12, everywhere a value or a schema crosses a border: a step's answer is extracted from a
//! model's text ([`extract`]) and validated against the full schema, whatever subset of it the provider was
//! shown ([`project`]); what clients see is made portable ([`portable`]); what authors write as a shape
//! becomes a schema and back.
//!
//! References stay inside the document: nothing here reads a file or the network. Regular expressions run in
//! linear time, so no pattern can stall a run; look-around and back-references are refused for it. `format`
//! is an annotation, as the specification has it, and is not asserted.

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use crate::domain::shape::Shape;

mod absent;
mod bound;
pub mod extract;
mod place;
pub mod portable;
pub mod project;
mod relaxed;
mod shape;
mod strict;
pub mod subset;
mod violation;

#[cfg(test)]
mod tests;

pub use extract::{ExtractError, extract};
pub use portable::inline;
pub use project::project;

/// Most violations one validation reports.
pub const MAX_VIOLATIONS: usize = 20;

/// Bytes a compiled pattern may take: `[a-z]{1,200}` takes about 100 KB.
const PATTERN_BYTES: usize = 1 << 20;

/// A JSON Schema with its source. Written and compiled once, at the latest when it is asked for: a
/// folder of a hundred workflows has a thousand schemas, and a server needs few of them at its start.
#[derive(Clone, Debug)]
pub struct Schema(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    source: LazyLock<Arc<Value>, Write>,
    validator: OnceLock<Result<Validator, SchemaError>>,
}

/// Writes the document.
type Write = Box<dyn FnOnce() -> Arc<Value> + Send>;

/// One way in which a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer into the value, `""` for the whole.
    pub pointer: String,
    /// What is wrong, with what was expected; quotes at most 80 characters of the value.
    pub message: String,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct SchemaError {
    /// JSON pointer into the schema.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

impl SchemaError {
    fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// `/items/3/price: expected number, got string "12"`; the message alone at the root.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.pointer, self.message)
        }
    }
}

fn build(source: &Value) -> Result<Validator, SchemaError> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(
            PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES),
        )
        .build(source)
        .map_err(|error| violation::of_schema(&error))
}

impl Schema {
    /// Compiles a JSON Schema 2020-12 document of at most 20,000 nodes and 64 levels.
    ///
    /// # Errors
    /// An invalid or too large schema, another draft, a reference outside the document or to nothing, a
    /// reference that leads back to itself in the same place, a pattern with look-around.
    pub fn compile(source: Value) -> Result<Self, SchemaError> {
        bound::check(&source)?;
        let validator = OnceLock::from(Ok(build(&source)?));
        Ok(Self::of(|| source, validator))
    }

    /// The schema of a shape, which is sound where the shape's patterns were checked.
    #[must_use]
    pub fn shaped(shape: Shape) -> Self {
        Self::of(move || shape::write(&shape), OnceLock::new())
    }

    /// The same in the form that clients take, see [`inline`].
    ///
    /// # Errors
    /// As [`inline`].
    pub fn portable(shape: Shape) -> Result<Self, SchemaError> {
        if !portable::is_plain(&shape) {
            let source = inline(&shape::write(&shape))?;
            return Ok(Self::of(|| source, OnceLock::new()));
        }
        let write = move || {
            let written = shape::write(&shape);
            portable::flatten(&written).unwrap_or(written)
        };
        Ok(Self::of(write, OnceLock::new()))
    }

    fn of(
        write: impl FnOnce() -> Value + Send + 'static,
        validator: OnceLock<Result<Validator, SchemaError>>,
    ) -> Self {
        let write: Write = Box::new(|| Arc::new(write()));
        Self(Arc::new(Parts { source: LazyLock::new(write), validator }))
    }

    fn validator(&self) -> Result<&Validator, &SchemaError> {
        self.0.validator.get_or_init(|| build(self.source())).as_ref()
    }

    /// The schema of a shape: objects closed, `required` in order, `optional` fields and those with a
    /// default left out of it.
    #[must_use]
    pub fn of_shape(shape: &Shape) -> Value {
        shape::write(shape)
    }

    /// What a schema says, as far as a shape can say it; the rest is `Shape::Any`. Never narrower than the
    /// schema, except where a reference leads outside the document.
    #[must_use]
    pub fn to_shape(schema: &Value) -> Shape {
        shape::read(schema)
    }

    /// The document.
    #[must_use]
    pub fn source(&self) -> &Arc<Value> {
        &self.0.source
    }

    /// Whether `value` fits. Cheaper than [`Self::violations`] where the reasons do not matter.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        self.validator().is_ok_and(|validator| validator.is_valid(value))
    }

    /// Every violation, at most [`MAX_VIOLATIONS`], in document order.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        if self.accepts(value) {
            return Vec::new();
        }
        match self.validator() {
            Ok(validator) => violation::of_value(validator.iter_errors(value), value),
            Err(error) => {
                let message = format!("cannot be validated: {error}");
                vec![Violation { pointer: String::new(), message }]
            }
        }
    }

    /// `value` without the explicit nulls of optional fields that do not hold null otherwise: such a null
    /// counts as absent. Everything else is kept as it is, fitting or not.
    #[must_use]
    pub fn drop_absent(shape: &Shape, value: Value) -> Value {
        absent::drop_absent(shape, value)
    }

    /// `value` with the defaults of absent fields filled in, at every depth where an object is present.
    #[must_use]
    pub fn fill_defaults(shape: &Shape, value: Value) -> Value {
        absent::fill_defaults(shape, value)
    }
}
