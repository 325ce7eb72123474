//! `punctual run`: one workflow, from the shell.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::argument;
use super::dry::Dry;
use super::exit::Exit;
use super::house::{House, folder_of};
use super::instant::{self, Instant};
use super::live::{BEAT, Block, steps};
use super::output;
use super::place::{Place, Simulated, Speed, State, shown};
use super::record::Record;
use super::summary;
use super::terminal::Style;
use crate::definition::catalog::{NO_FOLDER, load_file};
use crate::definition::config::DEFAULT_SEED;
use crate::definition::diagnostic::Diagnostic;
use crate::definition::environment::Environment;
use crate::definition::folder::Folder;
use crate::domain::finding::did_you_mean;
use crate::domain::time::{parse_duration, show};
use crate::driver::{CallOptions, Refusal, RunHandle};
use crate::server::Signals;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;

/// For the record of a run to be written, and for a cancelled one to say what it cost.
const LAST_WORD: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  punctual run summarize --set text=@report.txt        a field from a file
  punctual run summarize --set text='Some words.'      a field as it stands
  punctual run triage --input @ticket.json             the whole input from a file
  jq .ticket dump.json | punctual run triage --input - the whole input from standard input
  punctual run triage --set 'tags:=[\"a\", \"b\"]'         a field as JSON
  punctual run ./draft.yaml --set text=hello           a file that no folder serves yet
  punctual run summarize --set text=@report.txt --dry  what would be sent, and the most it can cost
  punctual run summarize --set text=hello --simulate busy --seed 7 --speed 20
                                                       no model is asked, and nothing is spent
  punctual run triage --input @ticket.json --record --name 'a refund in time'
                                                       the run becomes a case of 'punctual test'

The output goes to standard output, everything else to standard error. --set lays fields over
--input. Exit codes: 0 delivered or degraded, 1 failed, 2 wrong usage or input. Ctrl-C, SIGTERM and
SIGHUP cancel the run, which is kept and reported; the codes then are 130, 143 and 129.";

/// Runs one workflow and prints its output
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// A workflow's name, or a workflow file
    #[arg(value_name = "WORKFLOW|FILE")]
    workflow: String,
    /// The whole input: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// One field of the input: name=text, name=@FILE (as text), name:=JSON
    #[arg(long = "set", value_name = "NAME=VALUE")]
    fields: Vec<String>,
    /// Answers within this time: shortens the workflow's own deadline, never lengthens it
    #[arg(long, value_name = "30s", value_parser = deadline)]
    deadline: Option<Duration>,
    /// Neither joins an identical run nor continues from its steps
    #[arg(long)]
    fresh: bool,
    /// Writes the run into the cases beside the workflow, as one that 'punctual test' runs
    #[arg(long)]
    record: bool,
    /// What the recorded case is called
    #[arg(long, value_name = "TEXT", requires = "record")]
    name: Option<String>,
    /// Keeps what models are sent and say with the run, for 'punctual trace RUN --content'
    #[arg(long, conflicts_with = "dry")]
    keep_content: bool,
    /// Prints the whole run report instead of the output alone
    #[arg(long)]
    json: bool,
    /// Sends nothing: shows the prompts as far as the input decides them, the plan, and the most it can cost
    #[arg(long)]
    dry: bool,
    #[command(flatten)]
    simulated: Simulated,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    state: State,
}

fn deadline(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Some(time) if time >= Duration::from_millis(100) => Ok(time),
        Some(_) => Err("nothing can be answered in less than 100ms".to_owned()),
        None => Err("give a time with its unit, such as 30s, 1500ms or 2m".to_owned()),
    }
}

