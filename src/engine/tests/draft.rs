//! Plans for the scenarios, written in a few words.

use std::time::Duration;

use super::scenario::Scenario;
use crate::domain::id::{ModelIx, PathIx, ProviderIx, StepIx};
use crate::domain::model::{ModelProfile, Structured};
use crate::domain::plan::{
    Budget, EachPlan, ModelPlan, Need, NeedKind, PathPlan, Plan, Policy, ProviderPlan, Role,
    StepPlan, Work,
};
use crate::domain::time::Share;
use crate::engine::Signals;
use crate::planner::Pilot;

/// A plan in the making. Editing methods mean the step, or path, added last.
pub(super) struct Draft {
    plan: Plan,
}

impl Draft {
    /// A model `main` on these paths (`provider/model`), a deadline of 60 s, no step.
    pub(super) fn paths(labels: &[&str]) -> Self {
        let plan = Plan {
            workflow: "test".to_owned(),
            deadline: Duration::from_secs(60),
            budget: Budget::default(),
            steps: Vec::new(),
            models: Vec::new(),
            paths: Vec::new(),
            providers: Vec::new(),
        };
        let mut draft = Self { plan };
        draft.model("main", labels);
        draft
    }

    fn model(&mut self, name: &str, labels: &[&str]) -> ModelIx {
        let paths = labels.iter().map(|label| self.path(label)).collect();
        let model = ModelPlan { name: name.to_owned(), paths, faster: None, stronger: None };
        self.plan.models.push(model);
        ModelIx(u16::try_from(self.plan.models.len() - 1).unwrap())
    }

    fn path(&mut self, label: &str) -> PathIx {
        if let Some(at) = self.plan.paths.iter().position(|p| p.label == label) {
            return PathIx(u16::try_from(at).unwrap());
        }
        let name = label.split('/').next().unwrap();
        let known = self.plan.providers.iter().position(|p| p.name == name);
        let provider = known.unwrap_or_else(|| {
            self.plan.providers.push(ProviderPlan {
                name: name.to_owned(),
                billed_on_cancel: false,
                own_capacity: false,
                simulated: false,
            });
            self.plan.providers.len() - 1
        });
        self.plan.paths.push(PathPlan {
            label: label.to_owned(),
            provider: ProviderIx(u16::try_from(provider).unwrap()),
            profile: profile(label),
        });
        PathIx(u16::try_from(self.plan.paths.len() - 1).unwrap())
    }

    pub(super) fn faster(mut self, labels: &[&str]) -> Self {
        let model = self.model("faster", labels);
        self.plan.models[0].faster = Some(model);
        self
    }

    pub(super) fn stronger(mut self, labels: &[&str]) -> Self {
        let model = self.model("stronger", labels);
        self.plan.models[0].stronger = Some(model);
        self
    }

    pub(super) fn edit(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(&mut self.plan);
        self
    }

    /// The window of each path, in order.
    pub(super) fn windows(mut self, windows: &[Option<u64>]) -> Self {
        for (path, window) in self.plan.paths.iter_mut().zip(windows) {
            path.profile.context = *window;
        }
        self
    }

    pub(super) fn deadline(mut self, millis: u64) -> Self {
        self.plan.deadline = Duration::from_millis(millis);
        self
    }

    pub(super) fn budget(mut self, budget: Budget) -> Self {
        self.plan.budget = budget;
        self
    }

    /// A step on `main`, bounded at 200 tokens.
    pub(super) fn step(mut self, name: &str) -> Self {
        let work = Work::Model { model: ModelIx(0), max_tokens: 200, policy: Policy::default() };
        self.plan.steps.push(StepPlan {
            name: name.to_owned(),
            role: Role::Executor,
            work,
            needs: Vec::new(),
            conditional: false,
            optional: false,
            each: None,
            cutoff_at: None,
            validates: None,
            judged_by: None,
            revise: 0,
            shrinks: false,
        });
        self
    }

    pub(super) fn value(self, name: &str) -> Self {
        self.step(name).with(|step| step.work = Work::Value)
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut StepPlan)) -> Self {
        change(self.plan.steps.last_mut().unwrap());
        self
    }

    pub(super) fn policy(self, change: impl FnOnce(&mut Policy)) -> Self {
        self.with(|step| match &mut step.work {
            Work::Model { policy, .. } => change(policy),
            Work::Value => panic!("a value step has no policy"),
        })
    }

    pub(super) fn needs(self, name: &str, kind: NeedKind) -> Self {
        let step = self.ix(name);
        self.with(|s| s.needs.push(Need { step, kind }))
    }

    pub(super) fn after(self, name: &str) -> Self {
        self.needs(name, NeedKind::Output)
    }

    /// Its prompt has lists that may lose items.
    pub(super) fn shrinks(self) -> Self {
        self.with(|step| step.shrinks = true)
    }

    pub(super) fn optional(self, cutoff_at: u16) -> Self {
        self.with(|step| {
            step.optional = true;
            step.cutoff_at = Share::percent(cutoff_at);
        })
    }

    pub(super) fn each(self, max_parallel: u32, min_ok: u16) -> Self {
        let min_ok = Share::percent(min_ok).unwrap();
        self.with(|step| step.each = Some(EachPlan { max_parallel, min_ok }))
    }

    /// The step added last judges `judged`.
    pub(super) fn judges(mut self, judged: &str, revise: u32) -> Self {
        let judged = self.ix(judged);
        let judge = StepIx(u16::try_from(self.plan.steps.len() - 1).unwrap());
        self.plan.steps[judged.at()].judged_by = Some(judge);
        self.with(|step| {
            step.role = Role::Validator;
            step.validates = Some(judged);
            step.revise = revise;
            step.needs.push(Need { step: judged, kind: NeedKind::Judges });
        })
    }

    fn ix(&self, name: &str) -> StepIx {
        let at = self.plan.steps.iter().position(|s| s.name == name);
        StepIx(u16::try_from(at.expect("a step of that name")).unwrap())
    }

    /// The run of this plan, started at once.
    pub(super) fn start(self) -> Scenario {
        Scenario::new(self.plan).start(&[])
    }

    /// The run of this plan, started when all runs know this.
    pub(super) fn start_knowing(self, signals: Signals) -> Scenario {
        Scenario::new(self.plan).knows(signals).start(&[])
    }

    /// The same, with nothing prepared and nothing sent by itself.
    pub(super) fn start_by_hand(self) -> Scenario {
        Scenario::new(self.plan).by_hand().start(&[])
    }

    /// The same run, with what is measured.
    pub(super) fn knowing(self, pilot: Pilot) -> Scenario {
        Scenario::new(self.plan).knows_times(pilot)
    }

    pub(super) fn build(self) -> Plan {
        self.plan
    }
}

fn profile(id: &str) -> ModelProfile {
    ModelProfile { structured: Structured::Schema, ..ModelProfile::plain(id) }
}
