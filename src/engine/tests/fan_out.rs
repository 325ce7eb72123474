//! Fan-out: items in turn, `min_ok`, `cutoff_at`, and a thousand of them.

use super::draft::Draft;
use super::scenario::{Scenario, failure, throttled};
use crate::domain::failure::FailureClass;
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::outcome::{Outcome, Status};
use crate::domain::plan::{Budget, Cutoff, NeedKind};
use crate::engine::{Action, Event, FAN_OUT_MAX};

/// Items of the step `each`, started with so many.
fn items(draft: Draft, count: usize) -> Scenario {
    let mut scenario = draft.start_by_hand().skip().prepared(0, 0, &vec![100; count]);
    let launched: Vec<u32> = scenario.machine.attempts().map(|a| a.spec.attempt.0).collect();
    for attempt in launched {
        scenario = scenario.sent(attempt);
    }
    scenario
}

/// Items whose failures end them: there is one path only.
fn lonely(max_parallel: u32, min_ok: u16) -> Draft {
    Draft::paths(&["a/one"]).step("each").each(max_parallel, min_ok)
}

fn each(max_parallel: u32, min_ok: u16) -> Draft {
    Draft::paths(&["a/one", "b/two"]).step("each").each(max_parallel, min_ok)
}

#[test]
fn items_are_launched_in_turn_as_many_at_once_as_allowed() {
    items(each(2, 100), 3)
        .expect(&["launch 0 each[0] a/one primary", "launch 1 each[1] a/one primary"])
        .valid(1)
        .expect(&["accept 1", "launch 2 each[2] a/one primary"])
        .valid(0)
        .valid(2)
        .expect(&["accept 0", "accept 2", "close each ok", "finish delivered"]);
}

#[test]
fn an_empty_list_is_done_at_once() {
    for min_ok in [0, 50, 100] {
        items(each(2, min_ok), 0).expect(&["close each ok", "finish delivered"]);
    }
}

#[test]
fn a_failed_item_is_removed_and_named_as_missing() {
    items(lonely(8, 60), 3)
        .skip()
        .valid(0)
        .fails(1, failure(FailureClass::ContextOverflow))
        .expect(&["accept 0"])
        .valid(2)
        .expect(&["accept 2", "close each ok", "finish degraded missing [each[1]] unverified []"]);
}

#[test]
fn below_min_ok_the_step_fails_as_soon_as_it_is_certain() {
    let fails = |s: Scenario, item| s.fails(item, failure(FailureClass::ContextOverflow));
    let scenario = items(lonely(10, 80), 10).skip().valid(0);
    let scenario = fails(fails(scenario, 1), 2).expect(&["accept 0"]);
    let scenario = fails(scenario, 3).because("fail 3 of 10 items failed, 8 needed");
    assert_eq!(scenario.log().last().unwrap(), "finish failed context_overflow each");
}

#[test]
fn min_ok_of_nothing_never_fails() {
    items(lonely(8, 0), 2)
        .skip()
        .fails(0, failure(FailureClass::ContextOverflow))
        .fails(1, failure(FailureClass::ContextOverflow))
        .expect(&["close each ok", "finish degraded missing [each[0] each[1]] unverified []"]);
}

fn with_cutoff() -> Draft {
    use crate::domain::time::Share;
    let written = Cutoff::Fixed { first_token: None, idle: None, total: None };
    lonely(8, 50).with(|s| s.cutoff_at = Share::percent(50)).policy(|p| p.cutoff = written)
}

#[test]
fn a_fan_out_with_enough_items_is_closed_at_its_share() {
    items(with_cutoff(), 4)
        .valid(0)
        .valid(2)
        .skip()
        .at(29_999)
        .expect(&[])
        .at(30_000)
        .expect(&[
            "cancel 1",
            "cancel 3",
            "close each ok",
            "finish degraded missing [each[1] each[3]] unverified []",
        ])
        .because("close 2 of 4 items are there, 2 needed");
}

