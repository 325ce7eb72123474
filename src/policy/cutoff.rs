//! When a step stops relying on an attempt.
//!
//! A cutoff never kills: it is the moment at which the next attempt is launched. Attempt clocks start when
//! the request was sent. While nothing is measured, `auto` cuts on two signals only: no first token, and a
//! stall; neither later than the step's share of the time left. What is measured is spent by [`measured`].

pub mod measured;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::id::StepIx;
use crate::domain::plan::{Cutoff, Plan, Work};
use crate::domain::time::Timestamp;
use measured::{Bases, Basis};

/// `auto`, below 20 samples: the longest wait for a first token (the format's documentation).
pub const COLD_FIRST_TOKEN: Duration = Duration::from_secs(10);
/// `auto`, below 20 samples: the longest pause between tokens (the format's documentation).
pub const COLD_STALL: Duration = Duration::from_secs(8);

/// The limits of one attempt; `None` does not cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// From sending to the first token.
    pub first_token: Option<Duration>,
    /// From one token to the next.
    pub idle: Option<Duration>,
    /// From sending to the complete answer.
    pub total: Option<Duration>,
    /// Whether they follow from a rule, or were written.
    pub automatic: bool,
    /// What they were made of, where that was measured.
    pub measured: Option<Bases>,
}

/// What an attempt failed to do in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// No first token: stuck, not slow.
    NoFirstToken,
    /// Tokens came, and stopped.
    Stalled,
    /// Tokens flow, but the answer is not complete, or will not be in time.
    TooSlow,
    /// The same, because they come at less than two thirds of the path's usual rate.
    Sluggish,
}

impl std::fmt::Display for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoFirstToken => "no first token",
            Self::Stalled => "no further token",
            Self::TooSlow => "no complete answer",
            Self::Sluggish => "a slow stream",
        })
    }
}

/// What has been seen of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When its request was sent.
    pub sent: Timestamp,
    /// When its first token came.
    pub first_token: Option<Timestamp>,
    /// When its latest token came.
    pub latest_token: Option<Timestamp>,
}

/// The limits that `cutoff` means for an attempt of a step whose share of the time left is `share`.
#[must_use]
pub fn decide(cutoff: Cutoff, share: Duration) -> Limits {
    match cutoff {
        Cutoff::Auto => Limits {
            first_token: Some(COLD_FIRST_TOKEN.min(share)),
            idle: Some(COLD_STALL.min(share)),
            total: None,
            automatic: true,
            measured: None,
        },
        Cutoff::Fixed { first_token, idle, total } => {
            Limits { first_token, idle, total, automatic: false, measured: None }
        }
    }
}

impl Limits {
    /// The earliest moment at which an attempt is cut unless something more is seen of it, and why.
    #[must_use]
    pub fn due(&self, seen: &Seen) -> Option<(Timestamp, Signal)> {
        let start = match seen.latest_token.or(seen.first_token) {
            None => self.first_token.map(|limit| (seen.sent + limit, Signal::NoFirstToken)),
            Some(latest) => self.idle.map(|limit| (latest + limit, Signal::Stalled)),
        };
        let total = self.total.map(|limit| {
            let flowing = seen.first_token.is_some();
            let signal = if flowing { Signal::TooSlow } else { Signal::NoFirstToken };
            (seen.sent + limit, signal)
        });
        [start, total].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// The time that `signal` takes; `None` where it does not cut.
    #[must_use]
    pub fn of(&self, signal: Signal) -> Option<Duration> {
        match signal {
            Signal::NoFirstToken => [self.first_token, self.total].into_iter().flatten().min(),
            Signal::Stalled => self.idle,
            Signal::TooSlow | Signal::Sluggish => self.total,
        }
    }

    /// What the measured cutoff was made of that has led to `signal`.
    #[must_use]
    pub fn basis(&self, signal: Signal) -> Option<Basis> {
        let Bases { first_token, idle, total } = self.measured?;
        Some(match signal {
            Signal::NoFirstToken if first_token.after <= total.after => first_token,
            Signal::Stalled => idle,
            Signal::NoFirstToken | Signal::TooSlow | Signal::Sluggish => total,
        })
    }
}

/// How each step's answer bound relates to the heaviest chain that starts with it.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Per step: its own weight, and that of the heaviest chain from it to a sink.
    weights: Vec<(u64, u64)>,
}

