//! Giving up in time: at the start, in mid-run, and optional steps first.

use std::time::Duration;

use super::draft::Draft;
use super::measured::{long, pilot, times};
use super::scenario::failure;
use crate::domain::failure::FailureClass;
use crate::domain::outcome::Status;
use crate::domain::plan::NeedKind;
use crate::engine::Signals;
use crate::planner::{Pilot, Times};

/// Three long steps in a row, 36 s at the median.
fn chain() -> Draft {
    Draft::paths(&["a/one"]).step("plan").step("draft").after("plan").step("reply").after("draft")
}

#[test]
fn a_critical_path_that_does_not_fit_is_not_begun_and_says_what_it_needs() {
    let scenario = chain().deadline(12_000).knowing(pilot(3, &[long()])).start_at_once();
    let scenario = scenario
        .expect(&["finish failed deadline plan"])
        .because("finish needs about 36 s on the critical path, 11.9 s are left");
    assert_eq!(
        scenario.failure().message,
        "needs about 36 s on the critical path, from step 'plan' on, 11.9 s are left: \
         give it a longer deadline, fewer steps in a row, or a quicker model"
    );
    assert_eq!(scenario.failure().retry_after, None);
    chain()
        .deadline(37_000)
        .knowing(pilot(3, &[long()]))
        .start_at_once()
        .expect(&["launch 0 plan a/one primary"]);
}

#[test]
fn few_samples_shed_nothing() {
    let few = Times { samples: 19.0, ..long() };
    chain()
        .deadline(12_000)
        .knowing(pilot(3, &[few]))
        .start_at_once()
        .expect(&["launch 0 plan a/one primary"]);
}

#[test]
fn what_fits_on_the_faster_model_is_begun_there_and_says_why() {
    let draft =
        Draft::paths(&["a/one"]).faster(&["c/quick"]).step("plan").step("draft").after("plan");
    let known = pilot(2, &[long(), times(&long(), 0.4)]);
    draft
        .deadline(20_000)
        .knowing(known)
        .start_at_once()
        .expect(&["launch 0 plan c/quick primary"])
        .because("launch first attempt on c/quick: a/one usually takes 12 s, 7.8 s are left for it")
        .at(1_000)
        .emitted(0, 1)
        .at(4_800)
        .valid(0)
        .expect(&["accept 0", "close plan ok", "launch 1 draft a/one primary"]);
}

#[test]
fn a_stuck_attempt_of_the_faster_model_is_raced_on_the_own_model() {
    let draft = Draft::paths(&["a/one"]).faster(&["c/quick"]).step("plan");
    let known = pilot(2, &[long(), times(&long(), 0.4)]);
    let scenario = draft.step("draft").after("plan").deadline(20_000).knowing(known);
    scenario
        .start_at_once()
        .skip()
        .at(2_000)
        .expect(&["launch 1 plan a/one hedge after 0 told resume"]);
}

#[test]
fn what_optional_steps_need_sheds_nothing() {
    let draft = Draft::paths(&["a/one"]).step("gaps").optional(80).step("reply");
    let draft = draft.needs("gaps", NeedKind::Guarded);
    draft.deadline(14_000).knowing(pilot(2, &[long()])).start_at_once().skip();
}

#[test]
fn an_optional_step_is_dropped_when_what_needs_the_time_has_no_more_to_spare() {
    // 59.5 s; what follows takes 12 s at the median, so at 59.5 - 13.8 s it is dropped, before its own 90 %.
    let draft = Draft::paths(&["a/one"]).step("gaps").optional(90).step("reply");
    draft
        .needs("gaps", NeedKind::Guarded)
        .knowing(pilot(2, &[long()]))
        .start_at_once()
        .skip()
        .at(45_699)
        .expect(&[])
        .at(45_700)
        .expect(&["cancel 0", "close gaps cut", "launch 1 reply a/one primary"])
        .because("close what is still to do takes 13.8 s at least, 13.8 s are left");
}

#[test]
fn in_mid_run_nothing_more_is_spent_once_half_of_the_rest_does_not_fit() {
    // After the first step 12 s remain at the least: it must be done at 47.5 s.
    let scenario = chain().deadline(60_000).knowing(pilot(3, &[long()])).start_at_once().skip();
    let mut scenario = scenario;
    for second in 1..=47 {
        scenario = scenario.at(second * 1_000).emitted(0, second);
    }
    let scenario = scenario
        .at(47_500)
        .because("fail what is still to do takes 12 s at least, 12 s are left")
        .at(50_000);
    assert_eq!(scenario.log().last().unwrap(), "finish failed deadline plan");
    assert_eq!(
        scenario.failure().message,
        "step 'plan' is not done, and what is still to do takes 12 s at least, 12 s are left"
    );
    let ended: Vec<Status> = scenario.machine.steps().map(|step| step.status).collect();
    assert_eq!(ended, [Status::TimedOut, Status::Cancelled, Status::Cancelled]);
}

#[test]
fn no_attempt_is_launched_that_cannot_be_in_time() {
    let draft = Draft::paths(&["a/one", "b/two"]).step("draft").deadline(20_000);
    let known = pilot(1, &[times(&long(), 0.8), times(&long(), 2.0)]);
    let scenario = draft.knowing(known).start_at_once().skip().at(1_000).emitted(0, 1).at(8_000);
    scenario
        .fails(0, failure(FailureClass::BadRequest))
        .expect(&["finish failed bad_request draft"])
        .because("fail b/two takes 12 s at least, 11.8 s are left for it");
}

#[test]
fn a_line_that_leaves_too_little_time_is_shed_with_the_time_to_come_back() {
    let line_for = vec![Duration::from_secs(40)];
    let signals = Signals { line_for, ..Signals::default() };
    let known = pilot(3, &[long()]);
    let scenario = chain().knowing(known.clone()).start_knowing(signals);
    assert_eq!(scenario.failure().retry_after, Some(Duration::from_secs(40)));
    assert!(scenario.failure().message.contains("40 s of it are the wait for its quota"));
    chain().knowing(known).start_at_once().expect(&["launch 0 plan a/one primary"]);
}

#[test]
fn a_shock_that_will_pass_is_named_with_the_time_to_come_back() {
    let known = Pilot { shock: 2.0, ..pilot(3, &[times(&long(), 2.0)]) };
    let scenario = chain().knowing(known).start_at_once();
    assert_eq!(scenario.failure().retry_after, Some(Duration::from_secs(300)));
    assert!(scenario.failure().message.contains("2.0 times as long as usual now"));
}

#[test]
fn steps_that_an_earlier_run_has_done_are_not_counted() {
    let plan = chain().deadline(26_000).build();
    let run = |reused: &[u16]| {
        super::scenario::Scenario::new(plan.clone()).knows_times(pilot(3, &[long()])).start(reused)
    };
    assert!(run(&[]).machine.outcome().is_some());
    assert!(run(&[0]).machine.outcome().is_none());
}

#[test]
fn steps_that_may_come_to_nothing_shed_nothing() {
    let draft = Draft::paths(&["a/one"]).step("items").each(4, 100).step("reply").after("items");
    draft.deadline(14_000).knowing(pilot(2, &[long()])).start_at_once().skip();
    let draft = Draft::paths(&["a/one"]).step("maybe").with(|step| step.conditional = true);
    let draft = draft.step("reply").after("maybe");
    let scenario = draft.deadline(14_000).knowing(pilot(2, &[long()])).start_at_once();
    assert!(scenario.machine.outcome().is_none());
}
