//! The reaction table, row by row: failures and invalid answers.

use super::draft::Draft;
use super::scenario::{failure, throttled};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::plan::{OnInvalid, OnRefused, OnSlow, OnTooLong, OnTrouble, Reactions};
use std::time::Duration;

fn two_paths() -> Draft {
    Draft::paths(&["a/one", "b/two"]).step("draft")
}

#[test]
fn an_invalid_answer_gets_one_repair_turn_then_the_stronger_model() {
    Draft::paths(&["a/one", "b/two"])
        .stronger(&["c/big"])
        .step("draft")
        .start()
        .skip()
        .invalid(0)
        .expect(&["launch 1 draft a/one repair after 0 told violations"])
        .invalid(1)
        .expect(&[])
        .at(50)
        .expect(&["launch 2 draft c/big stronger after 1 told violations"])
        .valid(2)
        .expect(&["accept 2", "close draft ok", "finish delivered"]);
}

#[test]
fn a_late_repair_goes_to_the_faster_model_an_early_one_does_not() {
    let draft = || {
        Draft::paths(&["a/one", "b/two"]).faster(&["c/quick"]).step("draft").policy(|policy| {
            policy.cutoff =
                crate::domain::plan::Cutoff::Fixed { first_token: None, idle: None, total: None };
        })
    };
    draft()
        .start()
        .skip()
        .at(29_000)
        .invalid(0)
        .expect(&["launch 1 draft a/one repair after 0 told violations"]);
    draft()
        .start()
        .skip()
        .at(31_000)
        .invalid(0)
        .expect(&[])
        .at(31_050)
        .expect(&["launch 1 draft c/quick faster after 0 told violations"])
        .valid(1)
        .expect(&["accept 1", "close draft ok", "finish delivered"]);
}

#[test]
fn without_a_stronger_model_an_invalid_answer_is_drawn_anew_elsewhere() {
    two_paths()
        .start()
        .skip()
        .invalid(0)
        .skip()
        .invalid(1)
        .at(60)
        .expect(&["launch 2 draft b/two next after 1 told violations"]);
}

#[test]
fn on_a_single_path_invalid_answers_are_drawn_anew_without_a_pause() {
    Draft::paths(&["a/one"])
        .step("draft")
        .start()
        .invalid(0)
        .invalid(1)
        .invalid(2)
        .expect(&[
            "launch 0 draft a/one primary",
            "launch 1 draft a/one repair after 0 told violations",
            "launch 2 draft a/one next after 1 told violations",
            "launch 3 draft a/one next after 2 told violations",
        ])
        .invalid(3)
        .expect(&["finish failed schema_violation draft"])
        .because("fail all 4 attempts are used");
}

#[test]
fn a_repair_does_not_wait_for_a_path_that_has_closed() {
    Draft::paths(&["a/one", "b/two"])
        .step("draft")
        .start()
        .skip()
        .signal(&[20_000])
        .invalid(0)
        .at(100)
        .expect(&["launch 1 draft b/two next after 0 told violations"]);
}

#[test]
fn throttling_swaps_at_once() {
    two_paths()
        .start()
        .skip()
        .at(1_000)
        .fails(0, throttled(7))
        .at(1_049)
        .expect(&[])
        .at(1_050)
        .expect(&["launch 1 draft b/two next after 0 told resume"])
        .because("launch rate_limited on a/one; now on b/two");
}

#[test]
fn a_throttled_quota_takes_all_of_its_paths_with_it() {
    Draft::paths(&["a/one", "a/two", "b/three"])
        .step("draft")
        .start()
        .skip()
        .fails(0, throttled(7))
        .at(100)
        .expect(&["launch 1 draft b/three next after 0 told resume"]);
}

#[test]
fn the_window_of_the_only_path_is_honoured() {
    Draft::paths(&["a/one"])
        .step("draft")
        .start()
        .skip()
        .fails(0, throttled(7))
        .at(6_999)
        .expect(&[])
        .at(7_000)
        .expect(&["launch 1 draft a/one next after 0 told resume"]);
}

