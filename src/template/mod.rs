//! Prompt templates: minijinja with strict undefined, checked against shapes at load.
use serde_json::Value;

use crate::domain::finding::Finding;
use crate::domain::shape::Scope;
use crate::expression::Mention;

/// A compiled template.
#[derive(Clone, Debug)]
pub struct Template {
    source: String,
}

/// A template that could not be rendered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct RenderError {
    /// What is wrong, with the line in the template.
    pub message: String,
}

impl Template {
    /// Compiles `source`.
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

    /// Every mention of a root name that the template does not bind itself.
    #[must_use]
    pub fn mentions(&self) -> Vec<Mention> {
        Vec::new()
    }

    /// Every problem under `scope`.
    #[must_use]
    pub fn check(&self, _scope: &Scope) -> Vec<Finding> {
        Vec::new()
    }

    /// Renders with `bindings` (an object: name → value). Missing names are undefined.
    ///
    /// # Errors
    /// Undefined where it is printed, or more than 4 MiB of text.
    pub fn render(&self, _bindings: &Value) -> Result<String, RenderError> {
        Ok(self.source.clone())
    }
}
