//! How many extra attempts a quota bears: a share of its primary attempts over ten minutes, all runs together.
//!
//! Pure arithmetic; the driver and the virtual world own one [`Window`] per provider and tell the engine what it holds.
//! A refusal means "wait on", never "fail". Only hedges before their cutoff draw on it so far.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::time::Share;

/// What is looked back on (the format's documentation).
pub const WINDOW: Duration = Duration::from_secs(600);
/// Counts are kept per thirty seconds: the oldest of twenty is forgotten as a new one begins.
const BUCKET: Duration = Duration::from_secs(30);
const BUCKETS: usize = 20;
/// A server too small for its share to be one attempt may make this many all the same.
pub const LEAST: u32 = 1;

/// Attempts of one quota within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// First attempts of steps and items.
    pub primaries: u32,
    /// Attempts launched beside one that may still win.
    pub extras: u32,
}

/// What an attempt counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first of its step or item.
    Primary,
    /// One beside another, of the quota of that other.
    Extra,
}

/// The last ten minutes of one quota.
#[derive(Clone, Debug, Default)]
pub struct Window {
    buckets: [Traffic; BUCKETS],
    /// The number of the latest bucket, counted from the start of time.
    latest: u64,
}

impl Traffic {
    /// Counts an attempt.
    pub fn count(&mut self, kind: Kind) {
        let count = match kind {
            Kind::Primary => &mut self.primaries,
            Kind::Extra => &mut self.extras,
        };
        *count = count.saturating_add(1);
    }

    /// Most extra attempts within the window.
    #[must_use]
    pub fn most(self, share: Share) -> u32 {
        share.of_count_down(self.primaries).max(LEAST)
    }

    /// Whether one extra attempt more is within `share`.
    #[must_use]
    pub fn permits(self, share: Share) -> bool {
        self.extras < self.most(share)
    }
}

impl Window {
    /// Counts an attempt. Times never go back; one that does counts as the latest.
    pub fn count(&mut self, kind: Kind, now: Duration) {
        self.forget(now);
        self.buckets[place(self.latest)].count(kind);
    }

    /// What was counted in the ten minutes before `now`.
    pub fn traffic(&mut self, now: Duration) -> Traffic {
        self.forget(now);
        self.buckets.iter().fold(Traffic::default(), |sum, one| Traffic {
            primaries: sum.primaries.saturating_add(one.primaries),
            extras: sum.extras.saturating_add(one.extras),
        })
    }

    fn forget(&mut self, now: Duration) {
        let bucket = now.as_secs() / BUCKET.as_secs();
        let passed = bucket.saturating_sub(self.latest).min(BUCKETS as u64);
        for older in 0..passed {
            self.buckets[place(bucket - older)] = Traffic::default();
        }
        self.latest = self.latest.max(bucket);
    }
}

fn place(bucket: u64) -> usize {
    usize::try_from(bucket % BUCKETS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_share_of_the_primaries_may_be_extra_and_one_at_least() {
        let ten = Share::percent(10).unwrap();
        let most = |primaries| Traffic { primaries, extras: 0 }.most(ten);
        assert_eq!([0, 1, 19, 20, 39, 200].map(most), [1, 1, 1, 2, 3, 20]);
        assert!(Traffic { primaries: 20, extras: 1 }.permits(ten));
        assert!(!Traffic { primaries: 20, extras: 2 }.permits(ten));
        assert!(!Traffic { primaries: 0, extras: 1 }.permits(ten));
    }

    #[test]
    fn ten_minutes_are_counted_and_what_is_older_is_forgotten() {
        let mut window = Window::default();
        window.count(Kind::Primary, seconds(10));
        window.count(Kind::Primary, seconds(300));
        window.count(Kind::Extra, seconds(301));
        assert_eq!(window.traffic(seconds(599)), Traffic { primaries: 2, extras: 1 });
        assert_eq!(window.traffic(seconds(610)), Traffic { primaries: 1, extras: 1 });
        assert_eq!(window.traffic(seconds(905)), Traffic::default());
        window.count(Kind::Primary, seconds(1_000_000));
        assert_eq!(window.traffic(seconds(1_000_000)), Traffic { primaries: 1, extras: 0 });
    }

    #[test]
    fn a_time_that_goes_back_counts_as_the_latest() {
        let mut window = Window::default();
        window.count(Kind::Primary, seconds(700));
        window.count(Kind::Extra, seconds(20));
        assert_eq!(window.traffic(seconds(700)), Traffic { primaries: 1, extras: 1 });
    }
}
