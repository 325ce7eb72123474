//! The decisions.

use super::super::decide::{extra, give_up, keep_holding, start};
use super::super::look::Beside;
use super::*;

#[test]
fn a_step_starts_on_the_path_that_still_fits() {
    // The default takes 12 s and is right; the light one takes 2 s and is right nine times of ten.
    let problem = problem(vec![step(&[], &[0, 1])], vec![path(0, 1.0, 1e-6), path(1, 0.9, 1e-7)]);
    let laws =
        laws(vec![path_law(0, &[2.0], 10.0), path_law(1, &[1.0], 100.0)], vec![STEADY; 2], 1);
    let (tables, belief) = built(&problem, &laws, 60);
    let at = |left| start(&tables, &belief, &view(0, left, &[])).unwrap().path;
    assert_eq!(at(20.0), PathIx(0));
    assert_eq!(at(8.0), PathIx(1));
}

#[test]
fn an_attempt_without_a_token_is_joined_when_that_pays_and_not_before() {
    let (problem, laws) = coin(vec![step(&[], &[0, 1])]);
    let (tables, belief) = built(&problem, &laws, 30);
    let late = [silent(0, 0, 20.0)];
    let extra_of = |left, attempts| extra(&tables, &belief, &view(0, left, attempts));
    let joined = extra_of(10.0, &late).unwrap();
    assert!(joined.gain > 0.0 && joined.with > joined.waiting);
    assert!((joined.with - joined.waiting - joined.gain).abs() < 1e-12);
    assert!(joined.price > 0.0 && joined.gain < 1.0 - joined.price);
    // One that will be done in a second needs no help.
    let nearly = [streaming(silent(0, 0, 1.5), 1.0, 50.0, 100.0)];
    assert_eq!(extra_of(10.0, &nearly), None);
}

#[test]
fn an_extra_is_launched_only_where_it_gains_more_than_its_price() {
    let (mut problem, laws) = coin(vec![step(&[], &[0, 1])]);
    let late = [silent(0, 0, 20.0)];
    let mut launched = Vec::new();
    for tokens in [0.0, 0.05, 0.3, 2.0] {
        problem.prices.tokens = tokens;
        let (tables, belief) = built(&problem, &laws, 30);
        let joined = extra(&tables, &belief, &view(0, 10.0, &late));
        assert!(joined.is_none_or(|extra| extra.gain > 0.0));
        launched.push(joined.is_some());
    }
    assert!(launched[0] && launched[1] && !launched[3], "{launched:?}");
    assert!(launched.is_sorted_by(|a, b| a >= b), "a higher price never launches more");
}

#[test]
fn an_extra_late_in_a_run_is_cheaper() {
    let steps = vec![step(&[], &[0, 1]), step(&[0], &[0, 1]), step(&[1], &[0, 1])];
    let (mut problem, laws) = coin(steps);
    problem.prices = Prices { tokens: 0.1, again: 2.0, ..problem.prices };
    let (tables, belief) = built(&problem, &laws, 90);
    let price = |step, left| {
        let late = [silent(step, 0, 20.0)];
        extra(&tables, &belief, &view(step, left, &late)).unwrap().price
    };
    assert!(price(2, 8.0) < price(1, 18.0));
}

#[test]
fn what_is_not_available_is_not_chosen() {
    let (mut problem, laws) = coin(vec![step(&[], &[0, 1])]);
    let (tables, belief) = built(&problem, &laws, 30);
    let late = [silent(0, 0, 20.0)];
    let base = view(0, 10.0, &late);
    let path = |view: &View<'_>| extra(&tables, &belief, view).map(|extra| extra.path);
    assert!(path(&base).is_some());
    assert_eq!(path(&View { open_in: &[0.0, 5.0], ..base }), Some(PathIx(0)));
    assert_eq!(path(&View { open_in: &[f64::INFINITY, 0.0], ..base }), Some(PathIx(1)));
    assert_eq!(path(&View { open_in: &[1.0, 1.0], ..base }), None);
    assert_eq!(path(&View { attempts_left: 0, ..base }), None);
    assert_eq!(path(&View { tokens_left: 99.0, ..base }), None);
    assert_eq!(path(&View { dollars_left: 9e-5, ..base }), None);
    assert_eq!(path(&View { held: Some(PathIx(0)), ..base }), None);

    problem.paths[0].alone = true;
    let (tables, belief) = built(&problem, &laws, 30);
    let only = View { open_in: &[0.0, 5.0], ..base };
    assert_eq!(extra(&tables, &belief, &only), None, "it would only slow the first");
    problem.steps[0].races = false;
    let (tables, belief) = built(&problem, &laws, 30);
    assert_eq!(extra(&tables, &belief, &base), None);
}

