//! From tokens to a tree. The grammar, loosest first:
//!
//! ```text
//! or       = and { "or" and }
//! and      = not { "and" not }
//! not      = "not" not | relation
//! relation = default [ ("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in") default ]
//! default  = sum [ "??" default ]
//! sum      = product { ("+" | "-") product }
//! product  = unary { ("*" | "/") unary }
//! unary    = "-" unary | postfix
//! postfix  = primary { "." name }
//! primary  = literal | name | name "(" [ or { "," or } ] ")" | "[" [ or { "," or } ] "]" | "(" or ")"
//!          | ("all" | "any") "(" or "for" name "in" or ")"
//! ```
use std::ops::Range;

use serde_json::Value;

use crate::domain::finding::{Finding, did_you_mean};

use super::ast::{Kind, Name, Node, Operator, Quantifier};
use super::code;
use super::function::Function;
use super::lexer::{Token, TokenKind, syntax, tokens};

/// Longest text that is read, in bytes.
pub const MAX_SOURCE: usize = 4096;
/// Deepest nesting, chains of operators included.
pub const MAX_DEPTH: usize = 64;
/// Deepest nesting of `all` and `any`: each level multiplies the work by a list's length.
const MAX_QUANTIFIERS: usize = 2;

/// Words with a meaning of their own, which no root name can have.
const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "for", "true", "false", "null"];

/// The tree of `source`.
pub fn parse(source: &str) -> Result<Node, Finding> {
    if source.len() > MAX_SOURCE {
        return Err(Finding {
            code: code::LIMIT,
            range: 0..0,
            message: format!("the expression is longer than {MAX_SOURCE} bytes"),
            help: Some("move parts of it into `value` steps".to_owned()),
        });
    }
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0, quantifiers: 0 };
    let node = parser.or()?;
    match parser.kind() {
        TokenKind::End => Ok(node),
        _ => Err(parser.after_operand()),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    quantifiers: usize,
}

impl Parser {
    fn kind(&self) -> &TokenKind {
        self.tokens.get(self.at).map_or(&TokenKind::End, |t| &t.kind)
    }

