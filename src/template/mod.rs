//! Prompt templates: minijinja, checked against shapes at load.
//!
//! What the author wrote is what the model sees: inserted text is neither escaped nor trimmed nor rendered again, single
//! braces are plain text, objects and lists print as JSON with their keys in order. There is no function, macro
//! or inheritance. A value that can be missing must be guarded (`{% if gaps %}`, `is defined`) or defaulted
//! (`| default(..)`): that is found at load, and fails at run time where `any` hid it. Null and absent are one thing.
//! Not for values: those are expressions.
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use minijinja::machinery::{Token, ast, parse, tokenize};
use minijinja::{Environment, Error, ErrorKind};
use serde_json::Value;

use crate::domain::finding::Finding;
use crate::domain::shape::Scope;
use crate::expression::{Mention, code};

mod builtin;
mod check;
mod data;
mod environment;
mod filter;
mod guard;
mod include;
mod operator;
mod reference;
mod statement;

pub use builtin::filters;
pub use data::Bound;
pub use include::{Include, Library, Located, MAX_DEPTH, MAX_INCLUDES, name, too_many};

#[cfg(test)]
mod tests;

/// Longest template that is read, in bytes.
pub const MAX_SOURCE: usize = 1 << 20;
/// Most tokens of one tag: a chain of operators or filters nests, and nesting is stack.
const MAX_TAG_TOKENS: usize = 256;
/// Deepest brackets of one tag: the engine's parser takes a dozen frames for each.
const MAX_BRACKETS: usize = 32;
/// Most `elif` of one template, which nest as well.
const MAX_ELIF: usize = 100;

/// A checked template. Compiled when it is first rendered: a server holds many more than it needs at its start.
#[derive(Clone)]
pub struct Template(Arc<Whole>);

struct Whole {
    source: String,
    library: Library,
    mentions: Vec<Mention>,
    /// Whether it holds a construct that prompts do not have.
    refused: bool,
    environment: OnceLock<Result<Environment<'static>, RenderError>>,
}

/// A template as it is read, with its syntax tree, for as long as it is checked.
pub struct Parsed<'s> {
    source: &'s str,
    /// `None`: nothing but text.
    root: Option<ast::Stmt<'s>>,
    includes: Vec<Include>,
    library: Library,
    mentions: Vec<Mention>,
    /// Whether it holds a construct that prompts do not have.
    refused: bool,
}

/// A template that could not be rendered.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{message}")]
pub struct RenderError {
    /// What is wrong, with the line in the template.
    pub message: String,
    /// Whether it would not be with less data: too long a text, or too much work.
    pub too_much: bool,
}

impl RenderError {
    /// What no smaller data would change.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), too_much: false }
    }
}

impl Template {
    /// Reads `source`, which includes nothing.
    ///
    /// # Errors
    /// The first syntax error, or a template of more than 1 MiB.
    pub fn parse(source: &str) -> Result<Self, Finding> {
        Self::with(source, Library::default())
    }

    /// Reads `source`, which includes texts of `library`; the syntax of those has been looked at by [`Parsed::read`].
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub fn with(source: &str, library: Library) -> Result<Self, Finding> {
        Ok(Parsed::read(source)?.including(library).template())
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// Every mention of a root name that the template does not bind itself, in the order of the text. A mention in
    /// an included text has the place of the include.
    #[must_use]
    pub fn mentions(&self) -> &[Mention] {
        &self.0.mentions
    }

    /// Every problem under `scope`, those of included texts too: see [`Parsed::check`], which need not read it again.
    #[must_use]
    pub fn check(&self, scope: &Scope) -> Vec<Located> {
        let read = Parsed::read(&self.0.source).map(|read| read.including(self.0.library.clone()));
        read.map(|parsed| parsed.check(scope)).unwrap_or_default()
    }

    /// Renders with `bindings` (an object: name → value). Missing names are absent.
    ///
    /// # Errors
    /// Something missing where it is printed or needed, an operation on values it is not for (both only below `any`),
    /// more than 4 MiB of text, or more work than the fuel allows.
    pub fn render(&self, bindings: &Value) -> Result<String, RenderError> {
        let bound = bindings.as_object().map(Bound::of);
        self.render_bound(&bound.unwrap_or_default())
    }

    /// The same with bindings that many renderings share.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_bound(&self, bound: &Bound) -> Result<String, RenderError> {
        if self.0.refused {
            // The engine is not made for some of them: compiling can panic.
            let message = "the template uses what prompts do not have; see its check";
            return Err(RenderError::new(message));
        }
        let environment = self.0.environment.get_or_init(|| {
            environment::environment(&self.0.source, &self.0.library)
                .map_err(|error| described(&error))
        });
        let environment = environment.as_ref().map_err(Clone::clone)?;
        let mut out = environment::Limited::default();
        let result = environment
            .get_template(environment::NAME)
            .and_then(|t| t.render_captured_to(bound.root(), &mut out).map(drop));
        if out.full {
            let message =
                format!("the prompt is longer than {} MiB", environment::MAX_OUTPUT >> 20);
            return Err(RenderError { message, too_much: true });
        }
        result.map_err(|error| described(&error))?;
        String::from_utf8(out.bytes).map_err(|_| RenderError::new("the prompt is no UTF-8 text"))
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("source", &self.0.source).finish_non_exhaustive()
    }
}

