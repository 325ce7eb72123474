//! Paths that other runs have closed, lines that stand still, and attempts that are turned away.

use std::sync::Arc;
use std::time::Duration;

use super::draft::Draft;
use super::scenario::{Scenario, failure, throttled};
use crate::domain::failure::{Failure, FailureClass, Scope};
use crate::domain::outcome::AttemptEnd;
use crate::domain::plan::Budget;
use crate::engine::Signals;
use crate::policy::health::Why;

fn two_paths() -> Draft {
    Draft::paths(&["a/one", "b/two"]).step("draft")
}

fn seconds(seconds: &[u64]) -> Vec<Duration> {
    seconds.iter().map(|s| Duration::from_secs(*s)).collect()
}

fn why(class: FailureClass) -> Option<Arc<Why>> {
    let said = format!("it said {class}");
    let event = Failure { scope: Scope::Quota, ..failure(class) }.throttle();
    event.map(|event| Arc::new(Why { event, said }))
}

/// What other runs have found: the paths are closed for so many seconds, by throttling.
fn closed(for_s: &[u64]) -> Signals {
    let why = for_s.iter().map(|s| why(FailureClass::RateLimited).filter(|_| *s > 0)).collect();
    Signals { closed_for: seconds(for_s), why, ..Signals::default() }
}

/// The first path is out for good.
fn out(class: FailureClass, rest: &[u64]) -> Signals {
    let mut closed_for = vec![Duration::MAX];
    closed_for.extend(seconds(rest));
    let others = rest.iter().map(|s| why(FailureClass::RateLimited).filter(|_| *s > 0));
    let why = [why(class)].into_iter().chain(others).collect();
    Signals { closed_for, why, ..Signals::default() }
}

fn line(for_s: &[u64]) -> Signals {
    Signals { line_for: seconds(for_s), ..Signals::default() }
}

#[test]
fn a_path_that_another_run_has_closed_is_not_tried_first() {
    two_paths()
        .start_knowing(closed(&[12, 0]))
        .expect(&["launch 0 draft b/two primary"])
        .because("passed over a/one, closed for 12 s: rate_limited in another run");
}

#[test]
fn a_path_that_is_out_for_good_is_never_waited_for() {
    let scenario = two_paths().start_knowing(out(FailureClass::Auth, &[20]));
    scenario
        .expect(&[])
        .because("no path can be used now; the first will be b/two, closed for 20 s: rate_limited in another run")
        .knows(Signals::default())
        .at(20_000)
        .expect(&["launch 0 draft b/two primary"])
        .because("passed over a/one, out: auth in another run");
}

#[test]
fn a_fallback_passes_over_what_is_closed_and_says_so() {
    Draft::paths(&["a/one", "b/two", "c/three"])
        .step("draft")
        .start()
        .skip()
        .knows(closed(&[0, 9, 0]))
        .fails(0, failure(FailureClass::ServerError))
        .knows(Signals::default())
        .at(50)
        .expect(&["launch 1 draft c/three next after 0 told resume"])
        .because("now on c/three; passed over b/two, closed for 9 s: rate_limited in another run");
}

#[test]
fn with_every_path_closed_beyond_the_deadline_a_run_fails_at_once_and_says_when_to_come_back() {
    let scenario = two_paths().start_knowing(closed(&[90, 70]));
    let scenario = scenario
        .expect(&["finish failed rate_limited draft"])
        .because("the first will be b/two, closed for 1 m 10 s: rate_limited in another run");
    let failure = scenario.failure();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(70)));
    insta::assert_snapshot!(failure.message, @"step 'draft' could not be had: no path of model 'main' is open in time: a/one is closed for 1 m 30 s (rate_limited: it said rate_limited); b/two is closed for 1 m 10 s (rate_limited: it said rate_limited)");
}

#[test]
fn with_every_path_out_for_good_a_run_fails_at_once_and_no_time_to_come_back_is_named() {
    let signals = Signals {
        closed_for: vec![Duration::MAX; 2],
        why: vec![why(FailureClass::Auth), why(FailureClass::QuotaExhausted)],
        ..Signals::default()
    };
    let scenario = two_paths().start_knowing(signals).expect(&["finish failed auth draft"]);
    let failure = scenario.failure();
    assert_eq!(failure.retry_after, None);
    assert!(
        failure
            .message
            .contains("a/one is out (auth: it said auth); b/two is out (quota_exhausted: ")
    );
}

#[test]
fn a_later_step_that_cannot_be_had_fails_the_run_before_the_first_is_paid() {
    let draft = |optional: bool| {
        let draft = Draft::paths(&["a/one"])
            .stronger(&["b/big"])
            .step("plan")
            .step("check")
            .after("plan")
            .with(|step| {
                if let crate::domain::plan::Work::Model { model, .. } = &mut step.work {
                    *model = crate::domain::id::ModelIx(1);
                }
            });
        if optional { draft.optional(80) } else { draft }
    };
    draft(false).start_knowing(closed(&[0, 300])).expect(&["finish failed rate_limited check"]);
    draft(true).start_knowing(closed(&[0, 300])).expect(&["launch 0 plan a/one primary"]);
}

