//! The neutral form of a conversation, from which every provider's payload is built anew.

use serde::{Deserialize, Serialize};

use super::money::Usd;

/// What is sent to a model: a system prompt and the turns so far, ending with the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Instructions that stand above the conversation.
    pub system: Option<String>,
    /// The turns, oldest first; the last one is the user's.
    pub messages: Vec<Message>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub speaker: Speaker,
    /// What is said.
    pub text: String,
}

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The workflow.
    User,
    /// A model.
    Assistant,
}

impl Speaker {
    /// The name in traces and on most wires.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl Message {
    /// The workflow's turn.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self { speaker: Speaker::User, text: text.into() }
    }

    /// A model's turn.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { speaker: Speaker::Assistant, text: text.into() }
    }
}

impl Prompt {
    /// Bytes of all texts together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let system = self.system.as_ref().map_or(0, String::len);
        system + self.messages.iter().map(|m| m.text.len()).sum::<usize>()
    }

    /// Tokens this prompt is expected to cost before any provider has counted it: see [`estimate_tokens`],
    /// plus 4 a turn for its frame.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let texts = self.system.iter().chain(self.messages.iter().map(|m| &m.text));
        let turns = self.messages.len() + usize::from(self.system.is_some());
        texts.map(|t| estimate_tokens(t)).sum::<u64>() + 4 * turns as u64
    }
}

/// Tokens a text is expected to be: a token per 3 bytes of ASCII, one per other character, rounded up.
///
/// English prose runs at about 4.5 bytes a token and code at about 3 in current vocabularies, CJK text at
/// about one token a character: the estimate errs high, because budgets are reserved by it.
#[must_use]
pub fn estimate_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let wide = text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(3) + wide
}

/// Tokens an exchange used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Of these, read from the provider's cache.
    pub cached_input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Whether any of these is our estimate and not the provider's count.
    pub estimated: bool,
    /// What the provider itself says it charged; `None` where it leaves that to its price list.
    pub cost: Option<Usd>,
}
