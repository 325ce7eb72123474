//! From text to tokens.
use std::ops::Range;

use serde_json::Value;

use crate::domain::finding::Finding;

use super::code;
use super::number::Number;

/// A token and its place.
#[derive(Clone, Debug)]
pub struct Token<'s> {
    /// What it is.
    pub kind: TokenKind<'s>,
    /// Bytes of the text.
    pub range: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind<'s> {
    /// A name or a keyword.
    Word(&'s str),
    /// A number or a quoted text.
    Literal(Value),
    /// Anything else: an operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// The usual ones first, and `<=` before `<`, so that it is not read as that.
const SYMBOLS: [&str; 19] = [
    ".", "(", ")", ",", "??", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "[", "]", "{",
    "}",
];

/// What other languages write for ours, and what to write here.
const FOREIGN: [(&str, &str); 9] = [
    ("&&", "write `and`"),
    ("||", "write `or`"),
    ("!", "write `not`"),
    ("=", "write `==` to compare"),
    ("|", "there are no filters here; write a function, as `length(x)`"),
    ("?", "write `??` for a default"),
    ("`", "write quotes: \"…\" or '…'"),
    (":", "there are no slices or mappings; write `take(list, n)` for the first items"),
    ("%", "there is no remainder"),
];

/// The tokens of `source`, an [`TokenKind::End`] last.
pub fn tokens(source: &str) -> Result<Vec<Token<'_>>, Finding> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::with_capacity(source.len() / 4 + 2);
    loop {
        let token = lexer.next()?;
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if end {
            return Ok(tokens);
        }
    }
}

/// A syntax finding.
pub fn syntax(range: Range<usize>, message: impl Into<String>, help: Option<&str>) -> Finding {
    Finding { code: code::SYNTAX, range, message: message.into(), help: help.map(str::to_owned) }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Token<'a>, Finding> {
        let trimmed = self.rest().trim_start();
        self.at = self.source.len() - trimmed.len();
        let start = self.at;
        let Some(first) = trimmed.chars().next() else {
            return Ok(Token { kind: TokenKind::End, range: start..start });
        };
        let kind = if first.is_ascii_digit() {
            self.number()?
        } else if first == '_' || first.is_alphabetic() {
            let word = self.take_while(|c| c == '_' || c.is_alphanumeric());
            TokenKind::Word(word)
        } else if first == '"' || first == '\'' {
            self.text(first)?
        } else {
            self.symbol(first)?
        };
        Ok(Token { kind, range: start..self.at })
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind<'a>, Finding> {
        if let Some(symbol) = SYMBOLS.iter().find(|s| self.rest().starts_with(**s)) {
            self.at += symbol.len();
            return Ok(TokenKind::Symbol(symbol));
        }
        let foreign = FOREIGN.iter().find(|(s, _)| self.rest().starts_with(s));
        let (what, help) = match foreign {
            Some((what, help)) => ((*what).to_owned(), Some(*help)),
            None => (first.to_string(), None),
        };
        Err(syntax(self.at..self.at + what.len(), format!("unexpected `{what}`"), help))
    }

    fn number(&mut self) -> Result<TokenKind<'a>, Finding> {
        let start = self.at;
        self.take_while(|c| c.is_ascii_digit());
        let mut rest = self.rest().chars();
        if rest.next() == Some('.') && rest.next().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            let mut after = self.rest().chars().skip(1);
            let signed = after.clone().next().is_some_and(|c| c == '+' || c == '-');
            if after.nth(usize::from(signed)).is_some_and(|c| c.is_ascii_digit()) {
                self.at += 1 + usize::from(signed);
                self.take_while(|c| c.is_ascii_digit());
            }
        }
        let text = self.source.get(start..self.at).unwrap_or_default();
        if self.rest().starts_with(|c: char| c == '_' || c.is_alphanumeric()) {
            self.take_while(|c| c == '_' || c.is_alphanumeric());
            let word = self.source.get(start..self.at).unwrap_or_default();
            let message = format!("`{word}` is neither a number nor a name");
            let help = "a name starts with a letter; a text is written in quotes";
            return Err(syntax(start..self.at, message, Some(help)));
        }
        Number::from_text(text).map(|n| TokenKind::Literal(n.to_json())).ok_or_else(|| {
            syntax(start..self.at, format!("`{text}` is too large for a number"), None)
        })
    }

    fn text(&mut self, quote: char) -> Result<TokenKind<'a>, Finding> {
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at = start + at + 1;
                return Ok(TokenKind::Literal(Value::String(text)));
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            match chars.next().map(|(_, c)| c) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some(c @ ('\\' | '"' | '\'')) => text.push(c),
                Some(c) => {
                    let range = start + at..start + at + 1 + c.len_utf8();
                    let help = "write `\\n`, `\\t`, `\\r`, `\\\\` or an escaped quote";
                    return Err(syntax(range, format!("unknown escape `\\{c}`"), Some(help)));
                }
                None => break,
            }
        }
        let help = format!("end it with {quote}");
        Err(syntax(start..self.source.len(), "a text that never ends", Some(&help)))
    }
}
