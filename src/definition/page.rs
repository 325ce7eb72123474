//! A parsed file, the problems found so far, and the reading of single values with their checks.

use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::definition::diagnostic::{Diagnostic, Severity};
use crate::definition::keys::Place;
use crate::definition::source::{Source, Spot};
use crate::definition::yaml::{self, Key, Kind, Node};
use crate::domain::finding::{Code, did_you_mean};
use crate::domain::money::Usd;
use crate::domain::time::{Share, parse_duration, show};

mod meaning;
mod unknown;

use meaning::Meaning;
pub use meaning::{is_null, shown, to_json};

/// A key that may stand nowhere.
pub const UNKNOWN_KEY: Code = Code("P0104");
/// A key that belongs elsewhere.
pub const MISPLACED_KEY: Code = Code("P0105");
/// A key that must be there.
pub const MISSING_KEY: Code = Code("P0106");
/// A value of the wrong type.
pub const WRONG_TYPE: Code = Code("P0107");
/// A value out of its range, or without its unit.
pub const WRONG_VALUE: Code = Code("P0108");
/// A word that is not one of the allowed ones.
pub const WRONG_WORD: Code = Code("P0109");
/// Part of the format, not of this version.
pub const NOT_YET: Code = Code("P0901");

/// A value and its bytes in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Range<usize>,
}

/// A parsed file.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its text.
    pub source: Source,
    /// Its tree.
    pub root: Node,
}

/// Reads values of one file and collects what is wrong with them.
pub struct Reader<'a> {
    /// The file.
    pub page: &'a Page,
    /// What was found, at most [`yaml::PROBLEM_LIMIT`] and a few.
    pub found: &'a mut Vec<Diagnostic>,
    /// Stands in for what is beyond the limit.
    spare: Diagnostic,
    /// The file's name, shared by the places of its settings.
    file: Arc<str>,
}

impl Page {
    /// Parses a file; what is wrong with its YAML goes to `found`. An empty file is an empty mapping.
    pub fn parse(source: Source, found: &mut Vec<Diagnostic>) -> Option<Self> {
        let (root, problems) = yaml::parse(&source);
        let broken = root.is_none() && !problems.is_empty();
        found.extend(problems);
        if broken {
            return None;
        }
        let root = root.unwrap_or(Node { span: 0..0, kind: Kind::Map(Vec::new()) });
        Some(Self { source, root })
    }

    /// A problem of this file.
    #[must_use]
    pub fn problem(
        &self,
        severity: Severity,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let mut found = Diagnostic::at(severity, code, &self.source, range, message);
        found.pointer = self.root.pointer_at(range.start);
        found
    }
}

impl<'a> Reader<'a> {
    /// Reads `page`.
    pub fn new(page: &'a Page, found: &'a mut Vec<Diagnostic>) -> Self {
        let spare = Diagnostic::of_file(UNKNOWN_KEY, page.source.label.clone(), "");
        let file = Arc::from(page.source.label.as_str());
        Self { page, found, spare, file }
    }

    /// A place of this file, for people.
    #[must_use]
    pub fn spot(&self, range: &Range<usize>) -> Spot {
        Spot { file: Arc::clone(&self.file), at: self.page.source.position(range.start) }
    }

    /// Whether nothing more is reported, for who has something to report: that there is more is said once.
    pub fn is_full(&mut self) -> bool {
        if self.found.len() == yaml::PROBLEM_LIMIT {
            self.found.push(yaml::too_many_problems(&self.page.source));
        }
        self.found.len() >= yaml::PROBLEM_LIMIT
    }

