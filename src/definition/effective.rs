//! Every setting of a workflow as it holds, and the place that says so.
//!
//! For people who ask (`explain`): the file is read once more, so that a server, which never asks, carries no places
//! along. Values are the plan's, which is what runs; places are the files'.

use std::time::Duration;

use crate::definition::config::Configuration;
use crate::definition::page::{Page, Reader, Spanned};
use crate::definition::raw::settings::{
    HEDGE, INVALID, REFUSED, REJECTED, SLOW, TOO_LONG, TROUBLE,
};
use crate::definition::raw::{RawBudget, RawSettings, RawStep, RawWorkflow, Setting};
use crate::definition::source::{Source, Spot};
use crate::domain::plan::{After, Cutoff, Hedge, Plan, Policy, StepPlan, Work};
use crate::workflow::{StepContent, WorkContent, Workflow};

/// A setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Its key, `policy.on.slow`.
    pub key: &'static str,
    /// Its value, as a file would say it.
    pub value: String,
    /// Where it is said; `None` where no file says it.
    pub spot: Option<Spot>,
}

/// The settings of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct OfStep {
    /// Its name.
    pub step: String,
    /// In the order of the format's documentation.
    pub settings: Vec<Effective>,
}

/// The settings of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Of the whole: deadline and budget.
    pub workflow: Vec<Effective>,
    /// Of each step that asks a model, in the plan's order.
    pub steps: Vec<OfStep>,
}

/// The settings of `workflow`, which was made of `source` on `configuration`. `None` where the file is no longer the
/// one it was made of.
#[must_use]
pub fn effective(
    source: Source,
    configuration: &Configuration,
    workflow: &Workflow,
) -> Option<Settings> {
    let mut found = Vec::new();
    let page = Page::parse(source, &mut found)?;
    let mut reader = Reader::new(&page, &mut found);
    let raw = RawWorkflow::read(&mut reader);
    let defaults = raw.defaults.over(&configuration.settings);
    let plan = &workflow.plan;
    let mut steps = Vec::new();
    for (step, content) in plan.steps.iter().zip(&workflow.steps) {
        let raw = raw.steps.iter().find(|raw| raw.key.name == step.name)?;
        let Work::Model { .. } = &step.work else { continue };
        let merged = raw.settings.over(&defaults);
        let looking = Looking { reader: &reader, plan, step, content, raw, merged: &merged };
        steps.push(OfStep { step: step.name.clone(), settings: looking.all() });
    }
    let deadline = raw.deadline.as_ref().map(|said| reader.spot(&said.span));
    let deadline = deadline.or_else(|| configuration.deadline_spot.clone());
    let mut of_whole =
        vec![Effective { key: "deadline", value: written(plan.deadline), spot: deadline }];
    of_whole.extend(budget(plan, &raw.budget.over(&configuration.budget)));
    Some(Settings { workflow: of_whole, steps })
}

fn budget(plan: &Plan, raw: &RawBudget) -> [Effective; 3] {
    let bound = |value: Option<String>| value.unwrap_or_else(|| "unbounded".to_owned());
    let budget = &plan.budget;
    [
        Effective {
            key: "budget.usd",
            value: bound(budget.usd.map(|usd| usd.dollars().to_string())),
            spot: spot(raw.usd.as_ref()),
        },
        Effective {
            key: "budget.tokens",
            value: bound(budget.tokens.map(|tokens| tokens.to_string())),
            spot: spot(raw.tokens.as_ref()),
        },
        Effective {
            key: "budget.calls",
            value: bound(budget.calls.map(|calls| calls.to_string())),
            spot: spot(raw.calls.as_ref()),
        },
    ]
}

fn spot<T>(said: Option<&Setting<T>>) -> Option<Spot> {
    said.map(|said| said.spot.clone())
}

/// A step whose settings are looked up.
struct Looking<'a> {
    reader: &'a Reader<'a>,
    plan: &'a Plan,
    step: &'a StepPlan,
    content: &'a StepContent,
    raw: &'a RawStep<'a>,
    merged: &'a RawSettings,
}

