//! What a provider's 429s teach about its limits, where none are written or the written ones are too wide.
//!
//! Multiplicative decrease, by the share that was refused of all that was sent since the last lesson, and additive
//! increase. Where a third or more was refused, half of that share is taken off the requests that were out at once: a
//! provider that refuses everything is sent half. What got through in a minute becomes the pace, in requests and tokens.
//! Every five seconds after that a twentieth of what it was is allowed more; at eight times of it the lesson is forgotten.
//! Refusals that are rarer are luck, or another's doing: windows are enough for them, and less traffic would only keep
//! runs waiting. (The share as the measure of the decrease is that of DCTCP, RFC 8257 section 3.3. Measured at twice the
//! quota of 60 a minute and windows of one second: 134 refusals in ten minutes for 559 answers, against 135,300 for 595
//! without lessons; at 4 to 12 % of refusals that have nothing to do with load, no lesson is drawn.)
//!
//! A lesson is drawn when the window ends, because refusals come sooner than answers: at the first of them, everything
//! seems to be refused. Rates are kept as a pace and not as a sliding minute: after a short window a full minute behind
//! it must not hold up the next request for the rest of that minute.

use std::time::Duration;

/// Time between two steps of the recovery.
const STEP_EVERY: Duration = Duration::from_secs(5);
/// A step is this part of what was sent before the fall, and one at least.
const STEP_PART: u64 = 20;
/// A lesson is forgotten at so many times what was sent before the fall.
const FORGET: u64 = 8;
/// A pace may be run ahead of by this much.
const AHEAD: Duration = Duration::from_secs(2);
/// Fewer than one in so many refused teach nothing.
const RARE: u64 = 3;
/// Of fewer than so many sent, a share says little: they count towards the next lesson.
const ENOUGH: u64 = 20;
/// A rate is never taken over a shorter time than this: what a burst got through is no rate.
const SHORTEST_S: u64 = 10;
/// Requests a minute that no lesson goes below: one every five seconds. Below it, windows are enough.
pub const LEAST_RPM: u64 = 12;
const MINUTE: Duration = Duration::from_secs(60);
const SECONDS: usize = 60;

/// Something that fell at a time and recovers since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Estimate {
    /// Before the fall.
    seen: u64,
    /// After it.
    fallen: u64,
    /// From when on it recovers.
    from: Duration,
}

/// A rate in a minute that is kept by spacing.
#[derive(Clone, Copy, Debug)]
struct Pace {
    rate: Estimate,
    /// When everything sent so far is worked off.
    due: Duration,
}

/// Requests and tokens of each of the last sixty seconds.
#[derive(Clone, Debug)]
pub struct Recent {
    seconds: [(u32, u64); SECONDS],
    latest: u64,
}

/// What was learned of one provider. Times count from the server's start and never go back.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    /// What was sent and not refused.
    passed: Recent,
    /// Sent and refused since the last lesson.
    sent: u64,
    refused: u64,
    due: Option<Lesson>,
    concurrent: Option<Estimate>,
    requests: Option<Pace>,
    tokens: Option<Pace>,
}

/// One that is to be drawn.
#[derive(Clone, Copy, Debug)]
struct Lesson {
    /// When.
    at: Duration,
    /// Most requests that were out at once when one was refused.
    in_flight: u32,
}

impl Estimate {
    /// What is allowed at `now`; `None` once it is forgotten.
    fn at(&self, now: Duration) -> Option<u64> {
        let steps = now.saturating_sub(self.from).as_secs() / STEP_EVERY.as_secs();
        let step = (self.seen / STEP_PART).max(1);
        let allowed = self.fallen.saturating_add(steps.saturating_mul(step));
        (allowed < self.seen.saturating_mul(FORGET)).then_some(allowed)
    }
}

impl Pace {
    fn span(rate: u64, count: u64) -> Duration {
        let micros = MINUTE.as_micros() * u128::from(count) / u128::from(rate.max(1));
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// When the next one may follow; `None` where it may now.
    fn opens_at(&self, now: Duration) -> Option<Duration> {
        self.rate.at(now)?;
        self.due.checked_sub(AHEAD).filter(|at| *at > now)
    }

    fn spend(&mut self, now: Duration, count: u64) {
        if let Some(rate) = self.rate.at(now) {
            self.due = self.due.max(now).saturating_add(Self::span(rate, count));
        }
    }

    fn give_back(&mut self, now: Duration, count: u64) {
        if let Some(rate) = self.rate.at(now) {
            self.due = self.due.saturating_sub(Self::span(rate, count));
        }
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self { seconds: [(0, 0); SECONDS], latest: 0 }
    }
}

impl Recent {
    fn place(second: u64) -> usize {
        usize::try_from(second % SECONDS as u64).unwrap_or(0)
    }

    fn forget(&mut self, now: Duration) {
        let second = now.as_secs();
        let passed = second.saturating_sub(self.latest).min(SECONDS as u64);
        for older in 0..passed {
            self.seconds[Self::place(second - older)] = (0, 0);
        }
        self.latest = self.latest.max(second);
    }

    /// Counts one request of so many tokens.
    pub fn count(&mut self, now: Duration, tokens: u64) {
        self.forget(now);
        let (requests, all) = &mut self.seconds[Self::place(self.latest)];
        *requests = requests.saturating_add(1);
        *all = all.saturating_add(tokens);
    }

