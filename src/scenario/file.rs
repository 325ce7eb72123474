//! A scenario file: regimes, workflows of step classes, deadlines, seed.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::provider::simulated::draw::{Fate, Key, draw};
use crate::provider::simulated::regime::Regime;

/// Most steps of a workflow: step numbers have 8 bits in the keys of draws, of which three stand for other things.
const STEPS_MAX: usize = 250;
/// The path that starts where nothing else is said, and its alternative on another provider.
pub const FLAGSHIP: u8 = 0;
/// See [`FLAGSHIP`].
pub const OTHER_FLAGSHIP: u8 = 1;
/// The path of the model that is wrong least often.
pub const STRONG: u8 = 3;
/// Paths of a regime.
pub const PATHS: u8 = 4;

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

    /// The classes of a workflow's steps.
    #[must_use]
    pub fn classes(&self, graph: &Graph) -> Vec<StepClass> {
        let none = StepClass { out_tokens: 0.0, in_tokens: 0.0 };
        let of = |class: &String| self.step_classes.get(class).copied().unwrap_or(none);
        graph.classes.iter().map(of).collect()
    }
}

impl Setting<'_> {
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
