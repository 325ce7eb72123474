//! Permits in virtual time, hundreds of runs before the same doors.

use std::collections::BTreeMap;

use super::gates::played;
use super::*;
use crate::domain::failure::FailureClass;
use crate::domain::provider::Limits;
use crate::policy::permit::{Claim, EARNED, FLOOR, SUSPENDED, TRICKLE, WHOLE};

/// What one provider has seen, in the world's time.
#[derive(Default)]
struct Seen {
    extra: Vec<Duration>,
    refused: Vec<Duration>,
    earned: Vec<Duration>,
}

/// Played by 200 runs and more at once.
fn seen(regime: &str, runs: u64, apart: Duration) -> BTreeMap<String, Seen> {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for (ended, arrived) in played(regime, Limits::default(), runs, apart) {
        let plan = &ended.run.workflow().plan;
        for attempt in ended.run.machine().attempts() {
            let time = |at: Timestamp| arrived + at.since_start();
            let of = plan.provider_of(attempt.spec.path).name.clone();
            match attempt.spec.claim {
                Claim::Needs if attempt.sent.is_some() => {
                    seen.entry(of.clone()).or_default().extra.extend(attempt.sent.map(time));
                }
                Claim::Earns => {
                    for path in &plan.model(attempt.model).paths {
                        let name = plan.provider_of(*path).name.clone();
                        seen.entry(name).or_default().earned.push(time(attempt.launched));
                    }
                }
                Claim::Nothing | Claim::Takes | Claim::Needs => {}
            }
            let failed = attempt.failure.filter(|_| attempt.sent.is_some());
            if failed.is_some_and(|f| f.class == FailureClass::RateLimited) {
                let ended = attempt.ended.map(|(at, _)| time(at));
                seen.entry(of).or_default().refused.extend(ended);
            }
        }
    }
    seen
}

#[test]
fn two_hundred_runs_launch_no_hedge_into_a_throttled_quota() {
    let (mut extra, mut refused) = (0, 0);
    for (regime, apart) in [("busy", 200), ("brownout", 200), ("brownout", 2_000)] {
        for (name, seen) in seen(regime, 200, Duration::from_millis(apart)) {
            extra += seen.extra.len();
            refused += seen.refused.len();
            for at in &seen.extra {
                let lately = seen.refused.iter().find(|r| **r < *at && **r + SUSPENDED > *at);
                assert_eq!(lately, None, "{regime} {name}: an extra attempt at {at:?}");
            }
        }
    }
    assert!(extra > 40 && refused > 50, "{extra} extra attempts, {refused} refusals");
}

#[test]
fn no_quota_is_sent_more_extra_attempts_than_it_has_permits() {
    let mut all = 0;
    for regime in ["pooled", "brownout", "down"] {
        for (name, mut seen) in seen(regime, 300, Duration::from_millis(300)) {
            seen.extra.sort_unstable();
            for (count, at) in (1_u64..).zip(&seen.extra) {
                let earned = seen.earned.iter().filter(|earned| *earned <= at).count() as u64;
                let trickled = u128::from(WHOLE) * at.as_micros() / TRICKLE.as_micros();
                let most = u128::from(FLOOR + earned * EARNED) + trickled;
                assert!(u128::from(count * WHOLE) <= most, "{regime} {name}: {count} at {at:?}");
                all += 1;
            }
        }
    }
    assert!(all > 100, "{all} extra attempts");
}
