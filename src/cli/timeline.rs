//! A run's attempts as bars over time, from its report alone: for `trace`, and redrawn while a run goes on.

use std::time::Duration;

use super::terminal::{Style, Terminal, clip};
use crate::domain::time::show;
use crate::trace::report::{AttemptReport, RunReport, StepReport};

/// Waiting for a slot.
const QUEUED: char = '·';
/// Sent, and no token yet.
const SILENT: char = '░';
/// Tokens come.
const ANSWERING: char = '█';
/// The moment from which the step no longer relied on the attempt.
const CUTOFF: char = '┃';

/// Columns of the cause.
const CAUSE: usize = 8;
/// Columns of the end and its time.
const END: usize = 28;
/// Fewest and most columns of a step's name.
const NAME: (usize, usize) = (6, 20);
/// Fewest and most columns of a path.
const PATH: (usize, usize) = (12, 26);

/// What the signs mean.
pub const LEGEND: &str =
    "· queued   ░ waiting for the first token   █ answering   ┃ cutoff: no longer relied on";

/// A drawing of a report.
#[derive(Clone, Copy, Debug)]
pub struct Timeline<'a> {
    report: &'a RunReport,
    terminal: Terminal,
    /// What the right edge stands for, in milliseconds.
    scale: u64,
    name: usize,
    path: usize,
    bar: usize,
}

impl<'a> Timeline<'a> {
    /// A drawing whose right edge is the run's end.
    #[must_use]
    pub fn of_ended(report: &'a RunReport, terminal: Terminal) -> Self {
        Self::new(report, terminal, report.elapsed_ms.max(1))
    }

    /// A drawing whose right edge moves rarely, for a run under way.
    #[must_use]
    pub fn of_running(report: &'a RunReport, terminal: Terminal) -> Self {
        let step = (report.deadline_ms / 4).max(1);
        Self::new(report, terminal, (report.elapsed_ms / step + 1) * step)
    }

    fn new(report: &'a RunReport, terminal: Terminal, scale: u64) -> Self {
        let steps = || report.steps.iter();
        let name = steps().map(|s| label(s).chars().count()).max().unwrap_or(0);
        let paths = steps().flat_map(|s| &s.attempts).map(|a| a.path.chars().count());
        let name = name.clamp(NAME.0, NAME.1);
        let path = paths.max().unwrap_or(0).clamp(PATH.0, PATH.1);
        let rest = name + 1 + path + 1 + CAUSE + 1 + 1 + END;
        let bar = terminal.width.saturating_sub(rest).max(10);
        Self { report, terminal, scale, name, path, bar }
    }

    /// The drawing, at most `most` lines, the last of which says how many are missing.
    #[must_use]
    pub fn lines(&self, most: usize) -> Vec<String> {
        let mut lines = vec![self.axis()];
        let mut left = self.report.steps.as_slice();
        while let Some((step, rest)) = left.split_first() {
            let rows = self.step(step);
            if lines.len() + rows.len() >= most
                && !(rest.is_empty() && lines.len() + rows.len() <= most)
            {
                lines.push(format!("… and {} more; --json has them all", left.len()));
                break;
            }
            lines.extend(rows);
            left = rest;
        }
        lines
    }

    fn axis(&self) -> String {
        let end = show(Duration::from_millis(self.scale));
        let gap = self.bar.saturating_sub("0 s".len() + end.chars().count());
        let before = self.name + 1 + self.path + 1 + CAUSE + 1;
        let text = format!("{:before$}0 s{:gap$}{end}", "", "");
        self.terminal.paint(Style::Dim, text).to_string()
    }

    fn step(&self, step: &StepReport) -> Vec<String> {
        let width = self.name;
        let label = clip(&label(step), width);
        let status = status_style(&step.status);
        let name = self.terminal.paint(status, format!("{label:width$}"));
        if step.attempts.is_empty() {
            let blank = self.path + 1 + CAUSE + 1 + self.bar + 1;
            let why = step.failure.as_ref().map_or("", |failure| failure.message.as_str());
            let why = clip(why, blank - 1);
            let said = self.terminal.paint(status, &step.status);
            return vec![format!("{name} {why:blank$}{said}")];
        }
        let mut rows: Vec<String> = Vec::with_capacity(step.attempts.len() + 1);
        for (at, attempt) in step.attempts.iter().enumerate() {
            let row = self.attempt(step, attempt);
            rows.push(if at == 0 {
                format!("{name} {row}")
            } else {
                format!("{:width$} {row}", "")
            });
        }
        if !matches!(step.status.as_str(), "ok" | "running" | "waiting") {
            let blank = self.path + 1 + CAUSE + 1 + self.bar + 1;
            let said = self.terminal.paint(status, format!("= step {}", step.status));
            rows.push(format!("{:width$} {:blank$}{said}", "", ""));
        }
        rows
    }

