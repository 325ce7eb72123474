//! A provider's local gate: what may be sent in a minute and at once, all runs together.
//!
//! Pure arithmetic over a sliding minute; the driver owns the one shared instance per provider and asks it
//! before anything is sent. Not a budget: a refusal means "wait", never "fail".

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::provider::Limits;

const WINDOW: Duration = Duration::from_secs(60);

/// The gate of one provider. Times count from the server's start.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    limits: Limits,
    in_flight: u32,
    /// Sent within the last minute: when, and tokens reserved or settled.
    sent: VecDeque<(Duration, u64)>,
    tokens: u64,
}

/// Whether something may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Counted as sent.
    Open,
    /// Every slot is taken: ask again when one is given back.
    Slot,
    /// The minute is full until then.
    Until(Duration),
}

impl Gate {
    /// Nothing sent yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes a slot and counts `tokens` (prompt estimate plus the answer's bound) as sent at `now`, if the
    /// limits allow. What is larger than the whole minute's tokens passes when the minute is empty.
    pub fn enter(&mut self, now: Duration, tokens: u64) -> Pass {
        while let Some((at, spent)) = self.sent.front().copied() {
            if at + WINDOW > now {
                break;
            }
            self.sent.pop_front();
            self.tokens = self.tokens.saturating_sub(spent);
        }
        if self.limits.concurrent.is_some_and(|most| self.in_flight >= most) {
            return Pass::Slot;
        }
        let full = self.limits.rpm.is_some_and(|most| self.sent.len() >= most as usize)
            || self.limits.tpm.is_some_and(|most| self.tokens.saturating_add(tokens) > most);
        if let Some((oldest, _)) = self.sent.front().filter(|_| full) {
            return Pass::Until(*oldest + WINDOW);
        }
        self.in_flight += 1;
        if self.limits.rpm.is_some() || self.limits.tpm.is_some() {
            self.sent.push_back((now, tokens));
            self.tokens = self.tokens.saturating_add(tokens);
        }
        Pass::Open
    }

    /// What it holds to.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Holds to other limits from now on; what was sent and what is in flight still counts. Without a limit a
    /// minute is not counted, so the first one to come starts an empty minute.
    pub fn relimit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Gives the slot back.
    pub fn leave(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Slots taken.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_full_minute_opens_when_its_oldest_entry_leaves_it() {
        let mut gate = Gate::new(Limits { rpm: Some(2), ..Limits::default() });
        assert_eq!(gate.enter(at(0), 1), Pass::Open);
        assert_eq!(gate.enter(at(10), 1), Pass::Open);
        assert_eq!(gate.enter(at(20), 1), Pass::Until(at(60)));
        assert_eq!(gate.enter(at(60), 1), Pass::Open);
        assert_eq!(gate.enter(at(61), 1), Pass::Until(at(70)));
    }

    #[test]
    fn slots_are_given_back() {
        let mut gate = Gate::new(Limits { concurrent: Some(1), ..Limits::default() });
        assert_eq!(gate.enter(at(0), 1), Pass::Open);
        assert_eq!(gate.enter(at(0), 1), Pass::Slot);
        gate.leave();
        assert_eq!(gate.enter(at(0), 1), Pass::Open);
    }

    #[test]
    fn a_prompt_larger_than_the_minute_passes_alone() {
        let mut gate = Gate::new(Limits { tpm: Some(100), ..Limits::default() });
        assert_eq!(gate.enter(at(0), 500), Pass::Open);
        assert_eq!(gate.enter(at(1), 1), Pass::Until(at(60)));
    }
}