impl Shares {
    /// Weighs every step by `max_tokens`, a fan-out by the waves it needs at most once its size is known.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let own = |step: StepIx| match &plan.step(step).work {
            Work::Model { max_tokens, .. } => u64::from(*max_tokens).max(1),
            Work::Value => 0,
        };
        let mut weights: Vec<(u64, u64)> = plan.step_ixs().map(|s| (own(s), own(s))).collect();
        // A judge may stand behind the consumers of what it judges, so one pass backwards need not do; no chain
        // is longer than the plan.
        for _ in 0..plan.steps.len() {
            let mut settled = true;
            for (before, after) in Self::edges(plan) {
                let longer = weights[before.at()].0 + weights[after.at()].1;
                if longer > weights[before.at()].1 {
                    weights[before.at()].1 = longer;
                    settled = false;
                }
            }
            if settled {
                break;
            }
        }
        Self { weights }
    }

    /// Which step waits for which, last steps first. Consumers of a judged step wait for its judge.
    pub(crate) fn edges(plan: &Plan) -> impl Iterator<Item = (StepIx, StepIx)> {
        plan.step_ixs().rev().flat_map(move |step| {
            plan.step(step).needs.iter().map(move |need| {
                let judge = plan.step(need.step).judged_by.filter(|judge| *judge != step);
                (judge.unwrap_or(need.step), step)
            })
        })
    }

    /// The weight of the heaviest chain from `step` to a sink, itself included, in tokens of answers' bounds.
    #[must_use]
    pub fn chain(&self, step: StepIx) -> u64 {
        self.weights[step.at()].1
    }

    /// The part of `left` that belongs to one attempt of `step`, whose items run in `waves`.
    #[must_use]
    pub fn share(&self, step: StepIx, left: Duration, waves: u32) -> Duration {
        let (own, chain) = self.weights[step.at()];
        if chain == 0 {
            return left;
        }
        let micros =
            left.as_micros() * u128::from(own) / u128::from(chain) / u128::from(waves.max(1));
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(sent: u64, first: Option<u64>, latest: Option<u64>) -> Seen {
        Seen {
            sent: Timestamp::from_millis(sent),
            first_token: first.map(Timestamp::from_millis),
            latest_token: latest.map(Timestamp::from_millis),
        }
    }

    #[test]
    fn auto_cuts_on_first_token_and_stall_but_never_past_the_share() {
        let roomy = decide(Cutoff::Auto, Duration::from_secs(40));
        assert_eq!(
            roomy.due(&seen(500, None, None)),
            Some((Timestamp::from_millis(10_500), Signal::NoFirstToken))
        );
        assert_eq!(
            roomy.due(&seen(500, Some(2_000), Some(9_000))),
            Some((Timestamp::from_millis(17_000), Signal::Stalled))
        );
        let tight = decide(Cutoff::Auto, Duration::from_secs(3));
        assert_eq!(
            tight.due(&seen(0, None, None)).map(|d| d.0),
            Some(Timestamp::from_millis(3_000))
        );
    }

    #[test]
    fn a_fixed_total_names_what_was_missing() {
        let total = Duration::from_secs(5);
        let limits = decide(
            Cutoff::Fixed { first_token: None, idle: None, total: Some(total) },
            Duration::from_secs(1),
        );
        assert_eq!(
            limits.due(&seen(0, None, None)),
            Some((Timestamp::from_millis(5_000), Signal::NoFirstToken))
        );
        assert_eq!(
            limits.due(&seen(0, Some(10), Some(4_999))),
            Some((Timestamp::from_millis(5_000), Signal::TooSlow))
        );
    }
}
