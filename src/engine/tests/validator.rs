//! The validator table, row by row, and its corners.

use super::draft::Draft;
use super::scenario::{Scenario, failure};
use crate::domain::failure::FailureClass;
use crate::domain::id::StepIx;
use crate::domain::plan::{NeedKind, OnRejected, Work};
use crate::engine::{Event, Prepared};

/// draft (0) → judge (1) → reply (2), with so many revisions.
fn judged(revise: u32) -> Draft {
    Draft::paths(&["a/one", "b/two"])
        .step("draft")
        .step("judge")
        .judges("draft", revise)
        .step("reply")
        .after("draft")
}

/// draft (0) → judge (1), accepting what is rejected in the end.
fn accepting(revise: u32) -> Draft {
    Draft::paths(&["a/one", "b/two"])
        .step("draft")
        .policy(|p| p.on.rejected = OnRejected::Accept)
        .step("judge")
        .judges("draft", revise)
}

fn answered(draft: Draft) -> Scenario {
    draft.start().valid(0).expect(&[
        "launch 0 draft a/one primary",
        "accept 0",
        "launch 1 judge a/one primary",
    ])
}

#[test]
fn consumers_start_once_the_validator_has_passed_the_answer_and_not_before() {
    answered(judged(1))
        .says(1, true)
        .expect(&["accept 1", "close judge ok", "close draft ok", "launch 2 reply a/one primary"])
        .valid(2)
        .expect(&["accept 2", "close reply ok", "finish delivered"]);
}

#[test]
fn a_rejected_answer_is_revised_and_judged_again() {
    answered(judged(1))
        .says(1, false)
        .expect(&["accept 1", "close judge ok", "prepare draft 1", "launch 2 draft a/one revision"])
        .because("revise its validator rejects it; revisions left: 1")
        .valid(2)
        .expect(&["accept 2", "prepare judge 1", "launch 3 judge a/one primary"])
        .says(3, true)
        .expect(&["accept 3", "close judge ok", "close draft ok", "launch 4 reply a/one primary"]);
}

#[test]
fn a_revision_goes_to_the_stronger_model_where_there_is_one() {
    answered(judged(1).stronger(&["c/big"])).says(1, false).expect(&[
        "accept 1",
        "close judge ok",
        "prepare draft 1",
        "launch 2 draft c/big revision",
    ]);
}

#[test]
fn a_revision_counts_its_attempts_anew() {
    let draft = judged(1).edit(|plan| {
        if let Work::Model { policy, .. } = &mut plan.steps[0].work {
            policy.attempts = 1;
        }
    });
    answered(draft)
        .says(1, false)
        .skip()
        .invalid(2)
        .expect(&["finish failed schema_violation draft"]);
}

#[test]
fn a_rejection_without_a_revision_left_fails_the_run() {
    let scenario = answered(judged(1)).says(1, false).valid(2).skip().says(3, false).expect(&[
        "accept 3",
        "close judge ok",
        "finish failed rejected draft",
    ]);
    assert_eq!(
        scenario.failure().message,
        "step 'draft' could not be had: validator 'judge' rejected it, and no revision is left"
    );
}

#[test]
fn a_rejection_without_a_revision_left_is_accepted_unverified_where_the_policy_says_so() {
    answered(accepting(0)).says(1, false).expect(&[
        "accept 1",
        "close judge ok",
        "close draft ok",
        "finish degraded missing [] unverified [draft]",
    ]);
}

#[test]
fn the_validators_own_policy_may_accept_too() {
    let draft = Draft::paths(&["a/one"])
        .step("draft")
        .step("judge")
        .policy(|p| p.on.rejected = OnRejected::Accept)
        .judges("draft", 0);
    draft.start().valid(0).skip().says(1, false).expect(&[
        "accept 1",
        "close judge ok",
        "close draft ok",
        "finish degraded missing [] unverified [draft]",
    ]);
}

#[test]
fn a_revision_that_fails_brings_the_earlier_version_back_where_the_policy_accepts_it() {
    answered(accepting(1))
        .says(1, false)
        .skip()
        .fails(2, failure(FailureClass::Auth))
        .at(100)
        .fails(3, failure(FailureClass::Auth))
        .expect(&[
            "launch 3 draft b/two next after 2 told resume",
            "accept 0",
            "close draft ok",
            "close judge ok",
            "finish degraded missing [] unverified [draft]",
        ]);
}

