//! From what a book counts to the laws of a plan's paths.

use std::time::Duration;

use super::book::Book;
use super::change::{self, Verdict};
use super::histogram::Histogram;
use super::law::{Laws, PathLaw, Points, StepLaw};
use super::mixture::{LogNormal, Mixture, Prior};
use super::normal;
use super::path::{Outcomes, PathCounts, SPREAD_FIRST, SPREAD_PACE};
use super::serving::{Context, ERROR, Fitted, NEVER, STALL, Serving, fit, recent, serve};
use super::shape;
use super::step::{SPREAD_OWN, SPREAD_SHARED};
use super::window::Windows;
use crate::domain::plan::{PathPlan, Plan, Work};

/// Before anything is seen: seconds to the first token, seconds a token (published measurements of 1.2 million calls).
const FIRST_S: f64 = 1.4;
/// See [`FIRST_S`].
const PACE_S: f64 = 0.016;
/// Models of twice the price take 1.4 times as long: in the published measurements times go with the root of the price.
const PRICE_POWER: f64 = 0.5;
/// Chance of a useless answer before anything is seen.
const INVALID: f64 = 0.02;
/// How firmly a path is believed to go like its provider's others.
const FIRM_PATH: f64 = 30.0;
/// Answers of a step that was never tried: a share of its bound, and never more tokens than that.
const UNTRIED: (f64, f64) = (0.4, 600.0);

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

/// Dollars for a million tokens of answer.
fn price(path: &PathPlan) -> Option<f64> {
    path.profile.price.as_ref().map(|price| price.output.dollars()).filter(|price| *price > 0.0)
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
            let empty = Windows::default();
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
    let (missing, total) = (fit.first.long.missing, fit.first.long.total);
    let never = chance(serving.map(|one| &one.never), NEVER, missing, total);
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
        invalid: recent(usual, invalid, answers, change::ODDS).value,
        invalid_at: invalid_at.clone(),
        error,
        error_at: error_at.clone(),
        hangs: never * (1.0 - error),
        // Of all attempts, not of those that began to write.
        stalls: stalls * (1.0 - error) * (1.0 - never),
        samples: total + long(&|of| of.faults).long,
    }
}
