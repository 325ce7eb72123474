//! Hedges before the cutoff: another attempt beside one that has not answered.

use std::time::Duration;

use super::draft::Draft;
use super::scenario::{Scenario, failure, throttled};
use crate::domain::failure::FailureClass;
use crate::domain::plan::{After, Cutoff, Hedge, OnSlow, Policy};
use crate::domain::time::Share;
use crate::policy::permit::Traffic;

fn after(seconds: u64) -> impl FnOnce(&mut Policy) {
    let after = After::Fixed(Duration::from_secs(seconds));
    move |policy| policy.hedge = Hedge::After { after, max_extra: Hedge::MAX_EXTRA }
}

fn two_paths() -> Draft {
    Draft::paths(&["a/one", "b/two"]).step("draft").policy(after(4))
}

/// From now on this is what has been sent to `a` and to `b`.
fn sent(mut scenario: Scenario, a: (u32, u32), b: (u32, u32)) -> Scenario {
    let traffic = |(primaries, extras)| Traffic { primaries, extras };
    scenario.signals.traffic = vec![traffic(a), traffic(b)];
    scenario
}

#[test]
fn another_attempt_joins_before_the_cutoff_and_the_first_keeps_its_own() {
    let scenario = two_paths()
        .start()
        .expect(&["launch 0 draft a/one primary"])
        .at(4_049)
        .expect(&[])
        .at(4_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("launch no answer after 4 s on a/one; now on b/two")
        .at(10_050)
        .because("cut no first token on a/one within 10 s")
        .expect(&[]);
    let extra: Vec<_> = scenario.machine.attempts().map(|a| a.spec.extra_of).collect();
    assert_eq!(extra, [None, Some(crate::domain::id::PathIx(0))]);
    scenario.valid(0).expect(&["accept 0", "cancel 1", "close draft ok", "finish delivered"]);
}

#[test]
fn the_extra_attempt_wins_where_it_is_first() {
    two_paths().start().at(5_000).skip().valid(1).expect(&[
        "accept 1",
        "cancel 0",
        "close draft ok",
        "finish delivered",
    ]);
}

#[test]
fn its_clock_starts_when_the_request_is_sent() {
    two_paths()
        .start_by_hand()
        .prepared(0, 0, &[100])
        .at(3_000)
        .sent(0)
        .skip()
        .at(7_049)
        .expect(&[])
        .at(7_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn an_answer_in_the_pause_before_it_is_launched_still_spares_it() {
    two_paths().start().skip().at(4_020).valid(0).expect(&[
        "accept 0",
        "close draft ok",
        "finish delivered",
    ]);
}

#[test]
fn an_invalid_answer_in_that_pause_is_repaired_and_not_raced() {
    two_paths()
        .start()
        .skip()
        .at(4_020)
        .invalid(0)
        .expect(&["launch 1 draft a/one repair after 0 told violations"]);
}

#[test]
fn tokens_that_flow_are_not_repeated_on_the_same_path() {
    Draft::paths(&["a/one"])
        .step("draft")
        .policy(after(4))
        .start()
        .skip()
        .at(1_000)
        .emitted(0, 9)
        .at(8_000)
        .expect(&[])
        .because("wait no other path can be used");
    Draft::paths(&["a/one"])
        .step("draft")
        .policy(after(4))
        .start()
        .skip()
        .at(4_000)
        .expect(&["launch 1 draft a/one hedge after 0 told nothing"]);
}

#[test]
fn own_capacity_is_not_raced_on_the_same_path_either() {
    Draft::paths(&["a/one"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("draft")
        .policy(after(4))
        .start()
        .skip()
        .at(9_000)
        .expect(&[]);
}

#[test]
fn a_closed_path_is_not_waited_for_before_the_cutoff() {
    Draft::paths(&["a/one", "b/two"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("draft")
        .policy(after(4))
        .start()
        .skip()
        .signal(&[0, 8_000])
        .at(7_999)
        .expect(&[])
        .because("wait no other path can be used")
        .at(8_500)
        .emitted(0, 1)
        .at(8_600)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn at_most_a_share_of_the_primaries_is_extra_and_the_numbers_are_said() {
    let scenario = sent(two_paths().start(), (15, 2), (0, 0)).skip().at(9_999);
    let scenario = scenario.expect(&[]).because(
        "wait a/one has no extra attempt left: 2 extra of 15 primaries in 10 min, at most 10%",
    );
    let waits = scenario.words().iter().filter(|said| said.contains("primaries")).count();
    assert_eq!(waits, 1, "{:?}", scenario.words());
    scenario.at(10_050).expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn a_server_of_few_calls_may_hedge_once_all_the_same() {
    sent(two_paths().start(), (1, 0), (0, 5))
        .skip()
        .at(4_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
    sent(two_paths().start(), (1, 1), (900, 0)).skip().at(9_999).expect(&[]);
}

#[test]
fn a_permit_that_comes_free_is_taken_when_something_happens() {
    let scenario = sent(two_paths().start(), (9, 1), (0, 0)).skip().at(6_000).expect(&[]);
    sent(scenario, (20, 1), (0, 0))
        .emitted(0, 3)
        .at(6_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"]);
}

#[test]
fn what_is_launched_in_one_moment_counts_at_once() {
    let draft = Draft::paths(&["a/one", "b/two"]).step("read").each(8, 100).policy(after(4));
    let scenario = draft.start_by_hand().prepared(0, 0, &[10, 10, 10]);
    let scenario = sent(scenario, (25, 0), (0, 0)).sent(0).sent(1).sent(2).skip();
    scenario
        .at(4_050)
        .expect(&[
            "launch 3 read[0] b/two hedge after 0 told resume",
            "launch 4 read[1] b/two hedge after 1 told resume",
        ])
        .because("2 extra of 25 primaries");
}

#[test]
fn only_items_that_block_the_join_are_hedged() {
    let draft = Draft::paths(&["a/one", "b/two"]).step("read").each(2, 100).policy(after(4));
    draft
        .start_by_hand()
        .prepared(0, 0, &[10, 10, 10, 10])
        .sent(0)
        .sent(1)
        .skip()
        .at(6_000)
        .expect(&[])
        .valid(1)
        .expect(&["accept 1", "launch 2 read[2] a/one primary"])
        .sent(2)
        .at(8_000)
        .expect(&[])
        .valid(2)
        .expect(&["accept 2", "launch 3 read[3] a/one primary"])
        .at(8_050)
        .expect(&["launch 4 read[0] b/two hedge after 0 told resume"]);
}

#[test]
fn the_extra_attempt_counts_among_the_attempts() {
    two_paths()
        .policy(|p| p.attempts = 1)
        .start()
        .skip()
        .at(9_000)
        .expect(&[])
        .because("wait all 1 attempts are used");
}

#[test]
fn the_extra_attempt_failing_leaves_the_first_as_it_was() {
    two_paths()
        .start()
        .at(5_000)
        .skip()
        .fails(1, failure(FailureClass::ServerError))
        .at(9_999)
        .expect(&[])
        .at(10_000)
        .because("cut no first token on a/one within 10 s");
}

#[test]
fn a_shorter_cutoff_comes_first() {
    two_paths()
        .policy(|p| {
            let first_token = Some(Duration::from_secs(2));
            p.cutoff = Cutoff::Fixed { first_token, idle: None, total: None };
        })
        .start()
        .skip()
        .at(2_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .because("launch no first token on a/one; now on b/two");
}

#[test]
fn slow_fail_is_about_the_cutoff_and_not_about_hedges() {
    two_paths()
        .policy(|p| p.on.slow = OnSlow::Fail)
        .start()
        .skip()
        .at(4_050)
        .expect(&["launch 1 draft b/two hedge after 0 told resume"])
        .at(10_000)
        .expect(&["cancel 0"]);
}

#[test]
fn a_first_attempt_that_fails_before_its_hedge_is_followed_as_ever() {
    two_paths()
        .start()
        .skip()
        .at(4_020)
        .fails(0, throttled(60))
        .at(4_080)
        .expect(&["launch 1 draft b/two next after 0 told resume"]);
}

#[test]
fn a_percentile_waits_for_the_cutoff_while_nothing_is_measured() {
    let p95 = Hedge::After { after: After::Percentile(95), max_extra: Share::ALL };
    let scenario = Draft::paths(&["a/one", "b/two"])
        .step("read")
        .each(8, 100)
        .policy(|p| p.hedge = p95)
        .start_by_hand()
        .prepared(0, 0, &[10, 10])
        .sent(0)
        .sent(1)
        .skip()
        .at(9_999)
        .expect(&[]);
    let said: Vec<_> = scenario.words().iter().filter(|said| said.contains("p95")).collect();
    let words = "wait p95 is not measured yet (fewer than 20 samples): no other attempt joins it before its cutoff";
    assert_eq!(said, [words]);
    scenario.at(10_050).expect(&[
        "launch 2 read[0] b/two hedge after 0 told resume",
        "launch 3 read[1] b/two hedge after 1 told resume",
    ]);
}

#[test]
fn what_a_hedge_does_is_said_in_words() {
    let hedge = |after| Hedge::After { after, max_extra: Hedge::MAX_EXTRA }.to_string();
    assert_eq!(
        hedge(After::Fixed(Duration::from_secs(4))),
        "the one that was cut stays in the race, and the first valid answer wins; after 4 s another attempt \
         joins it before its cutoff (at most 10% of the quota's first attempts over ten minutes, one at least)"
    );
    assert_eq!(
        hedge(After::Percentile(95)),
        "the one that was cut stays in the race, and the first valid answer wins; at p95 of the measured times \
         another attempt joins it before its cutoff; below 20 samples, as now, at its cutoff \
         (at most 10% of the quota's first attempts over ten minutes, one at least)"
    );
}
