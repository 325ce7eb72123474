//! Turns in the order that strict dialects want. Pure.

use crate::domain::message::Message;

/// The turns with none empty and speakers alternating: neighbours of one speaker become one turn.
#[must_use]
pub fn alternating(turns: Vec<Message>) -> Vec<Message> {
    let mut merged: Vec<Message> = Vec::new();
    for turn in turns.into_iter().filter(|turn| !turn.text.trim().is_empty()) {
        match merged.last_mut() {
            Some(last) if last.speaker == turn.speaker => {
                last.text.push_str("\n\n");
                last.text.push_str(&turn.text);
            }
            _ => merged.push(turn),
        }
    }
    merged
}
