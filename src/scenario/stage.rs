//! A scenario file with all that is needed to play its cells under every policy.

use std::collections::BTreeMap;

use super::baseline::{Baseline, Player, silent_floor};
use super::drive::Driver;
use super::file::{Cell, ScenarioError, ScenarioFile, Setting, StepClass};
use super::plan::{ATTEMPTS, Trust};
use super::row::{Measured, Row};
use super::table::{self, Figures};
use super::warmup::{self, Warmup};

/// The regime whose month the static policies know; of a regime with other models they know its own, as the published
/// results have it.
const MONTH: &str = "pooled";

/// Who plays a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// A published policy.
    Baseline(Baseline),
    /// The engine, by the rules of each cause alone.
    Rules,
    /// The engine with its planner.
    Planner,
}

impl Contender {
    /// Every one, in the order of rows.
    pub const ALL: [Self; 9] = [
        Self::Baseline(Baseline::Wait),
        Self::Baseline(Baseline::Temporal),
        Self::Baseline(Baseline::Serial95),
        Self::Baseline(Baseline::Race2),
        Self::Baseline(Baseline::Hedge95),
        Self::Baseline(Baseline::SingleR),
        Self::Rules,
        Self::Planner,
        Self::Baseline(Baseline::Oracle),
    ];

    /// The name in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Baseline(policy) => policy.as_str(),
            Self::Rules => "rules",
            Self::Planner => "planner",
        }
    }
}

/// What policies that learn are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Where their curves are from.
    pub curves: Curves,
    /// By what factor every path's chance of a silent error is told wrong; 1 is right.
    pub distrust: f64,
}

/// Where curves are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curves {
    /// Learned from own runs before the measured ones.
    Learned,
    /// Given: learned from many attempts on every path, whatever runs would have launched.
    Given,
}

impl Default for Terms {
    fn default() -> Self {
        Self { curves: Curves::Learned, distrust: 1.0 }
    }
}

/// A scenario file, and what the static policies know of each regime and workflow.
#[derive(Debug)]
pub struct Stage {
    /// The file.
    pub file: ScenarioFile,
    /// Runs of each cell that are measured.
    pub runs: u64,
    /// Attempts of a step under the published policies, at most.
    pub attempts: usize,
    known: BTreeMap<(String, String), (Vec<StepClass>, Vec<Figures>)>,
}

impl Stage {
    /// The stage of a file's text; it has as many runs as the file says, where `runs` says nothing.
    ///
    /// # Errors
    /// The first thing that is wrong with the file.
    pub fn new(text: &str, runs: Option<u64>) -> Result<Self, ScenarioError> {
        let file = ScenarioFile::parse(text)?;
        let runs = runs.unwrap_or(file.runs);
        Ok(Self::with_attempts(file, runs, ATTEMPTS as usize))
    }

    /// The stage of a checked file, with so many attempts of a step under the published policies.
    #[must_use]
    pub fn with_attempts(file: ScenarioFile, runs: u64, attempts: usize) -> Self {
        let month = file.scenarios.get(MONTH).or_else(|| file.scenarios.values().next());
        let (mut known, mut usual) = (BTreeMap::new(), BTreeMap::new());
        // Not the cells alone: figures may be asked for that no row needs.
        let pairs = file.scenarios.keys().flat_map(|scenario| {
            file.workflows.keys().map(move |workflow| (scenario.clone(), workflow.clone()))
        });
        for (scenario, workflow) in pairs {
            let Some(month) = month else { break };
            let classes = file.classes(&file.workflows[&workflow]);
            let regime = &file.scenarios[&scenario];
            let same = (&regime.paths, &regime.shape) == (&month.paths, &month.shape);
            let figures: Vec<Figures> = if same {
                let usual = usual.entry(workflow.clone());
                usual.or_insert_with(|| table::figures(month, &classes)).clone()
            } else {
                table::figures(regime, &classes)
            };
            known.insert((scenario, workflow), (classes, figures));
        }
        Self { file, runs, attempts, known }
    }

    /// What is drawn from in a cell, and what the static policies know of its steps. `None` where the file has no such
    /// cell.
    #[must_use]
    pub fn setting(&self, cell: &Cell) -> Option<(Setting<'_>, &[Figures])> {
        let key = (cell.scenario.clone(), cell.workflow.clone());
        let (classes, figures) = self.known.get(&key)?;
        let regime = &self.file.scenarios[&cell.scenario];
        Some((self.file.setting(regime, &self.file.workflows[&cell.workflow], classes), figures))
    }

    /// Plays single runs of a cell under one policy, by their numbers; one that learns has learned before. `None` where
    /// the file has no such cell.
    #[must_use]
    pub fn player<'a>(
        &'a self,
        cell: &Cell,
        contender: Contender,
        terms: &Terms,
    ) -> Option<Box<dyn FnMut(u64) -> Measured + 'a>> {
        let (setting, figures) = self.setting(cell)?;
        Some(match contender {
            Contender::Baseline(policy) => {
                let mut player =
                    Player::new(setting, figures, policy, cell.deadline_s, self.attempts);
                Box::new(move |run| player.play(run))
            }
            Contender::Rules | Contender::Planner => {
                let mut driver = self.driver(setting, cell, contender, terms);
                Box::new(move |run| driver.play(run))
            }
        })
    }

    /// Every measured run of a cell under one policy. Empty where the file has no such cell.
    #[must_use]
    pub fn measure(&self, cell: &Cell, contender: Contender, terms: &Terms) -> Vec<Measured> {
        let player = self.player(cell, contender, terms);
        player.map_or_else(Vec::new, |player| (0..self.runs).map(player).collect())
    }

    /// A driver of a cell's runs that has learned what there is to learn.
    #[must_use]
    pub fn driver<'a>(
        &self,
        setting: Setting<'a>,
        cell: &Cell,
        contender: Contender,
        terms: &Terms,
    ) -> Driver<'a> {
        let trust = Trust::off_by(&setting, terms.distrust);
        let mut driver = Driver::new(setting, &cell.workflow, cell.deadline_s, &trust);
        match terms.curves {
            Curves::Learned => {
                warmup::learn(&mut driver, contender, &Warmup::of(&self.file));
            }
            Curves::Given => warmup::give(&mut driver, contender),
        }
        driver
    }

    /// The row of a cell under one policy, not yet put between waiting and the bound.
    #[must_use]
    pub fn row(&self, cell: &Cell, contender: Contender, terms: &Terms) -> Row {
        Row::of(cell, contender.as_str(), &self.measure(cell, contender, terms))
    }

    /// Puts every row between waiting and the bound of its cell, where both are among `rows`.
    pub fn compare(&self, rows: &mut [Row]) {
        let name = |row: &Row| (row.scenario.clone(), row.wf.clone(), row.deadline_s);
        let mut ends: BTreeMap<_, (f64, f64)> = BTreeMap::new();
        for row in rows.iter() {
            let ends = ends.entry(name(row)).or_insert((0.0, 0.0));
            if row.policy == Baseline::Wait.as_str() {
                ends.0 = row.ontime;
            } else if row.policy == Baseline::Oracle.as_str() {
                let cell = Cell {
                    scenario: row.scenario.clone(),
                    workflow: row.wf.clone(),
                    deadline_s: row.deadline_s,
                };
                ends.1 = row.ontime * self.setting(&cell).map_or(0.0, |(s, _)| silent_floor(&s));
            }
        }
        for row in rows {
            let (wait, bound) = ends[&name(row)];
            row.compare(wait, bound);
        }
    }
}