#[test]
fn a_fan_out_without_enough_items_at_its_share_closes_with_the_first_that_suffices() {
    items(with_cutoff(), 4).valid(0).skip().at(35_000).expect(&[]).valid(3).expect(&[
        "accept 3",
        "cancel 1",
        "cancel 2",
        "close each ok",
        "finish degraded missing [each[1] each[2]] unverified []",
    ]);
}

#[test]
fn an_optional_fan_out_without_enough_items_is_cut_at_its_share() {
    items(with_cutoff().with(|s| s.optional = true), 4).valid(0).skip().at(30_000).expect(&[
        "cancel 1",
        "cancel 2",
        "cancel 3",
        "close each cut",
        "finish degraded missing [each] unverified []",
    ]);
}

#[test]
fn a_fan_out_with_enough_items_goes_out_at_the_deadline() {
    let written = Cutoff::Fixed { first_token: None, idle: None, total: None };
    items(each(8, 50).policy(|p| p.cutoff = written), 3)
        .valid(0)
        .valid(1)
        .skip()
        .at(59_500)
        .expect(&["cancel 2", "close each ok", "finish degraded missing [each[2]] unverified []"]);
}

#[test]
fn items_of_a_closed_fan_out_are_shown_as_what_became_of_them() {
    let scenario =
        items(with_cutoff(), 4).valid(0).valid(2).fails(1, failure(FailureClass::ContextOverflow));
    let scenario = scenario.at(30_000);
    let step = scenario.machine.steps().next().unwrap();
    let items: Vec<Status> = step.items().map(|item| item.status).collect();
    assert_eq!(items, [Status::Ok, Status::Failed, Status::Ok, Status::Cut]);
}

#[test]
fn a_dead_provider_is_not_asked_by_the_items_that_follow() {
    items(each(1, 0), 3)
        .skip()
        .fails(0, failure(FailureClass::Auth))
        .at(50)
        .expect(&["launch 1 each[0] b/two next after 0 told resume"])
        .valid(1)
        .expect(&["accept 1", "launch 2 each[1] b/two primary"]);
}

#[test]
fn with_every_provider_dead_the_items_that_follow_fail_without_an_attempt() {
    let scenario = items(each(1, 0), 40).skip();
    let scenario = scenario.fails(0, failure(FailureClass::Auth)).at(50);
    let scenario = scenario.fails(1, failure(FailureClass::QuotaExhausted));
    assert_eq!(scenario.machine.attempts().count(), 2);
    assert!(
        matches!(scenario.machine.outcome(), Some(Outcome::Degraded { missing, .. }) if missing.len() == 40)
    );
    let step = scenario.machine.steps().next().unwrap();
    let reasons: Vec<_> = step.items().filter_map(|i| i.failure.map(|f| f.class)).collect();
    assert!(reasons.iter().all(|class| *class == FailureClass::QuotaExhausted));
}

#[test]
fn an_item_without_an_open_path_is_told_what_closed_it_and_not_another_failure() {
    let scenario = Draft::paths(&["a/one"])
        .step("each")
        .each(1, 0)
        .start_by_hand()
        .prepared(0, 0, &[100, 100, 100])
        .sent(0)
        .invalid(0)
        .sent(1)
        .valid(1)
        .signal(&[90_000])
        .sent(2)
        .fails(2, failure(FailureClass::ContextOverflow));
    let step = scenario.machine.steps().next().unwrap();
    let last = step.items().last().unwrap();
    let failure = last.failure.unwrap();
    assert_eq!(failure.class, FailureClass::RateLimited);
    let text = "no path of model 'main' is open in time: a/one is closed for 1 m 30 s";
    assert_eq!(failure.message, text);
    assert_eq!(failure.retry_after, Some(std::time::Duration::from_secs(90)));
}