impl Run {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        match self.go().await {
            Ok(exit) | Err(exit) => exit,
        }
    }

    async fn go(&self) -> Result<Exit, Exit> {
        let (house, workflow) = find(&self.workflow, &self.place, &self.simulated).await?;
        let input = argument::input(self.input.as_deref(), &self.fields)
            .map_err(|error| output::refuse(Exit::Usage, error))?;
        if let Some(asked) = self.deadline.filter(|asked| *asked > workflow.plan.deadline) {
            output::note(format_args!(
                "note: {} was asked for, but the workflow's own deadline of {} holds",
                show(asked),
                show(workflow.plan.deadline)
            ));
        }
        if self.dry {
            let dry = Dry::of(&house, &workflow, input, self.deadline);
            let dry = dry.map_err(|no| refused(&workflow, &no, &self.fields))?;
            dry.show(self.json);
            return Ok(Exit::Done);
        }
        let record = self.prepared(&house, &workflow)?;
        let (told, signal) = if self.simulated.speed == Some(Speed::Virtual) {
            (self.play(&house, &workflow, input)?, None)
        } else {
            self.live(&house, &workflow, input).await?
        };
        let Instant { report, recorded } = told;
        self.show(&report);
        if let Some(signal) = signal {
            return Ok(Exit::Signal(signal));
        }
        let written = record.map_or(Exit::Done, |it| it.write(&report, recorded, &self.place));
        Ok(match report.outcome.as_str() {
            "delivered" | "degraded" => written,
            _ => Exit::Failed,
        })
    }

    /// Where the run is to be recorded, looked at before anything is spent.
    fn prepared(&self, house: &House, workflow: &Arc<Workflow>) -> Result<Option<Record>, Exit> {
        if !self.record {
            return Ok(None);
        }
        let builtin = house.folder.is_builtin();
        let deadline = self.deadline.filter(|asked| *asked < workflow.plan.deadline);
        Record::prepare(workflow, builtin, self.name.as_deref(), deadline)
            .map(Some)
            .map_err(|why| output::refuse(Exit::Usage, format_args!("--record: {why}")))
    }

    /// In real time, or in real time sped up.
    async fn live(
        &self,
        house: &House,
        workflow: &Arc<Workflow>,
        input: Value,
    ) -> Result<(Instant, Option<u8>), Exit> {
        let (host, wrong) = house
            .host(&self.simulated, &self.state)
            .map_err(|error| output::refuse(Exit::Usage, error))?;
        for error in &wrong {
            output::refuse(Exit::Usage, error);
        }
        if !wrong.is_empty() {
            return Err(Exit::Usage);
        }
        // Steps that an earlier run has validated have no attempts to record.
        let fresh = self.fresh || self.record;
        let (deadline, content) = (self.deadline, self.keep_content);
        let options = CallOptions { deadline, fresh, keep: self.record, content };
        let mut signals = Signals::listen()
            .map_err(|why| output::refuse(Exit::Failed, format_args!("no signals: {why}")))?;
        let handle = host
            .start(workflow, input, &options)
            .map_err(|no| refused(workflow, &no, &self.fields))?;
        let (report, signal) = follow(&handle, &mut signals).await;
        host.drain(LAST_WORD).await;
        Ok((Instant { report, recorded: handle.recorded() }, signal))
    }

    /// In virtual time.
    fn play(&self, house: &House, workflow: &Arc<Workflow>, input: Value) -> Result<Instant, Exit> {
        let seed = self.simulated.seed.unwrap_or(DEFAULT_SEED);
        let store = self.state.store();
        self.simulated
            .fits(house.simulated())
            .map_err(|error| output::refuse(Exit::Usage, error))
            .and_then(|()| {
                let content = self.keep_content;
                instant::play(house, workflow, input, self.deadline, seed, content, store.as_ref())
                    .map_err(|no| refused(workflow, &no, &self.fields))
            })
    }

    fn show(&self, report: &RunReport) {
        let terminal = output::side_screen();
        if self.json {
            output::json(report);
        } else if let Some(output) = &report.output {
            output::json(output);
        }
        for line in summary::caveats(report, terminal) {
            output::note(line);
        }
        if let Some(failure) = &report.failure {
            output::note(summary::failure(report, failure, terminal).join("\n"));
        } else {
            output::note(format_args!("{} {}", report.workflow, summary::ending(report)));
        }
        let mut more = summary::spent(report);
        // A trace can be shown of what is kept alone.
        if self.state.store().is_some_and(|store| store.find(&report.run_id).is_some()) {
            more = format!("{more} · punctual trace {}{}", report.run_id, self.state.named());
        }
        output::note(terminal.paint(Style::Dim, more));
    }
}

