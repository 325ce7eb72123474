//! `punctual run --dry`: what a run would send and use at most, as far as its input, and a case that has the same one,
//! decide it.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::chance::{Chances, chances};
use super::graph::layers;
use super::house::House;
use super::worst::{Size, Worst, time, worst};
use crate::definition::config::Configuration;
use crate::domain::id::StepIx;
use crate::domain::message::{Speaker, estimate_tokens};
use crate::domain::outcome::Status;
use crate::domain::plan::{NeedKind, Plan, Work};
use crate::driver::{Refusal, fitting};
use crate::engine::StepView;
use crate::expression::Expression;
use crate::provider::Exchange;
use crate::run::instruction_tokens;
use crate::template::Template;
use crate::workflow::case::{Case, same};
use crate::workflow::{PromptContent, StepContent, WorkContent, Workflow};

mod lay;
mod show;

use lay::Laid;

/// A run that is not made.
pub struct Dry {
    workflow: Arc<Workflow>,
    /// The case that has answers for this input.
    case: Option<Recorded>,
    deadline: Duration,
    steps: Vec<Step>,
    worst: Worst,
    chances: Chances,
    /// How long it takes where each step needs one attempt: with answers of the usual size, and at their bounds.
    time: (Duration, Duration),
}

/// A case whose answers were taken.
#[derive(Serialize)]
struct Recorded {
    name: String,
    /// The file and the line it stands in.
    at: String,
}

/// A step, as far as the input decides it.
#[derive(Serialize)]
struct Step {
    #[serde(rename = "step")]
    name: String,
    /// Steps that wait for the same others can run at once: from 1.
    wave: usize,
    /// Whether it is made of recorded answers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recorded: bool,
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
    Rendered {
        prompts: Vec<Rendered>,
        /// What was left out of them, because no window holds it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// It is not needed.
    Skipped { why: String },
    /// A step without a model, and the items that do not meet its `check`.
    Computed {
        value: Value,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        without: Vec<String>,
    },
    /// What it is made of is not there yet.
    Waits { waits_for: Vec<String>, system: Option<String>, prompt: Option<String> },
    /// It would fail.
    Impossible { why: String },
}

/// A prompt as it would be sent.
#[derive(Serialize)]
struct Rendered {
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<u32>,
    system: Option<String>,
    /// The conversation before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<Turn>,
    user: String,
    /// As budgets are reserved by.
    estimated_tokens: u64,
}

/// A turn of a conversation.
#[derive(Serialize)]
struct Turn {
    speaker: &'static str,
    text: String,
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
        let cases = house.catalog.cases.get(&workflow.name);
        let case = cases.and_then(|all| {
            let found = all.list.iter().find(|case| same(&case.input, &input))?;
            Some((found, format!("{}:{}", all.label, found.line)))
        });
        Ok(Self::laid_out(workflow, input, case, deadline, configuration))
    }

