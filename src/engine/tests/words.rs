//! Every reason in words, as traces and timelines show it.

use std::time::Duration;

use super::draft::Draft;
use crate::domain::failure::FailureClass;
use crate::domain::id::PathIx;
use crate::domain::money::Usd;
use crate::domain::outcome::Status;
use crate::domain::plan::Hedge;
use crate::domain::time::{Share, Timestamp};
use crate::engine::decision::timing::{Alone, By, Late, Timing};
use crate::engine::decision::worth::Worth;
use crate::engine::decision::{Away, Decision, Kind, Passed, Reason, Words};
use crate::policy::cutoff::Signal;
use crate::policy::cutoff::measured::{Basis, Bound, Misses, Projection};
use crate::policy::fallback::Trouble;
use crate::policy::gate::Refusal;
use crate::policy::permit::{CAP, Permit, Shortage, Stock, Traffic};

const A: PathIx = PathIx(0);
const B: PathIx = PathIx(1);

/// A reason's place in the table, so that a new one cannot be left out of it.
fn place(reason: &Reason) -> usize {
    match reason {
        Reason::Ready => 0,
        Reason::Complete => 1,
        Reason::ConditionFalse => 2,
        Reason::NothingToJudge => 3,
        Reason::First { .. } => 4,
        Reason::Late { .. } => 5,
        Reason::Follows { .. } => 6,
        Reason::SentBack { .. } => 7,
        Reason::RaceFull { .. } => 8,
        Reason::AttemptsUsed { .. } => 9,
        Reason::SwapsUsed { .. } => 10,
        Reason::NoPath => 11,
        Reason::NoPermit { .. } => 29,
        Reason::Unmeasured { .. } => 30,
        Reason::ByPolicy { .. } => 12,
        Reason::Budget(_) => 13,
        Reason::FirstValid { .. } => 14,
        Reason::Superseded { .. } => 15,
        Reason::HedgeOff { .. } => 16,
        Reason::Passed => 17,
        Reason::Rejected { .. } => 18,
        Reason::Unverified { .. } => 19,
        Reason::RejectedAccepted => 20,
        Reason::EnoughItems { .. } => 21,
        Reason::TooFewItems { .. } => 22,
        Reason::CutoffAt { .. } => 23,
        Reason::TimeUp { .. } => 24,
        Reason::Failure { .. } => 25,
        Reason::AllEnded => 26,
        Reason::Withdrawn => 27,
        Reason::Reused => 28,
        Reason::TooLong { .. } => 31,
        Reason::Shrinks { .. } => 32,
        Reason::AllAway { .. } => 33,
        Reason::TurnedAway { .. } => 34,
        Reason::NotPermitted { .. } => 35,
        Reason::GivenUp { .. } => 36,
        Reason::Planned { .. } => 37,
        Reason::Held { .. } => 38,
        Reason::NotWorth => 39,
        Reason::Timing(_) => 40,
    }
}

fn of_paths() -> Vec<Reason> {
    let passed = |away| Passed { path: A, away };
    let throttled =
        Stock { permits: CAP, shortage: Some(Shortage::Throttled), wait: Duration::from_secs(7) };
    vec![
        Reason::AllAway {
            first: passed(Away::Closed {
                wait: Duration::from_millis(4_100),
                class: None,
                elsewhere: false,
            }),
        },
        Reason::AllAway {
            first: passed(Away::Out { class: Some(FailureClass::Auth), elsewhere: false }),
        },
        Reason::TurnedAway { path: A, class: FailureClass::RateLimited },
        Reason::NotPermitted { path: B, stock: Stock::of(450_000) },
        Reason::NotPermitted { path: B, stock: throttled },
        Reason::NotPermitted { path: B, stock: Stock::of(CAP).short_of(Shortage::Low) },
        Reason::GivenUp { path: A, silent: Duration::from_millis(4_100) },
    ]
}

