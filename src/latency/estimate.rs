//! From what a book counts to the laws of a plan's paths.

use std::time::Duration;

use super::book::Book;
use super::change::{self, Verdict};
use super::law::{Laws, PathLaw, Points, ProviderLaw, StepLaw};
use super::mixture::{LogNormal, Mixture, Prior};
use super::path::{LATE, Outcomes, PathCounts, SLOW, SPREAD_FIRST, SPREAD_PACE};
use super::provider::Provider;
use super::shape;
use super::spell::{BURSTS, Bursts, FIRM, Firmness, SPELLS, Spells};
use super::step::{SPREAD_OWN, SPREAD_SHARED};
use super::window::Pair;
use super::{histogram::Histogram, normal};
use crate::domain::plan::{PathPlan, Plan, Work};

/// Before anything is seen: seconds to the first token, seconds a token (published measurements of 1.2 million calls).
const FIRST_S: f64 = 1.4;
/// See [`FIRST_S`].
const PACE_S: f64 = 0.016;
/// Models of twice the price take 1.4 times as long: in the published measurements times go with the root of the price.
const PRICE_POWER: f64 = 0.5;
/// Chances before anything is seen, and how firmly they are believed, in attempts.
const ERROR: f64 = 0.005;
/// See [`ERROR`].
const NEVER: f64 = 0.001;
/// See [`ERROR`].
const STALL: f64 = 0.001;
/// See [`ERROR`].
const INVALID: f64 = 0.02;
/// See [`ERROR`].
const FIRM_CHANCE: f64 = 50.0;
/// How firmly a path is believed to go like its provider's others.
const FIRM_PATH: f64 = 30.0;
/// Answers of a step that was never tried: a share of its bound, and never more tokens than that.
const UNTRIED: (f64, f64) = (0.4, 600.0);
/// Seconds after which a refusal comes, before any was seen.
const REFUSED_S: f64 = 0.5;

/// What a book knows of a plan at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// How its paths go.
    pub laws: Laws,
    /// By provider of the plan: by how much the latest minutes are slower than the weeks before, and how many of their
    /// attempts that is known from.
    pub shocks: Vec<(f64, f64)>,
}

impl Estimate {
    /// By how much all providers at once are slower than ever, at least 1. Of a single provider among several nothing
    /// follows for the others.
    #[must_use]
    pub fn shock(&self) -> f64 {
        let known = || self.shocks.iter().filter(|shock| shock.1 >= 3.0);
        let needed = self.shocks.len().min(2);
        if needed == 0 || known().count() < needed {
            return 1.0;
        }
        known().map(|shock| shock.0).fold(f64::INFINITY, f64::min).max(1.0)
    }
}

/// One path, fitted.
struct Fitted<'a> {
    counts: Option<&'a PathCounts>,
    first: Pair<Mixture>,
    pace: Pair<Mixture>,
}

/// One provider, fitted.
struct Serving {
    law: ProviderLaw,
    first_shift: f64,
    pace_shift: f64,
    error: Verdict,
    never: Verdict,
    stall: Verdict,
    recent: f64,
}

/// What all fits share.
struct Context {
    fade: Pair<f64>,
    late: LogNormal,
    slow: LogNormal,
}

/// Dollars for a million tokens of answer.
fn price(path: &PathPlan) -> Option<f64> {
    path.profile.price.as_ref().map(|price| price.output.dollars()).filter(|price| *price > 0.0)
}

/// Fits both windows; the short one starts from what the long one shows.
fn fit(of: &Pair<Histogram>, context: &Context, prior: &Prior) -> Pair<Mixture> {
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
    Pair { short, long }
}

impl Fitted<'_> {
    fn outcomes(&self, fade: Pair<f64>, of: impl Fn(&Outcomes) -> f64) -> Pair<f64> {
        self.counts.map_or_else(Pair::default, |counts| {
            let pair = &counts.outcomes;
            Pair { short: of(&pair.short), long: of(&pair.long) }.times(fade)
        })
    }
}

/// The shift that a provider's paths show together.
fn shift<'a>(fits: impl Iterator<Item = &'a Pair<Mixture>>) -> (Verdict, f64) {
    let (mut count, mut sum, mut variance) = (0.0, 0.0, 0.0);
    for fit in fits {
        // Of a path that was hardly known before nothing can be said to have changed.
        let before = (fit.long.count - fit.short.count).max(0.0);
        let n = fit.short.count * before / (before + fit.short.count).max(1e-9);
        count += n;
        sum += n * (fit.short.usual.mean - fit.long.usual.mean);
        variance += n * fit.long.usual.spread.powi(2);
    }
    let all: f64 = count.max(1e-9);
    (change::of_shift(sum / all, count, (variance / all).max(1e-4).sqrt()), count)
}

