//! The reaction table's rows for attempts that are late.

use std::time::Duration;

use super::draft::Draft;
use crate::domain::plan::{Cutoff, Hedge, OnSlow};

fn two_paths() -> Draft {
    Draft::paths(&["a/one", "b/two"]).step("draft")
}

fn fixed(first_token: u64, total: u64) -> Cutoff {
    Cutoff::Fixed {
        first_token: Some(Duration::from_millis(first_token)),
        idle: None,
        total: Some(Duration::from_millis(total)),
    }
}

#[test]
fn no_first_token_races_another_path_and_keeps_the_old_attempt() {
    two_paths()
        .start()
        .expect(&["launch 0 draft a/one primary"])
        .at(9_999)
        .expect(&[])
        .at(10_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("cut no first token on a/one within 10 s (cold-start cutoff)")
        .valid(0)
        .expect(&["accept 0", "cancel 1", "close draft ok", "finish delivered"]);
}

#[test]
fn a_stall_races_another_path() {
    two_paths()
        .start()
        .skip()
        .at(2_000)
        .emitted(0, 10)
        .at(10_100)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("cut no further token on a/one within 8 s")
        .valid(1)
        .expect(&["accept 1", "cancel 0", "close draft ok", "finish delivered"]);
}

#[test]
fn too_slow_to_finish_switches_to_the_faster_model() {
    Draft::paths(&["a/one", "b/two"])
        .faster(&["a/quick"])
        .step("draft")
        .policy(|p| p.cutoff = fixed(4_000, 12_000))
        .start()
        .skip()
        .at(1_000)
        .emitted(0, 50)
        .at(12_100)
        .expect(&["launch 1 draft a/quick faster after 0 told resume"])
        .because("cut no complete answer on a/one within 12 s (cutoff as written)");
}

#[test]
fn too_slow_to_finish_never_repeats_the_same_call() {
    Draft::paths(&["a/one"])
        .step("draft")
        .policy(|p| p.cutoff = fixed(4_000, 12_000))
        .start()
        .skip()
        .at(1_000)
        .emitted(0, 50)
        .at(50_000)
        .expect(&[])
        .valid(0)
        .expect(&["accept 0", "close draft ok", "finish delivered"]);
}

#[test]
fn the_shorter_of_two_written_cutoffs_is_the_one_that_is_named() {
    two_paths()
        .policy(|p| p.cutoff = fixed(9_000, 5_000))
        .start()
        .at(5_100)
        .because("cut no first token on a/one within 5 s (cutoff as written)");
}

#[test]
fn a_faster_model_that_is_closed_is_not_waited_for() {
    Draft::paths(&["a/one", "b/two"])
        .faster(&["c/quick"])
        .step("draft")
        .policy(|p| p.on.slow = OnSlow::Faster)
        .start()
        .skip()
        .signal(&[0, 0, 30_000])
        .at(10_100)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn a_cut_without_an_open_path_waits_for_the_first_to_open() {
    Draft::paths(&["a/one", "b/two"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("draft")
        .start()
        .skip()
        .signal(&[0, 15_000])
        .at(14_900)
        .expect(&[])
        .at(15_000)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn an_attempt_that_is_alone_is_raced_on_the_same_path_where_capacity_is_shared() {
    Draft::paths(&["a/one"])
        .step("draft")
        .start()
        .skip()
        .at(10_100)
        .expect(&["launch 1 draft a/one hedge after 0 told nothing"]);
}

#[test]
fn own_capacity_is_not_raced_on_the_same_path() {
    Draft::paths(&["a/one"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("draft")
        .start()
        .skip()
        .at(50_000)
        .expect(&[])
        .because("wait no other path can be used");
}

#[test]
fn hedge_off_gives_its_one_slot_a_fresh_attempt() {
    Draft::paths(&["a/one"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("draft")
        .policy(|p| p.hedge = Hedge::Off)
        .start()
        .skip()
        .at(10_100)
        .expect(&["cancel 0", "launch 1 draft a/one hedge after 0 told nothing"]);
}

#[test]
fn slow_fail_closes_the_attempt_and_fails_the_step() {
    let scenario = two_paths().policy(|p| p.on.slow = OnSlow::Fail).start().skip().at(10_000);
    let scenario = scenario.expect(&["cancel 0", "finish failed timeout draft"]);
    assert_eq!(
        scenario.failure().message,
        "step 'draft' failed after 1 attempt: a/one was cut: no first token within 10 s"
    );
}
