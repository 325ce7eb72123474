//! `punctual run --dry`: what a run would send and use at most, as far as its input decides it.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::chance::{Chances, chances};
use super::graph::layers;
use super::house::House;
use super::worst::{Size, Worst, time, worst};
use crate::definition::config::Configuration;
use crate::domain::id::{ItemIx, StepIx};
use crate::domain::message::estimate_tokens;
use crate::domain::outcome::Status;
use crate::domain::plan::{NeedKind, Plan, Work};
use crate::driver::{Refusal, fitting};
use crate::engine::FAN_OUT_MAX;
use crate::expression::Expression;
use crate::run::instruction_tokens;
use crate::template::Template;
use crate::workflow::content::{Content, Expansion};
use crate::workflow::{PromptContent, StepContent, WorkContent, Workflow};

mod show;

/// A run that is not made.
pub struct Dry {
    workflow: Arc<Workflow>,
    deadline: Duration,
    steps: Vec<Step>,
    worst: Worst,
    chances: Chances,
    /// How long it takes where each step needs one attempt: with answers of the usual size, and at their bounds.
    time: (Duration, Duration),
}

/// A step, as far as the input decides it.
#[derive(Serialize)]
struct Step {
    #[serde(rename = "step")]
    name: String,
    /// Steps that wait for the same others can run at once: from 1.
    wave: usize,
    #[serde(flatten)]
    what: What,
    /// Items; of a list that is not known yet as many as run at once.
    items: u32,
    items_known: bool,
    #[serde(skip)]
    prompt_tokens: u64,
}

/// What is known of a step.
#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum What {
    /// Its prompts, one for each item.
    Rendered { prompts: Vec<Rendered> },
    /// Its condition is false.
    Skipped,
    /// A step without a model.
    Computed { value: Value },
    /// What it is made of is not there yet.
    Waits { waits_for: Vec<String>, system: Option<String>, prompt: Option<String> },
    /// It would fail.
    Impossible { why: String },
}

/// A prompt as it would be sent.
#[derive(Serialize)]
struct Rendered {
    system: Option<String>,
    user: String,
    /// As budgets are reserved by.
    estimated_tokens: u64,
}

impl Dry {
    /// A run of `workflow` on `input`.
    ///
    /// # Errors
    /// An input that does not fit.
    pub fn of(
        house: &House,
        workflow: &Arc<Workflow>,
        input: Value,
        deadline: Option<Duration>,
    ) -> Result<Self, Refusal> {
        let input = fitting(workflow, input)?;
        let bound = workflow.plan.deadline;
        let deadline = deadline.map_or(bound, |own| own.clamp(Duration::from_millis(100), bound));
        let configuration = &house.catalog.configuration;
        Ok(Self::laid_out(workflow, input, deadline, configuration))
    }

    fn laid_out(
        workflow: &Arc<Workflow>,
        input: Value,
        deadline: Duration,
        configuration: &Configuration,
    ) -> Self {
        let plan = &workflow.plan;
        let steps = Laying::new(workflow, input).all();
        let items = |ix: StepIx| match steps[ix.at()].what {
            What::Skipped | What::Computed { .. } => 0,
            What::Rendered { .. } | What::Waits { .. } | What::Impossible { .. } => {
                steps[ix.at()].items
            }
        };
        let size = |ix: StepIx| Size { items: items(ix), prompt: steps[ix.at()].prompt_tokens };
        Self {
            workflow: workflow.clone(),
            deadline,
            worst: worst(plan, size),
            chances: chances(plan, configuration, |ix| Some(items(ix))),
            time: time(plan, configuration, items),
            steps,
        }
    }
}

impl Dry {
    /// The steps, those first that can run first.
    fn in_order(&self) -> Vec<(StepIx, &Step)> {
        let mut steps: Vec<(StepIx, &Step)> =
            self.workflow.plan.step_ixs().zip(&self.steps).collect();
        steps.sort_by_key(|(_, step)| step.wave);
        steps
    }
}