/// A chance that a provider's paths share: of weeks, and whether it has changed.
fn chance(hits: Pair<f64>, trials: Pair<f64>, prior: f64) -> Verdict {
    let usual = (hits.long + FIRM_CHANCE * prior) / (trials.long + FIRM_CHANCE);
    change::of_chance(usual, hits.short, trials.short)
}

/// A path's own chance, on top of its provider's.
fn own(verdict: &Verdict, hits: f64, trials: f64) -> f64 {
    let kept = 1.0 - verdict.changed;
    ((hits * kept + FIRM_PATH * verdict.value) / (trials * kept + FIRM_PATH)).clamp(0.0, 0.98)
}

impl Book {
    /// How the paths of a plan go, as far as is known at `now`; the rest is what published measurements of other servers
    /// show. Times are read by the clock of [`Book::record`].
    #[must_use]
    pub fn laws(&self, plan: &Plan, now: Duration) -> Laws {
        self.estimate(plan, now).laws
    }

    /// The same, with what the latest minutes show.
    #[must_use]
    pub fn estimate(&self, plan: &Plan, now: Duration) -> Estimate {
        let fade = self.fade(now);
        let late = self.shape.late(fade.long);
        let slow = self.shape.slow(fade.long);
        let context = Context { fade, late, slow };
        let fitted = self.fit_paths(plan, &context);
        let serving: Vec<Serving> = (0..plan.providers.len())
            .map(|at| {
                let its = plan.paths.iter().zip(&fitted);
                let its = its.filter(|(path, _)| path.provider.at() == at).map(|(_, fit)| fit);
                let counts = self.providers.get(&plan.providers[at].name);
                serve(counts, &its.collect::<Vec<_>>(), &context)
            })
            .collect();
        let invalid_at = self.shape.invalid_at(fade.long);
        let error_at = self.shape.error_at(fade.long);
        let law = |(path, fit): (&PathPlan, &Fitted<'_>)| {
            let at = path.provider.at();
            path_law(fit, serving.get(at), at, &context, [&invalid_at, &error_at])
        };
        let shocks = serving.iter().map(|one| {
            // Of a typical answer's time a seventh is the wait for its first token.
            ((one.first_shift.exp() + 6.0 * one.pace_shift.exp()) / 7.0, one.recent)
        });
        Estimate {
            shocks: shocks.collect(),
            laws: Laws {
                paths: plan.paths.iter().zip(&fitted).map(law).collect(),
                providers: serving.iter().map(|serving| serving.law).collect(),
                late: shape::log_normal(late),
                slow: shape::points(|share| {
                    (slow.mean + slow.spread * normal::inverse(share)).exp().max(1.0)
                }),
                onset: self.shape.onset(fade.long),
                steps: self.step_laws(plan, fade.long),
            },
        }
    }

    fn step_laws(&self, plan: &Plan, fade: f64) -> Vec<Option<StepLaw>> {
        let law = |step: &crate::domain::plan::StepPlan| {
            let Work::Model { max_tokens, .. } = &step.work else { return None };
            let name = format!("{}/{}", plan.workflow, step.name);
            Some(self.steps.get(&name).map_or_else(
                || StepLaw {
                    tokens: (f64::from(*max_tokens) * UNTRIED.0).clamp(1.0, UNTRIED.1),
                    prompt_tokens: 1_000.0,
                    spread_shared: SPREAD_SHARED,
                    spread_own: SPREAD_OWN,
                },
                |counts| counts.law(fade),
            ))
        };
        plan.steps.iter().map(law).collect()
    }

    fn fit_paths<'a>(&'a self, plan: &Plan, context: &Context) -> Vec<Fitted<'a>> {
        let counts: Vec<Option<&PathCounts>> =
            plan.paths.iter().map(|path| self.paths.get(&path.label)).collect();
        let medians: Vec<Option<[f64; 3]>> = counts
            .iter()
            .map(|counts| {
                let counts = (*counts)?;
                let known = counts.pace.long.events() * context.fade.long;
                let ln = |of: &Histogram| Some(of.quantile(0.5)?.at_least().ln());
                Some([known / (known + 5.0), ln(&counts.first.long)?, ln(&counts.pace.long)?])
            })
            .collect();
        let fit_one = |at: usize| {
            let [first, pace] = expected(plan, &medians, at);
            let mean_weight = 0.5;
            let first = Prior {
                usual: LogNormal { mean: first, spread: SPREAD_FIRST },
                mean_weight,
                spread_weight: 15.0,
                few: 0.02,
                never: NEVER,
                share_weight: 20.0,
                factor: context.late,
            };
            let pace = Prior {
                usual: LogNormal { mean: pace, spread: SPREAD_PACE },
                never: 0.0,
                factor: context.slow,
                ..first
            };
            let empty = Pair::default();
            let (firsts, paces) =
                counts[at].map_or((&empty, &empty), |counts| (&counts.first, &counts.pace));
            Fitted {
                counts: counts[at],
                first: fit(firsts, context, &first),
                pace: fit(paces, context, &pace),
            }
        };
        (0..plan.paths.len()).map(fit_one).collect()
    }
}

