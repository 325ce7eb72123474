//! `punctual calibrate`: runs a workflow to measure how long its steps take, and shows what follows.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde_json::Value;
use tokio::task::JoinSet;

use super::argument;
use super::exit::Exit;
use super::house::House;
use super::live::{BEAT, Block};
use super::measure;
use super::output;
use super::place::{Place, Simulated, Speed, State};
use super::run::{find, refused};
use super::simulate::bar;
use super::summary::count;
use super::terminal::Style;
use crate::definition::config::DEFAULT_SEED;
use crate::domain::money::Usd;
use crate::driver::clock::system_time;
use crate::driver::{CallOptions, Host, RunHandle, fitting};
use crate::latency::book::Book;
use crate::planner::{Pilot, SharedPilot};
use crate::provider::simulated::Recordings;
use crate::server::Signals;
use crate::trace::report::RunReport;
use crate::workflow::Workflow;
use crate::world::forecast::{Figures, Trial};

/// What is spent without being asked for twice, in dollars.
const FREELY: f64 = 1.0;
/// Runs that the estimate is made of.
const ESTIMATED: u64 = 40;
/// For cancelled runs to say what they cost, and for what was learned to be written.
const LAST_WORD: Duration = Duration::from_secs(5);
/// Most bytes of a file of inputs.
const INPUTS_MAX: u64 = 64 << 20;

const EXAMPLES: &str = "\
Examples:
  punctual calibrate triage                              20 runs on the inputs of its cases
  punctual calibrate triage --inputs tickets.jsonl --runs 100 --parallel 4 --yes
  punctual calibrate triage --simulate busy              what it would look like; nothing is spent

Every run teaches the server how long the steps take on each path, with or without this command;
this one is for before the first call. It says what it is about to spend, and above $1 it wants
--yes. Inputs: a JSON array, or one JSON object a line; without --inputs those of the workflow's
cases. What real models show is kept in the state folder, what the simulator shows is not.";

/// Measures how long a workflow's steps take on each path, by running it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Calibrate {
    /// A workflow's name, or a workflow file
    #[arg(value_name = "WORKFLOW|FILE")]
    workflow: String,
    /// Inputs that runs take in turn: a file with a JSON array, or with an object a line
    #[arg(long, value_name = "FILE")]
    inputs: Option<String>,
    /// Runs, 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    runs: u64,
    /// Runs at once, 1 to 32
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=32))]
    parallel: u64,
    /// Spends what it says
    #[arg(long)]
    yes: bool,
    /// Prints what was measured as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    simulated: Simulated,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    state: State,
}

/// What all runs came to.
#[derive(Debug, Default)]
struct Tally {
    ended: u64,
    good: u64,
    cost_usd: f64,
}

