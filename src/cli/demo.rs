//! `punctual demo`: the main job without any key. Starts this program as a server, speaks MCP to it as a
//! client would, calls a workflow on a real document, and shows what its orchestrator did.
//!
//! Nothing that happens is scripted here: the simulator draws latency and faults from a seed, the engine
//! decides, and what is printed is read from the run's report.

use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use super::exit::{Exit, INTERRUPTED};
use super::live::{BEAT, Block};
use super::output;
use super::place::State;
use super::story::{happenings, lines};
use super::summary;
use super::terminal::{Style, Terminal, clip, wrap};
use super::timeline::{LEGEND, Timeline};
use crate::server::client::{Answer, Client, ClientError, Told};
use crate::trace::report::RunReport;

/// A busy day, on which a cut, a swap and a repair come about.
const REGIME: &str = "brownout";
const SEED: &str = "68";
const SPEED: &str = "3";
const WORKFLOW: &str = "support_triage";
const INPUT: &str = include_str!("../../workflows/inputs/support_triage.json");
/// For the server to leave once its input has ended.
const LEAVE: Duration = Duration::from_secs(5);
/// Most lines of a timeline.
const LINES_MAX: usize = 40;

const EXAMPLES: &str = "\
Examples:
  punctual demo              needs no key, no network and no other program; takes about 15 s
  punctual demo | cat        the same without redrawing
  punctual demo --seed 7     another day: other cuts, other swaps, or none";

/// Shows the main job: a server, a client, one workflow, live
///
/// Starts the server on the built-in workflows with the simulator instead of models, connects to it
/// as an MCP client does, calls a workflow on a real document, and shows every attempt as it happens:
/// what was cut, raced, swapped and repaired so that the answer came before its deadline.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// Seeds the simulator's luck
    #[arg(long, value_name = "N", default_value = SEED)]
    seed: u64,
    /// Simulated seconds a real second
    #[arg(long, value_name = "X", default_value = SPEED, value_parser = speed)]
    speed: f64,
    #[command(flatten)]
    state: State,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.01..=1_000.0).contains(&speed) => Ok(speed),
        _ if text == "max" => Err(
            "the demo's server and client live in real time: give a number from 0.01 to 1000; 'max' is for 'run'"
                .to_owned(),
        ),
        Ok(_) | Err(_) => Err("give a number from 0.01 to 1000".to_owned()),
    }
}

impl Demo {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        let mut child = match self.server() {
            Ok(child) => child,
            Err(error) => {
                return output::refuse(
                    Exit::Failed,
                    format_args!("the server could not be started: {error}"),
                );
            }
        };
        let told = tokio::select! {
            told = played(&mut child, self.speed) => told,
            _ = tokio::signal::ctrl_c() => return INTERRUPTED,
        };
        let left = tokio::time::timeout(LEAVE, child.wait()).await.is_ok();
        match told {
            Ok(exit) => {
                if !left {
                    output::note("note: the server did not leave in time and was ended");
                }
                exit
            }
            Err(error) => output::refuse(Exit::Failed, error),
        }
    }

    /// This program again, as a client would start it.
    fn server(&self) -> std::io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--builtin", "--simulate", REGIME]);
        command.args(["--seed", &self.seed.to_string(), "--speed", &self.speed.to_string()]);
        if let Some(folder) = self.state.folder() {
            command.arg("--state").arg(folder);
        }
        command.env("PUNCTUAL_LOG", "error").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()
    }
}

/// The whole play.
async fn played(child: &mut Child, speed: f64) -> Result<Exit, ClientError> {
    let terminal = output::screen();
    let (Some(read), Some(write)) = (child.stdout.take(), child.stdin.take()) else {
        return Ok(output::refuse(Exit::Failed, "the server has no input and output"));
    };
    head(terminal, "1. A client starts the server and asks for its tools");
    output::result(format_args!(
        "  $ punctual serve --simulate {REGIME}     the simulator instead of models: no key, no cost"
    ));
    let (client, mut progress) = Client::connect(read, write).await?;
    for tool in client.tools().await? {
        let first = tool.description.lines().rfind(|line| !line.trim().is_empty());
        let line = format!("  {:16} {:32} {}", tool.name, tool.title, first.unwrap_or_default());
        output::result(clip(&line, terminal.width));
    }
    let input: Map<String, Value> = serde_json::from_str(INPUT).unwrap_or_default();
    head(terminal, "2. It calls support_triage on a customer's message and five real policies");
    let message = input.get("message").and_then(Value::as_str).unwrap_or_default();
    for line in wrap(message, terminal.width - 4).into_iter().filter(|l| !l.is_empty()).take(4) {
        output::result(format_args!("  > {line}"));
    }
    output::result("  > …");
    head(terminal, "3. The orchestrator at work: four steps, one deadline");
    let times = if (speed - 1.0).abs() < 0.01 {
        String::new()
    } else {
        format!(", shown {speed} times as fast")
    };
    say(
        &format!("Simulated latency and faults of a brownout: one provider is in trouble{times}."),
        terminal,
    );
    let (answer, report) = called(&client, input, &mut progress).await?;
    client.close().await;
    let Some(report) = report else {
        for text in &answer.texts {
            output::note(text);
        }
        return Ok(output::refuse(Exit::Failed, "the server gave no report of the run"));
    };
    show(&answer, &report, terminal);
    Ok(Exit::Done)
}

