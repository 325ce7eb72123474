//! `punctual explain`: what a workflow will do, and when it will stop waiting.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::graph::{bound, critical_path, lines};
use super::house::House;
use super::output;
use super::place::{Place, Simulated, shown};
use super::run::find;
use super::terminal::{Style, Terminal, wrap};
use crate::domain::id::StepIx;
use crate::domain::money::Usd;
use crate::domain::plan::{
    Cutoff, Hedge, OnInvalid, OnRefused, OnRejected, OnSlow, OnTooLong, OnTrouble, Plan, Policy,
    Work,
};
use crate::domain::time::show;
use crate::policy::cutoff::{COLD_FIRST_TOKEN, COLD_STALL, Shares};
use crate::workflow::Workflow;

const EXAMPLES: &str = "\
Examples:
  punctual explain support_triage     a workflow of the folder that is served
  punctual explain ./draft.yaml       a file

Nothing is asked and nothing is spent: this is what the files say, with everything inferred.";

/// Shows a workflow's graph, critical path, policies and cutoffs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    /// A workflow's name, or a workflow file
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    simulated: Simulated,
}

impl Explain {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        match find(&self.workflow, &self.place, &self.simulated).await {
            Ok((house, workflow)) => {
                let terminal = Terminal::of_stdout();
                output::result(explained(&house, &workflow, terminal).join("\n"));
                Exit::Done
            }
            Err(exit) => exit,
        }
    }
}

/// The whole text.
fn explained(house: &House, workflow: &Arc<Workflow>, terminal: Terminal) -> Vec<String> {
    let plan = &workflow.plan;
    let head = |text: &str| terminal.paint(Style::Bold, text).to_string();
    let mut text = vec![match &workflow.title {
        Some(title) => format!("{} · {title}", head(&workflow.name)),
        None => head(&workflow.name),
    }];
    let built_in = house.folder.path().is_none();
    let file = if built_in { "built in".to_owned() } else { shown(Path::new(&workflow.file)) };
    text.push(terminal.paint(Style::Dim, file).to_string());
    text.extend(wrap(workflow.description.trim(), terminal.width));
    text.push(String::new());
    text.push(facts("Deadline", &deadline(plan)));
    text.push(facts("Budget", &budget(plan)));
    text.push(facts("Input", &workflow.input.describe()));
    let outputs: Vec<&str> = workflow.output.iter().map(|(name, _)| name.as_str()).collect();
    text.push(facts("Output", &outputs.join(", ")));
    text.push(String::new());
    text.push(head("Graph"));
    text.extend(lines(plan, terminal));
    text.push(String::new());
    text.push(head("Critical path"));
    text.extend(wrap(&path_text(plan), terminal.width - 2).into_iter().map(|l| format!("  {l}")));
    text.push(String::new());
    text.push(head("Steps"));
    text.extend(steps(plan, terminal));
    text.push(String::new());
    text.push(head("Models"));
    text.extend(models(plan));
    text
}

fn facts(name: &str, value: &str) -> String {
    format!("{name:9} {value}")
}

fn deadline(plan: &Plan) -> String {
    let end = Plan::end_at(plan.deadline).since_start();
    let reserve = plan.deadline.saturating_sub(end);
    format!("{}; a run ends {} earlier, so that its answer leaves in time", show(plan.deadline), show(reserve))
}

fn budget(plan: &Plan) -> String {
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
    format!("{} = {total} tokens at most, the longest chain; the deadline is shared out along it", steps.join(" → "))
}

/// Per step with a model: its share, its cutoffs, its policy.
fn steps(plan: &Plan, terminal: Terminal) -> Vec<String> {
    let shares = Shares::of(plan);
    let mut text = Vec::new();
    for ix in plan.step_ixs() {
        let step = plan.step(ix);
        let Work::Model { policy, .. } = &step.work else { continue };
        text.push(format!("  {}", terminal.paint(Style::Bold, &step.name)));
        let mut say = |line: String| {
            let lines = wrap(&line, terminal.width - 6).into_iter().enumerate();
            text.extend(lines.map(|(at, l)| if at == 0 { format!("    {l}") } else { format!("      {l}") }));
        };
        say(cutoffs(plan, ix, policy, &shares));
        say(format!("then: {}", after_cut(policy)));
        say(format!("on trouble: {}", reactions(policy)));
        say(format!(
            "at most {} attempts and {} swaps of path{}, {} apart",
            policy.attempts,
            policy.max_swaps,
            if step.each.is_some() { " an item" } else { "" },
            show(policy.swap_delay)
        ));
    }
    text
}