impl Calibrate {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        match self.go().await {
            Ok(exit) | Err(exit) => exit,
        }
    }

    async fn go(&self) -> Result<Exit, Exit> {
        let (house, workflow) = find(&self.workflow, &self.place, &self.simulated).await?;
        let fits = self.simulated.fits(house.simulated());
        fits.map_err(|error| output::refuse(Exit::Usage, error))?;
        let inputs = self.inputs(&house, &workflow)?;
        let plain = house.simulated() && !matches!(self.simulated.speed, Some(Speed::Factor(_)));
        let (book, now, exit) = if plain {
            let trial = self.trial(&house, &workflow, inputs);
            let learned = trial.learn(self.runs);
            let book = learned.map_err(|error| output::refuse(Exit::Usage, error))?;
            let clock = trial.apart.saturating_mul(u32::try_from(self.runs).unwrap_or(u32::MAX));
            output::note(format_args!(
                "SIMULATED: no model was asked; {} in virtual time.",
                count(usize::try_from(self.runs).unwrap_or(usize::MAX), "run")
            ));
            (book, clock, Exit::Done)
        } else {
            self.estimate(&house, &workflow, &inputs)?;
            self.measure(&house, &workflow, &inputs).await?
        };
        let pilot = Arc::new(Pilot::of(&workflow.plan, &book, now));
        self.show(&workflow, &pilot);
        Ok(exit)
    }

    fn show(&self, workflow: &Workflow, pilot: &SharedPilot) {
        if self.json {
            output::json(&measure::record(workflow, pilot));
            return;
        }
        let terminal = output::screen();
        output::result(terminal.paint(Style::Bold, &workflow.name));
        output::result(measure::lines(&workflow.plan, pilot, terminal).join("\n"));
    }

    /// The inputs that runs take in turn, each of which fits.
    fn inputs(&self, house: &House, workflow: &Workflow) -> Result<Vec<Value>, Exit> {
        let Some(file) = &self.inputs else {
            let cases = house.catalog.cases.get(&workflow.name);
            let inputs = cases.map(|cases| cases.list.iter().map(|case| case.input.clone()));
            let inputs: Vec<Value> = inputs.into_iter().flatten().collect();
            if inputs.is_empty() {
                let why = format!("'{}' has no case to take inputs from", workflow.name);
                let exit = output::refuse(Exit::Usage, why);
                output::note(format_args!("input: {}", workflow.input.describe()));
                output::note("give some with --inputs FILE, one JSON object a line");
                return Err(exit);
            }
            return Ok(inputs);
        };
        let read = read(file).map_err(|error| output::refuse(Exit::Usage, error))?;
        let fitted = read.into_iter().map(|input| fitting(workflow, input));
        let fitted: Result<Vec<Value>, _> = fitted.collect();
        fitted.map_err(|no| refused(workflow, &no, &[]))
    }

    /// The same runs, to be played.
    fn trial(&self, house: &House, workflow: &Arc<Workflow>, inputs: Vec<Value>) -> Trial {
        let cases = house.catalog.cases.values().map(AsRef::as_ref);
        Trial {
            workflow: workflow.clone(),
            inputs,
            providers: house.catalog.configuration.providers.clone(),
            laws: None,
            pilot: None,
            recordings: Arc::new(Recordings::usual(cases)),
            seed: self.simulated.seed.unwrap_or(DEFAULT_SEED),
            apart: Duration::from_secs(30),
        }
    }

    /// Says what the runs will cost; what is known of times by now, or expected of any model, is what they are played by.
    fn estimate(
        &self,
        house: &House,
        workflow: &Arc<Workflow>,
        inputs: &[Value],
    ) -> Result<(), Exit> {
        let book = self.state.curves().and_then(|file| file.load().ok()).unwrap_or_default().book;
        let pilot = Pilot::of(&workflow.plan, &book, since_1970());
        let trial = self.trial(house, workflow, inputs.to_vec());
        let Some(laws) = pilot.laws else { return Ok(()) };
        let samples = trial.measured(laws).play(0, ESTIMATED);
        let samples = samples.map_err(|error| output::refuse(Exit::Usage, error))?;
        let each = Figures::of(workflow.plan.deadline, &samples);
        #[expect(clippy::cast_precision_loss, reason = "at most 10,000")]
        let runs = self.runs as f64;
        let (usd, tokens) = (each.cost_usd * runs, each.tokens * runs);
        let cost = Usd::from_dollars(usd).unwrap_or(Usd::ZERO);
        let n = count(usize::try_from(self.runs).unwrap_or(usize::MAX), "run");
        output::note(format_args!("{n} of '{}': about {tokens:.0} tokens, {cost}", workflow.name));
        let unpriced: Vec<&str> = workflow
            .plan
            .paths
            .iter()
            .filter(|path| path.profile.price.is_none())
            .map(|path| path.label.as_str())
            .collect();
        if !unpriced.is_empty() {
            output::note(format_args!("no price is known of {}", unpriced.join(", ")));
        }
        if usd > FREELY && !self.yes && !house.simulated() {
            return Err(output::refuse(Exit::Usage, "nothing was spent; with --yes it is"));
        }
        Ok(())
    }

    /// Makes the runs.
    async fn measure(
        &self,
        house: &House,
        workflow: &Arc<Workflow>,
        inputs: &[Value],
    ) -> Result<(Book, Duration, Exit), Exit> {
        let (host, wrong) = house
            .host(&self.simulated, &self.state)
            .map_err(|error| output::refuse(Exit::Usage, error))?;
        if let Some(error) = wrong.first() {
            return Err(output::refuse(Exit::Usage, error));
        }
        let mut signals = Signals::listen()
            .map_err(|why| output::refuse(Exit::Failed, format_args!("no signals: {why}")))?;
        let (tally, signal) = self.follow(&host, workflow, inputs, &mut signals).await?;
        host.drain(LAST_WORD).await;
        let cost = Usd::from_dollars(tally.cost_usd).unwrap_or(Usd::ZERO);
        output::note(format_args!("{} of {} runs answered; {cost}", tally.good, tally.ended));
        let exit = match signal {
            Some(signal) => Exit::Signal(signal),
            None if tally.good == 0 => Exit::Failed,
            None => Exit::Done,
        };
        Ok((host.learned(&workflow.plan), host.since_1970(), exit))
    }

    /// Starts runs, so many at once, until all have ended or a signal came.
    async fn follow(
        &self,
        host: &Arc<Host>,
        workflow: &Arc<Workflow>,
        inputs: &[Value],
        signals: &mut Signals,
    ) -> Result<(Tally, Option<u8>), Exit> {
        let terminal = output::side_screen();
        let mut block = Block::new(terminal);
        let mut beat = tokio::time::interval(BEAT);
        let (mut tally, mut started, mut caught) = (Tally::default(), 0, None);
        let mut running: JoinSet<RunReport> = JoinSet::new();
        let mut handles: Vec<RunHandle> = Vec::new();
        let all = usize::try_from(self.runs).unwrap_or(usize::MAX);
        let options = CallOptions { fresh: true, ..CallOptions::default() };
        let most = usize::try_from(self.parallel).unwrap_or(1);
        loop {
            while caught.is_none() && started < all && running.len() < most {
                let input = inputs.get(started % inputs.len().max(1)).cloned().unwrap_or_default();
                let handle = match host.start(workflow, input, &options) {
                    Ok(handle) => handle,
                    // The day's money, for one: what was measured until then is kept all the same.
                    Err(no) if tally.ended > 0 => {
                        output::note(format_args!("stopped early: {no}"));
                        started = all;
                        break;
                    }
                    Err(no) => return Err(refused(workflow, &no, &[])),
                };
                started += 1;
                handles.retain(|handle| !handle.ended());
                handles.push(handle.clone());
                running.spawn(async move { handle.finished().await });
            }
            tokio::select! {
                biased;
                ended = running.join_next() => match ended {
                    Some(Ok(report)) => tally.add(&report),
                    Some(Err(_)) => tally.ended += 1,
                    None => break,
                },
                signal = signals.next(), if caught.is_none() => {
                    caught = Some(u8::try_from(signal).unwrap_or(1));
                    handles.iter().for_each(RunHandle::stop);
                }
                _ = beat.tick(), if terminal.live => {
                    let done = usize::try_from(tally.ended).unwrap_or(0);
                    block.draw(&[bar(done, all, terminal)]);
                }
            }
        }
        block.clear();
        Ok((tally, caught))
    }
}

impl Tally {
    fn add(&mut self, report: &RunReport) {
        self.ended += 1;
        self.good += u64::from(matches!(report.outcome.as_str(), "delivered" | "degraded"));
        self.cost_usd += report.cost_usd;
    }
}

/// A JSON array, or a JSON value a line.
fn read(path: &str) -> Result<Vec<Value>, String> {
    let file = std::fs::File::open(path).map_err(|error| argument::unreadable(path, &error))?;
    let mut text = String::new();
    let read = file.take(INPUTS_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| argument::unreadable(path, &error))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > INPUTS_MAX {
        return Err(format!("{path} is larger than 64 MiB"));
    }
    if let Ok(Value::Array(inputs)) = serde_json::from_str(&text) {
        return if inputs.is_empty() { Err(format!("{path} holds no input")) } else { Ok(inputs) };
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let inputs: Result<Vec<Value>, String> = lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| format!("{path}:{at} is not JSON: {error}"))
        })
        .collect();
    match inputs {
        Ok(inputs) if inputs.is_empty() => Err(format!("{path} holds no input")),
        other => other,
    }
}

/// The time that books are written by.
fn since_1970() -> Duration {
    system_time().duration_since(UNIX_EPOCH).unwrap_or_default()
}
