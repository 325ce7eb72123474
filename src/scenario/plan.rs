//! A scenario's workflow as the engine's plan.
//!
//! Told to the engine are the graph, prices, the size of answers and each model's trust; nothing of the regime beyond
//! that. Two flagship paths are one model, with the light model as its faster and the strong one as its stronger link.

use std::sync::Arc;
use std::time::Duration;

use super::file::{FLAGSHIP, INPUT_PRICE, LIGHT, OTHER_FLAGSHIP, PATHS, STRONG, Setting};
use crate::domain::id::{ModelIx, PathIx, ProviderIx, StepIx};
use crate::domain::model::ModelProfile;
use crate::domain::money::{Price, Usd};
use crate::domain::plan::{
    Budget, ModelPlan, Need, NeedKind, PathPlan, Plan, Policy, ProviderPlan, Role, StepPlan, Work,
};
use crate::domain::time::Timestamp;

/// An answer's bound, as a multiple of its median: beyond the largest of a million draws.
const BOUND: f64 = 2.5;
/// Dollars of a million output tokens of the flagship; prices matter relative to each other only.
const DOLLARS: f64 = 10.0;
/// The reserve before a deadline is 1 % of it, but at least and at most so much.
const RESERVE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// What a plan is told of its models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust(pub [f64; PATHS as usize]);

impl Trust {
    /// As it is: each path's chance that a valid answer is right.
    #[must_use]
    pub fn right(setting: &Setting<'_>) -> Self {
        Self::off_by(setting, 1.0)
    }

    /// With every path's chance of a silent error taken for `factor` times what it is.
    #[must_use]
    pub fn off_by(setting: &Setting<'_>, factor: f64) -> Self {
        let trust = |path: usize| 1.0 - (setting.regime.paths[path].p_silent * factor).min(1.0);
        Self(std::array::from_fn(trust))
    }
}

/// The plan of `setting`, whose runs end at `deadline_s` seconds sharp.
///
/// The published results count what is there by the deadline itself, and the engine ends a run a reserve earlier, in
/// which live the answer is written out. So the plan's deadline is later by that reserve.
#[must_use]
pub fn plan(setting: &Setting<'_>, workflow: &str, deadline_s: u32, trust: &Trust) -> Plan {
    let providers = ["A", "B", "C"].map(|name| ProviderPlan {
        name: name.to_owned(),
        billed_on_cancel: true,
        own_capacity: false,
        simulated: true,
    });
    Plan {
        workflow: workflow.to_owned(),
        deadline: ending_at(Duration::from_secs(u64::from(deadline_s))),
        budget: Budget::default(),
        steps: (0..setting.classes.len()).map(|step| step_plan(setting, step)).collect(),
        models: models(),
        paths: (0..PATHS).map(|path| path_plan(setting, path, trust)).collect(),
        providers: providers.into(),
    }
}

/// The deadline whose runs end at `end`.
fn ending_at(end: Duration) -> Duration {
    let (least, most) = RESERVE;
    let of = |deadline: Duration| (deadline / 100).clamp(least, most);
    // 1 % of the whole is a 99th of the rest.
    let deadline = [end + least, end + end / 99, end + most]
        .into_iter()
        .min_by_key(|deadline| deadline.saturating_sub(of(*deadline)).abs_diff(end))
        .unwrap_or(end);
    let short = |micros: u64| Plan::end_at(deadline + Duration::from_micros(micros));
    let rest = (0..2).find(|micros| short(*micros) >= Timestamp::after_start(end));
    deadline + Duration::from_micros(rest.unwrap_or_default())
}

fn models() -> Vec<ModelPlan> {
    let model = |name: &str, paths: &[u8], faster: Option<u16>, stronger: Option<u16>| ModelPlan {
        name: name.to_owned(),
        paths: paths.iter().map(|path| PathIx(u16::from(*path))).collect(),
        faster: faster.map(ModelIx),
        stronger: stronger.map(ModelIx),
    };
    vec![
        model("flagship", &[FLAGSHIP, OTHER_FLAGSHIP], Some(1), Some(2)),
        model("light", &[LIGHT], None, Some(0)),
        model("strong", &[STRONG], Some(0), None),
    ]
}

fn path_plan(setting: &Setting<'_>, path: u8, trust: &Trust) -> PathPlan {
    let figures = &setting.regime.paths[usize::from(path)];
    let name = ["flagship", "flagship", "light", "strong"][usize::from(path)];
    let dollars = |tokens: f64| Usd::from_dollars(tokens * figures.price * DOLLARS);
    let prices = dollars(INPUT_PRICE).zip(dollars(1.0));
    let price = prices.map(|(input, output)| Price { input, output, cached_input: None });
    let trust = trust.0[usize::from(path)];
    let profile = ModelProfile { price, trust, ..ModelProfile::plain(name) };
    let provider = figures.provider_at();
    let label = format!("{}/{name}", ["A", "B", "C"][usize::from(provider)]);
    PathPlan { label, provider: ProviderIx(u16::from(provider)), profile }
}

fn step_plan(setting: &Setting<'_>, step: usize) -> StepPlan {
    let class = setting.classes[step];
    let need = |parent: &usize| Need {
        step: StepIx(u16::try_from(*parent).unwrap_or(u16::MAX)),
        kind: if setting.is_optional(*parent) { NeedKind::Guarded } else { NeedKind::Output },
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 2.5 million, as the file is checked"
    )]
    let max_tokens = (class.out_tokens * BOUND).ceil() as u32;
    StepPlan {
        name: format!("s{}", step + 1),
        role: Role::Executor,
        work: Work::Model { model: ModelIx(0), max_tokens, policy: policy() },
        needs: setting.parents[step].iter().map(need).collect(),
        conditional: false,
        optional: setting.is_optional(step),
        each: None,
        cutoff_at: None,
        validates: None,
        judged_by: None,
        revise: 0,
        shrinks: false,
    }
}

/// What a workflow has that says nothing, but for bounds that the published policies do not have.
fn policy() -> Policy {
    Policy {
        attempts: ATTEMPTS,
        max_swaps: ATTEMPTS,
        swap_delay: Duration::ZERO,
        ..Policy::default()
    }
}

/// Attempts of a step: with fewer, runs wedge while two quotas are in a burst.
pub const ATTEMPTS: u32 = 40;

/// Names of what attempts are observed under.
#[derive(Clone, Debug)]
pub struct Names {
    /// By path: its provider's, and its own.
    pub paths: Vec<(Arc<str>, Arc<str>)>,
    /// `workflow/step`.
    pub steps: Vec<Arc<str>>,
}

impl Names {
    /// Those of `plan`.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let path = |path: &PathPlan| {
            let provider = plan.providers[usize::from(path.provider.0)].name.as_str();
            (provider.into(), path.label.as_str().into())
        };
        let step = |step: &StepPlan| format!("{}/{}", plan.workflow, step.name).into();
        Self {
            paths: plan.paths.iter().map(path).collect(),
            steps: plan.steps.iter().map(step).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_a_plan_end_at_the_scenario_s_deadline_sharp() {
        for seconds in [1, 2, 4, 5, 6, 30, 49, 50, 51, 60, 90, 180, 3_600] {
            let end = Duration::from_secs(seconds);
            assert_eq!(Plan::end_at(ending_at(end)), Timestamp::after_start(end), "{seconds}");
        }
    }
}
