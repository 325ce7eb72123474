//! The record of what a run's machine was told and what it answered, kept beside the run and written at its end.
//!
//! The same plan, the same knowledge of times, the same events and signals at the same times give the same decisions: so
//! this is all that [`replay`](super::replay) needs. It holds no content: sizes and verdicts, no prompt, no answer, and
//! none of a failure's words. Recorded before it is acted on. Bounded: after [`EVENTS_MAX`] events, or where it would take
//! more than [`BYTES_MAX`], nothing more is recorded, and the record says so.

mod knowledge;
mod read;
mod write;

use crate::domain::failure::Failure;
use crate::domain::id::AttemptId;
use crate::domain::time::Timestamp;
use crate::engine::decision::Decision;
use crate::engine::{Action, Event, Prepared, Signals, Verdict};

pub use knowledge::Knowledge;
pub use read::{Record, Told, Unreadable};

/// The form of the record; counted up where an older build could no longer read it.
pub const FORMAT: u32 = 1;
/// Most events of one run that are recorded.
pub const EVENTS_MAX: usize = 20_000;
/// Most bytes of one run's record, in memory and written.
pub const BYTES_MAX: usize = 2 << 20;

/// What is recorded of a run so far.
#[derive(Debug)]
pub struct Journal {
    entries: Vec<Entry>,
    /// As of the latest entry.
    signals: Signals,
    /// Bytes that may still be taken.
    room: usize,
    /// Whether everything so far is in it.
    whole: bool,
}

/// One event, and what the machine answered.
#[derive(Debug)]
enum Entry {
    /// A sign of life from which nothing followed: by far the most events are.
    Sign { at: Timestamp, attempt: AttemptId, tokens: u64 },
    /// Any other.
    Told(Box<Entered>),
}

#[derive(Debug)]
struct Entered {
    at: Timestamp,
    event: Event,
    /// Where they are others than before.
    signals: Option<Signals>,
    actions: Vec<Action>,
    decisions: Vec<Decision>,
}

impl Default for Journal {
    fn default() -> Self {
        Self { entries: Vec::new(), signals: Signals::default(), room: BYTES_MAX, whole: true }
    }
}

impl Journal {
    /// Takes in what the machine is about to be told.
    pub fn told(&mut self, event: &Event, signals: &Signals, now: Timestamp) {
        if !self.whole {
            return;
        }
        let changed = (self.signals != *signals).then(|| signals.clone());
        let entry = match (event, &changed) {
            (Event::Emitted { attempt, tokens }, None) => {
                Entry::Sign { at: now, attempt: *attempt, tokens: *tokens }
            }
            _ => Entry::Told(Box::new(Entered {
                at: now,
                event: event.clone(),
                signals: changed,
                actions: Vec::new(),
                decisions: Vec::new(),
            })),
        };
        let size = entry.size();
        if self.entries.len() >= EVENTS_MAX || size > self.room {
            self.whole = false;
            return;
        }
        if let Entry::Told(entered) = &entry
            && let Some(signals) = &entered.signals
        {
            self.signals = signals.clone();
        }
        self.room -= size;
        self.entries.push(entry);
    }

    /// Takes in what it answered to the latest of it.
    pub fn answered(&mut self, actions: &[Action], decisions: &[Decision]) {
        if !self.whole || (actions.is_empty() && decisions.is_empty()) {
            return;
        }
        let Some(last) = self.entries.last_mut() else { return };
        if let Entry::Sign { at, attempt, tokens } = *last {
            let event = Event::Emitted { attempt, tokens };
            let (actions, decisions) = (Vec::new(), Vec::new());
            *last = Entry::Told(Box::new(Entered { at, event, signals: None, actions, decisions }));
        }
        if let Entry::Told(entered) = last {
            entered.actions = actions.to_vec();
            entered.decisions = decisions.to_vec();
            // An event without its answer would look like a divergence, so this may exceed the room once.
            self.room = self.room.saturating_sub(ANSWER * (actions.len() + decisions.len()));
        }
    }
}

/// Bytes that an action or a decision takes, about.
const ANSWER: usize = 150;
/// Bytes that a path's signals take, about.
const SIGNAL: usize = 100;

impl Entry {
    /// Bytes it takes, about, without its answer: what it is made of, as it is written.
    fn size(&self) -> usize {
        match self {
            Self::Sign { .. } => 32,
            Self::Told(entered) => {
                let Entered { event, signals, .. } = &**entered;
                let signals = signals.as_ref().map_or(0, |signals| {
                    let Signals { closed_for, why, line_for, traffic, windows, permits } = signals;
                    let paths =
                        [closed_for.len(), why.len(), line_for.len(), traffic.len(), permits.len()];
                    SIGNAL * (paths.iter().max().unwrap_or(&0) + windows.len())
                });
                std::mem::size_of::<Entered>() + size_of_event(event) + signals
            }
        }
    }
}

/// Bytes that an event takes beside its fixed part.
fn size_of_event(event: &Event) -> usize {
    let words = |failure: &Failure| failure.evidence.len() + failure.message.len() + 150;
    match event {
        Event::Started { reused } => 4 * reused.len(),
        Event::Prepared { result, .. } => match result {
            Prepared::Prompts(tokens) | Prepared::Shrunk(tokens) => 8 * tokens.len(),
            Prepared::Computed(items) => {
                items.iter().map(|item| item.as_ref().map_or(8, words)).sum()
            }
            Prepared::Impossible(failure) => words(failure),
            Prepared::Skip | Prepared::Done | Prepared::Judged { .. } => 0,
        },
        Event::Ended { verdict: Verdict::Invalid { failure, .. }, .. }
        | Event::Failed { failure, .. }
        | Event::TurnedAway { failure, .. } => words(failure),
        Event::Ended { verdict: Verdict::Valid { .. }, .. }
        | Event::Sent { .. }
        | Event::FirstToken { .. }
        | Event::Emitted { .. }
        | Event::Shrunk { .. }
        | Event::Withdrawn
        | Event::Woke => 0,
    }
}

#[cfg(test)]
mod tests;
