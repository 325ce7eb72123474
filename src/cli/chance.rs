//! The chance that a run succeeds, compounded from its steps, with the arithmetic: what looks good by the step need
//! not be good by the run.
//!
//! A step fails where all its attempts do. A provider that throttles fails all attempts on it; otherwise attempts
//! fail each on their own. Time plays no part here: cutoffs and the deadline are looked at elsewhere.

use serde::Serialize;

use super::graph::revisions;
use super::prior::Prior;
use crate::definition::config::Configuration;
use crate::domain::id::{PathIx, StepIx};
use crate::domain::plan::{OnInvalid, OnRejected, OnTrouble, Plan, Policy, Work};

/// The chances of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chances {
    /// Step by step, in the plan's order.
    pub steps: Vec<Chance>,
    /// That a valid answer goes out.
    pub valid: f64,
    /// That it is right as well.
    pub right: f64,
    /// How the first is made of the steps'.
    pub valid_arithmetic: String,
    /// How the second is.
    pub right_arithmetic: String,
}

/// The chances of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chance {
    /// Its name.
    pub step: String,
    /// Whether the run fails without it.
    pub counts: bool,
    /// That it ends with valid answers, and is not rejected for good.
    pub valid: f64,
    /// How that comes about.
    pub arithmetic: String,
    /// That its answers are valid and right, where they have been judged if anyone judges them.
    pub right: f64,
    /// How that comes about.
    pub right_arithmetic: String,
}

/// The chances of `plan`; a fan-out counts as many items as `items` says, else as many as run at once. A step that is
/// said to have none plays no part.
#[must_use]
pub fn chances(
    plan: &Plan,
    configuration: &Configuration,
    items: impl Fn(StepIx) -> Option<u32>,
) -> Chances {
    let counting = Counting { plan, configuration };
    let steps: Vec<Chance> = plan
        .step_ixs()
        .filter(|ix| matches!(plan.step(*ix).work, Work::Model { .. }) && items(*ix) != Some(0))
        .map(|ix| counting.step(ix, items(ix)))
        .collect();
    let counted = || steps.iter().filter(|step| step.counts);
    let product = |pick: fn(&Chance) -> f64| {
        let factors: Vec<String> = counted().map(|step| percent(pick(step))).collect();
        let whole: f64 = counted().map(pick).product();
        let left = if factors.is_empty() { "1".to_owned() } else { factors.join(" × ") };
        (whole, if factors.len() > 1 { format!("{left} = {}", percent(whole)) } else { left })
    };
    let (valid, valid_arithmetic) = product(|step| step.valid);
    let (right, right_arithmetic) = product(|step| step.right);
    Chances { steps, valid, right, valid_arithmetic, right_arithmetic }
}

struct Counting<'a> {
    plan: &'a Plan,
    configuration: &'a Configuration,
}

impl Counting<'_> {
    fn step(&self, ix: StepIx, items: Option<u32>) -> Chance {
        let step = self.plan.step(ix);
        let (one, mut arithmetic) = self.item(ix);
        let mut valid = one;
        let trust = self.trust(ix);
        let (mut right, mut right_arithmetic) =
            (valid * trust, format!("{} × {}", percent(valid), percent(trust)));
        if let Some(each) = step.each {
            let all = items.unwrap_or(each.max_parallel).max(1);
            let need = each.min_ok.of_count(all).min(all);
            valid = at_least(need, all, one);
            arithmetic = if need == all {
                format!("{}^{all} items = {}; one: {arithmetic}", percent(one), percent(valid))
            } else {
                format!(
                    "{need} of {all} items at {} = {}; one: {arithmetic}",
                    percent(one),
                    percent(valid)
                )
            };
            let good = i32::try_from(need).unwrap_or(i32::MAX);
            right = valid * trust.powi(good);
            right_arithmetic = format!("{} × {}^{need}", percent(valid), percent(trust));
        }
        if let Some(judge) = step.judged_by {
            let judged = self.judged(ix, judge);
            (right, right_arithmetic) =
                (one * judged.right, format!("{} × {}", percent(one), judged.arithmetic));
            let stays = 1.0 - self.rejected_for_good(judge);
            if stays < 1.0 {
                valid = one * stays;
                let stays = percent(stays);
                arithmetic =
                    format!("{arithmetic}; × {stays} not rejected for good = {}", percent(valid));
            }
        }
        if step.validates.is_some() {
            (right, right_arithmetic) = (one, "counted with what it judges".to_owned());
        }
        Chance {
            step: step.name.clone(),
            counts: !step.optional,
            valid,
            arithmetic,
            right,
            right_arithmetic: if step.validates.is_some() {
                right_arithmetic
            } else {
                format!("{right_arithmetic} = {}", percent(right))
            },
        }
    }

    /// One item, or the whole of a step without items.
    fn item(&self, ix: StepIx) -> (f64, String) {
        let Work::Model { model, policy, .. } = &self.plan.step(ix).work else {
            return (1.0, "computed".to_owned());
        };
        let paths = &self.plan.model(*model).paths;
        let mut quotas: Vec<(&str, f64, f64, u32)> = Vec::new();
        for path in attempts(paths, policy) {
            let prior = Prior::of(self.plan, path, self.configuration);
            let name = self.plan.provider_of(path).name.as_str();
            match quotas.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, _, failed, attempts)) => {
                    *failed *= prior.failed;
                    *attempts += 1;
                }
                None => quotas.push((name, prior.throttled, prior.failed, 1)),
            }
        }
        let fails = quotas.iter().map(|(name, throttled, failed, attempts)| {
            let fails = throttled + (1.0 - throttled) * failed;
            let attempts = super::summary::count(*attempts as usize, "attempt");
            (fails, format!("{} ({name}, {attempts})", small(fails)))
        });
        let (fails, shown): (Vec<f64>, Vec<String>) = fails.unzip();
        let one = 1.0 - fails.iter().product::<f64>();
        (one, format!("1 − {} = {}", shown.join(" × "), percent(one)))
    }

    /// The trust in the path that is asked first.
    fn trust(&self, ix: StepIx) -> f64 {
        let Work::Model { model, .. } = &self.plan.step(ix).work else { return 1.0 };
        let first = self.plan.model(*model).paths.first();
        first.map_or(1.0, |path| Prior::of(self.plan, *path, self.configuration).trust)
    }

    /// A judged step's answer: right and passed, in the first round or a later one.
    fn judged(&self, ix: StepIx, judge: StepIx) -> Judged {
        let (right, eye) = (self.trust(ix), self.trust(judge));
        let rejected = rejection(right, eye);
        let rounds = revisions(self.plan, judge) + 1;
        let tries: f64 = (0..rounds).map(|round| power(rejected, round)).sum();
        let mut chance = right * eye * tries;
        if rejects(self.plan, judge) == OnRejected::Accept {
            chance += power(rejected, rounds - 1) * right * (1.0 - eye);
        }
        let arithmetic = format!(
            "right {} seen by {} at {} in {}",
            percent(right),
            self.plan.step(judge).name,
            percent(eye),
            super::summary::count(rounds as usize, "round")
        );
        Judged { right: chance, arithmetic }
    }

    /// The chance that every round ends in a rejection, where that fails the run.
    fn rejected_for_good(&self, judge: StepIx) -> f64 {
        let Some(judged) = self.plan.step(judge).validates else { return 0.0 };
        if rejects(self.plan, judge) == OnRejected::Accept {
            return 0.0;
        }
        let rejected = rejection(self.trust(judged), self.trust(judge));
        power(rejected, revisions(self.plan, judge) + 1)
    }
}

