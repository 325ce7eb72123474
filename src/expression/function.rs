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
pub struct Entry {
    /// Which.
    pub function: Function,
    /// As it is written.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (usize, usize),
    /// Arguments and result, for messages and the reference.
    pub signature: &'static str,
}

/// Most arguments of `min(a, b, …)`.
const MANY: usize = 16;

/// Every function. Where an argument is `any`, so is the result.
pub const TABLE: [Entry; 17] = [
    entry(Function::Length, "length", (1, 1), "length(text | list) -> integer"),
    entry(Function::Sum, "sum", (1, 1), "sum(list of numbers) -> number"),
    entry(Function::Min, "min", (1, MANY), "min(list of numbers) -> number | null, min(a, b, …)"),
    entry(Function::Max, "max", (1, MANY), "max(list of numbers) -> number | null, max(a, b, …)"),
    entry(Function::Round, "round", (1, 2), "round(number, digits = 0) -> number"),
    entry(
        Function::Contains,
        "contains",
        (2, 2),
        "contains(text, part) or (list, item) -> boolean",
    ),
    entry(Function::StartsWith, "starts_with", (2, 2), "starts_with(text, start) -> boolean"),
    entry(Function::Lower, "lower", (1, 1), "lower(text) -> string"),
    entry(Function::Trim, "trim", (1, 1), "trim(text) -> string"),
    entry(Function::Split, "split", (2, 2), "split(text, \"separator\") -> list of strings"),
    entry(Function::Chunks, "chunks", (2, 2), "chunks(text, tokens) -> list of strings"),
    entry(Function::Batches, "batches", (2, 2), "batches(list, size) -> list of lists"),
    entry(Function::Flatten, "flatten", (1, 1), "flatten(list of lists) -> list"),
    entry(Function::Unique, "unique", (1, 1), "unique(list) -> list"),
    entry(Function::Take, "take", (2, 2), "take(list, count) -> list"),
    entry(Function::Join, "join", (2, 2), "join(list of strings, \"separator\") -> string"),
    entry(Function::Keys, "keys", (1, 1), "keys(object) -> list of strings"),
];

const fn entry(
    function: Function,
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
) -> Entry {
    Entry { function, name, arity, signature }
}

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
