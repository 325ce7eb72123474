//! What a provider's 429s teach about its limits, where none are written or the written ones are too wide.
//!
//! Additive increase, multiplicative decrease: a 429 halves the requests that were out at once, and the requests and
//! tokens a minute that were answered; every ten seconds after that a twentieth of what it was is allowed more, and at
//! twice of it the lesson is forgotten. Rates are those of answers and not of what was sent: a burst that is throttled as
//! a whole says nothing about the rate that would have passed. They are kept as a pace and not as a sliding minute:
//! after a short window a full minute behind it must not hold up the next request for the rest of that minute.

use std::time::Duration;

/// Time between two steps of the recovery.
const STEP_EVERY: Duration = Duration::from_secs(10);
/// A step is this part of what was sent before the fall, and one at least.
const STEP_PART: u64 = 20;
/// A lesson is forgotten at so many times what was sent before the fall.
const FORGET: u64 = 2;
/// A pace may be run ahead of by this much.
const AHEAD: Duration = Duration::from_secs(2);
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
    recent: Recent,
    concurrent: Option<Estimate>,
    requests: Option<Pace>,
    tokens: Option<Pace>,
    fell_at: Option<Duration>,
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

    /// What was counted at `at` took `unused` tokens fewer.
    pub fn give_back(&mut self, now: Duration, at: Duration, unused: u64) {
        self.forget(now);
        if at.as_secs() + SECONDS as u64 > self.latest {
            let (_, tokens) = &mut self.seconds[Self::place(at.as_secs())];
            *tokens = tokens.saturating_sub(unused);
        }
    }

    /// Requests and tokens of the last so many seconds, this one included; at most 60.
    pub fn sum(&mut self, now: Duration, seconds: u64) -> (u64, u64) {
        self.forget(now);
        let of = (0..seconds.min(SECONDS as u64)).filter_map(|older| self.latest.checked_sub(older));
        of.map(|second| self.seconds[Self::place(second)])
            .fold((0, 0), |(r, t), (requests, tokens)| (r + u64::from(requests), t + tokens))
    }
}

impl Learned {
    /// Something was answered, having used so many tokens.
    pub fn answered(&mut self, now: Duration, tokens: u64) {
        self.recent.count(now, tokens);
    }

    /// Something is sent.
    pub fn sent(&mut self, now: Duration, tokens: u64) {
        for (pace, count) in [(&mut self.requests, 1), (&mut self.tokens, tokens)] {
            if let Some(pace) = pace {
                pace.spend(now, count);
            }
        }
    }

    /// What was sent took `unused` tokens fewer than was thought.
    pub fn settled(&mut self, now: Duration, unused: u64) {
        if let Some(pace) = &mut self.tokens {
            pace.give_back(now, unused);
        }
    }

    /// A 429 has come for something sent at `sent`, with `in_flight` requests out, itself included, and a window until
    /// `rests_until`. What was sent before the last fall teaches nothing new: one burst is one lesson. Whether
    /// something was learned.
    pub fn fall(
        &mut self,
        now: Duration,
        sent: Duration,
        in_flight: u32,
        rests_until: Duration,
    ) -> bool {
        if self.fell_at.is_some_and(|at| sent <= at) {
            return false;
        }
        self.fell_at = Some(now);
        let from = rests_until.max(now);
        let slots = u64::from(in_flight);
        let slots = self.concurrent.and_then(|e| e.at(now)).map_or(slots, |known| known.min(slots));
        if slots >= 2 {
            self.concurrent = Some(Estimate { seen: slots, fallen: slots / 2, from });
        }
        let learned = self.slow_down(now, from);
        learned || slots >= 2
    }

