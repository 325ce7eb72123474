//! What a planner has to decide about: the steps, the paths each may take, what they cost, and what missing costs.

use std::time::Duration;

use crate::domain::id::{ModelIx, PathIx, StepIx};
use crate::domain::plan::{Hedge, Plan, Work};
use crate::domain::time::Share;
use crate::latency::law::Laws;

/// Price of tokens by the root of the risk, with its cap, and of money by the risk, with its cap: what 72 published cells were
/// best with, in the default prices.
const TOKENS_BY_RISK: f64 = 0.15;
const TOKENS_MAX: f64 = 0.10;
const MONEY_BY_RISK: f64 = 0.14;
const MONEY_MAX: f64 = 0.012;
/// No run is taken to be at less risk.
const RISK_MIN: f64 = 0.01;

/// A workflow as the planner sees it. Steps and paths keep the places they have in the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// In topological order.
    pub steps: Vec<Step>,
    /// Every path.
    pub paths: Vec<Path>,
    /// What extra attempts cost against what a miss costs.
    pub prices: Prices,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The steps it waits for, by place; all smaller than its own.
    pub parents: Vec<usize>,
    /// The paths it may take, by place, the default first; empty where it takes no time (a value).
    pub paths: Vec<usize>,
    /// Whether the run can do without it.
    pub optional: bool,
    /// Share of the deadline at which an optional step is closed, 0 to 1.
    pub closes_at: Option<f64>,
    /// Whether a second attempt may run beside the first.
    pub races: bool,
}

/// One path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Its provider's place in the laws.
    pub provider: usize,
    /// Dollars for a token of a prompt.
    pub per_input: f64,
    /// Dollars for a token of an answer.
    pub per_output: f64,
    /// Chance that a valid answer of it is right.
    pub trust: f64,
    /// Whether a second attempt on it would only slow the first.
    pub alone: bool,
}

/// Prices, in units of one run that answers in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Of as many extra tokens as one clean pass of the workflow takes.
    pub tokens: f64,
    /// Of as much extra money.
    pub money: f64,
    /// What an optional step's output is worth to a run, as a share of its value.
    pub optional: f64,
    /// By how much missing costs more for what was paid by then, because the caller calls again: in clean passes
    /// at the prices above for each that was paid. 0 leaves that out.
    pub again: f64,
    /// Whether both prices follow the risk that the run would meet if it were left alone, so that much is spent where
    /// much is at stake. Off, every run is worth the same.
    pub by_risk: bool,
}

impl Default for Prices {
    /// Those at which the 72 published cells stay within 1.12 times the tokens and 1.05 times the money of a clean pass, and
    /// each of the published headline cells within its own bound.
    fn default() -> Self {
        Self { tokens: 0.13, money: 0.004, optional: 0.05, again: 1.0, by_risk: false }
    }
}

impl Prices {
    /// The same by risk: `risk` is the share of right answers in time that a run would lose, were it left alone.
    #[must_use]
    pub fn at_risk(self, risk: f64) -> Self {
        let base = Self::default();
        let risk = risk.max(RISK_MIN);
        let tokens = (TOKENS_BY_RISK * risk.sqrt()).min(TOKENS_MAX) / base.tokens;
        let money = (MONEY_BY_RISK * risk).min(MONEY_MAX) / base.money;
        Self { tokens: self.tokens * tokens, money: self.money * money, ..self }
    }
}

impl Problem {
    /// Most steps of a workflow that is planned: tables are built for every step.
    pub const STEPS_MAX: usize = 64;

    /// The problem of a plan. `None` where the planner cannot take it on: a step with `each`, a step or path of which
    /// `laws` knows nothing, or more than [`Problem::STEPS_MAX`] steps.
    #[must_use]
    pub fn of(plan: &Plan, laws: &Laws) -> Option<Self> {
        if plan.steps.len() > Self::STEPS_MAX
            || laws.steps.len() != plan.steps.len()
            || laws.paths.len() != plan.paths.len()
        {
            return None;
        }
        let steps = plan.step_ixs().map(|ix| Step::of(plan, laws, ix)).collect::<Option<_>>()?;
        let paths = laws.paths.iter().enumerate().map(|(at, law)| {
            let path = u16::try_from(at).map(PathIx).ok()?;
            let (profile, provider) = (&plan.path(path).profile, plan.provider_of(path));
            let per_token = |usd: crate::domain::money::Usd| usd.dollars() / 1e6;
            Some(Path {
                provider: law.provider,
                per_input: profile.price.map_or(0.0, |price| per_token(price.input)),
                per_output: profile.price.map_or(0.0, |price| per_token(price.output)),
                trust: profile.trust,
                alone: provider.own_capacity,
            })
        });
        let paths = paths.collect::<Option<_>>()?;
        Some(Self { steps, paths, prices: Prices::default() })
    }
}

impl Step {
    fn of(plan: &Plan, laws: &Laws, ix: StepIx) -> Option<Self> {
        let step = plan.step(ix);
        if step.each.is_some() {
            return None;
        }
        let (paths, races) = match &step.work {
            Work::Value => (Vec::new(), false),
            Work::Model { model, policy, .. } => {
                laws.steps[ix.at()]?;
                (reachable(plan, *model), policy.hedge != Hedge::Off)
            }
        };
        Some(Self {
            parents: step.needs.iter().map(|need| need.step.at()).collect(),
            paths,
            optional: step.optional,
            closes_at: step.cutoff_at.filter(|_| step.optional).map(portion),
            races,
        })
    }
}

/// The paths of a model, then those of the models it links to, nearest first.
fn reachable(plan: &Plan, from: ModelIx) -> Vec<usize> {
    let mut paths = Vec::new();
    for path in plan.linked(from).iter().flat_map(|model| &plan.model(*model).paths) {
        if !paths.contains(&path.at()) {
            paths.push(path.at());
        }
    }
    paths
}

/// A share as a number, 0 to 1.
fn portion(share: Share) -> f64 {
    share.of(Duration::from_secs(1)).as_secs_f64()
}
