//! `punctual test`: the cases beside the workflows, offline, in virtual time.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::exit::Exit;
use super::live::Block;
use super::output;
use super::place::Place;
use super::summary::count;
use super::terminal::{Style, Terminal, clip};
use crate::definition::diagnostic::Diagnostic;
use crate::domain::time::show;
use crate::driver::clock;
use crate::trace::report::RunReport;
use crate::workflow::case::Case;
use crate::world::case::{Difference, Played, play};

mod difference;
mod stage;

pub use stage::{Stage, Target};

const EXAMPLES: &str = "\
Examples:
  punctual test                          every case of every workflow of the folder that is served
  punctual test support_triage           the cases of one workflow
  punctual test workflows/triage.yaml    the cases beside one file
  punctual test --json                   the same for programs, with the report of each run

Cases stand beside their workflow: those of triage.yaml in triage.cases.yaml, a list of
  - name: a refund inside the window
    input: {message: \"I want my money back.\"}
    answers:
      classify: {category: refund}             what the model says, by step
      reply: {$attempts: [\"no JSON\", {…}]}     by attempt; $fate: hang lets one fail
    expect: {outcome: delivered, output: {category: refund}}
'punctual run WORKFLOW --record' writes one from a run.

Exit codes: 0 all passed, 1 some failed, 2 a workflow or its cases could not be looked at, or there
is no case.";

/// Runs the cases beside the workflows: offline, at once, for nothing
///
/// Each case is a known input with recorded answers and what must come of them. Cases are played in virtual
/// time, with the simulator in place of every provider, whatever punctual.yaml says: no key, no network
/// and no waiting, and the same course each time.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Test {
    /// Workflows by name, or workflow files. Default: all of the folder that is served
    #[arg(value_name = "WORKFLOW|FILE")]
    workflows: Vec<String>,
    /// Prints results as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What came of all cases.
#[derive(Debug, Default, Serialize)]
struct Results {
    passed: usize,
    failed: usize,
    cases: Vec<Outcome>,
    /// Workflows that have no cases.
    without_cases: Vec<String>,
    /// What could not be looked at, and why.
    unreadable: Vec<String>,
    /// Errors of the files looked at.
    diagnostics: Vec<Diagnostic>,
}

/// What came of one case.
#[derive(Debug, Serialize)]
struct Outcome {
    workflow: String,
    case: String,
    file: String,
    line: usize,
    passed: bool,
    elapsed_ms: u64,
    differences: Vec<Difference>,
    report: RunReport,
}

impl Test {
    /// Runs the command.
    pub fn run(self) -> Exit {
        if let Err(exit) = self.place.there() {
            return exit;
        }
        let stage = Stage::set(&self.workflows, &self.place);
        let terminal = output::screen();
        let mut results = Results {
            without_cases: stage.without_cases.clone(),
            unreadable: stage.unreadable.clone(),
            diagnostics: stage.diagnostics.clone(),
            ..Results::default()
        };
        if !self.json {
            complain(&stage);
        }
        let all: usize = stage.targets.iter().map(|target| target.cases.list.len()).sum();
        let mut block = Block::new(output::side_screen());
        for target in &stage.targets {
            if !self.json {
                block.clear();
                output::result(terminal.paint(Style::Bold, &target.workflow.name));
            }
            for case in &target.cases.list {
                block.draw(&[bar(results.cases.len(), all, target, case, output::side_screen())]);
                let outcome = played(target, case);
                results.add(outcome);
                if let (Some(last), false) = (results.cases.last(), self.json) {
                    block.clear();
                    show_case(last, terminal);
                }
            }
        }
        block.clear();
        if self.json {
            output::json(&results);
        } else {
            results.close(&stage, terminal);
        }
        results.exit()
    }
}

/// Why a case failed, in lines.
#[must_use]
pub fn told(differences: &[Difference], report: &RunReport, terminal: Terminal) -> Vec<String> {
    difference::lines(differences, report, terminal)
}

/// Plays one case.
fn played(target: &Target, case: &Case) -> Outcome {
    let providers = &target.configuration.providers;
    let (report, differences) = match play(case, &target.workflow, providers, &clock::wall_time()) {
        Ok(Played { report, differences }) => (report, differences),
        // Regimes are checked where cases are read.
        Err(error) => {
            let note = Some(error.to_string());
            let found =
                Difference { pointer: "/regime".to_owned(), expected: None, got: None, note };
            (RunReport::default(), vec![found])
        }
    };
    Outcome {
        workflow: target.workflow.name.clone(),
        case: case.name.clone(),
        file: target.cases.label.clone(),
        line: case.line,
        passed: differences.is_empty(),
        elapsed_ms: report.elapsed_ms,
        differences,
        report,
    }
}

/// What could not be looked at, before anything is played.
fn complain(stage: &Stage) {
    let terminal = output::side_screen();
    for found in &stage.diagnostics {
        output::note(super::check::painted(found, terminal));
        output::note("");
    }
    for why in &stage.unreadable {
        output::refuse(Exit::Usage, why);
    }
}

/// `▰▰▰▱▱▱ 3 of 12  triage: a refund`.
fn bar(done: usize, all: usize, target: &Target, case: &Case, terminal: Terminal) -> String {
    const WIDTH: usize = 24;
    let full = WIDTH * done / all.max(1);
    let drawn = format!("{}{}", "▰".repeat(full), "▱".repeat(WIDTH - full));
    let text = format!("{drawn} {done} of {all}  {}: {}", target.workflow.name, case.name);
    clip(&text, terminal.width)
}

/// Its line, and where it failed the reasons.
fn show_case(outcome: &Outcome, terminal: Terminal) {
    const TIME: usize = 10;
    let took = show(Duration::from_millis(outcome.elapsed_ms));
    let width = terminal.width.saturating_sub(TIME + 11).max(20);
    let (word, style) =
        if outcome.passed { ("ok    ", Style::Good) } else { ("FAILED", Style::Bad) };
    let name = clip(&outcome.case, width);
    output::result(format_args!("  {} {name:width$} {took:>TIME$}", terminal.paint(style, word)));
    if !outcome.passed {
        let place = format!("{}:{}", outcome.file, outcome.line);
        output::result(format_args!("         {}", terminal.paint(Style::Dim, place)));
        for line in difference::lines(&outcome.differences, &outcome.report, terminal) {
            output::result(format_args!("         {line}"));
        }
    }
}

impl Results {
    fn add(&mut self, outcome: Outcome) {
        if outcome.passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        self.cases.push(outcome);
    }

    /// The last lines: what has no cases, and the count.
    fn close(&self, stage: &Stage, terminal: Terminal) {
        if !self.without_cases.is_empty() {
            let names = self.without_cases.join(", ");
            output::note(format_args!(
                "without cases: {names}; 'punctual run NAME … --record' writes one from a run"
            ));
        }
        if self.cases.is_empty() {
            output::note("no case was run");
            return;
        }
        let (text, style) = match self.failed {
            0 => (format!("{} passed", self.passed), Style::Good),
            failed => (format!("{} passed, {failed} failed", self.passed), Style::Bad),
        };
        output::result(terminal.paint(style, text));
        if !self.unreadable.is_empty() {
            let what = count(stage.problems, "problem");
            let lost = match stage.lost {
                0 => "other cases".to_owned(),
                lost => count(lost, "case"),
            };
            output::note(format_args!("{what} kept {lost} from being run, see above"));
        }
    }

    fn exit(&self) -> Exit {
        if !self.unreadable.is_empty() || self.cases.is_empty() {
            Exit::Usage
        } else if self.failed > 0 {
            Exit::Failed
        } else {
            Exit::Done
        }
    }
}

/// Whether an argument names a file and not a workflow.
fn is_file(name: &str) -> bool {
    let end = Path::new(name).extension();
    name.contains(['/', '\\']) || end.is_some_and(|end| end == "yaml" || end == "yml")
}
