//! What time left is worth.

use super::super::decide::{start, value_left};
use super::*;

fn worth(tables: &Tables, belief: &Belief, step: u16, left: f64) -> f64 {
    start(tables, belief, &view(step, left, &[])).unwrap().value
}

#[test]
fn a_certain_path_is_worth_its_trust_from_the_time_it_takes_on() {
    let problem = problem(vec![step(&[], &[0])], vec![path(0, 0.9, 1e-6)]);
    let laws = laws(vec![path_law(0, &[2.0], 50.0)], vec![STEADY], 1);
    let (tables, belief) = built(&problem, &laws, 60);
    assert!(worth(&tables, &belief, 0, 3.0) < 0.01);
    assert!((worth(&tables, &belief, 0, 6.0) - 0.9).abs() < 0.01);
}

#[test]
fn a_chain_of_certain_steps_needs_the_sum_of_their_times_and_trusts() {
    let steps = vec![step(&[], &[0]), step(&[0], &[0]), step(&[1], &[0])];
    let problem = problem(steps, vec![path(0, 0.9, 1e-6)]);
    let laws = laws(vec![path_law(0, &[2.0], 50.0)], vec![STEADY], 3);
    let (tables, belief) = built(&problem, &laws, 60);
    assert!(worth(&tables, &belief, 0, 9.0) < 0.02, "three of 4 s do not fit into 9");
    assert!((worth(&tables, &belief, 0, 16.0) - 0.729).abs() < 0.02);
}

#[test]
fn more_time_is_never_worth_less() {
    let (problem, laws) = coin(vec![step(&[], &[0, 1]), step(&[0], &[0, 1])]);
    let (tables, belief) = built(&problem, &laws, 90);
    let attempts = [silent(0, 0, 3.0)];
    let mut last = [0.0; 2];
    for tenth in 0..900 {
        let left = f64::from(tenth) / 10.0;
        let now = [
            worth(&tables, &belief, 0, left),
            value_left(&tables, &belief, &view(0, left, &attempts)),
        ];
        for (now, last) in now.iter().zip(&last) {
            assert!(*now >= last - 2e-3, "{left} s: {now} after {last}");
        }
        last = now;
    }
}

#[test]
fn branches_cost_the_longest_and_not_their_sum() {
    let steps = vec![step(&[], &[0]), step(&[0], &[0]), step(&[0], &[0]), step(&[1, 2], &[0])];
    let problem = problem(steps, vec![path(0, 1.0, 1e-6)]);
    let laws = laws(vec![path_law(0, &[2.0], 50.0)], vec![STEADY], 4);
    let (tables, belief) = built(&problem, &laws, 60);
    assert!((worth(&tables, &belief, 0, 16.0) - 1.0).abs() < 0.02, "three steps of 4 s deep");
}

#[test]
fn a_join_is_not_paid_for_by_every_branch() {
    // The step below the join has a chance of one half, and so has the whole.
    let steps = vec![step(&[], &[0]), step(&[0], &[0]), step(&[0], &[0]), step(&[1, 2], &[1])];
    let problem = problem(steps, vec![path(0, 1.0, 1e-6), path(0, 0.5, 1e-6)]);
    let law = || path_law(0, &[2.0], 50.0);
    let laws = laws(vec![law(), law()], vec![STEADY], 4);
    let (tables, belief) = built(&problem, &laws, 60);
    assert!((worth(&tables, &belief, 0, 40.0) - 0.5).abs() < 0.02);
}

#[test]
fn parallel_sinks_must_all_finish() {
    let steps = vec![step(&[], &[0]), step(&[0], &[1]), step(&[0], &[1])];
    let problem = problem(steps, vec![path(0, 1.0, 1e-6), path(0, 0.5, 1e-6)]);
    let law = || path_law(0, &[2.0], 50.0);
    let laws = laws(vec![law(), law()], vec![STEADY], 3);
    let (tables, belief) = built(&problem, &laws, 60);
    assert!((worth(&tables, &belief, 0, 40.0) - 0.25).abs() < 0.02);
}

#[test]
fn values_take_no_time() {
    let steps = vec![step(&[], &[0]), step(&[0], &[]), step(&[1], &[0])];
    let problem = problem(steps, vec![path(0, 1.0, 1e-6)]);
    let mut laws = laws(vec![path_law(0, &[2.0], 50.0)], vec![STEADY], 3);
    laws.steps[1] = None;
    let (tables, belief) = built(&problem, &laws, 60);
    assert!((worth(&tables, &belief, 0, 11.0) - 1.0).abs() < 0.02);
    assert!(start(&tables, &belief, &view(1, 30.0, &[])).is_none(), "nothing to start");
}

#[test]
fn an_optional_step_that_cannot_be_done_costs_its_share_and_no_more() {
    let mut steps = vec![step(&[], &[0]), step(&[0], &[0]), step(&[1], &[0])];
    steps[1].optional = true;
    let problem = problem(steps, vec![path(0, 1.0, 1e-6)]);
    let laws = laws(vec![path_law(0, &[2.0], 50.0)], vec![STEADY], 3);
    let (tables, belief) = built(&problem, &laws, 60);
    assert!((worth(&tables, &belief, 0, 15.0) - 1.0).abs() < 0.02, "all fit");
    let without = worth(&tables, &belief, 0, 10.0);
    assert!((without - 0.95).abs() < 0.02, "dropped: {without}");
}

#[test]
fn deadlines_of_any_length_have_tables_of_a_bounded_size() {
    for seconds in [1, 30, 181, 86_400] {
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let scale = seconds as f64 / 60.0;
        let problem = problem(vec![step(&[], &[0])], vec![path(0, 0.9, 1e-6)]);
        let law = path_law(0, &[4.0 * scale], 50.0 / scale);
        let (tables, belief) = built(&problem, &laws(vec![law], vec![STEADY], 1), seconds);
        assert!(tables.heap_bytes() < 400_000, "{seconds} s: {}", tables.heap_bytes());
        assert!((worth(&tables, &belief, 0, 15.0 * scale) - 0.9).abs() < 0.02, "{seconds} s");
        assert!(worth(&tables, &belief, 0, 3.0 * scale) < 0.02, "{seconds} s");
    }
}

#[test]
fn prices_by_risk_are_higher_where_more_is_at_stake() {
    let prices = [0.0, 0.01, 0.1, 0.5, 1.0].map(|risk| Prices::default().at_risk(risk));
    assert!(prices.is_sorted_by(|a, b| a.tokens <= b.tokens && a.money <= b.money));
    assert!(prices[1].tokens < prices[2].tokens && prices[1].money < prices[2].money);
}
