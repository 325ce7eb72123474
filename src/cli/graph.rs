//! A plan as a drawn graph: its steps in layers, each below everything it waits for, and in the margin the way back
//! from a validator to what it judges.

use super::terminal::{Style, Terminal, clip, wrap};
use crate::domain::id::StepIx;
use crate::domain::plan::{NeedKind, Plan, StepPlan, Work};
use crate::workflow::Workflow;

/// Most ways back that are drawn beside each other; more are told in words alone.
const LANES: usize = 4;
/// Longest name that is drawn in full.
const NAME: usize = 24;
/// How far what is told of a step stands in, where it stands below it.
const INDENT: usize = 6;

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
        // Of equal chains the one that the run cannot do without.
        let heaviest = before.max_by_key(|(weight, from)| {
            (*weight, from.is_some_and(|from| !plan.step(from).optional))
        });
        let (weight, from) = heaviest.unwrap_or((0, None));
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

/// How often a step's validator may send it back; 0 where it has none.
#[must_use]
pub fn revisions(plan: &Plan, judge: StepIx) -> u32 {
    let step = plan.step(judge);
    step.validates.map_or(0, |judged| plan.step(judged).revise.max(step.revise))
}

/// What does a step's work: `balanced ≤ 1000 tokens`.
#[must_use]
pub fn work(plan: &Plan, step: &StepPlan) -> String {
    match &step.work {
        Work::Model { model, max_tokens, .. } => {
            format!("{} ≤ {max_tokens} tokens", plan.model(*model).name)
        }
        Work::Value => "computed".to_owned(),
    }
}

/// A step's part: of a model, or of a validator. What is computed in between has none.
#[must_use]
pub fn role(step: &StepPlan) -> Option<&'static str> {
    let asks = matches!(step.work, Work::Model { .. });
    (asks || step.validates.is_some()).then(|| step.role.as_str())
}

/// A line of the drawing.
struct Row {
    /// The step that is drawn here.
    step: Option<StepIx>,
    text: String,
}

/// The drawing: layer by layer, steps that can run at once joined at the left; `━` marks the critical path, `◀` and
/// `▶` in the margin a validator's way back.
#[must_use]
pub fn lines(workflow: &Workflow, terminal: Terminal) -> Vec<String> {
    let plan = &workflow.plan;
    let layers = layers(plan);
    let back = ways_back(plan);
    let margin = if back.is_empty() { 2 } else { back.len().min(LANES) + 3 };
    let name = plan.steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0).min(NAME);
    let columns = Columns {
        critical: critical_path(plan).0,
        name,
        work: plan.steps.iter().map(|s| work(plan, s).chars().count()).max().unwrap_or(0),
        width: terminal.width.saturating_sub(margin),
    };
    let mut rows = Vec::new();
    for layer in 0..=layers.iter().max().copied().unwrap_or(0) {
        let steps: Vec<StepIx> = plan.step_ixs().filter(|ix| layers[ix.at()] == layer).collect();
        if layer > 0 {
            rows.push(Row { step: None, text: terminal.paint(Style::Dim, "▼").to_string() });
        }
        for (at, ix) in steps.iter().enumerate() {
            columns.draw(workflow, *ix, (at, steps.len()), terminal, &mut rows);
        }
    }
    let margins = margins(&rows, &back, margin);
    let drawn = rows.iter().zip(margins).map(|(row, margin)| {
        let line = format!("{}{}", terminal.paint(Style::Dim, margin), row.text);
        line.trim_end().to_owned()
    });
    drawn.collect()
}

/// How wide the parts of a step's line are.
struct Columns {
    critical: Vec<StepIx>,
    name: usize,
    work: usize,
    /// Of the whole, without the margin.
    width: usize,
}