struct Judged {
    right: f64,
    arithmetic: String,
}

/// The paths of the attempts that a step has, in turn.
fn attempts(paths: &[PathIx], policy: &Policy) -> Vec<PathIx> {
    let on = &policy.on;
    let stops = on.limited == OnTrouble::Fail && on.down == OnTrouble::Fail;
    let all = if stops && on.invalid == OnInvalid::Fail { 1 } else { policy.attempts };
    let usable = paths.len().min(policy.max_swaps as usize + 1);
    paths.iter().take(usable).copied().cycle().take(all as usize).collect()
}

fn rejects(plan: &Plan, judge: StepIx) -> OnRejected {
    match &plan.step(judge).work {
        Work::Model { policy, .. } => policy.on.rejected,
        Work::Value => OnRejected::Fail,
    }
}

/// Right and not recognised, or wrong and recognised.
fn rejection(right: f64, eye: f64) -> f64 {
    right * (1.0 - eye) + (1.0 - right) * eye
}

fn power(base: f64, exponent: u32) -> f64 {
    base.powi(i32::try_from(exponent).unwrap_or(i32::MAX))
}

/// The chance that at least `need` of `all` succeed, each with chance `one`.
fn at_least(need: u32, all: u32, one: f64) -> f64 {
    // From the top: n of n, then one fewer each time; every term follows from the one before.
    let mut term = power(one, all);
    let mut sum = term;
    for good in (need..all).rev() {
        let (good, all) = (f64::from(good), f64::from(all));
        term *= (good + 1.0) / (all - good) * (1.0 - one) / one.max(f64::MIN_POSITIVE);
        sum += term;
    }
    sum.min(1.0)
}

/// A chance with as many digits as tell it from certainty: `0.98`, `0.9997`, `0.999996`.
#[must_use]
pub fn percent(chance: f64) -> String {
    if chance >= 1.0 {
        return "1".to_owned();
    }
    let digits = (4..=9).find(|digits| 1.0 - chance >= 1.5 * 0.1_f64.powi(*digits)).unwrap_or(9);
    let text = format!("{chance:.*}", usize::try_from(digits).unwrap_or(9));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A small chance with two digits that matter.
fn small(chance: f64) -> String {
    if chance >= 0.01 {
        return percent((chance * 1000.0).round() / 1000.0);
    }
    let digits = (3..=12).find(|digits| chance >= 0.1_f64.powi(*digits)).unwrap_or(12);
    format!("{chance:.*}", usize::try_from(digits).unwrap_or(12) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn a_fan_out_needs_as_many_items_as_min_ok_says() {
        assert!(near(at_least(8, 8, 0.9), 0.9_f64.powi(8)));
        let seven = 0.9_f64.powi(8) + 8.0 * 0.9_f64.powi(7) * 0.1;
        assert!(near(at_least(7, 8, 0.9), seven));
        assert!(near(at_least(0, 8, 0.9), 1.0));
        assert!(near(at_least(1, 1, 1.0), 1.0));
    }

    #[test]
    fn a_chance_keeps_the_digits_that_tell_it_from_certainty() {
        let shown: Vec<String> =
            [1.0, 0.98, 0.9, 0.999_7, 0.999_996, 0.5].into_iter().map(percent).collect();
        assert_eq!(shown, ["1", "0.98", "0.9", "0.9997", "0.999996", "0.5"]);
        assert_eq!(small(0.0321), "0.032");
        assert_eq!(small(0.000_72), "0.00072");
    }
}
