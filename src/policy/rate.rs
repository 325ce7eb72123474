//! A provider's local gate: what may be sent in a minute and at once, all runs together.
//!
//! Three things bound it, the narrowest counts: the limits that are written, as a sliding minute and slots; what 429s
//! have taught ([`super::learned`]); what the provider says is left ([`super::told`]). An entry reserves its prompt's
//! estimate and its answer's bound, and is corrected by what was used when that is known.
//!
//! Pure arithmetic; who is let in first is [`super::queue`]'s to say. Not a budget: a refusal means "wait", never
//! "fail".

use std::collections::VecDeque;
use std::time::Duration;

use super::learned::Learned;
use super::told::Known;
pub use super::told::{Left, Told};
use crate::domain::provider::Limits;

const WINDOW: Duration = Duration::from_secs(60);
/// Less than one part in so many of a limit is little.
const LOW: u64 = 5;

/// The gate of one provider. Times count from the server's start and never go back.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    limits: Limits,
    in_flight: u32,
    /// Sent within the last minute, in order; kept where a minute is limited.
    sent: VecDeque<Entry>,
    /// Of all of `sent`, and of those whose use is not known yet.
    tokens: u64,
    unsettled: u64,
    entries: u64,
    learned: Learned,
    requests_told: Option<Known>,
    tokens_told: Option<Known>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    at: Duration,
    tokens: u64,
    settled: bool,
}

/// Something that was let in: given back, once, with [`Gate::leave`].
#[derive(Debug, PartialEq, Eq)]
pub struct Entered {
    number: u64,
    /// When.
    pub at: Duration,
    /// Tokens it was reckoned with.
    pub tokens: u64,
}

