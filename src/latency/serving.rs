//! What the paths of one provider have in common, and what has changed there of late.

use super::change::{self, Verdict};
use super::histogram::Histogram;
use super::law::ProviderLaw;
use super::mixture::{LogNormal, Mixture, Prior};
use super::normal;
use super::path::{LATE, Outcomes, PathCounts, SLOW, SPREAD_FIRST, SPREAD_PACE};
use super::provider::Provider;
use super::spell::{BURSTS, Bursts, FIRM, Firmness, SPELLS, Spells};
use super::window::Windows;

/// Chances before anything is seen, and how firmly they are believed, in attempts.
pub(super) const ERROR: f64 = 0.005;
/// See [`ERROR`].
pub(super) const NEVER: f64 = 0.001;
/// See [`ERROR`].
pub(super) const STALL: f64 = 0.001;
/// See [`ERROR`].
const FIRM_CHANCE: f64 = 50.0;
/// Seconds after which a refusal comes, before any was seen.
const REFUSED_S: f64 = 0.5;

/// One path, fitted.
pub(super) struct Fitted<'a> {
    pub counts: Option<&'a PathCounts>,
    pub first: Windows<Mixture>,
    pub pace: Windows<Mixture>,
}

/// One provider, fitted.
pub(super) struct Serving {
    pub law: ProviderLaw,
    pub first_shift: f64,
    pub pace_shift: f64,
    pub error: Verdict,
    pub never: Verdict,
    pub stall: Verdict,
    pub recent: f64,
}

/// What all fits share.
pub(super) struct Context {
    pub fade: Windows<f64>,
    pub late: LogNormal,
    pub slow: LogNormal,
}

/// Fits every window; the quicker ones start from what the long one shows.
pub(super) fn fit(of: &Windows<Histogram>, context: &Context, prior: &Prior) -> Windows<Mixture> {
    let long = Mixture::fit(&of.long.times(context.fade.long), prior);
    let recent = Prior {
        usual: long.usual,
        mean_weight: 0.3,
        spread_weight: 50.0,
        few: long.few,
        never: long.never,
        share_weight: 4.0,
        factor: prior.factor,
    };
    let short = Mixture::fit(&of.short.times(context.fade.short), &recent);
    let quick = Mixture::fit(&of.quick.times(context.fade.quick), &recent);
    Windows { quick, short, long }
}

impl Fitted<'_> {
    pub(super) fn outcomes(
        &self,
        fade: Windows<f64>,
        of: impl Fn(&Outcomes) -> f64,
    ) -> Windows<f64> {
        self.counts
            .map_or_else(Windows::default, |counts| counts.outcomes.each().map(of).times(fade))
    }
}

/// The shift that a provider's paths show together, and on how many of the latest minutes' attempts.
fn shift(fits: &[&Windows<Mixture>], odds: f64) -> (Verdict, f64) {
    let mut all = Verdict { changed: 0.0, value: 0.0 };
    let mut known = 0.0;
    for quick in [false, true] {
        let (mut count, mut sum, mut variance) = (0.0, 0.0, 0.0);
        for fit in fits {
            let recent = if quick { &fit.quick } else { &fit.short };
            // Of a path that was hardly known before nothing can be said to have changed.
            let before = (fit.long.count - recent.count).max(0.0);
            let n = recent.count * before / (before + recent.count).max(1e-9);
            count += n;
            sum += n * (recent.usual.mean - fit.long.usual.mean - all.value);
            variance += n * fit.long.usual.spread.powi(2);
        }
        let n = f64::max(count, 1e-9);
        let spread = f64::max(variance / n, 1e-4).sqrt();
        let more = change::of_shift(sum / n, count, spread, odds);
        all =
            Verdict { changed: either([all.changed, more.changed]), value: all.value + more.value };
        known = f64::max(known, count);
    }
    (all, known)
}

/// The chance of at least one.
fn either<const N: usize>(chances: [f64; N]) -> f64 {
    1.0 - chances.into_iter().map(|chance| 1.0 - chance).product::<f64>()
}

