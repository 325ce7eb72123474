//! Optional steps, conditions, and what is missing.

use super::draft::Draft;
use super::scenario::failure;
use crate::domain::failure::FailureClass;
use crate::domain::id::StepIx;
use crate::domain::plan::NeedKind;
use crate::engine::{Event, Prepared};

/// gaps (0, optional) and plan (1) → draft (2).
fn guarded() -> Draft {
    Draft::paths(&["a/one"])
        .step("gaps")
        .optional(70)
        .step("plan")
        .step("draft")
        .after("plan")
        .needs("gaps", NeedKind::Guarded)
}

#[test]
fn a_consumer_waits_for_an_optional_step_until_it_has_ended() {
    guarded().start().valid(1).skip().at(5_000).expect(&[]).valid(0).expect(&[
        "accept 0",
        "close gaps ok",
        "launch 2 draft a/one primary",
    ]);
}

#[test]
fn a_consumer_starts_without_an_optional_step_that_has_failed() {
    guarded()
        .edit(|plan| plan.paths[0].profile.context = Some(1_000))
        .start()
        .valid(1)
        .skip()
        .fails(0, failure(FailureClass::ContextOverflow))
        .expect(&["close gaps failed", "launch 2 draft a/one primary"])
        .valid(2)
        .expect(&["accept 2", "close draft ok", "finish degraded missing [gaps] unverified []"]);
}

#[test]
fn an_optional_step_is_closed_at_its_share_of_the_deadline() {
    guarded()
        .start()
        .valid(1)
        .at(41_999)
        .skip()
        .at(42_000)
        .expect(&["cancel 0", "cancel 2", "close gaps cut", "launch 3 draft a/one primary"])
        .because("close 70% of the deadline has passed");
}

#[test]
fn an_optional_step_that_nobody_waits_for_does_not_hold_the_run_past_its_share() {
    Draft::paths(&["a/one"])
        .step("gaps")
        .optional(70)
        .step("plan")
        .start()
        .valid(1)
        .at(41_999)
        .skip()
        .at(42_000)
        .expect(&[
            "cancel 0",
            "cancel 2",
            "close gaps cut",
            "finish degraded missing [gaps] unverified []",
        ]);
}

#[test]
fn a_share_that_passes_before_the_step_has_begun_closes_it_too() {
    Draft::paths(&["a/one"])
        .step("plan")
        .step("gaps")
        .optional(10)
        .after("plan")
        .start()
        .skip()
        .at(6_000)
        .expect(&["close gaps cut"])
        .valid(0)
        .expect(&["accept 0", "close plan ok", "finish degraded missing [gaps] unverified []"]);
}

#[test]
fn a_skipped_step_is_not_missing() {
    Draft::paths(&["a/one"])
        .step("gaps")
        .with(|step| step.conditional = true)
        .step("draft")
        .needs("gaps", NeedKind::Guarded)
        .start_by_hand()
        .skip()
        .event(Event::Prepared { step: StepIx(0), round: 0, result: Prepared::Skip })
        .expect(&["close gaps skipped", "prepare draft 0"])
        .prepared(1, 0, &[100])
        .valid(0)
        .expect(&[
            "launch 0 draft a/one primary",
            "accept 0",
            "close draft ok",
            "finish delivered",
        ]);
}

#[test]
fn a_step_whose_needed_output_will_never_come_fails_at_once() {
    let scenario = Draft::paths(&["a/one"])
        .step("gaps")
        .optional(70)
        .step("draft")
        .after("gaps")
        .start()
        .skip()
        .fails(0, failure(FailureClass::Auth))
        .expect(&["close gaps failed", "finish failed auth draft"]);
    assert_eq!(
        scenario.failure().message,
        "step 'draft' could not be had: it needs the output of step 'gaps', and there is none (failed)"
    );
}

#[test]
fn an_optional_step_whose_needed_output_will_never_come_is_missing() {
    Draft::paths(&["a/one"])
        .step("gaps")
        .optional(70)
        .step("more")
        .optional(80)
        .after("gaps")
        .step("draft")
        .needs("more", NeedKind::Guarded)
        .start()
        .skip()
        .fails(0, failure(FailureClass::Auth))
        .expect(&["close gaps failed", "close more failed", "finish failed auth draft"]);
}

#[test]
fn an_essential_failure_ends_the_run_at_once() {
    guarded()
        .start()
        .skip()
        .fails(1, failure(FailureClass::Auth))
        .expect(&["cancel 0", "finish failed auth plan"]);
}

#[test]
fn a_step_that_cannot_be_prepared_fails() {
    let impossible = Prepared::Impossible(failure(FailureClass::ContextOverflow));
    Draft::paths(&["a/one"])
        .step("draft")
        .start_by_hand()
        .skip()
        .event(Event::Prepared { step: StepIx(0), round: 0, result: impossible })
        .expect(&["finish failed context_overflow draft"]);
}

#[test]
fn a_plain_step_without_exactly_one_prompt_fails_rather_than_hang() {
    for prompts in [&[][..], &[1, 2][..]] {
        Draft::paths(&["a/one"])
            .step("draft")
            .start_by_hand()
            .skip()
            .prepared(0, 0, prompts)
            .expect(&["finish failed invalid_input draft"]);
    }
}

#[test]
fn order_alone_waits_for_the_end_whatever_it_was() {
    Draft::paths(&["a/one"])
        .step("gaps")
        .optional(70)
        .step("draft")
        .needs("gaps", NeedKind::Order)
        .start()
        .skip()
        .fails(0, failure(FailureClass::Refusal))
        .expect(&["close gaps failed", "launch 1 draft a/one primary"]);
}
