//! Recorded answers: what the simulator says where a case beside a workflow, or the demo, has it in store. An
//! entry names a workflow's step and holds its answers in the order of attempts, so that a first answer can
//! be invalid or rejected and a later one good.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::draw::Ending;
use crate::provider::Exchange;

/// Bytes of a recordings document.
const MAX_BYTES: usize = 8 << 20;

#[expect(clippy::expect_used, reason = "the files are compiled in, and a test reads them")]
static SHIPPED: LazyLock<Recordings> = LazyLock::new(|| {
    let files =
        [include_str!("recordings/summarize.json"), include_str!("recordings/support_triage.json")];
    let read = files.map(|file| {
        Recordings::parse(file).expect("the shipped recordings are well-formed").entries
    });
    Recordings { entries: read.into_iter().flatten().collect() }
});

/// All recorded answers of a simulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recordings {
    entries: Vec<Recording>,
}

/// Answers of one step, as written:
/// `{"workflow": "support_triage", "step": "reply", "when": "refund", "answers": [{…}, {…}], "fates": ["hang"]}`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The workflow's name.
    pub workflow: String,
    /// The step's name.
    pub step: String,
    /// Must stand in the prompt for the entry to be used; the first entry that matches is.
    #[serde(default)]
    pub when: Option<String>,
    /// By attempt; later attempts get the last one. Text is sent as it is, other values as JSON.
    pub answers: Vec<Value>,
    /// By attempt, how it fares; attempts beyond them, and `null`, as drawn.
    #[serde(default)]
    pub fates: Vec<Option<Told>>,
}

/// How a recorded attempt fares, whatever the regime.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Well, in the usual time.
    Ok,
    /// Well, eight times slower than drawn.
    Slow,
    /// With an answer that is visibly invalid.
    Garbage,
    /// With a server error.
    Error,
    /// With a 429.
    RateLimited,
    /// Never: not even a first token.
    Hang,
}

/// Why recordings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// No JSON of the form.
    #[error("recorded answers: {0}")]
    Malformed(#[from] serde_json::Error),
    /// An entry without an answer.
    #[error(
        "recorded answers of step '{step}' in '{workflow}': 'answers' is empty; give at least one"
    )]
    Empty {
        /// The workflow's name.
        workflow: String,
        /// The step's name.
        step: String,
    },
    /// Too large.
    #[error("recorded answers: {0} bytes; at most 8 MiB are read")]
    TooLarge(usize),
}

/// What is in store for one attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The answer's text.
    pub text: String,
    /// How the attempt fares, where that is told.
    pub fate: Option<Told>,
}

impl Recordings {
    /// What is in store for the shipped workflows on the documents under `tests/inputs`; any other input is
    /// answered by shape.
    #[must_use]
    pub fn shipped() -> Self {
        SHIPPED.clone()
    }

    /// Reads a JSON list of entries.
    ///
    /// # Errors
    /// Another form, an entry without answers, more than 8 MiB.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        if text.len() > MAX_BYTES {
            return Err(RecordingError::TooLarge(text.len()));
        }
        Self::new(serde_json::from_str(text)?)
    }

    /// Takes entries, first match first.
    ///
    /// # Errors
    /// An entry without answers.
    pub fn new(entries: Vec<Recording>) -> Result<Self, RecordingError> {
        match entries.iter().find(|entry| entry.answers.is_empty()) {
            Some(entry) => Err(RecordingError::Empty {
                workflow: entry.workflow.clone(),
                step: entry.step.clone(),
            }),
            None => Ok(Self { entries }),
        }
    }

    /// What is in store for an attempt.
    #[must_use]
    pub fn find(&self, exchange: &Exchange) -> Option<Stored> {
        let draw = &exchange.draw;
        let entry = self.entries.iter().find(|entry| {
            entry.workflow == draw.workflow
                && entry.step == draw.step_name
                && entry.when.as_ref().is_none_or(|needle| stands_in(exchange, needle))
        })?;
        let attempt = usize::try_from(draw.attempt).unwrap_or(usize::MAX);
        let answer = entry.answers.get(attempt).or_else(|| entry.answers.last())?;
        let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
        Some(Stored { text, fate: entry.fates.get(attempt).copied().flatten() })
    }
}

fn stands_in(exchange: &Exchange, needle: &str) -> bool {
    let prompt = &exchange.prompt;
    let mut texts = prompt.system.iter().chain(prompt.messages.iter().map(|message| &message.text));
    texts.any(|text| text.contains(needle))
}

impl Told {
    /// The ending it stands for.
    pub(super) const fn ending(self) -> Ending {
        match self {
            Self::Ok | Self::Slow => Ending::Ok,
            Self::Garbage => Ending::Garbage,
            Self::Error => Ending::Error,
            Self::RateLimited => Ending::RateLimited,
            Self::Hang => Ending::Hang,
        }
    }
}