/// Whether something may be sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Pass {
    /// Counted as sent.
    Open(Entered),
    /// Every slot is taken: ask again when one is given back.
    Slot,
    /// Not before then, unless something is given back.
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
        self.forget(now);
        self.learned.learn(now);
        if self.slots(now).is_some_and(|most| self.in_flight >= most) {
            return Pass::Slot;
        }
        let [pace, token_pace] = self.learned.opens_at(now);
        let minute = self.minute_opens_at(tokens, false);
        let waits = [minute, pace, token_pace, self.told_opens_at(now, tokens)];
        if let Some(at) = waits.into_iter().flatten().max() {
            return Pass::Until(at);
        }
        self.in_flight += 1;
        self.entries += 1;
        let number = self.entries;
        if self.limits.rpm.is_some() || self.limits.tpm.is_some() {
            self.sent.push_back(Entry { number, at: now, tokens, settled: false });
            self.tokens = self.tokens.saturating_add(tokens);
            self.unsettled = self.unsettled.saturating_add(tokens);
        }
        self.learned.send(now, tokens);
        for (known, count) in [(&mut self.requests_told, 1), (&mut self.tokens_told, tokens)] {
            if let Some(known) = known {
                known.take(count);
            }
        }
        Pass::Open(Entered { number, at: now, tokens })
    }

    /// Gives the slot back; `used` corrects the minute where the tokens used are known.
    #[expect(clippy::needless_pass_by_value, reason = "it can be given back only once")]
    pub fn leave(&mut self, entered: Entered, used: Option<u64>, now: Duration) {
        let Entered { number, at, tokens } = entered;
        self.in_flight = self.in_flight.saturating_sub(1);
        let used = used.unwrap_or(tokens);
        let unused = tokens.saturating_sub(used);
        self.learned.settle(now, at, unused);
        if let Some(known) = &mut self.tokens_told {
            known.give_back(at, unused);
        }
        let place = self.sent.binary_search_by_key(&number, |entry| entry.number);
        if let Some(entry) = place.ok().and_then(|at| self.sent.get_mut(at)) {
            self.unsettled = self.unsettled.saturating_sub(entry.tokens);
            self.tokens = self.tokens.saturating_sub(entry.tokens).saturating_add(used);
            (entry.tokens, entry.settled) = (used, true);
        }
    }

    /// The least time that must pass before `tokens` more can be sent, whatever is given back meanwhile; zero
    /// where that cannot be said.
    #[must_use]
    pub fn waits_for(&self, now: Duration, tokens: u64) -> Duration {
        let [pace, _] = self.learned.opens_at(now);
        let waits = [self.minute_opens_at(tokens, true), pace, self.told_opens_at(now, tokens)];
        let at = waits.into_iter().flatten().max();
        at.map_or(Duration::ZERO, |at| at.saturating_sub(now))
    }

    /// A provider has said what is left of its limits.
    pub fn told(&mut self, told: &Told, now: Duration) {
        if let Some(left) = &told.requests {
            self.requests_told = Known::of(left, now);
        }
        if let Some(left) = &told.tokens {
            self.tokens_told = Known::of(left, now);
        }
    }

    /// Whether less than a fifth is left of what its provider says there is, or of the minute as it is written.
    pub fn is_low(&mut self, now: Duration) -> bool {
        self.forget(now);
        let told = [self.requests_told, self.tokens_told];
        let low = told.into_iter().flatten().any(|known| known.is_low(now, LOW));
        let sent = self.sent.len() as u64;
        let few = |most: u64, used: u64| most.saturating_sub(used).saturating_mul(LOW) < most;
        low || self.limits.rpm.is_some_and(|most| few(u64::from(most), sent))
            || self.limits.tpm.is_some_and(|most| few(most, self.tokens))
    }

    /// A 429 has come for something that is still inside, and nothing is sent until `rests_until`.
    pub fn throttled(&mut self, now: Duration, entered: &Entered, rests_until: Duration) {
        self.learned.refuse(now, entered.at, self.in_flight, rests_until);
    }

    /// Most requests at once, as written and as learned.
    #[must_use]
    pub fn slots(&self, now: Duration) -> Option<u32> {
        [self.limits.concurrent, self.learned.concurrent(now)].into_iter().flatten().min()
    }

    /// Whether nothing but slots can hold anything up.
    #[must_use]
    pub fn is_unbounded(&self) -> bool {
        let told = self.requests_told.is_some() || self.tokens_told.is_some();
        let written = self.limits.rpm.is_some() || self.limits.tpm.is_some();
        !told && !written && self.learned.is_empty()
    }

    /// What is written.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Most requests and tokens a minute that 429s have taught.
    #[must_use]
    pub fn learned(&self, now: Duration) -> (Option<u64>, Option<u64>) {
        self.learned.rates(now)
    }

    /// Holds to other limits from now on; what was sent and what is in flight still counts. Without a limit a
    /// minute is not counted, so the first one to come starts an empty minute.
    pub fn relimit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The provider has become another: what it taught and told is forgotten.
    pub fn renew(&mut self) {
        self.learned.renew();
        (self.requests_told, self.tokens_told) = (None, None);
    }

    /// Slots taken.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn forget(&mut self, now: Duration) {
        while let Some(entry) = self.sent.front().copied().filter(|e| e.at + WINDOW <= now) {
            self.sent.pop_front();
            self.tokens = self.tokens.saturating_sub(entry.tokens);
            if !entry.settled {
                self.unsettled = self.unsettled.saturating_sub(entry.tokens);
            }
        }
    }

    /// When the sliding minute has room for one more of `tokens`; `None` where it has now. `at_best`: as though
    /// nothing in flight used anything.
    fn minute_opens_at(&self, tokens: u64, at_best: bool) -> Option<Duration> {
        let surplus =
            self.limits.rpm.map(|most| (self.sent.len() + 1).saturating_sub(most as usize));
        let requests = surplus.and_then(|leave| leave.checked_sub(1));
        let requests = requests.and_then(|last| self.sent.get(last).or(self.sent.back()));
        let counted = |entry: &Entry| if at_best && !entry.settled { 0 } else { entry.tokens };
        let taken = if at_best { self.tokens.saturating_sub(self.unsettled) } else { self.tokens };
        let mut over = self
            .limits
            .tpm
            .map_or(0, |most| taken.saturating_add(tokens).saturating_sub(most))
            .min(taken);
        let mut by_tokens = None;
        let mut entries = self.sent.iter();
        while over > 0 {
            let Some(entry) = entries.next() else { break };
            over = over.saturating_sub(counted(entry));
            by_tokens = Some(entry);
        }
        [requests, by_tokens].into_iter().flatten().map(|entry| entry.at + WINDOW).max()
    }

    fn told_opens_at(&self, now: Duration, tokens: u64) -> Option<Duration> {
        let requests = self.requests_told.and_then(|known| known.opens_at(now, 1));
        let tokens = self.tokens_told.and_then(|known| known.opens_at(now, tokens));
        requests.max(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[track_caller]
    fn open(gate: &mut Gate, now: u64, tokens: u64) -> Entered {
        match gate.enter(at(now), tokens) {
            Pass::Open(entered) => entered,
            other => panic!("{other:?} at {now} s"),
        }
    }

    #[test]
    fn a_full_minute_opens_when_its_oldest_entry_leaves_it() {
        let mut gate = Gate::new(Limits { rpm: Some(2), ..Limits::default() });
        open(&mut gate, 0, 1);
        open(&mut gate, 10, 1);
        assert_eq!(gate.enter(at(20), 1), Pass::Until(at(60)));
        open(&mut gate, 60, 1);
        assert_eq!(gate.enter(at(61), 1), Pass::Until(at(70)));
    }

    #[test]
    fn slots_are_given_back() {
        let mut gate = Gate::new(Limits { concurrent: Some(1), ..Limits::default() });
        let entered = open(&mut gate, 0, 1);
        assert_eq!(gate.enter(at(0), 1), Pass::Slot);
        gate.leave(entered, None, at(1));
        open(&mut gate, 1, 1);
    }

    #[test]
    fn a_prompt_larger_than_the_minute_passes_alone() {
        let mut gate = Gate::new(Limits { tpm: Some(100), ..Limits::default() });
        open(&mut gate, 0, 500);
        assert_eq!(gate.enter(at(1), 1), Pass::Until(at(60)));
        assert_eq!(gate.enter(at(1), 500), Pass::Until(at(60)));
        open(&mut gate, 60, 500);
    }

    #[test]
    fn what_was_reserved_is_corrected_by_what_was_used() {
        let mut gate = Gate::new(Limits { tpm: Some(1_000), ..Limits::default() });
        let first = open(&mut gate, 0, 900);
        assert_eq!(gate.enter(at(1), 200), Pass::Until(at(60)));
        gate.leave(first, Some(150), at(5));
        let second = open(&mut gate, 5, 850);
        assert_eq!(gate.enter(at(6), 1), Pass::Until(at(60)));
        gate.leave(second, Some(2_000), at(7));
        assert_eq!(gate.enter(at(61), 1), Pass::Until(at(65)), "more than was reserved counts too");
        let third = open(&mut gate, 65, 500);
        open(&mut gate, 90, 500);
        gate.leave(third, Some(0), at(140));
        assert_eq!(gate.enter(at(141), 600), Pass::Until(at(150)), "its minute is over already");
    }

    #[test]
    fn the_least_wait_reckons_with_what_may_be_given_back() {
        let mut gate = Gate::new(Limits { tpm: Some(1_000), rpm: Some(3), ..Limits::default() });
        let first = open(&mut gate, 0, 900);
        assert_eq!(gate.waits_for(at(1), 200), Duration::ZERO);
        gate.leave(first, Some(900), at(2));
        assert_eq!(gate.waits_for(at(2), 200), at(58));
        open(&mut gate, 3, 50);
        open(&mut gate, 4, 50);
        assert_eq!(gate.waits_for(at(10), 1), at(50), "requests are never given back");
    }

    #[test]
    fn narrower_limits_count_what_was_sent_before_them() {
        let mut gate = Gate::new(Limits { rpm: Some(9), ..Limits::default() });
        for second in 0..5 {
            open(&mut gate, second, 1);
        }
        gate.relimit(Limits { rpm: Some(2), ..Limits::default() });
        assert_eq!(gate.enter(at(10), 1), Pass::Until(at(63)));
    }

    #[test]
    fn what_the_provider_says_is_left_is_not_exceeded() {
        let mut gate = Gate::default();
        let requests = Some(Left { left: 1, limit: None, full_in: at(30) });
        gate.told(&Told { requests, tokens: None }, at(0));
        open(&mut gate, 1, 10);
        assert_eq!(gate.enter(at(2), 10), Pass::Until(at(30)));
        assert_eq!(gate.waits_for(at(2), 10), at(28));
        let tokens = Some(Left { left: 500, limit: None, full_in: at(30) });
        gate.told(&Told { requests: None, tokens }, at(30));
        let entered = open(&mut gate, 30, 400);
        assert_eq!(gate.enter(at(31), 200), Pass::Until(at(60)));
        gate.leave(entered, Some(100), at(32));
        open(&mut gate, 32, 200);
    }

    #[test]
    fn a_429_below_the_written_limits_narrows_the_gate() {
        let mut gate = Gate::new(Limits { concurrent: Some(100), ..Limits::default() });
        let out: Vec<Entered> = (0..40).map(|_| open(&mut gate, 0, 10)).collect();
        for entered in out {
            gate.throttled(at(1), &entered, at(5));
            gate.leave(entered, Some(0), at(1));
        }
        let sent = (0..100).take_while(|_| matches!(gate.enter(at(7), 10), Pass::Open(_))).count();
        assert_eq!((sent, gate.slots(at(7))), (20, Some(20)));
    }
}