impl<'s> Parsed<'s> {
    /// Reads `source`, which includes nothing so far.
    ///
    /// # Errors
    /// The first syntax error, or a text of more than 1 MiB.
    pub fn read(source: &'s str) -> Result<Self, Finding> {
        let root = if is_text(source) { None } else { Some(parsed(source)?) };
        let (includes, library, mentions) = (Vec::new(), Library::default(), Vec::new());
        Ok(Self { source, root, includes, library, mentions, refused: false }.walked())
    }

    /// The same with the texts of `library`; the syntax of those has been looked at by [`Parsed::read`].
    #[must_use]
    pub fn including(self, library: Library) -> Self {
        if self.includes.is_empty() { self } else { Self { library, ..self }.walked() }
    }

    fn walked(mut self) -> Self {
        let mut checker = check::Checker::new(self.source, None, &self.library);
        self.root.iter().for_each(|root| checker.whole(root));
        self.includes = std::mem::take(&mut checker.includes);
        let (mentions, findings) = checker.finish();
        self.refused = findings.iter().any(|located| located.finding.code == code::REFUSED);
        Self { mentions, ..self }
    }

    /// The text as written.
    #[must_use]
    pub const fn source(&self) -> &'s str {
        self.source
    }

    /// What the text includes by itself, in its order. What is refused is not among it: checking says so.
    #[must_use]
    pub fn includes(&self) -> &[Include] {
        &self.includes
    }

    /// The texts it includes.
    #[must_use]
    pub const fn library(&self) -> &Library {
        &self.library
    }

    /// See [`Template::mentions`].
    #[must_use]
    pub fn mentions(&self) -> &[Mention] {
        &self.mentions
    }

    /// Every problem under `scope`, those of included texts too.
    #[must_use]
    pub fn check(&self, scope: &Scope) -> Vec<Located> {
        let mut checker = check::Checker::new(self.source, Some(scope), &self.library);
        self.root.iter().for_each(|root| checker.whole(root));
        checker.finish().1
    }

    /// The template, to be rendered.
    #[must_use]
    pub fn template(self) -> Template {
        let Self { source, library, mentions, refused, .. } = self;
        let (source, environment) = (source.to_owned(), OnceLock::new());
        Template(Arc::new(Whole { source, library, mentions, refused, environment }))
    }
}

impl fmt::Debug for Parsed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parsed").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Whether a text has no tag at all, as many a system prompt.
fn is_text(source: &str) -> bool {
    let tag =
        |(at, _): (usize, &str)| matches!(source.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#'));
    source.len() <= MAX_SOURCE && !source.match_indices('{').any(tag)
}

/// The syntax tree of a text.
fn parsed(source: &str) -> Result<ast::Stmt<'_>, Finding> {
    limits(source)?;
    parse(source, environment::NAME, environment::syntax())
        .map_err(|error| syntax_finding(source, &error))
}

/// Whether a look at the bytes is enough: a token is a byte at least, so no tag of so few bytes has too many, and
/// what has few brackets is not deep.
fn plain(source: &str) -> bool {
    let ends = |pair: &[u8]| matches!(pair, b"}}" | b"%}");
    // A short tag ends within its first bytes: no more of the text need be looked at.
    let short = |tag: &[u8]| {
        let first = &tag[..tag.len().min(MAX_TAG_TOKENS)];
        let brackets = first.iter().filter(|byte| matches!(byte, b'(' | b'[' | b'{')).count();
        brackets <= MAX_BRACKETS && (tag.len() <= MAX_TAG_TOKENS || first.windows(2).any(ends))
    };
    let mut blocks = 0;
    source.match_indices('{').all(|(at, _)| match &source.as_bytes()[at + 1..] {
        [b'{', tag @ ..] => short(tag),
        [b'%', tag @ ..] => {
            blocks += 1;
            blocks <= MAX_ELIF && short(tag)
        }
        _ => true,
    })
}

