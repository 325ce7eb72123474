//! The life of a run: start, reuse, withdrawal, and events out of place.

use super::draft::Draft;
use super::scenario::{Scenario, failure};
use crate::domain::failure::FailureClass;
use crate::domain::id::{AttemptId, StepIx};
use crate::domain::outcome::{AttemptEnd, Status};
use crate::engine::{Event, Prepared};

fn chain() -> Draft {
    Draft::paths(&["a/one"]).step("plan").step("draft").after("plan").step("reply").after("draft")
}

#[test]
fn a_chain_is_prepared_step_by_step_and_delivered() {
    chain()
        .start_by_hand()
        .expect(&["prepare plan 0"])
        .at(20)
        .prepared(0, 0, &[812])
        .expect(&["launch 0 plan a/one primary"])
        .because("launch first attempt on a/one, about 812 prompt tokens")
        .at(4_100)
        .valid(0)
        .expect(&["accept 0", "close plan ok", "prepare draft 0"])
        .prepared(1, 0, &[100])
        .valid(1)
        .expect(&["launch 1 draft a/one primary", "accept 1", "close draft ok", "prepare reply 0"])
        .prepared(2, 0, &[100])
        .valid(2)
        .expect(&["launch 2 reply a/one primary", "accept 2", "close reply ok", "finish delivered"])
        .because("finish every step has ended");
}

#[test]
fn steps_that_need_nothing_of_each_other_run_side_by_side() {
    Draft::paths(&["a/one"])
        .step("one")
        .step("two")
        .start_by_hand()
        .expect(&["prepare one 0", "prepare two 0"]);
}

#[test]
fn a_plan_without_steps_is_delivered_at_once() {
    Draft::paths(&["a/one"]).start().expect(&["finish delivered"]);
}

#[test]
fn a_value_step_needs_no_attempt() {
    Draft::paths(&["a/one"])
        .value("sum")
        .step("draft")
        .after("sum")
        .start()
        .expect(&["close sum ok", "launch 0 draft a/one primary"]);
}

#[test]
fn a_second_start_is_ignored() {
    chain().start().skip().start(&[0]).expect(&[]);
}

#[test]
fn nothing_happens_before_the_start() {
    Scenario::new(chain().build())
        .prepared(0, 0, &[100])
        .valid(0)
        .event(Event::Woke)
        .expect(&[])
        .start(&[])
        .expect(&["launch 0 plan a/one primary"]);
}

#[test]
fn steps_of_an_earlier_run_are_taken_over() {
    let scenario = Scenario::new(chain().build()).start(&[0, 1]).expect(&[
        "close plan reused",
        "close draft reused",
        "launch 0 reply a/one primary",
    ]);
    let statuses: Vec<Status> = scenario.machine.steps().map(|s| s.status).collect();
    assert_eq!(statuses, [Status::Reused, Status::Reused, Status::Running]);
    scenario.valid(0).expect(&["accept 0", "close reply ok", "finish delivered"]);
}

#[test]
fn a_run_of_reused_steps_alone_is_delivered_without_an_attempt() {
    let scenario = Scenario::new(chain().build()).start(&[0, 1, 2]);
    assert_eq!(scenario.log().last().unwrap(), "finish delivered");
}

#[test]
fn what_is_reused_twice_or_does_not_exist_is_closed_once_and_never() {
    Scenario::new(chain().build())
        .start(&[0, 0, 77])
        .expect(&["close plan reused", "launch 0 draft a/one primary"]);
}

#[test]
fn a_judged_step_is_reused_with_its_validators_word() {
    let plan = Draft::paths(&["a/one"]).step("draft").step("judge").judges("draft", 1).build();
    Scenario::new(plan.clone()).start(&[0]).expect(&[
        "close draft reused",
        "close judge skipped",
        "finish delivered",
    ]);
    Scenario::new(plan).start(&[0, 1]).expect(&[
        "close draft reused",
        "close judge reused",
        "finish delivered",
    ]);
}

#[test]
fn a_validators_word_is_not_reused_for_an_answer_that_is_new() {
    let plan = Draft::paths(&["a/one"]).step("draft").step("judge").judges("draft", 1).build();
    Scenario::new(plan)
        .start(&[1])
        .expect(&["launch 0 draft a/one primary"])
        .valid(0)
        .expect(&["accept 0", "launch 1 judge a/one primary"]);
}

#[test]
fn a_withdrawn_run_closes_what_is_in_flight_and_is_cancelled() {
    let scenario = chain().start().at(1_000).skip().event(Event::Withdrawn);
    let scenario = scenario.expect(&["cancel 0", "finish cancelled"]);
    let attempt = scenario.machine.attempts().next().unwrap();
    assert_eq!(attempt.ended.map(|(_, end)| end), Some(AttemptEnd::Cancelled));
    let statuses: Vec<Status> = scenario.machine.steps().map(|s| s.status).collect();
    assert_eq!(statuses, [Status::Cancelled; 3]);
    assert_eq!(scenario.machine.next_wakeup(), None);
}

#[test]
fn a_run_may_be_withdrawn_before_it_starts() {
    Scenario::new(chain().build()).event(Event::Withdrawn).expect(&["finish cancelled"]);
}

#[test]
fn events_for_attempts_and_steps_that_do_not_exist_are_ignored() {
    chain()
        .start()
        .skip()
        .sent(9)
        .emitted(9, 1)
        .event(Event::FirstToken { attempt: AttemptId(9) })
        .valid(9)
        .invalid(9)
        .fails(9, failure(FailureClass::Auth))
        .prepared(9, 0, &[1])
        .expect(&[])
        .valid(0)
        .expect(&["accept 0", "close plan ok", "launch 1 draft a/one primary"]);
}

#[test]
fn a_preparation_of_another_round_or_of_a_step_that_runs_is_ignored() {
    Draft::paths(&["a/one"])
        .step("plan")
        .start_by_hand()
        .skip()
        .prepared(0, 1, &[100])
        .expect(&[])
        .prepared(0, 0, &[100])
        .expect(&["launch 0 plan a/one primary"])
        .prepared(0, 0, &[100])
        .event(Event::Prepared { step: StepIx(0), round: 0, result: Prepared::Skip })
        .expect(&[]);
}

#[test]
fn waiting_for_a_slot_is_not_waiting_for_a_token() {
    Draft::paths(&["a/one", "b/two"])
        .step("plan")
        .start_by_hand()
        .prepared(0, 0, &[100])
        .skip()
        .at(30_000)
        .expect(&[])
        .sent(0)
        .at(39_999)
        .expect(&[])
        .at(40_050)
        .expect(&["launch 1 plan b/two hedge after 0 told resume"]);
}

#[test]
fn the_same_events_give_the_same_decisions() {
    let run = || {
        let mut scenario = Draft::paths(&["a/one", "b/two"])
            .stronger(&["c/big"])
            .step("plan")
            .step("draft")
            .after("plan")
            .start()
            .at(11_000)
            .invalid(0)
            .invalid(1)
            .at(12_000)
            .valid(2);
        let decisions = scenario.machine.take_decisions();
        (scenario.log().to_vec(), decisions)
    };
    assert_eq!(run(), run());
}