    fn slow_down(&mut self, now: Duration, from: Duration) -> bool {
        let (minute, minute_tokens) = self.recent.sum(now, 60);
        let (lately, lately_tokens) = self.recent.sum(now, 10);
        let known = |pace: &Option<Pace>| pace.and_then(|pace| pace.rate.at(now));
        let seen = known(&self.requests).unwrap_or(u64::MAX).min(minute.max(lately * 6));
        let tokens = minute_tokens.max(lately_tokens.saturating_mul(6));
        let tokens = known(&self.tokens).unwrap_or(u64::MAX).min(tokens);
        if seen <= LEAST_RPM {
            return false;
        }
        let fallen = (seen / 2).max(LEAST_RPM);
        self.requests =
            Some(Pace { rate: Estimate { seen, fallen, from }, due: from });
        // In the same measure, whichever of the two it was.
        let part = u128::from(tokens) * u128::from(fallen) / u128::from(seen);
        let part = u64::try_from(part).unwrap_or(u64::MAX).max(1);
        self.tokens =
            Some(Pace { rate: Estimate { seen: tokens.max(1), fallen: part, from }, due: from });
        true
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

    /// Forgets every lesson; what was counted still counts.
    pub fn renew(&mut self) {
        *self = Self { recent: self.recent.clone(), ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn busy(requests: u32) -> Learned {
        let mut learned = Learned::default();
        for _ in 0..requests {
            learned.answered(at(30), 100);
        }
        learned
    }

    #[test]
    fn a_429_halves_what_was_being_sent() {
        let mut learned = busy(60);
        assert!(learned.fall(at(59), at(30), 8, at(59)));
        assert_eq!(learned.concurrent(at(59)), Some(4));
        assert_eq!(learned.rates(at(59)), (Some(30), Some(3_000)));
    }

    #[test]
    fn one_burst_is_one_lesson_however_many_of_it_fail() {
        let mut learned = busy(64);
        for failed in 0..64 {
            assert_eq!(learned.fall(at(31), at(30), 64 - failed, at(33)), failed == 0);
        }
        assert_eq!(learned.concurrent(at(31)), Some(32));
        learned.sent(at(40), 100);
        assert!(learned.fall(at(41), at(40), 32, at(41)), "the next one is another");
        assert_eq!(learned.concurrent(at(41)), Some(16));
    }

    #[test]
    fn it_recovers_in_steps_from_the_end_of_the_window_on_and_is_forgotten() {
        let mut learned = busy(0);
        learned.fall(at(0), at(0), 100, at(30));
        assert_eq!([0, 30, 39, 40, 130].map(|t| learned.concurrent(at(t))), {
            [Some(50), Some(50), Some(50), Some(55), Some(100)]
        });
        assert_eq!(learned.concurrent(at(319)), Some(190));
        assert_eq!(learned.concurrent(at(330)), None, "at twice of what it was");
    }

    #[test]
    fn a_burst_that_is_throttled_as_a_whole_says_nothing_about_rates() {
        let mut learned = Learned::default();
        (0..200).for_each(|_| learned.sent(at(0), 100));
        assert!(learned.fall(at(1), at(0), 200, at(5)));
        assert_eq!((learned.concurrent(at(5)), learned.rates(at(5))), (Some(100), (None, None)));
    }

    #[test]
    fn a_lone_request_that_is_throttled_teaches_nothing() {
        let mut learned = busy(1);
        assert!(!learned.fall(at(31), at(30), 1, at(32)));
        assert_eq!((learned.concurrent(at(31)), learned.rates(at(31))), (None, (None, None)));
    }

    #[test]
    fn a_pace_spaces_requests_and_lets_a_few_run_ahead() {
        let mut learned = busy(60);
        // The last ten seconds were busier than the minute: 360 a minute, so 180 after the fall, three a second.
        learned.fall(at(31), at(30), 1, at(31));
        assert_eq!(learned.rates(at(31)).0, Some(180));
        let mut passed = 0;
        while learned.opens_at(at(31)).iter().all(Option::is_none) {
            learned.sent(at(31), 1);
            passed += 1;
            assert!(passed < 100);
        }
        assert_eq!(passed, 7, "two seconds of it, and the one that goes beyond");
        let next = learned.opens_at(at(31))[0].unwrap();
        assert!(next > at(31) && next < at(32), "{next:?}");
    }

    #[test]
    fn tokens_that_were_not_used_are_given_back() {
        let mut learned = busy(60);
        learned.fall(at(59), at(30), 1, at(59));
        learned.sent(at(60), 6_000);
        assert!(learned.opens_at(at(60))[1].is_some());
        learned.settled(at(61), 5_950);
        assert!(learned.opens_at(at(61))[1].is_none());
    }

    #[test]
    fn seconds_that_have_passed_are_not_counted() {
        let mut recent = Recent::default();
        recent.count(at(0), 10);
        recent.count(at(59), 20);
        assert_eq!(recent.sum(at(59), 60), (2, 30));
        assert_eq!(recent.sum(at(59), 10), (1, 20));
        assert_eq!(recent.sum(at(60), 60), (1, 20));
        recent.give_back(at(60), at(59), 15);
        assert_eq!(recent.sum(at(60), 60), (1, 5));
        assert_eq!(recent.sum(at(1_000_000), 60), (0, 0));
        recent.give_back(at(1_000_000), at(59), 5);
    }
}
