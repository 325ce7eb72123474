//! `punctual simulate`: how often a workflow would answer in time, by deadline, and what it would cost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde_json::Value;

use super::argument;
use super::exit::Exit;
use super::house::House;
use super::live::Block;
use super::output;
use super::place::{Place, Regime, Simulated, State};
use super::run::find;
use super::scenarios;
use super::terminal::{Terminal, clip};
use crate::definition::config::{DEFAULT_REGIME, DEFAULT_SEED, REGIMES};
use crate::domain::provider::Dialect;
use crate::domain::time::parse_duration;
use crate::driver::clock::system_time;
use crate::driver::{crew, fitting};
use crate::latency::law::Laws;
use crate::planner::Pilot;
use crate::provider::simulated::{Recordings, UnknownRegime};
use crate::workflow::Workflow;
use crate::world::forecast::{Sample, Trial};

use survey::{Row, Survey};

mod limit;
mod plot;
mod show;
mod survey;

/// Runs that are played in one world: a unit of work for one core.
const WORLD: u64 = 100;
/// Runs a deadline where `--runs` does not say.
const RUNS: u64 = 400;
/// Runs that were learned from before, where `--warmup` does not say.
const WARMUP: u64 = 200;
/// Shares of the workflow's own deadline that are looked at where `--deadlines` does not say, in percent.
const RANGE: [u32; 7] = [50, 65, 80, 100, 125, 150, 200];
/// Least and greatest deadline of a workflow.
const DEADLINES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));
/// Most deadlines of one survey.
const DEADLINES_MAX: usize = 40;

const EXAMPLES: &str = "\
Examples:
  punctual simulate support_triage                       deadlines around the workflow's own
  punctual simulate triage --deadlines 10s,15s,20s       these deadlines
  punctual simulate triage --regime brownout             in a bad month
  punctual simulate triage --input @ticket.json --runs 1000
  punctual simulate triage --every 2s                    a call every 2 s: shows where lines form
  punctual simulate triage --json                        the same for programs
  punctual simulate --scenarios FILE --json              a benchmark: every cell under every policy

No model is asked and nothing is spent: many runs are played in virtual time by the code that
runs live. Without --input, runs take the inputs of the workflow's cases in turn. A step answers as
a case for that input has it, else by shape; how attempts fare is drawn from what was measured, or
from a regime. The same seed gives the same figures.";

/// Foretells how often a workflow answers in time, by deadline, and what it costs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Simulate {
    /// A workflow's name, or a workflow file
    #[arg(value_name = "WORKFLOW|FILE", required_unless_present = "scenarios")]
    workflow: Option<String>,
    /// The whole input: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// One field of the input: name=text, name=@FILE (as text), name:=JSON
    #[arg(long = "set", value_name = "NAME=VALUE")]
    fields: Vec<String>,
    /// Deadlines to look at. Default: 0.5 to 2 times the workflow's own
    #[arg(long, value_name = "20s,30s,…", value_delimiter = ',', value_parser = deadline)]
    deadlines: Vec<Duration>,
    /// Runs a deadline, 10 to 100000. Default: 400; with --scenarios what the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(10..=100_000))]
    runs: Option<u64>,
    /// Time between two calls
    #[arg(long, value_name = "30s", default_value = "30s", value_parser = pause)]
    every: Duration,
    /// How paths fare: calm, pooled, busy, brownout, down, fastlong. Default: as measured; as punctual.yaml simulates
    /// them; pooled where neither
    #[arg(long, value_name = "REGIME", value_parser = clap::builder::PossibleValuesParser::new(REGIMES))]
    #[arg(hide_possible_values = true)]
    regime: Option<String>,
    /// Runs of the regime that the server has learned times from before; 0 is a first start
    #[arg(long, value_name = "N", default_value_t = WARMUP, value_parser = clap::value_parser!(u64).range(..=100_000))]
    warmup: u64,
    /// Seeds the simulator's luck: the same seed draws the same
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Instead of a workflow: the cells of a scenario file, under published policies, the rules and the planner
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workflow", "input", "fields", "deadlines", "every", "regime", "seed"])]
    scenarios: Option<String>,
    /// Prints figures as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    state: State,
}

/// What is played.
struct Set {
    house: House,
    workflow: Arc<Workflow>,
    /// What was measured of its times.
    pilot: Option<(Pilot, Arc<Laws>)>,
}

