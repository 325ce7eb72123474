//! `punctual trace`: one run as a timeline, and its decisions in words.

use clap::Args;

use super::conversation;
use super::exit::Exit;
use super::output;
use super::place::{State, shown};
use super::runs::{homeless, outcome_style};
use super::summary;
use super::terminal::{Style, Terminal, wrap};
use super::timeline::{LEGEND, Timeline};
use crate::trace::report::{DecisionReport, RunReport};

/// Most lines of the timeline, and of the decisions.
const LINES_MAX: usize = 200;

const EXAMPLES: &str = "\
Examples:
  punctual trace last                  the latest run
  punctual trace run_5f3a              a run by the beginning of its id; 5f3a does, too
  punctual trace last --json           the whole report, for programs
  punctual trace last --content        and what models were sent and said, of a run with --keep-content

How to read it: each row is an attempt, from its launch to its end. A cutoff does not kill: from
there on the step no longer relies on the attempt and another one races it; the first valid answer
wins.";

/// Shows what happened in a run and why, as a timeline
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Trace {
    /// A run's id, the beginning of one, or 'last'
    #[arg(value_name = "RUN")]
    run: String,
    /// The whole report, as JSON
    #[arg(long)]
    json: bool,
    /// Also what each model was sent and said, where the run has kept it
    #[arg(long)]
    content: bool,
    #[command(flatten)]
    state: State,
}

impl Trace {
    /// Runs the command.
    pub fn run(self) -> Exit {
        let Some(store) = self.state.store() else { return homeless() };
        let reports = store.latest(usize::MAX).reports;
        if reports.is_empty() {
            return output::refuse(
                Exit::Usage,
                format_args!("no run is kept in {}", shown(&store.file())),
            );
        }
        let report = match find(&reports, &self.run) {
            Ok(report) => report,
            Err(error) => return output::refuse(Exit::Usage, error),
        };
        if self.json {
            output::json(report);
        } else {
            let mut lines = drawn(report, output::screen());
            if self.content {
                lines.extend(conversation::of(report, output::screen()));
            }
            output::result(lines.join("\n"));
        }
        Exit::Done
    }
}

/// The run of that id, or whose id begins so; `last` is the latest.
///
/// # Errors
/// There is none, or several; in words.
pub fn find<'a>(reports: &'a [RunReport], name: &str) -> Result<&'a RunReport, String> {
    if name == "last" {
        return reports.last().ok_or_else(|| "no run is kept".to_owned());
    }
    let begins = |report: &&RunReport| {
        let id = report.run_id.as_str();
        id.starts_with(name) || id.trim_start_matches("run_").starts_with(name)
    };
    let mut found = reports.iter().rev().filter(begins);
    match (found.next(), found.next()) {
        (Some(one), Some(other)) if one.run_id != other.run_id => Err(format!(
            "'{name}' is the beginning of several runs, such as {} and {}: give more of it",
            one.run_id, other.run_id
        )),
        (Some(report), _) => Ok(report),
        (None, _) => Err(format!(
            "there is no run '{name}' among the {} kept; 'punctual runs' lists the latest",
            reports.len()
        )),
    }
}

/// The whole drawing.
#[must_use]
pub fn drawn(report: &RunReport, terminal: Terminal) -> Vec<String> {
    let name = terminal.paint(Style::Bold, &report.workflow);
    let ended = terminal.paint(outcome_style(&report.outcome), summary::ending(report));
    let mut lines = vec![
        format!("{name} {ended}"),
        format!("{} · {}", report.run_id, report.started_at),
        summary::spent(report),
    ];
    lines.extend(summary::caveats(report, terminal));
    if let Some(failure) = &report.failure {
        lines.push(String::new());
        lines.extend(summary::failure(report, failure, terminal));
    }
    lines.push(String::new());
    lines.extend(Timeline::of_ended(report, terminal).lines(LINES_MAX));
    lines.push(terminal.paint(Style::Dim, LEGEND).to_string());
    lines.push(String::new());
    lines.push(terminal.paint(Style::Bold, "Decisions").to_string());
    lines.extend(decisions(report, terminal));
    lines
}

/// Each decision with its time and reason.
fn decisions(report: &RunReport, terminal: Terminal) -> Vec<String> {
    let of = |decision: &DecisionReport| match (&decision.step, decision.item) {
        (Some(step), Some(item)) => format!("{step}[{item}]"),
        (Some(step), None) => step.clone(),
        (None, _) => String::new(),
    };
    let shown = || report.decisions.iter().take(LINES_MAX);
    let width = shown().map(|d| of(d).chars().count()).max().unwrap_or(0).clamp(4, 24);
    let action = shown().map(|d| d.action.chars().count()).max().unwrap_or(0);
    let before = 12 + width + 2 + action + 2;
    let mut lines = Vec::new();
    for decision in shown() {
        let at = seconds(decision.at_ms);
        let verb =
            terminal.paint(action_style(&decision.action), format!("{:action$}", decision.action));
        let mut reason =
            wrap(&summary::few(&decision.reason), terminal.width.saturating_sub(before))
                .into_iter();
        let first = reason.next().unwrap_or_default();
        lines.push(format!("{at:>10}  {:width$}  {verb}  {first}", of(decision)));
        lines.extend(reason.map(|more| format!("{:before$}{more}", "")));
    }
    let more = report.decisions.len().saturating_sub(LINES_MAX);
    if more > 0 {
        lines.push(format!("… and {more} more; --json has them all"));
    }
    lines
}

/// `12.34 s`: one unit throughout, so that a column of times can be compared.
#[must_use]
pub fn seconds(ms: u64) -> String {
    format!("{}.{:02} s", ms / 1000, ms % 1000 / 10)
}

fn action_style(action: &str) -> Style {
    match action {
        "cut" | "close" | "revise" => Style::Odd,
        "fail" | "cancel" => Style::Bad,
        "accept" | "finish" => Style::Good,
        _ => Style::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(ids: &[&str]) -> Vec<RunReport> {
        let report = |id: &&str| RunReport { run_id: (*id).to_owned(), ..RunReport::default() };
        ids.iter().map(report).collect()
    }

    #[test]
    fn a_run_is_found_by_the_beginning_of_its_id() {
        let kept = reports(&["run_aa11", "run_aa22", "run_bb33"]);
        let id = |name: &str| find(&kept, name).map(|report| report.run_id.clone());
        assert_eq!(id("last"), Ok("run_bb33".to_owned()));
        assert_eq!(id("run_aa2"), Ok("run_aa22".to_owned()));
        assert_eq!(id("bb"), Ok("run_bb33".to_owned()));
        assert!(id("run_aa").unwrap_err().contains("run_aa22 and run_aa11"));
        assert!(id("cc").unwrap_err().contains("among the 3 kept"));
    }

    #[test]
    fn times_are_told_in_one_unit() {
        assert_eq!(seconds(0), "0.00 s");
        assert_eq!(seconds(12_349), "12.34 s");
    }
}