    /// Of what was counted at `at` so many requests and tokens do not count.
    pub fn give_back(&mut self, now: Duration, at: Duration, requests: u32, tokens: u64) {
        self.forget(now);
        if at.as_secs() + SECONDS as u64 > self.latest {
            let of = &mut self.seconds[Self::place(at.as_secs())];
            *of = (of.0.saturating_sub(requests), of.1.saturating_sub(tokens));
        }
    }

    /// Requests and tokens of the last sixty seconds.
    pub fn sum(&mut self, now: Duration) -> (u64, u64) {
        self.forget(now);
        let add = |(r, t), (requests, tokens): &(u32, u64)| (r + u64::from(*requests), t + tokens);
        self.seconds.iter().fold((0, 0), add)
    }

    /// How many seconds ago the oldest of them was.
    fn span(&mut self, now: Duration) -> u64 {
        self.forget(now);
        let used = |older: &u64| {
            self.latest
                .checked_sub(*older)
                .is_some_and(|second| self.seconds[Self::place(second)].0 > 0)
        };
        (0..SECONDS as u64).rev().find(used).map_or(0, |older| older + 1)
    }
}

impl Learned {
    /// Something is sent.
    pub fn send(&mut self, now: Duration, tokens: u64) {
        self.sent += 1;
        self.passed.count(now, tokens);
        for (pace, count) in [(&mut self.requests, 1), (&mut self.tokens, tokens)] {
            if let Some(pace) = pace {
                pace.spend(now, count);
            }
        }
    }

    /// What was sent at `at` took `unused` tokens fewer than was thought.
    pub fn settle(&mut self, now: Duration, at: Duration, unused: u64) {
        self.passed.give_back(now, at, 0, unused);
        if let Some(pace) = &mut self.tokens {
            pace.give_back(now, unused);
        }
    }

    /// A 429 has come for something sent at `at`, with `in_flight` requests out, itself included, and a window until
    /// `rests_until`.
    pub fn refuse(&mut self, now: Duration, at: Duration, in_flight: u32, rests_until: Duration) {
        self.refused += 1;
        self.passed.give_back(now, at, 1, 0);
        let lesson = self.due.get_or_insert(Lesson { at: now, in_flight });
        lesson.at = lesson.at.max(rests_until);
        lesson.in_flight = lesson.in_flight.max(in_flight);
    }

    /// Draws the lesson that is due. To be asked before something is sent.
    pub fn learn(&mut self, now: Duration) {
        let Some(lesson) = self.due.filter(|lesson| lesson.at <= now) else { return };
        self.due = None;
        let (refused, sent) = (self.refused, self.sent.max(self.refused));
        if sent < ENOUGH {
            return;
        }
        (self.refused, self.sent) = (0, 0);
        if refused * RARE < sent {
            return;
        }
        // A half of the share that was refused.
        let less = |of: u64| {
            let off = u128::from(of) * u128::from(refused) / (2 * u128::from(sent));
            of - u64::try_from(off).unwrap_or(of)
        };
        let known = self.concurrent.and_then(|e| e.at(now)).unwrap_or(u64::MAX);
        let seen = known.min(u64::from(lesson.in_flight));
        if seen >= 2 {
            let fallen = less(seen).max(1);
            self.concurrent = Some(Estimate { seen, fallen, from: now });
        }
        self.slow_down(now);
    }

    fn slow_down(&mut self, now: Duration) {
        let (requests, tokens) = self.passed.sum(now);
        let span = self.passed.span(now).max(SHORTEST_S);
        let known =
            |pace: &Option<Pace>| pace.and_then(|pace| pace.rate.at(now)).unwrap_or(u64::MAX);
        let seen = known(&self.requests).min(requests * 60 / span);
        let tokens = known(&self.tokens).min(tokens.saturating_mul(60) / span);
        if seen <= LEAST_RPM {
            return;
        }
        let pace = |seen| Some(Pace { rate: Estimate { seen, fallen: seen, from: now }, due: now });
        self.requests = pace(seen);
        self.tokens = pace(tokens.max(1));
    }

    /// Most requests at once.
    #[must_use]
    pub fn concurrent(&self, now: Duration) -> Option<u32> {
        let most = self.concurrent?.at(now)?;
        Some(u32::try_from(most).unwrap_or(u32::MAX).max(1))
    }

    /// Most requests and tokens a minute.
    #[must_use]
    pub fn rates(&self, now: Duration) -> (Option<u64>, Option<u64>) {
        let rate = |pace: &Option<Pace>| pace.and_then(|pace| pace.rate.at(now));
        (rate(&self.requests), rate(&self.tokens))
    }

    /// When the pace lets the next one through; `None` where it does now. The first alone cannot change but by time
    /// passing: tokens may be given back.
    #[must_use]
    pub fn opens_at(&self, now: Duration) -> [Option<Duration>; 2] {
        [self.requests, self.tokens].map(|pace| pace.and_then(|pace| pace.opens_at(now)))
    }

    /// Whether there was no lesson yet about a rate.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_none() && self.tokens.is_none()
    }

    /// Forgets everything.
    pub fn renew(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests;