fn deadline(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Some(time) if (DEADLINES.0..=DEADLINES.1).contains(&time) => Ok(time),
        Some(_) => Err("a deadline lies between 1s and 10m".to_owned()),
        None => Err("give times with their unit, such as 20s,30s,1m".to_owned()),
    }
}

fn pause(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Some(time) if time <= Duration::from_secs(3_600) => Ok(time),
        Some(_) | None => Err("give a time with its unit, at most 1h, such as 30s".to_owned()),
    }
}

impl Simulate {
    /// Runs the command.
    pub async fn run(self) -> Exit {
        if let Some(path) = &self.scenarios {
            return scenarios::run(path, self.runs, self.json);
        }
        match self.go().await {
            Ok(exit) | Err(exit) => exit,
        }
    }

    async fn go(&self) -> Result<Exit, Exit> {
        let Set { house, workflow, pilot } = self.set().await?;
        let (inputs, from) = self.inputs(&house, &workflow)?;
        let cases = house.catalog.cases.values().map(AsRef::as_ref);
        let trial = Trial {
            workflow: workflow.clone(),
            inputs,
            providers: house.catalog.configuration.providers.clone(),
            laws: None,
            pilot: None,
            recordings: Arc::new(Recordings::usual(cases)),
            seed: self.seed.unwrap_or(DEFAULT_SEED),
            apart: self.every,
        };
        let no_world = |error| output::refuse(Exit::Usage, error);
        let (trial, world) = match pilot {
            Some((pilot, laws)) => {
                let samples: f64 = pilot.times.iter().flatten().flatten().map(|t| t.samples).sum();
                let trial = Trial { pilot: Some(Arc::new(pilot)), ..trial };
                (trial.measured(laws), format!("As measured on {samples:.0} attempts"))
            }
            None if self.warmup == 0 => {
                let world = format!("{}, nothing learned before", regimes(&trial));
                (trial, world)
            }
            None => {
                let world =
                    format!("{}, learned from {} runs before", regimes(&trial), self.warmup);
                (trial.warmed(self.warmup).map_err(no_world)?, world)
            }
        };
        let deadlines = self.range(workflow.plan.deadline)?;
        let played = play(&trial, &deadlines, self.runs.unwrap_or(RUNS)).map_err(no_world)?;
        let rows: Vec<Row> = deadlines.iter().zip(played).map(Row::of).collect();
        let survey = Survey::new(&workflow, rows, world, from, trial.seed);
        if self.json {
            output::json(&survey.record());
        } else {
            output::result(show::text(&survey, &workflow, output::screen()).join("\n"));
        }
        Ok(Exit::Done)
    }

    /// What is played: the workflow on its own providers where their times are known, else on simulated ones.
    async fn set(&self) -> Result<Set, Exit> {
        let workflow = self.workflow.as_deref().unwrap_or_default();
        if self.regime.is_none() {
            let plain = Simulated { seed: self.seed, ..Simulated::default() };
            let (house, workflow) = find(workflow, &self.place, &plain).await?;
            if house.simulated() {
                return Ok(Set { house, workflow, pilot: None });
            }
            if let Some(pilot) = measured(&workflow, &self.state) {
                return Ok(Set { house, workflow, pilot: Some(pilot) });
            }
            output::note(format_args!(
                "nothing is measured of the paths of '{0}' yet: regime {DEFAULT_REGIME} stands for them; \
                 'punctual calibrate {0}' measures them",
                workflow.name
            ));
        }
        let regime = self.regime.as_deref().unwrap_or(DEFAULT_REGIME).to_owned();
        let simulate = Regime { simulate: Some(regime) };
        let simulated = Simulated { regime: simulate, seed: self.seed, speed: None };
        let (house, workflow) = find(workflow, &self.place, &simulated).await?;
        Ok(Set { house, workflow, pilot: None })
    }

    /// The inputs that runs take in turn, and where they are from.
    fn inputs(&self, house: &House, workflow: &Workflow) -> Result<(Vec<Value>, String), Exit> {
        let cases = house.catalog.cases.get(&workflow.name);
        let given = self.input.is_some() || !self.fields.is_empty();
        if let Some(cases) = cases.filter(|cases| !given && !cases.list.is_empty()) {
            let inputs: Vec<Value> = cases.list.iter().map(|case| case.input.clone()).collect();
            let from = super::summary::count(inputs.len(), "case");
            return Ok((inputs, format!("the inputs of {from}")));
        }
        let input = argument::input(self.input.as_deref(), &self.fields)
            .map_err(|error| output::refuse(Exit::Usage, error))?;
        match fitting(workflow, input) {
            Ok(input) => Ok((vec![input], "one input".to_owned())),
            Err(no) if given => Err(super::run::refused(workflow, &no, &self.fields)),
            Err(_) => {
                let why = format!("'{}' has no case to take inputs from", workflow.name);
                let exit = output::refuse(Exit::Usage, why);
                output::note(format_args!("input: {}", workflow.input.describe()));
                output::note("give it with --set name=text, --set name=@FILE, or --input @FILE");
                Err(exit)
            }
        }
    }

