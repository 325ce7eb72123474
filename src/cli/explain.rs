//! `punctual explain`: what a workflow will do, how likely it succeeds, and when it will stop waiting.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use super::chance::{Chances, chances};
use super::exit::Exit;
use super::explain_code;
use super::graph::{bound, critical_path, lines};
use super::house::House;
use super::measure;
use super::mermaid::flowchart;
use super::output;
use super::place::{Place, Regime, State, shown};
use super::run::find;
use super::simulate::measured;
use super::terminal::{Style, Terminal, wrap};
use super::worst::{Size, Worst, worst};
use crate::definition::catalog::source_of;
use crate::definition::effective::{Settings, effective};
use crate::domain::id::{ModelIx, StepIx};
use crate::domain::money::Usd;
use crate::domain::plan::{Plan, StepPlan, Work};
use crate::domain::time::show;
use crate::planner::SharedPilot;
use crate::workflow::Workflow;

mod cutoff;
mod policy;
mod record;
mod setting;

const EXAMPLES: &str = "\
Examples:
  punctual explain support_triage              a workflow of the folder that is served
  punctual explain ./draft.yaml                a file
  punctual explain support_triage --mermaid    its graph for a document or a pull request
  punctual explain support_triage --json       everything, for programs
  punctual explain P0207                       what a diagnostic's code means, and how to mend it

Nothing is asked and nothing is spent: this is what the files say, with everything inferred.";

/// Shows a workflow's graph, critical path, chance of success, settings and cutoffs
///
/// Every setting stands beside the place that says it. Chances are priors until something is measured.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    /// A workflow's name, a workflow file, or a diagnostic's code
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    /// Prints the graph alone, as a Mermaid flowchart
    #[arg(long, conflicts_with = "json")]
    mermaid: bool,
    /// Prints everything as JSON, the Mermaid flowchart included
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    regime: Regime,
    #[command(flatten)]
    state: State,
}

impl Explain {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if let Some(exit) = explain_code::explain(&self.workflow) {
            return exit;
        }
        let simulated = self.regime.into();
        match find(&self.workflow, &self.place, &simulated).await {
            Ok((_, workflow)) if self.mermaid => {
                output::result(flowchart(&workflow));
                Exit::Done
            }
            Ok((house, workflow)) => {
                let mut told = Told::of(&house, &workflow);
                if !house.simulated() {
                    told.pilot = measured(&workflow, &self.state).map(|(pilot, _)| Arc::new(pilot));
                }
                if self.json {
                    output::json(&told.record());
                } else {
                    output::result(told.text(output::screen()).join("\n"));
                }
                Exit::Done
            }
            Err(exit) => exit,
        }
    }
}

/// Everything that is told of a workflow.
struct Told<'a> {
    workflow: &'a Workflow,
    /// Where its file is, for people.
    file: String,
    chances: Chances,
    /// `None` where the file has changed under our hands.
    settings: Option<Settings>,
    worst: Worst,
    /// What was measured of its times, where anything was.
    pilot: Option<SharedPilot>,
}

impl<'a> Told<'a> {
    fn of(house: &House, workflow: &'a Arc<Workflow>) -> Self {
        let configuration = &house.catalog.configuration;
        let plan = &workflow.plan;
        let built_in = house.folder.path().is_none();
        let source = source_of(&house.folder, configuration, workflow);
        // Prompts depend on the input: what answers can be is bounded, what prompts can be is not.
        let size = |ix: StepIx| Size { items: usual_items(plan, ix), prompt: 0 };
        Self {
            workflow,
            file: if built_in { "built in".to_owned() } else { shown(Path::new(&workflow.file)) },
            chances: chances(plan, configuration, |_| None),
            settings: source.and_then(|source| effective(source, configuration, workflow)),
            worst: worst(plan, size),
            pilot: None,
        }
    }

    /// The whole text.
    fn text(&self, terminal: Terminal) -> Vec<String> {
        let (workflow, plan) = (self.workflow, &self.workflow.plan);
        let head = |text: &str| terminal.paint(Style::Bold, text).to_string();
        let mut text = vec![match &workflow.title {
            Some(title) => format!("{} · {title}", head(&workflow.name)),
            None => head(&workflow.name),
        }];
        text.push(terminal.paint(Style::Dim, &self.file).to_string());
        text.extend(wrap(workflow.description.trim(), terminal.width));
        text.push(String::new());
        text.extend(facts("Deadline", &deadline(plan), terminal));
        text.extend(facts("Budget", &budget(plan), terminal));
        text.extend(facts("Input", &workflow.input.describe(), terminal));
        let outputs: Vec<&str> = workflow.output.iter().map(|(name, _)| name.as_str()).collect();
        text.extend(facts("Output", &outputs.join(", "), terminal));
        let mut section = |title: &str, lines: Vec<String>| {
            text.push(String::new());
            text.push(head(title));
            text.extend(lines);
        };
        section("Graph", lines(workflow, terminal));
        section("Critical path", indented(&path_text(plan), terminal, 2));
        section("Chance of success", chance_lines(&self.chances, plan, terminal));
        match &self.pilot {
            Some(pilot) => section("Times and cutoffs", measure::lines(plan, pilot, terminal)),
            None => section("Cutoffs", cutoff::cutoffs(plan, terminal)),
        }
        section("Settings", setting::lines(self.settings.as_ref(), terminal));
        section("Policies", policy::policies(plan, terminal));
        section("At most", worst_lines(&self.worst, workflow, terminal));
        section("Models", models(plan));
        text
    }
}

