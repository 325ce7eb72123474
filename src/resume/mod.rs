//! What goes along when an attempt is followed by another: where the run stands, what had arrived, what was
//! wrong with it.
//!
//! Text that a model produced is fenced as data and bounded. The answer asked for is always the whole one:
//! nothing is ever stitched together from two models' halves.

mod message;

use crate::domain::message::{Message, Prompt, Speaker};
use crate::domain::plan::Role;

pub use message::{ResumeMessage, feedback_turn, repair_turn};

/// Most characters of a partial or invalid answer that go along.
pub const PARTIAL_MAX: usize = 2_000;
/// What a resume message begins with, behind the prompt it ends.
pub const OPENING: &str = "[RESUME] Task '";
/// Most characters of a schema that go along in a message.
pub const SCHEMA_MAX: usize = 4_000;

/// Where a run stands at the moment of a swap: what the next model needs in order to take over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The run's public name.
    pub run: String,
    /// The step's place in topological order among those that are not skipped, from 1.
    pub place: usize,
    /// How many they are.
    pub of: usize,
    /// The step's name.
    pub step: String,
    /// What it is for.
    pub role: Role,
    /// The step's conversation for this target, built anew from the definition: the system prompt, and the turns
    /// with whatever they show of earlier steps. Nothing that they do not show goes along.
    pub prompt: Prompt,
    /// The steps whose validated outputs the conversation shows.
    pub shown: Vec<String>,
    /// The model that was interrupted, as its provider calls it.
    pub previous_model: String,
    /// Why it was, in a few words.
    pub interruption: String,
    /// What it had answered until then; the whole of an answer that was invalid.
    pub partial: String,
    /// What was wrong with its answer; empty where it was interrupted.
    pub problems: Vec<String>,
    /// The JSON Schema of the answer, compact; `None` for plain text.
    pub schema: Option<String>,
}

impl Snapshot {
    /// The conversation that the next model is sent: this one, with a [`ResumeMessage`] at its end. The system prompt
    /// stays the system prompt, and is not repeated.
    #[must_use]
    pub fn into_prompt(mut self) -> Prompt {
        let told = ResumeMessage(&self).to_string();
        match self.prompt.messages.last_mut() {
            Some(last) if last.speaker == Speaker::User => {
                last.text.push_str("\n\n");
                last.text.push_str(&told);
            }
            _ => self.prompt.messages.push(Message::user(told)),
        }
        self.prompt
    }
}

/// The first `most` characters of `text`, with a mark where something was left out.
#[must_use]
pub fn bounded(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}