#[test]
fn the_deadline_in_a_revision_brings_the_earlier_version_back() {
    answered(accepting(1)).says(1, false).skip().at(59_500).expect(&[
        "launch 3 draft b/two hedge after 2 told resume",
        "cancel 2",
        "cancel 3",
        "accept 0",
        "close draft ok",
        "close judge ok",
        "finish degraded missing [] unverified [draft]",
    ]);
}

#[test]
fn the_deadline_while_a_revision_is_judged_brings_the_judged_version_back() {
    answered(accepting(1)).says(1, false).at(59_000).valid(2).skip().at(59_500).expect(&[
        "accept 0",
        "close draft ok",
        "cancel 4",
        "close judge ok",
        "finish degraded missing [] unverified [draft]",
    ]);
}

#[test]
fn the_deadline_in_a_revision_fails_the_run_where_the_policy_does_not_accept() {
    let scenario = answered(judged(1)).says(1, false).at(59_500);
    assert_eq!(scenario.failure().class, FailureClass::Deadline);
}

#[test]
fn a_late_validator_fails_the_run() {
    let scenario = answered(judged(0)).at(59_500);
    let failure = scenario.failure();
    assert_eq!((failure.class, failure.step), (FailureClass::Deadline, Some(StepIx(0))));
    assert_eq!(
        failure.message,
        "the deadline of 1 m came before step 'draft' was done; its validator 'judge' had not spoken"
    );
}

#[test]
fn a_failed_validator_fails_the_run() {
    answered(judged(0))
        .fails(1, failure(FailureClass::Auth))
        .at(100)
        .skip()
        .fails(2, failure(FailureClass::Auth))
        .expect(&["finish failed auth judge"]);
}

fn optional_judge() -> Draft {
    Draft::paths(&["a/one"]).step("draft").step("judge").judges("draft", 1).optional(80)
}

#[test]
fn a_failed_optional_validator_leaves_the_answer_unverified() {
    answered(optional_judge()).fails(1, failure(FailureClass::Auth)).expect(&[
        "close judge failed",
        "close draft ok",
        "finish degraded missing [] unverified [draft]",
    ]);
}

#[test]
fn an_optional_validator_cut_at_its_share_leaves_the_answer_unverified() {
    answered(optional_judge()).at(47_999).skip().at(48_000).expect(&[
        "cancel 1",
        "cancel 2",
        "close judge cut",
        "close draft ok",
        "finish degraded missing [] unverified [draft]",
    ]);
}

#[test]
fn an_optional_validator_late_at_the_deadline_leaves_the_answer_unverified() {
    answered(optional_judge().with(|step| step.cutoff_at = None))
        .at(59_499)
        .skip()
        .at(59_500)
        .expect(&[
            "cancel 1",
            "cancel 2",
            "close judge timed_out",
            "close draft ok",
            "finish degraded missing [] unverified [draft]",
        ]);
}

#[test]
fn an_answer_that_comes_after_its_optional_validator_was_cut_goes_out_unverified() {
    Draft::paths(&["a/one"])
        .step("draft")
        .step("judge")
        .judges("draft", 1)
        .optional(10)
        .start()
        .at(7_000)
        .skip()
        .valid(0)
        .expect(&["accept 0", "close draft ok", "finish degraded missing [] unverified [draft]"]);
}

#[test]
fn a_validator_skipped_by_its_condition_lets_the_answer_pass() {
    Draft::paths(&["a/one"])
        .step("draft")
        .step("judge")
        .judges("draft", 1)
        .start()
        .by_hand()
        .valid(0)
        .skip()
        .event(Event::Prepared { step: StepIx(1), round: 0, result: Prepared::Skip })
        .expect(&["close judge skipped", "close draft ok", "finish delivered"]);
}

#[test]
fn an_optional_step_that_failed_leaves_nothing_to_judge() {
    Draft::paths(&["a/one"])
        .step("draft")
        .optional(80)
        .step("judge")
        .judges("draft", 1)
        .start()
        .skip()
        .fails(0, failure(FailureClass::Auth))
        .expect(&[
            "close draft failed",
            "close judge skipped",
            "finish degraded missing [draft] unverified []",
        ]);
}

