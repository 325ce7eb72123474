//! A plan as a drawn graph: its steps in layers, each below everything it waits for.

use super::terminal::{Style, Terminal, clip, wrap};
use crate::domain::id::StepIx;
use crate::domain::plan::{NeedKind, Plan, StepPlan, Work};

/// The steps that `ix` waits for. Who uses a judged answer waits for its judge, which closes it.
pub fn waits(plan: &Plan, ix: StepIx) -> impl Iterator<Item = StepIx> {
    plan.step(ix).needs.iter().map(move |need| {
        let judge = plan.step(need.step).judged_by.filter(|judge| *judge != ix);
        judge.unwrap_or(need.step)
    })
}

/// The layer of each step: 0 where it waits for nothing, else one below the lowest step it waits for.
#[must_use]
pub fn layers(plan: &Plan) -> Vec<usize> {
    let mut layers = vec![0; plan.steps.len()];
    for ix in plan.step_ixs() {
        let below = waits(plan, ix).map(|step| layers[step.at()] + 1).max();
        layers[ix.at()] = below.unwrap_or(0);
    }
    layers
}

/// The chain of steps with the largest answer bound, first to last, and that bound in tokens.
#[must_use]
pub fn critical_path(plan: &Plan) -> (Vec<StepIx>, u64) {
    let mut best: Vec<(u64, Option<StepIx>)> = vec![(0, None); plan.steps.len()];
    for ix in plan.step_ixs() {
        let step = plan.step(ix);
        let before = waits(plan, ix).map(|step| (best[step.at()].0, Some(step)));
        let (weight, from) = before.max_by_key(|(weight, _)| *weight).unwrap_or((0, None));
        best[ix.at()] = (weight + bound(step), from);
    }
    let last = plan.step_ixs().max_by_key(|ix| best[ix.at()].0);
    let total = last.map_or(0, |last| best[last.at()].0);
    let mut path: Vec<StepIx> = std::iter::successors(last, |ix| best[ix.at()].1).collect();
    path.reverse();
    (path, total)
}

/// A step's answer bound in tokens; 0 without a model.
#[must_use]
pub fn bound(step: &StepPlan) -> u64 {
    match &step.work {
        Work::Model { max_tokens, .. } => u64::from(*max_tokens),
        Work::Value => 0,
    }
}

/// The drawing: layer by layer, steps that can run at once joined at the left; `━` marks the critical path.
#[must_use]
pub fn lines(plan: &Plan, terminal: Terminal) -> Vec<String> {
    let layers = layers(plan);
    let (critical, _) = critical_path(plan);
    let name = plan.steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0).min(32);
    let work = plan.steps.iter().map(|step| work(plan, step).chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for layer in 0..=layers.iter().max().copied().unwrap_or(0) {
        let steps: Vec<StepIx> = plan.step_ixs().filter(|ix| layers[ix.at()] == layer).collect();
        if layer > 0 {
            lines.push(terminal.paint(Style::Dim, "  ▼").to_string());
        }
        for (at, ix) in steps.iter().enumerate() {
            let step = plan.step(*ix);
            let on_path = critical.contains(ix);
            let joint = match (at, steps.len()) {
                (_, 1) => "──",
                (0, _) => "┌─",
                (at, n) if at + 1 == n => "└─",
                _ => "├─",
            };
            let joint = if on_path { joint.replace('─', "━") } else { joint.to_owned() };
            let style = if on_path { Style::Bold } else { Style::Plain };
            let shown = terminal.paint(style, format!("{:name$}", clip(&step.name, name)));
            let role = step.role.as_str();
            let before = 2 + 2 + 1 + name + 2 + 9 + 2 + work + 2;
            let room = terminal.width.saturating_sub(before).max(20);
            let mut notes = wrap(&notes(plan, step), room).into_iter();
            let first = notes.next().unwrap_or_default();
            let line =
                format!("  {joint} {shown}  {role:9}  {:work$}  {first}", self::work(plan, step));
            lines.push(line.trim_end().to_owned());
            let beside = if at + 1 < steps.len() { "  │" } else { "" };
            lines.extend(notes.map(|more| format!("{beside:before$}{more}")));
        }
    }
    lines
}

fn work(plan: &Plan, step: &StepPlan) -> String {
    match &step.work {
        Work::Model { model, max_tokens, .. } => {
            format!("{} ≤ {max_tokens} tokens", plan.model(*model).name)
        }
        Work::Value => "computed".to_owned(),
    }
}

/// What a step waits for and what is special about it.
fn notes(plan: &Plan, step: &StepPlan) -> String {
    let mut notes = Vec::new();
    if let Some(judged) = step.validates {
        let back = plan.step(judged).revise.max(step.revise);
        let times = if back == 1 { "once".to_owned() } else { format!("{back} times") };
        let judged = &plan.step(judged).name;
        notes.push(if back == 0 {
            format!("judges {judged}")
        } else {
            format!("judges {judged}, may send it back {times}")
        });
    }
    let of = |kinds: &[NeedKind]| {
        let needs = step.needs.iter().filter(|need| kinds.contains(&need.kind));
        needs.map(|need| plan.step(need.step).name.as_str()).collect::<Vec<_>>().join(", ")
    };
    for (word, names) in [
        ("←", of(&[NeedKind::Output])),
        ("← if there:", of(&[NeedKind::Guarded])),
        ("after", of(&[NeedKind::Order])),
    ] {
        if !names.is_empty() {
            notes.push(format!("{word} {names}"));
        }
    }
    if let Some(each) = step.each {
        notes.push(format!("{} items at once, {} must succeed", each.max_parallel, each.min_ok));
    }
    if step.conditional {
        notes.push("conditional".to_owned());
    }
    if step.optional {
        notes.push("optional".to_owned());
    }
    if let Some(share) = step.cutoff_at {
        notes.push(format!("closed at {share}"));
    }
    notes.join("; ")
}