    fn attempt(&self, step: &StepReport, attempt: &AttemptReport) -> String {
        let (path, cause) = (self.path, CAUSE);
        let style = end_style(&attempt.end);
        let shown_path = clip(&attempt.path, path);
        let bar = self.terminal.paint(style, self.bar(step, attempt));
        let until = attempt.ended_ms.unwrap_or(self.report.elapsed_ms);
        let took = show(Duration::from_millis(until.saturating_sub(attempt.started_ms)));
        let end = clip(&ending(attempt), END - 8);
        let end = self.terminal.paint(style, format!("{end:<w$}", w = END - 8));
        format!("{shown_path:path$} {:cause$} {bar} {end}{took:>8}", clip(&attempt.cause, cause))
    }

    fn bar(&self, step: &StepReport, attempt: &AttemptReport) -> String {
        let ended = attempt.ended_ms.unwrap_or(self.report.elapsed_ms);
        // An attempt that was never sent reports its launch as its start.
        let unsent = attempt.queued_ms > 0 && attempt.started_ms + attempt.queued_ms >= ended;
        let (launched, sent) = if unsent {
            (attempt.started_ms, None)
        } else {
            (attempt.started_ms.saturating_sub(attempt.queued_ms), Some(attempt.started_ms))
        };
        let last = self.cell(ended).max(self.cell(launched));
        let cut = self.cut_at(step, attempt).map(|at| self.cell(at));
        let first = attempt.first_token_ms.map(|at| self.cell(at));
        let cells = (0..self.bar).map(|cell| {
            if cell < self.cell(launched) || cell > last {
                ' '
            } else if cut == Some(cell) {
                CUTOFF
            } else if sent.is_none_or(|sent| cell < self.cell(sent)) {
                QUEUED
            } else if first.is_some_and(|first| cell >= first) {
                ANSWERING
            } else {
                SILENT
            }
        });
        cells.collect()
    }

    fn cell(&self, at: u64) -> usize {
        let cells = self.bar as u64;
        let cell = at.min(self.scale) * cells / self.scale;
        usize::try_from(cell.min(cells - 1)).unwrap_or(0)
    }

    /// When the step stopped relying on the attempt while it went on.
    fn cut_at(&self, step: &StepReport, attempt: &AttemptReport) -> Option<u64> {
        let needle = format!(" on {} ", attempt.path);
        let ended = attempt.ended_ms.unwrap_or(u64::MAX);
        self.report.decisions.iter().find_map(|decision| {
            let mine = decision.action == "cut"
                && decision.step.as_deref() == Some(step.step.as_str())
                && decision.item == step.item
                && (attempt.started_ms..=ended).contains(&decision.at_ms)
                && decision.reason.contains(&needle);
            mine.then_some(decision.at_ms)
        })
    }
}

/// `answer`, or `answer[3]` for an item.
#[must_use]
pub fn label(step: &StepReport) -> String {
    step.item.map_or_else(|| step.step.clone(), |item| format!("{}[{item}]", step.step))
}

fn ending(attempt: &AttemptReport) -> String {
    let class = attempt.failure.as_ref().map_or("failed", |failure| failure.class.as_str());
    match attempt.end.as_str() {
        "" => "… running".to_owned(),
        "accepted" => "✓ accepted".to_owned(),
        "failed" => format!("✗ {class}"),
        other => format!("– {other}"),
    }
}

fn end_style(end: &str) -> Style {
    match end {
        "accepted" => Style::Good,
        "failed" => Style::Bad,
        "" => Style::Plain,
        _ => Style::Dim,
    }
}

fn status_style(status: &str) -> Style {
    match status {
        "ok" | "reused" => Style::Good,
        "failed" | "timed_out" => Style::Bad,
        "cut" | "cancelled" => Style::Odd,
        "running" => Style::Bold,
        _ => Style::Dim,
    }
}

#[cfg(test)]
mod tests;
