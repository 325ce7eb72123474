//! The deadline: before anything else, in every phase, with exactly one outcome.

use super::draft::Draft;
use super::scenario::{Scenario, failure};
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, StepIx};
use crate::domain::outcome::Status;
use crate::domain::plan::NeedKind;
use crate::engine::{Event, Prepared};

#[test]
fn a_run_ends_a_reserve_before_its_deadline() {
    for (deadline, end) in
        [(60_000, 59_500), (20_000, 19_800), (1_000, 950), (60, 30), (0, 0), (600_000, 599_500)]
    {
        let scenario = Draft::paths(&["a/one"]).step("draft").deadline(deadline).start();
        assert_eq!(scenario.machine.end_at().millis(), end, "{deadline}");
        let scenario = scenario.at(end);
        assert!(scenario.machine.outcome().is_some(), "{deadline}");
    }
}

#[test]
fn a_caller_may_shorten_the_deadline_and_not_lengthen_it() {
    use crate::engine::Machine;
    use std::{sync::Arc, time::Duration};
    let plan = Arc::new(Draft::paths(&["a/one"]).step("draft").build());
    let deadline = |seconds| Machine::new(plan.clone(), Duration::from_secs(seconds)).deadline();
    assert_eq!((deadline(5), deadline(500)), (Duration::from_secs(5), Duration::from_secs(60)));
}

#[test]
fn an_answer_that_comes_with_the_deadline_is_too_late() {
    Draft::paths(&["a/one"])
        .step("draft")
        .deadline(5_000)
        .start()
        .skip()
        .by_hand()
        .at_exactly(4_950)
        .valid(0)
        .expect(&["cancel 0", "finish failed deadline draft"]);
}

#[test]
fn an_attempt_that_left_in_time_and_is_heard_of_at_the_end_is_paid_for() {
    let left = |event: Event| {
        let scenario =
            Draft::paths(&["a/one"]).step("draft").deadline(5_000).start_by_hand().skip();
        let scenario = scenario.prepared(0, 0, &[100]).skip().at_exactly(4_950).event(event);
        let scenario = scenario.expect(&["cancel 0", "finish failed deadline draft"]);
        scenario.machine.attempt(AttemptId(0)).map(|attempt| attempt.usage.input)
    };
    let attempt = AttemptId(0);
    assert_eq!(left(Event::Sent { attempt }), Some(100));
    assert_eq!(left(Event::FirstToken { attempt }), Some(100));
    assert_eq!(left(Event::Emitted { attempt, tokens: 3 }), Some(100));
    assert_eq!(left(Event::Woke), Some(0), "it stood in line to the end");
}

#[test]
fn nothing_is_asked_for_after_the_outcome() {
    let scenario = Draft::paths(&["a/one"]).step("draft").start().at(59_500).skip();
    let scenario = scenario
        .valid(0)
        .fails(0, failure(FailureClass::RateLimited))
        .event(Event::Withdrawn)
        .event(Event::Woke)
        .start(&[])
        .at(90_000)
        .expect(&[]);
    assert_eq!(scenario.machine.next_wakeup(), None);
}

fn ends(scenario: Scenario, outcome: &str, message: &str) {
    let scenario = scenario.at(59_500);
    assert_eq!(scenario.log().last().unwrap(), outcome);
    assert_eq!(scenario.failure().message, message);
}

#[test]
fn the_deadline_holds_before_the_run_is_started() {
    let plan = Draft::paths(&["a/one"]).step("draft").build();
    ends(
        Scenario::new(plan),
        "finish failed deadline draft",
        "the deadline of 1 m came before step 'draft' was done; it had not begun",
    );
}

#[test]
fn a_run_that_was_not_started_is_not_woken_for_its_shares() {
    let plan = Draft::paths(&["a/one"]).step("gaps").optional(10).build();
    Scenario::new(plan)
        .at(59_500)
        .expect(&["close gaps timed_out", "finish degraded missing [gaps] unverified []"]);
}

#[test]
fn the_deadline_holds_while_a_step_is_prepared() {
    ends(
        Draft::paths(&["a/one"]).step("draft").start_by_hand(),
        "finish failed deadline draft",
        "the deadline of 1 m came before step 'draft' was done",
    );
}

