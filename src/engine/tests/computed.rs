//! Steps without a model when time is up: they take none, and are still computed from what is there.

use super::draft::Draft;
use super::scenario::{Scenario, failure};
use crate::domain::failure::FailureClass;
use crate::domain::id::StepIx;
use crate::domain::plan::NeedKind;
use crate::engine::{Event, Prepared};

/// Two parts of which one is there when time is up, and what is made of them.
fn parts() -> Draft {
    Draft::paths(&["a/one"]).step("parts").each(2, 50)
}

fn one_part(draft: Draft) -> Scenario {
    draft.start_by_hand().prepared(0, 0, &[10, 10]).valid(0).skip().at(59_499).expect(&[])
}

/// Items of a fan-out without a model: what is wrong with some of them.
fn items(step: u16, failures: &[bool]) -> Event {
    let failure = || failure(FailureClass::CheckFailed);
    let items = failures.iter().map(|failed| failed.then(failure)).collect();
    Event::Prepared { step: StepIx(step), round: 0, result: Prepared::Computed(items) }
}

fn computed(step: u16, round: u32) -> Event {
    Event::Prepared { step: StepIx(step), round, result: Prepared::Done }
}

fn judged(step: u16, round: u32, pass: bool) -> Event {
    Event::Prepared { step: StepIx(step), round, result: Prepared::Judged { pass } }
}

#[test]
fn an_item_that_cannot_be_computed_is_left_out_and_named() {
    Draft::paths(&["a/one"])
        .value("each")
        .each(8, 60)
        .step("use")
        .after("each")
        .start_by_hand()
        .skip()
        .event(items(0, &[false, true, false]))
        .because("fail its last failure was check_failed")
        .expect(&["close each ok", "prepare use 0"])
        .prepared(1, 0, &[10])
        .sent(0)
        .valid(0)
        .skip()
        .expect(&[])
        .because("every step has ended");
}

#[test]
fn fewer_computed_items_than_min_ok_fail_the_step() {
    let each = || Draft::paths(&["a/one"]).value("each").each(8, 60);
    let scenario = each().start_by_hand().skip().event(items(0, &[true, false, true]));
    let scenario = scenario.because("2 of 3 items failed, 2 needed");
    assert_eq!(scenario.log(), ["finish failed check_failed each"]);
    each()
        .optional(80)
        .start_by_hand()
        .skip()
        .event(items(0, &[true, false, true]))
        .expect(&["close each failed", "finish degraded missing [each] unverified []"]);
}

#[test]
fn computed_items_are_there_when_time_is_up_without_those_that_cannot_be() {
    one_part(parts().value("each").each(8, 50).after("parts"))
        .time_up()
        .skip()
        .event(items(1, &[true, false]))
        .expect(&["close each ok", "finish degraded missing [parts[1] each[0]] unverified []"]);
}

#[test]
fn a_chain_of_computed_steps_is_computed_from_what_is_there_when_time_is_up() {
    one_part(parts().value("count").after("parts").value("double").after("count"))
        .time_up()
        .expect(&["cancel 1", "close parts ok", "prepare count 0"])
        .event(computed(1, 0))
        .expect(&["close count ok", "prepare double 0"])
        .event(computed(2, 0))
        .expect(&["close double ok", "finish degraded missing [parts[1]] unverified []"]);
}

#[test]
fn what_is_not_computed_in_the_same_instant_is_not_waited_for() {
    for (later, event) in [(0, Event::Woke), (1, computed(1, 0)), (1, Event::Withdrawn)] {
        one_part(parts().value("count").after("parts"))
            .time_up()
            .expect(&["cancel 1", "close parts ok", "prepare count 0"])
            .at_exactly(59_500 + later)
            .event(event)
            .expect(&["finish failed deadline count"]);
    }
}

#[test]
fn nothing_else_of_that_instant_counts_or_ends_the_wait() {
    one_part(parts().value("count").after("parts"))
        .time_up()
        .skip()
        .emitted(1, 9)
        .valid(1)
        .event(computed(1, 3))
        .event(computed(7, 0))
        .event(Event::Withdrawn)
        .expect(&[])
        .event(computed(1, 0))
        .expect(&["close count ok", "finish degraded missing [parts[1]] unverified []"]);
}

