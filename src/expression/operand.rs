//! The operands of the grammar: literals, names, calls, lists, `all` and `any`.
use std::ops::Range;

use serde_json::Value;

use crate::domain::finding::{Finding, did_you_mean};

use super::ast::{Kind, Name, Node, Quantifier};
use super::code;
use super::function::Function;
use super::lexer::{TokenKind, syntax};
use super::parse::{NO_FILTER, Parser};

/// Deepest nesting of `all` and `any`: each level multiplies the work by a list's length.
const MAX_QUANTIFIERS: usize = 2;

/// What other languages sift and count with.
const FILTERS: [&str; 6] = ["filter", "map", "count", "select", "where", "reject"];
/// Words with a meaning of their own, which no root name can have.
const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "for", "true", "false", "null"];

impl Parser<'_> {
    /// A value without an operator.
    pub fn primary(&mut self) -> Result<Node, Finding> {
        let range = self.range();
        match self.kind().clone() {
            TokenKind::Literal(value) => {
                self.at += 1;
                Self::node(Kind::Literal(value), range, 0)
            }
            TokenKind::Symbol("(") => {
                self.at += 1;
                let mut node = self.or()?;
                let comprehension = self.is_word("for");
                let help = if comprehension { NO_FILTER } else { "close the bracket" };
                let end = self.expect(")", help)?.end;
                node.range = range.start..end;
                Ok(node)
            }
            TokenKind::Symbol("[") => {
                self.at += 1;
                let (items, end, below) = self.items("]")?;
                Self::node(Kind::List(items), range.start..end, below)
            }
            TokenKind::Word(word) => self.word(word, range),
            TokenKind::Symbol("{") => {
                let help = "there are no mappings; write one expression for each key";
                Err(syntax(range, "expected a value, found `{`", Some(help)))
            }
            _ => {
                let help = "a value is a reference as `step.field`, a number, a text in quotes, a list or a function";
                Err(syntax(range, format!("expected a value, found {}", self.found()), Some(help)))
            }
        }
    }

    fn word(&mut self, word: &str, range: Range<usize>) -> Result<Node, Finding> {
        let literal = match word {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        if let Some(value) = literal {
            self.at += 1;
            return Self::node(Kind::Literal(value), range, 0);
        }
        if KEYWORDS.contains(&word) {
            let help = "a value belongs here";
            return Err(syntax(range, format!("expected a value, found `{word}`"), Some(help)));
        }
        self.at += 1;
        if !self.is("(") {
            let name = Name { text: word.to_owned(), range: range.clone() };
            return Self::node(Kind::Path(vec![name]), range, 0);
        }
        self.at += 1;
        if word == "all" || word == "any" {
            return self.quantifier(word == "all", range.start);
        }
        let Some(function) = Function::named(word) else {
            if FILTERS.contains(&word) {
                let message = format!("there is no function '{word}'");
                let help = format!("`length(list)` counts all of a list; {NO_FILTER}");
                return Err(Finding {
                    code: code::UNKNOWN_FUNCTION,
                    range,
                    message,
                    help: Some(help),
                });
            }
            let close = did_you_mean(word, Function::names());
            let names: Vec<&str> = Function::names().chain(["all", "any"]).collect();
            let names = names.join(", ");
            return Err(Finding {
                code: code::UNKNOWN_FUNCTION,
                range,
                message: format!("there is no function '{word}'"),
                help: Some(match close {
                    Some(close) => format!("did you mean '{close}'? functions: {names}"),
                    None => format!("functions: {names}"),
                }),
            });
        };
        let (items, end, below) = self.items(")")?;
        Self::node(Kind::Call(function, items), range.start..end, below)
    }

    /// Comma-separated values up to `close`, which ends at the returned place; and their depth.
    fn items(&mut self, close: &'static str) -> Result<(Vec<Node>, usize, usize), Finding> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            let end = self.range().end;
            if self.skip(close) {
                let below = items.iter().map(|n| n.depth).max().unwrap_or(0);
                return Ok((items, end, below));
            }
            if !items.is_empty() {
                let (range, found) = (self.range(), self.found());
                if !self.skip(",") {
                    let message = format!("expected `,` or `{close}`, found {found}");
                    let help = match self.kind() {
                        TokenKind::Word("for") => NO_FILTER,
                        _ => "separate values with commas, and close the bracket",
                    };
                    return Err(syntax(range, message, Some(help)));
                }
            }
            items.push(self.or()?);
        }
    }

    fn quantifier(&mut self, all: bool, start: usize) -> Result<Node, Finding> {
        const FORM: &str = "write `all(condition for x in list)`, or `any(…)`";
        if self.quantifiers == MAX_QUANTIFIERS {
            let message = format!("`all` and `any` nest at most {MAX_QUANTIFIERS} deep");
            let help =
                "take the inner lists as one, as any(claim.open for claim in flatten(read.claims))";
            return Err(syntax(start..self.range().start, message, Some(help)));
        }
        self.quantifiers += 1;
        let condition = self.or()?;
        if !self.skip_word("for") {
            return Err(syntax(
                self.range(),
                format!("expected `for`, found {}", self.found()),
                Some(FORM),
            ));
        }
        let range = self.range();
        let text = match self.kind().clone() {
            TokenKind::Word(text) if !KEYWORDS.contains(&text) => text.to_owned(),
            _ => {
                return Err(syntax(
                    range,
                    format!("expected a name, found {}", self.found()),
                    Some(FORM),
                ));
            }
        };
        self.at += 1;
        if !self.skip_word("in") {
            return Err(syntax(
                self.range(),
                format!("expected `in`, found {}", self.found()),
                Some(FORM),
            ));
        }
        let list = self.or()?;
        let end = self.expect(")", FORM)?.end;
        self.quantifiers -= 1;
        let below = condition.depth.max(list.depth);
        let quantifier = Quantifier { all, condition, name: Name { text, range }, list };
        Self::node(Kind::Quantifier(Box::new(quantifier)), start..end, below)
    }
}