#[test]
fn a_start_waits_for_a_closed_path_or_takes_another() {
    let (problem, laws) = coin(vec![step(&[], &[0, 1])]);
    let (tables, belief) = built(&problem, &laws, 30);
    let base = view(0, 10.0, &[]);
    let of = |view: &View<'_>| start(&tables, &belief, view);
    assert_eq!(of(&View { open_in: &[5.0, 0.0], ..base }).unwrap().path, PathIx(1));
    let waits = of(&View { open_in: &[2.0, f64::INFINITY], ..base }).unwrap();
    assert_eq!((waits.path, waits.wait), (PathIx(0), 2.0));
    assert!(waits.value < of(&base).unwrap().value);
    assert_eq!(of(&View { open_in: &[f64::INFINITY; 2], ..base }), None);
    // Three 429s, and the other provider comes first.
    assert_eq!(of(&View { refusals: &[3, 0], ..base }).unwrap().path, PathIx(1));
}

#[test]
fn a_light_answer_is_held_while_a_better_one_is_about_to_come() {
    let problem = problem(vec![step(&[], &[0, 1])], vec![path(0, 1.0, 1e-6), path(1, 0.9, 1e-7)]);
    let laws =
        laws(vec![path_law(0, &[2.0], 10.0), path_law(1, &[1.0], 100.0)], vec![STEADY; 2], 1);
    let (tables, belief) = built(&problem, &laws, 60);
    let soon = [streaming(silent(0, 0, 10.0), 2.0, 80.0, 10.0)];
    let holds = |left, attempts, path| {
        let view = View { held: Some(PathIx(path)), ..view(0, left, attempts) };
        keep_holding(&tables, &belief, &view)
    };
    assert!(holds(10.0, &soon, 1));
    assert!(!holds(1.0, &soon, 1), "it would be too late");
    let light = [silent(0, 1, 0.5)];
    assert!(!holds(10.0, &light, 1), "nothing better is in flight");
    assert!(!keep_holding(&tables, &belief, &view(0, 10.0, &soon)), "nothing is held");
}

#[test]
fn nothing_is_spent_on_being_done_before_a_sibling() {
    let steps = vec![step(&[], &[0, 1]), step(&[], &[0, 1]), step(&[0, 1], &[0, 1])];
    let (problem, laws) = coin(steps);
    let (tables, belief) = built(&problem, &laws, 90);
    let late = [silent(0, 0, 20.0)];
    let base = view(0, 60.0, &late);
    let alone = extra(&tables, &belief, &base);
    // The sibling writes for another 40 s at its rate.
    let slow = [streaming(silent(1, 0, 12.0), 10.0, 4.0, 2.4)];
    let beside = [Beside { step: StepIx(1), attempts: &slow, held: false }];
    let with = extra(&tables, &belief, &View { beside: &beside, ..base });
    let gain = |extra: Option<super::super::decide::Extra>| extra.map_or(0.0, |extra| extra.gain);
    assert!(gain(alone) >= gain(with), "{alone:?} {with:?}");
}

#[test]
fn an_optional_step_is_given_up_when_the_rest_needs_its_time() {
    let mut steps = vec![step(&[], &[0]), step(&[0], &[0])];
    steps[0].optional = true;
    let problem = problem(steps, vec![path(0, 1.0, 1e-6)]);
    let laws = laws(vec![path_law(0, &[2.0], 50.0)], vec![STEADY], 2);
    let (tables, belief) = built(&problem, &laws, 60);
    let gives = |left, attempts| give_up(&tables, &belief, &view(0, left, attempts));
    let begun = [silent(0, 0, 0.5)];
    assert!(!gives(30.0, &begun[..]), "there is time for both");
    assert!(gives(6.5, &begun[..]), "3.5 s more leave 3 of the 4 that the next needs");
    assert!(gives(6.5, &[][..]), "nor is it started");
    assert!(!gives(30.0, &[][..]));
    assert!(!give_up(&tables, &belief, &view(1, 5.0, &[])), "the next one is needed");
}

#[test]
fn an_optional_step_whose_answers_may_be_wrong_is_waited_for_all_the_same() {
    let mut steps = vec![step(&[], &[0]), step(&[], &[1])];
    steps[0].optional = true;
    // One answer of five is wrong, and an optional part is worth a twentieth of the run.
    let problem = problem(steps, vec![path(0, 0.8, 1e-6), path(0, 1.0, 1e-6)]);
    let laws = laws(vec![path_law(0, &[2.0], 50.0), path_law(0, &[2.0], 50.0)], vec![STEADY], 2);
    let (tables, belief) = built(&problem, &laws, 60);
    assert!(!give_up(&tables, &belief, &view(0, 30.0, &[silent(0, 0, 0.5)])));
    assert!(!give_up(&tables, &belief, &view(0, 30.0, &[])));
}

#[test]
fn the_same_inputs_give_the_same_bits() {
    let (problem, laws) = coin(vec![step(&[], &[0, 1]), step(&[0], &[0, 1])]);
    let late = [silent(0, 0, 17.3)];
    let once = || {
        let (tables, mut belief) = built(&problem, &laws, 90);
        belief.see(&tables, &late);
        let view = view(0, 33.3, &late);
        let (extra, start) = (extra(&tables, &belief, &view), start(&tables, &belief, &view));
        (tables, belief, extra, start)
    };
    assert!(once() == once());
}
