//! A scenario file: regimes, workflows of step classes, deadlines, seed.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::provider::simulated::draw::{Ending, Fate, Key, draw};
use crate::provider::simulated::regime::Regime;

/// Most steps of a workflow: step numbers have 8 bits in the keys of draws, of which three stand for other things.
const STEPS_MAX: usize = 250;
/// The path that starts where nothing else is said, and its alternative on another provider.
pub const FLAGSHIP: u8 = 0;
/// See [`FLAGSHIP`].
pub const OTHER_FLAGSHIP: u8 = 1;
/// The path of the light model: quick, cheap and wrong most often.
pub const LIGHT: u8 = 2;
/// The path of the model that is wrong least often.
pub const STRONG: u8 = 3;
/// Share of an input token's price in an output token's.
pub const INPUT_PRICE: f64 = 0.2;
/// Paths of a regime.
pub const PATHS: u8 = 4;
/// Runs before the measured ones, from which policies that learn have their curves, where the file says nothing.
const WARMUP_RUNS: u64 = 2_000;
/// Seconds from the start of one run to the start of the next, where the file says nothing.
const ARRIVAL_S: f64 = 30.0;
/// Most runs of a cell, measured or not.
const RUNS_MAX: u64 = 100_000_000;

/// A scenario file, as written.
#[derive(Clone, Debug, Deserialize)]
pub struct ScenarioFile {
    /// Seeds every draw.
    pub seed: u64,
    /// Runs of each cell that are measured.
    pub runs: u64,
    /// Deadlines in seconds; every workflow meets each, where `cells` does not choose.
    pub deadlines_s: Vec<u32>,
    /// Tokens of the classes of steps.
    pub step_classes: BTreeMap<String, StepClass>,
    /// The workflows by name.
    pub workflows: BTreeMap<String, Graph>,
    /// The regimes by name.
    pub scenarios: BTreeMap<String, Regime>,
    /// The cells to compute; all of them where it is left out.
    #[serde(default)]
    pub cells: Option<Vec<Cell>>,
    /// Runs before the measured ones, from which policies that learn have their curves.
    #[serde(default = "warmup_runs")]
    pub warmup_runs: u64,
    /// Seconds from the start of one run to the start of the next: by so much the clock of what is learned advances.
    #[serde(default = "arrival_s")]
    pub arrival_s: f64,
}

const fn warmup_runs() -> u64 {
    WARMUP_RUNS
}

const fn arrival_s() -> f64 {
    ARRIVAL_S
}

/// How much a step of one class reads and writes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct StepClass {
    /// Tokens of its answer, at the median.
    pub out_tokens: f64,
    /// Tokens of its prompt.
    pub in_tokens: f64,
}

/// A workflow: the class of each step, and the steps it waits for.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Graph {
    /// Names of classes, by step.
    pub classes: Vec<String>,
    /// Places of the steps each one waits for; a step stands behind its parents.
    pub parents: Vec<Vec<usize>>,
    /// Which steps the run can do without; left out where it can do without none. Such a step's answer is used where it
    /// is there.
    #[serde(default)]
    pub optional: Vec<bool>,
}

/// One regime, workflow and deadline.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The regime.
    pub scenario: String,
    /// The workflow.
    pub workflow: String,
    /// Seconds.
    pub deadline_s: u32,
}

/// What is wrong with a scenario file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ScenarioError {
    /// JSON pointer, or line and column where it is no JSON.
    pub place: String,
    /// What, and what to do.
    pub message: String,
}

/// A cell's regime and workflow, ready to be drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Seeds every draw.
    pub seed: u64,
    /// The regime.
    pub regime: &'a Regime,
    /// The step's classes.
    pub classes: &'a [StepClass],
    /// The steps each one waits for.
    pub parents: &'a [Vec<usize>],
    /// Which steps the run can do without; shorter: it needs the rest.
    pub optional: &'a [bool],
}

