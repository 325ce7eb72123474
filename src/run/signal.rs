//! What all runs together know of this run's paths, and what it counts as among them.

use super::Run;
use crate::domain::outcome::Cause;
use crate::domain::plan::{Hedge, PathPlan, Work};
use crate::engine::{AttemptSpec, Signals};
use crate::policy::door::View;
use crate::policy::permit::{self, Claim, Stock, Traffic};

impl Run {
    /// Whether it may launch attempts beside others before their cutoff, and so must be told the traffic.
    #[must_use]
    pub fn hedges_early(&self) -> bool {
        self.workflow.plan.steps.iter().any(|step| match &step.work {
            Work::Model { policy, .. } => matches!(policy.hedge, Hedge::After { .. }),
            Work::Value => false,
        })
    }

    /// What each provider has been sent in ten minutes, all runs together: holds until it is told anew.
    pub fn see_traffic(&mut self, of: impl Fn(&str) -> Traffic) {
        let plan = &self.workflow.plan;
        let per: Vec<Traffic> = plan.providers.iter().map(|provider| of(&provider.name)).collect();
        self.signals.traffic = plan.paths.iter().map(|path| per[path.provider.at()]).collect();
    }

    /// What each provider has for extra attempts: holds until it is told anew.
    pub fn see_permits(&mut self, of: impl FnMut(&str) -> Stock) {
        let plan = &self.workflow.plan;
        let names = plan.providers.iter().map(|provider| provider.name.as_str());
        let per: Vec<Stock> = names.map(of).collect();
        let paths = plan.paths.iter().map(|path| per[path.provider.at()]);
        self.signals.permits.clear();
        self.signals.permits.extend(paths);
    }

    /// What all runs together know of each path, by its provider's name and its model: holds for the next event.
    pub fn see_paths(&mut self, of: impl Fn(&str, &str) -> View) {
        let plan = &self.workflow.plan;
        let (closed_for, (why, line_for)) = plan
            .paths
            .iter()
            .map(|path| of(&plan.providers[path.provider.at()].name, &path.profile.id))
            .map(|View { closed_for, why, line_for }| (closed_for, (why, line_for)))
            .unzip();
        let Signals { traffic, permits, windows, .. } = std::mem::take(&mut self.signals);
        self.signals = Signals { closed_for, why, line_for, traffic, permits, windows };
    }

    /// What providers have told earlier runs of their models' windows, by provider and model id.
    pub fn see_windows(&mut self, of: impl Fn(&str, &str) -> Option<u64>) {
        let plan = &self.workflow.plan;
        let name = |path: &PathPlan| &plan.providers[path.provider.at()].name;
        self.signals.windows =
            plan.paths.iter().map(|path| of(name(path), &path.profile.id)).collect();
    }

    /// The same where every path is open and has no line.
    pub fn see_no_path(&mut self) {
        self.signals.closed_for.clear();
        self.signals.why.clear();
        self.signals.line_for.clear();
    }

    /// Who earns by an attempt: the providers of its step's model, where it is a first one.
    pub(super) fn earners(&self, spec: &AttemptSpec) -> Vec<String> {
        let plan = &self.workflow.plan;
        let model = self.machine.attempt(spec.attempt).map(|attempt| attempt.model);
        let Some(model) = model.filter(|_| spec.claim == Claim::Earns) else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        for path in &plan.model(model).paths {
            let name = &plan.provider_of(*path).name;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// What an attempt counts as. The next event of the same moment must know of it.
    pub(super) fn count(&mut self, spec: &AttemptSpec) -> Option<(String, permit::Kind)> {
        let plan = &self.workflow.plan;
        let quota = plan.path(spec.path).provider;
        for (path, stock) in plan.paths.iter().zip(&mut self.signals.permits) {
            if path.provider == quota {
                stock.claim(spec.claim);
            }
        }
        let (path, kind) = match (spec.extra_of, spec.cause) {
            (Some(of), _) => (of, permit::Kind::Extra),
            (None, Cause::Primary) => (spec.path, permit::Kind::Primary),
            (None, _) => return None,
        };
        let provider = plan.path(path).provider;
        for (path, traffic) in plan.paths.iter().zip(&mut self.signals.traffic) {
            if path.provider == provider {
                traffic.count(kind);
            }
        }
        Some((plan.providers[provider.at()].name.clone(), kind))
    }
}