/// Items of a fan-out where the input is not known: as many as run at once.
fn usual_items(plan: &Plan, ix: StepIx) -> u32 {
    plan.step(ix).each.map_or(1, |each| each.max_parallel.max(1))
}

fn facts(name: &str, value: &str, terminal: Terminal) -> Vec<String> {
    let lines = wrap(value, terminal.width - 10).into_iter().enumerate();
    let named = |(at, line)| format!("{:9} {line}", if at == 0 { name } else { "" });
    lines.map(named).collect()
}

fn deadline(plan: &Plan) -> String {
    let end = Plan::end_at(plan.deadline).since_start();
    let reserve = plan.deadline.saturating_sub(end);
    format!(
        "{}; a run ends {} earlier, so that its answer leaves in time",
        show(plan.deadline),
        show(reserve)
    )
}

/// A run's budget in words.
#[must_use]
pub fn budget(plan: &Plan) -> String {
    let budget = &plan.budget;
    let parts = [
        budget.usd.map(|usd: Usd| usd.to_string()),
        budget.tokens.map(|tokens| format!("{tokens} tokens")),
        budget.calls.map(|calls| format!("{calls} attempts")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn path_text(plan: &Plan) -> String {
    let (path, total) = critical_path(plan);
    if total == 0 {
        return "no step asks a model".to_owned();
    }
    let steps: Vec<String> = path
        .iter()
        .map(|ix| plan.step(*ix))
        .map(|step| format!("{} ({})", step.name, bound(step)))
        .collect();
    format!(
        "{} = {total} tokens at most, the longest chain; the deadline is shared out along it",
        steps.join(" → ")
    )
}

/// The steps' chances, each with its arithmetic, and what they come to.
fn chance_lines(chances: &Chances, plan: &Plan, terminal: Terminal) -> Vec<String> {
    let mut text = Vec::new();
    for chance in &chances.steps {
        let role = if chance.counts { "" } else { "  optional: does not count" };
        text.push(format!("  {}{role}", terminal.paint(Style::Bold, &chance.step)));
        text.extend(named("valid", &chance.arithmetic, terminal));
        text.extend(named("and right", &chance.right_arithmetic, terminal));
    }
    let whole = terminal.paint(Style::Bold, "the run").to_string();
    text.push(format!("  {whole}"));
    text.extend(named("valid", &chances.valid_arithmetic, terminal));
    text.extend(named("and right", &chances.right_arithmetic, terminal));
    let asks = |step: &StepPlan| matches!(step.work, Work::Model { .. });
    let items = plan.steps.iter().any(|step| step.each.is_some() && asks(step));
    let items = if items { " A fan-out counts as many items as run at once." } else { "" };
    let note = format!(
        "Priors until something is measured: valid counts errors, hangs, throttling and invalid answers as they are \
         published of production traffic (or as the simulated regime has them), per provider and attempts on it; \
         right is each path's trust, with nothing but a validator to catch what is wrong.{items} Time is not counted: \
         see Cutoffs, and 'run --dry'."
    );
    text.extend(indented(&note, terminal, 2));
    text
}

fn worst_lines(worst: &Worst, workflow: &Workflow, terminal: Terminal) -> Vec<String> {
    let tokens: u64 = worst.steps.iter().map(|step| step.output_tokens).sum();
    let cost = match worst.usd {
        Some(usd) => Usd::from_dollars(usd).unwrap_or(Usd::ZERO).to_string(),
        None => format!("unknown: no price of {}", worst.unpriced.join(", ")),
    };
    let attempts = worst.attempts;
    let text = format!(
        "{attempts} attempts with answers of {tokens} tokens together, {cost} for the answers, were every attempt to \
         fail and every fan-out one wave; prompts come on top and depend on the input: \
         'punctual run {} --dry' counts them",
        workflow.name
    );
    let mut lines = indented(&text, terminal, 2);
    if !worst.held_by.is_empty() {
        lines.extend(indented(
            &format!("the budget holds a run at {}", worst.held_by.join(", ")),
            terminal,
            2,
        ));
    }
    lines
}

fn named(name: &str, what: &str, terminal: Terminal) -> Vec<String> {
    let lines = wrap(what, terminal.width - 16).into_iter().enumerate();
    lines.map(|(at, line)| format!("    {:10}  {line}", if at == 0 { name } else { "" })).collect()
}

fn indented(text: &str, terminal: Terminal, by: usize) -> Vec<String> {
    let lines = wrap(text, terminal.width - by).into_iter();
    lines.map(|line| format!("{:by$}{line}", "")).collect()
}

/// Each model's paths, in order, with what is known of them.
fn models(plan: &Plan) -> Vec<String> {
    let mut text = Vec::new();
    for model in &plan.models {
        let link = |word: &str, to: Option<ModelIx>| {
            to.map(|to| format!("; {word}: {}", plan.model(to).name)).unwrap_or_default()
        };
        text.push(format!(
            "  {}{}{}",
            model.name,
            link("faster", model.faster),
            link("stronger", model.stronger)
        ));
        for (at, path) in model.paths.iter().enumerate() {
            let known = plan.path(*path);
            let mut facts = Vec::new();
            if let Some(context) = known.profile.context {
                facts.push(format!("window {context}"));
            }
            if let Some(price) = known.profile.price {
                facts.push(format!("{} in, {} out per million tokens", price.input, price.output));
            }
            if plan.provider_of(*path).simulated {
                facts.push("simulated".to_owned());
            }
            text.push(
                format!("    {}. {}  {}", at + 1, known.label, facts.join(", "))
                    .trim_end()
                    .to_owned(),
            );
        }
    }
    text
}