#[test]
fn a_computed_step_goes_on_without_an_optional_one_that_is_late() {
    Draft::paths(&["a/one"])
        .step("draft")
        .step("gaps")
        .optional(100)
        .value("merged")
        .after("draft")
        .needs("gaps", NeedKind::Guarded)
        .start()
        .valid(0)
        .at(59_499)
        .skip()
        .time_up()
        .expect(&[
            "cancel 1",
            "cancel 2",
            "close gaps timed_out",
            "close merged ok",
            "finish degraded missing [gaps] unverified []",
        ]);
}

#[test]
fn an_optional_computed_step_is_there_too() {
    one_part(parts().value("count").after("parts").optional(100))
        .time_up()
        .skip()
        .event(computed(1, 0))
        .expect(&["close count ok", "finish degraded missing [parts[1]] unverified []"]);
}

#[test]
fn a_computed_step_whose_needs_are_not_met_is_not_computed() {
    Draft::paths(&["a/one"])
        .step("plan")
        .value("count")
        .after("plan")
        .start()
        .at(59_499)
        .skip()
        .time_up()
        .expect(&["cancel 0", "cancel 1", "finish failed deadline plan"]);
}

#[test]
fn a_computed_step_that_cannot_be_computed_fails_the_run_as_at_any_time() {
    let failure = crate::domain::failure::Failure::of_attempt(
        FailureClass::InvalidInput,
        "each",
        "its list is a text",
    );
    let result = Prepared::Impossible(failure);
    one_part(parts().value("count").after("parts"))
        .time_up()
        .skip()
        .event(Event::Prepared { step: StepIx(1), round: 0, result })
        .expect(&["finish failed invalid_input count"]);
}

/// A model's draft that a computed validator judges, answered just before the end.
fn judged_by_rule(revise: u32) -> Draft {
    parts().value("merged").after("parts").value("rule").judges("merged", revise)
}

#[test]
fn a_computed_validator_speaks_when_time_is_up() {
    one_part(judged_by_rule(0))
        .time_up()
        .skip()
        .event(computed(1, 0))
        .expect(&["prepare rule 0"])
        .event(judged(2, 0, true))
        .expect(&[
            "close rule ok",
            "close merged ok",
            "finish degraded missing [parts[1]] unverified []",
        ]);
}

#[test]
fn a_computed_step_that_is_sent_back_when_time_is_up_is_computed_as_often_as_it_may_be() {
    let mut scenario = one_part(judged_by_rule(2)).time_up().skip();
    for round in 0..2 {
        scenario = scenario
            .event(computed(1, round))
            .expect(&[&format!("prepare rule {round}")])
            .event(judged(2, round, false))
            .expect(&["close rule ok", &format!("prepare merged {}", round + 1)]);
    }
    let scenario = scenario.event(computed(1, 2)).event(judged(2, 2, false)).expect(&[
        "prepare rule 2",
        "close rule ok",
        "finish failed rejected merged",
    ]);
    let message = &scenario.failure().message;
    assert!(message.ends_with("rejected it, and no revision is left"), "{message}");
}

#[test]
fn a_models_answer_that_is_rejected_when_time_is_up_is_not_revised() {
    let scenario = Draft::paths(&["a/one"])
        .step("draft")
        .step("gaps")
        .optional(100)
        .value("rule")
        .judges("draft", 1)
        .needs("gaps", NeedKind::Guarded)
        .start_by_hand()
        .prepared(0, 0, &[10])
        .prepared(1, 0, &[10])
        .valid(0)
        .skip()
        .time_up()
        .expect(&["cancel 1", "close gaps timed_out", "prepare rule 0"])
        .event(judged(2, 0, false))
        .expect(&["close rule ok", "finish failed rejected draft"]);
    let message = &scenario.failure().message;
    assert!(message.ends_with("validator 'rule' rejected it, and no time is left"), "{message}");
}

#[test]
fn an_optional_computed_validator_is_asked_before_its_word_is_done_without() {
    Draft::paths(&["a/one"])
        .step("draft")
        .step("gaps")
        .optional(100)
        .value("rule")
        .judges("draft", 0)
        .needs("gaps", NeedKind::Guarded)
        .optional(100)
        .start_by_hand()
        .prepared(0, 0, &[10])
        .prepared(1, 0, &[10])
        .valid(0)
        .skip()
        .time_up()
        .expect(&["cancel 1", "close gaps timed_out", "prepare rule 0"])
        .event(judged(2, 0, true))
        .expect(&[
            "close rule ok",
            "close draft ok",
            "finish degraded missing [gaps] unverified []",
        ]);
}