#[test]
fn a_window_is_honoured_however_narrowly_the_failure_was_classified() {
    let narrow = Failure { scope: Scope::Attempt, ..throttled(7) };
    Draft::paths(&["a/one"])
        .step("draft")
        .start()
        .skip()
        .fails(0, narrow)
        .at(6_999)
        .expect(&[])
        .at(7_000)
        .expect(&["launch 1 draft a/one next after 0 told resume"]);
}

#[test]
fn a_window_longer_than_the_time_left_fails_early_and_says_when_to_come_back() {
    let scenario =
        Draft::paths(&["a/one"]).step("draft").start().skip().at(9_000).fails(0, throttled(90));
    let scenario = scenario.expect(&["finish failed rate_limited draft"]);
    assert_eq!(scenario.failure().retry_after, Some(Duration::from_secs(90)));
}

#[test]
fn the_time_to_come_back_is_when_the_first_path_opens() {
    let scenario =
        two_paths().start().fails(0, throttled(90)).at(10_000).fails(1, throttled(300)).skip();
    assert_eq!(scenario.failure().retry_after, Some(Duration::from_secs(80)));
}

#[test]
fn a_throttled_path_is_not_hedged_into_before_its_window_ends() {
    Draft::paths(&["a/one"])
        .step("draft")
        .step("other")
        .start()
        .skip()
        .fails(1, throttled(20))
        .at(19_999)
        .expect(&[])
        .at(20_000)
        .expect(&[
            "launch 2 draft a/one hedge after 0 told nothing",
            "launch 3 other a/one next after 1 told resume",
        ]);
}

#[test]
fn a_sick_path_is_left_for_the_next() {
    for class in [
        FailureClass::ServerError,
        FailureClass::Overloaded,
        FailureClass::StreamInterrupted,
        FailureClass::Timeout,
    ] {
        two_paths()
            .start()
            .skip()
            .fails(0, failure(class))
            .at(50)
            .expect(&["launch 1 draft b/two next after 0 told resume"]);
    }
}

#[test]
fn a_single_sick_path_is_tried_again_after_pauses_that_double() {
    Draft::paths(&["a/one"])
        .step("draft")
        .start()
        .skip()
        .fails(0, failure(FailureClass::ServerError))
        .at(999)
        .expect(&[])
        .at(1_000)
        .expect(&["launch 1 draft a/one next after 0 told resume"])
        .fails(1, failure(FailureClass::ServerError))
        .at(2_999)
        .expect(&[])
        .at(3_000)
        .expect(&["launch 2 draft a/one next after 1 told resume"]);
}

#[test]
fn a_neighbour_that_is_closed_for_long_is_not_waited_for() {
    two_paths()
        .start()
        .skip()
        .signal(&[0, 30_000])
        .fails(0, failure(FailureClass::ServerError))
        .at(1_000)
        .expect(&["launch 1 draft a/one next after 0 told resume"]);
}

#[test]
fn a_prompt_that_is_too_long_goes_to_a_larger_window() {
    Draft::paths(&["a/small", "b/small", "c/large"])
        .windows(&[Some(8_000), Some(8_000), Some(32_000)])
        .step("draft")
        .start()
        .skip()
        .fails(0, failure(FailureClass::ContextOverflow))
        .at(100)
        .expect(&["launch 1 draft c/large next after 0 told resume"]);
}

#[test]
fn a_larger_window_whose_stream_broke_before_takes_the_prompt_again() {
    Draft::paths(&["a/large", "b/small"])
        .windows(&[Some(32_000), Some(8_000)])
        .step("draft")
        .start()
        .fails(0, failure(FailureClass::StreamInterrupted))
        .at(100)
        .skip()
        .fails(1, failure(FailureClass::ContextOverflow))
        .at(200)
        .expect(&["launch 2 draft a/large next after 1 told resume"]);
}

#[test]
fn a_prompt_that_overflowed_never_goes_back_to_a_window_as_small() {
    Draft::paths(&["a/small", "b/small", "c/large"])
        .windows(&[Some(8_000), Some(8_000), Some(32_000)])
        .step("draft")
        .start()
        .fails(0, failure(FailureClass::ContextOverflow))
        .at(100)
        .skip()
        .fails(1, failure(FailureClass::ServerError))
        .at(2_000)
        .expect(&["launch 2 draft c/large next after 1 told resume"]);
}

