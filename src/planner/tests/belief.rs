//! What a run comes to think of its providers.

use super::super::decide::{extra, start};
use super::super::look::Ended;
use super::*;

const MOODY: ProviderLaw = ProviderLaw {
    spell: 0.1,
    slow: [0.02, 0.5],
    late: [0.01, 0.25],
    burst: 0.05,
    refused: 0.6,
    refused_after: 0.5,
};

fn moody() -> (Tables, Belief) {
    let steps = vec![step(&[], &[0, 1]), step(&[0], &[0, 1])];
    let problem = problem(steps, vec![path(0, 1.0, 1e-6), path(1, 1.0, 1e-6)]);
    let first: Vec<f64> = (0..64).map(|at| 0.8 + 0.03 * f64::from(at)).collect();
    let law = |provider| path_law(provider, &first, 50.0);
    built(&problem, &laws(vec![law(0), law(1)], vec![MOODY; 2], 2), 60)
}

#[test]
fn a_run_begins_with_the_priors() {
    let (_, belief) = moody();
    assert!((belief.spell(0) - 0.1).abs() < 1e-9);
    assert!((belief.burst(1) - 0.05).abs() < 1e-9);
    assert_eq!((belief.spell(9), belief.burst(9)), (0.0, 0.0));
}

#[test]
fn slow_and_late_attempts_speak_for_a_spell_of_their_provider_alone() {
    let (tables, mut belief) = moody();
    let slow = streaming(silent(0, 0, 8.0), 1.0, 70.0, 10.0);
    assert!(tables.is_slow(&slow));
    assert!(!tables.is_slow(&streaming(slow, 1.0, 70.0, 45.0)));
    belief.see(&tables, &[Look { slow: true, ..slow }]);
    assert!(belief.spell(0) > 0.5, "{}", belief.spell(0));
    assert!((belief.spell(1) - 0.1).abs() < 1e-9);
    belief.see(&tables, &[silent(0, 0, 9.0)]);
    assert!(belief.spell(0) > 0.5, "{}", belief.spell(0));
    belief.see(&tables, &[silent(0, 0, 0.1)]);
    assert!((belief.spell(0) - 0.1).abs() < 0.02, "nothing is seen yet");
}

#[test]
fn good_answers_speak_against_a_spell_and_stay_remembered() {
    let (tables, mut belief) = moody();
    let good = streaming(silent(0, 0, 3.0), 1.0, 100.0, 50.0);
    let mut last = belief.spell(0);
    for _ in 0..4 {
        belief.ended(&tables, &good, Ended::Answered);
        belief.see(&tables, []);
        assert!(belief.spell(0) < last);
        last = belief.spell(0);
    }
    assert!(last < 0.02, "{last}");
    assert!(belief.burst(0) < 0.003, "four passes in a burst are unlikely");
}

#[test]
fn a_429_is_a_burst_and_nothing_extra_is_launched_into_it() {
    let (tables, mut belief) = moody();
    let before = start(&tables, &belief, &view(1, 4.5, &[])).unwrap();
    assert_eq!(before.path, PathIx(0));
    belief.ended(&tables, &silent(0, 0, 0.5), Ended::Refused);
    belief.see(&tables, []);
    assert_eq!(belief.burst(0), 1.0);
    let after = start(&tables, &belief, &view(1, 4.5, &[])).unwrap();
    assert_eq!(after.path, PathIx(1));
    // An engine that knows when the path opens takes that for what it is.
    let closed = View { open_in: &[0.2, f64::INFINITY], ..view(1, 4.5, &[]) };
    assert_eq!(start(&tables, &belief, &closed).unwrap().wait, 0.2);
    let late = [silent(1, 1, 9.0)];
    belief.see(&tables, &late);
    let joined = extra(&tables, &belief, &view(1, 20.0, &late));
    assert!(joined.is_none_or(|extra| extra.path == PathIx(1)), "{joined:?}");
}

#[test]
fn weights_of_spells_are_chances() {
    let (tables, mut belief) = moody();
    for looks in [vec![], vec![Look { slow: true, ..silent(0, 0, 9.0) }, silent(1, 1, 30.0)]] {
        belief.see(&tables, &looks);
        let sum: f64 = belief.weights.iter().sum();
        assert!((sum - 1.0).abs() < 1e-9 && belief.weights.iter().all(|weight| *weight >= 0.0));
    }
}
