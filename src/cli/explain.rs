//! `punctual explain`: what a workflow will do, and when it will stop waiting.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::explain_code;
use super::graph::{bound, critical_path, lines, waits};
use super::house::House;
use super::output;
use super::place::{Place, Regime, shown};
use super::run::find;
use super::table::Table;
use super::terminal::{Style, Terminal, wrap};
use crate::domain::id::StepIx;
use crate::domain::money::Usd;
use crate::domain::plan::{
    OnInvalid, OnRefused, OnRejected, OnSlow, OnTooLong, OnTrouble, Plan, Policy, Reactions, Work,
};
use crate::domain::time::show;
use crate::policy::cutoff::{COLD_FIRST_TOKEN, COLD_STALL, Shares, decide};
use crate::workflow::Workflow;

const EXAMPLES: &str = "\
Examples:
  punctual explain support_triage     a workflow of the folder that is served
  punctual explain ./draft.yaml       a file
  punctual explain P0207              what a diagnostic's code means, and how to mend it

Nothing is asked and nothing is spent: this is what the files say, with everything inferred.";

/// Shows a workflow's graph, critical path, policies and cutoffs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    /// A workflow's name, a workflow file, or a diagnostic's code
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    regime: Regime,
}

impl Explain {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if let Some(exit) = explain_code::explain(&self.workflow) {
            return exit;
        }
        match find(&self.workflow, &self.place, &self.regime.into()).await {
            Ok((house, workflow)) => {
                let terminal = output::screen();
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
    text.extend(facts("Deadline", &deadline(plan), terminal));
    text.extend(facts("Budget", &budget(plan), terminal));
    text.extend(facts("Input", &workflow.input.describe(), terminal));
    let outputs: Vec<&str> = workflow.output.iter().map(|(name, _)| name.as_str()).collect();
    text.extend(facts("Output", &outputs.join(", "), terminal));
    text.push(String::new());
    text.push(head("Graph"));
    text.extend(lines(plan, terminal));
    text.push(String::new());
    text.push(head("Critical path"));
    text.extend(wrap(&path_text(plan), terminal.width - 2).into_iter().map(|l| format!("  {l}")));
    text.push(String::new());
    text.push(head("Cutoffs"));
    text.extend(cutoffs(plan, terminal));
    text.push(String::new());
    text.push(head("Policies"));
    text.extend(policies(plan, terminal));
    text.push(String::new());
    text.push(head("Models"));
    text.extend(models(plan));
    text
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
    format!(
        "{} = {total} tokens at most, the longest chain; the deadline is shared out along it",
        steps.join(" → ")
    )
}

/// When each step stops relying on an attempt, and by which rule.
fn cutoffs(plan: &Plan, terminal: Terminal) -> Vec<String> {
    let shares = Shares::of(plan);
    let end = Plan::end_at(plan.deadline).since_start();
    let mut table = Table::new([
        "step",
        "no first token",
        "stalled",
        "in all",
        "share of the deadline",
        "rule",
    ]);
    let (mut automatic, mut waves) = (false, false);
    for ix in plan.step_ixs() {
        let step = plan.step(ix);
        let Work::Model { policy, .. } = &step.work else { continue };
        let share = shares.share(ix, left_at_best(plan, &shares, ix, end), 1);
        let limits = decide(policy.cutoff, share);
        automatic |= limits.automatic;
        waves |= step.each.is_some();
        let time = |limit: Option<Duration>| limit.map_or_else(|| "–".to_owned(), show);
        let percent = share.as_micros() * 100 / plan.deadline.as_micros().max(1);
        let each = if step.each.is_some() { ", in one wave" } else { "" };
        table.row(
            [
                step.name.clone(),
                time(limits.first_token),
                time(limits.idle),
                time(limits.total),
                format!("{} ({percent} %{each})", show(share)),
                if limits.automatic { "auto".to_owned() } else { "as written".to_owned() },
            ]
            .map(|cell| (Style::Plain, cell))
            .into(),
        );
    }
    let mut text = table.lines(terminal, 2);
    let mut say = |line: &str| text.extend(indented(line, terminal, 2));
    if automatic {
        say(&format!(
            "auto: while too little is measured, only a missing first token ({}) and a stall ({}) cut, \
             and neither later than the step's share of the time left, which is by max_tokens along the \
             longest chain. The shares above are those of a run in which every step takes its share.",
            show(COLD_FIRST_TOKEN),
            show(COLD_STALL)
        ));
    }
    if waves {
        say(
            "A step with items shares its time among the waves that its list and max_parallel make.",
        );
    }
    text
}

/// The policies, each once, with the steps it holds for.
fn policies(plan: &Plan, terminal: Terminal) -> Vec<String> {
    let mut groups: Vec<(Policy, Vec<&str>)> = Vec::new();
    for step in &plan.steps {
        let Work::Model { policy, .. } = &step.work else { continue };
        let shown = apart(policy);
        match groups.iter_mut().find(|(other, _)| *other == shown) {
            Some((_, names)) => names.push(&step.name),
            None => groups.push((shown, vec![&step.name])),
        }
    }
    let mut text = Vec::new();
    for (policy, names) in groups {
        text.push(format!("  {}", terminal.paint(Style::Bold, names.join(", "))));
        let attempts = format!(
            "{} attempts and {} changes of path for a step or item, {} apart",
            policy.attempts,
            policy.max_swaps,
            show(policy.swap_delay)
        );
        for (name, what) in [
            ("too late", after_cut(&policy).as_str()),
            ("throttled", trouble(policy.on.limited)),
            ("down", trouble(policy.on.down)),
            ("invalid", on_invalid(policy.on.invalid)),
            ("too long", on_too_long(policy.on.too_long)),
            ("refused", on_refused(policy.on.refused)),
            ("at most", attempts.as_str()),
        ] {
            text.extend(named(name, what, terminal));
        }
    }
    for step in plan.steps.iter().filter(|step| step.validates.is_some()) {
        let Work::Model { policy, .. } = &step.work else { continue };
        text.push(format!("  {}", terminal.paint(Style::Bold, format!("{} says no", step.name))));
        text.extend(named("rejected", on_rejected(policy.on.rejected), terminal));
    }
    text
}

/// A policy without what is told elsewhere: its cutoffs, and what follows a rejection.
fn apart(policy: &Policy) -> Policy {
    let usual = Policy::default();
    let on = Reactions { rejected: usual.on.rejected, ..policy.on };
    Policy { cutoff: usual.cutoff, on, ..policy.clone() }
}

fn named(name: &str, what: &str, terminal: Terminal) -> Vec<String> {
    let lines = wrap(what, terminal.width - 16).into_iter().enumerate();
    lines.map(|(at, line)| format!("    {:10}  {line}", if at == 0 { name } else { "" })).collect()
}

fn indented(text: &str, terminal: Terminal, by: usize) -> Vec<String> {
    let lines = wrap(text, terminal.width - by).into_iter();
    lines.map(|line| format!("{:by$}{line}", "")).collect()
}

/// Time left when the step begins, where every step before it takes its share by tokens.
fn left_at_best(plan: &Plan, shares: &Shares, ix: StepIx, end: Duration) -> Duration {
    let mut left: Vec<Duration> = vec![end; plan.steps.len()];
    for step in plan.step_ixs() {
        for earlier in waits(plan, step) {
            let before = left[earlier.at()];
            let after = before.saturating_sub(shares.share(earlier, before, 1));
            left[step.at()] = left[step.at()].min(after);
        }
    }
    left[ix.at()]
}

fn after_cut(policy: &Policy) -> String {
    let next = match policy.on.slow {
        OnSlow::Auto => {
            "without a token an attempt on the next path, with too few tokens one on the faster model"
        }
        OnSlow::Next => "an attempt on the next path",
        OnSlow::Faster => "an attempt on the faster model",
        OnSlow::Fail => return "the step fails".to_owned(),
    };
    format!("{next}; {}", policy.hedge)
}

const fn trouble(on: OnTrouble) -> &'static str {
    match on {
        OnTrouble::Next => "the next path, at once",
        OnTrouble::Fail => "the step fails",
    }
}

const fn on_invalid(on: OnInvalid) -> &'static str {
    match on {
        OnInvalid::Repair => "one repair turn that says what was wrong, then the stronger model",
        OnInvalid::Stronger => "the stronger model",
        OnInvalid::Next => "the next path",
        OnInvalid::Fail => "the step fails",
    }
}

const fn on_too_long(on: OnTooLong) -> &'static str {
    match on {
        OnTooLong::Larger => "a path with a larger window",
        OnTooLong::Fail => "the step fails",
    }
}

const fn on_refused(on: OnRefused) -> &'static str {
    match on {
        OnRefused::Stronger => "the stronger model, once",
        OnRefused::Next => "the next path, once",
        OnRefused::Fail => "the step fails",
    }
}

const fn on_rejected(on: OnRejected) -> &'static str {
    match on {
        OnRejected::Fail => "with no revision left the run fails",
        OnRejected::Accept => "with no revision left it goes out, degraded and named as unverified",
    }
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
            text.push(
                format!("    {}. {}  {}", at + 1, known.label, facts.join(", "))
                    .trim_end()
                    .to_owned(),
            );
        }
    }
    text
}