#[test]
fn the_deadline_holds_while_a_request_is_queued() {
    ends(
        Draft::paths(&["a/one"]).step("draft").start_by_hand().prepared(0, 0, &[100]),
        "finish failed deadline draft",
        "the deadline of 1 m came before step 'draft' was done: queued for a/one for 59.5 s",
    );
}

#[test]
fn the_deadline_holds_against_a_provider_that_never_answers() {
    ends(
        Draft::paths(&["a/one", "b/two"]).step("draft").start(),
        "finish failed deadline draft",
        "the deadline of 1 m came before step 'draft' was done: \
         no token from a/one in 59.5 s, no token from b/two in 49.5 s",
    );
}

#[test]
fn the_deadline_holds_against_a_provider_that_streams_for_ever() {
    let mut scenario = Draft::paths(&["a/one"]).step("draft").start();
    for second in 1..59 {
        scenario = scenario.at(second * 1_000).emitted(0, second);
    }
    ends(
        scenario,
        "finish failed deadline draft",
        "the deadline of 1 m came before step 'draft' was done: 58 tokens from a/one in 59.5 s",
    );
}

#[test]
fn the_deadline_holds_while_a_launch_waits_for_a_window() {
    let scenario = Draft::paths(&["a/one"]).step("draft").start();
    let scenario = scenario.fails(0, super::scenario::throttled(59)).at(59_000).skip();
    scenario.at(59_500).expect(&["cancel 1", "finish failed deadline draft"]);
}

#[test]
fn nothing_is_launched_at_the_deadline_or_after_it() {
    Draft::paths(&["a/one"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("draft")
        .start()
        .skip()
        .at(59_000)
        .fails(0, failure(FailureClass::ServerError))
        .expect(&["finish failed server_error draft"]);
}

#[test]
fn what_is_valid_goes_out_at_the_deadline_and_what_is_not_is_named() {
    Draft::paths(&["a/one"])
        .step("draft")
        .step("gaps")
        .optional(100)
        .start()
        .valid(0)
        .at(59_499)
        .skip()
        .at(59_500)
        .expect(&[
            "cancel 1",
            "cancel 2",
            "close gaps timed_out",
            "finish degraded missing [gaps] unverified []",
        ]);
}

#[test]
fn the_first_step_that_was_not_done_is_the_one_that_is_named() {
    let scenario = Draft::paths(&["a/one"])
        .step("plan")
        .step("gaps")
        .optional(90)
        .step("draft")
        .after("plan")
        .needs("gaps", NeedKind::Guarded)
        .start()
        .valid(0)
        .at(59_500);
    assert_eq!(scenario.failure().step, Some(StepIx(2)));
    let statuses: Vec<Status> = scenario.machine.steps().map(|s| s.status).collect();
    assert_eq!(statuses, [Status::Ok, Status::Cut, Status::TimedOut]);
}

#[test]
fn steps_that_had_not_begun_are_cancelled_and_not_timed_out() {
    let scenario =
        Draft::paths(&["a/one"]).step("plan").step("draft").after("plan").start().at(59_500);
    let statuses: Vec<Status> = scenario.machine.steps().map(|s| s.status).collect();
    assert_eq!(statuses, [Status::TimedOut, Status::Cancelled]);
}

#[test]
fn the_deadline_comes_before_a_withdrawal_and_before_any_event() {
    for event in [
        Event::Withdrawn,
        Event::Prepared { step: StepIx(0), round: 0, result: Prepared::Done },
        Event::Started { reused: vec![StepIx(0)] },
    ] {
        Draft::paths(&["a/one"])
            .step("draft")
            .start_by_hand()
            .skip()
            .at_exactly(59_500)
            .event(event)
            .expect(&["finish failed deadline draft"]);
    }
}

#[test]
fn what_a_step_without_an_attempt_waited_for_is_said() {
    let budget = crate::domain::plan::Budget { tokens: Some(310), ..Default::default() };
    let scenario = Draft::paths(&["a/one"])
        .edit(|plan| plan.providers[0].own_capacity = true)
        .step("plan")
        .step("gaps")
        .optional(100)
        .edit(|plan| plan.steps.swap(0, 1))
        .budget(budget)
        .start()
        .at(59_500);
    assert_eq!(
        scenario.failure().message,
        "the deadline of 1 m came before step 'plan' was done; \
         another attempt, on a/one, waited for the budget"
    );
}