#[test]
fn without_a_larger_window_an_overflow_fails_honestly() {
    two_paths()
        .windows(&[Some(8_000), Some(4_000)])
        .start()
        .skip()
        .fails(0, failure(FailureClass::ContextOverflow))
        .expect(&["finish failed context_overflow draft"]);
}

#[test]
fn a_bad_key_takes_its_provider_out_for_the_run() {
    for class in [FailureClass::Auth, FailureClass::QuotaExhausted] {
        Draft::paths(&["a/one", "a/two", "b/three"])
            .step("draft")
            .step("reply")
            .after("draft")
            .start()
            .skip()
            .fails(0, Failure { scope: Scope::Provider, ..failure(class) })
            .at(100)
            .expect(&["launch 1 draft b/three next after 0 told resume"])
            .valid(1)
            .expect(&["accept 1", "close draft ok", "launch 2 reply b/three primary"]);
    }
}

#[test]
fn with_its_only_provider_out_a_run_fails_at_once_without_another_attempt() {
    let scenario = Draft::paths(&["a/one", "a/two"])
        .step("draft")
        .start()
        .skip()
        .fails(0, failure(FailureClass::Auth))
        .expect(&["finish failed auth draft"]);
    assert_eq!(scenario.failure().retry_after, None);
}

#[test]
fn a_request_refused_as_malformed_is_not_sent_to_the_same_path_again() {
    Draft::paths(&["a/one"])
        .step("draft")
        .start()
        .skip()
        .fails(0, failure(FailureClass::BadRequest))
        .expect(&["finish failed bad_request draft"]);
}

#[test]
fn what_the_provider_calls_hopeless_is_not_sent_to_the_same_path_again() {
    let of = |hopeless| {
        let failed = Failure { hopeless, ..failure(FailureClass::ServerError) };
        Draft::paths(&["a/one"]).step("draft").start().skip().fails(0, failed).at(1_000)
    };
    of(true).expect(&["finish failed server_error draft"]);
    of(false).expect(&["launch 1 draft a/one next after 0 told resume"]);
}

#[test]
fn a_refusal_asks_a_stronger_model_once() {
    Draft::paths(&["a/one", "b/two"])
        .stronger(&["c/big"])
        .step("draft")
        .start()
        .skip()
        .fails(0, failure(FailureClass::Refusal))
        .at(100)
        .expect(&["launch 1 draft c/big stronger after 0 told resume"])
        .fails(1, failure(FailureClass::ContentFiltered))
        .expect(&["finish failed content_filtered draft"]);
}

#[test]
fn every_reaction_can_be_set_to_fail() {
    let fail = Reactions {
        slow: OnSlow::Fail,
        limited: OnTrouble::Fail,
        down: OnTrouble::Fail,
        invalid: OnInvalid::Fail,
        too_long: OnTooLong::Fail,
        refused: OnRefused::Fail,
        rejected: crate::domain::plan::OnRejected::Fail,
    };
    for class in FailureClass::ALL {
        let line = format!("finish failed {class} draft");
        two_paths()
            .stronger(&["c/big"])
            .policy(|p| p.on = fail)
            .start()
            .skip()
            .fails(0, failure(class))
            .expect(&[line.as_str()]);
    }
}

#[test]
fn when_the_swaps_are_used_the_same_path_is_tried_again() {
    two_paths()
        .policy(|p| p.max_swaps = 0)
        .start()
        .skip()
        .fails(0, failure(FailureClass::ServerError))
        .at(1_000)
        .expect(&["launch 1 draft a/one next after 0 told resume"]);
}

#[test]
fn a_swap_counts_against_its_bound() {
    Draft::paths(&["a/one", "b/two", "c/three"])
        .step("draft")
        .policy(|p| p.max_swaps = 1)
        .start()
        .fails(0, failure(FailureClass::Auth))
        .at(100)
        .skip()
        .fails(1, failure(FailureClass::Auth))
        .expect(&["finish failed auth draft"])
        .because("fail all 1 swaps are used");
}
