//! Permits: what is refused waits on, and what is given up is replaced.

use std::time::Duration;

use super::draft::Draft;
use super::scenario::{Scenario, failure, throttled};
use crate::domain::failure::{Failure, FailureClass};
use crate::domain::plan::{Cutoff, Hedge};
use crate::engine::Event;
use crate::policy::permit::{Claim, NO_PERMIT, Shortage, Stock};

fn two_providers() -> Draft {
    Draft::paths(&["a/one", "b/two"]).step("draft")
}

/// From now on this is what there is, in tenths, for extra attempts on each path.
fn has(mut scenario: Scenario, tenths: &[u64]) -> Scenario {
    scenario.signals.permits = tenths.iter().map(|n| Stock::of(n * 100_000)).collect();
    scenario.event(Event::Woke)
}

fn short(mut scenario: Scenario, path: usize, shortage: Shortage, seconds: u64) -> Scenario {
    let wait = Duration::from_secs(seconds);
    let stock = &mut scenario.signals.permits[path];
    *stock = Stock { shortage: Some(shortage), wait, ..*stock };
    scenario.event(Event::Woke)
}

fn claims(scenario: &Scenario) -> Vec<Claim> {
    scenario.machine.attempts().map(|attempt| attempt.spec.claim).collect()
}

#[test]
fn an_attempt_beside_another_takes_a_permit_and_says_so() {
    let scenario = has(two_providers().start(), &[34, 34]).skip().at(10_050);
    let scenario = scenario
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("launch no first token on a/one; now on b/two (permit 1 of 3.4)");
    assert_eq!(claims(&scenario), [Claim::Earns, Claim::Needs]);
}

#[test]
fn without_a_permit_it_is_waited_on_and_the_answer_that_comes_is_taken() {
    has(two_providers().start(), &[9, 9])
        .skip()
        .at(14_000)
        .expect(&[])
        .because("wait b/two bears no extra attempt: no whole permit is there, but 0.9")
        .valid(0)
        .expect(&["accept 0", "close draft ok", "finish delivered"]);
}

#[test]
fn why_nothing_is_launched_is_said_once() {
    let scenario = has(two_providers().start(), &[0, 0]).skip().at(19_000);
    let said = scenario.words().iter().filter(|said| said.contains("bears no extra")).count();
    assert_eq!(said, 1, "{:?}", scenario.words());
}

