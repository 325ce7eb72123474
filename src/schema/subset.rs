//! What of JSON Schema each vendor's constrained decoding takes, as data.
//!
//! Sources: the vendors' documentation of structured output as read in November 2026, and the errors that people
//! report where a schema goes beyond it. Where a source is silent the tighter reading stands: a keyword left out is
//! said in words, one too many is a refused request.

use crate::domain::model::Subset;

/// What a subset holds.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table: each is a column of its own")]
pub struct Rules {
    /// Whether the schema is passed on as it is, references inlined.
    pub whole: bool,
    /// Whether the request says that the schema is to be kept to strictly, in dialects that ask.
    pub strict: bool,
    /// Whether every object must be closed.
    pub closed: bool,
    /// Whether every key must be required; an optional one then may be null.
    pub all_required: bool,
    /// Whether alternatives are taken (`anyOf`).
    pub alternatives: bool,
    /// Keywords that are taken beside types, enums, objects and lists; what others say goes into the description.
    pub kept: &'static [&'static str],
    /// Most levels of objects and lists.
    pub levels: usize,
    /// Most properties of all objects together.
    pub properties: usize,
    /// Most optional properties of all objects together.
    pub optional: usize,
    /// Most alternatives (`anyOf`) of all levels together.
    pub unions: usize,
    /// Most words of all enums together.
    pub words: usize,
    /// Most characters of property names and enum words together.
    pub characters: usize,
}

const NONE: usize = usize::MAX;

/// What a standard schema may hold.
const STANDARD: Rules = Rules {
    whole: true,
    strict: true,
    closed: false,
    all_required: false,
    alternatives: true,
    kept: &[],
    levels: NONE,
    properties: NONE,
    optional: NONE,
    unions: NONE,
    words: NONE,
    characters: NONE,
};

/// Structured outputs: 5,000 properties, 10 levels, 1,000 enum words, 120,000 characters.
const OPENAI: Rules = Rules {
    whole: false,
    closed: true,
    all_required: true,
    levels: 10,
    properties: 5_000,
    words: 1_000,
    characters: 120_000,
    ..STANDARD
};

/// Few optional keys and unions; a larger grammar is refused ("compiled grammar is too large").
const ANTHROPIC: Rules = Rules { whole: false, closed: true, optional: 24, unions: 16, ..STANDARD };

/// Bounds of lists, long enums and depth raise the states of the constraint ("too many states for serving"); the
/// figures are ours, from reports of what was refused.
const GEMINI: Rules = Rules {
    whole: false,
    kept: &["minimum", "maximum", "format"],
    levels: 12,
    properties: 500,
    words: 300,
    ..STANDARD
};

/// `maxItems`, number bounds and `multipleOf` are refused; Anthropic's models have its limits.
const BEDROCK: Rules = ANTHROPIC;

/// Neither alternatives nor references nor patterns; at most 64 keys.
const DATABRICKS: Rules = Rules { whole: false, alternatives: false, properties: 64, ..STANDARD };

/// As OpenAI's; no bounds of lengths and lists.
const XAI: Rules = OPENAI;

/// Grammars made of the schema: patterns and formats are refused. Bounds of texts and lists go along, since a small model
/// keeps to nothing else; where one makes the grammar too large, the refusal teaches so for that schema.
const GRAMMAR: Rules = Rules {
    whole: false,
    kept: &["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"],
    ..STANDARD
};

/// What a subset holds.
#[must_use]
pub const fn rules(subset: Subset) -> Rules {
    match subset {
        Subset::Standard => STANDARD,
        Subset::OpenAi => OPENAI,
        Subset::Anthropic => ANTHROPIC,
        Subset::Gemini => GEMINI,
        Subset::Bedrock => BEDROCK,
        Subset::Databricks => DATABRICKS,
        Subset::Xai => XAI,
        Subset::Grammar => GRAMMAR,
    }
}
