//! Expressions in a cases file, and findings in them shown where they stand.

use super::Lowering;
use crate::definition::page::is_null;
use crate::definition::raw::NOT_AN_EXPRESSION;
use crate::definition::yaml::{ContentMap, Kind, Node};
use crate::domain::finding::Finding;
use crate::expression::Expression;

impl Lowering<'_> {
    /// Parses the expression that a single value is.
    pub(super) fn expression(&mut self, node: &Node, what: &str) -> Option<Expression> {
        let text = match &node.kind {
            Kind::Scalar(scalar) if !scalar.text.trim().is_empty() && !is_null(node) => {
                &scalar.text
            }
            Kind::Scalar(_) => {
                self.reader
                    .error(
                        NOT_AN_EXPRESSION,
                        &node.span,
                        format!("{what}: the expression is missing"),
                    )
                    .help("write a condition, as length(output.bullets) <= 5");
                return None;
            }
            Kind::List(_) | Kind::Map(_) => {
                let read = if matches!(node.kind, Kind::List(_)) { "list" } else { "mapping" };
                let message = format!("{what} must be an expression; YAML reads a {read} here");
                self.reader.error(NOT_AN_EXPRESSION, &node.span, message).help(
                    "an expression is one bare value; where it holds `: `, or starts with [ or {, write it as a block (`|`)",
                );
                return None;
            }
        };
        match Expression::parse(text) {
            Ok(expression) => Some(expression),
            Err(finding) => {
                self.finding(&finding, node, what);
                None
            }
        }
    }

    /// Shows a finding in the text of `node`.
    pub(super) fn finding(&mut self, finding: &Finding, node: &Node, what: &str) {
        let range = ContentMap::of(&self.reader.page.source, node).locate(&finding.range);
        let found = self.reader.error(finding.code, &range, format!("{what}: {}", finding.message));
        found.help.clone_from(&finding.help);
    }
}