    /// The deadlines to look at, ascending.
    fn range(&self, own: Duration) -> Result<Vec<Duration>, Exit> {
        if self.deadlines.len() > DEADLINES_MAX {
            let why = format!("--deadlines: at most {DEADLINES_MAX} are looked at together");
            return Err(output::refuse(Exit::Usage, why));
        }
        let asked: BTreeSet<Duration> = self.deadlines.iter().copied().collect();
        let around = RANGE.iter().map(|percent| neat(own * *percent / 100));
        let all = if asked.is_empty() { around.collect() } else { asked };
        Ok(all.into_iter().collect())
    }
}

/// What was learned of a workflow's times; `None` where no attempt of it was.
#[must_use]
pub fn measured(workflow: &Workflow, state: &State) -> Option<(Pilot, Arc<Laws>)> {
    let learned = state.curves()?.load().ok()?;
    let now = system_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    let pilot = Pilot::of(&workflow.plan, &learned.book, now);
    let known = pilot.times.iter().flatten().flatten().any(|times| times.samples >= 1.0);
    let laws = pilot.laws.clone().filter(|_| known)?;
    Some((pilot, laws))
}

/// What the luck of the workflow's paths is drawn from, in words.
fn regimes(trial: &Trial) -> String {
    let used = |name: &str| trial.workflow.plan.providers.iter().any(|one| one.name == name);
    let named = trial.providers.iter().filter(|one| used(&one.name));
    let regimes = named.filter_map(|one| match &one.dialect {
        Dialect::Simulated(settings) => Some(settings.regime.as_str()),
        Dialect::OpenAiChat(_)
        | Dialect::OpenAiResponses
        | Dialect::Anthropic
        | Dialect::Bedrock(_)
        | Dialect::Gemini => None,
    });
    let regimes: BTreeSet<&str> = regimes.collect();
    format!("Regime {}", regimes.into_iter().collect::<Vec<_>>().join(", "))
}

/// A deadline as people write one: whole seconds, above a minute in steps of 5, within what a workflow may have.
fn neat(time: Duration) -> Duration {
    let step = if time > Duration::from_secs(60) {
        5_000
    } else if time > Duration::from_secs(5) {
        1_000
    } else {
        100
    };
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis((millis + step / 2) / step * step).clamp(DEADLINES.0, DEADLINES.1)
}

/// Plays `runs` runs under each deadline, on every core.
fn play(
    trial: &Trial,
    deadlines: &[Duration],
    runs: u64,
) -> Result<Vec<Vec<Sample>>, UnknownRegime> {
    let terminal = output::side_screen();
    let mut block = Block::new(terminal);
    let trials = crew::work(deadlines.len(), |at| trial.under(deadlines[at]), |_| {});
    // Longest first, so that no core is left with the longest at the end.
    let mut jobs: Vec<(usize, u64)> = Vec::new();
    for of in (0..trials.len()).rev() {
        let worlds = (0..runs).step_by(usize::try_from(WORLD).unwrap_or(1));
        jobs.extend(worlds.map(|from| (of, from)));
    }
    let world = |at: usize| {
        let (of, from) = jobs[at];
        trials[of].play(from, WORLD.min(runs - from))
    };
    let draw = |done| block.draw(&[bar(done, jobs.len(), terminal)]);
    let played = crew::work(jobs.len(), world, draw);
    block.clear();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); trials.len()];
    for ((of, _), played) in jobs.iter().zip(played) {
        samples[*of].extend(played?);
    }
    Ok(samples)
}

/// `▰▰▰▱▱▱ 3 of 12 worlds`.
pub(super) fn bar(done: usize, all: usize, terminal: Terminal) -> String {
    const WIDTH: usize = 24;
    let full = WIDTH * done / all.max(1);
    let drawn = format!("{}{}", "▰".repeat(full), "▱".repeat(WIDTH - full));
    clip(&format!("{drawn} {} %", 100 * done / all.max(1)), terminal.width)
}
