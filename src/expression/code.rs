//! The stable codes of what can be wrong in an expression or a template.
use crate::domain::finding::Code;

/// A name that is not visible here.
pub const UNKNOWN_NAME: Code = Code("P0201");
/// A reference to something that can be missing, neither guarded nor defaulted.
pub const UNGUARDED: Code = Code("P0202");
/// A value that may be null where one is needed.
pub const NULLABLE: Code = Code("P0203");
/// An operand of a type its operator does not take.
pub const OPERAND: Code = Code("P0204");
/// Two values that can never be equal or ordered.
pub const INCOMPARABLE: Code = Code("P0205");
/// A function, filter or test that does not exist.
pub const UNKNOWN_FUNCTION: Code = Code("P0206");
/// A field its shape does not have.
pub const UNKNOWN_FIELD: Code = Code("P0207");
/// An argument too many, too few, or of a type the function does not take.
pub const ARGUMENT: Code = Code("P0208");
/// Two values of one place that have no common type: the sides of `??`, the items of a list.
pub const DISAGREE: Code = Code("P0209");
/// An expression that cannot be read.
pub const SYNTAX: Code = Code("P0210");
/// A template that cannot be read.
pub const TEMPLATE_SYNTAX: Code = Code("P0211");
/// A template construct that prompts do not have: macros, calls, inheritance.
pub const REFUSED: Code = Code("P0212");
/// An expression that is longer or more deeply nested than is read.
pub const LIMIT: Code = Code("P0213");
/// A loop over something that is no list.
pub const NOT_A_LIST: Code = Code("P0214");
/// A template that is longer, or has longer tags, than is read.
pub const TEMPLATE_LIMIT: Code = Code("P0215");
