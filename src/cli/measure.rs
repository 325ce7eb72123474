//! What is measured of a workflow's times, step by step and path by path, and the cutoffs that follow from it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::table::Table;
use super::terminal::{Style, Terminal, wrap};
use crate::domain::plan::Plan;
use crate::domain::time::show;
use crate::engine::foretold::{Foretold, foretell};
use crate::planner::{Quantiles, SharedPilot, Times};
use crate::policy::cutoff::Limits;
use crate::policy::cutoff::measured::{SAMPLES_MIN, seconds};
use crate::workflow::Workflow;

/// The times and cutoffs as two tables.
#[must_use]
pub fn lines(plan: &Arc<Plan>, pilot: &SharedPilot, terminal: Terminal) -> Vec<String> {
    let all = foretell(plan, pilot);
    let mut times = Table::new([
        "step",
        "path",
        "attempts",
        "first token p50, p95",
        "tokens/s",
        "in all p50, p95, p99",
    ]);
    for of in &all {
        let Some(known) = pilot.times(of.step, of.path) else { continue };
        let style = if is_measured(known) { Style::Plain } else { Style::Dim };
        let cells = [
            plan.step(of.step).name.clone(),
            plan.path(of.path).label.clone(),
            format!("{:.0}", known.samples),
            spans(&[known.first_token.p50, known.first_token.p95]),
            format!("{:.0}", known.rate),
            spans(&[known.total.p50, known.total.p95, known.total.p99]),
        ];
        times.row(cells.map(|cell| (style, cell)).into());
    }
    let mut text = times.lines(terminal, 2);
    text.push(String::new());
    text.extend(cutoffs(plan, pilot, &all, terminal));
    text
}

/// When each step stops relying on an attempt, and why.
#[must_use]
pub fn cutoffs(
    plan: &Plan,
    pilot: &SharedPilot,
    all: &[Foretold],
    terminal: Terminal,
) -> Vec<String> {
    let mut table = Table::new(["step", "path", "no first token", "stalled", "in all", "why"]);
    let mut cold = false;
    for of in all {
        let known = pilot.times(of.step, of.path);
        cold |= of.limits.automatic && of.limits.measured.is_none();
        let time = |limit: Option<Duration>| limit.map_or_else(|| "–".to_owned(), show);
        let cells = [
            plan.step(of.step).name.clone(),
            plan.path(of.path).label.clone(),
            time(of.limits.first_token),
            time(of.limits.idle),
            time(of.limits.total),
            why(&of.limits, known),
        ];
        table.row(cells.map(|cell| (Style::Plain, cell)).into());
    }
    let mut text = table.lines(terminal, 2);
    let mut say = |line: &str| {
        text.extend(wrap(line, terminal.width - 2).into_iter().map(|line| format!("  {line}")));
    };
    say(
        "For a run in which every step takes its usual time. Measured: a percentile times factors for the steps that \
         depend on it, what is paid by then and the time left, never past the step's share of that.",
    );
    if cold {
        say(&format!(
            "Cold: fewer than {SAMPLES_MIN:.0} attempts were measured there; only a missing first token and a stall cut."
        ));
    }
    if pilot.shock > 1.05 {
        say(&format!(
            "Of late everything takes {:.1} times as long as in the weeks before.",
            pilot.shock
        ));
    }
    text
}

fn is_measured(times: &Times) -> bool {
    times.samples >= SAMPLES_MIN
}

/// What the cutoff of the signal is made of: of the one that goes by P95; the other one is a guard.
fn why(limits: &Limits, known: Option<&Times>) -> String {
    let samples = known.map_or(0.0, |times| times.samples);
    match limits.measured {
        _ if !limits.automatic => "as written".to_owned(),
        None => format!("cold, {samples:.0} of {SAMPLES_MIN:.0} attempts"),
        Some(bases) if bases.first_token.percent == 95 => {
            format!("first token: {}", bases.first_token)
        }
        Some(bases) => format!("in all: {}", bases.total),
    }
}

fn spans(times: &[f64]) -> String {
    times.iter().map(|time| show(seconds(*time))).collect::<Vec<_>>().join(", ")
}

/// The same for programs.
#[must_use]
pub fn record(workflow: &Workflow, pilot: &SharedPilot) -> Value {
    let plan = &workflow.plan;
    json!({ "workflow": workflow.name, "shock": pilot.shock, "measured": rows(plan, pilot) })
}

/// Step by step and path by path.
#[must_use]
pub fn rows(plan: &Arc<Plan>, pilot: &SharedPilot) -> Vec<Value> {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let points = |of: &Quantiles| json!({ "p50": of.p50, "p95": of.p95, "p99": of.p99 });
    let row = |of: &Foretold| {
        let known = pilot.times(of.step, of.path);
        json!({
            "step": plan.step(of.step).name,
            "path": plan.path(of.path).label,
            "attempts": known.map(|times| times.samples),
            "first_token_s": known.map(|times| points(&times.first_token)),
            "tokens_per_s": known.map(|times| times.rate),
            "total_s": known.map(|times| points(&times.total)),
            "cutoff": {
                "first_token_ms": of.limits.first_token.map(millis),
                "idle_ms": of.limits.idle.map(millis),
                "total_ms": of.limits.total.map(millis),
                "why": why(&of.limits, known),
            },
        })
    };
    foretell(plan, pilot).iter().map(row).collect()
}