#[test]
fn items_of_one_quota_wait_for_its_window_together() {
    let draft = Draft::paths(&["a/one"]).step("each").each(3, 100);
    items(draft, 3)
        .skip()
        .fails(0, throttled(5))
        .fails(1, throttled(6))
        .fails(2, throttled(4))
        .at(5_999)
        .expect(&[])
        .at(6_000)
        .expect(&[
            "launch 3 each[0] a/one next after 0 told resume",
            "launch 4 each[1] a/one next after 1 told resume",
            "launch 5 each[2] a/one next after 2 told resume",
        ]);
}

#[test]
fn items_held_by_the_budget_take_what_the_others_give_back_without_being_woken() {
    let budget = Budget { tokens: Some(720), ..Budget::default() };
    let scenario = items(each(8, 100).budget(budget), 4)
        .expect(&["launch 0 each[0] a/one primary", "launch 1 each[1] a/one primary"]);
    assert_eq!(scenario.machine.next_wakeup().unwrap().millis(), 10_000);
    scenario
        .valid(0)
        .expect(&["accept 0", "launch 2 each[2] a/one primary"])
        .sent(2)
        .valid(1)
        .expect(&["accept 1"])
        .valid(2)
        .expect(&["accept 2", "launch 3 each[3] a/one primary"]);
}

#[test]
fn the_last_wave_has_all_the_time_left_and_not_a_share_of_it() {
    let mut scenario = Draft::paths(&["a/one", "b/two"])
        .step("each")
        .each(1, 100)
        .start_by_hand()
        .prepared(0, 0, &[100; 10]);
    for item in 0..9 {
        scenario = scenario.sent(item).at(u64::from(item + 1) * 1_000).valid(item);
    }
    let scenario = scenario.sent(9).skip();
    assert_eq!(scenario.machine.next_wakeup().unwrap().millis(), 19_000, "first token, 10 s");
}

#[test]
fn a_consumer_of_a_fan_out_starts_when_it_is_closed() {
    let scenario = items(each(8, 100).step("draft").needs("each", NeedKind::Output), 2);
    scenario.skip().valid(0).valid(1).expect(&[
        "accept 0",
        "accept 1",
        "close each ok",
        "prepare draft 0",
    ]);
}

#[test]
fn a_thousand_items_are_each_launched_and_accepted_once() {
    let draft = each(8, 100);
    let mut scenario = draft.start_by_hand().skip();
    let step = StepIx(0);
    let mut launched = vec![0_u32; FAN_OUT_MAX];
    let mut ready = std::collections::VecDeque::new();
    scenario = scenario.prepared(0, 0, &vec![100; FAN_OUT_MAX]);
    ready.extend(scenario.machine.attempts().map(|a| a.spec.clone()));
    let mut most = ready.len();
    while let Some(spec) = ready.pop_front() {
        assert_eq!(spec.step, step);
        launched[spec.item.at()] += 1;
        let (attempt, usage) = (spec.attempt, super::scenario::used(100, 20));
        let verdict = crate::engine::Verdict::Valid { pass: None };
        let event = Event::Ended { attempt, usage, verdict };
        for action in scenario.machine.handle(event, &scenario.signals, scenario.now) {
            if let Action::Launch(spec) = action {
                ready.push_back(spec);
            }
        }
        most = most.max(ready.len());
    }
    assert_eq!(most, 8);
    assert!(launched.iter().all(|n| *n == 1));
    assert_eq!(scenario.machine.outcome(), Some(&Outcome::Delivered));
    let last = scenario.machine.attempts().last().unwrap().spec.item;
    assert_eq!(last, ItemIx(999));
}

#[test]
fn a_thousand_items_that_never_answer_end_with_the_deadline_after_few_wakeups() {
    let scenario = items(each(8, 100), FAN_OUT_MAX).skip().at(59_500);
    assert_eq!(scenario.log().last().unwrap(), "finish failed deadline each");
    assert!(scenario.machine.attempts().count() <= 16, "8 items and an extra one each");
}
