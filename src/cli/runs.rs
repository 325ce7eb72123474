//! `punctual runs`: the latest runs.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::output;
use super::place::{State, shown};
use super::summary::count;
use super::table::Table;
use super::terminal::Style;
use crate::domain::money::Usd;
use crate::domain::time::show;
use crate::trace::report::RunReport;

const EXAMPLES: &str = "\
Examples:
  punctual runs                                   the latest 20
  punctual runs --workflow triage --outcome failed
  punctual runs --json --limit 100                for programs: a list of run reports
  punctual trace last                             what happened in the latest, and why";

/// Lists the latest runs, newest first
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Runs {
    /// Only this workflow's
    #[arg(long, value_name = "W")]
    workflow: Option<String>,
    /// Only those that ended so
    #[arg(long, value_name = "O", value_enum)]
    outcome: Option<Outcome>,
    /// At most so many
    #[arg(long, value_name = "N", default_value = "20", value_parser = limit)]
    limit: usize,
    /// Whole reports, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Outcome {
    /// Everything asked for, valid
    Delivered,
    /// Valid, with parts missing or unverified
    Degraded,
    /// No valid answer
    Failed,
    /// Withdrawn by the caller
    Cancelled,
}

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

fn limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("give at least 1".to_owned()),
        Ok(limit) => Ok(limit),
        Err(_) => Err("give a whole number of runs, at least 1".to_owned()),
    }
}

impl Runs {
    /// Runs the command.
    pub fn run(self) -> Exit {
        let Some(store) = self.state.store() else { return homeless() };
        let kept = store.latest(usize::MAX);
        let mine = |report: &RunReport| {
            self.workflow.as_ref().is_none_or(|name| *name == report.workflow)
                && self.outcome.is_none_or(|outcome| outcome.as_str() == report.outcome)
        };
        let all = kept.reports.len();
        let found: Vec<RunReport> =
            kept.reports.into_iter().rev().filter(mine).take(self.limit).collect();
        if kept.unreadable > 0 {
            output::note(format_args!(
                "warning: {} of {} cannot be read and left out",
                count(kept.unreadable, "line"),
                shown(&store.file())
            ));
        }
        if self.json {
            output::json(&found);
            return Exit::Done;
        }
        if found.is_empty() {
            output::note(if all == 0 {
                format!("no run is kept in {}", shown(&store.file()))
            } else {
                format!("none of the {all} kept runs is of that kind")
            });
            return Exit::Done;
        }
        output::result(table(&found).lines(output::screen(), 0).join("\n"));
        Exit::Done
    }
}

fn table(reports: &[RunReport]) -> Table {
    let mut table =
        Table::new(["run", "started (UTC)", "workflow", "outcome", "took", "cost", "note"]);
    for report in reports {
        let cost = Usd::from_dollars(report.cost_usd).unwrap_or(Usd::ZERO);
        let failure = report.failure.as_ref().filter(|_| report.outcome == "failed");
        let simulated = report.simulated.then_some("simulated");
        let notes: Vec<&str> =
            failure.map(|failure| failure.class.as_str()).into_iter().chain(simulated).collect();
        table.row(vec![
            (Style::Bold, report.run_id.clone()),
            (Style::Plain, started(&report.started_at)),
            (Style::Plain, report.workflow.clone()),
            (outcome_style(&report.outcome), report.outcome.clone()),
            (Style::Plain, show(Duration::from_millis(report.elapsed_ms))),
            (Style::Plain, cost.to_string()),
            (Style::Dim, notes.join(", ")),
        ]);
    }
    table
}

/// `2026-11-30 01:12`
fn started(rfc3339: &str) -> String {
    rfc3339.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// How an outcome stands out.
#[must_use]
pub fn outcome_style(outcome: &str) -> Style {
    match outcome {
        "delivered" => Style::Good,
        "degraded" | "cancelled" => Style::Odd,
        "failed" => Style::Bad,
        _ => Style::Plain,
    }
}

/// There is no folder to look in.
pub fn homeless() -> Exit {
    output::refuse(
        Exit::Usage,
        "neither HOME nor XDG_STATE_HOME is set: say where runs are kept with --state DIR",
    )
}
