//! What goes along when an attempt is followed by another: where the run stands, what had arrived, what was
//! wrong with it.
//!
//! Text that a model produced is fenced as data and bounded. The answer asked for is always the whole one:
//! nothing is ever stitched together from two models' halves.

mod message;

pub use message::{ResumeMessage, feedback_turn, repair_turn};

/// Most characters of a partial or invalid answer that go along.
pub const PARTIAL_MAX: usize = 2_000;
/// Most characters of a schema that go along in a message.
pub const SCHEMA_MAX: usize = 4_000;

/// Where a run stands at the moment of a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The run's public name.
    pub run: String,
    /// The step's place among those that are not skipped, from 1.
    pub place: usize,
    /// How many they are.
    pub of: usize,
    /// The step's name.
    pub step: String,
    /// The model that was interrupted, as its provider calls it.
    pub previous_model: String,
    /// Why it was, in a few words.
    pub interruption: String,
    /// What it had answered until then.
    pub partial: String,
    /// The JSON Schema of the answer, compact; `None` for plain text.
    pub schema: Option<String>,
}

/// The first `most` characters of `text`, with a mark where something was left out.
#[must_use]
pub fn bounded(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}