/// Calls the workflow, drawing its attempts meanwhile.
async fn called(
    client: &Client,
    input: Map<String, Value>,
    progress: &mut mpsc::Receiver<Told>,
) -> Result<(Answer, Option<RunReport>), ClientError> {
    let terminal = output::side_screen();
    let mut block = Block::new(terminal);
    let mut beat = tokio::time::interval(BEAT);
    let mut run_id: Option<String> = None;
    let call = client.call(WORKFLOW, input);
    tokio::pin!(call);
    let answer = loop {
        tokio::select! {
            answer = &mut call => break answer?,
            Some(told) = progress.recv() => {
                run_id = run_id.or_else(|| named_run(&told.message));
                if !terminal.live {
                    output::note(format_args!("  progress: {}", told.message));
                }
            }
            _ = beat.tick(), if terminal.live => {
                let Some(id) = &run_id else { continue };
                if let Some(report) = client.report(id, Duration::ZERO).await?.report {
                    let mut lines = Timeline::of_running(&report, terminal).lines(LINES_MAX);
                    for line in [summary::ending(&report), LEGEND.to_owned()] {
                        lines.push(terminal.paint(Style::Dim, clip(&line, terminal.width)).to_string());
                    }
                    block.draw(&lines);
                }
            }
        }
    };
    block.clear();
    let report = match &run_id {
        Some(id) => client.report(id, Duration::ZERO).await?.report,
        None => None,
    };
    Ok((answer, report))
}

/// The run id in a progress message.
fn named_run(message: &str) -> Option<String> {
    let words = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut ids = words.filter_map(crate::domain::id::RunId::parse);
    ids.next().map(|id| id.to_string())
}

/// The result, and how it came about.
fn show(answer: &Answer, report: &RunReport, terminal: Terminal) {
    for line in Timeline::of_ended(report, terminal).lines(LINES_MAX) {
        output::result(line);
    }
    output::result(terminal.paint(Style::Dim, LEGEND));
    head(terminal, "4. What happened, from the run's own record");
    let happenings = happenings(report);
    output::result(lines(&happenings, terminal).join("\n"));
    let ended = format!("{} {}.", report.workflow, summary::ending(report));
    output::result(format_args!(
        "\n{}",
        terminal.paint(super::runs::outcome_style(&report.outcome), ended)
    ));
    say(&summary::spent(report), terminal);
    for line in summary::caveats(report, terminal) {
        output::result(line);
    }
    head(terminal, "5. What the client got: JSON that fits the tool's output schema");
    match &answer.structured {
        Some(output) => shown_output(output, terminal),
        None => answer.texts.iter().for_each(|text| say(text, terminal)),
    }
    head(terminal, "Next");
    let steps = [
        ("punctual trace last", "every attempt and decision of this run"),
        ("punctual doctor", "which keys, models and clients are here"),
        ("punctual run --help", "run a workflow from the shell"),
        ("punctual serve --help", "connect Claude Desktop, Claude Code, Cursor, VS Code or Codex"),
    ];
    for (command, what) in steps {
        output::result(format_args!("  {command:24} {what}"));
    }
    say(
        "To add a tool, put a workflow into ./workflows/NAME.yaml: twelve lines are enough, and it is live within a second.",
        terminal,
    );
}

/// The output field by field, long texts wrapped, lists shortened.
fn shown_output(output: &Value, terminal: Terminal) {
    const NAME: usize = 17;
    const ITEMS: usize = 2;
    const LINES: usize = 8;
    let room = terminal.width - NAME - 2;
    let Value::Object(fields) = output else { return };
    for (name, value) in fields {
        let mut lines = match value {
            Value::String(text) => wrap(text, room),
            Value::Array(items) => {
                let mut lines: Vec<String> =
                    items.iter().take(ITEMS).map(|item| clip(&item.to_string(), room)).collect();
                if items.len() > ITEMS {
                    lines.push(format!("… and {} more", items.len() - ITEMS));
                }
                lines
            }
            other => vec![clip(&other.to_string(), room)],
        };
        lines.retain(|line| !line.is_empty());
        if lines.len() > LINES {
            lines.truncate(LINES);
            lines.push("…".to_owned());
        }
        let mut lines = lines.into_iter();
        output::result(format_args!("  {name:NAME$}{}", lines.next().unwrap_or_default()));
        lines.for_each(|line| output::result(format_args!("  {:NAME$}{line}", "")));
    }
}

fn head(terminal: Terminal, text: &str) {
    output::result(format_args!("\n{}", terminal.paint(Style::Bold, text)));
}

fn say(text: &str, terminal: Terminal) {
    for line in wrap(text, terminal.width - 2) {
        output::result(format_args!("  {line}"));
    }
}
