//! Whatever comes in, nothing panics.

use proptest::prelude::*;

use super::super::decide::{extra, give_up, keep_holding, start, value_left};
use super::super::look::{Beside, Ended};
use super::*;

#[test]
fn laws_that_do_not_fit_the_problem_are_refused() {
    let (problem, laws) = coin(vec![step(&[], &[0, 1])]);
    let refused = |problem: &Problem, laws: &Laws| {
        Tables::build(problem, laws, Duration::from_secs(60)).is_none()
    };
    assert!(!refused(&problem, &laws));
    assert!(Tables::build(&problem, &laws, Duration::ZERO).is_none());
    let without_steps = Laws { steps: vec![], ..laws.clone() };
    assert!(refused(&problem, &without_steps));
    let unsized_step = Laws { steps: vec![None], ..laws.clone() };
    assert!(refused(&problem, &unsized_step));
    let without_providers = Laws { providers: vec![], ..laws.clone() };
    assert!(refused(&problem, &without_providers));
    let forward = Problem { steps: vec![step(&[0], &[0, 1])], ..problem.clone() };
    assert!(refused(&forward, &laws));
    let unknown = Problem { steps: vec![step(&[], &[7])], ..problem.clone() };
    assert!(refused(&unknown, &laws));
    assert!(refused(&Problem { steps: vec![], ..problem }, &without_steps));
}

/// Any number, the nasty ones among them.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..60.0_f64,
        1 => 0.0..1.0_f64,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, -1.0, -0.0, 1e300, 1e-300]),
    ]
}

prop_compose! {
    fn any_law()(of in prop::collection::vec(number(), 9), provider in 0_usize..2) -> PathLaw {
        PathLaw {
            provider,
            first_token: Points::one(of[0]),
            per_token: Points::one(of[1]),
            invalid: of[2],
            invalid_at: Points::one(of[3]),
            error: of[4],
            error_at: Points::one(of[5]),
            hangs: of[6],
            stalls: of[7],
            samples: of[8],
        }
    }
}

prop_compose! {
    fn any_provider()(of in prop::collection::vec(number(), 8)) -> ProviderLaw {
        ProviderLaw {
            spell: of[0],
            slow: [of[1], of[2]],
            late: [of[3], of[4]],
            burst: of[5],
            refused: of[6],
            refused_after: of[7],
        }
    }
}

prop_compose! {
    fn any_look()(step in 0_u16..4, path in 0_u16..4, of in prop::collection::vec(number(), 4), begun: bool, slow: bool) -> Look {
        Look {
            step: StepIx(step),
            path: PathIx(path),
            age: of[0],
            first_token: begun.then_some(of[1]),
            tokens: of[2],
            rate: begun.then_some(of[3]),
            slow,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    #[test]
    fn nonsense_is_borne(
        paths in prop::collection::vec(any_law(), 2),
        providers in prop::collection::vec(any_provider(), 2),
        of in prop::collection::vec(number(), 12),
        looks in prop::collection::vec(any_look(), 0..4),
        deadline in number(),
        optional: bool,
    ) {
        let mut laws = laws(paths, providers, 3);
        laws.late = Points::one(of[0]);
        laws.slow = Points::one(of[1]);
        laws.onset = Points::one(of[2]);
        if let Some(step) = &mut laws.steps[0] {
            *step = StepLaw { prompt_tokens: of[3], spread_shared: of[4], spread_own: of[5], ..*step };
        }
        let mut steps = vec![step(&[], &[0, 1]), step(&[], &[1]), step(&[0, 1], &[1, 0])];
        steps[0].optional = optional;
        steps[0].closes_at = Some(of[6]);
        let mut problem = problem(steps, vec![path(laws.paths[0].provider, of[7], of[8]), path(laws.paths[1].provider, 0.9, 1e-6)]);
        problem.prices = Prices { tokens: of[9], money: of[10], by_risk: !optional, ..problem.prices };
        let deadline = Duration::try_from_secs_f64(deadline).unwrap_or(Duration::MAX);
        let Some(tables) = Tables::build(&problem, &laws, deadline) else { return Ok(()) };
        let mut belief = Belief::new(&tables);
        for how in [Ended::Answered, Ended::Failed, Ended::Refused, Ended::Closed] {
            for look in &looks {
                let _ = tables.is_slow(look);
                belief.ended(&tables, look, how);
            }
            belief.see(&tables, &looks);
            let beside = [Beside { step: StepIx(1), attempts: &looks, held: optional }];
            for step in 0..5 {
                let base = view(step, of[11], &looks);
                let view = View { beside: &beside, open_in: &of[..2], ..base };
                for view in [base, view, View { held: Some(PathIx(1)), ..view }] {
                    let _ = (start(&tables, &belief, &view), extra(&tables, &belief, &view));
                    let _ = (keep_holding(&tables, &belief, &view), give_up(&tables, &belief, &view));
                    let _ = value_left(&tables, &belief, &view);
                }
            }
        }
    }
}