/// Refuses what would take too deep a stack to parse: the engine bounds brackets only.
fn limits(source: &str) -> Result<(), Finding> {
    let limit = |range, message: String, help: &str| {
        let help = Some(help.to_owned());
        Err(Finding { code: code::TEMPLATE_LIMIT, range, message, help })
    };
    if source.len() > MAX_SOURCE {
        return limit(
            0..0,
            format!("the template is longer than {} MiB", MAX_SOURCE >> 20),
            "pass large documents as input",
        );
    }
    if plain(source) {
        return Ok(());
    }
    let (mut in_tag, mut elifs, mut depth) = (0, 0, 0_usize);
    for token in tokenize(source, false, environment::syntax()) {
        let Ok((token, span)) = token else {
            // The parser says what is wrong.
            return Ok(());
        };
        let range = clamp(source, span.start_offset as usize..span.end_offset as usize);
        match token {
            Token::VariableStart | Token::BlockStart => (in_tag, depth) = (0, 0),
            Token::Ident("elif") => elifs += 1,
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        in_tag += 1;
        if in_tag > MAX_TAG_TOKENS {
            return limit(
                range,
                format!("a tag of more than {MAX_TAG_TOKENS} words and signs"),
                "name a part with `{% set name = … %}`, or let a step's answer hold it",
            );
        }
        if depth > MAX_BRACKETS {
            return limit(
                range,
                format!("brackets more than {MAX_BRACKETS} deep"),
                "name a part with `{% set name = … %}`, or let a step's answer hold it",
            );
        }
        if elifs > MAX_ELIF {
            return limit(
                range,
                format!("more than {MAX_ELIF} times `elif`"),
                "loop over a list, or let a step's answer hold the text",
            );
        }
    }
    Ok(())
}

/// Statements of the engine that prompts do not have, and what to do instead.
const REFUSED: [(&str, &str); 7] = [
    ("endblock", "write the text in place"),
    ("macro", "write the text in place, or loop over a list"),
    ("endmacro", "write the text in place, or loop over a list"),
    ("call", "write the text in place, or loop over a list"),
    ("endcall", "write the text in place, or loop over a list"),
    ("break", "select the items first: `{% for x in list if … %}`"),
    ("continue", "select the items first: `{% for x in list if … %}`"),
];

fn syntax_finding(source: &str, error: &Error) -> Finding {
    let range = clamp(source, error.range().unwrap_or(source.len()..source.len()));
    let detail = error.detail().unwrap_or("the template cannot be read");
    if let Some(statement) = detail.strip_prefix("unknown statement ")
        && let Some((_, help)) = REFUSED.iter().find(|(name, _)| *name == statement)
    {
        return Finding {
            code: code::REFUSED,
            range,
            message: format!("prompts have no `{statement}`"),
            help: Some((*help).to_owned()),
        };
    }
    let unclosed = ["unexpected end of input, ", "unexpected `}`, "]
        .iter()
        .any(|seen| detail.strip_prefix(seen) == Some("expected end of variable block"));
    let help = if unclosed {
        Some("`}}` is missing: a value is written `{{ name }}`, with two braces at each end")
    } else if detail.starts_with("unexpected end of input") {
        Some("a `{% for %}` or `{% if %}` is not closed, or a `}}` or `%}` is missing")
    } else if detail.starts_with("unknown statement ") {
        Some(
            "statements: for, if, elif, else, set, with, include, raw and their ends; `{% raw %}` for plain braces",
        )
    } else {
        Some("write `{% raw %}…{% endraw %}` around braces that are plain text")
    };
    Finding {
        code: code::TEMPLATE_SYNTAX,
        range,
        message: detail.to_owned(),
        help: help.map(str::to_owned),
    }
}

/// The range within the text, at characters' edges.
fn clamp(source: &str, range: Range<usize>) -> Range<usize> {
    let floor = |at: usize| {
        let at = at.min(source.len());
        (0..=at).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0)
    };
    let start = floor(range.start);
    start..floor(range.end).max(start)
}

/// The innermost error, with the text it is in.
fn described(error: &Error) -> RenderError {
    let mut error = error;
    while error.kind() == ErrorKind::BadInclude {
        let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<Error>());
        let Some(inner) = source else { break };
        error = inner;
    }
    let what = match error.kind() {
        ErrorKind::OutOfFuel => "the prompt takes too much work to render".to_owned(),
        kind => error.detail().map_or_else(|| kind.to_string(), str::to_owned),
    };
    let text = error.name().filter(|name| *name != environment::NAME).unwrap_or("the prompt");
    let message = match error.line() {
        Some(line) => format!("line {line} of {text}: {what}"),
        None => what,
    };
    let source = std::error::Error::source(error);
    let too_long = source.and_then(|source| source.downcast_ref::<environment::TooLong>());
    let too_long = too_long.is_some();
    RenderError { message, too_much: too_long || error.kind() == ErrorKind::OutOfFuel }
}