    fn laid_out(
        workflow: &Arc<Workflow>,
        input: Value,
        case: Option<(&Case, String)>,
        deadline: Duration,
        configuration: &Configuration,
    ) -> Self {
        let plan = &workflow.plan;
        let steps = Looking::new(workflow, input, case.as_ref().map(|(case, _)| *case)).all();
        let items = |ix: StepIx| match steps[ix.at()].what {
            What::Skipped { .. } | What::Computed { .. } => 0,
            What::Rendered { .. } | What::Waits { .. } | What::Impossible { .. } => {
                steps[ix.at()].items
            }
        };
        let size = |ix: StepIx| Size { items: items(ix), prompt: steps[ix.at()].prompt_tokens };
        Self {
            workflow: workflow.clone(),
            case: case.map(|(case, at)| Recorded { name: case.name.clone(), at }),
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

/// Looks at a run that is laid out, step by step in the plan's order.
struct Looking<'a> {
    workflow: &'a Workflow,
    laid: Laid,
    /// Per step: the most tokens that its answers can be.
    yields: Vec<u64>,
    /// Per step: whether it is made of what models have answered.
    answered: Vec<bool>,
    input_tokens: u64,
}

impl<'a> Looking<'a> {
    fn new(workflow: &'a Workflow, input: Value, case: Option<&Case>) -> Self {
        let steps = workflow.plan.steps.len();
        Self {
            workflow,
            input_tokens: estimate_tokens(&input.to_string()),
            laid: Laid::of(workflow, input, case),
            yields: vec![0; steps],
            answered: vec![false; steps],
        }
    }

    fn all(mut self) -> Vec<Step> {
        let waves = layers(&self.workflow.plan);
        self.workflow.plan.step_ixs().map(|ix| self.step(ix, waves[ix.at()] + 1)).collect()
    }

    fn step(&mut self, ix: StepIx, wave: usize) -> Step {
        let workflow = self.workflow;
        let (plan, of) = (workflow.plan.step(ix), &workflow.steps[ix.at()]);
        let what = self.what(ix, of);
        let items = self.items(ix, &what);
        let at_once = plan.each.map_or(1, |each| each.max_parallel.max(1));
        let count = items.unwrap_or(at_once);
        let prompt_tokens = match &what {
            What::Rendered { prompts, .. } => {
                prompts.iter().map(|prompt| prompt.estimated_tokens).max().unwrap_or(0)
            }
            What::Waits { .. } => self.waiting_tokens(ix, of),
            What::Skipped { .. } | What::Computed { .. } | What::Impossible { .. } => 0,
        };
        if let Work::Model { max_tokens, .. } = &plan.work {
            self.yields[ix.at()] = u64::from(*max_tokens) * u64::from(count);
        }
        let needs = plan.needs.iter().filter(|need| need.kind != NeedKind::Order);
        let asks = |step: StepIx| matches!(workflow.plan.step(step).work, Work::Model { .. });
        let mut needs = needs.map(|need| need.step);
        self.answered[ix.at()] = needs.any(|need| asks(need) || self.answered[need.at()]);
        let waits = matches!(what, What::Waits { .. });
        Step {
            name: of.name.clone(),
            wave,
            recorded: self.answered[ix.at()] && !waits,
            what,
            items: count,
            items_known: items.is_some(),
            prompt_tokens,
        }
    }

    fn what(&self, ix: StepIx, of: &StepContent) -> What {
        let (laid, run) = (&self.laid, &self.laid.run);
        let status = laid.status(ix);
        let prompts: Vec<Rendered> = laid
            .prompts
            .range((ix, 0)..=(ix, u32::MAX))
            .map(|((_, place), (exchange, tokens))| {
                Rendered::of(of.each.as_ref().map(|_| *place), exchange, *tokens)
            })
            .collect();
        let failed = |step: &StepView<'_>| step.failure.map(|failure| failure.message.clone());
        let why = run.step(ix).as_ref().and_then(failed);
        if !prompts.is_empty() {
            return What::Rendered { prompts, left_out: run.left_off(ix) };
        }
        match (status, &of.work) {
            (Status::Skipped, _) => What::Skipped { why: laid.why_skipped(ix) },
            (Status::Ok | Status::Reused, WorkContent::Prompt(_)) => {
                What::Rendered { prompts, left_out: Vec::new() }
            }
            (status, WorkContent::Value(_)) if status.accepted() || laid.is_computed(ix) => {
                let items = run.step(ix).into_iter().flat_map(|step| {
                    step.items().filter_map(|item| item.failure.cloned()).collect::<Vec<_>>()
                });
                let without = items.map(|failure| failure.message).collect();
                What::Computed { value: run.output_of(ix).cloned().unwrap_or_default(), without }
            }
            (Status::Failed, _) => What::Impossible { why: why.unwrap_or_default() },
            _ => self.waits(ix, of),
        }
    }

    fn items(&self, ix: StepIx, what: &What) -> Option<u32> {
        let count = |count: usize| u32::try_from(count).ok();
        match what {
            What::Rendered { prompts, .. } => count(prompts.len()),
            What::Computed { value, .. } => match (&self.workflow.steps[ix.at()].each, value) {
                (Some(_), Value::Array(items)) => count(items.len()),
                _ => Some(1),
            },
            What::Skipped { .. } | What::Impossible { .. } => Some(0),
            What::Waits { .. } => self.laid.run.items_of(ix).and_then(count),
        }
    }

    fn waits(&self, ix: StepIx, of: &StepContent) -> What {
        let plan = &self.workflow.plan;
        let needs = plan.step(ix).needs.iter().filter(|need| !self.laid.is_decided(need.step));
        let waits_for = needs.map(|need| plan.step(need.step).name.clone()).collect();
        let (system, prompt) = match &of.work {
            WorkContent::Prompt(prompt) => {
                let system = prompt.system.as_ref().map(|text| text.source().to_owned());
                (system, Some(prompt.prompt.source().to_owned()))
            }
            WorkContent::Value(_) => (None, None),
        };
        What::Waits { waits_for, system, prompt }
    }

    /// The most that a prompt is expected to be whose answers are not there yet: its template, the whole input where
    /// it looks at it, and every answer it waits for at its bound.
    fn waiting_tokens(&self, ix: StepIx, of: &StepContent) -> u64 {
        let WorkContent::Prompt(prompt) = &of.work else { return 0 };
        let texts = prompt.system.iter().chain([&prompt.prompt]);
        let template: u64 = texts.map(|text| estimate_tokens(text.source())).sum();
        let known = |name: &&str| self.laid.run.is_known(name);
        let input = mentions(of).iter().any(known) || of.each.is_some();
        let input = if input { self.input_tokens } else { 0 };
        let needs = &self.workflow.plan.step(ix).needs;
        let needs = needs.iter().filter(|need| need.kind != NeedKind::Order);
        let answers: u64 = needs.map(|need| self.yields[need.step.at()]).sum();
        template + input + answers + instruction_tokens(&prompt.answer) + 8
    }
}

impl Rendered {
    fn of(item: Option<u32>, exchange: &Exchange, estimated_tokens: u64) -> Self {
        let mut turns: Vec<Turn> = exchange
            .prompt
            .messages
            .iter()
            .map(|message| Turn {
                speaker: match message.speaker {
                    Speaker::User => "user",
                    Speaker::Assistant => "assistant",
                },
                text: message.text.clone(),
            })
            .collect();
        let user = turns.pop().map(|turn| turn.text).unwrap_or_default();
        let system = exchange.prompt.system.clone();
        Self { item, system, history: turns, user, estimated_tokens }
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
