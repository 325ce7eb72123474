//! Every reason in words, as traces and timelines show it.

use std::time::Duration;

use super::draft::Draft;
use crate::domain::failure::FailureClass;
use crate::domain::id::PathIx;
use crate::domain::money::Usd;
use crate::domain::outcome::Status;
use crate::domain::time::{Share, Timestamp};
use crate::engine::decision::{Decision, Kind, Reason, Words};
use crate::policy::cutoff::Signal;
use crate::policy::fallback::Trouble;
use crate::policy::gate::Refusal;

const A: PathIx = PathIx(0);
const B: PathIx = PathIx(1);

/// A reason's place in the table, so that a new one cannot be left out of it.
fn place(reason: &Reason) -> usize {
    match reason {
        Reason::Ready => 0,
        Reason::ConditionFalse => 1,
        Reason::NothingToJudge => 2,
        Reason::First { .. } => 3,
        Reason::Late { .. } => 4,
        Reason::Follows { .. } => 5,
        Reason::SentBack { .. } => 6,
        Reason::RaceFull { .. } => 7,
        Reason::AttemptsUsed { .. } => 8,
        Reason::SwapsUsed { .. } => 9,
        Reason::NoPath => 10,
        Reason::ByPolicy { .. } => 11,
        Reason::Budget(_) => 12,
        Reason::FirstValid { .. } => 13,
        Reason::Superseded { .. } => 14,
        Reason::HedgeOff { .. } => 15,
        Reason::Passed => 16,
        Reason::Rejected { .. } => 17,
        Reason::Unverified { .. } => 18,
        Reason::RejectedAccepted => 19,
        Reason::EnoughItems { .. } => 20,
        Reason::TooFewItems { .. } => 21,
        Reason::CutoffAt { .. } => 22,
        Reason::TimeUp { .. } => 23,
        Reason::Failure { .. } => 24,
        Reason::AllEnded => 25,
        Reason::Withdrawn => 26,
        Reason::Reused => 27,
    }
}

fn reasons() -> Vec<Reason> {
    let after = Duration::from_millis(4_100);
    vec![
        Reason::Ready,
        Reason::ConditionFalse,
        Reason::NothingToJudge,
        Reason::First { path: A, prompt_tokens: 812 },
        Reason::Late { path: A, signal: Signal::NoFirstToken, after, automatic: true },
        Reason::Late { path: A, signal: Signal::Stalled, after, automatic: true },
        Reason::Late { path: A, signal: Signal::TooSlow, after, automatic: false },
        Reason::Follows { path: B, from: A, trouble: Trouble::Cut(Signal::NoFirstToken) },
        Reason::Follows {
            path: B,
            from: A,
            trouble: Trouble::Failed(FailureClass::SchemaViolation),
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
    ]
}

#[test]
fn every_reason_reads_as_a_sentence_a_person_understands() {
    let plan = Draft::paths(&["a/one", "b/two"]).build();
    let mut lines = Vec::new();
    let mut next = 0;
    for reason in reasons() {
        assert!(place(&reason) <= next, "a reason is missing before {reason:?}");
        next = next.max(place(&reason) + 1);
        let decision =
            Decision { at: Timestamp::ZERO, step: None, item: None, kind: Kind::Wait, reason };
        lines.push(Words { decision: &decision, plan: &plan }.to_string());
    }
    assert_eq!(next, place(&Reason::Reused) + 1);
    insta::assert_snapshot!(lines.join("\n"), @r"
    everything it needs is there
    its condition is false
    the step it judges has no answer
    first attempt on a/one, about 812 prompt tokens
    no first token on a/one within 4.1 s (cold-start cutoff)
    no further token on a/one within 4.1 s (cold-start cutoff)
    no complete answer on a/one within 4.1 s (cutoff as written)
    no first token on a/one; now on b/two
    schema_violation on a/one; now on b/two
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
