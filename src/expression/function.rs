//! The closed list of functions: names, arguments, what each yields. [`TABLE`] is their reference.

/// A function of the expression language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Characters of a text, items of a list.
    Length,
    /// Sum of a list; null items are passed over.
    Sum,
    /// Least of a list or of the arguments.
    Min,
    /// Greatest of a list or of the arguments.
    Max,
    /// To a number of digits, halves away from zero.
    Round,
    /// Whether a text has a part, or a list an item.
    Contains,
    /// Whether a text starts so.
    StartsWith,
    /// In small letters.
    Lower,
    /// Without white space at both ends.
    Trim,
    /// The parts between separators.
    Split,
    /// Pieces of at most so many tokens, cut at paragraph or sentence ends.
    Chunks,
    /// Lists of at most so many items.
    Batches,
    /// A list of lists as one list.
    Flatten,
    /// Each item once, in the order of first appearance.
    Unique,
    /// The first items.
    Take,
    /// Texts as one text.
    Join,
    /// The names of an object's fields.
    Keys,
}

/// One row of [`TABLE`].
#[derive(Debug)]
pub struct Entry {
    /// Which.
    pub function: Function,
    /// As it is written.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (usize, usize),
    /// Arguments and result, for messages and the reference.
    pub signature: &'static str,
    /// What it yields, for the reference.
    pub about: &'static str,
    /// An expression, and its value as JSON; `vars` is `{limit: 3}` there.
    pub example: (&'static str, &'static str),
}

/// Most arguments of `min(a, b, …)`.
const MANY: usize = 16;

/// Every function. Where an argument is `any`, so is the result.
pub const TABLE: [Entry; 17] = [
    Entry {
        function: Function::Length,
        name: "length",
        arity: (1, 1),
        signature: "length(text | list) -> integer",
        about: "characters of a text, items of a list",
        example: ("length([\"a\", \"b\"])", "2"),
    },
    Entry {
        function: Function::Sum,
        name: "sum",
        arity: (1, 1),
        signature: "sum(list of numbers) -> number",
        about: "the sum; null items are passed over, an empty list is 0",
        example: ("sum([1.1, 2.2])", "3.3"),
    },
    Entry {
        function: Function::Min,
        name: "min",
        arity: (1, MANY),
        signature: "min(list of numbers) -> number | null, min(a, b, …)",
        about: "the least; null for an empty list",
        example: ("min(3, 1, 2)", "1"),
    },
    Entry {
        function: Function::Max,
        name: "max",
        arity: (1, MANY),
        signature: "max(list of numbers) -> number | null, max(a, b, …)",
        about: "the greatest; null for an empty list",
        example: ("max([3, 1, 2])", "3"),
    },
    Entry {
        function: Function::Round,
        name: "round",
        arity: (1, 2),
        signature: "round(number, digits = 0) -> number",
        about: "to so many digits, halves away from zero",
        example: ("round(2.345, 2)", "2.35"),
    },
    Entry {
        function: Function::Contains,
        name: "contains",
        arity: (2, 2),
        signature: "contains(text, part) or (list, item) -> boolean",
        about: "whether a text has a part, exactly as written, or a list an item",
        example: ("contains(\"refund policy\", \"fund\")", "true"),
    },
    Entry {
        function: Function::StartsWith,
        name: "starts_with",
        arity: (2, 2),
        signature: "starts_with(text, start) -> boolean",
        about: "whether a text starts so",
        example: ("starts_with(\"INV-7\", \"INV-\")", "true"),
    },
    Entry {
        function: Function::Lower,
        name: "lower",
        arity: (1, 1),
        signature: "lower(text) -> string",
        about: "in small letters",
        example: ("lower(\"Total DUE\")", "\"total due\""),
    },
    Entry {
        function: Function::Trim,
        name: "trim",
        arity: (1, 1),
        signature: "trim(text) -> string",
        about: "without white space at both ends",
        example: ("trim(\"  a b \")", "\"a b\""),
    },
    Entry {
        function: Function::Split,
        name: "split",
        arity: (2, 2),
        signature: "split(text, \"separator\") -> list of strings",
        about: "the parts between separators; joined with them they are the text again",
        example: ("split(\"a,b,,c\", \",\")", "[\"a\", \"b\", \"\", \"c\"]"),
    },
    Entry {
        function: Function::Chunks,
        name: "chunks",
        arity: (2, 2),
        signature: "chunks(text, tokens) -> list of strings",
        about: "pieces of at most so many tokens, cut at paragraph, line or sentence ends where one fits; put together they are the text",
        example: ("chunks(\"One. Two.\", 2)", "[\"One. \", \"Two.\"]"),
    },
    Entry {
        function: Function::Batches,
        name: "batches",
        arity: (2, 2),
        signature: "batches(list, size) -> list of lists",
        about: "lists of at most so many items, in order",
        example: ("batches([1, 2, 3], 2)", "[[1, 2], [3]]"),
    },
    Entry {
        function: Function::Flatten,
        name: "flatten",
        arity: (1, 1),
        signature: "flatten(list of lists) -> list",
        about: "a list of lists as one list",
        example: ("flatten([[1], [2, 3]])", "[1, 2, 3]"),
    },
    Entry {
        function: Function::Unique,
        name: "unique",
        arity: (1, 1),
        signature: "unique(list) -> list",
        about: "each item once, in the order of first appearance",
        example: ("unique([\"b\", \"a\", \"b\"])", "[\"b\", \"a\"]"),
    },
    Entry {
        function: Function::Take,
        name: "take",
        arity: (2, 2),
        signature: "take(list, count) -> list",
        about: "the first items",
        example: ("take([1, 2, 3], 2)", "[1, 2]"),
    },
    Entry {
        function: Function::Join,
        name: "join",
        arity: (2, 2),
        signature: "join(list of strings, \"separator\") -> string",
        about: "texts as one text",
        example: ("join([\"a\", \"b\"], \", \")", "\"a, b\""),
    },
    Entry {
        function: Function::Keys,
        name: "keys",
        arity: (1, 1),
        signature: "keys(object) -> list of strings",
        about: "the names of an object's fields",
        example: ("keys(vars)", "[\"limit\"]"),
    },
];

impl Function {
    /// The function of that name.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|e| e.name == name).map(|e| e.function)
    }

    /// Its row.
    pub fn entry(self) -> &'static Entry {
        // The table is in the order of the enum; a test holds it there.
        &TABLE[self as usize % TABLE.len()]
    }

    /// Every function's name, for did-you-mean.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|e| e.name)
    }
}