/// A chance of weeks, moved where the latest minutes say so, and then where the latest minute does.
pub(super) fn recent(usual: f64, hits: Windows<f64>, trials: Windows<f64>, odds: f64) -> Verdict {
    let minutes = change::of_chance(usual, hits.short, trials.short, odds);
    let minute = change::of_chance(minutes.value, hits.quick, trials.quick, odds);
    Verdict { changed: either([minutes.changed, minute.changed]), value: minute.value }
}

/// A chance that a provider's paths share.
fn chance(hits: Windows<f64>, trials: Windows<f64>, prior: f64, odds: f64) -> Verdict {
    recent((hits.long + FIRM_CHANCE * prior) / (trials.long + FIRM_CHANCE), hits, trials, odds)
}

/// Odds of a change, where others have changed with that chance.
fn odds(others: f64) -> f64 {
    change::ODDS + (change::ODDS_TOGETHER - change::ODDS) * others
}

/// A share that was told apart by a threshold, made good for those on the wrong side of it.
fn corrected(seen: f64, usual_spread: f64, factor: LogNormal, threshold: f64) -> f64 {
    let edge = threshold.ln();
    let false_alarm = normal::above(edge / usual_spread.max(0.02));
    let found = normal::above((edge - factor.mean) / factor.spread.hypot(usual_spread));
    ((seen - false_alarm) / (found - false_alarm).max(0.1)).clamp(1e-4, 0.98)
}

/// What a provider's paths show together, each figure by the odds that it has changed.
struct Figures {
    shifts: [Verdict; 2],
    /// Of errors, of what never comes, and of stalls.
    chances: [Verdict; 3],
    recent: f64,
}

