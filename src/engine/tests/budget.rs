//! Budgets: reserved before a launch, settled after it, losers included, never exceeded.

use super::draft::Draft;
use super::scenario::{failure, used};
use crate::domain::failure::FailureClass;
use crate::domain::message::Usage;
use crate::domain::money::{Price, Usd};
use crate::domain::plan::{Budget, Hedge};

/// An attempt of these plans reserves 300 tokens: 100 of prompt, 200 of answer. Told to resume: 2,800.
fn tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), ..Budget::default() }
}

fn calls(calls: u32) -> Budget {
    Budget { calls: Some(calls), ..Budget::default() }
}

fn two_steps() -> Draft {
    Draft::paths(&["a/one"]).step("one").step("two").step("three")
}

#[test]
fn what_is_reserved_by_one_attempt_is_not_lent_to_another() {
    two_steps()
        .budget(tokens(720))
        .start()
        .expect(&["launch 0 one a/one primary", "launch 1 two a/one primary"])
        .because("wait it may take 300 tokens, 120 of the budget are left")
        .valid(0)
        .expect(&["accept 0", "close one ok", "launch 2 three a/one primary"]);
}

#[test]
fn a_launch_held_by_the_budget_needs_no_timer() {
    let scenario = two_steps().budget(tokens(620)).start();
    let first_cut = scenario.machine.next_wakeup().unwrap();
    assert_eq!(first_cut.millis(), 10_000);
}

#[test]
fn a_launch_that_no_budget_covers_any_more_fails_the_step() {
    let scenario = two_steps().budget(tokens(700)).start().valid_using(0, used(100, 200)).skip();
    let scenario = scenario.valid_using(1, used(100, 200));
    let scenario = scenario.expect(&["accept 1", "close two ok", "finish failed budget three"]);
    assert_eq!(
        scenario.failure().message,
        "step 'three' could not be had: the budget does not cover another attempt: \
         it may take 300 tokens, 100 of the budget are left"
    );
}

#[test]
fn the_last_call_of_the_budget_is_the_last() {
    two_steps()
        .budget(calls(2))
        .start()
        .expect(&[
            "launch 0 one a/one primary",
            "launch 1 two a/one primary",
            "cancel 0",
            "cancel 1",
            "finish failed budget three",
        ])
        .because("fail all 2 calls of the budget are used");
}

#[test]
fn a_call_that_was_never_sent_is_given_back() {
    Draft::paths(&["a/one", "b/two"])
        .step("one")
        .budget(calls(1))
        .start_by_hand()
        .prepared(0, 0, &[100])
        .skip()
        .fails(0, failure(FailureClass::ServerError))
        .at(50)
        .expect(&["launch 1 one b/two next after 0 told resume"]);
}

#[test]
fn dollars_are_reserved_at_the_paths_price() {
    let price = Price { output: Usd::from_dollars(1_000.0).unwrap(), ..Price::default() };
    two_steps()
        .edit(|plan| plan.paths[0].profile.price = Some(price))
        .budget(Budget { usd: Usd::from_dollars(0.5), ..Budget::default() })
        .start()
        .expect(&["launch 0 one a/one primary", "launch 1 two a/one primary"])
        .because("wait it may cost $0.20, $0.10 of the budget is left")
        .valid(0)
        .expect(&["accept 0", "close one ok", "launch 2 three a/one primary"]);
}

#[test]
fn a_hedge_the_budget_refuses_means_waiting_on() {
    Draft::paths(&["a/one", "b/two"])
        .step("one")
        .budget(tokens(400))
        .start()
        .skip()
        .at(20_000)
        .expect(&[])
        .because("wait it may take 2800 tokens, 400 of the budget are left")
        .valid(0)
        .expect(&["accept 0", "close one ok", "finish delivered"]);
}

#[test]
fn a_hedge_that_waits_for_budget_is_launched_when_a_loser_elsewhere_is_settled() {
    Draft::paths(&["a/one", "b/two"])
        .step("one")
        .step("two")
        .budget(tokens(3_300))
        .start()
        .skip()
        .at(9_000)
        .emitted(1, 5)
        .at(11_000)
        .expect(&[])
        .valid(1)
        .expect(&["accept 1", "close two ok", "launch 2 one b/two hedge after 0 told resume"]);
}

#[test]
fn with_hedge_off_what_the_stuck_attempt_holds_is_settled_before_the_next_is_refused() {
    Draft::paths(&["a/one"])
        .step("one")
        .policy(|p| p.hedge = Hedge::Off)
        .budget(tokens(450))
        .start()
        .skip()
        .at(10_000)
        .expect(&["cancel 0", "launch 1 one a/one hedge after 0 told nothing"]);
}

#[test]
fn with_hedge_off_a_stuck_attempt_is_not_given_up_for_one_that_is_refused() {
    Draft::paths(&["a/one"])
        .step("one")
        .policy(|p| p.hedge = Hedge::Off)
        .budget(tokens(380))
        .start()
        .skip()
        .at(20_000)
        .expect(&[]);
}

#[test]
fn a_loser_is_charged_for_its_prompt_and_what_it_had_said() {
    let scenario = Draft::paths(&["a/one", "b/two"])
        .step("one")
        .start()
        .at(1_000)
        .emitted(0, 30)
        .at(9_100)
        .valid(1);
    let loser = scenario.machine.attempts().next().unwrap();
    assert_eq!((loser.usage.input, loser.usage.output, loser.usage.estimated), (100, 30, true));
}

#[test]
fn a_loser_whose_provider_bills_in_full_is_charged_in_full() {
    let scenario = Draft::paths(&["a/one", "b/two"])
        .edit(|plan| plan.providers[0].billed_on_cancel = true)
        .step("one")
        .start()
        .at(10_100)
        .valid(1);
    let loser = scenario.machine.attempts().next().unwrap();
    assert_eq!((loser.usage.input, loser.usage.output, loser.usage.estimated), (100, 200, true));
}

#[test]
fn what_a_loser_said_beyond_its_bound_is_not_charged() {
    let scenario = Draft::paths(&["a/one"])
        .step("one")
        .start()
        .emitted(0, 5_000)
        .event(crate::engine::Event::Withdrawn);
    let loser = scenario.machine.attempts().next().unwrap();
    assert_eq!(loser.usage.output, 200);
}

#[test]
fn the_answers_bound_is_the_paths_where_that_is_smaller() {
    let scenario = Draft::paths(&["a/one"])
        .edit(|plan| plan.paths[0].profile.max_output = Some(80))
        .step("one")
        .start();
    assert_eq!(scenario.machine.attempts().next().unwrap().spec.max_tokens, 80);
}

#[test]
fn what_a_provider_says_it_charged_goes_before_its_price_list() {
    let charged = |cost| {
        let usage = Usage { estimated: true, cost, ..used(100, 20) };
        let scenario = Draft::paths(&["a/one"])
            .edit(|plan| plan.paths[0].profile.price = None)
            .step("one")
            .start()
            .valid_using(0, usage);
        let attempt = scenario.machine.attempts().next().unwrap();
        (attempt.cost, attempt.cost_estimated)
    };
    let cents = Usd::from_dollars(0.02).unwrap();
    assert_eq!(charged(Some(cents)), (cents, false));
    assert_eq!(charged(None), (Usd::ZERO, true));
}
