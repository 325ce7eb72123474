//! Texts of the two languages with the place they came from, so that findings in them can be shown there.

use std::cell::OnceCell;
use std::fmt::Display;

use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::lower::Lowering;
use crate::definition::page::Spanned;
use crate::definition::raw::{RawPrompt, RawText};
use crate::definition::shelf::FileProblem;
use crate::definition::source::Source;
use crate::definition::yaml::{ContentMap, Kind, Node, Style, advice};
use crate::domain::finding::Finding;
use crate::expression::{Expression, NO_OPERATOR, code};
use crate::template::{Located, Parsed};

/// A parsed text.
#[derive(Debug)]
pub struct Text<'r, T> {
    /// What it says.
    pub body: T,
    /// Where it stands.
    pub origin: Origin<'r>,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'r> {
    /// In the workflow file.
    Here(&'r Node),
    /// A file of its own.
    File(&'r Source),
}

impl Lowering<'_> {
    /// Parses an expression.
    pub(super) fn expression<'r>(
        &mut self,
        raw: &RawText<'r>,
        owner: impl Display,
    ) -> Option<Text<'r, Expression>> {
        let origin = Origin::Here(raw.node);
        match Expression::parse(raw.text) {
            Ok(body) => Some(Text { body, origin }),
            Err(finding) => {
                self.finding(&finding, origin, owner);
                None
            }
        }
    }

    /// Parses a template, read from its file where it has one; the file is kept in its `place`.
    pub(super) fn template<'r>(
        &mut self,
        raw: &RawPrompt<'r>,
        place: &'r OnceCell<Source>,
        owner: &str,
    ) -> Option<Text<'r, Parsed<'r>>> {
        let (text, origin, file) = match raw {
            RawPrompt::Inline(raw) => (raw.text, Origin::Here(raw.node), None),
            RawPrompt::File(name) => {
                let source = self.file(name, owner)?;
                let source = place.get_or_init(|| source);
                (source.text.as_str(), Origin::File(source), Some(name.value.as_str()))
            }
        };
        match Parsed::read(text) {
            Ok(read) => {
                let library = self.library(read.includes(), origin, file, owner)?;
                Some(Text { body: read.including(library), origin })
            }
            Err(finding) => {
                self.syntax(finding, text, origin, owner);
                None
            }
        }
    }

    /// Shows that a template cannot be read.
    pub(super) fn syntax(&mut self, finding: Finding, text: &str, origin: Origin<'_>, owner: &str) {
        self.finding(&of_expressions(finding, text), origin, owner);
    }

    /// Shows what was found in a template, or in a text it includes.
    pub(super) fn located(&mut self, found: &Located, text: &Text<'_, Parsed<'_>>, owner: &str) {
        match &found.file {
            None => self.finding(&found.finding, text.origin, owner),
            Some(file) => {
                let content = text.body.library().text(file).unwrap_or_default();
                let source = Source::new(self.context.shelf.label(file), content);
                self.finding(&found.finding, Origin::File(&source), owner);
            }
        }
    }

    /// Reads a file that the workflow names, and pins it.
    pub(super) fn file(&mut self, name: &Spanned<String>, owner: &str) -> Option<Source> {
        self.files.push(self.context.shelf.path(&name.value));
        match self.context.shelf.read(&name.value) {
            Ok(source) => {
                self.version.add(name.value.as_bytes());
                self.version.add(source.text.as_bytes());
                Some(source)
            }
            Err(problem) => {
                self.file_problem(&problem, name, owner);
                None
            }
        }
    }

    /// Shows in a file itself what is wrong with its bytes; whether that is so.
    pub(super) fn broken(&mut self, problem: &FileProblem, owner: &str) -> bool {
        let Some((source, at)) = problem.broken.as_deref() else { return false };
        let message = format!("{owner}: {}", problem.message);
        let mut found =
            Diagnostic::at(Severity::Error, problem.code, source, &(*at..*at + 1), message);
        found.help(problem.help.clone());
        self.reader.found.push(found);
        true
    }

    fn file_problem(&mut self, problem: &FileProblem, name: &Spanned<String>, owner: &str) {
        if self.broken(problem, owner) {
            return;
        }
        self.reader
            .error(problem.code, &name.span, format!("{owner}: {}", problem.message))
            .help(problem.help.clone());
    }

    /// Shows a finding where its text stands.
    pub(super) fn finding(&mut self, finding: &Finding, origin: Origin<'_>, owner: impl Display) {
        if self.reader.is_full() {
            return;
        }
        let message = format!("{owner}: {}", finding.message);
        let found = match origin {
            Origin::Here(node) => {
                let source = &self.reader.page.source;
                let range = ContentMap::of(source, node).locate(&finding.range);
                let cut = advice::on_cut(source, node);
                let found = self.reader.error(finding.code, &range, message);
                if let Some(help) = cut {
                    found.help(help);
                    return;
                }
                found
            }
            Origin::File(source) => {
                let found =
                    Diagnostic::at(Severity::Error, finding.code, source, &finding.range, message);
                self.reader.found.push(found);
                let last = self.reader.found.len() - 1;
                &mut self.reader.found[last]
            }
        };
        found.help = bare_words(finding, origin).or_else(|| finding.help.clone());
    }
}

