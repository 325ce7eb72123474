//! A launch that is decided and has not happened yet.

use super::decision::worth::Worth;
use crate::domain::id::AttemptId;
use crate::domain::time::Timestamp;
use crate::policy::fallback::{Choice, Told, Trouble};

/// Tokens a resume message may add to a prompt: its frame and 2,000 characters of partial output.
const RESUME_TOKENS: u64 = 2_500;

/// A launch that is decided and waits for its time, for its place in the race or for budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) choice: Choice,
    /// The attempt it follows, and what was wrong with it.
    pub(super) after: Option<(AttemptId, Trouble)>,
    /// Tokens that being told of an invalid answer would add to the prompt.
    pub(super) told_tokens: u64,
    /// Whether its time has come but something else holds it back: no timer waits for it then.
    pub(super) held: bool,
    /// But this one: everything in flight will have been silent for too long.
    pub(super) held_until: Option<Timestamp>,
    /// What the planner expects of it, where it decided.
    pub(super) worth: Option<Worth>,
    /// The attempt whose place it takes, where that was decided with it.
    pub(super) replaces: Option<AttemptId>,
}

impl Next {
    /// One that nothing is known of but what it is and what it follows.
    pub(super) fn of(choice: Choice, after: Option<(AttemptId, Trouble)>) -> Self {
        Self {
            choice,
            after,
            told_tokens: 0,
            held: false,
            held_until: None,
            worth: None,
            replaces: None,
        }
    }

    /// Whether it was planned beside an attempt before that one's cutoff.
    pub(super) fn is_early(&self) -> bool {
        self.after.is_some_and(|(_, trouble)| matches!(trouble, Trouble::Unanswered { .. }))
    }

    /// Tokens that what the model is told adds to the prompt.
    pub(super) fn extra_tokens(&self) -> u64 {
        match self.choice.told {
            Told::Nothing => 0,
            Told::Violations => self.told_tokens,
            Told::Resume => RESUME_TOKENS,
        }
    }
}
