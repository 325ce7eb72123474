//! What an attempt that has ended says of its path.

use std::time::Duration;

use super::draft::Draft;
use super::measured::{long, pilot};
use super::scenario::{failure, used};
use crate::domain::failure::FailureClass;
use crate::domain::id::AttemptId;
use crate::engine::Machine;
use crate::latency::observation::{End, Observation};

const FIRST: AttemptId = AttemptId(0);

fn of(machine: &Machine, attempt: u32) -> Observation {
    machine.observation(AttemptId(attempt), 7).unwrap()
}

#[test]
fn an_answer_says_what_it_took_and_how_it_came() {
    let scenario = Draft::paths(&["a/one"]).step("draft").knowing(pilot(1, &[long()]));
    let scenario = scenario.start_at_once().at(1_500).emitted(0, 1).at(3_500).emitted(0, 101);
    assert_eq!(scenario.machine.observation(FIRST, 7), None);
    let scenario = scenario.at(5_000).valid_using(0, used(110, 200));
    let said = of(&scenario.machine, 0);
    assert_eq!((&*said.provider, &*said.path, &*said.step), ("a", "a/one", "test/draft"));
    assert_eq!((said.run, said.prompt_tokens, said.tokens), (7, 100, 200));
    assert!((said.expected_tokens - 600.0).abs() < 1e-9);
    assert_eq!(said.first_token, Some(Duration::from_millis(1_500)));
    assert_eq!(said.lasted, Duration::from_secs(5));
    assert_eq!(said.stream, [(Duration::ZERO, 1), (Duration::from_secs(2), 101)]);
    assert_eq!(said.end, End::Answered { valid: true });
}

#[test]
fn how_it_ended_is_told_apart() {
    let ends = |class| {
        let scenario =
            Draft::paths(&["a/one"]).step("draft").start().at(900).fails(0, failure(class));
        of(&scenario.machine, 0).end
    };
    assert_eq!(ends(FailureClass::ServerError), End::Failed(FailureClass::ServerError));
    assert_eq!(ends(FailureClass::TruncatedOutput), End::Answered { valid: false });
    let invalid = Draft::paths(&["a/one"]).step("draft").start().at(900).invalid(0);
    assert_eq!(of(&invalid.machine, 0).end, End::Answered { valid: false });
}

#[test]
fn a_loser_is_a_censored_observation_and_the_bound_gives_what_was_expected() {
    let scenario = Draft::paths(&["a/one", "b/two"]).step("draft").start();
    let scenario = scenario.at(10_060).at(11_000).valid(1);
    let lost = of(&scenario.machine, 0);
    assert_eq!((lost.end, lost.lasted), (End::Closed, Duration::from_secs(11)));
    assert_eq!((lost.first_token, lost.tokens), (None, 0));
    assert!((lost.expected_tokens - 100.0).abs() < 1e-9, "half of the bound of 200");
}

#[test]
fn what_was_never_sent_says_nothing() {
    let draft = Draft::paths(&["a/one", "b/two"]).step("draft");
    let scenario = draft.start_by_hand().prepared(0, 0, &[100]);
    let scenario = scenario.turned_away(0, failure(FailureClass::RateLimited));
    assert_eq!(scenario.machine.observation(FIRST, 7), None);
    assert_eq!(scenario.machine.observation(AttemptId(99), 7), None);
}