/// Lays out the steps in the plan's order.
struct Laying<'a> {
    workflow: &'a Workflow,
    content: Content,
    /// Per step: whether what it yields is known.
    known: Vec<bool>,
    /// Per step: the most tokens that its answers can be.
    yields: Vec<u64>,
    input_tokens: u64,
}

impl<'a> Laying<'a> {
    fn new(workflow: &'a Workflow, input: Value) -> Self {
        Self {
            workflow,
            input_tokens: estimate_tokens(&input.to_string()),
            content: Content::new(workflow, input),
            known: vec![false; workflow.plan.steps.len()],
            yields: vec![0; workflow.plan.steps.len()],
        }
    }

    fn all(mut self) -> Vec<Step> {
        let waves = layers(&self.workflow.plan);
        let plan = self.workflow.plan.clone();
        plan.step_ixs().map(|ix| self.step(ix, waves[ix.at()] + 1)).collect()
    }

    fn step(&mut self, ix: StepIx, wave: usize) -> Step {
        let workflow = self.workflow;
        let (plan, of) = (&workflow.plan, &workflow.steps[ix.at()]);
        let (what, items) =
            if self.is_decided(ix) { self.decided(ix, of) } else { self.waiting(ix, of) };
        let at_once = plan.step(ix).each.map_or(1, |each| each.max_parallel.max(1));
        let count = items.unwrap_or(at_once);
        let prompt_tokens = match &what {
            What::Rendered { prompts } => {
                prompts.iter().map(|prompt| prompt.estimated_tokens).max().unwrap_or(0)
            }
            What::Waits { .. } => self.waiting_tokens(ix, of),
            What::Skipped | What::Computed { .. } | What::Impossible { .. } => 0,
        };
        if let Work::Model { max_tokens, .. } = &plan.step(ix).work {
            self.yields[ix.at()] = u64::from(*max_tokens) * u64::from(count);
        }
        Step {
            name: of.name.clone(),
            wave,
            what,
            items: count,
            items_known: items.is_some(),
            prompt_tokens,
        }
    }

    /// Whether everything a step looks at is known: the order alone of other steps shows in `run.status`.
    fn is_decided(&self, ix: StepIx) -> bool {
        let content = &self.workflow.steps[ix.at()];
        let statuses = mentions(content).contains(&"run");
        self.workflow
            .plan
            .step(ix)
            .needs
            .iter()
            .all(|need| self.known[need.step.at()] || (need.kind == NeedKind::Order && !statuses))
    }

    fn decided(&mut self, ix: StepIx, of: &StepContent) -> (What, Option<u32>) {
        let count = match self.content.expand(ix, of, FAN_OUT_MAX) {
            Expansion::Skip => {
                self.content.close(ix, of, Status::Skipped);
                self.known[ix.at()] = true;
                return (What::Skipped, Some(0));
            }
            Expansion::Impossible(why) => return (What::Impossible { why }, Some(0)),
            Expansion::Items(count) => u32::try_from(count).unwrap_or(u32::MAX),
        };
        let prompt = match &of.work {
            WorkContent::Prompt(prompt) => prompt,
            WorkContent::Value(fields) => {
                return (self.computed(ix, of, fields, count), Some(count));
            }
        };
        let added = instruction_tokens(&prompt.answer);
        let rendered = (0..count).map(|item| {
            let made = self.content.render(ix, ItemIx(item), of, prompt)?;
            let estimated_tokens = made.estimated_tokens() + added;
            let user = made.messages.into_iter().map(|message| message.text);
            let user = user.collect::<Vec<_>>().join("\n\n");
            Ok(Rendered { system: made.system, user, estimated_tokens })
        });
        let prompts: Result<Vec<Rendered>, crate::template::RenderError> = rendered.collect();
        match prompts {
            Ok(prompts) => (What::Rendered { prompts }, Some(count)),
            Err(error) => {
                let why = format!("its prompt cannot be rendered: {error}");
                (What::Impossible { why }, Some(count))
            }
        }
    }