#[test]
fn an_optional_step_rejected_for_good_is_missing() {
    Draft::paths(&["a/one"])
        .step("draft")
        .optional(80)
        .step("judge")
        .judges("draft", 0)
        .start()
        .valid(0)
        .skip()
        .says(1, false)
        .expect(&[
            "accept 1",
            "close judge ok",
            "close draft failed",
            "finish degraded missing [draft] unverified []",
        ]);
}

#[test]
fn an_optional_step_cut_while_its_validator_thinks_is_missing_with_an_essential_validator() {
    Draft::paths(&["a/one"])
        .step("draft")
        .optional(50)
        .step("judge")
        .judges("draft", 0)
        .start()
        .at(29_000)
        .valid(0)
        .skip()
        .at(30_000)
        .expect(&[
            "close draft cut",
            "cancel 2",
            "close judge skipped",
            "finish degraded missing [draft] unverified []",
        ]);
}

#[test]
fn an_optional_step_cut_while_its_optional_validator_thinks_goes_out_unverified() {
    Draft::paths(&["a/one"])
        .step("draft")
        .optional(50)
        .step("judge")
        .judges("draft", 0)
        .optional(80)
        .start()
        .at(29_000)
        .valid(0)
        .skip()
        .at(30_000)
        .expect(&[
            "cancel 2",
            "close judge cut",
            "close draft ok",
            "finish degraded missing [] unverified [draft]",
        ]);
}

#[test]
fn the_validator_judges_the_winner_of_a_race_alone() {
    judged(0).start().at(10_100).skip().valid(1).expect(&[
        "accept 1",
        "cancel 0",
        "launch 2 judge a/one primary",
    ]);
}

#[test]
fn a_value_step_is_judged_like_any_other() {
    Draft::paths(&["a/one"])
        .value("sum")
        .step("judge")
        .judges("sum", 0)
        .step("reply")
        .needs("sum", NeedKind::Output)
        .start()
        .expect(&["launch 0 judge a/one primary"])
        .says(0, true)
        .expect(&["accept 0", "close judge ok", "close sum ok", "launch 1 reply a/one primary"]);
}

#[test]
fn a_value_validator_has_a_word_of_its_own() {
    Draft::paths(&["a/one"])
        .step("draft")
        .value("judge")
        .judges("draft", 0)
        .start()
        .by_hand()
        .valid(0)
        .skip()
        .event(Event::Prepared {
            step: StepIx(1),
            round: 0,
            result: Prepared::Judged { pass: false },
        })
        .expect(&["close judge ok", "finish failed rejected draft"]);
}

#[test]
fn two_revisions_are_two() {
    let scenario = answered(judged(2)).says(1, false).valid(2).says(3, false).skip();
    let scenario = scenario.valid(4).skip().says(5, false);
    scenario.expect(&["accept 5", "close judge ok", "finish failed rejected draft"]);
}

#[test]
fn attempts_are_numbered_on_through_the_rounds() {
    let scenario = answered(judged(1)).says(1, false).invalid(2);
    let numbers = scenario.machine.attempts().map(|a| (a.spec.step.0, a.spec.n));
    assert_eq!(numbers.collect::<Vec<_>>(), [(0, 1), (1, 1), (0, 2), (0, 3)]);
}

#[test]
fn a_validator_that_says_neither_yes_nor_no_has_not_passed_anything() {
    answered(judged(0)).valid(1).expect(&[
        "accept 1",
        "close judge ok",
        "finish failed rejected draft",
    ]);
}

#[test]
fn a_validators_word_on_the_version_that_was_brought_back_stays_readable() {
    let draft = accepting(1).step("notes").after("judge");
    answered(draft)
        .says(1, false)
        .skip()
        .fails(2, failure(FailureClass::BadRequest))
        .at(100)
        .skip()
        .fails(3, failure(FailureClass::BadRequest))
        .expect(&["accept 0", "close draft ok", "close judge ok", "launch 4 notes a/one primary"]);
}

#[test]
fn a_step_shows_that_no_validator_vouches_for_it() {
    let unverified = |s: &Scenario| s.machine.steps().next().is_some_and(|step| step.unverified);
    assert!(unverified(&answered(accepting(0)).says(1, false)));
    assert!(!unverified(&answered(accepting(0)).says(1, true)));
}