/// The workflow of that name in the folder that is served, or in that file.
///
/// # Errors
/// There is none, or it has errors; already told.
pub async fn find(
    name: &str,
    place: &Place,
    simulated: &Simulated,
) -> Result<(House, Arc<Workflow>), Exit> {
    place.there()?;
    let named = Path::new(name);
    let is_file = name.contains(['/', '\\'])
        || named.extension().is_some_and(|end| end == "yaml" || end == "yml");
    if is_file {
        return find_file(named, place, simulated).await;
    }
    let house = House::open(place, simulated).await;
    configured(&house)?;
    match house.catalog.workflows.get(name).cloned() {
        Some(workflow) => Ok((house, workflow)),
        None => Err(missing(&house, name)),
    }
}

async fn find_file(
    file: &Path,
    place: &Place,
    simulated: &Simulated,
) -> Result<(House, Arc<Workflow>), Exit> {
    if let Err(error) = std::fs::metadata(file) {
        return Err(output::refuse(Exit::Usage, argument::unreadable(&shown(file), &error)));
    }
    let folder: PathBuf = place.dir.clone().unwrap_or_else(|| folder_of(file));
    let environment = Environment::of_process();
    let house = House::of_folder(Folder::at(folder), place, simulated, environment).await;
    configured(&house)?;
    let lowered = load_file(file, &house.catalog.configuration);
    match lowered.workflow {
        Some(workflow) => Ok((house.with_cases_of(file, &workflow), workflow)),
        None => Err(broken(&shown(file), &lowered.diagnostics)),
    }
}

/// A configuration with errors is not gone on with: the run would be another than the one that is written.
fn configured(house: &House) -> Result<(), Exit> {
    let problems = &house.catalog.configuration_problems;
    match problems.first() {
        Some(first) => Err(broken(&first.file, problems)),
        None => Ok(()),
    }
}

/// Waits for the run, drawing its steps; the signal that interrupted it.
async fn follow(handle: &RunHandle, signals: &mut Signals) -> (RunReport, Option<u8>) {
    let terminal = output::side_screen();
    let mut block = Block::new(terminal);
    let mut beat = tokio::time::interval(BEAT);
    let mut caught = None;
    let report = loop {
        tokio::select! {
            biased;
            report = handle.finished() => break report,
            signal = signals.next(), if caught.is_none() => {
                caught = Some(u8::try_from(signal).unwrap_or(1));
                handle.stop();
            }
            _ = beat.tick(), if terminal.live => block.draw(&steps(&handle.report(), terminal)),
        }
    };
    block.clear();
    (report, caught)
}

/// The call was not started.
pub fn refused(workflow: &Workflow, refusal: &Refusal, fields: &[String]) -> Exit {
    match refusal {
        Refusal::InvalidInput(lines) => {
            output::refuse(
                Exit::Usage,
                format_args!("the input does not fit '{}'; nothing was spent", workflow.name),
            );
            for line in lines.lines() {
                output::note(format_args!("  {line}"));
            }
            output::note(format_args!("input: {}", workflow.input.describe()));
            output::note("give it with --set name=text, --set name=@FILE, or --input @FILE");
            for hint in fields.iter().filter_map(|field| argument::as_json(field, lines)) {
                output::note(hint);
            }
            Exit::Usage
        }
        Refusal::Full { message, retry_after } => output::refuse(
            Exit::Failed,
            format_args!("{message}; the same call may fare better in {}", show(*retry_after)),
        ),
        Refusal::Closing => output::refuse(Exit::Failed, refusal),
    }
}