fn cutoffs(plan: &Plan, ix: StepIx, policy: &Policy, shares: &Shares) -> String {
    match policy.cutoff {
        Cutoff::Fixed { first_token, idle, total } => {
            let parts = [
                first_token.map(|t| format!("no first token within {}", show(t))),
                idle.map(|t| format!("no further token within {}", show(t))),
                total.map(|t| format!("no complete answer within {}", show(t))),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("cut (as written): {}", parts.join("; "))
        }
        Cutoff::Auto => {
            let end = Plan::end_at(plan.deadline).since_start();
            let left = left_at_best(plan, ix, end);
            let share = shares.share(ix, left, 1);
            let percent = share.as_micros() * 100 / plan.deadline.as_micros().max(1);
            format!(
                "cut (auto, cold start: too little is measured yet): no first token within {}, or no \
                 further token within {}; never later than its share of the time left, {} ({percent} % of \
                 the deadline) when all goes to plan",
                show(COLD_FIRST_TOKEN.min(share)),
                show(COLD_STALL.min(share)),
                show(share)
            )
        }
    }
}

/// Time left when the step begins, where every step before it takes its share by tokens.
fn left_at_best(plan: &Plan, ix: StepIx, end: Duration) -> Duration {
    let shares = Shares::of(plan);
    let mut left: Vec<Duration> = vec![end; plan.steps.len()];
    for step in plan.step_ixs() {
        for need in &plan.step(step).needs {
            let before = left[need.step.at()];
            let after = before.saturating_sub(shares.share(need.step, before, 1));
            left[step.at()] = left[step.at()].min(after);
        }
    }
    left[ix.at()]
}

fn after_cut(policy: &Policy) -> String {
    let next = match policy.on.slow {
        OnSlow::Auto => "no token: the next path; too slow to finish: the faster model",
        OnSlow::Next => "the next path",
        OnSlow::Faster => "the faster model",
        OnSlow::Fail => return "the step fails".to_owned(),
    };
    let old = match policy.hedge {
        Hedge::Auto => "the attempt that was cut stays in the race, the first valid answer wins",
        Hedge::Off => "the attempt that was cut is closed first (hedge: off)",
    };
    format!("{next}; {old}")
}

fn reactions(policy: &Policy) -> String {
    let trouble = |on| match on {
        OnTrouble::Next => "next path",
        OnTrouble::Fail => "fail",
    };
    let invalid = match policy.on.invalid {
        OnInvalid::Repair => "one repair turn, then the stronger model",
        OnInvalid::Stronger => "the stronger model",
        OnInvalid::Next => "next path",
        OnInvalid::Fail => "fail",
    };
    let long = match policy.on.too_long {
        OnTooLong::Larger => "a larger window",
        OnTooLong::Fail => "fail",
    };
    let refused = match policy.on.refused {
        OnRefused::Stronger => "the stronger model once",
        OnRefused::Next => "next path once",
        OnRefused::Fail => "fail",
    };
    let rejected = match policy.on.rejected {
        OnRejected::Fail => "fail",
        OnRejected::Accept => "accept, degraded",
    };
    format!(
        "throttled → {}; down → {}; invalid answer → {invalid}; prompt too long → {long}; \
         refused → {refused}; rejected with no revision left → {rejected}",
        trouble(policy.on.limited),
        trouble(policy.on.down)
    )
}

/// Each model's paths, in order, with what is known of them.
fn models(plan: &Plan) -> Vec<String> {
    let mut text = Vec::new();
    for model in &plan.models {
        let link = |word: &str, to: Option<crate::domain::id::ModelIx>| {
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
            text.push(format!("    {}. {}  {}", at + 1, known.label, facts.join(", ")).trim_end().to_owned());
        }
    }
    text
}
