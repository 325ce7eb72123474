//! What is told of a workflow, for programs.

use serde_json::{Value, json};

use super::super::graph::{bound, critical_path, revisions, role, waits};
use super::super::measure;
use super::super::mermaid::flowchart;
use super::setting::from;
use super::{Told, cutoff};
use crate::definition::effective::Effective;
use crate::domain::plan::{Plan, Work};

impl Told<'_> {
    /// Everything as JSON.
    pub(super) fn record(&self) -> Value {
        let (workflow, plan) = (self.workflow, &self.workflow.plan);
        let (path, tokens) = critical_path(plan);
        let path: Vec<&str> = path.iter().map(|ix| plan.step(*ix).name.as_str()).collect();
        json!({
            "workflow": workflow.name,
            "title": workflow.title,
            "description": workflow.description.trim(),
            "file": self.file,
            "version": workflow.version,
            "deadline_ms": millis(plan.deadline),
            "budget": {
                "usd": plan.budget.usd.map(crate::domain::money::Usd::dollars),
                "tokens": plan.budget.tokens,
                "calls": plan.budget.calls,
            },
            "input": workflow.input.describe(),
            "output": workflow.output.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "steps": steps(plan),
            "mermaid": flowchart(workflow),
            "critical_path": {"steps": path, "tokens": tokens},
            "chance": self.chances,
            "cutoffs": cutoff::record(plan),
            "measured": self.pilot.as_ref().map(|pilot| measure::rows(plan, pilot)),
            "settings": self.settings.as_ref().map(|settings| json!({
                "workflow": settings.workflow.iter().map(setting).collect::<Vec<_>>(),
                "steps": settings.steps.iter().map(|of| json!({
                    "step": of.step,
                    "settings": of.settings.iter().map(setting).collect::<Vec<_>>(),
                })).collect::<Vec<_>>(),
            })),
            "worst": self.worst,
            "models": models(plan),
        })
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn setting(one: &Effective) -> Value {
    json!({"key": one.key, "value": one.value, "from": from(one)})
}

fn steps(plan: &Plan) -> Vec<Value> {
    let name = |ix: crate::domain::id::StepIx| plan.step(ix).name.clone();
    let steps = plan.step_ixs().map(|ix| {
        let step = plan.step(ix);
        let model = match &step.work {
            Work::Model { model, .. } => Some(plan.model(*model).name.clone()),
            Work::Value => None,
        };
        let mut waits: Vec<String> = waits(plan, ix).map(name).collect();
        waits.dedup();
        json!({
            "step": step.name,
            "role": role(step),
            "model": model,
            "max_tokens": bound(step),
            "waits_for": waits,
            "optional": step.optional,
            "conditional": step.conditional,
            "each": step.each.map(|each| json!({
                "max_parallel": model.as_ref().map(|_| each.max_parallel),
                "min_ok": each.min_ok.to_string(),
            })),
            "validates": step.validates.map(name),
            "revise": revisions(plan, ix),
        })
    });
    steps.collect()
}

fn models(plan: &Plan) -> Vec<Value> {
    let link = |ix: Option<crate::domain::id::ModelIx>| ix.map(|ix| plan.model(ix).name.clone());
    let models = plan.models.iter().map(|model| {
        let paths = model.paths.iter().map(|ix| {
            let path = plan.path(*ix);
            json!({
                "path": path.label,
                "context": path.profile.context,
                "max_output": path.profile.max_output,
                "trust": path.profile.trust,
                "usd_per_million": path.profile.price.map(|price| json!({
                    "in": price.input.dollars(),
                    "out": price.output.dollars(),
                })),
                "simulated": plan.provider_of(*ix).simulated,
            })
        });
        json!({
            "model": model.name,
            "paths": paths.collect::<Vec<_>>(),
            "faster": link(model.faster),
            "stronger": link(model.stronger),
        })
    });
    models.collect()
}
