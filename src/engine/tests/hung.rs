//! Providers that hang: what keeps a place in the race and says nothing gives it up to an attempt elsewhere.

use std::time::Duration;

use super::draft::Draft;
use super::measured::short;
use super::scenario::{Scenario, failure};
use crate::domain::failure::FailureClass;
use crate::domain::money::Price;
use crate::domain::outcome::AttemptEnd;
use crate::domain::plan::{Budget, Cutoff, Plan};
use crate::engine::{Event, Signals};
use crate::latency::book::Book;
use crate::planner::Pilot;
use crate::policy::permit::{Claim, Shortage, Stock};

fn fixed(first_token: Option<u64>, total: Option<u64>) -> Cutoff {
    let seconds = |of: Option<u64>| of.map(Duration::from_secs);
    Cutoff::Fixed { first_token: seconds(first_token), idle: None, total: seconds(total) }
}

fn two_paths() -> Draft {
    Draft::paths(&["a/one", "b/two"]).step("draft")
}

/// Each is cut after 4 s without a token.
fn three_paths() -> Draft {
    let draft = Draft::paths(&["a/one", "b/two", "c/three"]).step("draft");
    draft.policy(|policy| policy.cutoff = fixed(Some(4), None))
}

/// From now on this is what there is, in tenths, for extra attempts on each path.
fn has(mut scenario: Scenario, tenths: &[u64]) -> Scenario {
    scenario.signals.permits = tenths.iter().map(|n| Stock::of(n * 100_000)).collect();
    scenario.event(Event::Woke)
}

fn claims(scenario: &Scenario) -> Vec<Claim> {
    scenario.machine.attempts().map(|attempt| attempt.spec.claim).collect()
}

#[test]
fn a_silent_provider_is_given_no_more_while_another_lacks_but_a_permit() {
    let scenario = has(two_paths().start(), &[36, 0]).skip().at(19_999);
    let scenario = scenario
        .expect(&[])
        .because("wait b/two bears no extra attempt: no whole permit is there, but 0.0")
        .at(20_000)
        .expect(&["cancel 0", "launch 1 draft b/two hedge after 0 told resume"])
        .because("a/one has been silent for 20 s, and no attempt more may join it: given up")
        .valid(1)
        .expect(&["accept 1", "close draft ok", "finish delivered"]);
    assert_eq!(claims(&scenario), [Claim::Earns, Claim::Takes]);
}

#[test]
fn nor_is_another_path_of_it() {
    let draft = Draft::paths(&["a/one", "a/two", "b/three"]).step("draft");
    let scenario = has(draft.start(), &[36, 36, 0]).skip().at(12_000).expect(&[]);
    has(scenario, &[36, 36, 10])
        .at(13_100)
        .expect(&["launch 1 draft b/three hedge after 0 told resume"]);
}

#[test]
fn where_tokens_had_flowed_and_where_there_is_no_other_the_same_path_is_raced() {
    let stalled = has(two_paths().start(), &[36, 0]).skip().at(1_000).emitted(0, 5);
    stalled.at(9_100).expect(&["launch 1 draft a/one hedge after 0 told nothing"]);
    let alone = Draft::paths(&["a/one"]).step("draft");
    has(alone.start(), &[36])
        .skip()
        .at(10_100)
        .expect(&["launch 1 draft a/one hedge after 0 told nothing"]);
    // An account that is closed lacks more than a permit.
    let closed = has(two_paths().start(), &[36, 0]).skip().signal(&[0, 50_000]);
    has(closed, &[36, 0]).at(10_100).expect(&["launch 1 draft a/one hedge after 0 told nothing"]);
}

#[test]
fn in_a_full_race_of_which_all_hang_the_oldest_gives_its_place_to_another_path() {
    let scenario = three_paths().start().skip().at(4_050);
    let scenario = scenario
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .at(12_049)
        .expect(&[])
        .because("wait 2 attempts are in flight, the most there may be")
        .at(12_050)
        .expect(&["cancel 0", "launch 2 draft c/three hedge after 1 told resume"])
        .because("cancel a/one has been silent for 12.1 s, and no attempt more may join it")
        .valid(2)
        .expect(&["accept 2", "cancel 1", "close draft ok", "finish delivered"]);
    let first = scenario.machine.attempts().next().unwrap();
    assert_eq!(first.ended.map(|(_, end)| end), Some(AttemptEnd::Cut));
    assert_eq!((first.usage.input, first.usage.estimated), (100, true), "it is paid for");
}