/// The logarithms of the times that the path at `at` may be expected to take by what the plan's other paths show, each
/// by the ratio of prices.
fn expected(plan: &Plan, medians: &[Option<[f64; 3]>], at: usize) -> [f64; 2] {
    let own_price = plan.paths.get(at).and_then(price);
    let (mut weight, mut first, mut pace) = (0.3, 0.3 * FIRST_S.ln(), 0.3 * PACE_S.ln());
    for (other, median) in medians.iter().enumerate() {
        let Some([known, first_ln, pace_ln]) = *median else { continue };
        if other == at {
            continue;
        }
        let theirs = plan.paths.get(other).and_then(price);
        let dearer = own_price.zip(theirs).map_or(0.0, |(own, theirs)| (own / theirs).ln());
        let by = PRICE_POWER * dearer.clamp(-3.0, 3.0);
        weight += known;
        first += known * (first_ln + by);
        pace += known * (pace_ln + by);
    }
    [first / weight, pace / weight]
}

/// A share that was told apart by a threshold, made good for those on the wrong side of it.
fn corrected(seen: f64, usual_spread: f64, factor: LogNormal, threshold: f64) -> f64 {
    let edge = threshold.ln();
    let false_alarm = normal::above(edge / usual_spread.max(0.02));
    let found = normal::above((edge - factor.mean) / factor.spread.hypot(usual_spread));
    ((seen - false_alarm) / (found - false_alarm).max(0.1)).clamp(1e-4, 0.98)
}

