//! Why a case failed, in lines for people: expected against got, and what the attempts of the steps behind it
//! came to.

use std::time::Duration;

use serde_json::Value;

use crate::cli::terminal::{Style, Terminal, clip, wrap};
use crate::domain::time::show;
use crate::trace::report::{AttemptReport, RunReport, StepReport};
use crate::world::case::Difference;

/// Most steps and items whose attempts are shown.
const STEPS: usize = 4;
/// Most attempts of one of them.
const ATTEMPTS: usize = 8;
/// Columns that the line of a case takes before these.
const INDENT: usize = 9;
/// Characters before the first difference of two long texts.
const BEFORE: usize = 20;

/// The differences, then the steps behind them.
#[must_use]
pub fn lines(differences: &[Difference], report: &RunReport, terminal: Terminal) -> Vec<String> {
    let width = terminal.width.saturating_sub(INDENT).max(40);
    let mut lines = Vec::new();
    for found in differences {
        lines.extend(one(found, width, terminal));
    }
    let behind = report.steps.iter().filter(|step| is_behind(step, differences, report));
    let mut behind: Vec<&StepReport> = behind.collect();
    // What failed tells more than what came through.
    behind.sort_by_key(|step| matches!(step.status.as_str(), "ok" | "skipped"));
    for step in behind.iter().take(STEPS) {
        lines.extend(attempts(step, width));
    }
    if behind.len() > STEPS {
        lines.push(format!("… and {} more steps and items", behind.len() - STEPS));
    }
    lines
}

fn one(found: &Difference, width: usize, terminal: Terminal) -> Vec<String> {
    let mut lines = Vec::new();
    if let (true, Some(check)) = (found.pointer.starts_with("/check/"), &found.note) {
        let got = found.got.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        lines.push(found.pointer.clone());
        lines.push(format!("  {}", clip(check, width - 2)));
        let text = format!("  is {}", clip(&got, width - 6));
        lines.push(terminal.paint(Style::Bad, text).to_string());
        return lines;
    }
    lines.push(found.pointer.clone());
    if found.pointer == "/failure/message" {
        // Which words are other is seen in whole sentences alone.
        for (label, side, style) in
            [("expected", &found.expected, Style::Good), ("got", &found.got, Style::Bad)]
        {
            let text = side.as_ref().and_then(Value::as_str).unwrap_or("nothing");
            let head = format!("  {label:<9}");
            for (at, line) in wrap(text, width.saturating_sub(11)).into_iter().enumerate() {
                let before = if at == 0 { head.as_str() } else { "           " };
                lines.push(terminal.paint(style, format!("{before}{line}")).to_string());
            }
        }
    } else if found.expected.is_some() || found.got.is_some() {
        let (expected, got) = texts(found, width.saturating_sub(11));
        lines.push(terminal.paint(Style::Good, format!("  expected {expected}")).to_string());
        lines.push(terminal.paint(Style::Bad, format!("  got      {got}")).to_string());
    }
    if let Some(note) = &found.note {
        lines.extend(wrap(note, width - 2).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// Both sides, as JSON; of long texts the part around their first difference.
fn texts(found: &Difference, width: usize) -> (String, String) {
    let shown = |value: &Option<Value>| {
        value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string)
    };
    let (expected, got) = (shown(&found.expected), shown(&found.got));
    let long = expected.chars().count() > width || got.chars().count() > width;
    if found.expected.is_none() || found.got.is_none() || !long {
        return (clip(&expected, width), clip(&got, width));
    }
    let alike = expected.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    let skip = if alike > BEFORE * 2 { alike - BEFORE } else { 0 };
    let from = |text: &str| {
        let rest: String = text.chars().skip(skip).collect();
        if skip > 0 { clip(&format!("…{rest}"), width) } else { clip(&rest, width) }
    };
    (from(&expected), from(&got))
}

/// Whether a step's course may tell why the case failed.
fn is_behind(step: &StepReport, differences: &[Difference], report: &RunReport) -> bool {
    if step.attempts.is_empty() {
        return false;
    }
    let failed = report.failure.as_ref().is_some_and(|f| f.step.as_ref() == Some(&step.step));
    let prefix = format!("/steps/{}", step.step);
    let named = differences.iter().any(|found| {
        found.pointer.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with(['/', '[']))
    });
    let bad = !matches!(step.status.as_str(), "ok" | "skipped");
    let stumbled = step.attempts.iter().any(|attempt| attempt.failure.is_some());
    failed || named || bad || stumbled
}

/// `step 'reply': ok after 2 attempts`, and a line for each of them.
fn attempts(step: &StepReport, width: usize) -> Vec<String> {
    let item = step.item.map(|item| format!("[{item}]")).unwrap_or_default();
    let made = step.attempts.len();
    let times = if made == 1 { "1 attempt".to_owned() } else { format!("{made} attempts") };
    let mut lines = vec![format!("step '{}{item}': {} after {times}", step.step, step.status)];
    for attempt in step.attempts.iter().take(ATTEMPTS) {
        let text =
            format!("  {} {} on {}: {}", attempt.n, attempt.cause, attempt.path, end(attempt));
        let mut text = wrap(&text, width.saturating_sub(4)).into_iter();
        lines.extend(text.next().map(|line| format!("  {line}")));
        lines.extend(text.map(|line| format!("      {line}")));
    }
    if made > ATTEMPTS {
        lines.push(format!("  … and {} more", made - ATTEMPTS));
    }
    lines
}

fn end(attempt: &AttemptReport) -> String {
    let took = attempt.ended_ms.map(|end| end.saturating_sub(attempt.started_ms));
    let took = took.map(|ms| format!(" after {}", show(Duration::from_millis(ms))));
    let why = attempt.failure.as_ref().map(|failure| {
        let message = if failure.message.is_empty() {
            String::new()
        } else {
            format!(", {}", failure.message)
        };
        format!(": {}{message}", failure.class)
    });
    format!("{}{}{}", attempt.end, took.unwrap_or_default(), why.unwrap_or_default())
}
