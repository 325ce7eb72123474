//! The tree of a parsed expression.
use std::ops::Range;

use serde_json::Value;

use super::function::Function;

/// A part of an expression, and where it stands in the text.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Levels below it, itself included; at most [`super::parse::MAX_DEPTH`].
    pub depth: usize,
}

/// What a part is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A number, a text, `true`, `false`, `null`.
    Literal(Value),
    /// `[a, b]`.
    List(Vec<Node>),
    /// `a.b.c`; one segment at least.
    Path(Vec<Name>),
    /// `f(x).b.c`: fields of something that is no path.
    Fields(Box<Node>, Vec<Name>),
    /// `-x`.
    Negate(Box<Node>),
    /// `not x`.
    Not(Box<Node>),
    /// `a + b` and all others of two operands.
    Binary(Operator, Box<Node>, Box<Node>),
    /// `a ?? b`.
    Default(Box<Node>, Box<Node>),
    /// `all(condition for name in list)`, or `any(..)`.
    Quantifier(Box<Quantifier>),
    /// `f(a, b)`.
    Call(Function, Vec<Node>),
}

/// A word of a path.
#[derive(Clone, Debug)]
pub struct Name {
    /// The word.
    pub text: String,
    /// Bytes of the text.
    pub range: Range<usize>,
}

/// `all` or `any` over a list.
#[derive(Clone, Debug)]
pub struct Quantifier {
    /// `all`, else `any`.
    pub all: bool,
    /// What each item is asked.
    pub condition: Node,
    /// What the item is called in it.
    pub name: Name,
    /// The list.
    pub list: Node,
}

/// An operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `in`
    In,
    /// `not in`
    NotIn,
    /// `and`
    And,
    /// `or`
    Or,
}

impl Operator {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::And => "and",
            Self::Or => "or",
        }
    }
}

impl Node {
    /// Whether it is the literal `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Literal(Value::Null))
    }
}
