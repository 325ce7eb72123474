//! The closed lists of filters and tests. `environment.rs` says what they do, `filter.rs` what type they yield.
use crate::domain::finding::did_you_mean;
use crate::domain::shape::Shape;
use crate::expression::reference::candidates;
use crate::expression::unify::{is_number, is_text};

/// What a filter, a test or an argument takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Any value that is there.
    Anything,
    /// A text.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// A list.
    List,
    /// An object.
    Object,
    /// Text, list or object.
    Sized,
    /// List or object.
    Listable,
    /// True or false.
    Boolean,
}

/// A filter or a test.
pub struct Entry {
    /// As it is written.
    pub name: &'static str,
    /// What it is applied to.
    pub takes: Takes,
    /// Fewest arguments.
    pub least: usize,
    /// What its arguments are.
    pub args: &'static [Takes],
    /// Arguments that are written by name.
    pub named: &'static [&'static str],
}

use Takes::{Anything, Boolean, Integer, List, Listable, Number, Object, Sized, Text};

/// Every filter.
const FILTERS: [Entry; 30] = [
    entry("abs", Number, 0, &[], &[]),
    entry("batch", List, 1, &[Integer], &[]),
    entry("capitalize", Text, 0, &[], &[]),
    entry("count", Sized, 0, &[], &[]),
    entry("d", Anything, 0, &[Anything], &[]),
    entry("default", Anything, 0, &[Anything], &[]),
    entry("dictsort", Object, 0, &[], &["by", "reverse", "case_sensitive"]),
    entry("first", List, 0, &[], &[]),
    entry("indent", Text, 0, &[Integer, Boolean], &[]),
    entry("items", Object, 0, &[], &[]),
    entry("join", List, 0, &[Text], &[]),
    entry("last", List, 0, &[], &[]),
    entry("length", Sized, 0, &[], &[]),
    entry("list", Listable, 0, &[], &[]),
    entry("lower", Text, 0, &[], &[]),
    entry("map", List, 0, &[Anything], &["attribute"]),
    entry("max", List, 0, &[], &[]),
    entry("min", List, 0, &[], &[]),
    entry("rejectattr", List, 1, &[Text, Text, Anything], &[]),
    entry("replace", Text, 2, &[Text, Text], &[]),
    entry("reverse", List, 0, &[], &[]),
    entry("round", Number, 0, &[Integer], &[]),
    entry("selectattr", List, 1, &[Text, Text, Anything], &[]),
    entry("sort", List, 0, &[], &["attribute", "reverse", "case_sensitive"]),
    entry("sum", List, 0, &[], &[]),
    entry("title", Text, 0, &[], &[]),
    entry("tojson", Anything, 0, &[Integer], &["indent"]),
    entry("trim", Text, 0, &[], &[]),
    entry("unique", List, 0, &[], &["attribute", "case_sensitive"]),
    entry("upper", Text, 0, &[], &[]),
];

/// Every test of `is`.
const TESTS: [Entry; 23] = [
    entry("boolean", Anything, 0, &[], &[]),
    entry("defined", Anything, 0, &[], &[]),
    entry("divisibleby", Integer, 1, &[Integer], &[]),
    entry("endingwith", Text, 1, &[Text], &[]),
    entry("eq", Anything, 1, &[Anything], &[]),
    entry("even", Integer, 0, &[], &[]),
    entry("false", Anything, 0, &[], &[]),
    entry("ge", Anything, 1, &[Anything], &[]),
    entry("gt", Anything, 1, &[Anything], &[]),
    entry("in", Anything, 1, &[Sized], &[]),
    entry("integer", Anything, 0, &[], &[]),
    entry("le", Anything, 1, &[Anything], &[]),
    entry("lt", Anything, 1, &[Anything], &[]),
    entry("mapping", Anything, 0, &[], &[]),
    entry("ne", Anything, 1, &[Anything], &[]),
    entry("none", Anything, 0, &[], &[]),
    entry("number", Anything, 0, &[], &[]),
    entry("odd", Integer, 0, &[], &[]),
    entry("sequence", Anything, 0, &[], &[]),
    entry("startingwith", Text, 1, &[Text], &[]),
    entry("string", Anything, 0, &[], &[]),
    entry("true", Anything, 0, &[], &[]),
    entry("undefined", Anything, 0, &[], &[]),
];

const fn entry(
    name: &'static str,
    takes: Takes,
    least: usize,
    args: &'static [Takes],
    named: &'static [&'static str],
) -> Entry {
    Entry { name, takes, least, args, named }
}

impl Takes {
    /// Whether a shape is one of these, or may be.
    pub fn fits(self, shape: &Shape) -> bool {
        let list = matches!(shape, Shape::List(..));
        let object = matches!(shape, Shape::Object(_));
        match self {
            _ if *shape == Shape::Any => true,
            Anything => true,
            Text => is_text(shape),
            Number => is_number(shape),
            Integer => matches!(shape, Shape::Integer(_)),
            List => list,
            Object => object,
            Sized => list || object || is_text(shape),
            Listable => list || object,
            Boolean => *shape == Shape::Boolean,
        }
    }

    /// In words.
    pub const fn what(self) -> &'static str {
        match self {
            Anything => "a value",
            Text => "a text",
            Number => "a number",
            Integer => "a whole number",
            List => "a list",
            Object => "an object",
            Sized => "a text, a list or an object",
            Listable => "a list or an object",
            Boolean => "true or false",
        }
    }
}

/// Every filter's name, and what it is applied to, in words.
pub fn filters() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILTERS.iter().map(|filter| (filter.name, filter.takes.what()))
}

/// The filter of that name.
pub fn filter(name: &str) -> Option<&'static Entry> {
    FILTERS.iter().find(|f| f.name == name)
}

/// The test of that name.
pub fn test(name: &str) -> Option<&'static Entry> {
    TESTS.iter().find(|t| t.name == name)
}

/// What to say of a filter that does not exist, and what to do.
pub fn unknown_filter(name: &str) -> (String, String) {
    let message = format!("there is no filter '{name}'");
    if matches!(name, "safe" | "escape" | "e") {
        return (message, "nothing is escaped: leave it out".to_owned());
    }
    let names: Vec<&str> = FILTERS.iter().map(|f| f.name).collect();
    let listed = names.join(", ");
    let help = match did_you_mean(name, names.iter().copied()) {
        Some(close) => format!("did you mean '{close}'? filters: {listed}"),
        None => format!("filters: {listed}"),
    };
    (message, help)
}

/// What to say of a test that does not exist, and what to do.
pub fn unknown_test(name: &str) -> (String, String) {
    let names: Vec<&str> = TESTS.iter().map(|t| t.name).collect();
    (format!("there is no test '{name}'"), candidates(name, &names, "tests"))
}
