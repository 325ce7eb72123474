//! Lines that are redrawn in place while something goes on. Where lines cannot be redrawn nothing is drawn.

use std::fmt::Write as _;
use std::time::Duration;

use super::output;
use super::summary::count;
use super::terminal::{Style, Terminal, clip};
use crate::domain::time::show;
use crate::trace::report::{AttemptReport, RunReport, StepReport};

/// Time between two drawings of something that has not changed but for its clock.
pub const BEAT: Duration = Duration::from_millis(120);

/// A block of lines on standard error.
#[derive(Debug)]
pub struct Block {
    terminal: Terminal,
    drawn: usize,
}

impl Block {
    /// A block that is not drawn yet.
    #[must_use]
    pub const fn new(terminal: Terminal) -> Self {
        Self { terminal, drawn: 0 }
    }

    /// Draws `lines` over what was drawn before; the last ones, where they are more than the terminal has.
    pub fn draw(&mut self, lines: &[String]) {
        if !self.terminal.live {
            return;
        }
        let room = self.terminal.height.saturating_sub(1).max(1);
        let lines = &lines[lines.len().saturating_sub(room)..];
        let mut text = self.back();
        for line in lines {
            let _ = write!(text, "{line}\u{1b}[K\r\n");
        }
        text.push_str("\u{1b}[J");
        self.drawn = lines.len();
        output::redraw(&text);
    }

    /// Takes the block away.
    pub fn clear(&mut self) {
        if self.drawn > 0 {
            let text = format!("{}\u{1b}[J", self.back());
            self.drawn = 0;
            output::redraw(&text);
        }
    }

    fn back(&self) -> String {
        if self.drawn == 0 { "\r".to_owned() } else { format!("\u{1b}[{}A\r", self.drawn) }
    }
}

/// One line a step: how it stands, for how long, on which path.
#[must_use]
pub fn steps(report: &RunReport, terminal: Terminal) -> Vec<String> {
    let names = report.steps.iter().map(|step| step.step.chars().count());
    let width = names.max().unwrap_or(0).clamp(6, 24);
    let mut lines = Vec::new();
    let mut left = report.steps.as_slice();
    while let Some(first) = left.first() {
        let items = left.iter().take_while(|step| step.step == first.step).count();
        let (these, rest) = left.split_at(items);
        lines.push(line(report, these, width, terminal));
        left = rest;
    }
    let bound = show(Duration::from_millis(report.deadline_ms));
    let at = show(Duration::from_millis(report.elapsed_ms));
    lines.push(terminal.paint(Style::Dim, format!("  {at} of {bound}")).to_string());
    lines
}

/// The line of one step, of all its items where it has several.
fn line(report: &RunReport, items: &[StepReport], width: usize, terminal: Terminal) -> String {
    let ended = |step: &&StepReport| !matches!(step.status.as_str(), "waiting" | "running");
    let done = items.iter().filter(ended).count();
    let status = match items {
        [one] => one.status.as_str(),
        _ if done == items.len() => "ok",
        _ => "running",
    };
    let (mark, style) = match status {
        "waiting" => ("·", Style::Dim),
        "running" => ("▸", Style::Bold),
        "ok" | "reused" => ("✓", Style::Good),
        "skipped" => ("–", Style::Dim),
        "cut" | "cancelled" => ("–", Style::Odd),
        _ => ("✗", Style::Bad),
    };
    let name = items.first().map_or("", |step| step.step.as_str());
    let name = clip(name, width);
    let started = items.iter().filter_map(|step| step.started_ms).min();
    let until = if done == items.len() {
        items.iter().filter_map(|step| step.ended_ms).max()
    } else {
        Some(report.elapsed_ms)
    };
    let took =
        started.zip(until).map(|(from, to)| show(Duration::from_millis(to.saturating_sub(from))));
    let mut told = match items {
        [one] => doing(one),
        _ => format!("{done} of {} items", items.len()),
    };
    if !matches!(status, "waiting" | "running" | "ok") {
        told = format!("{status} {told}");
    }
    let told = clip(&told, terminal.width.saturating_sub(width + 14));
    let text = format!("{mark} {name:width$} {:>8}  {told}", took.unwrap_or_default());
    terminal.paint(style, text.trim_end()).to_string()
}

/// What a step is at, or what it came to.
fn doing(step: &StepReport) -> String {
    let running: Vec<&AttemptReport> =
        step.attempts.iter().filter(|attempt| attempt.end.is_empty()).collect();
    if !running.is_empty() {
        let on = |a: &&AttemptReport| {
            if a.cause == "primary" { a.path.clone() } else { format!("{} ({})", a.path, a.cause) }
        };
        return running.iter().map(on).collect::<Vec<_>>().join(" and ");
    }
    let accepted = step.attempts.iter().find(|attempt| attempt.end == "accepted");
    let path = accepted.map(|attempt| attempt.path.clone()).unwrap_or_default();
    match step.attempts.len() {
        0 | 1 => path,
        n => format!("{path}, {}", count(n, "attempt")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(path: &str, cause: &str, end: &str) -> AttemptReport {
        AttemptReport {
            path: path.to_owned(),
            cause: cause.to_owned(),
            end: end.to_owned(),
            ..AttemptReport::default()
        }
    }

    fn step(
        name: &str,
        item: Option<u32>,
        status: &str,
        attempts: Vec<AttemptReport>,
    ) -> StepReport {
        StepReport {
            step: name.to_owned(),
            item,
            status: status.to_owned(),
            started_ms: (status != "waiting").then_some(100),
            ended_ms: (status == "ok").then_some(2_200),
            attempts,
            ..StepReport::default()
        }
    }

    #[test]
    fn each_step_has_one_line_and_its_items_are_counted() {
        let racing = vec![attempt("a/x", "primary", ""), attempt("b/y", "hedge", "")];
        let repaired =
            vec![attempt("a/x", "primary", "failed"), attempt("a/x", "repair", "accepted")];
        let report = RunReport {
            elapsed_ms: 3_000,
            deadline_ms: 20_000,
            steps: vec![
                step("classify", None, "ok", repaired),
                step("answer", Some(0), "ok", vec![attempt("a/x", "primary", "accepted")]),
                step("answer", Some(1), "running", racing.clone()),
                step("draft", None, "running", racing),
                step("review", None, "waiting", Vec::new()),
            ],
            ..RunReport::default()
        };
        let lines = steps(&report, Terminal::plain(100));
        assert_eq!(
            lines.join("\n"),
            "✓ classify    2.1 s  a/x, 2 attempts\n\
             ▸ answer      2.9 s  1 of 2 items\n\
             ▸ draft       2.9 s  a/x and b/y (hedge)\n\
             · review\n  3 s of 20 s"
        );
    }
}