fn reasons() -> Vec<Reason> {
    let after = Duration::from_millis(4_100);
    let passed = |away| Passed { path: A, away };
    let class = Some(FailureClass::RateLimited);
    let closed = Away::Closed { wait: Duration::from_secs(12), class, elsewhere: true };
    let follows = |trouble| Reason::Follows {
        path: B,
        from: A,
        trouble,
        passed: None,
        permit: Permit::One { of: 3_450_000 },
    };
    vec![
        Reason::Ready,
        Reason::Complete,
        Reason::ConditionFalse,
        Reason::NothingToJudge,
        Reason::First { path: A, prompt_tokens: 812, passed: None },
        Reason::First { path: B, prompt_tokens: 812, passed: Some(passed(closed)) },
        Reason::Late { path: A, signal: Signal::NoFirstToken, after, automatic: true },
        Reason::Late { path: A, signal: Signal::Stalled, after, automatic: true },
        Reason::Late { path: A, signal: Signal::TooSlow, after, automatic: false },
        follows(Trouble::Cut(Signal::NoFirstToken)),
        follows(Trouble::Unanswered { after, flowing: true }),
        follows(Trouble::Failed(FailureClass::SchemaViolation)),
        Reason::Follows {
            path: B,
            from: B,
            trouble: Trouble::Failed(FailureClass::ServerError),
            passed: Some(passed(Away::Line { wait: after })),
            permit: Permit::Uncounted,
        },
        Reason::SentBack { path: B, revision: 1, of: 2 },
        Reason::RaceFull { in_flight: 2 },
        Reason::AttemptsUsed { attempts: 4 },
        Reason::SwapsUsed { swaps: 3 },
        Reason::NoPath,
        Reason::ByPolicy { class: FailureClass::Refusal },
        Reason::Budget(Refusal::Usd(
            Usd::from_dollars(0.02).unwrap_or_default(),
            Usd::from_dollars(0.0031).unwrap_or_default(),
        )),
        Reason::Budget(Refusal::Tokens(2_800, 400)),
        Reason::Budget(Refusal::Calls(12)),
        Reason::FirstValid { path: B },
        Reason::Superseded { path: A },
        Reason::HedgeOff { path: A },
        Reason::Passed,
        Reason::Rejected { revisions_left: 1 },
        Reason::Unverified { why: Status::Cut },
        Reason::RejectedAccepted,
        Reason::EnoughItems { good: 8, of: 10, needed: 8 },
        Reason::TooFewItems { bad: 3, of: 10, needed: 8 },
        Reason::CutoffAt { share: Share::ALL },
        Reason::TimeUp { deadline: Duration::from_secs(20) },
        Reason::Failure { class: FailureClass::RateLimited },
        Reason::AllEnded,
        Reason::Withdrawn,
        Reason::Reused,
        Reason::NoPermit {
            path: A,
            traffic: Traffic { primaries: 15, extras: 2 },
            max_extra: Hedge::MAX_EXTRA,
        },
        Reason::Unmeasured { percent: 95 },
        Reason::TooLong { path: A, prompt_tokens: 9_000, room: 7_800 },
        Reason::Shrinks { prompt_tokens: 9_000, most: 7_400 },
    ]
}

fn of_planner() -> Vec<Reason> {
    let after = Duration::from_millis(4_100);
    vec![
        Reason::Planned { path: A, after: None, worth: Worth::new(None, 0.9812, 0.0) },
        Reason::Planned {
            path: B,
            after: Some((A, Trouble::Unanswered { after, flowing: true })),
            worth: Worth::new(Some(0.9), 0.95, 0.0021),
        },
        Reason::Held { path: B },
        Reason::NotWorth,
    ]
}