fn serve(counts: Option<&Provider>, paths: &[&Fitted<'_>], context: &Context) -> Serving {
    let fade = context.fade;
    let sum = |of: &dyn Fn(&Fitted<'_>) -> Pair<f64>| {
        paths.iter().fold(Pair::<f64>::default(), |mut sum, fit| {
            sum.absorb(&of(fit));
            sum
        })
    };
    let (first_shift, recent_first) = shift(paths.iter().map(|fit| &fit.first));
    let (pace_shift, recent_pace) = shift(paths.iter().map(|fit| &fit.pace));
    let error = chance(
        sum(&|fit| fit.outcomes(fade, |of| of.faults)),
        sum(&|fit| fit.outcomes(fade, |of| of.sent)),
        ERROR,
    );
    let stall = chance(
        sum(&|fit| fit.outcomes(fade, |of| of.stalls)),
        sum(&|fit| fit.outcomes(fade, |of| of.flowing)),
        STALL,
    );
    let missing = sum(&|fit| Pair { short: fit.first.short.missing, long: fit.first.long.missing });
    let all = sum(&|fit| Pair { short: fit.first.short.total, long: fit.first.long.total });
    let never = chance(missing, all, NEVER);

    let spread = |of: &dyn Fn(&Fitted<'_>) -> LogNormal, usual: f64| {
        let known: f64 = paths.iter().map(|fit| fit.first.long.count).sum();
        let spreads = paths.iter().map(|fit| fit.first.long.count * of(fit).spread);
        if known > 0.0 { spreads.sum::<f64>() / known } else { usual }
    };
    let first_spread = spread(&|fit| fit.first.long.usual, SPREAD_FIRST);
    let pace_spread = spread(&|fit| fit.pace.long.usual, SPREAD_PACE);
    let late_few = paths.iter().map(|fit| fit.first.long.few * fit.first.long.total).sum::<f64>();
    let late_few = 0.5 * late_few / all.long.max(1e-9);
    let silent_late = if all.long > 0.0 { late_few / (late_few + never.value + 1e-6) } else { 0.5 };
    let spells = counts.map_or(SPELLS, |counts| spells(counts, fade, silent_late));
    let late = |seen: f64| corrected(seen, first_spread, context.late, LATE);
    let slow = |seen: f64| corrected(seen, pace_spread, context.slow, SLOW);
    let bursts = counts.map_or(BURSTS, |counts| bursts(counts, fade));
    let refusals = counts.map_or(0.0, |counts| counts.refusals.long * fade.long);
    let refusal_s = counts.map_or(0.0, |counts| counts.refusal_s.long * fade.long);
    Serving {
        law: ProviderLaw {
            spell: spells.spell,
            slow: spells.slow.map(slow),
            late: spells.late.map(late),
            burst: bursts.burst,
            refused: bursts.refused,
            refused_after: (refusal_s + 2.0 * REFUSED_S) / (refusals + 2.0),
        },
        first_shift: first_shift.value,
        pace_shift: pace_shift.value,
        error,
        never,
        stall,
        recent: recent_first.max(recent_pace),
    }
}

/// A provider's spells: by weeks, unless the latest minutes fit other figures far better.
fn spells(counts: &Provider, fade: Pair<f64>, silent_late: f64) -> Spells {
    let long = Spells::fit(&counts.spells.long, fade.long, silent_late, &SPELLS, FIRM);
    let firm = Firmness { spell: 2.0, outside: 20.0, inside: 8.0 };
    let recent = &counts.spells.short;
    let short = Spells::fit(recent, fade.short, silent_late, &long, firm);
    let gain = short.ln_likelihood(recent, fade.short, silent_late)
        - long.ln_likelihood(recent, fade.short, silent_late);
    let runs: f64 = recent.kinds().iter().map(|kind| kind.1 * fade.short).sum();
    long.towards(&short, change::by_fit(gain, 1.5, runs))
}

/// A provider's bursts, the same way.
fn bursts(counts: &Provider, fade: Pair<f64>) -> Bursts {
    let long = Bursts::fit(&counts.bursts.long, fade.long, &BURSTS, 20.0);
    let recent = &counts.bursts.short;
    let short = Bursts::fit(recent, fade.short, &long, 3.0);
    let gain = short.ln_likelihood(recent, fade.short) - long.ln_likelihood(recent, fade.short);
    let runs: f64 = recent.kinds().iter().map(|kind| kind.1 * fade.short).sum();
    let share = change::by_fit(gain, 1.0, runs);
    Bursts {
        burst: long.burst + share * (short.burst - long.burst),
        refused: long.refused + share * (short.refused - long.refused),
    }
}

/// The usual law of a histogram as points: as counted where much is, as fitted where little is.
fn usual_points(of: Option<&Histogram>, fit: &Mixture, factor: LogNormal, shift: f64) -> Points {
    let usual = of.map(|of| of.usual(|at| fit.usual_share(at, factor))).unwrap_or_default();
    let known = fit.count / (fit.count + 2.0 * FIRM_PATH);
    shape::points(|share| {
        let fitted = fit.usual.mean + fit.usual.spread * normal::inverse(share);
        let counted = usual.quantile(share).and_then(super::histogram::Quantile::known);
        let counted = counted.map_or(fitted, f64::ln);
        (known * counted + (1.0 - known) * fitted + shift).exp()
    })
}

fn path_law(
    fit: &Fitted<'_>,
    serving: Option<&Serving>,
    provider: usize,
    context: &Context,
    [invalid_at, error_at]: [&Points; 2],
) -> PathLaw {
    let fade = context.fade;
    let (first_shift, pace_shift) =
        serving.map_or((0.0, 0.0), |serving| (serving.first_shift, serving.pace_shift));
    let chance = |of: Option<&Verdict>, prior: f64, hits: f64, trials: f64| {
        own(of.unwrap_or(&Verdict { changed: 0.0, value: prior }), hits, trials)
    };
    let long = |of: &dyn Fn(&Outcomes) -> f64| fit.outcomes(fade, of);
    let error = chance(
        serving.map(|one| &one.error),
        ERROR,
        long(&|of| of.faults).long,
        long(&|of| of.sent).long,
    );
    let stalls = chance(
        serving.map(|one| &one.stall),
        STALL,
        long(&|of| of.stalls).long,
        long(&|of| of.flowing).long,
    );
    let (missing, seen) = (fit.first.long.missing, fit.first.long.total);
    let never = chance(serving.map(|one| &one.never), NEVER, missing, seen);
    let (invalid, answers) = (long(&|of| of.invalid), long(&|of| of.answers));
    let usual = (invalid.long + FIRM_PATH * INVALID) / (answers.long + FIRM_PATH);
    let counts = fit.counts;
    PathLaw {
        provider,
        first_token: usual_points(
            counts.map(|counts| &counts.first.long),
            &fit.first.long,
            context.late,
            first_shift,
        ),
        per_token: usual_points(
            counts.map(|counts| &counts.pace.long),
            &fit.pace.long,
            context.slow,
            pace_shift,
        ),
        invalid: change::of_chance(usual, invalid.short, answers.short).value,
        invalid_at: invalid_at.clone(),
        error,
        error_at: error_at.clone(),
        hangs: never * (1.0 - error),
        // Of all attempts, not of those that began to write.
        stalls: stalls * (1.0 - error) * (1.0 - never),
        samples: seen + long(&|of| of.faults).long,
    }
}