    /// Reports an error.
    pub fn error(
        &mut self,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Error, code, range, message)
    }

    /// Reports a warning.
    pub fn warn(
        &mut self,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Warning, code, range, message)
    }

    fn push(
        &mut self,
        severity: Severity,
        code: Code,
        range: &Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        if self.is_full() {
            return &mut self.spare;
        }
        self.found.push(self.page.problem(severity, code, range, message));
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// Refuses what the format has and this version has not.
    pub fn not_yet(&mut self, range: &Range<usize>, what: impl Display, instead: &str) {
        self.error(NOT_YET, range, format!("{what} is not yet supported")).help(instead);
    }

    /// The known entries of a mapping; every other key is reported.
    pub fn map<'n>(&mut self, node: &'n Node, place: &Place) -> Vec<(&'n Key, &'n Node)> {
        let entries = self.entries(node, place.name);
        let mut known = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let name = key.name.as_str();
            if place.keys.contains(&name) {
                known.push((key, value));
            } else if place.later.contains(&name) {
                self.reserved(key, place);
            } else if !(place.extensible && name.starts_with("x-")) {
                self.unknown(key, place);
            }
        }
        known
    }

    /// The entries of a mapping whose keys are free.
    pub fn entries<'n>(&mut self, node: &'n Node, what: impl Display) -> &'n [(Key, Node)] {
        match &node.kind {
            Kind::Map(entries) => entries,
            Kind::Scalar(_) | Kind::List(_) => {
                let empty = is_null(node);
                let found = self.wrong_type(node, &format!("{what} must be a mapping"));
                if matches!(node.kind, Kind::List(_)) {
                    found.help("write `key: value` lines; a leading `-` makes a list");
                } else if !empty {
                    found.help("write `key: value` lines below it, indented");
                }
                &[]
            }
        }
    }

    /// The items of a list.
    pub fn items<'n>(&mut self, node: &'n Node, what: impl Display) -> &'n [Node] {
        if let Kind::List(items) = &node.kind {
            return items;
        }
        let one = matches!(&node.kind, Kind::Scalar(_)) && !is_null(node);
        let shown = shown(node);
        let found = self.wrong_type(node, &format!("{what} must be a list"));
        if one {
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
            found.help(if shown.chars().all(plain) {
                format!("write [{shown}]")
            } else {
                "write a list: `- ` before each, on lines of their own".to_owned()
            });
        } else if matches!(node.kind, Kind::Map(_)) {
            found.help("write [one, another], or a line with `- ` for each");
        }
        &[]
    }

    /// Text: quoted, a block, or plain and nothing else.
    pub fn text(&mut self, node: &Node, what: impl Display) -> Option<Spanned<String>> {
        let value = self.words(node, what)?.to_owned();
        Some(Spanned { value, span: node.span.clone() })
    }

    /// The same, not copied.
    pub fn words<'n>(&mut self, node: &'n Node, what: impl Display) -> Option<&'n str> {
        if let Kind::Scalar(scalar) = &node.kind
            && scalar.meaning() == Meaning::Text
        {
            return Some(&scalar.text);
        }
        let quotable = matches!(node.kind, Kind::Scalar(_)) && !is_null(node);
        let shown = shown(node);
        let found = self.wrong_type(node, &format!("{what} must be text"));
        if quotable {
            found.help(format!("nothing is coerced: quote it, \"{shown}\""));
        } else if matches!(node.kind, Kind::List(_)) {
            found.help("write one value, without `[` and `]`");
        }
        None
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, node: &Node, what: impl Display) -> Option<Spanned<bool>> {
        if let Kind::Scalar(scalar) = &node.kind
            && let Meaning::Boolean(value) = scalar.meaning()
        {
            return Some(Spanned { value, span: node.span.clone() });
        }
        let meant = match shown(node).to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" | "y" | "1" => "write true: YAML 1.2 has no other word for it",
            "no" | "off" | "false" | "n" | "0" => "write false: YAML 1.2 has no other word for it",
            _ => "write true or false, without quotes",
        };
        let empty = is_null(node);
        let found = self.wrong_type(node, &format!("{what} must be true or false"));
        if !empty {
            found.help(meant);
        }
        None
    }

    /// A whole number within bounds, both included.
    pub fn integer(
        &mut self,
        node: &Node,
        what: impl Display,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Option<Spanned<u64>> {
        let (min, max) = (*bounds.start(), *bounds.end());
        let number = match &node.kind {
            Kind::Scalar(scalar) => match scalar.meaning() {
                Meaning::Number(number) => Some(number),
                _ => None,
            },
            _ => None,
        };
        let Some(number) = number else {
            self.no_number(node, &format!("{what} must be a whole number"));
            return None;
        };
        if let Some(value) = number.as_u64().filter(|n| bounds.contains(n)) {
            return Some(Spanned { value, span: node.span.clone() });
        }
        let bound = if max >= 1_000_000_000 {
            format!("at least {min}")
        } else {
            format!("from {min} to {max}")
        };
        let message = format!("{what} must be a whole number {bound}, and is {number}");
        let whole = number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..1e15).contains(n));
        let found = self.error(WRONG_VALUE, &node.span, message);
        if let (Some(whole), true) = (whole, number.is_f64()) {
            found.help(format!("write {whole}"));
        }
        None
    }

    /// The same, for small numbers.
    pub fn small(
        &mut self,
        node: &Node,
        what: impl Display,
        bounds: std::ops::RangeInclusive<u32>,
    ) -> Option<Spanned<u32>> {
        let wide = u64::from(*bounds.start())..=u64::from(*bounds.end());
        let read = self.integer(node, what, wide)?;
        u32::try_from(read.value).ok().map(|value| Spanned { value, span: read.span })
    }

    /// A number within bounds, both included.
    pub fn number(
        &mut self,
        node: &Node,
        what: impl Display,
        bounds: std::ops::RangeInclusive<f64>,
    ) -> Option<Spanned<f64>> {
        let number = match &node.kind {
            Kind::Scalar(scalar) => match scalar.meaning() {
                Meaning::Number(number) => number.as_f64(),
                _ => None,
            },
            _ => None,
        };
        let Some(value) = number else {
            self.no_number(node, &format!("{what} must be a number"));
            return None;
        };
        if !bounds.contains(&value) {
            let (min, max) = (bounds.start(), bounds.end());
            let message = format!("{what} must be from {min} to {max}, and is {value}");
            self.error(WRONG_VALUE, &node.span, message);
            return None;
        }
        Some(Spanned { value, span: node.span.clone() })
    }

    /// Dollars, from 0 to a million.
    pub fn dollars(&mut self, node: &Node, what: impl Display) -> Option<Spanned<Usd>> {
        let read = self.number(node, what, 0.0..=1_000_000.0)?;
        Usd::from_dollars(read.value).map(|value| Spanned { value, span: read.span })
    }

    /// A duration with its unit, within bounds.
    pub fn duration(
        &mut self,
        node: &Node,
        what: impl Display,
        bounds: std::ops::RangeInclusive<Duration>,
    ) -> Option<Spanned<Duration>> {
        let text = match &node.kind {
            Kind::Scalar(scalar) => scalar.text.as_str(),
            Kind::List(_) | Kind::Map(_) => "",
        };
        let Some(value) = parse_duration(text) else {
            let message = format!("{what} must be a duration with its unit");
            self.error(WRONG_VALUE, &node.span, message).help(meaning::duration_help(text));
            return None;
        };
        if !bounds.contains(&value) {
            let (min, max) = (show(*bounds.start()), show(*bounds.end()));
            let message = format!("{what} must be from {min} to {max}, and is {}", show(value));
            self.error(WRONG_VALUE, &node.span, message);
            return None;
        }
        Some(Spanned { value, span: node.span.clone() })
    }

    /// A share with its percent sign.
    pub fn share(&mut self, node: &Node, what: impl Display) -> Option<Spanned<Share>> {
        let text = match &node.kind {
            Kind::Scalar(scalar) => scalar.text.as_str(),
            Kind::List(_) | Kind::Map(_) => "",
        };
        if let Some(value) = Share::parse(text) {
            return Some(Spanned { value, span: node.span.clone() });
        }
        let help = meaning::share_help(text);
        self.error(WRONG_VALUE, &node.span, format!("{what} must be a share from 0% to 100%"))
            .help(help);
        None
    }

    /// One of a few words.
    pub fn word<T: Copy>(
        &mut self,
        node: &Node,
        what: impl Display,
        words: &[(&str, T)],
    ) -> Option<Spanned<T>> {
        let text = match &node.kind {
            Kind::Scalar(scalar) => scalar.text.as_str(),
            Kind::List(_) | Kind::Map(_) => {
                self.wrong_type(node, &format!("{what} must be a word"));
                return None;
            }
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(Spanned { value: *value, span: node.span.clone() });
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let near = did_you_mean(text, names.iter().copied())
            .map(|near| format!("did you mean '{near}'? "))
            .unwrap_or_default();
        self.error(WRONG_WORD, &node.span, format!("{what} may not be '{text}'"))
            .help(format!("{near}one of: {}", names.join(", ")));
        None
    }

    fn no_number(&mut self, node: &Node, message: &str) {
        let quoted = shown(node).parse::<f64>().is_ok();
        let found = self.wrong_type(node, message);
        if quoted {
            found.help("nothing is coerced: remove the quotes");
        }
    }

    /// Reports a value of the wrong type, naming what stands there.
    pub fn wrong_type(&mut self, node: &Node, message: &str) -> &mut Diagnostic {
        let is = match &node.kind {
            Kind::List(_) => "is a list",
            Kind::Map(_) => "is a mapping",
            Kind::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null => "is empty",
                Meaning::Boolean(_) => "is true or false",
                Meaning::Number(_) => "is a number",
                Meaning::Text => "is text",
            },
        };
        let empty = is_null(node).then(|| yaml::advice::on_empty(&self.page.source, node));
        let found = self.error(WRONG_TYPE, &node.span, format!("{message}, and {is}"));
        found.help = empty.map(str::to_owned);
        found
    }
}
