//! One attempt's fate, drawn from what is measured of its path instead of a named regime.
//!
//! The parts are those of [`Laws`]; each is drawn by the same hash as a regime's, so that deadlines and policies that
//! differ see the same luck. A law is looked up at the drawn share of its points.

use super::draw::{Ending, Fate, Key, inverse_normal, uniform_of_provider, uniform_of_step};
use crate::latency::law::{Laws, ProviderLaw, StepLaw};

/// Draw fields of what the regimes do not have.
const NEVER_FIELD: u8 = 202;
const STALL_FIELD: u8 = 203;
const STALLED_AT_FIELD: u8 = 204;

/// Draws an attempt of the step at `step` of a plan on its path at `path`, whose answer may have `bound` tokens; `None`
/// where the laws know no such path.
#[must_use]
pub fn draw(laws: &Laws, key: &Key, (step, path): (usize, usize), bound: f64) -> Option<Fate> {
    let law = laws.paths.get(path)?;
    let serving = laws.providers.get(law.provider)?;
    let provider = u64::try_from(law.provider).unwrap_or(0);
    let in_spell = uniform_of_provider(key, provider, 100) < serving.spell;
    let in_burst = uniform_of_provider(key, provider, 101) < serving.burst;
    let by_spell = |chance: [f64; 2]| chance[usize::from(in_spell)];

    let mut first = law.first_token.at(key.uniform(1));
    if key.uniform(2) < by_spell(serving.late) {
        first *= laws.late.at(key.uniform(3));
    }
    let tokens = size(laws.steps.get(step).copied().flatten(), key, bound);
    let pace_s = law.per_token.at(key.uniform(6));
    let (mut factor, mut onset) = (1.0, 0.0);
    if key.uniform(7) < by_spell(serving.slow) {
        factor = laws.slow.at(key.uniform(8)).max(1.0);
        onset = laws.onset.at(key.uniform(9)).clamp(0.0, 1.0);
    }
    let fate = Fate {
        ending: Ending::Ok,
        first_token_s: Some(first),
        end_s: Some(first + tokens * pace_s * (onset + (1.0 - onset) * factor)),
        tokens,
        pace_s,
        onset,
        factor,
        stall_s: None,
    };
    Some(end(fate, law, serving, key, in_burst))
}

/// Tokens of the answer; by its bound where nothing is known of the step.
fn size(step: Option<StepLaw>, key: &Key, bound: f64) -> f64 {
    let Some(step) = step else { return bound / super::BOUND_PER_MEDIAN };
    let shared = step.spread_shared * inverse_normal(uniform_of_step(key, 4));
    let own = step.spread_own * inverse_normal(key.uniform(5));
    (step.tokens * (shared + own).exp()).clamp(1.0, bound.max(1.0))
}