#[test]
fn a_window_that_ends_in_time_is_waited_for() {
    two_paths()
        .start_knowing(closed(&[30, 40]))
        .expect(&[])
        .knows(Signals::default())
        .at(29_999)
        .expect(&[])
        .at(30_000)
        .expect(&["launch 0 draft a/one primary"]);
}

#[test]
fn where_a_line_stands_still_for_long_another_path_is_preferred_and_a_short_one_is_no_reason() {
    two_paths()
        .start_knowing(line(&[20, 0]))
        .expect(&["launch 0 draft b/two primary"])
        .because("passed over a/one, held up by its limits for 20 s at least");
    let short = Signals { line_for: vec![Duration::from_millis(900)], ..Signals::default() };
    two_paths().start_knowing(short.clone()).expect(&["launch 0 draft a/one primary"]);
    // What is short depends on how long a run may take.
    two_paths().deadline(3_000).start_knowing(short).expect(&["launch 0 draft b/two primary"]);
    two_paths().start_knowing(line(&[20, 30])).expect(&["launch 0 draft a/one primary"]);
}

#[test]
fn a_line_that_cannot_move_before_the_deadline_is_not_joined() {
    let scenario = two_paths().start_knowing(line(&[90, 80]));
    let scenario = scenario.expect(&["finish failed rate_limited draft"]);
    let failure = scenario.failure();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(80)));
    assert!(failure.message.contains("the limits before a/one let nothing through for 1 m 30 s"));
}

fn launched() -> Scenario {
    let draft = two_paths().budget(Budget { calls: Some(1), ..Budget::default() });
    draft.start_by_hand().prepared(0, 0, &[100]).skip()
}

#[test]
fn an_attempt_that_is_turned_away_counts_for_nothing() {
    let scenario = launched()
        .at(4_000)
        .knows(closed(&[30, 0]))
        .turned_away(0, throttled(30))
        .expect(&["launch 1 draft b/two primary"])
        .because("wait a/one was not sent to: closed by rate_limited")
        .because("passed over a/one, closed for 30 s: rate_limited in another run")
        .sent(1)
        .valid(1)
        .expect(&["accept 1", "close draft ok", "finish delivered"]);
    let first = scenario.machine.attempts().next().unwrap();
    assert_eq!(first.ended.map(|(_, end)| end), Some(AttemptEnd::Failed));
    assert_eq!(first.failure.map(|failure| failure.class), Some(FailureClass::RateLimited));
}

#[test]
fn where_all_are_turned_away_until_after_the_deadline_the_run_fails_and_says_when_to_come_back() {
    let scenario = launched().turned_away(0, throttled(90)).turned_away(1, throttled(80));
    assert_eq!(scenario.failure().retry_after, Some(Duration::from_secs(80)));
    assert!(scenario.failure().message.starts_with("step 'draft' could not be had: "));
}

#[test]
fn a_fallback_that_is_turned_away_uses_up_neither_an_attempt_nor_a_swap() {
    Draft::paths(&["a/one", "b/two", "c/three"])
        .step("draft")
        .policy(|policy| {
            policy.attempts = 2;
            policy.max_swaps = 1;
        })
        .start_by_hand()
        .prepared(0, 0, &[100])
        .skip()
        .sent(0)
        .fails(0, failure(FailureClass::ServerError))
        .at(50)
        .expect(&["launch 1 draft b/two next after 0 told resume"])
        .turned_away(1, throttled(30))
        .at(100)
        .expect(&["launch 2 draft c/three next after 0 told resume"])
        .sent(2)
        .fails(2, failure(FailureClass::ServerError))
        .at(40_000)
        .expect(&["finish failed server_error draft"])
        .because("fail all 2 attempts are used");
}

#[test]
fn what_was_sent_cannot_be_turned_away_any_more() {
    launched().sent(0).turned_away(0, throttled(30)).expect(&[]).valid(0).expect(&[
        "accept 0",
        "close draft ok",
        "finish delivered",
    ]);
}

#[test]
fn endless_turning_away_ends() {
    let mut scenario = Draft::paths(&["a/one"]).step("draft").start_by_hand().prepared(0, 0, &[9]);
    let blink = Failure { retry_after: Some(Duration::from_millis(1)), ..throttled(0) };
    for attempt in 0..300 {
        if scenario.machine.outcome().is_some() {
            assert!(attempt > 100);
            return;
        }
        scenario = scenario.turned_away(attempt, blink.clone());
        let next = scenario.now.millis() + 2;
        scenario = scenario.at(next);
    }
    panic!("it goes on for ever");
}