    fn range(&self) -> Range<usize> {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0..0, |t| t.range.clone())
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.kind(), TokenKind::Symbol(s) if *s == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Word(w) if w == word)
    }

    fn skip(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &'static str, help: &str) -> Result<Range<usize>, Finding> {
        let range = self.range();
        if self.skip(symbol) {
            return Ok(range);
        }
        Err(syntax(range, format!("expected `{symbol}`, found {}", self.found()), Some(help)))
    }

    fn found(&self) -> String {
        match self.kind() {
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Literal(Value::String(_)) => "a text".to_owned(),
            TokenKind::Literal(value) => format!("`{value}`"),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::End => "the end".to_owned(),
        }
    }

    fn after_operand(&self) -> Finding {
        let help = match self.kind() {
            TokenKind::Word(word) if word == "if" || word == "else" => {
                "there is no `if` here; `when` decides whether a step runs, `??` gives a default"
            }
            TokenKind::Word(word) if word == "is" => "compare with `==`, or `!= null`",
            TokenKind::Symbol("[") => "there is no index; `take(list, n)` gives the first items",
            TokenKind::Symbol("(") => "only the listed functions can be called",
            TokenKind::Symbol(")" | "]" | "}") => "it closes nothing",
            _ => "two values need an operator between them, as `+`, `==` or `and`",
        };
        syntax(self.range(), format!("expected an operator, found {}", self.found()), Some(help))
    }

    /// Builds a node, refusing one that is too deep.
    fn node(&self, kind: Kind, range: Range<usize>, below: usize) -> Result<Node, Finding> {
        if below >= MAX_DEPTH {
            return Err(too_deep(range));
        }
        Ok(Node { kind, range, depth: below + 1 })
    }

    fn binary(&self, operator: Operator, left: Node, right: Node) -> Result<Node, Finding> {
        let range = left.range.start..right.range.end;
        let below = left.depth.max(right.depth);
        self.node(Kind::Binary(operator, Box::new(left), Box::new(right)), range, below)
    }

    fn or(&mut self) -> Result<Node, Finding> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.range()));
        }
        let mut left = self.and()?;
        while self.skip_word("or") {
            let right = self.and()?;
            left = self.binary(Operator::Or, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, Finding> {
        let mut left = self.not()?;
        while self.skip_word("and") {
            let right = self.not()?;
            left = self.binary(Operator::And, left, right)?;
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Node, Finding> {
        let mut starts = Vec::new();
        while self.is_word("not") {
            starts.push(self.range().start);
            self.at += 1;
        }
        let mut node = self.relation()?;
        for start in starts.into_iter().rev() {
            let (range, below) = (start..node.range.end, node.depth);
            node = self.node(Kind::Not(Box::new(node)), range, below)?;
        }
        Ok(node)
    }

    fn relation(&mut self) -> Result<Node, Finding> {
        let left = self.default()?;
        let Some(operator) = self.relation_operator() else {
            return Ok(left);
        };
        let right = self.default()?;
        let node = self.binary(operator, left, right)?;
        let range = self.range();
        if self.relation_operator().is_some() {
            let help = "join two comparisons with `and`: `a < b and b < c`";
            return Err(syntax(range, "comparisons cannot be chained", Some(help)));
        }
        Ok(node)
    }

    fn relation_operator(&mut self) -> Option<Operator> {
        let operator = match self.kind() {
            TokenKind::Symbol("==") => Operator::Equal,
            TokenKind::Symbol("!=") => Operator::Unequal,
            TokenKind::Symbol("<") => Operator::Less,
            TokenKind::Symbol("<=") => Operator::LessOrEqual,
            TokenKind::Symbol(">") => Operator::Greater,
            TokenKind::Symbol(">=") => Operator::GreaterOrEqual,
            TokenKind::Word(word) if word == "in" => Operator::In,
            TokenKind::Word(word) if word == "not" => {
                let next = self.tokens.get(self.at + 1).map(|t| &t.kind);
                if !matches!(next, Some(TokenKind::Word(word)) if word == "in") {
                    return None;
                }
                self.at += 1;
                Operator::NotIn
            }
            _ => return None,
        };
        self.at += 1;
        Some(operator)
    }

    fn default(&mut self) -> Result<Node, Finding> {
        let mut sides = vec![self.sum()?];
        while self.skip("??") {
            sides.push(self.sum()?);
        }
        // From the right: `a ?? b ?? c` is `a ?? (b ?? c)`.
        let mut node = None;
        while let Some(left) = sides.pop() {
            node = Some(match node {
                None => left,
                Some(right) => {
                    let right: Node = right;
                    let range = left.range.start..right.range.end;
                    let below = left.depth.max(right.depth);
                    self.node(Kind::Default(Box::new(left), Box::new(right)), range, below)?
                }
            });
        }
        node.ok_or_else(|| self.after_operand())
    }

    fn sum(&mut self) -> Result<Node, Finding> {
        let mut left = self.product()?;
        loop {
            let operator = if self.skip("+") {
                Operator::Add
            } else if self.skip("-") {
                Operator::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.binary(operator, left, right)?;
        }
    }

    fn product(&mut self) -> Result<Node, Finding> {
        let mut left = self.unary()?;
        loop {
            let operator = if self.skip("*") {
                Operator::Multiply
            } else if self.skip("/") {
                Operator::Divide
            } else {
                return Ok(left);
            };
            let right = self.unary()?;
            left = self.binary(operator, left, right)?;
        }
    }

    fn unary(&mut self) -> Result<Node, Finding> {
        let mut starts = Vec::new();
        while self.is("-") {
            starts.push(self.range().start);
            self.at += 1;
        }
        let mut node = self.postfix()?;
        for start in starts.into_iter().rev() {
            let (range, below) = (start..node.range.end, node.depth);
            node = self.node(Kind::Negate(Box::new(node)), range, below)?;
        }
        Ok(node)
    }

    fn postfix(&mut self) -> Result<Node, Finding> {
        let mut node = self.primary()?;
        let mut fields = Vec::new();
        while self.skip(".") {
            let range = self.range();
            let TokenKind::Word(text) = self.kind().clone() else {
                let message = format!("expected a field's name after `.`, found {}", self.found());
                let help = "there is no index; `take(list, n)` gives the first items";
                return Err(syntax(range, message, Some(help)));
            };
            self.at += 1;
            fields.push(Name { text, range });
        }
        let Some(last) = fields.last() else {
            return Ok(node);
        };
        let range = node.range.start..last.range.end;
        if let Kind::Path(names) = &mut node.kind {
            names.append(&mut fields);
            node.range = range;
            return Ok(node);
        }
        let below = node.depth;
        self.node(Kind::Fields(Box::new(node), fields), range, below)
    }

    fn primary(&mut self) -> Result<Node, Finding> {
        let range = self.range();
        match self.kind().clone() {
            TokenKind::Literal(value) => {
                self.at += 1;
                self.node(Kind::Literal(value), range, 0)
            }
            TokenKind::Symbol("(") => {
                self.at += 1;
                let mut node = self.or()?;
                let end = self.expect(")", "close the bracket")?.end;
                node.range = range.start..end;
                Ok(node)
            }
            TokenKind::Symbol("[") => {
                self.at += 1;
                let (items, end, below) = self.items("]")?;
                self.node(Kind::List(items), range.start..end, below)
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

    fn word(&mut self, word: String, range: Range<usize>) -> Result<Node, Finding> {
        let literal = match word.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        if let Some(value) = literal {
            self.at += 1;
            return self.node(Kind::Literal(value), range, 0);
        }
        if KEYWORDS.contains(&word.as_str()) {
            let help = "a value belongs here";
            return Err(syntax(range, format!("expected a value, found `{word}`"), Some(help)));
        }
        self.at += 1;
        if !self.is("(") {
            let name = Name { text: word, range: range.clone() };
            return self.node(Kind::Path(vec![name]), range, 0);
        }
        self.at += 1;
        if word == "all" || word == "any" {
            return self.quantifier(word == "all", range.start);
        }
        let Some(function) = Function::named(&word) else {
            let close = did_you_mean(&word, Function::names());
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
        self.node(Kind::Call(function, items), range.start..end, below)
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
                    let help = "separate values with commas, and close the bracket";
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
            return Err(syntax(start..self.range().start, message, None));
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
            TokenKind::Word(text) if !KEYWORDS.contains(&text.as_str()) => text,
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
        self.node(Kind::Quantifier(Box::new(quantifier)), start..end, below)
    }
}

fn too_deep(range: Range<usize>) -> Finding {
    Finding {
        code: code::LIMIT,
        range,
        message: format!("the expression nests deeper than {MAX_DEPTH}"),
        help: Some("move parts of it into `value` steps".to_owned()),
    }
}