/// How the attempt ends.
fn end(
    fate: Fate,
    law: &crate::latency::law::PathLaw,
    serving: &ProviderLaw,
    key: &Key,
    in_burst: bool,
) -> Fate {
    let first = fate.first_token_s.unwrap_or_default();
    let whole = fate.generation_s();
    if in_burst && key.uniform(13) < serving.refused {
        let end_s = Some(serving.refused_after);
        return Fate { ending: Ending::RateLimited, first_token_s: None, end_s, ..fate };
    }
    if key.uniform(11) < law.error {
        let end_s = Some(first * law.error_at.at(key.uniform(12)));
        return Fate { ending: Ending::Error, first_token_s: None, end_s, ..fate };
    }
    if key.uniform(NEVER_FIELD) < law.hangs {
        return Fate { ending: Ending::Hang, first_token_s: None, end_s: None, ..fate };
    }
    if key.uniform(STALL_FIELD) < law.stalls {
        let stall_s = Some(whole * key.uniform(STALLED_AT_FIELD));
        return Fate { ending: Ending::Hang, end_s: None, stall_s, ..fate };
    }
    if key.uniform(14) < law.invalid {
        let end_s = Some(first + whole * law.invalid_at.at(key.uniform(12)));
        return Fate { ending: Ending::Garbage, end_s, ..fate };
    }
    fate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::law::{PathLaw, Points};

    fn laws() -> Laws {
        Laws {
            paths: vec![PathLaw {
                provider: 0,
                first_token: Points::new([1.0, 2.0, 3.0]).unwrap(),
                per_token: Points::one(0.01),
                invalid: 0.1,
                invalid_at: Points::one(0.5),
                error: 0.05,
                error_at: Points::one(0.5),
                hangs: 0.02,
                stalls: 0.03,
                samples: 100.0,
            }],
            providers: vec![ProviderLaw {
                spell: 0.2,
                slow: [0.05, 0.5],
                late: [0.0, 0.4],
                burst: 0.1,
                refused: 0.6,
                refused_after: 0.4,
            }],
            late: Points::one(4.0),
            slow: Points::one(5.0),
            onset: Points::one(0.0),
            steps: vec![Some(StepLaw {
                tokens: 200.0,
                prompt_tokens: 500.0,
                spread_shared: 0.0,
                spread_own: 0.0,
            })],
        }
    }

    fn fates(laws: &Laws) -> Vec<Fate> {
        let key = |run| Key { seed: 1, run, step: 0, path: 0, attempt: 0 };
        (0..20_000).map(|run| draw(laws, &key(run), (0, 0), 1e4).unwrap()).collect()
    }

    /// The shares of 20,000 draws within four standard errors of what the law says.
    #[test]
    fn what_is_drawn_is_what_the_law_says() {
        let fates = fates(&laws());
        let share = |of: &dyn Fn(&Fate) -> bool| {
            f64::from(u32::try_from(fates.iter().filter(|fate| of(fate)).count()).unwrap()) / 2e4
        };
        let near = |got: f64, wanted: f64, what: &str| {
            let error = (wanted * (1.0 - wanted) / 2e4).sqrt();
            assert!((got - wanted).abs() < 4.0 * error, "{what}: {got}, not {wanted}");
        };
        let refused = 0.1 * 0.6;
        near(share(&|fate| fate.ending == Ending::RateLimited), refused, "refused");
        let errors = (1.0 - refused) * 0.05;
        near(share(&|fate| fate.ending == Ending::Error), errors, "errors");
        let rest = (1.0 - refused) * 0.95;
        let never = |fate: &Fate| fate.ending == Ending::Hang && fate.first_token_s.is_none();
        near(share(&never), rest * 0.02, "hangs");
        near(share(&|fate| fate.stall_s.is_some()), rest * 0.98 * 0.03, "stalls");
        let valid = rest * 0.98 * 0.97;
        near(share(&|fate| fate.ending == Ending::Garbage), valid * 0.1, "invalid");
        near(share(&|fate| fate.factor > 1.0), 0.8 * 0.05 + 0.2 * 0.5, "slow");
        let late = |fate: &Fate| fate.first_token_s.is_some_and(|first| first > 3.5);
        assert!(share(&late) > 0.0 && share(&late) <= 0.2 * 0.4, "{}", share(&late));
    }

    #[test]
    fn an_answer_takes_its_first_token_and_then_its_tokens() {
        let mut sure = laws();
        sure.paths[0] =
            PathLaw { invalid: 0.0, error: 0.0, hangs: 0.0, stalls: 0.0, ..sure.paths[0].clone() };
        sure.providers[0] =
            ProviderLaw { spell: 0.0, slow: [0.0, 0.0], burst: 0.0, ..sure.providers[0] };
        for fate in fates(&sure) {
            let first = fate.first_token_s.unwrap();
            assert!((1.0..=3.0).contains(&first), "{fate:?}");
            assert!((fate.end_s.unwrap() - first - 2.0).abs() < 1e-9, "{fate:?}");
        }
        assert_eq!(
            draw(&sure, &Key { seed: 1, run: 1, step: 0, path: 9, attempt: 0 }, (0, 9), 1e3),
            None
        );
    }
}
