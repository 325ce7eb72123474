//! Includes: what a template takes in from other texts, by literal names.
//!
//! The texts are read when the workflow is loaded: a [`Library`] holds them, and nothing is read later. An
//! included text sees what stands around it, loop variables and guards too; the names it sets are its own. Its last
//! line end is not part of it: the line of the tag has one already.
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use minijinja::machinery::ast::{self, Expr, Stmt};

use crate::domain::finding::Finding;
use crate::expression::code;

use super::check::Checker;

/// Files that include each other, at most.
pub const MAX_DEPTH: usize = 8;
/// Includes of one template, at most, those of included texts counted each time.
pub const MAX_INCLUDES: usize = 64;

/// The texts that a template includes, by name.
#[derive(Clone, Debug, Default)]
pub struct Library {
    texts: BTreeMap<Arc<str>, Arc<str>>,
}

/// A tag that includes a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// The file, as it is written.
    pub name: String,
    /// Where the name stands in the including text, quotes and all.
    pub range: Range<usize>,
}

/// A problem, and the text it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The included text, by its name in the [`Library`]; `None`: the template itself.
    pub file: Option<Arc<str>>,
    /// What is wrong, with its place in that text.
    pub finding: Finding,
}

impl Library {
    /// Takes a text in under its [`name`].
    pub fn add(&mut self, file: &str, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        self.texts.insert(name(file).into(), text.into());
    }

    /// A text, however its name is written.
    #[must_use]
    pub fn text(&self, file: &str) -> Option<&str> {
        self.texts.get(name(file).as_str()).map(|text| &**text)
    }

    /// Every text with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, text)| (&**name, &**text))
    }

    /// A text with its name, both shared.
    pub(super) fn shared(&self, file: &str) -> Option<(Arc<str>, Arc<str>)> {
        let found = self.texts.get_key_value(name(file).as_str());
        found.map(|(name, text)| (Arc::clone(name), Arc::clone(text)))
    }
}

/// The one name of a file: `./a//b.md` is `a/b.md`.
#[must_use]
pub fn name(written: &str) -> String {
    let parts = written.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}

impl Checker<'_> {
    /// `{% include "prompts/rules.md" %}`: the text is checked where it is put.
    pub(super) fn include(&mut self, include: &ast::Include<'_>, tag: Range<usize>) {
        let range = self.range_of(&include.name);
        let file = match &include.name {
            Expr::Const(name) => name.value.as_str(),
            _ => None,
        };
        let Some(file) = file else {
            let help = "write one name in quotes, as `{% include \"prompts/rules.md\" %}`; choose with `{% if %}`";
            let message = "an include names one file, literally".to_owned();
            self.add(code::REFUSED, range, message, Some(help.to_owned()));
            return;
        };
        if self.extra(include, &range, tag) {
            return;
        }
        if self.file.is_none() {
            self.includes.push(Include { name: file.to_owned(), range: range.clone() });
        }
        let Some((name, text)) = self.library.shared(file) else {
            // Where files can be read, whoever read them has said what is wrong with this one.
            let message = format!("there is no text '{file}' to include");
            self.add(code::REFUSED, range, message, None);
            return;
        };
        self.included += 1;
        if self.included > MAX_INCLUDES || self.depth >= MAX_DEPTH {
            self.add(code::LIMIT, range, too_many(self.included > MAX_INCLUDES), None);
            return;
        }
        let Ok(root) = super::parsed(&text) else {
            return;
        };
        self.within((name, &text), range, &root);
    }

    /// Walks over a text that is included here: it sees the names around it, and sets its own.
    fn within(&mut self, (file, text): (Arc<str>, &str), range: Range<usize>, root: &Stmt<'_>) {
        let (bound, proofs) = (self.bound(), self.proofs.clone());
        let mut inner = Checker {
            source: text,
            scope: self.scope,
            library: self.library,
            locals: std::mem::take(&mut self.locals),
            proofs: std::mem::take(&mut self.proofs),
            findings: std::mem::take(&mut self.findings),
            mentions: std::mem::take(&mut self.mentions),
            includes: Vec::new(),
            file: Some(file),
            site: Some(self.site.clone().unwrap_or(range)),
            depth: self.depth + 1,
            included: self.included,
        };
        inner.whole(root);
        inner.unbind(bound);
        self.locals = inner.locals;
        self.findings = inner.findings;
        self.mentions = inner.mentions;
        self.included = inner.included;
        self.proofs = proofs;
    }

    /// Words after the name, which would make a missing file or a missing name a surprise.
    fn extra(
        &mut self,
        include: &ast::Include<'_>,
        name: &Range<usize>,
        tag: Range<usize>,
    ) -> bool {
        let rest = self.source.get(name.end..tag.end.max(name.end)).unwrap_or_default();
        let words: Vec<&str> = rest.split_whitespace().collect();
        if words.is_empty() && !include.ignore_missing {
            return false;
        }
        let start = name.end + rest.len() - rest.trim_start().len();
        let range = super::clamp(self.source, start..start + rest.trim().len());
        let help = if include.ignore_missing {
            "leave it out: the file is read when the workflow is loaded, and must be there"
        } else {
            "leave it out: an included text sees what stands around the tag"
        };
        let message = format!("includes have no `{}`", words.join(" "));
        self.add(code::REFUSED, range, message, Some(help.to_owned()));
        true
    }
}

/// What to say of too many includes, or of includes in includes in includes.
pub fn too_many(in_all: bool) -> String {
    if in_all {
        format!("more than {MAX_INCLUDES} includes in one template")
    } else {
        format!("includes in includes, more than {MAX_DEPTH} deep")
    }
}
