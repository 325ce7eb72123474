//! Racing attempts: at most one extra, the first valid answer wins, losers are closed and charged.

use std::time::Duration;

use super::draft::Draft;
use super::scenario::failure;
use crate::domain::failure::FailureClass;
use crate::domain::outcome::AttemptEnd;
use crate::domain::plan::{Cutoff, Hedge};

fn three_paths() -> Draft {
    Draft::paths(&["a/one", "b/two", "c/three"]).step("draft").policy(|p| {
        p.cutoff =
            Cutoff::Fixed { first_token: Some(Duration::from_secs(4)), idle: None, total: None };
    })
}

#[test]
fn at_most_one_extra_attempt_is_in_flight() {
    three_paths()
        .start()
        .at(12_000)
        .expect(&["launch 0 draft a/one primary", "launch 1 draft b/two hedge after 0 told resume"])
        .because("wait 2 attempts are in flight, the most there may be");
}

#[test]
fn the_third_attempt_takes_the_place_of_one_that_has_ended() {
    three_paths()
        .start()
        .at(9_000)
        .skip()
        .fails(0, failure(FailureClass::ServerError))
        .expect(&["launch 2 draft c/three hedge after 1 told resume"]);
}

#[test]
fn the_extra_attempt_failing_is_followed_while_the_old_one_runs_on() {
    three_paths()
        .start()
        .at(5_000)
        .skip()
        .fails(1, failure(FailureClass::ServerError))
        .at(5_060)
        .expect(&["launch 2 draft c/three next after 1 told resume"])
        .valid(0)
        .expect(&["accept 0", "cancel 2", "close draft ok", "finish delivered"]);
}

#[test]
fn a_cut_attempt_that_fails_is_no_loss_while_another_is_relied_on() {
    three_paths()
        .start()
        .at(5_000)
        .skip()
        .fails(0, failure(FailureClass::ServerError))
        .at(6_000)
        .expect(&[])
        .valid(1)
        .expect(&["accept 1", "close draft ok", "finish delivered"]);
}

#[test]
fn a_cut_attempt_that_fails_before_its_follower_is_launched_is_followed_by_it() {
    three_paths()
        .start()
        .at(4_000)
        .skip()
        .fails(0, failure(FailureClass::ServerError))
        .at(4_100)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn a_cut_attempt_that_fails_is_not_followed_later_than_it_could_be() {
    Draft::paths(&["a/one", "b/two"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("draft")
        .start()
        .signal(&[0, 50_000])
        .at(12_000)
        .skip()
        .fails(0, failure(FailureClass::StreamInterrupted))
        .at(13_000)
        .expect(&["launch 1 draft a/one next after 0 told resume"]);
}

#[test]
fn an_invalid_answer_does_not_win() {
    three_paths().start().at(5_000).skip().invalid(0).expect(&[]).valid(1).expect(&[
        "accept 1",
        "close draft ok",
        "finish delivered",
    ]);
}

#[test]
fn hedge_off_closes_the_old_attempt_before_the_new_one_starts() {
    let scenario = three_paths()
        .policy(|p| p.hedge = Hedge::Off)
        .start()
        .skip()
        .at(4_049)
        .expect(&[])
        .at(4_050)
        .expect(&["cancel 0", "launch 1 draft b/two hedge after 0 told resume"])
        .because("cancel a/one is closed before the next attempt: hedge is off");
    let first = scenario.machine.attempts().next().unwrap();
    assert_eq!(first.ended.map(|(_, end)| end), Some(AttemptEnd::Cut));
}

#[test]
fn hedge_off_keeps_the_attempt_that_nothing_can_follow() {
    Draft::paths(&["a/one"])
        .step("draft")
        .policy(|p| p.hedge = Hedge::Off)
        .policy(|p| p.attempts = 1)
        .start()
        .skip()
        .at(30_000)
        .expect(&[])
        .valid(0)
        .expect(&["accept 0", "close draft ok", "finish delivered"]);
}

#[test]
fn an_answer_in_the_pause_before_the_swap_still_wins() {
    three_paths().policy(|p| p.hedge = Hedge::Off).start().skip().at(4_020).valid(0).expect(&[
        "accept 0",
        "close draft ok",
        "finish delivered",
    ]);
}

#[test]
fn used_attempts_let_the_last_one_race_to_its_end() {
    three_paths()
        .policy(|p| p.attempts = 2)
        .start()
        .at(9_000)
        .skip()
        .fails(1, failure(FailureClass::ServerError))
        .at(30_000)
        .expect(&[])
        .because("wait all 2 attempts are used")
        .fails(0, failure(FailureClass::Overloaded))
        .at(40_000)
        .expect(&["finish failed overloaded draft"]);
}

#[test]
fn what_comes_after_an_attempt_was_closed_changes_nothing() {
    let scenario = three_paths().step("reply").after("draft").start().at(4_100).valid(1).skip();
    let before: Vec<_> = scenario.machine.attempts().map(|a| (a.ended, a.usage)).collect();
    let scenario = scenario
        .at(4_200)
        .emitted(0, 9)
        .sent(0)
        .valid(0)
        .invalid(0)
        .fails(0, failure(FailureClass::Auth))
        .expect(&[]);
    let after: Vec<_> = scenario.machine.attempts().map(|a| (a.ended, a.usage)).collect();
    assert_eq!(before, after);
}

#[test]
fn a_launch_whose_path_has_closed_meanwhile_goes_elsewhere() {
    three_paths()
        .start()
        .skip()
        .at(4_000)
        .signal(&[0, 30_000])
        .at(4_200)
        .expect(&["launch 1 draft c/three hedge after 0 told resume"]);
}

#[test]
fn a_race_that_waits_its_turn_does_not_burn_attempts_on_a_path_that_has_died() {
    three_paths()
        .step("other")
        .start()
        .at(9_000)
        .skip()
        .fails(2, failure(FailureClass::ServerError))
        .at(9_200)
        .skip()
        .signal(&[0, 0, 20_000])
        .fails(0, failure(FailureClass::ServerError))
        .at(9_300)
        .expect(&[]);
}