    /// A step without a model, all of whose values are there.
    fn computed(
        &mut self,
        ix: StepIx,
        of: &StepContent,
        fields: &[(String, Expression)],
        count: u32,
    ) -> What {
        for item in (0..count).map(ItemIx) {
            let value = self.content.compute(ix, item, of, fields);
            let unmet = self.content.unmet(ix, item, of, &value);
            if !unmet.is_empty() {
                return What::Impossible { why: unmet.join("; ") };
            }
            self.content.accept(ix, item, of, value);
        }
        self.content.close(ix, of, Status::Ok);
        self.known[ix.at()] = true;
        What::Computed { value: self.content.output(of).cloned().unwrap_or_default() }
    }

    fn waiting(&mut self, ix: StepIx, of: &StepContent) -> (What, Option<u32>) {
        let plan = &self.workflow.plan;
        let needs = plan.step(ix).needs.iter().filter(|need| !self.known[need.step.at()]);
        let waits_for = needs.map(|need| plan.step(need.step).name.clone()).collect();
        let (system, prompt) = match &of.work {
            WorkContent::Prompt(prompt) => {
                let system = prompt.system.as_ref().map(|text| text.source().to_owned());
                (system, Some(prompt.prompt.source().to_owned()))
            }
            WorkContent::Value(_) => (None, None),
        };
        let items = match &of.each {
            None => Some(1),
            Some(each) if each.list.mentions().iter().all(|m| self.is_known(&m.name)) => match self
                .content
                .expand(ix, &StepContent { when: None, ..of.clone() }, FAN_OUT_MAX)
            {
                Expansion::Items(count) => u32::try_from(count).ok(),
                Expansion::Skip | Expansion::Impossible(_) => None,
            },
            Some(_) => None,
        };
        (What::Waits { waits_for, system, prompt }, items)
    }

    fn is_known(&self, name: &str) -> bool {
        match self.workflow.steps.iter().position(|step| step.name == name) {
            Some(at) => self.known[at],
            None => name != "run" && name != "feedback",
        }
    }

    /// The most that a prompt is expected to be whose answers are not there yet: its template, the whole input where
    /// it looks at it, and every answer it waits for at its bound.
    fn waiting_tokens(&self, ix: StepIx, of: &StepContent) -> u64 {
        let WorkContent::Prompt(prompt) = &of.work else { return 0 };
        let texts = prompt.system.iter().chain([&prompt.prompt]);
        let template: u64 = texts.map(|text| estimate_tokens(text.source())).sum();
        let input = mentions(of).iter().any(|name| self.is_known(name)) || of.each.is_some();
        let input = if input { self.input_tokens } else { 0 };
        let needs = &self.workflow.plan.step(ix).needs;
        let needs = needs.iter().filter(|need| need.kind != NeedKind::Order);
        let answers: u64 = needs.map(|need| self.yields[need.step.at()]).sum();
        template + input + answers + instruction_tokens(&prompt.answer) + 8
    }
}

/// The root names that a step's list and the condition of its items look at.
fn listing(of: &StepContent) -> Vec<&str> {
    let each = of.each.iter();
    let texts = each.flat_map(|each| std::iter::once(&each.list).chain(&each.when));
    texts.flat_map(Expression::mentions).map(|mention| mention.name.as_str()).collect()
}

/// The root names that a step's texts look at.
fn mentions(of: &StepContent) -> Vec<&str> {
    let mut names: Vec<&str> = listing(of);
    let when = of.when.iter().flat_map(Expression::mentions);
    names.extend(when.map(|mention| mention.name.as_str()));
    if let WorkContent::Prompt(prompt) = &of.work {
        let PromptContent { system, prompt, .. } = prompt.as_ref();
        let texts = system.iter().chain([prompt]);
        names.extend(texts.flat_map(Template::mentions).map(|mention| mention.name.as_str()));
    }
    names
}

/// Paths of a step's model, best first.
fn paths(plan: &Plan, ix: StepIx) -> Vec<String> {
    match &plan.step(ix).work {
        Work::Model { model, .. } => {
            plan.model(*model).paths.iter().map(|path| plan.path(*path).label.clone()).collect()
        }
        Work::Value => Vec::new(),
    }
}