/// There is no workflow of that name.
fn missing(house: &House, name: &str) -> Exit {
    let catalog = &house.catalog;
    if let Some(found) = catalog.diagnostics.iter().find(|found| found.code == NO_FOLDER) {
        return output::refuse(
            Exit::Usage,
            format_args!("{}: make it, or name another with --dir", found.message),
        );
    }
    if let Some(bad) = catalog.quarantined.iter().find(|quarantined| quarantined.name == name) {
        return broken(&bad.file, &bad.diagnostics);
    }
    let names: Vec<&str> = catalog.workflows.keys().map(String::as_str).collect();
    let place = house.folder_shown();
    let mut text = format!("there is no workflow '{name}' in the {place}");
    if house.folder.path().is_some_and(|path| path != Path::new(".")) {
        text = format!("there is no workflow '{name}' in {place}");
    }
    if let Some(meant) = did_you_mean(name, names.iter().copied()) {
        text = format!("{text}; did you mean '{meant}'?");
    }
    output::refuse(Exit::Usage, text);
    if names.is_empty() {
        output::note("it holds none; a workflow is a file workflows/NAME.yaml");
    } else {
        output::note(format_args!("there is: {}", names.join(", ")));
    }
    if std::fs::metadata(name).is_ok_and(|about| about.is_file()) {
        output::note(format_args!("to run the file of that name, write ./{name}"));
    }
    Exit::Usage
}

/// A file that cannot be used, with the reasons.
fn broken(file: &str, diagnostics: &[Diagnostic]) -> Exit {
    const SHOWN: usize = 10;
    let terminal = output::side_screen();
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|found| found.is_error()).collect();
    for found in errors.iter().take(SHOWN) {
        output::note(super::check::painted(found, terminal));
        output::note("");
    }
    if errors.len() > SHOWN {
        output::note("… 'punctual check' shows them all");
    }
    output::refuse(Exit::Usage, format_args!("{file} has errors; nothing was spent"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::workflow::case::{StepAnswers, Told};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: Run,
    }

    const INPUT: &str =
        r#"{"message": "Where is my invoice?", "policies": [{"id": "sla", "text": "We are up."}]}"#;

    /// The clock of the machine is tokio's, which stands still but for what is waited for: the same each time.
    #[tokio::test(start_paused = true)]
    async fn a_run_on_the_machines_clock_is_recorded_as_one_in_virtual_time() {
        let folder = tempfile::tempdir().unwrap();
        let workflows = folder.path().join("workflows");
        std::fs::create_dir(&workflows).unwrap();
        for (name, text) in [
            ("triage.yaml", include_str!("../../tests/cases/triage.yaml")),
            ("triage.cases.yaml", include_str!("../../tests/cases/recorded.cases.yaml")),
        ] {
            std::fs::write(workflows.join(name), text).unwrap();
        }
        let (dir, state) = (folder.path().to_str().unwrap(), folder.path().join("state"));
        let written =
            ["run", "triage", "--simulate", "calm", "--seed", "5", "--speed", "5", "--record"];
        let places = ["--dir", dir, "--state", state.to_str().unwrap()];
        let run = Line::try_parse_from([&written[..], &places[..]].concat()).unwrap().run;
        let (house, workflow) = find(&run.workflow, &run.place, &run.simulated).await.unwrap();
        let input: Value = serde_json::from_str(INPUT).unwrap();
        let (live, signal) = run.live(&house, &workflow, input.clone()).await.unwrap();
        let played = run.play(&house, &workflow, input.clone()).unwrap();
        assert_eq!((live.report.outcome.as_str(), signal), ("degraded", None));
        assert_eq!(live.recorded.0["message"], input["message"]);
        let lost = |step: &StepAnswers| {
            step.items.iter().flatten().any(|said| said.told == Some(Told::Error))
        };
        assert!(live.recorded.1.iter().any(lost), "{:?}", live.recorded.1);
        assert_eq!(live.recorded, played.recorded);
        assert_eq!(run.state.store().unwrap().latest(9).reports.len(), 2, "both are kept");
    }
}
