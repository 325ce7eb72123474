//! Whether the latest minutes are another regime than the weeks before, and what to believe then.
//!
//! Each figure is weighed between two accounts: nothing has changed, and it is as it always was; or it has, and the latest
//! minutes alone tell what it is now. How likely the second is follows from Bayes' rule, so a handful of observations far
//! from what was usual is believed at once, and a single odd one hardly.

use super::normal::ln_gamma;

/// Odds, before anything is seen, that a figure has changed in the latest minutes.
pub const ODDS: f64 = 0.05;
/// The same where other figures of the same provider have: changes come together.
pub const ODDS_TOGETHER: f64 = 0.5;
/// How far a logarithm moves when it moves, as a standard deviation: a factor of 2.2 either way.
const MOVE: f64 = 0.8;
/// What a chance is once it has moved: Beta(0.5, 3), mostly small, at times most of all.
const MOVED: (f64, f64) = (0.5, 3.0);

/// What was found of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Chance that it has changed.
    pub changed: f64,
    /// What to believe.
    pub value: f64,
}

/// The chance of a change after evidence of that weight, above what it was before it: without evidence all stays as it was.
fn chance(odds: f64, ln_factor: f64) -> f64 {
    let share = |odds: f64| odds / (1.0 + odds);
    let (before, after) = (share(odds), share(odds * ln_factor.clamp(-30.0, 30.0).exp()));
    ((after - before) / (1.0 - before)).max(0.0)
}

/// Of a difference `seen` of logarithms, the mean of `count` observations that each scatter by `spread`.
#[must_use]
pub fn of_shift(seen: f64, count: f64, spread: f64, odds: f64) -> Verdict {
    if !seen.is_finite() || count < 0.5 {
        return Verdict { changed: 0.0, value: 0.0 };
    }
    let known = count * MOVE * MOVE / (spread * spread).max(1e-6);
    let z2 = seen * seen * count / (spread * spread).max(1e-6);
    let changed = chance(odds, 0.5 * z2 * known / (1.0 + known) - 0.5 * (1.0 + known).ln());
    Verdict { changed, value: changed * seen * known / (1.0 + known) }
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// Of a chance that was `usual`, of which the latest minutes show `hits` in `trials`.
#[must_use]
pub fn of_chance(usual: f64, hits: f64, trials: f64, odds: f64) -> Verdict {
    let usual = usual.clamp(1e-5, 1.0 - 1e-5);
    let hits = hits.clamp(0.0, trials.max(0.0));
    let misses = (trials - hits).max(0.0);
    let (a, b) = (MOVED.0 + hits, MOVED.1 + misses);
    let moved = ln_beta(a, b) - ln_beta(MOVED.0, MOVED.1);
    let changed = chance(odds, moved - hits * usual.ln() - misses * (1.0 - usual).ln());
    Verdict { changed, value: usual + changed * (a / (a + b) - usual) }
}

/// By the logarithm of a likelihood ratio for which `figures` figures were fitted to `count` observations (Schwarz).
#[must_use]
pub fn by_fit(ln_ratio: f64, figures: f64, count: f64, odds: f64) -> f64 {
    chance(odds, ln_ratio - 0.5 * figures * (1.0 + count).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rare_event_is_not_yet_another_regime_and_three_are() {
        let once = of_chance(0.001, 1.0, 14.0, ODDS);
        assert!(once.value < 0.06, "{once:?}");
        let thrice = of_chance(0.001, 3.0, 6.0, ODDS);
        assert!(thrice.value > 0.3, "{thrice:?}");
        let never = of_chance(0.45, 0.0, 20.0, ODDS);
        assert!(never.value < 0.1, "{never:?}");
    }

    #[test]
    fn what_agrees_changes_nothing_and_a_clear_shift_is_taken_over() {
        assert!(of_shift(0.05, 10.0, 0.19, ODDS).value < 0.01);
        let shifted = of_shift(0.37, 6.0, 0.19, ODDS);
        assert!(shifted.value > 0.3, "{shifted:?}");
        assert!(of_shift(f64::NAN, 6.0, 0.19, ODDS).value.abs() < 1e-12);
    }
}