#[test]
fn a_permit_that_comes_is_used_without_anything_else_happening() {
    let scenario = has(two_providers().start(), &[0, 0]).skip().at(12_000).expect(&[]);
    let mut scenario = scenario;
    scenario.signals.permits = vec![Stock::of(0), Stock::of(1_000_000)];
    scenario.at(13_200).expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn another_path_that_has_a_permit_is_taken() {
    let draft = Draft::paths(&["a/one", "b/two", "c/three"]).step("draft");
    has(draft.start(), &[0, 0, 10])
        .skip()
        .at(10_050)
        .expect(&["launch 1 draft c/three hedge after 0 told resume"]);
}

#[test]
fn another_quota_is_preferred_to_the_one_that_is_in_flight() {
    Draft::paths(&["a/one", "a/two", "b/three"])
        .step("draft")
        .start()
        .skip()
        .at(10_050)
        .expect(&["launch 1 draft b/three hedge after 0 told resume"]);
}

#[test]
fn who_stays_silent_for_twice_its_cutoff_is_given_up_and_replaced_elsewhere() {
    let scenario = has(two_providers().start(), &[0, 0]).skip().at(20_999);
    let scenario = scenario
        .expect(&["cancel 0", "launch 1 draft b/two hedge after 0 told resume"])
        .because("cancel a/one has been silent for 20")
        .valid(1)
        .expect(&["accept 1", "close draft ok", "finish delivered"]);
    assert_eq!(claims(&scenario), [Claim::Earns, Claim::Takes]);
}

#[test]
fn nothing_is_given_up_for_the_same_quota_nor_for_one_under_pressure_nor_while_tokens_flow() {
    let same = Draft::paths(&["a/one", "a/two"]).step("draft");
    has(same.start(), &[0, 0]).skip().at(40_000).expect(&[]);
    for shortage in [Shortage::Throttled, Shortage::Line, Shortage::Low] {
        let scenario = has(two_providers().start(), &[0, 90]).skip();
        short(scenario, 1, shortage, 1).at(40_000).expect(&[]);
    }
    let total = Some(Duration::from_secs(10));
    let cutoff = Cutoff::Fixed { first_token: None, idle: None, total };
    let flowing = two_providers().policy(|policy| policy.cutoff = cutoff).start();
    has(flowing, &[0, 0]).skip().at(9_000).emitted(0, 5).at(40_000).expect(&[]);
}

#[test]
fn no_hedge_goes_into_a_throttled_quota() {
    let scenario = has(two_providers().start(), &[90, 90]).skip();
    let scenario = short(scenario, 1, Shortage::Throttled, 10);
    // The other quota is the one in flight, and the same path may be lucky again.
    scenario.at(12_000).expect(&["launch 1 draft a/one hedge after 0 told nothing"]);
    let scenario = has(two_providers().start(), &[90, 90]).skip();
    let scenario = short(short(scenario, 0, Shortage::Throttled, 10), 1, Shortage::Throttled, 10);
    scenario
        .at(19_000)
        .expect(&[])
        .because("wait b/two bears no extra attempt: it was throttled within the last 10 s");
}

#[test]
fn what_follows_a_failure_needs_no_permit() {
    let scenario = has(two_providers().start(), &[0, 0]).skip();
    let scenario = scenario
        .fails(0, failure(FailureClass::ServerError))
        .at(50)
        .expect(&["launch 1 draft b/two next after 0 told resume"])
        .fails(1, throttled(1))
        .at(5_000);
    assert_eq!(claims(&scenario), [Claim::Earns, Claim::Takes, Claim::Takes]);
    let mended = has(two_providers().start(), &[0, 0]).skip().invalid(0);
    assert_eq!(claims(&mended), [Claim::Earns, Claim::Nothing], "a repair is no load of failures");
}

#[test]
fn hedge_off_keeps_the_first_where_there_is_no_permit() {
    let off = two_providers().policy(|policy| policy.hedge = Hedge::Off);
    has(off.start(), &[0, 0]).skip().at(15_000).expect(&[]).valid(0).expect(&[
        "accept 0",
        "close draft ok",
        "finish delivered",
    ]);
}

#[test]
fn what_is_launched_in_one_moment_takes_permits_at_once() {
    let draft = Draft::paths(&["a/one", "b/two"]).step("read").each(8, 100);
    let scenario = draft.start_by_hand().prepared(0, 0, &[10, 10, 10]);
    let scenario = has(scenario.sent(0).sent(1).sent(2), &[0, 21]).skip();
    scenario
        .at_exactly(10_060)
        .event(Event::Woke)
        .at(10_120)
        .expect(&[
            "launch 3 read[0] b/two hedge after 0 told resume",
            "launch 4 read[1] b/two hedge after 1 told resume",
        ])
        .because("wait b/two bears no extra attempt: no whole permit is there, but 0.1");
}

#[test]
fn who_is_turned_away_by_the_door_waits_on_and_no_attempt_is_used() {
    let unpermitted = || Failure::of_attempt(FailureClass::Budget, NO_PERMIT, "none");
    let scenario = two_providers().policy(|policy| policy.attempts = 2).start_by_hand();
    let scenario = has(scenario.prepared(0, 0, &[100]).sent(0), &[0, 10]).skip();
    let scenario = scenario
        .at(10_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .turned_away(1, unpermitted())
        .expect(&[])
        .because("wait b/two bears no extra attempt");
    scenario
        .at(11_200)
        .expect(&["launch 2 draft b/two hedge after 0 told resume"])
        .sent(2)
        .valid(2)
        .expect(&["accept 2", "cancel 0", "close draft ok", "finish delivered"]);
}