/// What to write where words stand for an expression: YAML's own quotes are gone when the expression is read.
fn bare_words(finding: &Finding, origin: Origin<'_>) -> Option<String> {
    const MOST: usize = 60;
    let Origin::Here(Node { kind: Kind::Scalar(scalar), .. }) = origin else { return None };
    let quoted = matches!(scalar.style, Style::Double | Style::Single);
    let text = scalar.text.trim();
    let words = text.chars().all(|c| c.is_alphanumeric() || " ,.!?_-".contains(c));
    let help = finding.help.as_deref().unwrap_or_default();
    let fits = words
        && text.len() <= MOST
        && match finding.code {
            code::UNKNOWN_NAME => quoted && !help.starts_with("did you mean"),
            code::SYNTAX => help == NO_OPERATOR,
            _ => false,
        };
    fits.then(|| format!("a text needs quotes of its own inside YAML's: '\"{text}\"'"))
}

/// A template that does not parse for a `??`, which the other language has: says so, with what to write.
fn of_expressions(finding: Finding, text: &str) -> Finding {
    const DEFAULT: &str = "??";
    if finding.code != code::TEMPLATE_SYNTAX {
        return finding;
    }
    let before = text.get(..finding.range.end).unwrap_or(text);
    let Some(open) = before.rfind("{{").or_else(|| before.rfind("{%")) else { return finding };
    let inside = text.get(open + 2..).unwrap_or_default();
    let end = ["}}", "%}"].iter().filter_map(|close| inside.find(close)).min();
    let inside = inside.get(..end.unwrap_or(inside.len())).unwrap_or_default();
    let Some(at) = inside.find(DEFAULT) else { return finding };
    let start = open + 2 + at;
    let (left, right) = (inside[..at].trim(), inside[at + DEFAULT.len()..].trim());
    let left = ["if ", "elif "].iter().find_map(|word| left.strip_prefix(word)).unwrap_or(left);
    let left = left.rsplit(" in ").next().unwrap_or(left).trim();
    let short = |side: &str| !side.is_empty() && side.len() <= 60 && !side.contains('\n');
    let instead = if short(left) && short(right) && !right.contains(DEFAULT) {
        format!("{left} | default({right})")
    } else {
        "value | default(0)".to_owned()
    };
    Finding {
        code: finding.code,
        range: start..start + DEFAULT.len(),
        message: "`??` belongs to expressions, and this is a prompt".to_owned(),
        help: Some(format!("in a prompt write `{instead}`")),
    }
}