#[test]
fn who_replaces_another_takes_a_permit_and_goes_without_but_not_under_pressure() {
    let scenario = has(three_paths().start(), &[90, 90, 90]).skip().at(12_050);
    let scenario = scenario.expect(&[
        "launch 1 draft b/two hedge after 0 told resume",
        "cancel 0",
        "launch 2 draft c/three hedge after 1 told resume",
    ]);
    assert_eq!(claims(&scenario), [Claim::Earns, Claim::Needs, Claim::Takes]);
    let without = has(three_paths().start(), &[90, 90, 0]).skip();
    without.at(12_050).expect(&[
        "launch 1 draft b/two hedge after 0 told resume",
        "cancel 0",
        "launch 2 draft c/three hedge after 1 told resume",
    ]);
    let mut pressed = has(three_paths().start(), &[90, 90, 90]).skip();
    let wait = Duration::from_secs(2);
    pressed.signals.permits[2] =
        Stock { shortage: Some(Shortage::Throttled), wait, ..Stock::of(9_000_000) };
    let pressed = pressed.event(Event::Woke).at(20_000);
    let pressed = pressed.expect(&["launch 1 draft b/two hedge after 0 told resume"]);
    has(pressed, &[90, 90, 90])
        .at(22_200)
        .expect(&["cancel 0", "launch 2 draft c/three hedge after 1 told resume"]);
}

#[test]
fn a_path_that_was_closed_at_the_cut_replaces_what_hangs_when_it_has_opened() {
    let raced = |opens: u64| {
        let scenario = two_paths().start().skip().signal(&[0, opens]);
        scenario.at(20_000).expect(&["launch 1 draft a/one hedge after 0 told nothing"])
    };
    let replaced = &["cancel 0", "launch 2 draft b/two hedge after 1 told resume"];
    raced(15_000).at(29_999).expect(&[]).at(30_000).expect(replaced);
    raced(40_000).at(39_999).expect(&[]).at(40_000).expect(replaced);
}

#[test]
fn a_path_whose_line_had_no_end_at_the_cut_is_found_later() {
    let line = Signals { line_for: [0, 90].map(Duration::from_secs).into(), ..Signals::default() };
    two_paths()
        .start_knowing(line)
        .skip()
        .at(25_000)
        .expect(&["launch 1 draft a/one hedge after 0 told nothing"])
        .knows(Signals::default())
        .at(30_050)
        .expect(&["cancel 0", "launch 2 draft b/two hedge after 1 told resume"]);
}

#[test]
fn nothing_is_given_up_while_one_says_something() {
    let flowing = three_paths().policy(|policy| policy.cutoff = fixed(Some(4), Some(6)));
    let mut scenario = flowing.start().skip().at(4_050).skip();
    for second in 8..40 {
        scenario = scenario.at(second * 1_000).emitted(1, second);
    }
    // It stops, and is waited for twice as long as the whole of it may take.
    scenario
        .expect(&[])
        .at(50_999)
        .expect(&[])
        .at(51_000)
        .expect(&["cancel 0", "launch 2 draft c/three hedge after 1 told resume"]);
}

#[test]
fn nothing_is_given_up_for_an_attempt_that_may_not_be_made() {
    let launched = &["launch 1 draft b/two hedge after 0 told resume"];
    let used = three_paths().policy(|policy| policy.attempts = 2);
    used.start().skip().at(40_000).expect(launched).because("wait all 2 attempts are used");
    let swaps = three_paths().policy(|policy| policy.max_swaps = 1);
    swaps.start().skip().at(40_000).expect(launched);
    let calls = three_paths().budget(Budget { calls: Some(2), ..Budget::default() });
    calls.start().skip().at(40_000).expect(launched);
}

#[test]
fn the_budget_that_what_hangs_keeps_is_free_for_what_replaces_it() {
    // 300 tokens for the first and 2,800 for each that follows.
    let tokens = Some(5_750);
    let tight = three_paths().budget(Budget { tokens, ..Budget::default() });
    tight.start().skip().at(12_050).expect(&[
        "launch 1 draft b/two hedge after 0 told resume",
        "cancel 0",
        "launch 2 draft c/three hedge after 1 told resume",
    ]);
}