impl Columns {
    /// A step: its line, and what is told of it beside it where there is room, else below.
    fn draw(
        &self,
        workflow: &Workflow,
        ix: StepIx,
        (at, of): (usize, usize),
        terminal: Terminal,
        rows: &mut Vec<Row>,
    ) {
        let plan = &workflow.plan;
        let step = plan.step(ix);
        let on_path = self.critical.contains(&ix);
        let joint = match (at, of) {
            (_, 1) => "──",
            (0, _) => "┌─",
            (at, n) if at + 1 == n => "└─",
            _ => "├─",
        };
        let joint = if on_path { joint.replace('─', "━") } else { joint.to_owned() };
        let style = if on_path { Style::Bold } else { Style::Plain };
        let (name, work) = (self.name, self.work);
        let shown = terminal.paint(style, format!("{:name$}", clip(&step.name, name)));
        let role = role(step).unwrap_or_default();
        let line = format!("{joint} {shown}  {role:9}  {:work$}", self::work(plan, step));
        let before = 3 + name + 2 + 9 + 2 + work + 2;
        let notes = notes(workflow, ix);
        if before + notes.chars().count() <= self.width {
            rows.push(Row { step: Some(ix), text: format!("{line}  {notes}") });
            return;
        }
        rows.push(Row { step: Some(ix), text: line });
        let beside = if at + 1 < of { "│" } else { " " };
        for note in wrap(&notes, self.width.saturating_sub(INDENT)) {
            let note = terminal.paint(Style::Dim, note);
            rows.push(Row { step: None, text: format!("{beside:INDENT$}{note}") });
        }
    }
}

/// Judges and what they may send back, shortest way first.
fn ways_back(plan: &Plan) -> Vec<(StepIx, StepIx)> {
    let judges = plan.step_ixs().filter(|judge| revisions(plan, *judge) > 0);
    let mut ways: Vec<(StepIx, StepIx)> =
        judges.filter_map(|judge| Some((plan.step(judge).validates?, judge))).collect();
    ways.sort_by_key(|(judged, judge)| judge.0.abs_diff(judged.0));
    ways
}

/// The margin of each row: one lane for each way back, the shortest next to the graph.
fn margins(rows: &[Row], ways: &[(StepIx, StepIx)], width: usize) -> Vec<String> {
    let mut margins = vec![vec![' '; width]; rows.len()];
    let place = |ix: StepIx| rows.iter().position(|row| row.step == Some(ix));
    for (at, (judged, judge)) in ways.iter().take(LANES).enumerate() {
        let (Some(from), Some(to)) = (place(*judged), place(*judge)) else { continue };
        let lane = width.saturating_sub(3 + at);
        for (row, line) in margins.iter_mut().enumerate().take(to + 1).skip(from) {
            let corner = if row == from { '┌' } else { '└' };
            if row != from && row != to {
                line[lane] = crossed(line[lane], '│');
                continue;
            }
            line[lane] = corner;
            for cell in &mut line[lane + 1..width - 1] {
                *cell = crossed(*cell, '─');
            }
            line[width - 2] = if row == from { '▶' } else { '─' };
        }
    }
    margins.into_iter().map(|line| line.into_iter().collect()).collect()
}

const fn crossed(there: char, stroke: char) -> char {
    match (there, stroke) {
        ('─', '│') | ('│', '─') => '┼',
        _ => stroke,
    }
}

/// What a step waits for and what is special about it.
fn notes(workflow: &Workflow, ix: StepIx) -> String {
    let plan = &workflow.plan;
    let step = plan.step(ix);
    let mut notes = Vec::new();
    if let Some(judged) = step.validates {
        let judged = &plan.step(judged).name;
        notes.push(match revisions(plan, ix) {
            0 => format!("judges {judged}"),
            times => format!("judges {judged}, may send it back {}", often(times)),
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
    let content = workflow.steps.get(ix.at());
    if let Some(each) = step.each {
        if let Some(list) = content.and_then(|content| content.each.as_ref()) {
            notes.push(format!("for each {} of {}", list.item, list.list.source().trim()));
        }
        if let Some(when) = content.and_then(|content| content.each.as_ref()?.when.as_ref()) {
            notes.push(format!("where {}", when.source().trim()));
        }
        let at_once = match step.work {
            Work::Model { .. } => format!("{} at once, ", each.max_parallel),
            Work::Value => String::new(),
        };
        notes.push(format!("{at_once}{} must succeed", each.min_ok));
    }
    match content.and_then(|content| content.when.as_ref()) {
        Some(when) => notes.push(format!("when {}", when.source().trim())),
        None if step.conditional => notes.push("conditional".to_owned()),
        None => {}
    }
    if step.optional {
        notes.push("optional".to_owned());
    }
    if let Some(share) = step.cutoff_at {
        notes.push(format!("closed at {share}"));
    }
    notes.join("; ")
}

/// `once`, `3 times`.
#[must_use]
pub fn often(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

#[cfg(test)]
mod tests;
