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

use crate::domain::finding::Finding;

use super::ast::{Kind, Name, Node, Operator};
use super::code;
use super::lexer::{Token, TokenKind, syntax, tokens};

/// Longest text that is read, in bytes.
pub const MAX_SOURCE: usize = 4096;
/// Deepest nesting, chains of operators included.
pub const MAX_DEPTH: usize = 64;

/// What to write between two values.
pub const NO_OPERATOR: &str = "two values need an operator between them, as `+`, `==` or `and`";
/// What to write for a comprehension or a filter.
pub(super) const NO_FILTER: &str = "there is no filter: use a step with `each`, `when` and `value`, and take its length, as \
     `high: {each: find, as: r, when: r.risk == \"high\", value: {risk: r.risk}}`, then `length(high)`";

/// The tree of `source`.
pub fn parse(source: &str) -> Result<Node, Finding> {
    if source.len() > MAX_SOURCE {
        return Err(Finding {
            code: code::LIMIT,
            range: 0..0,
            message: format!("the expression is longer than {MAX_SOURCE} bytes"),
            help: Some("shorten it: let a field of a step's answer hold a part of it".to_owned()),
        });
    }
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0, quantifiers: 0 };
    let node = parser.or()?;
    match parser.kind() {
        TokenKind::End => Ok(node),
        _ => Err(parser.after_operand()),
    }
}

/// The way through the tokens.
pub struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    /// The token we are at.
    pub at: usize,
    depth: usize,
    /// How many `all` and `any` we are in.
    pub quantifiers: usize,
}

impl<'s> Parser<'s> {
    /// What the token is.
    pub fn kind(&self) -> &TokenKind<'s> {
        self.tokens.get(self.at).map_or(&TokenKind::End, |t| &t.kind)
    }

    /// Where the token is.
    pub fn range(&self) -> Range<usize> {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0..0, |t| t.range.clone())
    }

    /// Whether the token is this symbol.
    pub fn is(&self, symbol: &str) -> bool {
        matches!(self.kind(), TokenKind::Symbol(s) if *s == symbol)
    }

    /// Whether the token is this word.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Word(w) if *w == word)
    }

    /// Passes over this symbol, if it is there.
    pub fn skip(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    /// Passes over this word, if it is there.
    pub fn skip_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Passes over this symbol.
    ///
    /// # Errors
    /// Another token.
    pub fn expect(&mut self, symbol: &'static str, help: &str) -> Result<Range<usize>, Finding> {
        let range = self.range();
        if self.skip(symbol) {
            return Ok(range);
        }
        Err(syntax(range, format!("expected `{symbol}`, found {}", self.found()), Some(help)))
    }

    /// The token, for messages.
    pub fn found(&self) -> String {
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
            TokenKind::Word("if" | "else") => {
                "there is no `if` here; `when` decides whether a step runs, `??` gives a default"
            }
            TokenKind::Word("for") => NO_FILTER,
            TokenKind::Word("is") => "compare with `==`, or `!= null`",
            TokenKind::Symbol("[") => "there is no index; `take(list, n)` gives the first items",
            TokenKind::Symbol("(") => "only the listed functions can be called",
            TokenKind::Symbol(")" | "]" | "}") => "it closes nothing",
            _ => NO_OPERATOR,
        };
        syntax(self.range(), format!("expected an operator, found {}", self.found()), Some(help))
    }

    /// Builds a node, refusing one that is too deep.
    pub fn node(kind: Kind, range: Range<usize>, below: usize) -> Result<Node, Finding> {
        if below >= MAX_DEPTH {
            return Err(too_deep(range));
        }
        Ok(Node { kind, range, depth: below + 1 })
    }

    fn binary(operator: Operator, left: Node, right: Node) -> Result<Node, Finding> {
        let range = left.range.start..right.range.end;
        let below = left.depth.max(right.depth);
        Self::node(Kind::Binary(operator, Box::new(left), Box::new(right)), range, below)
    }

    /// A whole expression.
    pub fn or(&mut self) -> Result<Node, Finding> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.range()));
        }
        let mut left = self.and()?;
        while self.skip_word("or") {
            let right = self.and()?;
            left = Self::binary(Operator::Or, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, Finding> {
        let mut left = self.not()?;
        while self.skip_word("and") {
            let right = self.not()?;
            left = Self::binary(Operator::And, left, right)?;
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
            node = Self::node(Kind::Not(Box::new(node)), range, below)?;
        }
        Ok(node)
    }

    fn relation(&mut self) -> Result<Node, Finding> {
        let left = self.default()?;
        let Some(operator) = self.relation_operator() else {
            return Ok(left);
        };
        let right = self.default()?;
        let node = Self::binary(operator, left, right)?;
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
            TokenKind::Word("in") => Operator::In,
            TokenKind::Word("not") => {
                let next = self.tokens.get(self.at + 1).map(|t| &t.kind);
                if !matches!(next, Some(TokenKind::Word("in"))) {
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
        let first = self.sum()?;
        if !self.is("??") {
            return Ok(first);
        }
        let mut sides = vec![first];
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
                    Self::node(Kind::Default(Box::new(left), Box::new(right)), range, below)?
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
            left = Self::binary(operator, left, right)?;
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
            left = Self::binary(operator, left, right)?;
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
            node = Self::node(Kind::Negate(Box::new(node)), range, below)?;
        }
        Ok(node)
    }

    fn postfix(&mut self) -> Result<Node, Finding> {
        let mut node = self.primary()?;
        if let Kind::Path(names) = &mut node.kind {
            self.fields(names)?;
            node.range.end = names.last().map_or(node.range.end, |name| name.range.end);
            return Ok(node);
        }
        let mut fields = Vec::new();
        self.fields(&mut fields)?;
        let Some(last) = fields.last() else {
            return Ok(node);
        };
        let (range, below) = (node.range.start..last.range.end, node.depth);
        Self::node(Kind::Fields(Box::new(node), fields), range, below)
    }

    /// The names that follow, each after its dot.
    fn fields(&mut self, names: &mut Vec<Name>) -> Result<(), Finding> {
        while self.skip(".") {
            let range = self.range();
            let TokenKind::Word(text) = *self.kind() else {
                let message = format!("expected a field's name after `.`, found {}", self.found());
                let help = "there is no index; `take(list, n)` gives the first items";
                return Err(syntax(range, message, Some(help)));
            };
            self.at += 1;
            names.push(Name { text: text.to_owned(), range });
        }
        Ok(())
    }
}

fn too_deep(range: Range<usize>) -> Finding {
    Finding {
        code: code::LIMIT,
        range,
        message: format!("the expression nests deeper than {MAX_DEPTH}"),
        help: Some("shorten it: let a field of a step's answer hold a part of it".to_owned()),
    }
}