#[test]
fn a_failure_frees_a_place_as_before() {
    three_paths()
        .start()
        .skip()
        .at(9_000)
        .skip()
        .fails(0, failure(FailureClass::ServerError))
        .expect(&["launch 2 draft c/three hedge after 1 told resume"]);
}

#[test]
fn who_was_sent_in_the_moment_of_the_end_is_paid_for_however_many_they_are() {
    let many = Draft::paths(&["a/one"]).step("read").each(8, 100);
    let scenario = many.start_by_hand().prepared(0, 0, &[10, 20, 30]).at(59_499).skip();
    let scenario = scenario.at_exactly(59_500).sent(0).sent(1).expect(&[]);
    let scenario = scenario.event(Event::Woke).skip();
    assert!(scenario.machine.outcome().is_some());
    let input: Vec<u64> = scenario.machine.attempts().map(|a| a.usage.input).collect();
    assert_eq!(input, [10, 20, 0]);
}

#[test]
fn who_keeps_talking_at_the_end_does_not_put_it_off() {
    let many = Draft::paths(&["a/one"]).step("read").each(8, 100);
    let mut scenario = many.start_by_hand().prepared(0, 0, &[10, 20]).at(59_499).at_exactly(59_500);
    for tokens in 1..=5 {
        scenario = scenario.emitted(0, tokens);
    }
    assert!(scenario.machine.outcome().is_some());
}

/// A step that the planner decides about, on a path of each of these, all of them free of charge.
fn planned(labels: &[&str]) -> Scenario {
    let free = |plan: &mut Plan| {
        plan.paths.iter_mut().for_each(|path| path.profile.price = Some(Price::default()));
    };
    let steps = || Draft::paths(labels).step("draft").step("edit").after("draft");
    let draft =
        || steps().step("end").after("edit").step("last").after("end").deadline(150_000).edit(free);
    let plan = draft().build();
    let told = Pilot::of(&plan, &Book::new(), Duration::ZERO);
    let times = vec![vec![Some(short()); labels.len()]; 4];
    let pilot = Pilot { times, ..told }.planned(&plan);
    assert!(pilot.tables.is_some());
    draft().knowing(pilot).start_at_once()
}

#[test]
fn the_planner_is_not_held_by_a_full_race_of_which_all_hang() {
    let scenario = planned(&["a/one", "b/two", "c/three", "d/four"]).at(70_000).at(140_000);
    let scenario = scenario
        .expect(&[
            "launch 0 draft a/one primary",
            "launch 1 draft b/two hedge after 0 told nothing",
            "launch 2 draft c/three hedge after 1 told nothing",
            "cancel 0",
            "launch 3 draft d/four hedge after 0 told nothing",
        ])
        .because("no attempt more may join it: given up");
    assert_eq!(claims(&scenario)[3], Claim::Takes);
}

#[test]
fn nothing_is_given_up_for_what_would_have_less_time_than_it_had() {
    let late = three_paths().deadline(16_200);
    late.start().skip().at(16_000).expect(&["launch 1 draft b/two hedge after 0 told resume"]);
    let enough = three_paths().deadline(16_300).start().skip().at(12_050);
    assert!(enough.log().contains(&"cancel 0".to_owned()));
}

#[test]
fn the_planner_is_not_held_by_one_that_hangs_where_no_other_has_a_permit() {
    // Of 100 first tokens 99 take 7 s at most.
    let scenario = has(planned(&["a/one", "b/two"]), &[0, 0]).at(20_999);
    let scenario = scenario.expect(&["launch 0 draft a/one primary"]).at(21_500);
    let scenario = scenario
        .expect(&["cancel 0", "launch 1 draft b/two hedge after 0 told nothing"])
        .because("a/one has been silent for 21 s, and no attempt more may join it: given up");
    assert_eq!(claims(&scenario), [Claim::Earns, Claim::Takes]);
}

#[test]
fn nor_where_no_permit_can_come_before_the_end() {
    let draft = two_paths().deadline(500).policy(|policy| {
        let first_token = Some(Duration::from_millis(150));
        policy.cutoff = Cutoff::Fixed { first_token, idle: None, total: None };
    });
    has(draft.start(), &[36, 0]).skip().at(290).expect(&[]);
}