impl Figures {
    fn of(paths: &[&Fitted<'_>], fade: Windows<f64>, odds: [f64; 5]) -> Self {
        let sum = |of: &dyn Fn(&Fitted<'_>) -> Windows<f64>| {
            paths.iter().fold(Windows::<f64>::default(), |mut sum, fit| {
                sum.absorb(&of(fit));
                sum
            })
        };
        let firsts: Vec<&Windows<Mixture>> = paths.iter().map(|fit| &fit.first).collect();
        let paces: Vec<&Windows<Mixture>> = paths.iter().map(|fit| &fit.pace).collect();
        let (first, recent_first) = shift(&firsts, odds[0]);
        let (pace, recent_pace) = shift(&paces, odds[1]);
        let outcome = |of: fn(&Outcomes) -> f64| sum(&|fit| fit.outcomes(fade, of));
        let error = chance(outcome(|of| of.faults), outcome(|of| of.sent), ERROR, odds[2]);
        let missing = sum(&|fit| fit.first.each().map(|fit| fit.missing));
        let never =
            chance(missing, sum(&|fit| fit.first.each().map(|fit| fit.total)), NEVER, odds[3]);
        let stall = chance(outcome(|of| of.stalls), outcome(|of| of.flowing), STALL, odds[4]);
        Self {
            shifts: [first, pace],
            chances: [error, never, stall],
            recent: recent_first.max(recent_pace),
        }
    }

    fn changed(&self) -> [f64; 5] {
        let [first, pace] = self.shifts.map(|shift| shift.changed);
        let [error, never, stall] = self.chances.map(|chance| chance.changed);
        [first, pace, error, never, stall]
    }
}

pub(super) fn serve(
    counts: Option<&Provider>,
    paths: &[&Fitted<'_>],
    context: &Context,
) -> Serving {
    let fade = context.fade;
    let alone = Figures::of(paths, fade, [change::ODDS; 5]);
    let known: f64 = paths.iter().map(|fit| fit.first.long.count).sum();
    let mean = |of: &dyn Fn(&Fitted<'_>) -> f64, none: f64| {
        let weighed: f64 = paths.iter().map(|fit| fit.first.long.count * of(fit)).sum();
        if known > 0.0 { weighed / known } else { none }
    };
    // Of what was closed without a token, so much would still have come.
    let waiting: f64 = paths.iter().map(|fit| fit.first.long.waiting).sum();
    let missing: f64 = paths.iter().map(|fit| fit.first.long.missing).sum();
    let silent_late = (waiting + 0.5) / (waiting + missing + 1.0);
    let changed = alone.changed();
    let together = odds(either(changed));
    let (spells, spells_changed) =
        counts.map_or((SPELLS, 0.0), |counts| spells(counts, fade, silent_late, together));
    let together = odds(either([either(changed), spells_changed]));
    let (bursts, bursts_changed) =
        counts.map_or((BURSTS, 0.0), |counts| bursts(counts, fade, together));
    let others = [0, 1, 2, 3, 4].map(|at| {
        let mut others = changed;
        others[at] = 0.0;
        odds(either([either(others), spells_changed, bursts_changed]))
    });
    let figures = Figures::of(paths, fade, others);
    let refusals = counts.map_or(0.0, |counts| counts.refusals.long * fade.long);
    let waited = counts.map_or(0.0, |counts| counts.refusal_s.long * fade.long);
    let first_spread = mean(&|fit| fit.first.long.usual.spread, SPREAD_FIRST);
    let pace_spread = mean(&|fit| fit.pace.long.usual.spread, SPREAD_PACE);
    let late = |seen: f64| corrected(seen, first_spread, context.late, LATE);
    let slow = |seen: f64| corrected(seen, pace_spread, context.slow, SLOW);
    Serving {
        law: ProviderLaw {
            spell: spells.spell,
            slow: spells.slow.map(slow),
            late: spells.late.map(late),
            burst: bursts.burst,
            refused: bursts.refused,
            refused_after: (waited + 2.0 * REFUSED_S) / (refusals + 2.0),
        },
        first_shift: figures.shifts[0].value,
        pace_shift: figures.shifts[1].value,
        error: figures.chances[0],
        never: figures.chances[1],
        stall: figures.chances[2],
        recent: figures.recent,
    }
}

/// A provider's spells: by weeks, unless the latest minutes fit other figures far better, or the latest minute; and the
/// chance that they have changed.
fn spells(counts: &Provider, fade: Windows<f64>, silent_late: f64, odds: f64) -> (Spells, f64) {
    let tables = &counts.spells;
    let mut spells = Spells::fit(&tables.long, fade.long, silent_late, &SPELLS, FIRM);
    let firm = Firmness { spell: 2.0, outside: 20.0, inside: 8.0 };
    let mut changed = 0.0;
    for (recent, fade) in [(&tables.short, fade.short), (&tables.quick, fade.quick)] {
        let other = Spells::fit(recent, fade, silent_late, &spells, firm);
        let gain = other.ln_likelihood(recent, fade, silent_late)
            - spells.ln_likelihood(recent, fade, silent_late);
        let share = change::by_fit(gain, 1.5, recent.total() * fade, odds);
        spells = spells.towards(&other, share);
        changed = either([changed, share]);
    }
    (spells, changed)
}

/// A provider's bursts, the same way.
fn bursts(counts: &Provider, fade: Windows<f64>, odds: f64) -> (Bursts, f64) {
    let tables = &counts.bursts;
    let mut bursts = Bursts::fit(&tables.long, fade.long, &BURSTS, 20.0);
    let mut changed = 0.0;
    for (recent, fade) in [(&tables.short, fade.short), (&tables.quick, fade.quick)] {
        let other = Bursts::fit(recent, fade, &bursts, 3.0);
        let gain = other.ln_likelihood(recent, fade) - bursts.ln_likelihood(recent, fade);
        let share = change::by_fit(gain, 1.0, recent.total() * fade, odds);
        bursts = Bursts {
            burst: bursts.burst + share * (other.burst - bursts.burst),
            refused: bursts.refused + share * (other.refused - bursts.refused),
        };
        changed = either([changed, share]);
    }
    (bursts, changed)
}
