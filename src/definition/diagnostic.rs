//! What is wrong with a file: a stable code, a place, words, and what to do. Collected, never thrown.

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::definition::source::{Position, Source};
use crate::domain::finding::Code;

/// Most characters of a source line that are quoted.
const QUOTED: usize = 160;

/// One problem in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code.
    pub code: Code,
    /// Whether the file can be used all the same.
    pub severity: Severity,
    /// The file's name, relative to the folder, with `/`.
    pub file: String,
    /// Where in the file; `None` where the problem is the file itself.
    pub span: Option<Extent>,
    /// What is wrong: one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The line the span starts in.
    pub source_line: Option<String>,
    /// JSON pointer to the value in the file; `""` is the whole of it.
    pub pointer: String,
}

/// Whether a file with this problem can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can.
    Warning,
}

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Extent {
    /// The first character.
    pub start: Position,
    /// Behind the last character.
    pub end: Position,
}

impl Diagnostic {
    /// A problem at a place.
    #[must_use]
    pub fn at(
        severity: Severity,
        code: Code,
        source: &Source,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        let range = source.clamp(range);
        Self {
            code,
            severity,
            file: source.label.clone(),
            span: Some(Extent {
                start: source.position(range.start),
                end: source.position(range.end),
            }),
            message: message.into(),
            help: None,
            source_line: Some(source.line_at(range.start).to_owned()),
            pointer: String::new(),
        }
    }

    /// A problem of a file as a whole.
    #[must_use]
    pub fn of_file(code: Code, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            file: file.into(),
            span: None,
            message: message.into(),
            help: None,
            source_line: None,
            pointer: String::new(),
        }
    }

    /// Says what to do.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Whether the file cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// By file, then place, errors before warnings.
    pub fn sort(list: &mut Vec<Self>) {
        list.sort_by(|a, b| {
            (&a.file, a.span, a.severity, a.code, &a.message)
                .cmp(&(&b.file, b.span, b.severity, b.code, &b.message))
        });
        list.dedup();
    }
}

impl Severity {
    /// The word in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Diagnostic {
    /// The message with its place, the source line, a caret line and the help; no final line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(span) = self.span {
            write!(f, ":{}:{}", span.start.line, span.start.column)?;
        }
        write!(f, " {}[{}]: {}", self.severity.as_str(), self.code, self.message)?;
        if let (Some(span), Some(line)) = (self.span, &self.source_line) {
            write!(f, "{}", Quote { span, line })?;
        }
        if let Some(help) = &self.help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

/// A source line with its caret.
struct Quote<'a> {
    span: Extent,
    line: &'a str,
}

impl fmt::Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.span.start.column;
        let length = self.line.chars().count();
        // A long line is cut so that the caret stays in view.
        let skip = if column > QUOTED { column - QUOTED / 2 } else { 0 };
        let shown: String = self.line.chars().skip(skip).take(QUOTED).map(visible).collect();
        if shown.trim().is_empty() {
            return Ok(());
        }
        let end = if self.span.end.line == self.span.start.line {
            self.span.end.column
        } else {
            length + 1
        };
        let room = (skip + QUOTED + 1).min(length + 1).saturating_sub(column).max(1);
        let width = end.saturating_sub(column).clamp(1, room);
        let indent = " ".repeat(column - 1 - skip);
        write!(f, "\n    {shown}\n    {indent}{}", "^".repeat(width))
    }
}

/// Tabs take one column, so that the caret stands right; other controls cannot steer a terminal.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Diagnostic", 9)?;
        out.serialize_field("code", self.code.0)?;
        out.serialize_field("severity", &self.severity)?;
        out.serialize_field("file", &self.file)?;
        out.serialize_field("span", &self.span)?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("help", &self.help)?;
        out.serialize_field("source_line", &self.source_line)?;
        out.serialize_field("pointer", &self.pointer)?;
        out.serialize_field("docs", &format!("punctual explain {}", self.code))?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_reads_as_documented() {
        let source = Source::new("workflows/rfp_answers.yaml", "a: 1\nb: é {{ q.txt }}\n");
        let mut found = Diagnostic::at(
            Severity::Error,
            Code("P0207"),
            &source,
            &(16..19),
            "step 'answer': 'q' has no field 'txt'",
        );
        found.help("did you mean 'text'? fields: id, text, topics");
        assert_eq!(
            found.to_string(),
            "workflows/rfp_answers.yaml:2:11 error[P0207]: step 'answer': 'q' has no field 'txt'\n    \
             b: é {{ q.txt }}\n              ^^^\n\
             help: did you mean 'text'? fields: id, text, topics"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_its_caret() {
        let source = Source::new("f", "x".repeat(5000));
        let text = Diagnostic::at(Severity::Warning, Code("P0101"), &source, &(4000..5000), "m")
            .to_string();
        assert!(text.lines().all(|l| l.chars().count() <= QUOTED + 4), "{text}");
        assert!(text.contains('^'));
    }
}