impl ScenarioFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let file: Self = serde_json::from_str(text).map_err(|error| ScenarioError {
            place: format!("line {}, column {}", error.line(), error.column()),
            message: error.to_string(),
        })?;
        file.check()?;
        Ok(file)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let wrong = |place: String, message: String| Err(ScenarioError { place, message });
        for (name, graph) in &self.workflows {
            let place = format!("/workflows/{name}");
            let steps = graph.classes.len();
            if steps == 0 || steps > STEPS_MAX || graph.parents.len() != steps {
                let message =
                    format!("wants 1 to {STEPS_MAX} classes and as many lists of parents");
                return wrong(place, message);
            }
            if let Some(class) = graph.classes.iter().find(|c| !self.step_classes.contains_key(*c))
            {
                return wrong(place, format!("no class '{class}' in /step_classes"));
            }
            let late = graph.parents.iter().enumerate().find(|(ix, of)| of.iter().any(|p| p >= ix));
            if let Some((ix, _)) = late {
                let message = "a step stands behind the steps it waits for".to_owned();
                return wrong(format!("{place}/parents/{ix}"), message);
            }
            let essential = graph.optional.iter().filter(|optional| !**optional).count();
            if !graph.optional.is_empty() && (graph.optional.len() != steps || essential == 0) {
                let message = "says of every step whether it is optional, and one at least is not";
                return wrong(format!("{place}/optional"), message.to_owned());
            }
        }
        for (name, class) in &self.step_classes {
            let sizes = [class.out_tokens, class.in_tokens];
            if !sizes.iter().all(|tokens| (1.0..=1e6).contains(tokens)) {
                let message = "wants out_tokens and in_tokens of 1 to 1,000,000".to_owned();
                return wrong(format!("/step_classes/{name}"), message);
            }
        }
        for (key, runs) in [("runs", self.runs), ("warmup_runs", self.warmup_runs)] {
            if runs > RUNS_MAX {
                return wrong(format!("/{key}"), format!("at most {RUNS_MAX}"));
            }
        }
        if !(1e-3..=1e6).contains(&self.arrival_s) {
            return wrong("/arrival_s".to_owned(), "0.001 to 1,000,000 seconds".to_owned());
        }
        for (ix, cell) in self.cells.iter().flatten().enumerate() {
            if !self.scenarios.contains_key(&cell.scenario)
                || !self.workflows.contains_key(&cell.workflow)
                || cell.deadline_s == 0
            {
                let message = "names a scenario or workflow that is not in the file, or no time";
                return wrong(format!("/cells/{ix}"), message.to_owned());
            }
        }
        Ok(())
    }

    /// The cells to compute: those listed, else each regime with each workflow and deadline; a single step
    /// (`step1`) only with the second deadline, as in the published results.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        if let Some(cells) = &self.cells {
            return cells.clone();
        }
        let mut cells = Vec::new();
        for scenario in self.scenarios.keys() {
            for (workflow, graph) in &self.workflows {
                let single = graph.classes.len() == 1;
                let deadlines = self.deadlines_s.iter().enumerate();
                let deadlines = deadlines.filter(|(ix, _)| !single || *ix == 1);
                cells.extend(deadlines.map(|(_, deadline_s)| Cell {
                    scenario: scenario.clone(),
                    workflow: workflow.clone(),
                    deadline_s: *deadline_s,
                }));
            }
        }
        cells
    }

    /// A regime and a workflow whose steps are of these classes, ready to be drawn from.
    #[must_use]
    pub fn setting<'a>(
        &self,
        regime: &'a Regime,
        graph: &'a Graph,
        classes: &'a [StepClass],
    ) -> Setting<'a> {
        let (parents, optional) = (&graph.parents, &graph.optional);
        Setting { seed: self.seed, regime, classes, parents, optional }
    }

    /// The classes of a workflow's steps.
    #[must_use]
    pub fn classes(&self, graph: &Graph) -> Vec<StepClass> {
        let none = StepClass { out_tokens: 0.0, in_tokens: 0.0 };
        let of = |class: &String| self.step_classes.get(class).copied().unwrap_or(none);
        graph.classes.iter().map(of).collect()
    }
}

impl Setting<'_> {
    /// Whether the run can do without the step.
    #[must_use]
    pub fn is_optional(&self, step: usize) -> bool {
        self.optional.get(step).copied().unwrap_or_default()
    }

    /// Tokens of one clean pass, and what it costs in output tokens of the flagship.
    #[must_use]
    pub fn clean(&self) -> (f64, f64) {
        self.classes.iter().fold((0.0, 0.0), |(tokens, cost), class| {
            let (input, output) = (class.in_tokens, class.out_tokens);
            (tokens + input + output, cost + INPUT_PRICE * input + output)
        })
    }

    /// What a launched attempt is billed: its class in full, whatever becomes of it; an error its input only, a 429
    /// nothing. In tokens, and in output tokens of the flagship.
    #[must_use]
    pub fn bill(&self, step: usize, path: u8, ending: Ending) -> (f64, f64) {
        let class = self.classes[step];
        let output = match ending {
            Ending::RateLimited => return (0.0, 0.0),
            Ending::Error => 0.0,
            Ending::Ok | Ending::Silent | Ending::Garbage | Ending::Hang => class.out_tokens,
        };
        let price = self.regime.paths[usize::from(path)].price;
        (class.in_tokens + output, price * (INPUT_PRICE * class.in_tokens + output))
    }

    /// The fate of an attempt.
    #[must_use]
    pub fn draw(&self, run: u64, step: usize, path: u8, attempt: u32) -> Fate {
        let key = Key { seed: self.seed, run, step: step as u64, path, attempt };
        let provider = self.regime.paths[usize::from(path)].provider_at();
        draw(self.regime, &key, provider, self.classes[step].out_tokens)
    }

    /// A number between 0 and 1 that depends on its key alone.
    #[must_use]
    pub fn uniform(&self, run: u64, step: usize, path: u8, field: u8) -> f64 {
        Key { seed: self.seed, run, step: step as u64, path, attempt: 0 }.uniform(field)
    }
}