impl Looking<'_> {
    fn all(&self) -> Vec<Effective> {
        let mut all = self.of_model();
        all.extend(self.of_graph());
        if let Work::Model { policy, .. } = &self.step.work {
            all.extend(self.of_policy(policy));
        }
        all
    }

    fn of_model(&self) -> Vec<Effective> {
        let Work::Model { model, max_tokens, .. } = &self.step.work else { return Vec::new() };
        let sent = match &self.content.work {
            WorkContent::Prompt(prompt) => {
                (prompt.temperature.map(|t| t.to_string()), prompt.effort.clone())
            }
            WorkContent::Value(_) => (None, None),
        };
        let own = |value: Option<String>| value.unwrap_or_else(|| "the model's own".to_owned());
        let merged = self.merged;
        vec![
            Effective {
                key: "model",
                value: self.plan.model(*model).name.clone(),
                spot: spot(merged.model.as_ref()),
            },
            Effective {
                key: "max_tokens",
                value: max_tokens.to_string(),
                spot: spot(merged.max_tokens.as_ref()),
            },
            Effective {
                key: "temperature",
                value: own(sent.0),
                spot: spot(merged.temperature.as_ref()),
            },
            Effective { key: "effort", value: own(sent.1), spot: spot(merged.effort.as_ref()) },
        ]
    }

    /// Settings that a step alone can have, where they mean something.
    fn of_graph(&self) -> Vec<Effective> {
        let mut all = Vec::new();
        let mut add = |key, value, spot| all.push(Effective { key, value, spot });
        if let Some(each) = self.step.each {
            // What is computed takes no time, however many items it has.
            if matches!(self.step.work, Work::Model { .. }) {
                add(
                    "max_parallel",
                    each.max_parallel.to_string(),
                    self.at(self.raw.max_parallel.as_ref()),
                );
            }
            add("min_ok", each.min_ok.to_string(), self.at(self.raw.min_ok.as_ref()));
        }
        if self.step.optional {
            add("optional", "true".to_owned(), self.at(self.raw.optional.as_ref()));
        }
        if let Some(share) = self.step.cutoff_at {
            add("cutoff_at", share.to_string(), self.at(self.raw.cutoff_at.as_ref()));
        }
        if self.step.validates.is_some() {
            add("revise", self.step.revise.to_string(), self.at(self.raw.revise.as_ref()));
        }
        all
    }

    fn at<T>(&self, said: Option<&Spanned<T>>) -> Option<Spot> {
        said.map(|said| self.reader.spot(&said.span))
    }

    fn of_policy(&self, policy: &Policy) -> Vec<Effective> {
        let (raw, on) = (&self.merged.policy, &policy.on);
        let said = &raw.on;
        let mut all = vec![
            ("policy.cutoff", cutoff(policy.cutoff), spot(raw.cutoff.as_ref())),
            ("policy.hedge", hedge(policy.hedge), spot(raw.hedge.as_ref())),
            ("policy.attempts", policy.attempts.to_string(), spot(raw.attempts.as_ref())),
            ("policy.max_swaps", policy.max_swaps.to_string(), spot(raw.max_swaps.as_ref())),
            ("policy.swap_delay", written(policy.swap_delay), spot(raw.swap_delay.as_ref())),
            ("policy.on.slow", word(&SLOW, on.slow), spot(said.slow.as_ref())),
            ("policy.on.limited", word(&TROUBLE, on.limited), spot(said.limited.as_ref())),
            ("policy.on.down", word(&TROUBLE, on.down), spot(said.down.as_ref())),
            ("policy.on.invalid", word(&INVALID, on.invalid), spot(said.invalid.as_ref())),
            ("policy.on.too_long", word(&TOO_LONG, on.too_long), spot(said.too_long.as_ref())),
            ("policy.on.refused", word(&REFUSED, on.refused), spot(said.refused.as_ref())),
        ];
        if self.step.validates.is_some() {
            let rejected = word(&REJECTED, on.rejected);
            all.push(("policy.on.rejected", rejected, spot(said.rejected.as_ref())));
        }
        all.into_iter().map(|(key, value, spot)| Effective { key, value, spot }).collect()
    }
}

/// A duration as files say it.
fn written(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1000) { format!("{}s", millis / 1000) } else { format!("{millis}ms") }
}

/// The word that stands for a value in files.
fn word<T: PartialEq + Copy>(words: &[(&str, T)], value: T) -> String {
    let named = words.iter().find(|(_, meant)| *meant == value);
    named.map(|(word, _)| (*word).to_owned()).unwrap_or_default()
}

fn hedge(hedge: Hedge) -> String {
    match hedge {
        Hedge::Off | Hedge::Auto => word(&HEDGE, hedge),
        Hedge::After { after, max_extra } => {
            let after = match after {
                After::Percentile(percent) => format!("p{percent}"),
                After::Fixed(after) => written(after),
            };
            format!("{{after: {after}, max_extra: {max_extra}}}")
        }
    }
}

fn cutoff(cutoff: Cutoff) -> String {
    match cutoff {
        Cutoff::Auto => "auto".to_owned(),
        Cutoff::Fixed { first_token: None, idle: None, total: Some(total) } => written(total),
        Cutoff::Fixed { first_token, idle, total } => {
            let limits = [("first_token", first_token), ("idle", idle), ("total", total)];
            let said = limits
                .into_iter()
                .filter_map(|(name, limit)| Some(format!("{name}: {}", written(limit?))));
            format!("{{{}}}", said.collect::<Vec<_>>().join(", "))
        }
    }
}