fn timings() -> Vec<Timing> {
    let (needs, left) = (Duration::from_secs(41), Duration::from_secs(12));
    let basis = |percent, bound| Basis {
        after: Duration::from_millis(4_140),
        percent,
        time: Duration::from_millis(4_600),
        factor: 900,
        bound,
    };
    let late = |signal, bound| Late { path: A, signal, by: By::Cutoff(basis(95, bound)) };
    let stuck = late(Signal::NoFirstToken, Bound::Factor);
    let misses = Misses::Time(left);
    let more = Duration::from_secs(18);
    let projection = Projection { more, rate: 211, usual: 630, misses };
    let slow = Late { by: By::Projection(projection), ..stuck };
    vec![
        Timing::Cut(stuck),
        Timing::Cut(late(Signal::Stalled, Bound::Writing)),
        Timing::Cut(late(Signal::TooSlow, Bound::Share)),
        Timing::Cut(slow),
        Timing::Joins { path: B, late: stuck },
        Timing::Alone { late: stuck, why: Alone::Optional },
        Timing::Alone { late: stuck, why: Alone::Shock(162) },
        Timing::Shock { hundredths: 200 },
        Timing::Short { needs, left },
        Timing::LastCall { needs, left },
        Timing::Vain { path: B, needs, left },
        Timing::Hurried { path: B, own: A, usual: needs, left },
    ]
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of sentences")]
fn every_reason_reads_as_a_sentence_a_person_understands() {
    let plan = Draft::paths(&["a/one", "b/two"]).build();
    let mut lines = Vec::new();
    let mut next = 0;
    let timings = timings().into_iter().map(Reason::Timing);
    let all = reasons().into_iter().chain(of_paths()).chain(of_planner()).chain(timings);
    for reason in all {
        assert!(place(&reason) <= next, "a reason is missing before {reason:?}");
        next = next.max(place(&reason) + 1);
        let decision =
            Decision { at: Timestamp::ZERO, step: None, item: None, kind: Kind::Wait, reason };
        lines.push(Words { decision: &decision, plan: &plan }.to_string());
    }
    assert_eq!(next, 41);
    insta::assert_snapshot!(lines.join("\n"), @r"
    everything it needs is there
    its output is complete
    its condition is false
    there is nothing for it to judge
    first attempt on a/one, about 812 prompt tokens
    first attempt on b/two, about 812 prompt tokens; passed over a/one, closed for 12 s: rate_limited in another run
    no first token on a/one within 4.1 s (cold-start cutoff)
    no further token on a/one within 4.1 s (cold-start cutoff)
    no complete answer on a/one within 4.1 s (cutoff as written)
    no first token on a/one; now on b/two (permit 1 of 3.4)
    no answer after 4.1 s on a/one; now on b/two (permit 1 of 3.4)
    schema_violation on a/one; now on b/two (permit 1 of 3.4)
    server_error on b/two; now on b/two; passed over a/one, held up by its limits for 4.1 s at least
    revision 1 of 2 on b/two
    2 attempts are in flight, the most there may be
    all 4 attempts are used
    all 3 swaps are used
    no other path can be used
    refusal, and the policy says to fail
    it may cost $0.0200, $0.0031 of the budget is left
    it may take 2800 tokens, 400 of the budget are left
    all 12 calls of the budget are used
    first valid answer, from b/two
    a/one is no longer needed: another answer was first
    a/one is closed before the next attempt: hedge is off
    its validator passes it
    its validator rejects it; revisions left: 1
    unverified: its validator is cut
    rejected, and accepted unverified because the policy says so
    8 of 10 items are there, 8 needed
    3 of 10 items failed, 8 needed
    100% of the deadline has passed
    the deadline of 20 s is near
    its last failure was rate_limited
    every step has ended
    the caller withdrew the call
    validated in an earlier run of the same call
    a/one has no extra attempt left: 2 extra of 15 primaries in 10 min, at most 10%
    p95 is not measured yet (fewer than 20 samples): no other attempt joins it before its cutoff
    about 9000 prompt tokens are more than the 7800 that a/one takes beside the answer
    about 9000 prompt tokens did not fit: lists that may lose items are cut until 7400 are left
    no path can be used now; the first will be a/one, closed for 4.1 s
    no path can be used now; the first will be a/one, out: auth
    a/one was not sent to: closed by rate_limited
    b/two bears no extra attempt: no whole permit is there, but 0.4
    b/two bears no extra attempt: it was throttled within the last 10 s, for 7 s more
    b/two bears no extra attempt: less than a fifth of its limits is left
    a/one has been silent for 4.1 s, and no attempt more may join it: given up
    first attempt on a/one: a right answer in time is worth 98.12 % from here
    no answer after 4.1 s on a/one; now on b/two: a right answer in time is worth 90.00 % waiting on and 95.00 % with it, its price of 0.21 % taken off
    the answer of b/two is valid; a more trusted one is about to come, and is waited for
    waiting for it would lower the chance of the rest
    no first token on a/one by 4.1 s (P95 4.6 s × 0.9)
    no further token on a/one for 4.1 s (a whole answer usually takes 4.6 s to write)
    no complete answer on a/one by 4.1 s (its share of the time left; P95 4.6 s × 0.9)
    too slow to finish on a/one: about 18 s more at 21 tokens/s, usually 63, and 12 s are left for it
    no first token on a/one by 4.1 s (P95 4.6 s × 0.9); now on b/two
    no first token on a/one by 4.1 s (P95 4.6 s × 0.9); the step is optional, so nothing joins it
    no first token on a/one by 4.1 s (P95 4.6 s × 0.9); everything takes 1.6 times as long as usual, so one extra attempt is the most
    everything takes 2 times as long as usual: no other attempt joins it before its cutoff
    needs about 41 s on the critical path, 12 s are left
    what is still to do takes 41 s at least, 12 s are left
    b/two takes 41 s at least, 12 s are left for it
    first attempt on b/two: a/one usually takes 41 s, 12 s are left for it
    ");
}

#[test]
fn every_kind_of_decision_has_a_name_of_its_own() {
    let kinds = [
        Kind::Prepare,
        Kind::Launch,
        Kind::Cut,
        Kind::Cancel,
        Kind::Wait,
        Kind::Accept,
        Kind::Revise,
        Kind::Skip,
        Kind::Fail,
        Kind::Close,
        Kind::Finish,
    ];
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    insta::assert_snapshot!(names.join(" "), @"prepare launch cut cancel wait accept revise skip fail close finish");
}
