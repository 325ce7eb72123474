//! How many extra attempts a quota bears, all runs together.
//!
//! Every attempt beside one that may still win needs a permit of the quota it is sent to; one that follows a failure takes
//! a permit where there is one and is never refused. [`Bucket`] holds a quota's permits, [`Guard`] the share of extra
//! attempts of the whole server, [`Window`] what `max_extra` of `hedge: {after}` is a share of. Pure arithmetic: a
//! provider's door owns one bucket and one window, and tells the engine what there is ([`Stock`]).
//!
//! A refusal means "wait on", never "fail".

mod bucket;
mod guard;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use bucket::{Bucket, CAP, EARNED, FLOOR, RECOVERY, SUSPENDED, TRICKLE};
pub use guard::Guard;

use crate::domain::failure::{Failure, FailureClass};
use crate::domain::time::{Share, show};

/// What is looked back on (the format's documentation).
pub const WINDOW: Duration = Duration::from_secs(600);
/// Counts are kept per thirty seconds: the oldest of twenty is forgotten as a new one begins.
const BUCKET: Duration = Duration::from_secs(30);
const BUCKETS: usize = 20;
/// A server too small for its share to be one attempt may make this many all the same.
pub const LEAST: u32 = 1;

/// A whole permit. Permits are counted in millionths, so that what is earned and recovered adds up exactly.
pub const WHOLE: u64 = 1_000_000;
/// How long who was refused waits before asking again, where nobody can say when there will be a permit: others earn it.
pub const RECHECK: Duration = Duration::from_secs(1);

/// The evidence of who is turned away because there is no permit.
pub const NO_PERMIT: &str = "no permit";

/// Who asked for an extra attempt beyond the server's share is turned away with this. It closes nothing.
#[must_use]
pub fn beyond_share() -> Failure {
    let text = format!("not sent: {}", Shortage::Share);
    Failure::of_attempt(FailureClass::Budget, NO_PERMIT, text)
}

/// What an attempt is to the permits of the quota it is sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// The first of its step or item: it earns a part of one, here and wherever else its model is served.
    Earns,
    /// It neither earns nor takes one: it mends an answer.
    #[default]
    Nothing,
    /// It follows one that has failed or was given up: it takes a permit where there is one, and goes without.
    Takes,
    /// It is beside one that may still win: it needs one.
    Needs,
}

/// Why no extra attempt may be sent to a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortage {
    /// It has refused something lately, or is closed.
    Throttled,
    /// Others wait before its door, or every slot is taken.
    Line,
    /// Little is left of its limits, by its provider's word or as written: that is for first attempts.
    Low,
    /// No whole permit is there.
    Spent,
    /// The whole server has sent its share of extra attempts.
    Share,
}

/// What a quota has for extra attempts, as of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    /// Permits, in millionths of a [`WHOLE`] one.
    pub permits: u64,
    /// Why none may be used.
    pub shortage: Option<Shortage>,
    /// When it is worth asking again, where there is a shortage.
    pub wait: Duration,
}

/// Leave for an extra attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permit {
    /// Nobody counts here.
    Uncounted,
    /// One of so many millionths.
    One {
        /// What there was before it is taken.
        of: u64,
    },
}

impl Shortage {
    /// Whether it speaks of the quota's own state, not of how many permits there are.
    #[must_use]
    pub const fn is_pressure(self) -> bool {
        match self {
            Self::Throttled | Self::Line | Self::Low => true,
            Self::Spent | Self::Share => false,
        }
    }
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Throttled => "it was throttled within the last 10 s",
            Self::Line => "others wait before its limits",
            Self::Low => "less than a fifth of its limits is left",
            Self::Spent => "no whole permit is there",
            Self::Share => "the whole server has launched its share of extra attempts",
        })
    }
}

impl Stock {
    /// A stock with nothing against its use but its size.
    #[must_use]
    pub fn of(permits: u64) -> Self {
        let spent = permits < WHOLE;
        let wait = if spent { RECHECK } else { Duration::ZERO };
        Self { permits, shortage: spent.then_some(Shortage::Spent), wait }
    }

    /// The same, unless something else is short already.
    #[must_use]
    pub fn short_of(self, shortage: Shortage) -> Self {
        match self.shortage {
            Some(_) => self,
            None => Self { shortage: Some(shortage), wait: RECHECK, ..self },
        }
    }

    /// Leave for one extra attempt.
    ///
    /// # Errors
    /// Why there is none.
    pub const fn permit(&self) -> Result<Permit, Shortage> {
        match self.shortage {
            None => Ok(Permit::One { of: self.permits }),
            Some(shortage) => Err(shortage),
        }
    }

    /// What is left when an attempt with this claim has been sent.
    pub fn claim(&mut self, claim: Claim) {
        match claim {
            // What is earned is told with the next event: it is the door's to count.
            Claim::Earns | Claim::Nothing => {}
            Claim::Takes | Claim::Needs => self.permits = self.permits.saturating_sub(WHOLE),
        }
        if self.shortage.is_none_or(|shortage| shortage == Shortage::Spent) {
            *self = Self::of(self.permits);
        }
    }
}

impl std::fmt::Display for Stock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.shortage {
            None => write!(f, "{} permits", tenths(self.permits)),
            Some(shortage @ Shortage::Spent) => {
                write!(f, "{shortage}, but {}", tenths(self.permits))
            }
            Some(shortage @ Shortage::Throttled) => {
                write!(f, "{shortage}, for {} more", show(self.wait))
            }
            Some(shortage) => shortage.fmt(f),
        }
    }
}

impl std::fmt::Display for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uncounted => Ok(()),
            Self::One { of } => write!(f, "permit 1 of {}", tenths(*of)),
        }
    }
}

/// Permits with one decimal, never more than there are.
fn tenths(permits: u64) -> String {
    let tenths = permits / (WHOLE / 10);
    format!("{}.{}", tenths / 10, tenths % 10)
}

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
mod tests;
