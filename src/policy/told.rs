//! What a provider says of its own limits beside its replies: how much is left, and when all of it is back.
//!
//! A fact tightens the local gate and never widens it. It is believed for a minute at most: facts are read from
//! headers whose meaning differs from vendor to vendor, and a reply to a real request brings the next one.

use std::time::Duration;

use crate::domain::provider::Remaining;

/// Longest time a fact is believed.
pub const BELIEVED: Duration = Duration::from_secs(60);

/// One limit, as its provider counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// What is left of it.
    pub left: u64,
    /// The whole of it, where that was said.
    pub limit: Option<u64>,
    /// Time until the whole of it is there again. Zero says nothing.
    pub full_in: Duration,
}

/// What came with one reply, good or bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Requests.
    pub requests: Option<Left>,
    /// Tokens, prompt and answer together or whichever of the two is scarcer.
    pub tokens: Option<Left>,
}

impl From<&Remaining> for Told {
    /// Counts without a time to be whole again say nothing that could be held to.
    fn from(said: &Remaining) -> Self {
        let left = |left: Option<u64>, limit, reset: Option<Duration>| {
            Some(Left { left: left?, limit, full_in: reset? })
        };
        Self {
            requests: left(said.requests, said.requests_limit, said.requests_reset),
            tokens: left(said.tokens, said.tokens_limit, said.tokens_reset),
        }
    }
}

/// A fact and what was taken of it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    left: u64,
    /// What there will be at `until`.
    limit: Option<u64>,
    /// All there ever is.
    whole: Option<u64>,
    at: Duration,
    until: Duration,
    taken: u64,
}

impl Known {
    /// `None` where nothing was said.
    pub(super) fn of(told: &Left, now: Duration) -> Option<Self> {
        let believed = told.full_in.min(BELIEVED);
        let until = now.saturating_add(believed);
        // Believed for less than it takes to fill up, the limit is that much lower at the end.
        let limit = told.limit.filter(|limit| *limit > told.left).map(|limit| {
            let gained = u128::from(limit - told.left) * believed.as_micros();
            let gained = gained / told.full_in.as_micros().max(1);
            told.left.saturating_add(u64::try_from(gained).unwrap_or(u64::MAX))
        });
        (!believed.is_zero()).then_some(Self {
            left: told.left,
            limit,
            whole: told.limit,
            at: now,
            until,
            taken: 0,
        })
    }

    /// When `ask` more can be taken; `None` where it can be at `now`. What comes back comes evenly.
    pub(super) fn opens_at(&self, now: Duration, ask: u64) -> Option<Duration> {
        if now >= self.until {
            return None;
        }
        let need = self.taken.saturating_add(ask);
        if need <= self.left {
            return None;
        }
        let Some(limit) = self.limit.filter(|limit| *limit > self.left) else {
            return Some(self.until);
        };
        let span = self.until.saturating_sub(self.at).as_micros();
        let wait = span * u128::from(need - self.left) / u128::from(limit - self.left);
        let wait = u64::try_from(wait.saturating_add(1)).unwrap_or(u64::MAX);
        let at = self.at.saturating_add(Duration::from_micros(wait)).min(self.until);
        (at > now).then_some(at)
    }

    /// Whether less than one part in `parts` of the whole is left. What comes back comes evenly; without a whole that was
    /// said, as many as `parts` are little.
    pub(super) fn is_low(&self, now: Duration, parts: u64) -> bool {
        if now >= self.until {
            return false;
        }
        let gain = self.limit.map_or(0, |limit| limit.saturating_sub(self.left));
        let (passed, span) = (now.saturating_sub(self.at), self.until.saturating_sub(self.at));
        let back = u128::from(gain) * passed.as_micros() / span.as_micros().max(1);
        let back = u64::try_from(back).unwrap_or(u64::MAX);
        let left = self.left.saturating_add(back).saturating_sub(self.taken);
        left.saturating_mul(parts) < self.whole.unwrap_or(parts.saturating_mul(parts))
    }

    pub(super) fn take(&mut self, count: u64) {
        self.taken = self.taken.saturating_add(count);
    }

    /// What was sent at `at` took `unused` fewer.
    pub(super) fn give_back(&mut self, at: Duration, unused: u64) {
        if at >= self.at {
            self.taken = self.taken.saturating_sub(unused);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn known(left: u64, limit: Option<u64>, full_in: u64) -> Known {
        Known::of(&Left { left, limit, full_in: at(full_in) }, at(100)).unwrap()
    }

    #[test]
    fn what_is_left_may_be_taken_and_no_more_until_it_is_back() {
        let mut known = known(2, None, 30);
        assert_eq!(known.opens_at(at(100), 2), None);
        known.take(2);
        assert_eq!(known.opens_at(at(101), 1), Some(at(130)));
        assert_eq!(known.opens_at(at(130), 1), None);
    }

    #[test]
    fn what_is_known_to_come_back_evenly_is_counted_in() {
        let known = known(0, Some(60), 60);
        let opens = known.opens_at(at(100), 15).unwrap();
        assert!(opens > at(114) && opens < at(116), "{opens:?}");
        assert_eq!(known.opens_at(at(100), 1_000), Some(at(160)), "more than all of it");
    }

    #[test]
    fn nothing_is_believed_for_longer_than_a_minute() {
        let day = known(0, Some(86_400), 86_400);
        let opens = day.opens_at(at(100), 10).unwrap();
        assert!(opens > at(109) && opens < at(111), "{opens:?}");
        assert_eq!(known(0, None, 86_400).opens_at(at(100), 1), Some(at(160)));
    }

    #[test]
    fn a_reset_that_has_passed_says_nothing() {
        assert_eq!(Known::of(&Left { left: 0, limit: None, full_in: at(0) }, at(100)), None);
    }
}
